/* Scratch of the string encoder: a table of distinct strings and a number per row. */
#include "encoding/string_dictionary.h"

#include "base/bits.h"
#include "encoding/string_format.h"

/* A dictionary of more than half of the rows has not paid. */
static int64_t entries_for(int64_t rows)
{
    return oci_min64(rows / 2 + 1, OCI_STRINGS_DISTINCT_MAX);
}

/* A power of two, at most half of the slots are ever taken. */
static int64_t slots_for(int64_t entries)
{
    int64_t slots = 64;
    while (slots < 2 * entries) {
        slots *= 2;
    }
    return slots;
}

static int64_t block_size(int64_t rows)
{
    int64_t entries = entries_for(rows);
    return (int64_t)sizeof(oci_string_scratch) + (entries + 1) * (int64_t)sizeof(oci_string_entry) +
           (slots_for(entries) + rows) * (int64_t)sizeof(uint16_t);
}

int64_t oci_string_scratch_bytes(int64_t rows)
{
    return oci_mem_charge_of(block_size(rows));
}

oc_status oci_string_scratch_create(int64_t rows, oci_reservation *from, oci_string_scratch **out,
                                    oc_error *err)
{
    int64_t size = block_size(rows);
    void *block;
    OC_TRY(oci_mem_alloc_reserved(from, size, &block, err));
    oci_string_scratch *scratch = block;
    *scratch = (oci_string_scratch){.size = size, .rows = rows, .max_entries = entries_for(rows)};
    scratch->max_slots = slots_for(scratch->max_entries);
    scratch->entries = (oci_string_entry *)(scratch + 1);
    scratch->slots = (uint16_t *)(scratch->entries + scratch->max_entries + 1);
    scratch->numbers = scratch->slots + scratch->max_slots;
    *out = scratch;
    return OC_OK;
}

void oci_string_scratch_destroy(oci_string_scratch *scratch, oci_reservation *to)
{
    if (scratch != NULL) {
        oci_mem_free_reserved(to, scratch, scratch->size);
    }
}
