/* The dictionary of a column while it is written: a hash table with open addressing over the values, which lie one
 * behind the other as their page will have them. */
#include "base/bits.h"
#include "base/hash.h"
#include "formats/parquet/write_column.h"

enum { SLOTS_MIN = 256, SIZE_BYTES = 4 };

static uint64_t hash_value(const uint8_t *value, int64_t length)
{
    const uint64_t multiplier = UINT64_C(0x9E3779B97F4A7C15);
    if (length == 8) {
        uint64_t mixed = oci_load_le64(value) * multiplier;
        return mixed ^ (mixed >> 32);
    }
    if (length == 4) {
        uint64_t mixed = oci_load_le32(value) * multiplier;
        return mixed ^ (mixed >> 32);
    }
    return oci_hash64(value, length, 0);
}

static const uint8_t *value_at(const oci_parquet_table *table, int64_t i, int64_t *length)
{
    if (table->width > 0) {
        *length = table->width;
        return table->values.data + i * table->width;
    }
    const uint8_t *ends = table->ends.data;
    int64_t start = i == 0 ? 0 : (int64_t)oci_load_le64(ends + (i - 1) * 8);
    *length = (int64_t)oci_load_le64(ends + i * 8) - start;
    return table->values.data + start;
}

static bool is_equal(const uint8_t *a, const uint8_t *b, int64_t length)
{
    if (length == 8) {
        return oci_load_le64(a) == oci_load_le64(b);
    }
    return length == 0 || memcmp(a, b, (size_t)length) == 0;
}

static oc_status grow_slots(oci_parquet_table *table, oc_error *err)
{
    int64_t n_slots = oci_max64(SLOTS_MIN, 2 * table->n_slots);
    void *made;
    OC_TRY(oci_mem_alloc(table->values.mem, n_slots * (int64_t)sizeof(uint32_t), &made, err));
    uint32_t *slots = made;
    memset(slots, 0, (size_t)n_slots * sizeof *slots);
    for (int64_t i = 0; i < table->n; i++) {
        int64_t length;
        const uint8_t *value = value_at(table, i, &length);
        uint64_t at = hash_value(value, length) & (uint64_t)(n_slots - 1);
        while (slots[at] != 0) {
            at = (at + 1) & (uint64_t)(n_slots - 1);
        }
        slots[at] = (uint32_t)(i + 1);
    }
    oci_mem_free(table->values.mem, table->slots, table->n_slots * (int64_t)sizeof(uint32_t));
    table->slots = slots;
    table->n_slots = n_slots;
    return OC_OK;
}

static oc_status add_value(oci_parquet_table *table, const uint8_t *value, int64_t length,
                           oc_error *err)
{
    OC_TRY(oci_parquet_buffer_reserve(&table->values, length, err));
    if (table->width == 0) {
        uint8_t end[8];
        oci_store_le64(end, (uint64_t)(table->values.length + length));
        OC_TRY(oci_parquet_buffer_append(&table->ends, end, sizeof end, err));
    }
    return oci_parquet_buffer_append(&table->values, value, length, err);
}

oc_status oci_parquet_table_find(oci_parquet_table *table, const uint8_t *value, int64_t length,
                                 uint32_t *index, oc_error *err)
{
    if (2 * (table->n + 1) > table->n_slots) {
        OC_TRY(grow_slots(table, err));
    }
    uint64_t mask = (uint64_t)(table->n_slots - 1);
    uint64_t at = hash_value(value, length) & mask;
    for (; table->slots[at] != 0; at = (at + 1) & mask) {
        int64_t other_length;
        const uint8_t *other = value_at(table, table->slots[at] - 1, &other_length);
        if (other_length == length && is_equal(other, value, length)) {
            *index = table->slots[at] - 1;
            return OC_OK;
        }
    }
    OC_TRY(add_value(table, value, length, err));
    *index = (uint32_t)table->n++;
    table->slots[at] = *index + 1;
    return OC_OK;
}

void oci_parquet_table_clear(oci_parquet_table *table)
{
    if (table->n > 0) {
        memset(table->slots, 0, (size_t)table->n_slots * sizeof *table->slots);
    }
    table->n = 0;
    table->values.length = 0;
    table->ends.length = 0;
}

void oci_parquet_table_free(oci_parquet_table *table)
{
    oci_mem_free(table->values.mem, table->slots, table->n_slots * (int64_t)sizeof(uint32_t));
    table->slots = NULL;
    table->n_slots = 0;
    table->n = 0;
    oci_parquet_buffer_free(&table->values);
    oci_parquet_buffer_free(&table->ends);
}

oc_status oci_parquet_table_encode(const oci_parquet_table *table, oci_parquet_buffer *out,
                                   oc_error *err)
{
    if (table->width > 0) {
        return oci_parquet_buffer_append(out, table->values.data, table->values.length, err);
    }
    OC_TRY(oci_parquet_buffer_reserve(out, table->values.length + table->n * SIZE_BYTES, err));
    for (int64_t i = 0; i < table->n; i++) {
        int64_t length;
        const uint8_t *value = value_at(table, i, &length);
        oci_store_le32(out->data + out->length, (uint32_t)length);
        if (length > 0) {
            memcpy(out->data + out->length + SIZE_BYTES, value, (size_t)length);
        }
        out->length += SIZE_BYTES + length;
    }
    return OC_OK;
}
