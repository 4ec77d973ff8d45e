/* libFuzzer target: a sort against the plain answer.
 *
 * Bytes choose the columns (any type, nested), how the input lies in memory and is cut into
 * batches, the keys, the limits and how it spills. The rows must come out as a stable sort by the
 * comparator of tests/support/order_reference.h orders them, equal in every column bit for bit, and
 * nothing may be held in the end. The tiny build makes runs and merges of some thousand rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/sort/sort.h"
#include "support/arrow_maker.h"
#include "support/fuzz_array.h"
#include "support/order_reference.h"

#define COLUMNS_MAX 3
#define KEYS_MAX    3
#define TEXT_BYTES  4000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct sort_case {
    char texts[COLUMNS_MAX][TEXT_BYTES];
    const char *columns[COLUMNS_MAX];
    int32_t n_columns;
    arrow_stream_maker maker;
    oci_sort_key keys[KEYS_MAX];
    int32_t n_keys;
    int64_t top; /* -1: all rows */
    oci_env env;
    oci_codec_id codec;
    oci_spill_encoding encoding;
    bool is_sealed;
    oci_progress progress;
    atomic_bool cancel;
} sort_case;

#define require(condition) require_at((condition), __LINE__, #condition)

static void require_at(bool condition, int line, const char *text)
{
    if (!condition) {
        fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, line, text);
        abort();
    }
}

/* No failure is expected: says what it was. */
#define require_ok(call)                               \
    do {                                               \
        oc_error call_err = {0};                       \
        oc_status call_status = (call);                \
        if (call_status != OC_OK) {                    \
            fprintf(stderr, "%s\n", call_err.message); \
        }                                              \
        require(call_status == OC_OK);                 \
    } while (0)

static void choose_columns(sort_case *c, fuzz_bytes *bytes)
{
    c->n_columns = 1 + fuzz_below(bytes, COLUMNS_MAX);
    for (int32_t i = 0; i < c->n_columns; i++) {
        uint64_t seed = fuzz_byte(bytes) * UINT64_C(256) + fuzz_byte(bytes);
        arrow_make_column_text(seed, fuzz_below(bytes, 3), c->texts[i], TEXT_BYTES);
        c->columns[i] = c->texts[i];
    }
}

static void choose_input(sort_case *c, fuzz_bytes *bytes)
{
    static const int64_t lengths[] = {1, 3, 17, 100, 600};
    static const int32_t distinct[] = {0, 1, 3, 40};
    int64_t length = lengths[fuzz_below(bytes, 5)];
    int64_t n_batches = fuzz_below(bytes, length > 100 ? 5 : 20);
    int64_t cut = fuzz_below(bytes, 3);
    c->maker = (arrow_stream_maker){
        .columns = c->columns,
        .n_columns = c->n_columns,
        .maker = {.seed = fuzz_byte(bytes),
                  .length = length,
                  .null_percent = fuzz_below(bytes, 3) * 20,
                  .distinct = distinct[fuzz_below(bytes, 4)],
                  .string_max = fuzz_below(bytes, 60)},
        .n_batches = n_batches,
        .total_rows = n_batches * length > cut ? n_batches * length - cut : n_batches * length,
        .vary = fuzz_below(bytes, 2) == 1,
    };
}

static void choose_keys(sort_case *c, fuzz_bytes *bytes)
{
    c->n_keys = fuzz_below(bytes, KEYS_MAX + 1);
    for (int32_t k = 0; k < c->n_keys; k++) {
        uint8_t choice = fuzz_byte(bytes);
        c->keys[k] = (oci_sort_key){.column = choice / 4 % c->n_columns,
                                    .descending = choice % 2 == 1,
                                    .nulls_first = choice / 2 % 2 == 1};
    }
    c->top = fuzz_below(bytes, 4) == 0 ? fuzz_byte(bytes) : -1;
}

static void choose_limits(sort_case *c, fuzz_bytes *bytes)
{
    c->env = (oci_env){.io = oci_posix_io(),
                       .threads = oci_system_threads(),
                       .clock = oci_system_clock(),
                       .cancel = &c->cancel,
                       .progress = &c->progress,
                       .n_threads = 1 + fuzz_below(bytes, 2),
                       .batch_rows = fuzz_below(bytes, 2) == 0 ? 100 : 8192};
    c->codec = (oci_codec_id)fuzz_below(bytes, OCI_CODEC_ZSTD + 1);
    c->encoding = (oci_spill_encoding)fuzz_below(bytes, OCI_SPILL_ENCODING_LENGTHS + 1);
    c->is_sealed = fuzz_below(bytes, 4) == 0 && oci_seal_is_available();
    int64_t limit = INT64_C(4) << 20 << 2 * fuzz_below(bytes, 3);
    require(oci_budget_create(limit, NULL, &c->env.budget, NULL) == OC_OK);
}

/* All rows of the input as one batch, however the stream cuts them. */
static oci_batch *make_reference(const sort_case *c, oci_schema **schema)
{
    struct ArrowSchema c_schema;
    struct ArrowArray array;
    arrow_maker whole = c->maker.maker;
    oci_batch *batch = NULL;
    whole.length = c->maker.total_rows;
    arrow_make_schema(c->columns, c->n_columns, &c_schema);
    arrow_make_array(c->columns, c->n_columns, &whole, &array);
    require(oci_schema_import(&c_schema, schema, NULL) == OC_OK);
    require(oci_batch_import(&array, *schema, &batch, NULL) == OC_OK);
    c_schema.release(&c_schema);
    return batch;
}

typedef struct reference_order {
    const oci_batch *batch;
    const sort_case *c;
} reference_order;

static int compare_rows(const void *a, const void *b, void *arg)
{
    const reference_order *order = arg;
    int64_t row_a = *(const int64_t *)a;
    int64_t row_b = *(const int64_t *)b;
    int result =
        order_of_rows(order->batch, row_a, order->batch, row_b, order->c->keys, order->c->n_keys);
    return result != 0 ? result : (row_a > row_b) - (row_a < row_b);
}

static int64_t *order_rows(const sort_case *c, const oci_batch *batch)
{
    int64_t *rows = malloc(((size_t)batch->length + 1) * sizeof *rows);
    reference_order order = {.batch = batch, .c = c};
    require(rows != NULL);
    for (int64_t i = 0; i < batch->length; i++) {
        rows[i] = i;
    }
    qsort_r(rows, (size_t)batch->length, sizeof *rows, compare_rows, &order);
    return rows;
}

/* Pulls all of the sort and holds it against the reference. */
static void check_output(const sort_case *c, oci_stream *sorted, const oci_batch *reference)
{
    int64_t *rows = order_rows(c, reference);
    int64_t wanted = c->top >= 0 && c->top < reference->length ? c->top : reference->length;
    int64_t at = 0;
    oci_batch *batch = NULL;
    for (;;) {
        require_ok(oci_stream_next(sorted, &batch, &call_err));
        if (batch == NULL) {
            break;
        }
        require(batch->length <= wanted - at);
        for (int64_t i = 0; i < batch->length; i++, at++) {
            for (int32_t k = 0; k < c->n_columns; k++) {
                require(oci_value_equal(&batch->columns[k], i, &reference->columns[k], rows[at]));
            }
        }
        oci_batch_release(batch);
    }
    require(at == wanted);
    free(rows);
}

static void run_case(sort_case *c)
{
    oci_schema *schema = NULL;
    oci_batch *reference = make_reference(c, &schema);
    oci_spill_manager *manager = NULL;
    oci_stream *input = NULL;
    oci_stream *sorted = NULL;
    struct ArrowArrayStream c_stream;
    const char *folder = "/tmp";
    oci_spill_settings settings = {.folders = &folder,
                                   .n_folders = 1,
                                   .codec = c->codec,
                                   .encoding = c->encoding,
                                   .is_sealed = c->is_sealed};
    require(oci_spill_manager_create(c->env.io, &settings, &manager, NULL) == OC_OK);
    arrow_make_stream(&c->maker, &c_stream);
    require(oci_stream_import(&c_stream, &input, NULL) == OC_OK);
    oc_status has_order = oci_row_key_check(schema, c->keys, c->n_keys, NULL);
    oc_error err = {0};
    oc_status status =
        oci_sort_open(&c->env, manager, input, c->keys, c->n_keys, c->top, &sorted, &err);
    if (status == OC_OK) {
        check_output(c, sorted, reference);
    } else {
        /* The one type that has an order and cannot be sorted. */
        require(status == has_order || strstr(err.message, "run-end encoded dictionaries") != NULL);
    }
    oci_stream_close(sorted);
    oci_spill_manager_release(manager);
    oci_batch_release(reference);
    oci_schema_release(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {.data = data, .size = size};
    static sort_case c;
    memset(&c, 0, sizeof c);
    choose_columns(&c, &bytes);
    choose_input(&c, &bytes);
    choose_keys(&c, &bytes);
    choose_limits(&c, &bytes);
    run_case(&c);
    require(oci_budget_used(c.env.budget) == 0);
    oci_budget_destroy(c.env.budget);
    require(arrow_maker_live() == 0);
    return 0;
}
