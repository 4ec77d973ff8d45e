/* Finding runs, and the value of each.
 *
 * Neighbours are compared bit for bit. Values of fixed width are compared by straight
 * loops that only leave a mark per row, so that the compiler can turn them into vector code; all
 * others by oci_value_equal.
 *
 * The value of a run is that of its first row. These rows are picked by gather, which takes at most
 * OCI_GATHER_ROWS_MAX rows a call, while the child of a list may well have more runs than that and
 * must stay one column. So many rows are picked as the items of a single row instead:
 *
 *     starts [0, 3, 7, ...]                 each run a list of one item
 *     sizes  [1, 1, 1, ...]     offsets [0, n]     and all of them one list
 *
 * Gathering that row of type list<list_view<T>> gives list<list<T>> with all values in one column
 * at its bottom. When nothing repeats the column is its own values and nothing is copied.
 *
 * Starts, sizes and values are charged; the schema of the gather, three fields, comes from malloc. */
#include "arrow/output_runs.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "base/tiny.h"

/* Rows whose neighbours are compared at a time. */
#define MARKS_MAX 1024
/* Runs whose rows are gathered one by one. */
#define RUNS_BY_ROW_MAX OCI_TINY((int64_t)5, (int64_t)OCI_GATHER_ROWS_MAX)
#define STARTS_MIN      OCI_TINY((int64_t)2, (int64_t)256)

/* ---- where runs start ------------------------------------------------------------------------ */

/* marks[i]: value i of the buffer is not value i - 1. One loop per width, for vector code. */
#define DEFINE_MARK(width)                                                                    \
    static void mark##width(const uint8_t *values, int64_t from, int64_t n, uint8_t *marks)   \
    {                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                     \
            uint##width##_t before, here;                                                     \
            memcpy(&before, values + (from + i - 1) * (int64_t)sizeof before, sizeof before); \
            memcpy(&here, values + (from + i) * (int64_t)sizeof here, sizeof here);           \
            marks[i] = here != before;                                                        \
        }                                                                                     \
    }
DEFINE_MARK(8)
DEFINE_MARK(16)
DEFINE_MARK(32)
DEFINE_MARK(64)

static void mark_any(const uint8_t *values, int64_t from, int64_t n, int64_t width, uint8_t *marks)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *here = values + (from + i) * width;
        marks[i] = memcmp(here - width, here, (size_t)width) != 0;
    }
}

/* Whatever the validity of the rows. */
static void mark_fixed(const oci_column *column, int64_t first, int64_t n, uint8_t *marks)
{
    int64_t from = column->offset + first;
    switch (column->field->byte_width) {
    case 1: mark8(column->values, from, n, marks); break;
    case 2: mark16(column->values, from, n, marks); break;
    case 4: mark32(column->values, from, n, marks); break;
    case 8: mark64(column->values, from, n, marks); break;
    default: mark_any(column->values, from, n, column->field->byte_width, marks); break;
    }
}

/* Marks rows [first, first + n), first > 0, that begin a run. */
static void mark_starts(const oci_column *column, int64_t first, int64_t n, uint8_t *marks)
{
    if (oci_field_layout(column->field) != OCI_LAYOUT_FIXED) {
        for (int64_t i = 0; i < n; i++) {
            marks[i] = !oci_value_equal(column, first + i, column, first + i - 1);
        }
        return;
    }
    mark_fixed(column, first, n, marks);
    int64_t bit = column->offset + first;
    for (int64_t i = 0; i < n && column->validity != NULL; i++) {
        bool valid = oci_bit_get(column->validity, bit + i);
        bool before = oci_bit_get(column->validity, bit + i - 1);
        marks[i] = valid != before || (valid && marks[i]);
    }
}

static oc_status grow(oci_run_set *runs, oci_mem *mem, oc_error *err)
{
    int64_t capacity = oci_max64(STARTS_MIN, 2 * runs->capacity);
    int64_t size = (int64_t)sizeof *runs->starts;
    void *starts = NULL;
    OC_TRY(
        oci_mem_realloc(mem, runs->starts, runs->capacity * size, capacity * size, &starts, err));
    runs->starts = starts;
    runs->capacity = capacity;
    return OC_OK;
}

static oc_status find_starts(oci_run_set *runs, const oci_column *column, oci_mem *mem,
                             oc_error *err)
{
    uint8_t marks[MARKS_MAX] = {1}; /* the first row starts a run */
    int64_t n = oci_min64(1, column->length);
    for (int64_t row = 0; row < column->length; row += n) {
        if (row > 0) {
            n = oci_min64(MARKS_MAX, column->length - row);
            mark_starts(column, row, n, marks);
        }
        for (int64_t i = 0; i < n; i++) {
            if (!marks[i]) {
                continue;
            }
            if (runs->n == runs->capacity) {
                OC_TRY(grow(runs, mem, err));
            }
            runs->starts[runs->n++] = (int32_t)(row + i);
        }
    }
    return OC_OK;
}

/* ---- the value of each ----------------------------------------------------------------------- */

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while handing out a batch");
}

/* Makes `item`, which is taken also on failure, the item of a list: *out is malloc'ed. */
static oc_status wrap_field(oci_field *item, oci_type list, oci_field **out, oc_error *err)
{
    oci_field *outer = calloc(1, sizeof *outer);
    oc_status status = outer != NULL ? oci_field_init(outer, "", list, true, err)
                                     : fail_memory(err);
    if (status != OC_OK) {
        oci_field_deinit(item);
        free(item);
        free(outer);
        return status;
    }
    outer->n_children = 1;
    outer->children = item;
    *out = outer;
    return OC_OK;
}

/* A schema of one field: `item`, or list<inner<item>> when inner is a type of list. */
static oc_status make_schema(const oci_field *item, oci_type inner, oci_schema **out, oc_error *err)
{
    oci_field *field = calloc(1, sizeof *field);
    if (field == NULL) {
        return fail_memory(err);
    }
    oc_status status = oci_field_copy(item, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    if (inner != OCI_TYPE_NULL) {
        OC_TRY(wrap_field(field, inner, &field, err));
        OC_TRY(wrap_field(field, OCI_TYPE_LIST, &field, err));
    }
    return oci_schema_create(field, 1, NULL, 0, out, err);
}

static oc_status pick_by_row(oci_run_set *runs, const oci_column *column, oci_mem *mem,
                             oc_error *err)
{
    void *memory = NULL;
    int64_t bytes = runs->n * (int64_t)sizeof(oci_row_ref);
    oci_schema *schema;
    OC_TRY(make_schema(column->field, OCI_TYPE_NULL, &schema, err));
    oc_status status = oci_mem_alloc(mem, bytes, &memory, err);
    if (status == OC_OK) {
        oci_row_ref *rows = memory;
        for (int64_t i = 0; i < runs->n; i++) {
            rows[i] = (oci_row_ref){0, (uint32_t)runs->starts[i]};
        }
        oci_column columns[1] = {*column};
        const oci_batch source = {.schema = schema, .length = column->length, .columns = columns};
        const oci_batch *sources[1] = {&source};
        status = oci_gather(schema, sources, rows, runs->n, 0, mem, NULL, &runs->values, err);
        oci_mem_free(mem, memory, bytes);
    }
    oci_schema_release(schema);
    if (status == OC_OK) {
        runs->picked = runs->values->columns[0];
    }
    return status;
}

/* Gathers the one row of a list of lists, see above. `sizes` are ones. */
static oc_status gather_list(oci_run_set *runs, const oci_column *column, const int32_t *sizes,
                             oci_schema *view_schema, oci_schema *schema, oci_mem *mem,
                             oc_error *err)
{
    const oci_row_ref row = {0, 0};
    const int32_t offsets[2] = {0, (int32_t)runs->n};
    const oci_field *list = &view_schema->fields[0];
    const oci_column views = {.field = &list->children[0],
                              .length = runs->n,
                              .values = (const uint8_t *)runs->starts,
                              .sizes = (const uint8_t *)sizes,
                              .children = column};
    oci_column columns[1] = {
        {.field = list, .length = 1, .values = (const uint8_t *)offsets, .children = &views}};
    const oci_batch source = {.schema = view_schema, .length = 1, .columns = columns};
    const oci_batch *sources[1] = {&source};
    OC_TRY(oci_gather(schema, sources, &row, 1, 0, mem, NULL, &runs->values, err));
    runs->picked = runs->values->columns[0].children[0].children[0];
    return OC_OK;
}

static oc_status pick_as_list(oci_run_set *runs, const oci_column *column, oci_mem *mem,
                              oc_error *err)
{
    oc_status status = OC_OK;
    oci_schema *view_schema = NULL, *schema = NULL;
    void *sizes = NULL;
    int64_t bytes = runs->n * (int64_t)sizeof(int32_t);
    OC_GOTO(make_schema(column->field, OCI_TYPE_LIST_VIEW, &view_schema, err));
    OC_GOTO(make_schema(column->field, OCI_TYPE_LIST, &schema, err));
    OC_GOTO(oci_mem_alloc(mem, bytes, &sizes, err));
    for (int64_t i = 0; i < runs->n; i++) {
        ((int32_t *)sizes)[i] = 1;
    }
    status = gather_list(runs, column, sizes, view_schema, schema, mem, err);
done:
    oci_mem_free(mem, sizes, bytes);
    oci_schema_release(view_schema);
    oci_schema_release(schema);
    return status;
}

oc_status oci_run_set_find(oci_run_set *runs, const oci_column *column, oci_mem *mem, oc_error *err)
{
    assert(column->length <= OCI_RUN_ROWS_MAX);
    OC_TRY(find_starts(runs, column, mem, err));
    if (runs->n == column->length) {
        runs->picked = *column;
        return OC_OK;
    }
    return runs->n <= RUNS_BY_ROW_MAX ? pick_by_row(runs, column, mem, err)
                                      : pick_as_list(runs, column, mem, err);
}

void oci_run_set_deinit(oci_run_set *runs, oci_mem *mem)
{
    oci_mem_free(mem, runs->starts, runs->capacity * (int64_t)sizeof *runs->starts);
    oci_batch_release(runs->values);
    *runs = (oci_run_set){0};
}
