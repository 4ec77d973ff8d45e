/* Front coding: how many bytes a string shares with the one before, and the bytes behind them. What
 * neighbours of a sorted run have in common is stored once. */
#include "encoding/string_copy.h"
#include "encoding/string_dictionary.h"
#include "encoding/string_encode_internal.h"

/* Writes the rests of n strings to `to`, returns how many bytes that are, or -1 when one is longer
 * than its number holds. `last` is the string before, and becomes the last of these. */
static int64_t put_rests(const oci_string_stage *stage, int64_t n, oci_string_place *last,
                         uint16_t *shared, uint8_t *to, int64_t room)
{
    int64_t size = 0;
    for (int64_t i = 0; i < n; i++) {
        oci_string_place next = {stage->at[i], stage->length[i]};
        int64_t same = oci_string_common_prefix(*last, next);
        int64_t rest = next.length - same;
        if (rest > UINT16_MAX) {
            return -1;
        }
        oci_string_copy(to + size, room - size, next.at + same, stage->readable[i] - same, rest);
        shared[i] = (uint16_t)same;
        size += rest;
        *last = next;
    }
    return size;
}

typedef struct rests {
    const oci_string_source *source;
    const uint16_t *shared;
} rests;

static void load_rests(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const rests *r = arg;
    oci_string_source_lengths(r->source, start, n, out);
    for (int64_t i = 0; i < n; i++) {
        out[i] -= r->shared[start + i];
    }
}

bool oci_strings_encode_front(oci_string_job *job)
{
    const oci_string_source *source = &job->source;
    uint16_t *shared = job->scratch->numbers;
    uint8_t *bytes = job->out->bytes + job->out->bytes_at;
    int64_t room = job->bound.bytes + OCI_STRING_ROOM;
    int64_t size = 0, value_bytes = 0;
    oci_string_place last = {bytes, 0};
    oci_string_stage stage;
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        oci_string_source_stage(source, at, n, &stage);
        int64_t more = put_rests(&stage, n, &last, shared + at, bytes + size, room - size);
        if (more < 0) {
            return false;
        }
        size += more;
        for (int64_t i = 0; i < n; i++) {
            value_bytes += stage.length[i];
        }
    }
    oci_string_put_header(job, &(oci_string_header){.kind = OCI_STRINGS_FRONT,
                                                    .value_bytes = value_bytes,
                                                    .bytes_size = size});
    oci_int_array array = {.values = (const uint8_t *)shared, .width = 2};
    oci_string_put_numbers(job, 0, oci_int_array_source(&array, source->n), 2);
    rests r = {source, shared};
    oci_int_source numbers = {.page = load_rests, .arg = &r, .n = source->n};
    oci_string_put_numbers(job, 1, numbers, 2);
    return true;
}
