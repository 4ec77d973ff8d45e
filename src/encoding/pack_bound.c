/* Packed columns: how much room a column needs at most, before any value is looked at.
 *
 * Sums over nodes of what their vectors take at most, so that writing cannot fail. Values that are
 * tried in several forms need room for the largest. Not the same as what comes out, which is at most
 * the plain size and a little. */
#include "arrow/column_range.h"
#include "base/bits.h"
#include "encoding/pack_internal.h"
#include "encoding/packed_column.h"

/* ---- of one column --------------------------------------------------------------------------- */

static void bound_node(const oci_column *column, oci_packed_bound *bound);

static void need_scratch(oci_packed_bound *bound, int64_t bytes)
{
    bound->scratch = oci_max64(bound->scratch, oci_mem_charge_of(bytes));
}

static int64_t fixed_bound(const oci_field *field, int64_t n)
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
    need_scratch(bound, oci_string_scratch_bytes(column->length));
}

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
        bound_node(column->dictionary, bound);
        break;
    case OCI_LAYOUT_FIXED:
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_VIEWS:
        if (oci_field_is_strings(field)) {
            bound_strings(column, bound);
        } else {
            bound->packed += fixed_bound(field, n);
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
}

/* ---- of any compact batch -------------------------------------------------------------------- */

/* Every vector stands for a buffer of the slab, or a part of one, that has at least the bytes of its
 * values: so together they take what the slab has, what comes on top for every page (of 1024 values,
 * each of at least a byte; there are up to 32 planes with a page begun), and their headers. */
static void add_node(const oci_field *field, int64_t slab_bytes, oci_packed_bound *bound)
{
    int64_t vector = oci_int_vector_bound(0, 1) + OCI_PACK_ALIGN;
    int64_t vectors = field->byte_width > 8 || oci_field_is_float(field) ? field->byte_width : 4;
    bound->packed += OCI_NODE_BYTES + 16 + vectors * vector;
    if (field->union_ids != NULL) {
        bound->packed += 8 * field->n_children;
    }
    if (oci_field_is_strings(field)) {
        int64_t packed = 0, bytes = 0;
        int64_t least = oci_field_layout(field) == OCI_LAYOUT_FIXED
                            ? oci_max64(field->byte_width, 1)
                            : oci_field_offset_width(field);
        oci_strings_bound(&(oci_column){.field = field}, &packed, &bytes);
        bound->packed += packed;
        bound->bytes += bytes;
        need_scratch(bound, oci_string_scratch_bytes(slab_bytes / least));
    }
    if (field->dictionary != NULL) { /* all of its values are used: not more than rows */
        need_scratch(bound, oci_pack_marks_bytes(slab_bytes / field->byte_width));
        add_node(field->dictionary, slab_bytes, bound);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        add_node(&field->children[i], slab_bytes, bound);
    }
}

void oci_packer_bound_bytes(const oci_packer *packer, int64_t slab_bytes, oci_packed_bound *out)
{
    const oci_schema *schema = oci_packer_schema(packer);
    int64_t page = oci_int_vector_bound(OCI_PAGE_VALUES, 1) - oci_int_vector_bound(0, 1);
    *out = (oci_packed_bound){.packed = slab_bytes + (slab_bytes / OCI_PAGE_VALUES + 1) *
                                                         (page + OCI_PACK_ALIGN - OCI_PAGE_VALUES),
                              .bytes = slab_bytes};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        add_node(&schema->fields[i], slab_bytes, out);
    }
    out->packed = oci_round_up(out->packed, OCI_PACK_ALIGN);
}
