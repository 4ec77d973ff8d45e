/* Front coding: how many bytes a string shares with the one before, and the bytes behind them. What
 * neighbours of a sorted run have in common is stored once. */
#include "encoding/string_copy.h"
#include "encoding/string_dictionary.h"
#include "encoding/string_encode_internal.h"

/* Writes what the strings [1, n) of a stage have behind what they share with the one before; adds to
 * *size, and returns false when one has more than its number holds. */
static bool put_rests(const oci_string_stage *stage, int64_t n, uint16_t *shared, uint8_t *to,
                      int64_t room, int64_t *size)
{
    int64_t at = *size;
    for (int64_t i = 1; i < n; i++) {
        int64_t same = oci_string_stage_shared(stage, i);
        int64_t rest = stage->length[i] - same;
        if (rest > UINT16_MAX) {
            return false;
        }
        oci_string_copy(to + at, room - at, stage->at[i] + same, stage->readable[i] - same, rest);
        shared[i] = (uint16_t)same;
        at += rest;
    }
    *size = at;
    return true;
}

/* The first string of all shares nothing. */
static bool put_first(const oci_string_stage *stage, uint16_t *shared, uint8_t *to, int64_t *size)
{
    *shared = 0;
    *size = stage->length[0];
    if (*size > UINT16_MAX) {
        return false;
    }
    memcpy(to, stage->at[0], (size_t)*size);
    return true;
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
    oci_string_stage stage;
    /* Each stage begins with the last string of the one before. */
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE - 1) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        oci_string_source_stage(source, at, n, &stage);
        if ((at == 0 && !put_first(&stage, shared, bytes, &size)) ||
            !put_rests(&stage, n, shared + at, bytes, room, &size)) {
            return false;
        }
        for (int64_t i = at > 0; i < n; i++) {
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
