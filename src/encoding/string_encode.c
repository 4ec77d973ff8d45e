/* Strings to a vector: the bounds, and the plain kind: lengths, and the bytes one behind the other.
 * The bytes of a column with offsets already lie that way, unless null slots hold some. */
#include "encoding/string_copy.h"
#include "encoding/string_encode_internal.h"

static void find_bound(const oci_string_source *source, oci_string_bound *bound)
{
    int64_t total, longest;
    oci_string_source_measure(source, &total, &longest);
    bound->length_width = oci_string_width_of(longest);
    bound->packed = OCI_STRINGS_HEADER_BYTES + oci_int_vector_bound(source->n, bound->length_width);
    bound->bytes = total;
}

void oci_strings_bound(const oci_column *column, int64_t *packed, int64_t *bytes)
{
    oci_string_source source;
    oci_string_source_init(&source, column);
    oci_string_bound bound;
    find_bound(&source, &bound);
    *packed = bound.packed;
    *bytes = bound.bytes + OCI_STRING_ROOM;
}

/* ---- plain ----------------------------------------------------------------------------------- */

static int64_t sum_lengths(const oci_string_source *source)
{
    uint64_t lengths[OCI_PAGE_VALUES];
    uint64_t sum = 0;
    for (int64_t at = 0; at < source->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, source->n - at);
        oci_string_source_lengths(source, at, n, lengths);
        for (int64_t i = 0; i < n; i++) {
            sum += lengths[i];
        }
    }
    return (int64_t)sum;
}

static int64_t copy_each(const oci_string_source *source, uint8_t *to, int64_t room)
{
    oci_string_stage stage;
    int64_t size = 0;
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        oci_string_source_stage(source, at, n, &stage);
        for (int64_t i = 0; i < n; i++) {
            oci_string_copy(to + size, room - size, stage.at[i], stage.readable[i],
                            stage.length[i]);
            size += stage.length[i];
        }
    }
    return size;
}

/* The bytes of all strings, one behind the other; how many there are. */
static int64_t copy_all(const oci_string_source *source, int64_t total, uint8_t *to)
{
    bool lies_together = source->layout != OCI_LAYOUT_VIEWS &&
                         (source->validity == NULL || sum_lengths(source) == total);
    if (!lies_together) {
        return copy_each(source, to, total + OCI_STRING_ROOM);
    }
    if (total > 0) {
        memcpy(to, source->end - total, (size_t)total);
    }
    return total;
}

static void encode_plain(const oci_string_source *source, const oci_string_bound *bound,
                         oci_string_plan *plan, oci_pack_out *out)
{
    uint8_t *header = oci_string_header_begin(out);
    int64_t size = copy_all(source, bound->bytes, out->bytes + out->bytes_at);
    out->bytes_at += size;
    oci_int_source lengths = {.page = oci_string_source_lengths, .arg = source, .n = source->n};
    oci_string_put_numbers(&lengths, bound->length_width, &plan->numbers[0], out);
    oci_string_header_store(
        header,
        &(oci_string_header){.kind = OCI_STRINGS_PLAIN, .value_bytes = size, .bytes_size = size});
}

void oci_strings_encode(const oci_column *column, oci_string_plan *plan,
                        oci_string_scratch *scratch, oci_pack_out *out)
{
    (void)scratch;
    oci_string_source source;
    oci_string_source_init(&source, column);
    oci_string_bound bound;
    find_bound(&source, &bound);
    encode_plain(&source, &bound, plan, out);
}
