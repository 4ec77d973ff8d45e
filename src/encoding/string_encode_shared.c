/* The shared kind, for views that show the same bytes over and over: of each view buffer the part
 * between the first and the last byte shown is stored once, and each string says where in it it
 * lies. Strings that lie in their views come behind those parts, one after the other. */
#include "encoding/string_copy.h"
#include "encoding/string_encode_internal.h"

/* ---- what is shown --------------------------------------------------------------------------- */

static oci_view load_view(const oci_string_source *source, int64_t row)
{
    oci_view view;
    memcpy(&view, source->values + row * (int64_t)sizeof view, sizeof view);
    return view;
}

static void add_view(oci_string_parts *parts, const oci_view *view)
{
    int32_t i = view->ref.buffer;
    uint32_t from = (uint32_t)view->ref.offset;
    uint32_t to = from + (uint32_t)view->length;
    parts->from[i] = from < parts->from[i] ? from : parts->from[i];
    parts->to[i] = to > parts->to[i] ? to : parts->to[i];
}

void oci_string_parts_find(const oci_string_source *source, oci_string_parts *parts)
{
    int32_t n_buffers = source->column->n_view_buffers;
    parts->n = n_buffers <= OCI_STRING_PARTS ? n_buffers : 0;
    parts->size = 0;
    parts->short_bytes = 0;
    for (int64_t i = 0; i < parts->n; i++) {
        parts->from[i] = UINT32_MAX;
        parts->to[i] = 0;
    }
    if (parts->n == 0) {
        return;
    }
    uint64_t lengths[OCI_PAGE_VALUES];
    for (int64_t at = 0; at < source->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, source->n - at);
        oci_string_source_lengths(source, at, n, lengths);
        for (int64_t i = 0; i < n; i++) {
            if (lengths[i] <= OCI_VIEW_INLINE) {
                parts->short_bytes += (int64_t)lengths[i];
            } else {
                oci_view view = load_view(source, at + i);
                add_view(parts, &view);
            }
        }
    }
    for (int64_t i = 0; i < parts->n; i++) {
        if (parts->to[i] == 0) {
            parts->from[i] = 0;
        }
        parts->size += (int64_t)parts->to[i] - (int64_t)parts->from[i];
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct places {
    const oci_string_source *source;
    int64_t shift[OCI_STRING_PARTS]; /* from a buffer's offset to a place */
} places;

static void load_places(const void *arg, int64_t start, int64_t n, uint64_t *out)
{
    const places *p = arg;
    oci_string_source_lengths(p->source, start, n, out);
    for (int64_t i = 0; i < n; i++) {
        if (out[i] <= OCI_VIEW_INLINE) {
            out[i] = 0;
        } else {
            oci_view view = load_view(p->source, start + i);
            out[i] = (uint64_t)(p->shift[view.ref.buffer] + view.ref.offset);
        }
    }
}

static void copy_parts(const oci_column *column, const oci_string_parts *parts, places *p,
                       uint8_t *to)
{
    int64_t at = 0;
    for (int64_t i = 0; i < parts->n; i++) {
        int64_t size = (int64_t)parts->to[i] - (int64_t)parts->from[i];
        p->shift[i] = at - (int64_t)parts->from[i];
        if (size > 0) {
            memcpy(to + at, column->view_buffers[i] + parts->from[i], (size_t)size);
        }
        at += size;
    }
}

/* Returns what all strings together have. */
static int64_t copy_short(const oci_string_source *source, uint8_t *to, int64_t room)
{
    oci_string_stage stage;
    int64_t value_bytes = 0;
    int64_t size = 0;
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        oci_string_source_stage(source, at, n, &stage);
        for (int64_t i = 0; i < n; i++) {
            value_bytes += stage.length[i];
            if (stage.length[i] <= OCI_VIEW_INLINE) {
                oci_string_copy(to + size, room - size, stage.at[i], stage.readable[i],
                                stage.length[i]);
                size += stage.length[i];
            }
        }
    }
    return value_bytes;
}

void oci_strings_encode_shared(oci_string_job *job)
{
    const oci_string_parts *parts = &job->parts;
    places p = {.source = &job->source};
    uint8_t *to = job->out->bytes + job->out->bytes_at;
    copy_parts(job->source.column, parts, &p, to);
    int64_t value_bytes =
        copy_short(&job->source, to + parts->size, parts->short_bytes + OCI_STRING_ROOM);
    oci_string_put_header(job, &(oci_string_header){.kind = OCI_STRINGS_SHARED,
                                                    .value_bytes = value_bytes,
                                                    .bytes_size = parts->size + parts->short_bytes,
                                                    .extra = parts->size});
    oci_string_put_numbers(job, 0, oci_string_lengths_of(job), job->bound.length_width);
    oci_int_source numbers = {.page = load_places, .arg = &p, .n = job->source.n};
    oci_string_put_numbers(job, 1, numbers, oci_string_width_of(parts->size));
}
