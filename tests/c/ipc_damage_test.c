/* Damaged Arrow IPC input: an error or a right answer, quickly and in bounded memory.
 *
 * Samples are streams and files of every type that our writer makes, little- and big-endian,
 * compressed or not, and, with OUTCORE_TESTING_DATA, those of the Arrow project. Each is
 *   - cut off at every byte: a file must be refused; of a stream the rows that come are the first
 *     ones, and it ends well only between two messages;
 *   - changed in every byte in turn: an error, or a table that is sound; what lies in the buffers of
 *     one column leaves the others as they are;
 *   - given 0, -1, 2^31, 2^62 and such for every number: an error or a sound table.
 * Inputs that once broke another reader are read as they are.
 *
 * Every case runs on a thread with a stack of 256 KiB, may take a second of CPU time and no more
 * memory than its limit, plus what the schema takes; allocations that a claim asks for are caught by
 * the sanitizer's limit. By default only some of the cases run, others in each sample; with
 * OUTCORE_DAMAGE=full all of them do, but for samples of more than 64 KiB. OUTCORE_DAMAGE_TEST names
 * tests to run, with wildcards. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/bits.h"
#include "ipc/layout_walk.h"
#include "ipc/message.h"
#include "ipc/reader.h"
#include "ipc/writer.h"
#include "support/batch_maker.h"
#include "support/big_endian.h"

#define MIB          (INT64_C(1) << 20)
#define KIB          INT64_C(1024)
#define ROWS_MAX     200000 /* of one case: rows that take no bytes are easily claimed */
#define BATCHES_MAX  512
#define STACK_BYTES  (256 * KIB)
#define SECONDS_MAX  1.0
#define DEFAULT_STEP 97 /* one case of so many runs by default */
#define LARGE_STEP   13 /* and of so many when all are asked for and the sample is large */

/* No single allocation may be larger than this, budget or not. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=256";
}

/* What the bytes of a sample are. */
enum {
    OWNER_METADATA = -1, /* or padding, or the values of a dictionary */
};

typedef struct sample {
    char name[256];
    byte_sink bytes;
    bool is_file;
    int16_t *owner;      /* of each byte: the column whose buffer it is in */
    uint8_t *is_end;     /* of each size: a stream may be cut off there */
    uint8_t *is_message; /* of each byte: metadata of messages */
    oci_batch *batches[BATCHES_MAX];
    int32_t n_batches;
} sample;

typedef struct totals {
    int64_t samples;
    int64_t cases;
    int64_t refused;
    int64_t right;
    int64_t rows_compared;
    double slowest;
    char slowest_name[320];
} totals;

static totals sums;
static bool is_full;
static oci_budget *budgets[2]; /* made once: a large and a small one */

/* On the thread of a case there is nobody to catch a failed assertion of cmocka. */
static __attribute__((format(printf, 2, 3), noreturn)) void fail_case(const sample *s,
                                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", s->name);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reading {
    oci_budget *budget; /* borrowed */
    oci_mem *mem;
    oci_env env;
    oci_stream *stream;
    oci_batch *batch;
    oc_status status;
    oc_error err;
} reading;

static const oci_codec_id codecs[] = {OCI_CODEC_NONE, OCI_CODEC_LZ4_FRAME, OCI_CODEC_ZSTD};

/* `how` chooses between file and pipe, whole batches and slices, many rows and few. */
static void open_reading(const sample *s, const uint8_t *data, int64_t size, int64_t how,
                         reading *r)
{
    *r = (reading){.budget = budgets[how / 2 % 2]};
    if (oci_mem_open(r->budget, "damage", &r->mem, &r->err) != OC_OK) {
        fail_case(s, "%s", r->err.message);
    }
    r->env = (oci_env){.budget = r->budget,
                       .io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .n_threads = 1,
                       .batch_rows = how / 4 % 2 == 0 ? 8192 : 3};
    r->status = oci_ipc_reader_open(&r->env, byte_file_open(data, size, how % 2 == 0 ? 0 : 500),
                                    NULL, r->mem, &r->stream, &r->err);
}

static bool next_batch(reading *r)
{
    oci_batch_release(r->batch);
    r->batch = NULL;
    if (r->status == OC_OK) {
        r->status = oci_stream_next(r->stream, &r->batch, &r->err);
    }
    return r->batch != NULL;
}

static void close_reading(const sample *s, reading *r)
{
    oci_batch_release(r->batch);
    oci_stream_close(r->stream);
    if (oci_budget_peak(r->budget) > oci_budget_limit(r->budget) || oci_mem_held(r->mem) != 0) {
        fail_case(s, "%lld bytes of memory at most, %lld left",
                  (long long)oci_budget_peak(r->budget), (long long)oci_mem_held(r->mem));
    }
    oci_mem_close(r->mem);
}

/* ---- what is right --------------------------------------------------------------------------- */

/* Walks through the rows of the undamaged sample. */
typedef struct row_cursor {
    int32_t batch;
    int64_t row;
} row_cursor;

static bool skip_empty(const sample *s, row_cursor *at)
{
    while (at->batch < s->n_batches && at->row >= s->batches[at->batch]->length) {
        at->batch++;
        at->row = 0;
    }
    return at->batch < s->n_batches;
}

/* Holds the rows of a batch against the next ones, but for those of one column. */
static void compare(const sample *s, const oci_batch *batch, int32_t but, row_cursor *at)
{
    for (int64_t row = 0; row < batch->length; row++, at->row++) {
        if (!skip_empty(s, at)) {
            fail_case(s, "there are more rows than in the undamaged input");
        }
        const oci_batch *right = s->batches[at->batch];
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            if (i != but &&
                !oci_value_equal(&batch->columns[i], row, &right->columns[i], at->row)) {
                fail_case(s, "column %d differs in row %lld of batch %d", (int)i,
                          (long long)at->row, (int)at->batch);
            }
        }
        sums.rows_compared++;
    }
}

/* Every value can be looked at. */
static void look_at(const sample *s, const oci_batch *batch)
{
    oc_error err = {0};
    static uint64_t hash;
    if (oci_batch_validate(batch, &err) != OC_OK) {
        fail_case(s, "batch is not sound: %s", err.message);
    }
    for (int64_t row = 0; row < batch->length && row < 1000; row++) {
        for (int32_t i = 0; i < batch->schema->n_fields; i++) {
            hash = oci_value_hash(&batch->columns[i], row, hash);
        }
    }
}

/* ---- cases ----------------------------------------------------------------------------------- */

typedef enum damage { DAMAGE_CUT, DAMAGE_BODY, DAMAGE_ANY } damage;

static double cpu_seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check_end(const sample *s, const reading *r, int64_t size, damage kind)
{
    bool is_refusal = r->status == OC_EDATA || r->status == OC_EUNSUPPORTED ||
                      r->status == OC_EBUDGET;
    if (r->status != OC_OK && !is_refusal) {
        fail_case(s, "status is %s: %s", oc_status_name(r->status), r->err.message);
    }
    if (kind == DAMAGE_CUT && size < s->bytes.size) {
        bool may_end = !s->is_file && s->is_end[size];
        if (may_end != (r->status == OC_OK)) {
            fail_case(s, "cut off at %lld: status is %s: %s", (long long)size,
                      oc_status_name(r->status), r->err.message);
        }
    }
}

/* Reads data[0..size), which is the sample but for the damage; `owner` is the column whose buffers
 * have it. */
static void run_case(const sample *s, const uint8_t *data, int64_t size, damage kind, int32_t owner,
                     int64_t how)
{
    double start = cpu_seconds();
    reading r;
    row_cursor at = {0};
    int64_t rows = 0;
    open_reading(s, data, size, how, &r);
    while (rows < ROWS_MAX && next_batch(&r)) {
        rows += r.batch->length;
        look_at(s, r.batch);
        if (kind != DAMAGE_ANY) {
            compare(s, r.batch, kind == DAMAGE_BODY ? owner : -1, &at);
        }
    }
    check_end(s, &r, size, kind);
    if (kind == DAMAGE_BODY && r.status == OC_OK && skip_empty(s, &at)) {
        fail_case(s, "rows are missing from batch %d on", (int)at.batch);
    }
    sums.cases++;
    sums.refused += r.status != OC_OK;
    sums.right += r.status == OC_OK;
    close_reading(s, &r);
    double seconds = cpu_seconds() - start;
    if (seconds > sums.slowest) {
        sums.slowest = seconds;
        snprintf(sums.slowest_name, sizeof sums.slowest_name, "%s", s->name);
    }
    if (seconds > SECONDS_MAX) {
        fail_case(s, "it took %.2f s", seconds);
    }
}

/* Is this case one of those that run? `n` counts the cases of a sample. */
static bool is_chosen(const sample *s, int64_t n)
{
    int64_t step = !is_full ? DEFAULT_STEP : s->bytes.size < 64 * KIB ? 1 : LARGE_STEP;
    return (n + s->bytes.size) % step == 0;
}

/* Of large samples, most bytes are values: in those some are enough. */
static int64_t step_of(const sample *s)
{
    int64_t units = s->bytes.size / (32 * KIB);
    return 1 + 8 * units * (units + 1);
}

static void cut_everywhere(const sample *s)
{
    int64_t step = step_of(s);
    for (int64_t size = 0; size < s->bytes.size; size++) {
        bool matters = s->is_message[size] || s->is_end[size] || size % step == 0;
        if (matters && is_chosen(s, size)) {
            /* A block of its own, so that reading behind it is seen. */
            uint8_t *data = malloc((size_t)size + 1);
            memcpy(data, s->bytes.data, (size_t)size);
            run_case(s, data, size, DAMAGE_CUT, -1, size);
            free(data);
        }
    }
}

static damage kind_at(const sample *s, int64_t at)
{
    return s->owner[at] >= 0 ? DAMAGE_BODY : DAMAGE_ANY;
}

static void flip_everywhere(sample *s)
{
    static const uint8_t masks[] = {0xFF, 0x01, 0x80, 0x10};
    int64_t step = step_of(s);
    for (int64_t i = 0; i < s->bytes.size; i++) {
        bool matters = s->is_message[i] || i % step == 0;
        int n_masks = is_full && s->bytes.size < 4 * KIB ? 4 : 1;
        for (int k = 0; k < n_masks && matters; k++) {
            if (is_chosen(s, i + k)) {
                uint8_t old = s->bytes.data[i];
                s->bytes.data[i] ^= masks[(i + k) % 4];
                run_case(s, s->bytes.data, s->bytes.size, kind_at(s, i), s->owner[i], i / 3 + k);
                s->bytes.data[i] = old;
            }
        }
    }
}

/* Numbers of 4 and 8 bytes, wherever one may be. In bodies one of them each. */
static void patch_everywhere(sample *s)
{
    static const int64_t values[] = {0,         -1, INT64_C(1) << 31, INT64_C(1) << 62, INT32_MAX,
                                     INT64_MIN, 1};
    enum { N_VALUES = sizeof values / sizeof values[0] };
    int64_t step = step_of(s);
    for (int64_t at = 0; at + 8 <= s->bytes.size; at += 4) {
        bool is_metadata = s->is_message[at];
        for (int k = 0; k < 2 * N_VALUES; k++) {
            bool matters = is_metadata || ((at / 4 + k) % (2 * N_VALUES) == 0 && at % step == 0);
            if (!matters || !is_chosen(s, at / 4 + k)) {
                continue;
            }
            uint8_t old[8];
            int64_t width = k % 2 == 0 ? 4 : 8;
            uint64_t value = (uint64_t)values[k / 2];
            memcpy(old, s->bytes.data + at, 8);
            memcpy(s->bytes.data + at, &value, (size_t)width);
            damage kind = kind_at(s, at);
            if (s->owner[at] != s->owner[at + width - 1]) {
                kind = DAMAGE_ANY;
            }
            run_case(s, s->bytes.data, s->bytes.size, kind, s->owner[at], at / 4 + k);
            memcpy(s->bytes.data + at, old, 8);
        }
    }
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Marks the bytes of the buffers of a column and its children. */
static void mark_field(sample *s, const oci_field *field, const oci_message *message, int64_t body,
                       int32_t column, int64_t *buffer, int64_t *variadic)
{
    oci_node_shape shape = oci_node_shape_of(field, message->version);
    int64_t n = shape.n_buffers;
    if (shape.has_views) {
        n += oci_message_variadic(message, (*variadic)++);
    }
    for (int64_t i = 0; i < n; i++) {
        oci_ipc_buffer place = oci_message_buffer(message, (*buffer)++);
        for (int64_t k = 0; k < place.length; k++) {
            s->owner[body + place.offset + k] = (int16_t)column;
        }
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        mark_field(s, &field->children[i], message, body, column, buffer, variadic);
    }
}

/* Notes which bytes are what, along the messages of the stream that is in a file too. */
static void mark_bytes(sample *s, const oci_schema *schema)
{
    int64_t size = s->bytes.size;
    s->owner = malloc((size_t)(size + 8) * sizeof *s->owner);
    s->is_end = calloc(1, (size_t)size + 8);
    s->is_message = calloc(1, (size_t)size + 8);
    for (int64_t i = 0; i < size + 8; i++) {
        s->owner[i] = OWNER_METADATA;
    }
    int64_t at = s->is_file ? 8 : 0;
    while (at + 8 <= size) {
        int64_t metadata = 0;
        int prefix = 0;
        oci_message message;
        oc_error err = {0};
        bool is_sound = oci_frame_parse(s->bytes.data + at, &metadata, &prefix, &err) == OC_OK;
        if (is_sound && metadata == 0) {
            memset(s->is_message + at, 1, (size_t)prefix);
            at += prefix;
            break;
        }
        if (!is_sound ||
            oci_message_parse(s->bytes.data + at + prefix, metadata, &message, &err) != OC_OK) {
            fail_case(s, "message at byte %lld: %s", (long long)at, err.message);
        }
        int64_t body = at + prefix + metadata;
        memset(s->is_message + at, 1, (size_t)(body - at));
        int64_t buffer = 0, variadic = 0;
        for (int32_t i = 0; i < schema->n_fields && message.kind == OCI_MESSAGE_BATCH; i++) {
            mark_field(s, &schema->fields[i], &message, body, i, &buffer, &variadic);
        }
        at = body + message.body_bytes;
        s->is_end[at] = 1;
    }
    if (at < size) {
        memset(s->is_message + at, 1, (size_t)(size - at)); /* the footer */
    }
}

static void free_sample(sample *s)
{
    for (int32_t i = 0; i < s->n_batches; i++) {
        oci_batch_release(s->batches[i]);
    }
    free(s->owner);
    free(s->is_end);
    free(s->is_message);
    free(s->bytes.data);
    free(s);
}

/* Reads the sample as it is and keeps the batches; then damages it in every way. */
static void *work_on(void *argument)
{
    sample *s = argument;
    reading r;
    s->is_file = s->bytes.size > 6 && memcmp(s->bytes.data, "ARROW1", 6) == 0;
    open_reading(s, s->bytes.data, s->bytes.size, 0, &r);
    while (s->n_batches < BATCHES_MAX && next_batch(&r)) {
        s->batches[s->n_batches++] = r.batch;
        r.batch = NULL;
    }
    if (r.status != OC_OK) {
        fail_case(s, "undamaged: %s", r.err.message);
    }
    mark_bytes(s, r.stream->schema);
    for (int64_t how = 0; how < 8; how++) {
        run_case(s, s->bytes.data, s->bytes.size, DAMAGE_CUT, -1, how);
    }
    cut_everywhere(s);
    flip_everywhere(s);
    patch_everywhere(s);
    for (int32_t i = 0; i < s->n_batches; i++) {
        oci_batch_release(s->batches[i]);
    }
    s->n_batches = 0;
    sums.samples++;
    close_reading(s, &r);
    if (is_full) {
        fprintf(stderr, "%s: %lld cases so far\n", s->name, (long long)sums.cases);
    }
    return NULL;
}

/* Input that is damaged already. */
static void *read_as_it_is(void *argument)
{
    sample *s = argument;
    for (int64_t how = 0; how < 8; how++) {
        run_case(s, s->bytes.data, s->bytes.size, DAMAGE_ANY, -1, how);
    }
    sums.samples++;
    return NULL;
}

/* Runs `body` with a small stack; takes the sample. */
static void run_with_small_stack(void *(*body)(void *), sample *s)
{
    pthread_t thread;
    pthread_attr_t attributes;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
    assert_int_equal(pthread_create(&thread, &attributes, body, s), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    free_sample(s);
}

static void print_totals(const char *what)
{
    print_message("%s: %lld samples, %lld cases: %lld refused, %lld read (%lld rows compared);"
                  " slowest %.0f ms (%s)\n",
                  what, (long long)sums.samples, (long long)sums.cases, (long long)sums.refused,
                  (long long)sums.right, (long long)sums.rows_compared, 1000 * sums.slowest,
                  sums.slowest_name);
    sums = (totals){0};
}

/* ---- our own files --------------------------------------------------------------------------- */

/* Writes two batches of the columns. */
static void write_batches(const char *const *columns, int32_t n_columns, int64_t rows, bool is_file,
                          oci_codec_id codec, byte_sink *out)
{
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    assert_int_equal(oci_budget_create(64 * MIB, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "damage", &mem, NULL), OC_OK);
    oci_env env = {.budget = budget,
                   .io = oci_posix_io(),
                   .threads = oci_system_threads(),
                   .clock = oci_system_clock(),
                   .n_threads = 1,
                   .batch_rows = 8192};
    *out = (byte_sink){0};
    oci_file *file = byte_file_create(out);
    oci_schema *schema = make_schema(columns, n_columns);
    oci_ipc_writer *writer = NULL;
    oc_error err = {0};
    oc_status status =
        oci_ipc_writer_open(&env, file, schema, is_file, codec, 0, mem, &writer, &err);
    for (int i = 0; i < 2 && status == OC_OK; i++) {
        arrow_maker maker = {
            .seed = 4, .length = rows, .first_row = i * rows, .null_percent = 20, .distinct = 5};
        oci_batch *batch = make_batch(columns, n_columns, &maker);
        status = oci_ipc_writer_add(writer, batch, &err);
        oci_batch_release(batch);
    }
    if (status == OC_OK) {
        status = oci_ipc_writer_finish(writer, &err);
    }
    if (status != OC_OK) {
        fail_msg("could not write: %s", err.message);
    }
    oci_ipc_writer_destroy(writer);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    oci_schema_release(schema);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
}

/* A sample with a column of `format` between two plain ones. */
static void damage_format(const char *format, int32_t number)
{
    const char *columns[] = {"number=i", format, "text=u"};
    sample *s = calloc(1, sizeof *s);
    bool is_file = number % 2 == 1;
    bool is_big = number % 5 == 4;
    oci_codec_id codec = codecs[number / 2 % 3];
    snprintf(s->name, sizeof s->name, "%.60s (%s%s, %s)", format, is_file ? "file" : "stream",
             is_big ? ", big-endian" : "", oci_codec_name(codec));
    write_batches(columns, 3, 9, is_file, codec, &s->bytes);
    if (is_big) {
        byte_sink turned;
        big_endian_copy(&s->bytes, &turned);
        free(s->bytes.data);
        s->bytes = turned;
    }
    run_with_small_stack(work_on, s);
}

static void damaged_input_of_every_type_is_refused_or_read_right(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        damage_format(arrow_maker_formats[i], i);
    }
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        damage_format(arrow_maker_nested_formats[i], i);
    }
    print_totals("every type");
}

/* As deep as schemas may be. */
static void damaged_input_of_the_deepest_type_is_refused_or_read_right(void **state)
{
    (void)state;
    char format[512] = "";
    for (int i = 0; i < OCI_NESTING_MAX - 2; i++) {
        strcat(format, "+l(");
    }
    strcat(format, "i");
    for (int i = 0; i < OCI_NESTING_MAX - 2; i++) {
        strcat(format, ")");
    }
    damage_format(format, 0);
    damage_format(format, 1);
    print_totals("the deepest type");
}

/* Batches that are cut into slices from the file or a scratch file: larger, so only some cases. */
static void damaged_slices_are_refused_or_read_right(void **state)
{
    (void)state;
    static const char *const columns[] = {
        "a=+l(+s(x=i; y=vu))", "b=+vl(u)",  "c=+ud:0,1(i; +l(b))", "d=+r(i; u)",
        "e=+w:3(i)",           "f=+l(c>u)", "g=+us:0,1(i; vu)",    "h=+L(+r(l; i))"};
    for (int32_t i = 0; i < 6; i++) {
        sample *s = calloc(1, sizeof *s);
        snprintf(s->name, sizeof s->name, "slices, %s", oci_codec_name(codecs[i / 2]));
        write_batches(columns, 8, 300, i % 2 == 1, codecs[i / 2], &s->bytes);
        run_with_small_stack(work_on, s);
    }
    print_totals("slices");
}

/* ---- files of others ------------------------------------------------------------------------- */

static sample *load_sample(const char *folder, const char *name)
{
    sample *s = calloc(1, sizeof *s);
    snprintf(s->name, sizeof s->name, "%.150s/%.100s", folder, name);
    FILE *file = fopen(s->name, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    s->bytes.size = ftell(file);
    rewind(file);
    s->bytes.data = malloc((size_t)s->bytes.size + 1);
    assert_int_equal(fread(s->bytes.data, 1, (size_t)s->bytes.size, file), (size_t)s->bytes.size);
    (void)fclose(file);
    return s;
}

static bool has_end(const char *name, const char *end)
{
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* Calls for each regular file of a folder below OUTCORE_TESTING_DATA. */
static void for_each_file(const char *path, void *(*body)(void *), bool only_samples)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char below[512];
        bool is_sample = has_end(entry->d_name, ".stream") || has_end(entry->d_name, ".arrow_file");
        snprintf(below, sizeof below, "%.250s/%.200s", path, entry->d_name);
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
            for_each_file(below, body, only_samples);
        } else if (entry->d_type == DT_REG && (is_sample || !only_samples)) {
            run_with_small_stack(body, load_sample(path, entry->d_name));
        }
    }
    closedir(folder);
}

static const char *data_path(const char *below)
{
    static char path[512];
    const char *folder = getenv("OUTCORE_TESTING_DATA");
    if (folder != NULL) {
        snprintf(path, sizeof path, "%.400s/%.100s", folder, below);
    }
    return folder != NULL ? path : NULL;
}

static void damaged_golden_files_are_refused_or_read_right(void **state)
{
    (void)state;
    const char *path = data_path("arrow/golden");
    if (path == NULL || !is_full) {
        skip();
    }
    for_each_file(path, work_on, true);
    print_totals("golden files");
}

static void inputs_that_broke_other_readers_do_no_harm(void **state)
{
    (void)state;
    const char *path = data_path("arrow/damaged");
    if (path == NULL) {
        skip();
    }
    for_each_file(path, read_as_it_is, false);
    print_totals("damaged files");
}

int main(void)
{
    const char *mode = getenv("OUTCORE_DAMAGE");
    const char *filter = getenv("OUTCORE_DAMAGE_TEST");
    is_full = mode != NULL && strcmp(mode, "full") == 0;
    cmocka_set_test_filter(filter);
    if (oci_budget_create(33 * MIB, NULL, &budgets[0], NULL) != OC_OK ||
        oci_budget_create(256 * KIB, NULL, &budgets[1], NULL) != OC_OK) {
        return 2;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_input_of_every_type_is_refused_or_read_right),
        cmocka_unit_test(damaged_input_of_the_deepest_type_is_refused_or_read_right),
        cmocka_unit_test(damaged_slices_are_refused_or_read_right),
        cmocka_unit_test(damaged_golden_files_are_refused_or_read_right),
        cmocka_unit_test(inputs_that_broke_other_readers_do_no_harm),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    oci_budget_destroy(budgets[0]);
    oci_budget_destroy(budgets[1]);
    return n_failed;
}
