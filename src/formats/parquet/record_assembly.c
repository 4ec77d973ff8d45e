/* See record_assembly.h. */
#include "formats/parquet/record_assembly.h"

#include "base/bits.h"

/* A walk over the nodes of one field. */
typedef struct assembly {
    oci_parquet_column_reader *column;
    oci_batch *batch;
    oci_column **space;
    const oci_parquet_node *path[2 * OCI_NESTING_MAX]; /* ancestors of the node at hand */
    int depth;
} assembly;

/* Entries at which rows of a node begin; -1 where a null fixed-size list has a row below it all the same. */
typedef struct slot_list {
    oci_parquet_block block;
    int64_t n;
} slot_list;

static int32_t *slots_of(const slot_list *slots)
{
    return (int32_t *)(void *)slots->block.data;
}

static const oci_parquet_leaf_column *first_leaf(const assembly *a, const oci_parquet_node *node)
{
    return &a->column->leaves[node->leaf - a->column->node->leaf];
}

static oc_status contradiction(const oci_parquet_leaf_column *leaf, oc_error *err)
{
    OC_SET(err, OC_EDATA, "the levels of nested values contradict each other");
    return oci_parquet_leaf_reader_blame(&leaf->reader, OC_EDATA, err);
}

/* ---- slots ----------------------------------------------------------------------------------- */

static oc_status push_slot(const assembly *a, slot_list *slots, int32_t entry, oc_error *err)
{
    int64_t bytes = (slots->n + 1) * (int64_t)sizeof(int32_t);
    if (bytes > slots->block.bytes) {
        OC_TRY(
            oci_parquet_block_grow(a->column->mem, &slots->block, bytes - 4, 2 * bytes + 256, err));
    }
    slots_of(slots)[slots->n++] = entry;
    return OC_OK;
}

static oc_status root_slots(const assembly *a, const oci_parquet_leaf_column *leaf,
                            slot_list *slots, oc_error *err)
{
    for (int64_t e = 0; e < leaf->n_entries; e++) {
        if (leaf->repetition.data[e] == 0) {
            OC_TRY(push_slot(a, slots, (int32_t)e, err));
        }
    }
    return OC_OK;
}

/* Elements of the list that begins at a slot. */
static oc_status push_elements(const assembly *a, const oci_parquet_leaf_column *leaf,
                               const oci_parquet_node *list, int32_t slot, slot_list *out,
                               oc_error *err)
{
    const uint8_t *definition = leaf->definition.data;
    const uint8_t *repetition = leaf->repetition.data;
    bool is_fixed = list->field->type == OCI_TYPE_FIXED_LIST;
    int64_t before = out->n;
    bool is_null = slot < 0 || definition[slot] < list->definition;
    if (!is_null && definition[slot] > list->definition) {
        OC_TRY(push_slot(a, out, slot, err));
        for (int64_t e = slot + 1; e < leaf->n_entries && repetition[e] >= list->repetition; e++) {
            if (repetition[e] == list->repetition) {
                OC_TRY(push_slot(a, out, (int32_t)e, err));
            }
        }
    }
    if (is_fixed && !is_null && out->n - before != list->field->list_size) {
        OC_SET(err, OC_EDATA, "a list of a fixed-size list column has another length");
        return oci_parquet_leaf_reader_blame(&leaf->reader, OC_EDATA, err);
    }
    for (int32_t i = 0; is_fixed && is_null && i < list->field->list_size; i++) {
        OC_TRY(push_slot(a, out, -1, err));
    }
    return OC_OK;
}

/* From the slots of a list to those of its elements; offsets (of `width` bytes, or NULL) get one for each list, and
 * the end. */
static oc_status element_slots(const assembly *a, const oci_parquet_leaf_column *leaf,
                               const oci_parquet_node *list, const slot_list *lists, slot_list *out,
                               int32_t width, uint8_t *offsets, oc_error *err)
{
    for (int64_t i = 0; i <= lists->n; i++) {
        if (offsets != NULL && width == 4) {
            oci_store_le32(offsets + 4 * i, (uint32_t)out->n);
        } else if (offsets != NULL) {
            oci_store_le64(offsets + 8 * i, (uint64_t)out->n);
        }
        if (i < lists->n) {
            OC_TRY(push_elements(a, leaf, list, slots_of(lists)[i], out, err));
        }
    }
    return OC_OK;
}

/* Slots of the node at hand, by its first leaf. Freed by the caller, also on failure. */
static oc_status find_slots(const assembly *a, const oci_parquet_node *node, slot_list *slots,
                            oc_error *err)
{
    const oci_parquet_leaf_column *leaf = first_leaf(a, node);
    *slots = (slot_list){.n = 0};
    OC_TRY(root_slots(a, leaf, slots, err));
    for (int i = 0; i < a->depth; i++) {
        if (a->path[i]->kind == OCI_PARQUET_NODE_STRUCT) {
            continue;
        }
        slot_list below = {.n = 0};
        oc_status status = element_slots(a, leaf, a->path[i], slots, &below, 0, NULL, err);
        oci_parquet_block_free(a->column->mem, &slots->block);
        *slots = below;
        OC_TRY(status);
    }
    return OC_OK;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The bitmap of a node's rows, kept by the batch; *out NULL and nothing kept: all are valid. */
static oc_status make_validity(const assembly *a, const oci_parquet_node *node,
                               const slot_list *slots, const uint8_t **out, int64_t *n_valid,
                               oc_error *err)
{
    const oci_parquet_leaf_column *leaf = first_leaf(a, node);
    oci_parquet_block bits = {.data = NULL};
    *out = NULL;
    *n_valid = 0;
    OC_TRY(oci_parquet_block_grow(a->column->mem, &bits, 0, oci_bytes_for_bits(slots->n) + 8, err));
    for (int64_t i = 0; i < slots->n; i++) {
        int32_t slot = slots_of(slots)[i];
        bool valid = slot >= 0 && leaf->definition.data[slot] >= node->definition;
        oci_bit_put(bits.data, i, valid);
        *n_valid += valid;
    }
    if (*n_valid == slots->n) {
        oci_parquet_block_free(a->column->mem, &bits);
        return OC_OK;
    }
    *out = bits.data;
    return oci_parquet_keep_block(a->batch, a->column->mem, &bits, err);
}

static oc_status assemble_node(assembly *a, const oci_parquet_node *node, int64_t rows,
                               oci_column *out, oc_error *err);

static oci_column *take_space(assembly *a, int32_t n)
{
    oci_column *taken = *a->space;
    *a->space += n;
    return taken;
}

static oc_status assemble_children(assembly *a, const oci_parquet_node *node, int64_t rows,
                                   oci_column *children, oc_error *err)
{
    oc_status status = OC_OK;
    a->path[a->depth++] = node;
    for (int32_t i = 0; status == OC_OK && i < node->n_children; i++) {
        status = assemble_node(a, &node->children[i], rows, &children[i], err);
    }
    a->depth--;
    return status;
}

static oc_status assemble_leaf(assembly *a, const oci_parquet_node *node, const uint8_t *validity,
                               int64_t n_valid, int64_t rows, oci_column *out, oc_error *err)
{
    oci_parquet_leaf_column *leaf = &a->column->leaves[node->leaf - a->column->node->leaf];
    if (leaf->values.n != n_valid) {
        return contradiction(leaf, err);
    }
    oci_column *space = node->field->dictionary != NULL ? take_space(a, 1) : NULL;
    return oci_parquet_values_finish(&leaf->values, validity, rows, out, space, a->batch, err);
}

/* Offsets of a list or map, kept by the batch, and how many elements there are. */
static oc_status make_offsets(const assembly *a, const oci_parquet_node *node,
                              const slot_list *slots, oci_column *out, int64_t *n_elements,
                              oc_error *err)
{
    const oci_parquet_leaf_column *leaf = first_leaf(a, node);
    slot_list elements = {.n = 0};
    oci_parquet_block offsets = {.data = NULL};
    int32_t width = oci_field_layout(node->field) == OCI_LAYOUT_LIST64 ? 8 : 4;
    bool has_offsets = node->field->type != OCI_TYPE_FIXED_LIST;
    if (has_offsets) {
        OC_TRY(oci_parquet_block_grow(a->column->mem, &offsets, 0, (slots->n + 1) * width, err));
    }
    oc_status status = element_slots(a, leaf, node, slots, &elements, width, offsets.data, err);
    *n_elements = elements.n;
    oci_parquet_block_free(a->column->mem, &elements.block);
    if (status != OC_OK) {
        oci_parquet_block_free(a->column->mem, &offsets);
        return status;
    }
    out->values = offsets.data;
    return oci_parquet_keep_block(a->batch, a->column->mem, &offsets, err);
}

static oc_status assemble_list(assembly *a, const oci_parquet_node *node, const slot_list *slots,
                               oci_column *out, oc_error *err)
{
    int64_t n_elements;
    OC_TRY(make_offsets(a, node, slots, out, &n_elements, err));
    oci_column *children = take_space(a, 1);
    out->children = children;
    if (node->kind == OCI_PARQUET_NODE_LIST) {
        return assemble_children(a, node, n_elements, children, err);
    }
    /* A map has a struct of keys and values in between. */
    const oci_field *entries = &node->field->children[0];
    oci_column *pair = take_space(a, entries->n_children);
    *children = (oci_column){.field = entries, .length = n_elements, .children = pair};
    OC_TRY(assemble_children(a, node, n_elements, pair, err));
    if (pair[0].null_count > 0) {
        OC_FAIL(err, OC_EUNSUPPORTED, "%s: column \"%s\": a map has a key that is null",
                first_leaf(a, node)->reader.pages.file->name,
                first_leaf(a, node)->reader.leaf->path);
    }
    return OC_OK;
}

static oc_status assemble_slots(assembly *a, const oci_parquet_node *node, const slot_list *slots,
                                oci_column *out, oc_error *err)
{
    const uint8_t *validity;
    int64_t n_valid;
    OC_TRY(make_validity(a, node, slots, &validity, &n_valid, err));
    if (node->kind == OCI_PARQUET_NODE_LEAF) {
        return assemble_leaf(a, node, validity, n_valid, slots->n, out, err);
    }
    *out = (oci_column){.field = node->field,
                        .length = slots->n,
                        .validity = validity,
                        .null_count = slots->n - n_valid};
    if (node->kind != OCI_PARQUET_NODE_STRUCT) {
        return assemble_list(a, node, slots, out, err);
    }
    oci_column *children = take_space(a, node->n_children);
    out->children = children;
    return assemble_children(a, node, slots->n, children, err);
}

static oc_status assemble_node(assembly *a, const oci_parquet_node *node, int64_t rows,
                               oci_column *out, oc_error *err)
{
    slot_list slots;
    oc_status status = find_slots(a, node, &slots, err);
    if (status == OC_OK && slots.n != rows) {
        status = contradiction(first_leaf(a, node), err);
    }
    if (status == OC_OK) {
        status = assemble_slots(a, node, &slots, out, err);
    }
    oci_parquet_block_free(a->column->mem, &slots.block);
    return status;
}

oc_status oci_parquet_assemble(oci_parquet_column_reader *c, int64_t rows, oci_column *out,
                               oci_column **space, oci_batch *batch, oc_error *err)
{
    assembly a = {.column = c, .batch = batch, .space = space};
    return assemble_node(&a, c->node, rows, out, err);
}
