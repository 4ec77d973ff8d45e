/* What a gathered row costs, in ns, per layout: rows in random order out of many sources, as a
 * sort makes them.
 *
 *     gather_bench [sources] [rows per source] [rows per batch] [number of a column]
 *
 * Every row of the table is gathered once, in two orders: a random permutation, as when rows in
 * memory are sorted (each value is a miss, 5-8 ns on the machine that this was written on), and a
 * random interleave of the sources, each in its own order, as when runs are merged. Per order: the
 * scan (fit, where everything fits), scan + copy (gather) and, for values of one width, the plain
 * loop in C that copies them and does nothing else; last, range copies. The best of five passes.
 *
 * A struct is two columns in one; a list costs per row what its 8 elements (0 to 16) cost. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arrow/gather.h"
#include "base/bits.h"

typedef struct table {
    oci_schema *schema;
    oci_batch **batches;
    int64_t n_batches;
    int64_t batch_rows;
} table;

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
        fprintf(stderr, "gather_bench: %s\n", err->message);
        exit(1);
    }
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* ---- data ------------------------------------------------------------------------------------ */

typedef struct kind {
    const char *name;
    oci_type type;
    int32_t string_min; /* strings: lengths between these */
    int32_t string_max;
    int32_t null_percent;
    bool dictionary; /* int32 indices into 1000 such values */
    bool shared;     /* the same dictionary in all sources */
    oci_type around; /* LIST or STRUCT of such values, or NULL */
} kind;

static const kind kinds[] = {
    {"bool", OCI_TYPE_BOOL, 0, 0, 0, false, false, OCI_TYPE_NULL},
    {"int8", OCI_TYPE_INT8, 0, 0, 0, false, false, OCI_TYPE_NULL},
    {"int32", OCI_TYPE_INT32, 0, 0, 0, false, false, OCI_TYPE_NULL},
    {"int64", OCI_TYPE_INT64, 0, 0, 0, false, false, OCI_TYPE_NULL},
    {"int64, 10% null", OCI_TYPE_INT64, 0, 0, 10, false, false, OCI_TYPE_NULL},
    {"decimal128", OCI_TYPE_DECIMAL128, 0, 0, 0, false, false, OCI_TYPE_NULL},
    {"utf8, 1-10 bytes", OCI_TYPE_UTF8, 1, 10, 0, false, false, OCI_TYPE_NULL},
    {"utf8, 10-43 bytes", OCI_TYPE_UTF8, 10, 43, 0, false, false, OCI_TYPE_NULL},
    {"utf8, 10-43, 10% null", OCI_TYPE_UTF8, 10, 43, 10, false, false, OCI_TYPE_NULL},
    {"utf8, 27 bytes", OCI_TYPE_UTF8, 27, 27, 0, false, false, OCI_TYPE_NULL},
    {"utf8, 200 bytes", OCI_TYPE_UTF8, 200, 200, 0, false, false, OCI_TYPE_NULL},
    {"dictionary, shared", OCI_TYPE_UTF8, 10, 43, 0, true, true, OCI_TYPE_NULL},
    {"dictionary, each its own", OCI_TYPE_UTF8, 10, 43, 0, true, false, OCI_TYPE_NULL},
    {"struct of 2 int64", OCI_TYPE_INT64, 0, 0, 0, false, false, OCI_TYPE_STRUCT},
    {"list of int64", OCI_TYPE_INT64, 0, 0, 0, false, false, OCI_TYPE_LIST},
    {"list of utf8, 1-10 bytes", OCI_TYPE_UTF8, 1, 10, 0, false, false, OCI_TYPE_LIST},
};

static int64_t random_length(const kind *k)
{
    return k->string_min + (int64_t)(next_random() % (uint64_t)(k->string_max - k->string_min + 1));
}

static void fill_values(const kind *k, const oci_field *field, int64_t n, uint8_t *values,
                        uint8_t *bytes)
{
    if (k->type != OCI_TYPE_UTF8) {
        for (int64_t i = 0; i < (field->type == OCI_TYPE_BOOL ? n / 8 : n * field->byte_width);
             i++) {
            values[i] = (uint8_t)next_random();
        }
        return;
    }
    int64_t end = 0;
    oci_store_le32(values, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t length = random_length(k);
        memset(bytes + end, 'a' + (int)(i % 26), (size_t)length);
        memcpy(bytes + end, &i, length < 2 ? 1 : 2);
        end += length;
        oci_store_le32(values + (i + 1) * 4, (uint32_t)end);
    }
}

#define LIST_MAX 16

/* Two equal children, or one and offsets of lists. One slab: values (or offsets), bytes, offsets of
 * lists. */
static oci_batch *make_nested_batch(oci_schema *schema, const kind *k, int64_t rows, oci_mem *mem)
{
    const oci_field *field = &schema->fields[0];
    bool list = k->around == OCI_TYPE_LIST;
    int64_t n_values = list ? rows * LIST_MAX : rows;
    int64_t bytes_at = (n_values + 1) * 8;
    int64_t offsets_at = oci_round_up(bytes_at + n_values * k->string_max, 64);
    int64_t size = offsets_at + (rows + 1) * 4;
    void *slab = NULL;
    oc_error err;
    oci_batch *batch = NULL;
    oci_column *columns = calloc(1, sizeof *columns);
    oci_column *extra = calloc(2, sizeof *extra);
    check(oci_mem_alloc(mem, size, &slab, &err), &err);
    uint8_t *at = slab;
    fill_values(k, &field->children[0], n_values, at, at + bytes_at);
    for (int32_t c = 0; c < field->n_children; c++) {
        extra[c] = (oci_column){
            .field = &field->children[c], .length = n_values, .values = at, .bytes = at + bytes_at};
    }
    columns[0] = (oci_column){.field = field, .length = rows, .children = extra};
    if (list) {
        uint32_t end = 0;
        columns[0].values = at + offsets_at;
        oci_store_le32(at + offsets_at, 0);
        for (int64_t i = 1; i <= rows; i++) {
            end += (uint32_t)(next_random() % (LIST_MAX + 1));
            oci_store_le32(at + offsets_at + i * 4, end);
        }
    }
    check(oci_batch_adopt(schema, rows, columns, mem, slab, size, extra, 2 * sizeof *extra, &batch,
                          &err),
          &err);
    return batch;
}

/* One slab: values (or offsets), bytes, validity, indices. */
static oci_batch *make_batch(oci_schema *schema, const kind *k, int64_t rows,
                             const oci_batch *first, oci_mem *mem)
{
    const oci_field *field = &schema->fields[0];
    const oci_field *value_field = k->dictionary ? field->dictionary : field;
    int64_t n_values = k->dictionary ? 1000 : rows;
    int64_t bytes_at = (n_values + 1) * 32;
    int64_t validity_at = bytes_at + n_values * k->string_max;
    int64_t indices_at = oci_round_up(validity_at + rows, 64);
    int64_t size = indices_at + rows * 4;
    void *slab = NULL;
    oc_error err;
    oci_batch *batch = NULL;
    oci_column *columns = calloc(1, sizeof *columns);
    oci_column *extra = calloc(1, sizeof *extra);
    check(oci_mem_alloc(mem, size, &slab, &err), &err);
    uint8_t *at = slab;
    fill_values(k, value_field, n_values, at, at + bytes_at);
    oci_column values = {
        .field = value_field, .length = n_values, .values = at, .bytes = at + bytes_at};
    columns[0] = values;
    if (k->dictionary) {
        *extra = k->shared && first != NULL ? *first->columns[0].dictionary : values;
        columns[0] = (oci_column){
            .field = field, .length = rows, .values = at + indices_at, .dictionary = extra};
        for (int64_t i = 0; i < rows; i++) {
            oci_store_le32(at + indices_at + i * 4, (uint32_t)(next_random() % 1000));
        }
    }
    if (k->null_percent > 0) {
        columns[0].validity = at + validity_at;
        columns[0].null_count = -1;
        for (int64_t i = 0; i < rows; i++) {
            oci_bit_put(at + validity_at, i, next_random() % 100 >= (uint64_t)k->null_percent);
        }
    }
    check(
        oci_batch_adopt(schema, rows, columns, mem, slab, size, extra, sizeof *extra, &batch, &err),
        &err);
    return batch;
}

static table make_table(const kind *k, int64_t n_batches, int64_t batch_rows, oci_mem *mem)
{
    oc_error err;
    oci_field *fields = calloc(1, sizeof *fields);
    table t = {.n_batches = n_batches, .batch_rows = batch_rows};
    if (k->around != OCI_TYPE_NULL) {
        check(oci_field_init(fields, "a", k->around, true, &err), &err);
        fields->n_children = k->around == OCI_TYPE_LIST ? 1 : 2;
        fields->children = calloc((size_t)fields->n_children, sizeof *fields);
        for (int32_t c = 0; c < fields->n_children; c++) {
            check(oci_field_init(&fields->children[c], "x", k->type, true, &err), &err);
        }
    } else if (k->dictionary) {
        check(oci_field_init(fields, "a", OCI_TYPE_DICTIONARY, true, &err), &err);
        fields->dictionary = calloc(1, sizeof *fields);
        fields->index_type = OCI_TYPE_INT32;
        check(oci_field_init(fields->dictionary, "", k->type, true, &err), &err);
        oci_field_set_width(fields);
    } else {
        check(oci_field_init(fields, "a", k->type, true, &err), &err);
    }
    check(oci_schema_create(fields, 1, NULL, 0, &t.schema, &err), &err);
    t.batches = calloc((size_t)n_batches, sizeof(oci_batch *));
    for (int64_t b = 0; b < n_batches; b++) {
        t.batches[b] = k->around != OCI_TYPE_NULL
                           ? make_nested_batch(t.schema, k, batch_rows, mem)
                           : make_batch(t.schema, k, batch_rows, t.batches[0], mem);
    }
    return t;
}

static void free_table(table *t)
{
    for (int64_t b = 0; b < t->n_batches; b++) {
        oci_batch_release(t->batches[b]);
    }
    free(t->batches);
    oci_schema_release(t->schema);
}

static void shuffle(oci_row_ref *rows, int64_t n)
{
    for (int64_t i = n - 1; i > 0; i--) {
        int64_t k = (int64_t)(next_random() % (uint64_t)(i + 1));
        oci_row_ref swap = rows[i];
        rows[i] = rows[k];
        rows[k] = swap;
    }
}

/* All rows once, in random order; `merge`: but those of one source ascending. */
static oci_row_ref *make_rows(int64_t n_batches, int64_t batch_rows, bool merge)
{
    int64_t n = n_batches * batch_rows;
    oci_row_ref *rows = malloc((size_t)n * sizeof *rows);
    uint32_t *next = calloc((size_t)n_batches, sizeof *next);
    for (int64_t i = 0; i < n; i++) {
        rows[i] =
            (oci_row_ref){.source = (uint32_t)(i / batch_rows), .row = (uint32_t)(i % batch_rows)};
    }
    shuffle(rows, n);
    for (int64_t i = 0; merge && i < n; i++) {
        rows[i].row = next[rows[i].source]++;
    }
    free(next);
    return rows;
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef enum pass { PASS_FIT, PASS_GATHER, PASS_RANGE, PASS_LOOP } pass;

/* What gather is measured against. */
static inline __attribute__((always_inline)) void copy_plainly(const uint8_t *const *values,
                                                               const oci_row_ref *rows, int64_t n,
                                                               uint8_t *out, size_t width)
{
    for (int64_t i = 0; i < n; i++) {
        memcpy(out + (size_t)i * width, values[rows[i].source] + rows[i].row * width, width);
    }
}

static void run_loop(const table *t, const oci_row_ref *rows, int64_t n, oci_mem *mem)
{
    oc_error err;
    size_t width = (size_t)t->schema->fields[0].byte_width;
    const uint8_t **values = malloc((size_t)t->n_batches * sizeof *values);
    void *out = NULL;
    check(oci_mem_alloc(mem, n * (int64_t)width, &out, &err), &err);
    for (int64_t b = 0; b < t->n_batches; b++) {
        values[b] = t->batches[b]->columns[0].values;
    }
    switch (width) {
    case 1: copy_plainly(values, rows, n, out, 1); break;
    case 4: copy_plainly(values, rows, n, out, 4); break;
    case 8: copy_plainly(values, rows, n, out, 8); break;
    default: copy_plainly(values, rows, n, out, 16); break;
    }
    oci_mem_free(mem, out, n * (int64_t)width);
    free(values);
}

static void run_step(const table *t, const oci_row_ref *rows, int64_t at, int64_t n, pass what,
                     oci_mem *mem)
{
    oc_error err;
    oci_batch *out = NULL;
    int64_t fit = n;
    const oci_batch *const *from = (const oci_batch *const *)t->batches;
    if (what == PASS_RANGE) {
        int64_t start = oci_min64(at % t->batch_rows, t->batch_rows - n);
        check(oci_gather_range(t->schema, from[at / t->batch_rows], start, n, 0, mem, NULL, &out,
                               &err),
              &err);
    }
    if (what == PASS_LOOP) {
        run_loop(t, rows + at, n, mem);
    }
    if (what == PASS_FIT) {
        check(oci_gather_fit(t->schema, from, rows + at, n, INT64_MAX, mem, &fit, NULL, &err),
              &err);
    }
    if (what == PASS_GATHER) {
        check(oci_gather(t->schema, from, rows + at, n, 0, mem, NULL, &out, &err), &err);
    }
    oci_batch_release(out);
}

static double measure(const table *t, const oci_row_ref *rows, int64_t step, pass what,
                      oci_mem *mem)
{
    int64_t n = t->n_batches * t->batch_rows;
    double best = 1e9;
    for (int round = 0; round < 5; round++) {
        int64_t began = now_ns();
        for (int64_t at = 0; at < n; at += step) {
            run_step(t, rows, at, oci_min64(step, n - at), what, mem);
        }
        double ns = (double)(now_ns() - began) / (double)n;
        best = ns < best ? ns : best;
    }
    return best;
}

static void run_kind(const kind *k, oci_row_ref *const rows[2], int64_t n_batches,
                     int64_t batch_rows, int64_t step, oci_mem *mem)
{
    table t = make_table(k, n_batches, batch_rows, mem);
    printf("%-24s", k->name);
    for (int order = 0; order < 2; order++) {
        printf(" %8.2f %8.2f", measure(&t, rows[order], step, PASS_FIT, mem),
               measure(&t, rows[order], step, PASS_GATHER, mem));
        if (!k->dictionary && t.schema->fields[0].byte_width > 0) {
            printf(" %8.2f", measure(&t, rows[order], step, PASS_LOOP, mem));
        } else {
            printf(" %8s", "");
        }
    }
    printf(" %8.2f\n", measure(&t, rows[0], step, PASS_RANGE, mem));
    free_table(&t);
}

int main(int argc, char **argv)
{
    int64_t n_batches = argc > 1 ? atoll(argv[1]) : 64;
    int64_t batch_rows = argc > 2 ? atoll(argv[2]) : 32768;
    int64_t step = argc > 3 ? atoll(argv[3]) : 8192;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oc_error err;
    check(oci_budget_create(INT64_C(2) << 30, NULL, &budget, &err), &err);
    check(oci_mem_open(budget, "bench", &mem, &err), &err);
    oci_row_ref *rows[2] = {make_rows(n_batches, batch_rows, false),
                            make_rows(n_batches, batch_rows, true)};
    printf("%lld sources of %lld rows, batches of %lld; ns per row\n", (long long)n_batches,
           (long long)batch_rows, (long long)step);
    printf("%-24s %26s %26s\n", "", "random order", "merge order");
    printf("%-24s %8s %8s %8s %8s %8s %8s %8s\n", "column", "fit", "gather", "loop", "fit",
           "gather", "loop", "range");
    size_t only = argc > 4 ? (size_t)atoll(argv[4]) : SIZE_MAX;
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        if (only != SIZE_MAX && only != k) {
            continue;
        }
        run_kind(&kinds[k], rows, n_batches, batch_rows, step, mem);
    }
    free(rows[0]);
    free(rows[1]);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
