/* Fields first, by recursion; then columns, which follow the fields. What a batch points to is
 * listed in an ArrowArray that the batch keeps like an import, and freed with it. */
#include "support/column_maker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define COUNT(array) ((int32_t)(sizeof(array) / sizeof(array)[0]))

enum { LIST_MAX = 3, STRUCT_MAX = 3, DICTIONARY_MAX = 5, OFFSET_MAX = 9 };

static void *must(void *pointer)
{
    if (pointer == NULL) {
        abort();
    }
    return pointer;
}

int32_t choose(made_choices *choices, int32_t n)
{
    int32_t byte = choices->at < choices->size ? choices->bytes[choices->at++] : 0;
    return byte % n;
}

/* ---- types ----------------------------------------------------------------------------------- */

static const oci_type flat_types[] = {
    OCI_TYPE_INT32,
    OCI_TYPE_NULL,
    OCI_TYPE_BOOL,
    OCI_TYPE_INT8,
    OCI_TYPE_INT16,
    OCI_TYPE_INT64,
    OCI_TYPE_UINT8,
    OCI_TYPE_UINT16,
    OCI_TYPE_UINT32,
    OCI_TYPE_UINT64,
    OCI_TYPE_FLOAT16,
    OCI_TYPE_FLOAT32,
    OCI_TYPE_FLOAT64,
    OCI_TYPE_DECIMAL32,
    OCI_TYPE_DECIMAL64,
    OCI_TYPE_DECIMAL128,
    OCI_TYPE_DECIMAL256,
    OCI_TYPE_DATE32,
    OCI_TYPE_DATE64,
    OCI_TYPE_TIME32,
    OCI_TYPE_TIME64,
    OCI_TYPE_TIMESTAMP,
    OCI_TYPE_DURATION,
    OCI_TYPE_INTERVAL_MONTHS,
    OCI_TYPE_INTERVAL_DAY_TIME,
    OCI_TYPE_INTERVAL_MONTH_DAY_NANO,
    OCI_TYPE_FIXED_BINARY,
    OCI_TYPE_UTF8,
    OCI_TYPE_LARGE_UTF8,
    OCI_TYPE_UTF8_VIEW,
    OCI_TYPE_BINARY,
    OCI_TYPE_LARGE_BINARY,
    OCI_TYPE_BINARY_VIEW,
};

static const oci_type deep_types[] = {
    OCI_TYPE_LIST,       OCI_TYPE_STRUCT,          OCI_TYPE_LARGE_LIST,      OCI_TYPE_LIST_VIEW,
    OCI_TYPE_FIXED_LIST, OCI_TYPE_LARGE_LIST_VIEW, OCI_TYPE_RUN_END_ENCODED, OCI_TYPE_DICTIONARY};

static const oci_type index_types[] = {OCI_TYPE_INT8,   OCI_TYPE_UINT8, OCI_TYPE_INT16,
                                       OCI_TYPE_UINT16, OCI_TYPE_INT32, OCI_TYPE_UINT32,
                                       OCI_TYPE_INT64,  OCI_TYPE_UINT64};

static const oci_type run_end_types[] = {OCI_TYPE_INT32, OCI_TYPE_INT16, OCI_TYPE_INT64};

static void init_field(oci_field *field, const char *name, oci_type type, bool nullable)
{
    if (oci_field_init(field, name, type, nullable, NULL) != OC_OK) {
        abort();
    }
}

static void add_children(made_choices *choices, int32_t depth, oci_field *field)
{
    int32_t n = field->type == OCI_TYPE_STRUCT            ? choose(choices, STRUCT_MAX + 1)
                : field->type == OCI_TYPE_RUN_END_ENCODED ? 2
                                                          : 1;
    field->children = must(calloc((size_t)n + 1, sizeof *field->children));
    for (int32_t i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "f%d", (int)i);
        if (field->type == OCI_TYPE_RUN_END_ENCODED && i == 0) {
            init_field(&field->children[0], "run_ends", run_end_types[choose(choices, 3)], false);
        } else {
            choose_field(choices, name, depth - 1, &field->children[i]);
        }
        field->n_children++;
    }
}

void choose_field(made_choices *choices, const char *name, int32_t depth, oci_field *out)
{
    bool is_deep = depth > 0 && choose(choices, 4) != 0;
    oci_type type = is_deep ? deep_types[choose(choices, COUNT(deep_types))]
                            : flat_types[choose(choices, COUNT(flat_types))];
    init_field(out, name, type, true);
    if (type == OCI_TYPE_FIXED_BINARY) {
        static const int32_t widths[] = {3, 1, 0, 16, 40};
        out->byte_width = widths[choose(choices, COUNT(widths))];
    } else if (type == OCI_TYPE_FIXED_LIST) {
        out->list_size = choose(choices, LIST_MAX + 1);
    } else if (type == OCI_TYPE_DICTIONARY) {
        out->index_type = index_types[choose(choices, COUNT(index_types))];
        oci_field_set_width(out);
        out->dictionary = must(calloc(1, sizeof *out->dictionary));
        choose_field(choices, "", depth - 1, out->dictionary);
        return;
    }
    if (is_deep) {
        add_children(choices, depth, out);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

typedef struct made_memory {
    void **blocks;
    int64_t n_blocks;
} made_memory;

typedef struct maker {
    made_choices *choices;
    made_memory *memory;
} maker;

/* Exactly `bytes` long, zeroed; freed with the batch. */
static void *make_block(maker *m, int64_t bytes)
{
    made_memory *memory = m->memory;
    memory->blocks =
        must(realloc(memory->blocks, ((size_t)memory->n_blocks + 1) * sizeof *memory->blocks));
    void *block = must(malloc(bytes > 0 ? (size_t)bytes : 1));
    memset(block, 0, (size_t)bytes);
    memory->blocks[memory->n_blocks++] = block;
    return block;
}

static void release_memory(struct ArrowArray *array)
{
    made_memory *memory = array->private_data;
    for (int64_t i = 0; i < memory->n_blocks; i++) {
        free(memory->blocks[i]);
    }
    free(memory->blocks);
    free(memory);
    array->release = NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_null(const oci_column *column, int64_t slot)
{
    return column->validity != NULL && !oci_bit_get(column->validity, slot);
}

/* -0.0, infinities, NaNs of several kinds, the smallest and largest: the upper two bytes of each
 * width; the others follow the same choice. */
static void choose_float(maker *m, int64_t width, uint8_t *to)
{
    static const uint16_t tops[3][9] = {
        {0x0000, 0x8000, 0x3C00, 0xBC00, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7D55},
        {0x0000, 0x8000, 0x3F80, 0xBF80, 0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7FA0},
        {0x0000, 0x8000, 0x3FF0, 0xBFF0, 0x7FF0, 0xFFF0, 0x7FF8, 0xFFF8, 0x7FF4}};
    int32_t pick = choose(m->choices, 10);
    int32_t row = width == 2 ? 0 : width == 4 ? 1 : 2;
    memset(to, choose(m->choices, 4) == 3 ? 0xFF : 0, (size_t)width);
    uint16_t top = pick < 9 ? tops[row][pick] : (uint16_t)(choose(m->choices, 256) << 8 | 0x80);
    to[width - 2] = (uint8_t)top;
    to[width - 1] = (uint8_t)(top >> 8);
}

/* 0, 1, -1, the smallest, the largest, a power of 256, or any. */
static void choose_fixed(maker *m, const oci_field *field, uint8_t *to)
{
    int64_t width = field->byte_width;
    if (field->type == OCI_TYPE_FLOAT16 || field->type == OCI_TYPE_FLOAT32 ||
        field->type == OCI_TYPE_FLOAT64) {
        choose_float(m, width, to);
        return;
    }
    int32_t pick = choose(m->choices, 8);
    if (width == 0) {
        return;
    }
    memset(to, pick == 2 || pick == 4 ? 0xFF : 0, (size_t)width);
    switch (pick) {
    case 1: to[0] = 1; break;
    case 3: to[width - 1] = 0x80; break;
    case 4: to[width - 1] = 0x7F; break;
    case 5: to[choose(m->choices, (int32_t)width)] = 1; break;
    case 6: to[choose(m->choices, (int32_t)width)] = (uint8_t)choose(m->choices, 256); break;
    case 7:
        for (int64_t i = 0; i < width; i++) {
            to[i] = (uint8_t)choose(m->choices, 256);
        }
        break;
    default: break;
    }
}

/* Bytes that escaping is about; lengths around those at which copies and views change. */
static int64_t choose_string(maker *m, uint8_t *to)
{
    static const int64_t lengths[] = {0, 1, 2, 3, 7, 8, 9, 12, 13, 17, 33};
    static const uint8_t alphabet[] = {'a', 0x00, 0x01, 0xFF, 'b', 'a', 'a', 0x02};
    int64_t length = lengths[choose(m->choices, COUNT(lengths))];
    bool is_plain = choose(m->choices, 2) == 0;
    memset(to, 'a', (size_t)length);
    for (int64_t i = 0; i < length && !is_plain; i++) {
        to[i] = alphabet[choose(m->choices, COUNT(alphabet))];
    }
    if (is_plain && length > 0) {
        to[choose(m->choices, (int32_t)length)] = alphabet[choose(m->choices, COUNT(alphabet))];
    }
    return length;
}

static void make_column(maker *m, const oci_field *field, int64_t length, oci_column *column);

/* A child with a few more rows than are needed. */
static oci_column *make_child(maker *m, const oci_field *field, int64_t length)
{
    oci_column *child = make_block(m, sizeof *child);
    make_column(m, field, length + choose(m->choices, 3), child);
    return child;
}

static void store_offset(uint8_t *buffer, int64_t i, bool wide, int64_t value)
{
    if (wide) {
        oci_store_le64(buffer + i * 8, (uint64_t)value);
    } else {
        oci_store_le32(buffer + i * 4, (uint32_t)value);
    }
}

/* ---- layouts; `slots` counts from the start of the buffers ----------------------------------- */

static void make_fixed(maker *m, int64_t slots, oci_column *column)
{
    int64_t width = column->field->byte_width;
    uint8_t *values = make_block(m, slots * width);
    for (int64_t i = 0; i < slots; i++) {
        choose_fixed(m, column->field, values + i * width);
    }
    column->values = values;
}

static void make_bits(maker *m, int64_t slots, oci_column *column)
{
    uint8_t *values = make_block(m, oci_bytes_for_bits(slots));
    for (int64_t i = 0; i < oci_bytes_for_bits(slots); i++) {
        values[i] = (uint8_t)choose(m->choices, 256);
    }
    column->values = values;
}

static void make_strings(maker *m, int64_t slots, oci_column *column, bool wide)
{
    uint8_t text[64];
    int64_t end = choose(m->choices, 4);
    uint8_t *offsets = make_block(m, (slots + 1) * (wide ? 8 : 4));
    uint8_t *bytes = must(calloc(1, (size_t)slots * sizeof text + 4));
    store_offset(offsets, 0, wide, end);
    for (int64_t i = 0; i < slots; i++) {
        int64_t length = choose_string(m, text);
        memcpy(bytes + end, text, (size_t)length);
        end += length;
        store_offset(offsets, i + 1, wide, end);
    }
    uint8_t *exact = make_block(m, end);
    memcpy(exact, bytes, (size_t)end);
    free(bytes);
    column->values = offsets;
    column->bytes = exact;
}

static void make_views(maker *m, int64_t slots, oci_column *column)
{
    uint8_t text[64];
    uint8_t *views = make_block(m, slots * (int64_t)sizeof(oci_view));
    const uint8_t **buffers = make_block(m, (slots + 1) * (int64_t)sizeof *buffers);
    int64_t *sizes = make_block(m, (slots + 1) * (int64_t)sizeof *sizes);
    for (int64_t i = 0; i < slots; i++) {
        oci_view view = {.length = (int32_t)choose_string(m, text)};
        if (is_null(column, i)) {
            memset(&view, 0xEE, sizeof view);
        } else if (view.length <= (int32_t)sizeof view.inlined) {
            memcpy(view.inlined, text, (size_t)view.length);
        } else {
            /* Each in a buffer of its own, behind some bytes that belong to nobody. */
            view.ref.buffer = column->n_view_buffers;
            view.ref.offset = choose(m->choices, 3);
            uint8_t *buffer = make_block(m, view.ref.offset + view.length);
            memcpy(buffer + view.ref.offset, text, (size_t)view.length);
            memcpy(view.ref.prefix, text, sizeof view.ref.prefix);
            buffers[column->n_view_buffers] = buffer;
            sizes[column->n_view_buffers++] = view.ref.offset + view.length;
        }
        memcpy(views + i * (int64_t)sizeof view, &view, sizeof view);
    }
    column->values = views;
    column->view_buffers = buffers;
    column->view_sizes = sizes;
}

static void make_dictionary(maker *m, int64_t slots, oci_column *column)
{
    int64_t width = column->field->byte_width;
    int32_t n = 1 + choose(m->choices, DICTIONARY_MAX);
    oci_column *dictionary = make_block(m, sizeof *dictionary);
    uint8_t *indices = make_block(m, slots * width);
    make_column(m, column->field->dictionary, n, dictionary);
    for (int64_t i = 0; i < slots; i++) {
        indices[i * width] = (uint8_t)choose(m->choices, n);
        if (is_null(column, i)) {
            memset(indices + i * width, 0xFF, (size_t)width);
        }
    }
    column->values = indices;
    column->dictionary = dictionary;
}

static void make_lists(maker *m, int64_t slots, oci_column *column, bool wide)
{
    uint8_t *offsets = make_block(m, (slots + 1) * (wide ? 8 : 4));
    int64_t end = choose(m->choices, 3);
    store_offset(offsets, 0, wide, end);
    for (int64_t i = 0; i < slots; i++) {
        end += choose(m->choices, LIST_MAX + 1);
        store_offset(offsets, i + 1, wide, end);
    }
    column->values = offsets;
    column->children = make_child(m, &column->field->children[0], end);
}

static void make_list_views(maker *m, int64_t slots, oci_column *column, bool wide)
{
    uint8_t *offsets = make_block(m, slots * (wide ? 8 : 4));
    uint8_t *sizes = make_block(m, slots * (wide ? 8 : 4));
    int32_t length = choose(m->choices, 8);
    for (int64_t i = 0; i < slots; i++) {
        int32_t start = choose(m->choices, length + 1);
        int32_t rest = length - start < LIST_MAX ? length - start : LIST_MAX;
        store_offset(offsets, i, wide, start);
        store_offset(sizes, i, wide, choose(m->choices, rest + 1));
    }
    column->values = offsets;
    column->sizes = sizes;
    column->children = make_child(m, &column->field->children[0], length);
}

static void make_structs(maker *m, int64_t slots, oci_column *column)
{
    int32_t n = column->field->n_children;
    oci_column *children = make_block(m, n * (int64_t)sizeof *children);
    for (int32_t i = 0; i < n; i++) {
        make_column(m, &column->field->children[i], slots + choose(m->choices, 2), &children[i]);
    }
    column->children = children;
}

static void make_runs(maker *m, int64_t slots, oci_column *column)
{
    const oci_field *ends_field = &column->field->children[0];
    int64_t width = ends_field->byte_width;
    int64_t offset = choose(m->choices, 3);
    uint8_t *ends = make_block(m, (offset + slots + 1) * width);
    oci_column *children = make_block(m, 2 * (int64_t)sizeof *children);
    int64_t n = 0;
    for (int64_t end = 0; end < slots; n++) {
        end += 1 + choose(m->choices, 4);
        uint8_t bytes[8];
        oci_store_le64(bytes, (uint64_t)end);
        memcpy(ends + (offset + n) * width, bytes, (size_t)width);
    }
    children[0] = (oci_column){.field = ends_field, .length = n, .offset = offset, .values = ends};
    make_column(m, &column->field->children[1], n, &children[1]);
    column->children = children;
}

static void make_validity(maker *m, int64_t slots, oci_column *column)
{
    int32_t kind = choose(m->choices, 4);
    column->null_count = 0;
    if (kind == 0 || oci_field_layout(column->field) == OCI_LAYOUT_RUN_ENDS ||
        column->field->type == OCI_TYPE_NULL) {
        return;
    }
    uint8_t *validity = make_block(m, oci_bytes_for_bits(slots));
    for (int64_t i = 0; i < oci_bytes_for_bits(slots); i++) {
        validity[i] = (uint8_t)choose(m->choices, 256);
        if (kind == 1) { /* mostly valid */
            validity[i] = (uint8_t)(validity[i] | choose(m->choices, 256) | 0x11);
        }
    }
    column->validity = validity;
    column->null_count = -1;
    if (kind == 3) {
        column->null_count = oci_column_null_count(column);
    }
}

static void make_column(maker *m, const oci_field *field, int64_t length, oci_column *column)
{
    int64_t offset = choose(m->choices, OFFSET_MAX + 1);
    int64_t slots = offset + length;
    *column = (oci_column){.field = field, .length = length, .offset = offset};
    make_validity(m, slots, column);
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_BITS: make_bits(m, slots, column); break;
    case OCI_LAYOUT_FIXED: make_fixed(m, slots, column); break;
    case OCI_LAYOUT_OFFSETS32: make_strings(m, slots, column, false); break;
    case OCI_LAYOUT_OFFSETS64: make_strings(m, slots, column, true); break;
    case OCI_LAYOUT_VIEWS: make_views(m, slots, column); break;
    case OCI_LAYOUT_DICTIONARY: make_dictionary(m, slots, column); break;
    case OCI_LAYOUT_LIST32: make_lists(m, slots, column, false); break;
    case OCI_LAYOUT_LIST64: make_lists(m, slots, column, true); break;
    case OCI_LAYOUT_LIST_VIEW32: make_list_views(m, slots, column, false); break;
    case OCI_LAYOUT_LIST_VIEW64: make_list_views(m, slots, column, true); break;
    case OCI_LAYOUT_FIXED_LIST:
        column->children = make_child(m, &field->children[0], slots * field->list_size);
        break;
    case OCI_LAYOUT_STRUCT: make_structs(m, slots, column); break;
    case OCI_LAYOUT_RUN_ENDS: make_runs(m, slots, column); break;
    default: column->null_count = length; break; /* the null type */
    }
}

/* ---- batches --------------------------------------------------------------------------------- */

oci_batch *choose_batch(made_choices *choices, oci_schema *schema, int64_t length)
{
    maker m = {.choices = choices, .memory = must(calloc(1, sizeof *m.memory))};
    oci_column *columns = must(calloc((size_t)schema->n_fields + 1, sizeof *columns));
    oci_batch *batch = NULL;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        make_column(&m, &schema->fields[i], length, &columns[i]);
    }
    if (oci_batch_adopt(schema, length, columns, NULL, NULL, 0, NULL, 0, &batch, NULL) != OC_OK) {
        abort();
    }
    batch->import = must(calloc(1, sizeof *batch->import));
    *batch->import = (struct ArrowArray){.release = release_memory, .private_data = m.memory};
    return batch;
}

oci_batch *choose_typed_batch(made_choices *choices, int32_t n_columns, int32_t depth,
                              int64_t length)
{
    oci_schema *schema = NULL;
    oci_field *fields = must(calloc((size_t)n_columns + 1, sizeof *fields));
    for (int32_t i = 0; i < n_columns; i++) {
        char name[16];
        snprintf(name, sizeof name, "c%d", (int)i);
        choose_field(choices, name, depth, &fields[i]);
    }
    if (oci_schema_create(fields, n_columns, NULL, 0, &schema, NULL) != OC_OK) {
        abort();
    }
    oci_batch *batch = choose_batch(choices, schema, length);
    oci_schema_release(schema);
    return batch;
}
