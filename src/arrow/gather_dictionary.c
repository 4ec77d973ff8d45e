/* Gather: dictionary columns. Every source has its own dictionary; the output gets one of its own,
 * with just the values that its rows use.
 *
 * Two questions are asked per row, each answered by a hash table:
 *
 *   (source, code) seen before?  -> id   a few ns, the same few codes over and over
 *   value seen before?           -> id   only for a new code; compares bit for bit
 *
 * Ids count up in order of first use and are the codes of the output. The values themselves are
 * remembered as rows of the sources' dictionaries, so the output's dictionary is just another
 * gather, whatever its type (nested ones and dictionaries of dictionaries too). A null value gets no id: its rows
 * become null slots.
 *
 * Tables grow with the distinct codes that are met, not with the size of the dictionaries, and are
 * kept from scan to fill, which asks the first question once more. Codes come from outside and are
 * checked when they are new. The struct of a dictionary, one per column, is malloc'ed; its tables
 * are charged. */
#include <stdlib.h>

#include "arrow/gather_internal.h"

#define STAGED_ROWS 256
#define SLOTS_MIN   64

/* ---- life ------------------------------------------------------------------------------------ */

static int64_t index_values_max(oci_type index_type)
{
    switch (index_type) {
    case OCI_TYPE_INT8: return INT64_C(1) << 7;
    case OCI_TYPE_UINT8: return INT64_C(1) << 8;
    case OCI_TYPE_INT16: return INT64_C(1) << 15;
    case OCI_TYPE_UINT16: return INT64_C(1) << 16;
    default: return INT64_C(1) << 31; /* more than a batch has rows */
    }
}

oc_status oci_gather_dictionary_create(oci_gather_column *column, oc_error *err)
{
    oci_gather_dictionary *dictionary = calloc(1, sizeof *dictionary);
    if (dictionary == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not gather column \"%.80s\": out of memory",
                column->field->name);
    }
    column->dictionary = dictionary; /* from here on its owner destroys it */
    dictionary->values_max = index_values_max(column->field->index_type);
    dictionary->column.parent = column;
    dictionary->column.step = OCI_GATHER_VALUES;
    return oci_gather_column_init(&dictionary->column, column->field->dictionary, err);
}

static void free_list(oci_gather_list *list, oci_mem *mem, size_t item_size)
{
    oci_mem_free(mem, list->items, list->capacity * (int64_t)item_size);
}

void oci_gather_dictionary_destroy(oci_gather_dictionary *dictionary, oci_mem *mem)
{
    if (dictionary == NULL) {
        return;
    }
    oci_gather_column_deinit(&dictionary->column, mem);
    free_list(&dictionary->codes, mem, sizeof(oci_gather_code));
    free_list(&dictionary->code_slots, mem, sizeof(uint32_t));
    free_list(&dictionary->values, mem, sizeof(oci_row_ref));
    free_list(&dictionary->hashes, mem, sizeof(uint64_t));
    free_list(&dictionary->value_slots, mem, sizeof(uint32_t));
    free(dictionary);
}

static oc_status reserve_list(oci_gather_list *list, oci_mem *mem, int64_t need, size_t item_size,
                              oc_error *err)
{
    if (need <= list->capacity) {
        return OC_OK;
    }
    int64_t size = (int64_t)item_size;
    int64_t capacity = oci_max64(SLOTS_MIN, list->capacity * 2);
    void *items = NULL;
    OC_TRY(oci_mem_realloc(mem, list->items, list->capacity * size, capacity * size, &items, err));
    list->items = items;
    list->capacity = capacity;
    return OC_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static inline uint64_t code_hash(uint32_t source, uint32_t code)
{
    return (((uint64_t)source << 32) | code) * UINT64_C(0x9E3779B97F4A7C15);
}

/* Multiplication leaves the best bits at the top; capacities are powers of two. */
static inline uint32_t first_slot(uint64_t hash, int64_t capacity)
{
    return (uint32_t)((hash >> 32) & (uint64_t)(capacity - 1));
}

static inline uint32_t next_slot(uint32_t slot, int64_t capacity)
{
    return (slot + 1) & (uint32_t)(capacity - 1);
}

static void put_slot(oci_gather_list *slots, uint64_t hash, uint32_t position)
{
    uint32_t *table = slots->items;
    uint32_t slot = first_slot(hash, slots->capacity);
    while (table[slot] != 0) {
        slot = next_slot(slot, slots->capacity);
    }
    table[slot] = position + 1;
}

/* `position` is the last one that was put. */
static void remove_slot(oci_gather_list *slots, uint64_t hash, uint32_t position)
{
    uint32_t *table = slots->items;
    uint32_t slot = first_slot(hash, slots->capacity);
    while (table[slot] != position + 1) {
        slot = next_slot(slot, slots->capacity);
    }
    table[slot] = 0;
}

/* Doubles a table that would be more than a quarter full with one entry more; it is empty then. */
static oc_status grow_slots(oci_gather_list *slots, oci_mem *mem, int64_t n, bool *emptied,
                            oc_error *err)
{
    *emptied = false;
    if (4 * (n + 1) <= slots->capacity) {
        return OC_OK;
    }
    OC_TRY(reserve_list(slots, mem, slots->capacity + 1, sizeof(uint32_t), err));
    memset(slots->items, 0, (size_t)slots->capacity * sizeof(uint32_t));
    *emptied = true;
    return OC_OK;
}

static oc_status make_room_for_code(oci_gather_dictionary *dictionary, oci_mem *mem, oc_error *err)
{
    bool emptied = false;
    OC_TRY(reserve_list(&dictionary->codes, mem, dictionary->n_codes + 1, sizeof(oci_gather_code),
                        err));
    OC_TRY(grow_slots(&dictionary->code_slots, mem, dictionary->n_codes, &emptied, err));
    const oci_gather_code *codes = dictionary->codes.items;
    for (int64_t i = 0; emptied && i < dictionary->n_codes; i++) {
        put_slot(&dictionary->code_slots, code_hash(codes[i].source, codes[i].code), (uint32_t)i);
    }
    return OC_OK;
}

static oc_status make_room_for_value(oci_gather_dictionary *dictionary, oci_mem *mem, oc_error *err)
{
    bool emptied = false;
    int64_t n = dictionary->n_values;
    OC_TRY(reserve_list(&dictionary->values, mem, n + 1, sizeof(oci_row_ref), err));
    OC_TRY(reserve_list(&dictionary->hashes, mem, n + 1, sizeof(uint64_t), err));
    OC_TRY(grow_slots(&dictionary->value_slots, mem, n, &emptied, err));
    const uint64_t *hashes = dictionary->hashes.items;
    for (int64_t i = 0; emptied && i < n; i++) {
        put_slot(&dictionary->value_slots, hashes[i], (uint32_t)i);
    }
    return OC_OK;
}

void oci_gather_save_dictionary(oci_gather_dictionary *dictionary)
{
    dictionary->saved_n_codes = dictionary->n_codes;
    dictionary->saved_n_values = dictionary->n_values;
    oci_gather_save_column(&dictionary->column);
}

void oci_gather_restore_dictionary(oci_gather_dictionary *dictionary)
{
    const oci_gather_code *codes = dictionary->codes.items;
    const uint64_t *hashes = dictionary->hashes.items;
    while (dictionary->n_codes > dictionary->saved_n_codes) {
        int64_t last = --dictionary->n_codes;
        remove_slot(&dictionary->code_slots, code_hash(codes[last].source, codes[last].code),
                    (uint32_t)last);
    }
    while (dictionary->n_values > dictionary->saved_n_values) {
        int64_t last = --dictionary->n_values;
        remove_slot(&dictionary->value_slots, hashes[last], (uint32_t)last);
    }
    dictionary->n_values_scanned = dictionary->n_values;
    oci_gather_restore_column(&dictionary->column);
}

/* ---- scan ------------------------------------------------------------------------------------ */

/* Null, and not just a union of which the value is null: that is told apart by its type id. */
static bool value_is_null(const oci_column *column, int64_t row)
{
    for (;;) {
        if (column->field->type == OCI_TYPE_RUN_END_ENCODED) {
            row = oci_column_run_at(column, row);
            column = &column->children[1];
        } else if (column->dictionary != NULL &&
                   (column->validity == NULL ||
                    oci_bit_get(column->validity, column->offset + row))) {
            row = oci_column_index_at(column, row);
            column = column->dictionary;
        } else {
            return column->field->union_ids == NULL && oci_column_is_null(column, row);
        }
    }
}

/* The id of a value that is not null; a new one when it was not seen before. */
static oc_status find_value(const oci_gather_job *job, oci_gather_dictionary *dictionary,
                            uint32_t source, uint32_t code, uint32_t *id, oc_error *err)
{
    OC_TRY(make_room_for_value(dictionary, job->mem, err));
    const oci_column *column = job->inputs[source].column->dictionary;
    uint64_t hash = oci_value_hash(column, code, 0);
    oci_row_ref *values = dictionary->values.items;
    uint64_t *hashes = dictionary->hashes.items;
    const uint32_t *slots = dictionary->value_slots.items;
    int64_t capacity = dictionary->value_slots.capacity;
    for (uint32_t slot = first_slot(hash, capacity); slots[slot] != 0;
         slot = next_slot(slot, capacity)) {
        uint32_t seen = slots[slot] - 1;
        const oci_column *other = job->inputs[values[seen].source].column->dictionary;
        if (hashes[seen] == hash && oci_value_equal(column, code, other, values[seen].row)) {
            *id = seen;
            return OC_OK;
        }
    }
    *id = (uint32_t)dictionary->n_values++;
    values[*id] = (oci_row_ref){.source = source, .row = code};
    hashes[*id] = hash;
    put_slot(&dictionary->value_slots, hash, *id);
    return OC_OK;
}

static oc_status add_code(const oci_gather_job *job, const oci_gather_column *column,
                          uint32_t source, uint64_t code, uint32_t *id, oc_error *err)
{
    oci_gather_dictionary *dictionary = column->dictionary;
    const oci_column *from = job->inputs[source].column->dictionary;
    if (from == NULL || code >= (uint64_t)from->length) {
        OC_FAIL(err, OC_EDATA,
                "could not gather column \"%s\": index %" PRId64
                " is outside its dictionary of %" PRId64 " values",
                column->field->name, (int64_t)code, from == NULL ? 0 : from->length);
    }
    if (code >= UINT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not gather column \"%s\": dictionaries of more than 2^32 values are not "
                "supported",
                column->field->name);
    }
    OC_TRY(make_room_for_code(dictionary, job->mem, err));
    *id = OCI_GATHER_NULL_ID;
    if (!value_is_null(from, (int64_t)code)) {
        OC_TRY(find_value(job, dictionary, source, (uint32_t)code, id, err));
    }
    oci_gather_code *codes = dictionary->codes.items;
    codes[dictionary->n_codes] =
        (oci_gather_code){.source = source, .code = (uint32_t)code, .id = *id};
    put_slot(&dictionary->code_slots, code_hash(source, (uint32_t)code),
             (uint32_t)dictionary->n_codes);
    dictionary->n_codes++;
    return OC_OK;
}

/* False when the code was not met yet. */
static inline bool find_code(const oci_gather_dictionary *dictionary, uint32_t source,
                             uint64_t code, uint32_t *id)
{
    const oci_gather_code *codes = dictionary->codes.items;
    const uint32_t *slots = dictionary->code_slots.items;
    int64_t capacity = dictionary->code_slots.capacity;
    if (capacity == 0) {
        return false;
    }
    uint32_t slot = first_slot(code_hash(source, (uint32_t)code), capacity);
    for (; slots[slot] != 0; slot = next_slot(slot, capacity)) {
        const oci_gather_code *seen = &codes[slots[slot] - 1];
        if (seen->code == code && seen->source == source) {
            *id = seen->id;
            return true;
        }
    }
    return false;
}

/* Indices as they lie, sign-extended: a negative one is outside every dictionary. */
#define STAGE_INDICES(type)                                                                  \
    for (int64_t k = 0; k < n; k++) {                                                        \
        type index;                                                                          \
        memcpy(&index,                                                                       \
               inputs[rows[k].source].values + (int64_t)rows[k].row * (int64_t)sizeof index, \
               sizeof index);                                                                \
        out[k] = (uint64_t)(int64_t)index;                                                   \
    }                                                                                        \
    break

static void stage_indices(const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n,
                          oci_type type, uint64_t *out)
{
    switch (type) {
    case OCI_TYPE_INT8: STAGE_INDICES(int8_t);
    case OCI_TYPE_UINT8: STAGE_INDICES(uint8_t);
    case OCI_TYPE_INT16: STAGE_INDICES(int16_t);
    case OCI_TYPE_UINT16: STAGE_INDICES(uint16_t);
    case OCI_TYPE_INT32: STAGE_INDICES(int32_t);
    case OCI_TYPE_UINT32: STAGE_INDICES(uint32_t);
    default: STAGE_INDICES(int64_t);
    }
}

static void prefetch_indices(const oci_gather_input *inputs, const oci_row_ref *rows, int64_t n,
                             int64_t width)
{
    for (int64_t k = 0; k < n; k++) {
        __builtin_prefetch(inputs[rows[k].source].values + (int64_t)rows[k].row * width);
    }
}

/* Where the offsets of a dictionary value lie, NULL when it has none or is out of range. */
static const uint8_t *value_offsets(const oci_column *values, uint64_t code, bool *wide)
{
    if (values == NULL || code >= (uint64_t)values->length) {
        return NULL;
    }
    oci_layout layout = oci_field_layout(values->field);
    *wide = layout == OCI_LAYOUT_OFFSETS64;
    if (!*wide && layout != OCI_LAYOUT_OFFSETS32) {
        return NULL;
    }
    return values->values + (values->offset + (int64_t)code) * (*wide ? 8 : 4);
}

/* New codes in a row mean misses, on offsets and then on bytes. This and the next call start them
 * for many values at once. */
static void prefetch_offsets(const oci_column *values, uint64_t code)
{
    bool wide;
    const uint8_t *offsets = value_offsets(values, code, &wide);
    if (offsets != NULL) {
        __builtin_prefetch(offsets);
    }
}

static void prefetch_bytes(const oci_column *values, uint64_t code)
{
    bool wide;
    const uint8_t *offsets = value_offsets(values, code, &wide);
    if (offsets != NULL) {
        uint64_t start = wide ? oci_load_le64(offsets) : oci_load_le32(offsets);
        __builtin_prefetch(values->bytes + start);
    }
}

/* Ids of up to STAGED_ROWS rows. First the rows with known codes, which are nearly all when
 * dictionaries are small; then, in their order, those that were not found. */
static oc_status scan_codes(oci_gather_job *job, oci_gather_column *column, const oci_row_ref *rows,
                            int64_t n, const uint64_t *indices, oc_error *err)
{
    const oci_gather_input *inputs = job->inputs;
    uint16_t unknown[STAGED_ROWS];
    int64_t n_unknown = 0;
    for (int64_t k = 0; k < n; k++) {
        const oci_gather_input *in = &inputs[rows[k].source];
        uint32_t id = OCI_GATHER_NULL_ID;
        if (oci_gather_is_valid(in, rows[k].row) &&
            !find_code(column->dictionary, in->dictionary, indices[k], &id)) {
            prefetch_offsets(in->column->dictionary, indices[k]);
            unknown[n_unknown++] = (uint16_t)k;
            continue;
        }
        column->has_nulls |= id == OCI_GATHER_NULL_ID;
    }
    for (int64_t u = 0; u < n_unknown; u++) {
        prefetch_bytes(inputs[rows[unknown[u]].source].column->dictionary, indices[unknown[u]]);
    }
    for (int64_t u = 0; u < n_unknown; u++) {
        uint32_t source = inputs[rows[unknown[u]].source].dictionary;
        uint64_t code = indices[unknown[u]];
        uint32_t id = OCI_GATHER_NULL_ID;
        if (!find_code(column->dictionary, source, code, &id)) {
            OC_TRY(add_code(job, column, source, code, &id, err));
        }
        column->has_nulls |= id == OCI_GATHER_NULL_ID;
    }
    return OC_OK;
}

oc_status oci_gather_scan_dictionary(oci_gather_job *job, oci_gather_column *column,
                                     const oci_row_ref *rows, int64_t n, oc_error *err)
{
    uint64_t indices[STAGED_ROWS];
    for (int64_t i = 0; i < n; i += STAGED_ROWS) {
        int64_t count = oci_min64(STAGED_ROWS, n - i);
        int64_t next = oci_min64(STAGED_ROWS, n - i - count);
        prefetch_indices(job->inputs, rows + i + count, next, column->field->byte_width);
        stage_indices(job->inputs, rows + i, count, column->field->index_type, indices);
        OC_TRY(scan_codes(job, column, rows + i, count, indices, err));
    }
    return OC_OK;
}

/* ---- fill ------------------------------------------------------------------------------------ */

/* Turns indices into ids, 0 for null slots; returns the validity of up to 64 rows. */
static uint64_t translate(const oci_gather_job *job, const oci_gather_dictionary *dictionary,
                          const oci_row_ref *rows, int count, uint64_t *indices)
{
    uint64_t valid = 0;
    for (int k = 0; k < count; k++) {
        const oci_gather_input *in = &job->inputs[rows[k].source];
        uint32_t id = OCI_GATHER_NULL_ID;
        if (oci_gather_is_valid(in, rows[k].row)) {
            bool found = find_code(dictionary, in->dictionary, indices[k], &id);
            assert(found);
            (void)found;
        }
        valid |= (uint64_t)(id != OCI_GATHER_NULL_ID) << k;
        indices[k] = id == OCI_GATHER_NULL_ID ? 0 : id;
    }
    return valid;
}

static void store_indices(const uint64_t *indices, int count, int64_t width, uint8_t *out)
{
    for (int k = 0; k < count; k++) {
        switch (width) {
        case 1: out[k] = (uint8_t)indices[k]; break;
        case 2: oci_store_le16(out + k * 2, (uint16_t)indices[k]); break;
        case 4: oci_store_le32(out + k * 4, (uint32_t)indices[k]); break;
        default: oci_store_le64(out + k * 8, indices[k]); break;
        }
    }
}

void oci_gather_fill_dictionary(oci_gather_job *job, oci_gather_column *column,
                                const oci_row_ref *rows, int64_t n, int64_t at)
{
    int64_t width = column->field->byte_width;
    uint8_t *validity = column->has_nulls ? job->slab + column->validity_at : NULL;
    uint8_t *values = job->slab + column->values_at;
    uint64_t indices[64];
    for (int64_t i = 0; i < n; i += 64) {
        int count = (int)oci_min64(64, n - i);
        stage_indices(job->inputs, rows + i, count, column->field->index_type, indices);
        uint64_t valid = translate(job, column->dictionary, rows + i, count, indices);
        store_indices(indices, count, width, values + (at + i) * width);
        column->null_count += count - __builtin_popcountll(valid);
        for (int k = 0; validity != NULL && k < count; k += 8) {
            validity[(at + i + k) >> 3] = (uint8_t)(valid >> k);
        }
    }
    if (validity != NULL) {
        oci_gather_pad(validity, oci_bytes_for_bits(at + n));
    }
    oci_gather_pad(values, (at + n) * width);
}
