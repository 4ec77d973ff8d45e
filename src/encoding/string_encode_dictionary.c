/* The dictionary kind: a code per string, and each distinct string once. */
#include "encoding/string_dictionary.h"
#include "encoding/string_encode_internal.h"

static void load_entry_lengths(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const oci_string_table *table = arg;
    for (int64_t i = 0; i < n; i++) {
        out[i] = (uint64_t)oci_string_table_length(table, start + i);
    }
}

/* About what the vector will take. */
static int64_t cost_of(const oci_string_job *job, const oci_string_table *table)
{
    int64_t codes = job->source.n * oci_bit_width((uint64_t)table->n - 1) / 8;
    return table->size + table->n + codes;
}

bool oci_strings_encode_dictionary(oci_string_job *job, int64_t worth)
{
    const oci_string_source *source = &job->source;
    uint16_t *codes = job->scratch->numbers;
    oci_string_table table;
    oci_string_table_init(&table, job->scratch, source, job->out->bytes + job->out->bytes_at,
                          job->bound.bytes);
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        if (!oci_string_table_add(&table, at, n, codes + at)) {
            return false;
        }
    }
    if (cost_of(job, &table) > worth) {
        return false;
    }
    oci_string_put_header(job, &(oci_string_header){.kind = OCI_STRINGS_DICTIONARY,
                                                    .value_bytes = table.value_bytes,
                                                    .bytes_size = table.size,
                                                    .extra = table.n});
    oci_int_array array = {.values = (const uint8_t *)codes, .width = 2};
    oci_string_put_numbers(job, 0, oci_int_array_source(&array, source->n), 2);
    oci_int_source lengths = {.page = load_entry_lengths, .arg = &table, .n = table.n};
    oci_string_put_numbers(job, 1, lengths, job->bound.length_width);
    return true;
}
