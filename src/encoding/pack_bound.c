/* Packed columns: how much room a column needs at most, before any value is looked at.
 *
 * Sums over nodes of what their vectors take at most, so that writing cannot fail. Values that are
 * tried in several forms need room for the largest. Not the same as what comes out, which is at most
 * the plain size and a little. */
#include "arrow/column_range.h"
#include "arrow/gather.h"
#include "base/bits.h"
#include "encoding/pack_internal.h"
#include "encoding/string_format.h"

/* ---- of one column --------------------------------------------------------------------------- */

#define STRINGS_ROOM 64 /* behind bytes, for copies of more than a string at a time */

static void bound_node(const oci_column *column, oci_packed_bound *bound);

static void need_scratch(oci_packed_bound *bound, int64_t bytes)
{
    bound->scratch = oci_max64(bound->scratch, oci_mem_charge_of(bytes));
}

int64_t oci_pack_fixed_bound(const oci_field *field, int64_t n)
{
    int width = field->byte_width;
    int64_t words = width > 8 ? width / 8 * oci_int_vector_bound(n, 8)
                              : oci_int_vector_bound(n, width);
    bool has_planes = width > 8 || oci_field_is_float(field);
    return has_planes ? oci_max64(words, width * oci_int_vector_bound(n, 1)) : words;
}

static void bound_strings(const oci_column *column, oci_packed_bound *bound)
{
    int64_t packed = 0, bytes = 0;
    oci_strings_bound(column, &packed, &bytes);
    bound->packed += packed;
    bound->bytes += bytes;
    bound->scratch = oci_max64(bound->scratch, oci_string_scratch_bytes(column->length));
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Of a dictionary much longer than the column only the values in use are packed, if gather can take
 * them at once (pack_dictionary.c), which it can when these are flat. */
static bool few_are_used(const oci_column *column)
{
    const oci_column *values = column->dictionary;
    bool is_flat = values->field->n_children == 0 && values->field->dictionary == NULL;
    return is_flat && values->length / 2 > column->length &&
           column->length <= OCI_GATHER_ROWS_MAX && values->length <= UINT32_MAX;
}

/* Bytes of the strings that the rows stand for: at least those of the ones in use. */
static int64_t referred_bytes(const oci_column *column)
{
    int64_t sum = 0;
    for (int64_t row = 0; row < column->length; row++) {
        if (column->validity == NULL || oci_bit_get(column->validity, column->offset + row)) {
            int64_t length = 0, code = oci_column_index_at(column, row);
            oci_column_bytes_at(column->dictionary, code, &length);
            sum += oci_column_is_null(column->dictionary, code) ? 0 : length;
        }
    }
    return sum;
}

static void bound_values(const oci_column *column, oci_packed_bound *bound)
{
    oci_column values = *column->dictionary;
    bool has_bytes = oci_field_is_strings(values.field) &&
                     oci_field_layout(values.field) != OCI_LAYOUT_FIXED;
    int64_t bytes = few_are_used(column) && has_bytes ? referred_bytes(column) : 0;
    if (!few_are_used(column) || bytes > oci_gather_offset_max) {
        bound_node(&values, bound);
        return;
    }
    values.length = column->length;
    if (!has_bytes) {
        bound_node(&values, bound);
        return;
    }
    /* Numbers of a string are at most two, whatever the kind. */
    bound->packed += OCI_NODE_BYTES + 8 + oci_int_vector_bound(values.length / 64 + 1, 8);
    bound->packed += OCI_STRINGS_HEADER_BYTES + 2 * oci_int_vector_bound(values.length, 8);
    bound->bytes += bytes + STRINGS_ROOM;
    bound->scratch = oci_max64(bound->scratch, oci_string_scratch_bytes(values.length));
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void bound_child(const oci_column *column, int32_t i, oci_packed_bound *bound)
{
    oci_column child = oci_column_child_view(column, i, oci_column_child_range(column, i));
    bound_node(&child, bound);
}

static void bound_nested(const oci_column *column, oci_packed_bound *bound)
{
    const oci_field *field = column->field;
    int64_t n = column->length;
    int width = oci_field_offset_width(field);
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: bound->packed += 8 + oci_int_vector_bound(n, width); break;
    case OCI_LAYOUT_LIST_VIEW32:
    case OCI_LAYOUT_LIST_VIEW64: bound->packed += 8 + 2 * oci_int_vector_bound(n, width); break;
    case OCI_LAYOUT_SPARSE_UNION: bound->packed += oci_int_vector_bound(n, 1); break;
    case OCI_LAYOUT_DENSE_UNION:
        bound->packed += 8 * field->n_children + oci_int_vector_bound(n, 1) +
                         oci_int_vector_bound(n, 4);
        break;
    case OCI_LAYOUT_RUN_ENDS: {
        int64_t runs = oci_column_child_range(column, 1).length;
        bound->packed += 8 + oci_int_vector_bound(runs, field->children[0].byte_width);
        bound_child(column, 1, bound);
        return;
    }
    default: break;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        bound_child(column, i, bound);
    }
}

static void bound_node(const oci_column *column, oci_packed_bound *bound)
{
    const oci_field *field = column->field;
    int64_t n = column->length;
    bound->packed += OCI_NODE_BYTES;
    if (column->validity != NULL) {
        bound->packed += 8 + oci_int_vector_bound(n / 64 + 1, 8);
    }
    switch (oci_field_layout(field)) {
    case OCI_LAYOUT_NULL: break;
    case OCI_LAYOUT_BITS: bound->packed += oci_int_vector_bound(n / 64 + 1, 8); break;
    case OCI_LAYOUT_DICTIONARY:
        bound->packed += 8 + oci_int_vector_bound(n, field->byte_width);
        need_scratch(bound, oci_pack_marks_bytes(column->dictionary->length));
        bound_values(column, bound);
        break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS:
        if (oci_field_is_strings(field)) {
            bound_strings(column, bound);
        } else {
            bound->packed += oci_pack_fixed_bound(field, n);
        }
        break;
    default: bound_nested(column, bound); break;
    }
}

void oci_packer_bound(const oci_packer *packer, int32_t i, const oci_column *column,
                      oci_packed_bound *out)
{
    (void)packer;
    (void)i;
    *out = (oci_packed_bound){0};
    bound_node(column, out);
    out->both = out->packed + out->bytes;
}

/* ---- of any compact batch -------------------------------------------------------------------- */

/* Every vector stands for a buffer of the slab, or a part of one, that has at least the bytes of its
 * values: so together they take what one vector of a slab of bytes takes, and what each takes with a
 * page begun. Only the lengths of fixed-size
 * binary stand for nothing. */
typedef struct any_batch {
    int64_t slab_bytes;
    int64_t rows;       /* of the node at hand at most */
    int64_t headers;    /* and begun pages */
    int64_t bytes_room; /* behind bytes */
    int64_t lengths;
    int64_t scratch;
} any_batch;

/* Rows of a node that have `width` bytes of the slab each. */
static int64_t rows_max(const any_batch *any, int64_t width)
{
    return oci_min64(any->rows, any->slab_bytes / width + 1);
}

static void use_scratch(any_batch *any, int64_t bytes)
{
    any->scratch = oci_max64(any->scratch, oci_mem_charge_of(bytes));
}

static void add_strings(const oci_field *field, any_batch *any)
{
    int64_t packed = 0, bytes = 0;
    int64_t width = oci_field_offset_width(field);
    if (oci_field_layout(field) == OCI_LAYOUT_FIXED) {
        width = oci_max64(field->byte_width, 1);
        any->lengths = oci_max64(any->lengths, (any->slab_bytes / width + 1) * 4);
    }
    oci_strings_bound(&(oci_column){.field = field}, &packed, &bytes);
    any->headers += packed;
    any->bytes_room += bytes;
    any->scratch = oci_max64(any->scratch, oci_string_scratch_bytes(rows_max(any, width)));
}

static void add_node(const oci_field *field, any_batch *any)
{
    int64_t vector = oci_int_vector_bound(0, 1) + OCI_PACK_ALIGN;
    int64_t vectors = field->byte_width > 8 || oci_field_is_float(field) ? field->byte_width : 4;
    any->headers += OCI_NODE_BYTES + 16 + vectors * vector;
    if (field->union_ids != NULL) {
        any->headers += 8 * field->n_children;
    }
    if (oci_field_is_strings(field)) {
        add_strings(field, any);
    }
    if (field->dictionary != NULL) { /* all of its values are used: not more than rows */
        use_scratch(any, oci_pack_marks_bytes(rows_max(any, field->byte_width)));
        add_node(field->dictionary, any);
    }
    int64_t rows = any->rows;
    oci_layout layout = oci_field_layout(field);
    if (layout != OCI_LAYOUT_STRUCT && layout != OCI_LAYOUT_SPARSE_UNION) {
        any->rows = INT64_MAX;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        add_node(&field->children[i], any);
    }
    any->rows = rows;
}

void oci_packer_bound_bytes(const oci_packer *packer, int64_t slab_bytes, int64_t rows,
                            oci_packed_bound *out)
{
    const oci_schema *schema = oci_packer_schema(packer);
    any_batch any = {.slab_bytes = slab_bytes, .rows = rows};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        add_node(&schema->fields[i], &any);
    }
    int64_t values = slab_bytes + OCI_PAGE_VALUES;
    int64_t on_top = oci_int_vector_bound(values, 1) - values;
    int64_t packed = oci_round_up(slab_bytes + on_top + any.lengths + any.headers, OCI_PACK_ALIGN);
    *out = (oci_packed_bound){.packed = packed,
                              .bytes = slab_bytes + any.bytes_room,
                              .both = packed + any.bytes_room,
                              .scratch = any.scratch};
}
