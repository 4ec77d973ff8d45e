/* Strings to a vector: bounds, the choice of a kind, and the plain kind: lengths, and the bytes one
 * behind the other. The bytes of a column with offsets already lie that way, unless null slots hold
 * some. */
#include "encoding/string_copy.h"
#include "encoding/string_dictionary.h"
#include "encoding/string_encode_internal.h"

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Numbers of other kinds than plain take 2 bytes a string and less than 2 more, so that what has
 * offsets never takes more than these. */
static int64_t bound_numbers(const oci_string_job *job)
{
    const oci_string_bound *bound = &job->bound;
    int64_t n = job->source.n;
    int width = bound->length_width;
    int64_t most = oci_int_vector_bound(n, width);
    if (bound->allowed[OCI_STRINGS_DICTIONARY]) {
        int64_t entries = oci_string_table_entries(n);
        most = oci_max64(most, oci_int_vector_bound(n, 2) + oci_int_vector_bound(entries, width));
    }
    if (bound->allowed[OCI_STRINGS_FRONT]) {
        most = oci_max64(most, 2 * oci_int_vector_bound(n, 2));
    }
    if (bound->allowed[OCI_STRINGS_SHARED]) {
        int places = oci_string_width_of(job->parts.size);
        most = oci_max64(most, oci_int_vector_bound(n, width) + oci_int_vector_bound(n, places));
    }
    return most;
}

static void begin(oci_string_job *job, const oci_column *column)
{
    oci_string_source *source = &job->source;
    oci_string_bound *bound = &job->bound;
    oci_string_source_init(source, column);
    int64_t longest;
    oci_string_source_measure(source, &bound->value_bytes, &longest);
    oci_string_parts_find(source, &job->parts);
    int64_t shared = job->parts.size + job->parts.short_bytes;
    bool must_share = job->parts.n > 0 &&
                      shared + OCI_STRING_PLACE_BYTES * source->n < bound->value_bytes;
    /* Fixed-size values that are shorter than two numbers are best left alone. */
    bool is_narrow = source->layout == OCI_LAYOUT_FIXED && source->width < 4;
    bound->allowed[OCI_STRINGS_PLAIN] = !must_share;
    bound->allowed[OCI_STRINGS_DICTIONARY] = !is_narrow;
    bound->allowed[OCI_STRINGS_FRONT] = !is_narrow && !must_share;
    bound->allowed[OCI_STRINGS_SHARED] = must_share;
    bound->allowed[OCI_STRINGS_NUMBERED] = bound->allowed[OCI_STRINGS_FRONT];
    bound->length_width = oci_string_width_of(longest);
    bound->bytes = must_share ? shared : bound->value_bytes;
    bound->packed = OCI_STRINGS_HEADER_BYTES + bound_numbers(job);
}

/* Some of the views, as those of a dictionary that are in use, may have to be shared where all need
 * not, or the other way round. */
static void allow_any_of_views(oci_string_job *job)
{
    oci_string_bound *bound = &job->bound;
    if (bound->allowed[OCI_STRINGS_SHARED]) {
        bound->bytes += OCI_STRING_PLACE_BYTES * job->source.n;
    } else {
        job->parts.size = bound->value_bytes;
    }
    bound->allowed[OCI_STRINGS_FRONT] = true;
    bound->allowed[OCI_STRINGS_SHARED] = true;
    bound->packed = OCI_STRINGS_HEADER_BYTES + bound_numbers(job);
}

void oci_strings_bound(const oci_column *column, int64_t *packed, int64_t *bytes)
{
    oci_string_job job = {0};
    begin(&job, column);
    if (job.source.layout == OCI_LAYOUT_VIEWS) {
        allow_any_of_views(&job);
    }
    *packed = job.bound.packed;
    *bytes = job.bound.bytes + OCI_STRING_ROOM;
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

static void encode_plain(oci_string_job *job)
{
    int64_t size =
        copy_all(&job->source, job->bound.value_bytes, job->out->bytes + job->out->bytes_at);
    oci_string_put_header(
        job,
        &(oci_string_header){.kind = OCI_STRINGS_PLAIN, .value_bytes = size, .bytes_size = size});
    oci_string_put_numbers(job, 0, oci_string_lengths_of(job), job->bound.length_width);
}

/* ---- choice ---------------------------------------------------------------------------------- */

/* Blocks that are encoded like the one before, until kinds are compared again; less strings than that
 * say nothing about the blocks to come. */
enum { BLOCKS_ALIKE = 15, STRINGS_MIN = 512 };

static bool encode_as(oci_string_job *job, oci_string_kind kind, int64_t worth)
{
    if (!job->bound.allowed[kind]) {
        return false;
    }
    switch (kind) {
    case OCI_STRINGS_DICTIONARY: return oci_strings_encode_dictionary(job, worth);
    case OCI_STRINGS_FRONT: return oci_strings_encode_front(job);
    case OCI_STRINGS_SHARED: oci_strings_encode_shared(job); return true;
    case OCI_STRINGS_NUMBERED: return oci_strings_encode_numbered(job);
    default: encode_plain(job); return true;
    }
}

/* What numbered strings take, tried as nothing else tells; INT64_MAX when they are none. */
static int64_t try_numbered(oci_string_job *job)
{
    oci_pack_out start = *job->out;
    bool is_done = encode_as(job, OCI_STRINGS_NUMBERED, INT64_MAX);
    int64_t size = job->out->packed_at - start.packed_at + job->out->bytes_at - start.bytes_at;
    *job->out = start;
    return is_done ? size : INT64_MAX;
}

static void encode_best(oci_string_job *job)
{
    oci_string_costs costs;
    oci_strings_estimate(job, &costs);
    oci_string_kind rest = job->bound.allowed[OCI_STRINGS_SHARED] ? OCI_STRINGS_SHARED
                           : costs.of[OCI_STRINGS_FRONT] < costs.of[OCI_STRINGS_PLAIN]
                               ? OCI_STRINGS_FRONT
                               : OCI_STRINGS_PLAIN;
    int64_t numbered = costs.of[OCI_STRINGS_NUMBERED] == 0 ? try_numbered(job) : INT64_MAX;
    /* Dictionaries are faster to read, so they may take a bit a string more. */
    int64_t worth = costs.of[rest];
    if (numbered < worth - job->source.n / 8) {
        worth = numbered + job->source.n / 8;
    }
    const oci_string_kind order[] = {OCI_STRINGS_DICTIONARY,
                                     numbered < costs.of[rest] ? OCI_STRINGS_NUMBERED : rest, rest,
                                     OCI_STRINGS_PLAIN};
    for (int i = 0; i < 4; i++) {
        if (costs.of[order[i]] != INT64_MAX && encode_as(job, order[i], worth)) {
            job->plan->blocks_left = job->source.n < STRINGS_MIN ? 0 : BLOCKS_ALIKE;
            return;
        }
    }
}

void oci_strings_encode(const oci_column *column, oci_string_plan *plan,
                        oci_string_scratch *scratch, oci_pack_out *out)
{
    oci_string_job job = {.plan = plan, .out = out};
    begin(&job, column);
    if (scratch == NULL || scratch->rows < column->length) {
        job.bound.allowed[OCI_STRINGS_DICTIONARY] = false;
        job.bound.allowed[OCI_STRINGS_FRONT] = false;
    }
    job.scratch = scratch;
    if (plan->blocks_left > 0) {
        plan->blocks_left--;
        if (encode_as(&job, (oci_string_kind)plan->kind, job.bound.bytes)) {
            return;
        }
        job.bound.allowed[plan->kind] = false;
    }
    encode_best(&job);
}
