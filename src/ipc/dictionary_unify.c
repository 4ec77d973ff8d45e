/* A growing dictionary with a hash table over it.
 *
 *      slots:   [ . 3 . . 1 2 . . ]      number of an entry + 1, by hash, open addressing
 *      entries: [ hash, chunk, row ]     one for each value, in order of first use
 *      chunks:  batches of one column    where the values lie, each new with one batch of the file
 *
 * Per batch, a map from its own indices to entries is filled as indices are met, so that a large
 * dictionary of which a batch uses little costs little more than the memory of the map. What is
 * new is first noted as a row of the batch's dictionary, and copied to a chunk when all rows are
 * through.
 *
 * Memory: about 24 bytes a value beside the values themselves, and 4 bytes for each value of the
 * dictionary at hand. Only schemas and columns of one field come from malloc. */
#include "ipc/dictionary_unify.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/gather.h"
#include "base/bits.h"

#define ENTRIES_FIRST 64
#define CHUNKS_FIRST  16

/* Bytes that a chunk aims at: what one dictionary message has. */
#define CHUNK_BYTES (1024 * 1024)

/* Chunk of entries that are still rows of the dictionary at hand. */
#define PENDING UINT32_MAX

typedef struct entry {
    uint64_t hash;
    uint32_t chunk;
    uint32_t row;
} entry;

struct oci_unify {
    const oci_field *field;
    oci_mem *mem;
    oci_schema *schema;  /* one column of values */
    oci_schema *working; /* of the chunks */
    int64_t entries_max; /* what the index type can number */
    entry *entries;
    int64_t n_entries;
    int64_t entry_capacity;
    uint32_t *slots;
    int64_t slot_capacity; /* a power of two, twice the entries */
    oci_batch **chunks;
    int64_t n_chunks;
    int64_t chunk_capacity;
    int64_t n_taken; /* chunks that fresh() has given out */
};

/* ---- making ---------------------------------------------------------------------------------- */

static int64_t index_count(oci_type type)
{
    switch (type) {
    case OCI_TYPE_INT8: return INT64_C(1) << 7;
    case OCI_TYPE_UINT8: return INT64_C(1) << 8;
    case OCI_TYPE_INT16: return INT64_C(1) << 15;
    case OCI_TYPE_UINT16: return INT64_C(1) << 16;
    default: return INT32_MAX; /* as many entries as this table can hold */
    }
}

static oc_status make_schema(const oci_field *values, oci_schema **out, oc_error *err)
{
    oci_field *field = calloc(1, sizeof *field);
    if (field == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a schema");
    }
    oc_status status = oci_field_copy(values, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    return oci_schema_create(field, 1, NULL, 0, out, err);
}

oc_status oci_unify_create(const oci_field *field, oci_mem *mem, oci_unify **out, oc_error *err)
{
    assert(field->type == OCI_TYPE_DICTIONARY);
    void *made = NULL;
    OC_TRY(oci_mem_alloc(mem, (int64_t)sizeof(oci_unify), &made, err));
    oci_unify *unify = made;
    *unify = (oci_unify){.field = field, .mem = mem, .entries_max = index_count(field->index_type)};
    oc_status status = make_schema(field->dictionary, &unify->schema, err);
    if (status == OC_OK) {
        status = oci_schema_working(unify->schema, &unify->working, err);
    }
    if (status != OC_OK) {
        oci_unify_destroy(unify);
        return status;
    }
    *out = unify;
    return OC_OK;
}

void oci_unify_destroy(oci_unify *unify)
{
    if (unify == NULL) {
        return;
    }
    oci_mem *mem = unify->mem;
    for (int64_t i = 0; i < unify->n_chunks; i++) {
        oci_batch_release(unify->chunks[i]);
    }
    oci_mem_free(mem, unify->chunks, unify->chunk_capacity * (int64_t)sizeof *unify->chunks);
    oci_mem_free(mem, unify->entries, unify->entry_capacity * (int64_t)sizeof *unify->entries);
    oci_mem_free(mem, unify->slots, unify->slot_capacity * (int64_t)sizeof *unify->slots);
    oci_schema_release(unify->schema);
    oci_schema_release(unify->working);
    oci_mem_free(mem, unify, (int64_t)sizeof *unify);
}

oci_schema *oci_unify_schema(const oci_unify *unify)
{
    return unify->schema;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void insert_slot(oci_unify *unify, int64_t number)
{
    int64_t mask = unify->slot_capacity - 1;
    int64_t slot = (int64_t)(unify->entries[number].hash & (uint64_t)mask);
    while (unify->slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    unify->slots[slot] = (uint32_t)number + 1;
}

/* Makes room for one entry more. */
static oc_status grow(oci_unify *unify, oc_error *err)
{
    if (unify->n_entries < unify->entry_capacity) {
        return OC_OK;
    }
    int64_t capacity = oci_max64(ENTRIES_FIRST, 2 * unify->entry_capacity);
    void *entries = NULL;
    OC_TRY(oci_mem_realloc(unify->mem, unify->entries,
                           unify->entry_capacity * (int64_t)sizeof(entry),
                           capacity * (int64_t)sizeof(entry), &entries, err));
    unify->entries = entries;
    unify->entry_capacity = capacity;
    void *slots = NULL;
    OC_TRY(oci_mem_alloc(unify->mem, 2 * capacity * (int64_t)sizeof(uint32_t), &slots, err));
    oci_mem_free(unify->mem, unify->slots, unify->slot_capacity * (int64_t)sizeof(uint32_t));
    unify->slots = slots;
    unify->slot_capacity = 2 * capacity;
    memset(unify->slots, 0, (size_t)unify->slot_capacity * sizeof(uint32_t));
    for (int64_t i = 0; i < unify->n_entries; i++) {
        insert_slot(unify, i);
    }
    return OC_OK;
}

static bool is_value(const oci_unify *unify, const entry *candidate, const oci_column *values,
                     int64_t row)
{
    const oci_column *column = values;
    if (candidate->chunk != PENDING) {
        column = &unify->chunks[candidate->chunk]->columns[0];
    }
    return oci_value_equal(column, candidate->row, values, row);
}

/* The entry of a value; a new one when it was never seen. */
static oc_status find(oci_unify *unify, const oci_column *values, int64_t row, uint32_t *number,
                      oc_error *err)
{
    OC_TRY(grow(unify, err));
    uint64_t hash = oci_value_hash(values, row, 0);
    int64_t mask = unify->slot_capacity - 1;
    for (int64_t slot = (int64_t)(hash & (uint64_t)mask); unify->slots[slot] != 0;
         slot = (slot + 1) & mask) {
        *number = unify->slots[slot] - 1;
        const entry *candidate = &unify->entries[*number];
        if (candidate->hash == hash && is_value(unify, candidate, values, row)) {
            return OC_OK;
        }
    }
    if (unify->n_entries >= unify->entries_max) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "column \"%.80s\" has more than %" PRId64
                " different values in all batches, too many for one"
                " dictionary with %s indices, which the file format needs; write the stream format",
                unify->field->name, unify->entries_max, oci_type_name(unify->field->index_type));
    }
    *number = (uint32_t)unify->n_entries++;
    unify->entries[*number] = (entry){.hash = hash, .chunk = PENDING, .row = (uint32_t)row};
    insert_slot(unify, *number);
    return OC_OK;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

/* The values as a batch that borrows their memory. */
static oc_status borrow_values(const oci_unify *unify, const oci_column *values, oci_batch **out,
                               oc_error *err)
{
    oci_column *column = malloc(sizeof *column);
    if (column == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while making a batch");
    }
    *column = *values;
    /* The values are announced as they are or come in working form. */
    oci_schema *schema = oci_field_same_type(values->field, &unify->schema->fields[0])
                             ? unify->schema
                             : unify->working;
    column->field = &schema->fields[0];
    return oci_batch_adopt(schema, values->length, column, NULL, NULL, 0, NULL, 0, out, err);
}

static oc_status reserve_chunk(oci_unify *unify, oc_error *err)
{
    if (unify->n_chunks < unify->chunk_capacity) {
        return OC_OK;
    }
    int64_t capacity = oci_max64(CHUNKS_FIRST, 2 * unify->chunk_capacity);
    void *chunks = NULL;
    OC_TRY(oci_mem_realloc(unify->mem, unify->chunks,
                           unify->chunk_capacity * (int64_t)sizeof(oci_batch *),
                           capacity * (int64_t)sizeof(oci_batch *), &chunks, err));
    unify->chunks = chunks;
    unify->chunk_capacity = capacity;
    return OC_OK;
}

/* Copies rows[0..n) of `values` to chunks; they are the entries from `first` on. */
static oc_status copy_rows(oci_unify *unify, const oci_batch *values, const oci_row_ref *rows,
                           int64_t n, int64_t first, oc_error *err)
{
    for (int64_t done = 0; done < n || unify->n_chunks == 0;) {
        OC_TRY(reserve_chunk(unify, err));
        int64_t fit = 0;
        OC_TRY(oci_gather_fit(unify->working, &values, rows + done, n - done, CHUNK_BYTES,
                              unify->mem, &fit, NULL, err));
        oci_batch *chunk = NULL;
        OC_TRY(oci_gather(unify->working, &values, rows + done, fit, 0, unify->mem, NULL, &chunk,
                          err));
        for (int64_t i = 0; i < fit; i++) {
            unify->entries[first + done + i].chunk = (uint32_t)unify->n_chunks;
            unify->entries[first + done + i].row = (uint32_t)i;
        }
        unify->chunks[unify->n_chunks++] = chunk;
        done += fit;
    }
    return OC_OK;
}

/* Copies the values of the entries from `first` on, which are rows of `values`. */
static oc_status keep_values(oci_unify *unify, const oci_column *values, int64_t first,
                             oc_error *err)
{
    int64_t n = unify->n_entries - first;
    if (n == 0 && unify->n_chunks > 0) {
        return OC_OK;
    }
    oci_batch *batch = NULL;
    OC_TRY(borrow_values(unify, values, &batch, err));
    void *block = NULL;
    int64_t bytes = n * (int64_t)sizeof(oci_row_ref);
    oc_status status = oci_mem_alloc(unify->mem, bytes, &block, err);
    if (status == OC_OK) {
        oci_row_ref *rows = block;
        for (int64_t i = 0; i < n; i++) {
            rows[i] = (oci_row_ref){.source = 0, .row = unify->entries[first + i].row};
        }
        status = copy_rows(unify, batch, rows, n, first, err);
        oci_mem_free(unify->mem, block, bytes);
    }
    oci_batch_release(batch);
    return status;
}

/* ---- indices --------------------------------------------------------------------------------- */

static void store_index(uint8_t *indices, int64_t row, int32_t width, uint32_t number)
{
    uint8_t *at = indices + row * width;
    switch (width) {
    case 1: *at = (uint8_t)number; break;
    case 2: oci_store_le16(at, (uint16_t)number); break;
    case 4: oci_store_le32(at, number); break;
    default: oci_store_le64(at, number); break;
    }
}

static bool is_valid(const oci_column *column, int64_t row)
{
    return column->validity == NULL || oci_bit_get(column->validity, column->offset + row);
}

/* `map` has the number + 1 of the entry of each value of the column's dictionary, 0 where it is
 * not known yet. */
static oc_status translate(oci_unify *unify, const oci_column *column, uint32_t *map,
                           uint8_t *indices, oc_error *err)
{
    const oci_column *values = column->dictionary;
    for (int64_t row = 0; row < column->length; row++) {
        uint32_t number = 0;
        if (is_valid(column, row)) {
            int64_t index = oci_column_index_at(column, row);
            if (index < 0 || index >= values->length) {
                OC_FAIL(err, OC_EDATA,
                        "column \"%.80s\": dictionary index %" PRId64 " is not one of %" PRId64
                        " values",
                        unify->field->name, index, values->length);
            }
            if (map[index] == 0) {
                OC_TRY(find(unify, values, index, &number, err));
                map[index] = number + 1;
            }
            number = map[index] - 1;
        }
        store_index(indices, row, column->field->byte_width, number);
    }
    return OC_OK;
}

oc_status oci_unify_add(oci_unify *unify, const oci_column *column, uint8_t *indices, oc_error *err)
{
    const oci_column *values = column->dictionary;
    int64_t first = unify->n_entries;
    if (values->length >= PENDING) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "column \"%.80s\": a dictionary of %" PRId64 " values is too large to be unified",
                unify->field->name, values->length);
    }
    int64_t bytes = values->length * (int64_t)sizeof(uint32_t);
    void *map = NULL;
    OC_TRY(oci_mem_alloc(unify->mem, bytes, &map, err));
    memset(map, 0, (size_t)bytes);
    oc_status status = translate(unify, column, map, indices, err);
    oci_mem_free(unify->mem, map, bytes);
    return status == OC_OK ? keep_values(unify, values, first, err) : status;
}

int64_t oci_unify_fresh(oci_unify *unify, oci_batch *const **out)
{
    int64_t n = unify->n_chunks - unify->n_taken;
    *out = n > 0 ? unify->chunks + unify->n_taken : NULL;
    unify->n_taken = unify->n_chunks;
    return n;
}
