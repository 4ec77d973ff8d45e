/* Reads an Arrow IPC input and writes it again, for the Python tests.
 *
 *     ipc_tool [options] IN [OUT]
 *         --limit BYTES     memory limit (default 64 MiB)
 *         --rows N          rows of a batch at most (default 8192)
 *         --columns 2,0     read these columns only ("" = none at all)
 *         --file            write the file format (default: stream)
 *         --codec NAME      none, lz4 or zstd
 *         --temp FOLDER     scratch files
 *         --schema          look at the schema only
 *     IN "-" is standard input; without OUT the input is only read, and every value looked at.
 *
 * Prints "rows=R batches=B largest=BYTES peak=BYTES read=BYTES rss=KIB". Exit code 1: an error,
 * which is printed as "STATUS: message"; 3: memory of the budget was not given back. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bits.h"
#include "ipc/reader.h"
#include "ipc/writer.h"

#define COLUMNS_MAX 4096

typedef struct options {
    const char *in;
    const char *out;
    int64_t limit;
    int64_t rows;
    const char *columns;
    const char *temp;
    oci_codec_id codec;
    bool file_format;
    bool schema_only;
} options;

typedef struct totals {
    int64_t rows;
    int64_t batches;
    int64_t largest;
    uint64_t hash; /* of all values in their rows, however they come in batches */
    _Atomic int64_t bytes_read;
} totals;

static bool parse_options(int argc, char **argv, options *out)
{
    static const struct option table[] = {
        {"limit", required_argument, NULL, 'l'},   {"rows", required_argument, NULL, 'r'},
        {"columns", required_argument, NULL, 'c'}, {"file", no_argument, NULL, 'f'},
        {"codec", required_argument, NULL, 'z'},   {"temp", required_argument, NULL, 't'},
        {"schema", no_argument, NULL, 's'},        {NULL, 0, NULL, 0}};
    *out = (options){.limit = INT64_C(64) << 20, .rows = 8192};
    for (int c; (c = getopt_long(argc, argv, "", table, NULL)) != -1;) {
        switch (c) {
        case 'l': out->limit = strtoll(optarg, NULL, 10); break;
        case 'r': out->rows = strtoll(optarg, NULL, 10); break;
        case 'c': out->columns = optarg; break;
        case 'f': out->file_format = true; break;
        case 't': out->temp = optarg; break;
        case 's': out->schema_only = true; break;
        case 'z':
            if (!oci_codec_parse(optarg, &out->codec)) {
                return false;
            }
            break;
        default: return false;
        }
    }
    out->in = optind < argc ? argv[optind] : NULL;
    out->out = optind + 1 < argc ? argv[optind + 1] : NULL;
    return out->in != NULL;
}

static int32_t parse_columns(const char *text, int32_t *columns)
{
    int32_t n = 0;
    while (*text != '\0' && n < COLUMNS_MAX) {
        char *end = NULL;
        columns[n++] = (int32_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
    }
    return n;
}

static oc_status open_input(const options *o, oci_file **out, oc_error *err)
{
    const oci_io *io = oci_posix_io();
    if (strcmp(o->in, "-") == 0) {
        return io->wrap(io, STDIN_FILENO, "standard input", out, err);
    }
    return oci_open(io, o->in, OCI_OPEN_READ, out, err);
}

static void look_at(const oci_batch *batch, totals *t)
{
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        for (int64_t row = 0; row < batch->length; row++) {
            uint64_t place = (uint64_t)(t->rows + row) * 1000003 + (uint64_t)i;
            t->hash += oci_value_hash(&batch->columns[i], row, place);
        }
    }
    t->rows += batch->length;
    t->batches++;
    t->largest = oci_max64(t->largest, batch->bytes);
}

static oc_status copy_batches(oci_stream *stream, oci_ipc_writer *writer, totals *t, oc_error *err)
{
    for (;;) {
        oci_batch *batch = NULL;
        OC_TRY(oci_stream_next(stream, &batch, err));
        if (batch == NULL) {
            return writer != NULL ? oci_ipc_writer_finish(writer, err) : OC_OK;
        }
        look_at(batch, t);
        oc_status status = writer != NULL ? oci_ipc_writer_add(writer, batch, err) : OC_OK;
        oci_batch_release(batch);
        OC_TRY(status);
    }
}

static oc_status write_stream(const options *o, const oci_env *env, oci_stream *stream,
                              oci_mem *mem, totals *t, oc_error *err)
{
    oci_file *file = NULL;
    oci_ipc_writer *writer = NULL;
    oc_status status = OC_OK;
    if (o->out != NULL) {
        OC_GOTO(oci_open(env->io, o->out, OCI_OPEN_CREATE, &file, err));
        OC_GOTO(oci_ipc_writer_open(env, file, stream->schema, o->file_format, o->codec, 0, mem,
                                    &writer, err));
    }
    OC_GOTO(copy_batches(stream, writer, t, err));
done:
    oci_ipc_writer_destroy(writer);
    oc_status closed = oci_close(file, status == OC_OK ? err : NULL);
    return status == OC_OK ? closed : status;
}

static oc_status run(const options *o, const oci_env *env, oci_mem *mem, totals *t, oc_error *err)
{
    static int32_t columns[COLUMNS_MAX];
    oci_ipc_read_options read = {.temp_dir = o->temp, .bytes_read = &t->bytes_read};
    if (o->columns != NULL) {
        read.columns = columns;
        read.n_columns = parse_columns(o->columns, columns);
    }
    oci_file *file = NULL;
    OC_TRY(open_input(o, &file, err));
    if (o->schema_only) {
        oci_schema *schema = NULL;
        oc_status status = oci_ipc_read_schema(file, &schema, err);
        printf("columns=%d\n", status == OC_OK ? (int)schema->n_fields : -1);
        oci_schema_release(schema);
        (void)oci_close(file, NULL);
        return status;
    }
    oci_stream *stream = NULL;
    OC_TRY(oci_ipc_reader_open(env, file, &read, mem, &stream, err));
    oc_status status = write_stream(o, env, stream, mem, t, err);
    oci_stream_close(stream);
    return status;
}

/* Peak of the resident memory since exec; ru_maxrss would count the process that started this. */
static long peak_rss_kib(void)
{
    long kib = -1;
    char line[256];
    FILE *file = fopen("/proc/self/status", "r");
    while (file != NULL && kib < 0 && fgets(line, sizeof line, file) != NULL) {
        (void)sscanf(line, "VmHWM: %ld", &kib);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

int main(int argc, char **argv)
{
    options o;
    if (!parse_options(argc, argv, &o)) {
        fprintf(stderr, "usage: ipc_tool [options] IN [OUT]\n");
        return 2;
    }
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    totals t = {0};
    oc_error err = {0};
    if (oci_budget_create(o.limit, NULL, &budget, &err) != OC_OK ||
        oci_mem_open(budget, "ipc", &mem, &err) != OC_OK) {
        fprintf(stderr, "%s\n", err.message);
        return 2;
    }
    oci_env env = {.budget = budget,
                   .io = oci_posix_io(),
                   .threads = oci_system_threads(),
                   .clock = oci_system_clock(),
                   .n_threads = 1,
                   .batch_rows = o.rows};
    oc_status status = run(&o, &env, mem, &t, &err);
    printf("rows=%" PRId64 " batches=%" PRId64 " largest=%" PRId64 " peak=%" PRId64 " read=%" PRId64
           " rss=%ld hash=%" PRIx64 "\n",
           t.rows, t.batches, t.largest, oci_budget_peak(budget), t.bytes_read, peak_rss_kib(),
           t.hash);
    if (status != OC_OK) {
        fprintf(stderr, "%s: %s\n", oc_status_name(status), err.message);
    }
    bool leaks = oci_budget_used(budget) != 0;
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    if (leaks) {
        fprintf(stderr, "memory was not given back\n");
        return 3;
    }
    return status == OC_OK ? 0 : 1;
}
