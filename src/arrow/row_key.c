/* Row keys: from the key columns of a batch to one string of bytes per row.
 *
 * Fixed types only: all keys have one stride, every column is one loop that writes at its place in
 * it. Otherwise sizes come first: they are added up per row in what becomes the offsets, a running
 * sum turns them into starts, and these serve as cursors that every column moves forward. When all
 * columns are written a cursor stands where the next row starts, so one shift by a place makes them
 * offsets again. No other memory is needed than the keys'.
 *
 *   block, fixed:       | keys, n x stride |
 *   block, var-length:  | offsets, n + 1 | keys | slack |
 *
 * The values are read twice or three times (total, sizes, writing), in order and soon after each
 * other. The
 * descriptions of the key columns are malloc'ed, one per key. */
#include <stdlib.h>

#include "arrow/row_key_internal.h"

/* ---- what can be sorted ---------------------------------------------------------------------- */

/* A type in `field` that has no order, or NULL. At most OCI_NESTING_MAX deep. */
static const oci_field *find_unordered(const oci_field *field)
{
    if (field->type == OCI_TYPE_MAP || field->type == OCI_TYPE_DENSE_UNION ||
        field->type == OCI_TYPE_SPARSE_UNION || oci_field_layout(field) == OCI_LAYOUT_UNKNOWN) {
        return field;
    }
    const oci_field *found = field->dictionary == NULL ? NULL : find_unordered(field->dictionary);
    for (int32_t i = 0; i < field->n_children && found == NULL; i++) {
        found = find_unordered(&field->children[i]);
    }
    return found;
}

static oc_status check_ordered(const oci_field *field, oc_error *err)
{
    char type[128];
    const oci_field *unordered = find_unordered(field);
    if (unordered == NULL) {
        return OC_OK;
    }
    oci_field_type_text(field, type, sizeof type);
    if (unordered == field) {
        OC_FAIL(err, OC_EUNSUPPORTED, "could not sort by column \"%s\": type %s has no order",
                field->name, type);
    }
    OC_FAIL(err, OC_EUNSUPPORTED,
            "could not sort by column \"%s\": type %s has no order, because it holds a %s",
            field->name, type, oci_type_name(unordered->type));
}

oc_status oci_row_key_check(const oci_schema *schema, const oci_sort_key *keys, int32_t n_keys,
                            oc_error *err)
{
    for (int32_t k = 0; k < n_keys; k++) {
        if (keys[k].column < 0 || keys[k].column >= schema->n_fields) {
            OC_FAIL(err, OC_EINVAL,
                    "sort key %d is column %d: the schema has %d columns, counted from 0", k + 1,
                    keys[k].column, schema->n_fields);
        }
        OC_TRY(check_ordered(&schema->fields[keys[k].column], err));
    }
    return OC_OK;
}

int64_t oci_row_key_stride(const oci_schema *schema, const oci_sort_key *keys, int32_t n_keys)
{
    int64_t stride = 0;
    for (int32_t k = 0; k < n_keys; k++) {
        int64_t width = oci_key_width(&schema->fields[keys[k].column]);
        if (width < 0) {
            return 0;
        }
        stride += 1 + width;
    }
    return stride;
}

/* ---- sizes ----------------------------------------------------------------------------------- */

/* Through dictionaries and run ends to the values. */
static void find_leaf(oci_key_part *part)
{
    part->leaf = part->column;
    part->type = part->column->field;
    for (;;) {
        if (part->type->type == OCI_TYPE_DICTIONARY) {
            part->type = part->type->dictionary;
            part->leaf = part->leaf == NULL ? NULL : part->leaf->dictionary;
        } else if (part->type->type == OCI_TYPE_RUN_END_ENCODED) {
            part->type = &part->type->children[1];
            part->leaf = part->leaf == NULL ? NULL : &part->leaf->children[1];
        } else {
            return;
        }
    }
}

static oci_key_part make_part(const oci_batch *batch, const oci_sort_key *key)
{
    const oci_column *column = &batch->columns[key->column];
    oci_key_part part = {.column = column};
    find_leaf(&part);
    part.width = oci_key_width(part.type);
    part.is_nested = part.type->n_children > 0 || part.type->type == OCI_TYPE_STRUCT;
    part.null_byte = key->nulls_first ? OCI_KEY_NULLS_FIRST : OCI_KEY_NULLS_LAST;
    part.flip = key->descending ? 0xFF : 0;
    if (part.width < 0 && part.leaf != NULL) {
        part.is_zero_free = part.is_nested ? oci_key_nested_is_zero_free(part.leaf, column->length)
                                           : oci_key_is_zero_free(part.leaf, column->length);
    }
    return part;
}

static int64_t offsets_bytes(int64_t rows)
{
    return oci_round_up((rows + 1) * (int64_t)sizeof(uint32_t), 8);
}

/* What the keys take, without offsets. */
static oc_status keys_bytes(const oci_key_part *parts, int32_t n_keys, int64_t rows, int64_t stride,
                            int64_t *total, oc_error *err)
{
    *total = rows * stride;
    for (int32_t k = 0; stride == 0 && k < n_keys; k++) {
        int64_t bytes = rows * (1 + parts[k].width);
        if (parts[k].is_nested) {
            OC_TRY(oci_key_nested_total(&parts[k], &bytes, err));
        } else if (parts[k].width < 0) {
            OC_TRY(oci_key_bytes_total(&parts[k], &bytes, err));
        }
        *total += bytes;
        if (*total > OCI_KEY_BYTES_MAX) {
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "could not make sort keys: those of one batch of %" PRId64
                    " rows take at least %" PRId64 " bytes, and at most %" PRId64
                    " are supported; use smaller batches",
                    rows, *total, OCI_KEY_BYTES_MAX);
        }
    }
    return OC_OK;
}

static oc_status make_parts(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys,
                            oci_key_part **out, oc_error *err)
{
    oci_key_part *parts = malloc(((size_t)n_keys + 1) * sizeof *parts);
    if (parts == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make sort keys: out of memory");
    }
    for (int32_t k = 0; k < n_keys; k++) {
        parts[k] = make_part(batch, &keys[k]);
    }
    *out = parts;
    return OC_OK;
}

oc_status oci_row_keys_size(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys,
                            int64_t *bytes, oc_error *err)
{
    int64_t stride = oci_row_key_stride(batch->schema, keys, n_keys);
    if (stride > 0) {
        *bytes = batch->length * stride;
        return OC_OK;
    }
    oci_key_part *parts = NULL;
    int64_t total = 0;
    OC_TRY(make_parts(batch, keys, n_keys, &parts, err));
    oc_status status = keys_bytes(parts, n_keys, batch->length, stride, &total, err);
    free(parts);
    *bytes = offsets_bytes(batch->length) + total + OCI_KEY_SLACK;
    return status;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static oc_status encode_strided(const oci_key_part *parts, int32_t n_keys, int64_t stride,
                                uint8_t *bytes, oc_error *err)
{
    oci_key_target target = {.bytes = bytes, .stride = stride};
    for (int32_t k = 0; k < n_keys; k++) {
        OC_TRY(oci_key_encode_fixed(&parts[k], &target, err));
        target.bytes += 1 + parts[k].width;
    }
    return OC_OK;
}

/* offsets[i + 1] = size of key i, then running sums: offsets[i] is where key i starts. */
static oc_status place_keys(const oci_key_part *parts, int32_t n_keys, int64_t rows,
                            uint32_t *offsets, oc_error *err)
{
    memset(offsets, 0, ((size_t)rows + 1) * sizeof *offsets);
    uint32_t fixed = 0;
    for (int32_t k = 0; k < n_keys; k++) {
        if (parts[k].is_nested) {
            OC_TRY(oci_key_nested_sizes(&parts[k], offsets + 1, err));
        } else if (parts[k].width < 0) {
            OC_TRY(oci_key_bytes_sizes(&parts[k], offsets + 1, err));
        } else {
            fixed += (uint32_t)(1 + parts[k].width);
        }
    }
    for (int64_t i = 0; i < rows; i++) {
        offsets[i + 1] += offsets[i] + fixed;
    }
    return OC_OK;
}

static oc_status encode_var(const oci_key_part *parts, int32_t n_keys, int64_t rows, int64_t total,
                            uint32_t *offsets, uint8_t *bytes, oc_error *err)
{
    OC_TRY(place_keys(parts, n_keys, rows, offsets, err));
    assert(offsets[rows] == total);
    oci_key_target target = {.bytes = bytes, .cursors = offsets, .is_lone = n_keys == 1};
    for (int32_t k = 0; k < n_keys; k++) {
        if (parts[k].is_nested) {
            OC_TRY(oci_key_encode_nested(&parts[k], &target, err));
            continue;
        }
        if (parts[k].width < 0) {
            OC_TRY(oci_key_encode_bytes(&parts[k], &target, err));
            continue;
        }
        OC_TRY(oci_key_encode_fixed(&parts[k], &target, err));
        for (int64_t i = 0; i < rows; i++) {
            offsets[i] += (uint32_t)(1 + parts[k].width);
        }
    }
    memmove(offsets + 1, offsets, (size_t)rows * sizeof *offsets);
    offsets[0] = 0;
    assert(offsets[rows] == total);
    (void)total;
    return OC_OK;
}

static oc_status alloc_block(oci_mem *mem, oci_reservation *from, oci_row_keys *keys, oc_error *err)
{
    if (from != NULL) {
        OC_TRY(oci_mem_alloc_reserved(from, keys->block_bytes, &keys->block, err));
    } else {
        OC_TRY(oci_mem_try_alloc(mem, keys->block_bytes, &keys->block, err));
    }
    keys->mem = from != NULL ? from->mem : mem;
    return OC_OK;
}

static oc_status encode(const oci_batch *batch, const oci_key_part *parts, int32_t n_keys,
                        oci_mem *mem, oci_reservation *from, oci_row_keys *keys, oc_error *err)
{
    int64_t total = 0;
    OC_TRY(keys_bytes(parts, n_keys, batch->length, keys->stride, &total, err));
    if (keys->stride > 0) {
        keys->block_bytes = total;
        OC_TRY(alloc_block(mem, from, keys, err));
        keys->bytes = keys->block;
        return encode_strided(parts, n_keys, keys->stride, keys->block, err);
    }
    int64_t head = offsets_bytes(batch->length);
    keys->block_bytes = head + total + OCI_KEY_SLACK;
    OC_TRY(alloc_block(mem, from, keys, err));
    uint8_t *bytes = (uint8_t *)keys->block + head;
    keys->offsets = keys->block;
    keys->bytes = bytes;
    return encode_var(parts, n_keys, batch->length, total, keys->block, bytes, err);
}

oc_status oci_row_keys_encode(const oci_batch *batch, const oci_sort_key *keys, int32_t n_keys,
                              oci_mem *mem, oci_reservation *from, oci_row_keys *out, oc_error *err)
{
    oci_row_keys made = {.length = batch->length,
                         .stride = oci_row_key_stride(batch->schema, keys, n_keys)};
    oci_key_part *parts = NULL;
    OC_TRY(make_parts(batch, keys, n_keys, &parts, err));
    oc_status status = encode(batch, parts, n_keys, mem, from, &made, err);
    free(parts);
    if (status == OC_OK) {
        *out = made;
    } else {
        oci_row_keys_deinit(&made);
    }
    return status;
}

void oci_row_keys_deinit(oci_row_keys *keys)
{
    if (keys->mem != NULL) {
        oci_mem_free(keys->mem, keys->block, keys->block_bytes);
    }
    *keys = (oci_row_keys){.length = 0};
}
