/* Arrays with children. A parent decides which rows a child has and in which order, and writes
 * its own buffers to fit; the child knows nothing of it. An element's row comes from the value of
 * its parent (its id), never from where it lies:
 *
 *     list          rows h, h + 1, h + 2, ... for a list of hash h: neighbours in a list are
 *                   neighbours in the imaginary table, so that runs exist in lists as well
 *     struct, union the id of the parent itself
 *     runs          the id of the run
 *
 * With maker->garbage there is more in the children than anybody refers to: in front, behind, and
 * where lists may lie in any order also in between. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arrow_maker_internal.h"

/* Rows that nothing refers to. */
static void push_garbage(const column_work *w, row_list *list, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        maker_push_row(list, maker_mix(w->seed, 25, (uint64_t)list->n));
    }
}

static int64_t garbage_rows(const column_work *w, int64_t n)
{
    return w->maker->garbage ? n : 0;
}

/* ---- lists ----------------------------------------------------------------------------------- */

/* Mostly short, often empty, seldom long. What lies under a null is a length, too. */
static int64_t list_length(const column_work *w, int64_t slot)
{
    if (maker_slot_is_null(w, slot, false)) {
        return garbage_rows(w, (int64_t)(maker_garbage_at(w, slot) % 4));
    }
    uint64_t h = maker_mix(maker_hash_at(w, slot), 21, 0);
    return (int64_t)(h % 16 == 0 ? 4 + h / 16 % 12 : h / 16 % 4);
}

static void push_list(const column_work *w, int64_t slot, row_list *list)
{
    bool null = maker_slot_is_null(w, slot, false);
    uint64_t h = null ? maker_garbage_at(w, slot) : maker_hash_at(w, slot);
    int64_t length = list_length(w, slot);
    for (int64_t i = 0; i < length; i++) {
        maker_push_row(list, maker_mix(h, 22, 0) + (uint64_t)i);
    }
}

static void fill_list(const column_work *w, int32_t width)
{
    row_list list = {0};
    uint8_t *offsets = maker_add_buffer(w, 1, (w->slots + 1) * width);
    push_garbage(w, &list, garbage_rows(w, 2));
    maker_put_int(offsets, list.n, width);
    for (int64_t slot = 0; slot < w->slots; slot++) {
        push_list(w, slot, &list);
        maker_put_int(offsets + (slot + 1) * width, list.n, width);
    }
    push_garbage(w, &list, garbage_rows(w, 3));
    maker_make_child(w, 0, &list, &w->made->children[0]);
}

/* Equal lists next to each other share their rows. */
static bool shares_rows(const column_work *w, int64_t slot, int64_t other)
{
    return w->maker->garbage && other < w->slots && !maker_slot_is_null(w, slot, false) &&
           !maker_slot_is_null(w, other, false) && maker_id_at(w, slot) == maker_id_at(w, other);
}

/* With garbage from the last slot to the first, with gaps, and what is empty or null points
 * somewhere. */
static void fill_list_view(const column_work *w, int32_t width)
{
    row_list list = {0};
    uint8_t *offsets = maker_add_buffer(w, 1, w->slots * width);
    uint8_t *sizes = maker_add_buffer(w, 2, w->slots * width);
    push_garbage(w, &list, garbage_rows(w, 1));
    for (int64_t i = 0; i < w->slots; i++) {
        int64_t slot = w->maker->garbage ? w->slots - 1 - i : i;
        int64_t length = list_length(w, slot);
        maker_put_int(sizes + slot * width, length, width);
        if (shares_rows(w, slot, slot + 1)) {
            memcpy(offsets + slot * width, offsets + (slot + 1) * width, (size_t)width);
            continue;
        }
        maker_put_int(offsets + slot * width, list.n, width);
        push_list(w, slot, &list);
        push_garbage(w, &list, garbage_rows(w, (int64_t)(maker_garbage_at(w, slot) % 2)));
    }
    push_garbage(w, &list, garbage_rows(w, 4));
    for (int64_t slot = 0; slot < w->slots && w->maker->garbage; slot++) {
        int64_t length = list_length(w, slot);
        if (length == 0 || maker_slot_is_null(w, slot, false)) {
            uint64_t places = (uint64_t)(list.n - length + 1);
            maker_put_int(offsets + slot * width, (int64_t)(maker_garbage_at(w, slot) % places),
                          width);
        }
    }
    maker_make_child(w, 0, &list, &w->made->children[0]);
}

static void fill_fixed_list(const column_work *w, int64_t size)
{
    row_list list = {0};
    for (int64_t slot = 0; slot < w->slots; slot++) {
        bool null = maker_slot_is_null(w, slot, false);
        uint64_t h = null ? maker_garbage_at(w, slot) : maker_hash_at(w, slot);
        for (int64_t i = 0; i < size; i++) {
            maker_push_row(&list, maker_mix(h, 22, 0) + (uint64_t)i);
        }
    }
    push_garbage(w, &list, garbage_rows(w, 3));
    maker_make_child(w, 0, &list, &w->made->children[0]);
}

/* ---- structs and unions ---------------------------------------------------------------------- */

/* Child of a union that a slot refers to; every child for a struct. */
static bool refers_to(const column_work *w, int64_t slot, int32_t child)
{
    if (w->format[1] == 's') {
        return !maker_slot_is_null(w, slot, false);
    }
    return (uint64_t)child ==
           maker_mix(maker_hash_at(w, slot), 23, 0) % (uint64_t)w->node->n_children;
}

/* Children of structs and sparse unions have one row for each slot. */
static void fill_rows_alike(const column_work *w)
{
    for (int32_t child = 0; child < w->node->n_children; child++) {
        row_list list = {0};
        for (int64_t slot = 0; slot < w->slots; slot++) {
            bool garbage = w->maker->garbage && !refers_to(w, slot, child);
            maker_push_row(&list, garbage ? maker_garbage_at(w, slot) : maker_id_at(w, slot));
        }
        push_garbage(w, &list, garbage_rows(w, 2));
        maker_make_child(w, child, &list, &w->made->children[child]);
    }
}

static void fill_dense_children(const column_work *w)
{
    uint8_t *child_offsets = maker_add_buffer(w, 1, w->slots * 4);
    for (int32_t child = 0; child < w->node->n_children; child++) {
        row_list list = {0};
        push_garbage(w, &list, garbage_rows(w, 2));
        for (int64_t slot = 0; slot < w->slots; slot++) {
            if (refers_to(w, slot, child)) {
                push_garbage(w, &list, garbage_rows(w, (int64_t)(maker_garbage_at(w, slot) % 2)));
                maker_put_int(child_offsets + slot * 4, list.n, 4);
                maker_push_row(&list, maker_id_at(w, slot));
            }
        }
        push_garbage(w, &list, garbage_rows(w, 2));
        maker_make_child(w, child, &list, &w->made->children[child]);
    }
}

/* The ids stand behind the colon of the format, one for each child. */
static void fill_type_ids(const column_work *w)
{
    uint8_t *ids = maker_add_buffer(w, 0, w->slots);
    const char *text = strchr(w->format, ':') + 1;
    for (int32_t child = 0; child < w->node->n_children; child++) {
        char *end;
        uint8_t id = (uint8_t)strtol(text, &end, 10);
        text = *end == ',' ? end + 1 : end;
        for (int64_t slot = 0; slot < w->slots; slot++) {
            ids[slot] = refers_to(w, slot, child) ? id : ids[slot];
        }
    }
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* A run ends where the value changes; with garbage now and then before that, too. */
static bool run_ends_behind(const column_work *w, int64_t slot)
{
    return slot + 1 == w->slots || maker_id_at(w, slot) != maker_id_at(w, slot + 1) ||
           (w->maker->garbage && maker_garbage_at(w, slot) % 4 == 0);
}

static int64_t count_runs(const column_work *w)
{
    int64_t n = 0;
    for (int64_t slot = 0; slot < w->slots; slot++) {
        n += run_ends_behind(w, slot);
    }
    return n;
}

/* With garbage one more run than needed; without, the last run goes on behind the end. */
static void fill_runs(const column_work *w)
{
    const char *format = w->node->children[0].format;
    int32_t width = format[0] == 's' ? 2 : format[0] == 'i' ? 4 : 8;
    struct ArrowArray *ends = &w->made->children[0];
    column_work e = {.maker = w->maker, .made = maker_start_array(ends)};
    row_list list = {0};
    int64_t lead = maker_lead(w->maker, w->depth + 1), spare = garbage_rows(w, 1);
    if (width == 2 && w->slots > INT16_MAX - 5) {
        fputs("arrow_maker: too many rows for 16-bit run ends\n", stderr);
        abort();
    }
    ends->n_buffers = 2;
    ends->offset = lead;
    ends->length = count_runs(w) + spare;
    uint8_t *out = maker_add_buffer(&e, 1, (lead + ends->length) * width) + lead * width;
    for (int64_t slot = 0; slot < w->slots; slot++) {
        if (run_ends_behind(w, slot)) {
            bool beyond = slot + 1 == w->slots && !w->maker->garbage;
            maker_put_int(out + list.n * width, slot + 1 + beyond, width);
            maker_push_row(&list, maker_id_at(w, slot));
        }
    }
    if (spare > 0) {
        maker_put_int(out + list.n * width, w->slots + 5, width);
        push_garbage(w, &list, spare);
    }
    maker_make_child(w, 1, &list, &w->made->children[1]);
}

/* ---- all ------------------------------------------------------------------------------------- */

void maker_fill_nested(const column_work *w, struct ArrowArray *out)
{
    maker_add_children(w->made, w->node->n_children, out);
    switch (w->format[1]) {
    case 'l':
    case 'm': fill_list(w, 4); break;
    case 'L': fill_list(w, 8); break;
    case 'v':
        out->n_buffers = 3;
        fill_list_view(w, w->format[2] == 'L' ? 8 : 4);
        break;
    case 'w':
        out->n_buffers = 1;
        fill_fixed_list(w, strtol(w->format + 3, NULL, 10));
        break;
    case 's':
        out->n_buffers = 1;
        fill_rows_alike(w);
        break;
    case 'r':
        out->n_buffers = 0;
        fill_runs(w);
        break;
    default: /* unions */
        fill_type_ids(w);
        if (w->format[2] == 'd') {
            fill_dense_children(w);
        } else {
            out->n_buffers = 1;
            fill_rows_alike(w);
        }
        break;
    }
}
