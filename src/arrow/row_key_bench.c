/* What an encoded key costs, in ns, per type; batches of 32768 rows that come from memory, as they
 * do when a sort takes in a table.
 *
 *     row_key_bench [batches] [rows per batch] [number of a type]
 *
 * size: oci_row_keys_size; encode: with its allocation. The best of seven passes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arrow/row_key.h"
#include "base/bits.h"

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "row_key_bench: %s\n", err->message);
        exit(1);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

typedef enum shape { FLAT, LIST, STRUCT } shape;

/* Lists hold 0 to 2 * LIST_MEAN values, structs two of them. */
enum { LIST_MEAN = 4 };

typedef struct kind {
    const char *name;
    oci_type type;
    int32_t string_min;
    int32_t string_max;
    int32_t null_percent;
    int32_t zero_percent; /* strings: that hold a 0x00 */
    bool descending;
    shape shape;
} kind;

static const kind kinds[] = {
    {"int32", OCI_TYPE_INT32, 0, 0, 0, 0, false, FLAT},
    {"int64", OCI_TYPE_INT64, 0, 0, 0, 0, false, FLAT},
    {"int64, 10% null", OCI_TYPE_INT64, 0, 0, 10, 0, false, FLAT},
    {"float64", OCI_TYPE_FLOAT64, 0, 0, 0, 0, false, FLAT},
    {"decimal128", OCI_TYPE_DECIMAL128, 0, 0, 0, 0, false, FLAT},
    {"utf8, 1-10 bytes", OCI_TYPE_UTF8, 1, 10, 0, 0, false, FLAT},
    {"utf8, 27 bytes", OCI_TYPE_UTF8, 27, 27, 0, 0, false, FLAT},
    {"utf8, 10-43 bytes", OCI_TYPE_UTF8, 10, 43, 0, 0, false, FLAT},
    {"utf8, 10-43 bytes, desc", OCI_TYPE_UTF8, 10, 43, 0, 0, true, FLAT},
    {"utf8, 10-43, 10% null", OCI_TYPE_UTF8, 10, 43, 10, 0, false, FLAT},
    {"utf8, 10-43, 10% 0x00", OCI_TYPE_UTF8, 10, 43, 0, 10, false, FLAT},
    {"4 x int32 in lists", OCI_TYPE_INT32, 0, 0, 0, 0, false, LIST},
    {"4 x int32, 10% null", OCI_TYPE_INT32, 0, 0, 10, 0, false, LIST},
    {"4 x utf8, 1-10 bytes", OCI_TYPE_UTF8, 1, 10, 0, 0, false, LIST},
    {"2 x int64 in a struct", OCI_TYPE_INT64, 0, 0, 0, 0, false, STRUCT},
    {"2 x utf8, 1-10 bytes", OCI_TYPE_UTF8, 1, 10, 0, 0, true, STRUCT},
};

static void fill_strings(const kind *k, int64_t n, uint8_t *offsets, uint8_t *bytes)
{
    int64_t end = 0;
    oci_store_le32(offsets, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t range = k->string_max - k->string_min + 1;
        int64_t length = k->string_min + (int64_t)(next_random() % (uint64_t)range);
        memset(bytes + end, 'a' + (int)(i % 26), (size_t)length);
        if (next_random() % 100 < (uint64_t)k->zero_percent) {
            bytes[end + length / 2] = 0;
        }
        end += length;
        oci_store_le32(offsets + (i + 1) * 4, (uint32_t)end);
    }
}

/* Values of the kind's type, in memory of their own. */
static oci_column make_values(const kind *k, const oci_field *field, int64_t rows, oci_mem *mem,
                              oci_batch *keeper)
{
    int64_t bytes_at = (rows + 1) * 32;
    int64_t validity_at = bytes_at + rows * k->string_max;
    int64_t size = validity_at + rows;
    oci_batch *memory = NULL;
    void *slab = NULL;
    oc_error err;
    check(oci_mem_alloc(mem, size, &slab, &err), &err);
    uint8_t *at = slab;
    for (int64_t i = 0; i < rows * 4; i++) {
        oci_store_le64(at + i * 8, next_random());
    }
    if (k->string_max > 0) {
        fill_strings(k, rows, at, at + bytes_at);
    }
    oci_column column = {.field = field, .length = rows, .values = at, .bytes = at + bytes_at};
    if (k->null_percent > 0) {
        column.validity = at + validity_at;
        column.null_count = -1;
        for (int64_t i = 0; i < rows; i++) {
            oci_bit_put(at + validity_at, i, next_random() % 100 >= (uint64_t)k->null_percent);
        }
    }
    check(oci_batch_adopt(keeper->schema, 0, NULL, mem, slab, size, NULL, 0, &memory, &err), &err);
    check(oci_batch_keep(keeper, memory, &err), &err);
    return column;
}

static void fill_list_offsets(int64_t rows, uint8_t *offsets)
{
    uint32_t end = 0;
    oci_store_le32(offsets, 0);
    for (int64_t i = 1; i <= rows; i++) {
        end += (uint32_t)(next_random() % (2 * LIST_MEAN + 1));
        oci_store_le32(offsets + i * 4, end);
    }
}

static oci_batch *make_batch(oci_schema *schema, const kind *k, int64_t rows, oci_mem *mem)
{
    oci_batch *batch = NULL;
    oc_error err;
    oci_field *field = &schema->fields[0];
    oci_column *columns = calloc(1, sizeof *columns);
    /* Children, then the offsets of lists. */
    uint8_t *extra = calloc(1, 2 * sizeof *columns + ((size_t)rows + 1) * 4);
    oci_column *children = (oci_column *)extra;
    check(oci_batch_adopt(schema, rows, columns, NULL, NULL, 0, extra, 0, &batch, &err), &err);
    if (k->shape == FLAT) {
        columns[0] = make_values(k, field, rows, mem, batch);
        return batch;
    }
    columns[0] = (oci_column){.field = field, .length = rows, .children = children};
    for (int32_t i = 0; i < field->n_children; i++) {
        int64_t n = k->shape == LIST ? rows * 2 * LIST_MEAN : rows;
        children[i] = make_values(k, &field->children[i], n, mem, batch);
    }
    if (k->shape == LIST) {
        uint8_t *offsets = extra + 2 * sizeof *columns;
        fill_list_offsets(rows, offsets);
        columns[0].values = offsets;
    }
    return batch;
}

static void measure(const kind *k, oci_batch **batches, int64_t n, int64_t rows, oci_mem *mem)
{
    double best[2] = {1e9, 1e9};
    oci_sort_key key = {.descending = k->descending};
    oc_error err;
    for (int round = 0; round < 14; round++) {
        int64_t began = now_ns();
        for (int64_t b = 0; b < n; b++) {
            oci_row_keys keys = {0};
            int64_t bytes = 0;
            if (round % 2 == 0) {
                check(oci_row_keys_size(batches[b], &key, 1, &bytes, &err), &err);
            } else {
                check(oci_row_keys_encode(batches[b], &key, 1, mem, NULL, &keys, &err), &err);
            }
            oci_row_keys_deinit(&keys);
        }
        double ns = (double)(now_ns() - began) / (double)(n * rows);
        best[round % 2] = ns < best[round % 2] ? ns : best[round % 2];
    }
    printf("%-24s %8.2f %8.2f\n", k->name, best[0], best[1]);
}

static void run_kind(const kind *k, int64_t n, int64_t rows, oci_mem *mem)
{
    oc_error err;
    oci_schema *schema = NULL;
    oci_field *fields = calloc(1, sizeof *fields);
    oci_batch **batches = calloc((size_t)n, sizeof *batches);
    oci_type type = k->shape == LIST     ? OCI_TYPE_LIST
                    : k->shape == STRUCT ? OCI_TYPE_STRUCT
                                         : k->type;
    check(oci_field_init(fields, "a", type, true, &err), &err);
    fields->n_children = k->shape == LIST ? 1 : k->shape == STRUCT ? 2 : 0;
    fields->children = calloc(2, sizeof *fields);
    for (int32_t i = 0; i < fields->n_children; i++) {
        check(oci_field_init(&fields->children[i], "b", k->type, true, &err), &err);
    }
    check(oci_schema_create(fields, 1, NULL, 0, &schema, &err), &err);
    for (int64_t b = 0; b < n; b++) {
        batches[b] = make_batch(schema, k, rows, mem);
    }
    measure(k, batches, n, rows, mem);
    for (int64_t b = 0; b < n; b++) {
        oci_batch_release(batches[b]);
    }
    free(batches);
    oci_schema_release(schema);
}

int main(int argc, char **argv)
{
    int64_t n = argc > 1 ? atoll(argv[1]) : 32;
    int64_t rows = argc > 2 ? atoll(argv[2]) : 32768;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oc_error err;
    check(oci_budget_create(INT64_C(1) << 30, NULL, &budget, &err), &err);
    check(oci_mem_open(budget, "bench", &mem, &err), &err);
    printf("%lld batches of %lld rows; ns per key\n%-24s %8s %8s\n", (long long)n, (long long)rows,
           "", "size", "encode");
    size_t only = argc > 3 ? (size_t)atoll(argv[3]) : SIZE_MAX;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (only != SIZE_MAX && only != k) {
            continue;
        }
        run_kind(&kinds[k], n, rows, mem);
    }
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
