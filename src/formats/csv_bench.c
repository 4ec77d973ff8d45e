/* csv_bench [FILE [COLUMNS]]: how fast CSV text becomes batches.
 *
 * FILE is guessed at like any other, unless COLUMNS declares its columns. Without arguments it
 * makes rows of the shape of TPC-H's lineitem in a temporary file. Prints for each step the best of
 * three runs: scanning alone (positions of all fields), reading into batches, and reading and
 * writing as CSV to /dev/null. The file should be in the page cache. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/csv.h"
#include "formats/csv_scan.h"
#include "formats/text_writer.h"

enum { RUNS = 3, MADE_ROWS = 400000 };

static const char lineitem_columns[] = "l_orderkey int64, l_partkey int64, l_suppkey int64, "
                                       "l_linenumber int32, l_quantity decimal(15, 2), "
                                       "l_extendedprice decimal(15, 2), l_discount decimal(15, 2), "
                                       "l_tax decimal(15, 2), l_returnflag utf8, "
                                       "l_linestatus utf8, l_shipdate date, l_commitdate date, "
                                       "l_receiptdate date, l_shipinstruct utf8, l_shipmode utf8, "
                                       "l_comment utf8";

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "csv_bench: %s\n", err->message);
        exit(1);
    }
}

static int make_file(char *path)
{
    int fd = mkstemp(path);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (f == NULL) {
        return 0;
    }
    uint32_t x = 12345;
    for (int i = 0; i < MADE_ROWS; i++) {
        x = x * 1664525 + 1013904223;
        fprintf(f,
                "%d|%u|%u|%d|%u|%u.%02u|0.0%u|0.0%u|%c|O|199%u-0%u-1%u|1995-02-17|1996-11-%02u|"
                "DELIVER IN PERSON|%s|%.*s|\n",
                i / 4, x >> 12, x >> 20, i % 4 + 1, x >> 27, x >> 14, (x >> 9) % 100, x >> 29,
                x >> 28 & 7, "ANR"[x % 3], (x >> 10) % 9, (x >> 12) % 9 + 1, (x >> 17) % 10,
                (x >> 18) % 28 + 1, i % 2 ? "REG AIR" : "TRUCK", (int)(10 + (x >> 27)),
                "carefully final deposits haggle after the quickly even ideas");
    }
    return fclose(f) == 0;
}

static int64_t now(void)
{
    return oci_system_clock()->now_ns(oci_system_clock()->self);
}

static void print(const char *what, int64_t bytes, int64_t rows, int64_t ns)
{
    double seconds = (double)ns / 1e9;
    printf("%-28s %8.3f s  %8.1f MB/s  %6.2f M rows/s\n", what, seconds,
           (double)bytes / 1e6 / seconds, (double)rows / 1e6 / seconds);
}

static oci_stream *open_stream(const oci_env *env, const char *path, const oci_schema *declared,
                               oci_mem *mem)
{
    oc_error err;
    oci_file *file;
    oci_stream *stream;
    oci_csv_options options = {.header = -1, .declared = declared};
    if (declared != NULL && strstr(path, ".tbl") != NULL) {
        options.delimiter = '|';
        options.quote = (char)-1;
        options.header = 0;
        options.trailing_delimiter = true;
    }
    check(oci_open(env->io, path, OCI_OPEN_READ, &file, &err), &err);
    check(oci_csv_reader_open(env, file, &options, mem, &stream, &err), &err);
    return stream;
}

/* Reads all rows, writes them when `format` >= 0; returns the time. */
static int64_t run(const oci_env *env, const char *path, const oci_schema *declared, oci_mem *mem,
                   int format, int64_t *rows)
{
    oc_error err;
    int64_t start = now();
    oci_stream *stream = open_stream(env, path, declared, mem);
    oci_file *out = NULL;
    oci_text_writer *writer = NULL;
    if (format >= 0) {
        oci_text_options options = {.header = true};
        check(oci_open(env->io, "/dev/null", OCI_OPEN_CREATE, &out, &err), &err);
        check(oci_text_writer_open(env, out, stream->schema, (oci_text_format)format, &options, mem,
                                   &writer, &err),
              &err);
    }
    oci_batch *batch;
    *rows = 0;
    for (;;) {
        check(oci_stream_next(stream, &batch, &err), &err);
        if (batch == NULL) {
            break;
        }
        *rows += batch->length;
        if (writer != NULL) {
            check(oci_text_writer_add(writer, batch, &err), &err);
        }
        oci_batch_release(batch);
    }
    if (writer != NULL) {
        check(oci_text_writer_finish(writer, &err), &err);
        oci_text_writer_destroy(writer);
        check(oci_close(out, &err), &err);
    }
    oci_stream_close(stream);
    return now() - start;
}

static int64_t size_of_file(const oci_env *env, const char *path)
{
    oc_error err;
    oci_file *file;
    int64_t size = 0;
    check(oci_open(env->io, path, OCI_OPEN_READ, &file, &err), &err);
    check(oci_file_size(file, &size, &err), &err);
    check(oci_close(file, &err), &err);
    return size;
}

static int64_t scan_file(const oci_env *env, const char *path)
{
    enum { CHUNK = 1 << 20, RECORDS = 65536, FIELDS = 16 };
    static uint8_t data[16 + CHUNK + OCI_CSV_SCAN_PAD];
    static uint32_t positions[RECORDS * (FIELDS + 1)];
    oc_error err;
    oci_file *file;
    check(oci_open(env->io, path, OCI_OPEN_READ, &file, &err), &err);
    int64_t start = now();
    int64_t n = 0;
    int64_t kept = 0;
    do {
        check(oci_read_full(file, data + 16 + kept, CHUNK - kept, &n, &err), &err);
        oci_csv_scan scan = {.data = data,
                             .size = 16 + kept + n,
                             .dialect = {.delimiter = '|', .trailing_delimiter = true},
                             .n_fields = FIELDS,
                             .records_max = RECORDS,
                             .positions = positions,
                             .start = 16};
        (void)oci_csv_scan_records(&scan);
        kept = scan.size - scan.start;
        memmove(data + 16, data + scan.start, (size_t)kept);
    } while (n > 0);
    int64_t elapsed = now() - start;
    check(oci_close(file, &err), &err);
    return elapsed;
}

static int64_t best(int64_t a, int64_t b)
{
    return a == 0 || b < a ? b : a;
}

int main(int argc, char **argv)
{
    char made_path[] = "/tmp/csv_bench_XXXXXX";
    const char *path = argc > 1 ? argv[1] : made_path;
    if (argc <= 1 && !make_file(made_path)) {
        perror("csv_bench: could not make a file");
        return 1;
    }
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    oci_schema *declared = NULL;
    atomic_bool cancel = false;
    check(oci_budget_create(INT64_C(64) << 20, NULL, &budget, &err), &err);
    check(oci_mem_open(budget, "csv_bench", &mem, &err), &err);
    const char *columns = argc > 2                                   ? argv[2]
                          : argc > 1 && strstr(path, ".tbl") == NULL ? NULL
                                                                     : lineitem_columns;
    if (columns != NULL && columns[0] != '\0') {
        check(oci_parse_columns(columns, &declared, &err), &err);
    }
    oci_env env = {.budget = budget,
                   .io = oci_posix_io(),
                   .threads = oci_system_threads(),
                   .clock = oci_system_clock(),
                   .cancel = &cancel,
                   .n_threads = 1,
                   .batch_rows = 8192};
    int64_t size = size_of_file(&env, path);
    int64_t rows = 0;
    int64_t times[5] = {0};
    for (int i = 0; i < RUNS; i++) {
        if (columns == lineitem_columns) {
            times[0] = best(times[0], scan_file(&env, path));
        }
        times[1] = best(times[1], run(&env, path, declared, mem, -1, &rows));
        times[2] = best(times[2], run(&env, path, declared, mem, OCI_TEXT_CSV, &rows));
        times[3] = best(times[3], run(&env, path, declared, mem, OCI_TEXT_NDJSON, &rows));
    }
    if (columns == lineitem_columns) {
        print("scan ('|', 16 fields)", size, rows, times[0]);
    }
    print("read", size, rows, times[1]);
    print("read and write CSV", size, rows, times[2]);
    print("  of which writing", size, rows, times[2] - times[1]);
    print("read and write NDJSON", size, rows, times[3]);
    printf("memory at most: %" PRId64 " bytes\n", oci_budget_peak(budget));
    oci_schema_release(declared);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    if (argc <= 1) {
        unlink(made_path);
    }
    return 0;
}
