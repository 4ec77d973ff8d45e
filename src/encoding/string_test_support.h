/* What the tests of string vectors share: lists of strings, columns of every layout made of them, and
 * checks that decode in every way. */
#ifndef OUTCORE_ENCODING_STRING_TEST_SUPPORT_H
#define OUTCORE_ENCODING_STRING_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "encoding/string_format.h"
#include "encoding/string_vector.h"

/* ---- strings and columns of them ------------------------------------------------------------- */

typedef struct text {
    const char *bytes; /* NULL = null */
    int64_t length;
} text;

typedef struct texts {
    text *items;
    int64_t n;
    int64_t room;
    char *made; /* bytes of the strings that add_made() made */
    int64_t made_at;
} texts;

enum { MADE_ROOM = 4 << 20 };

static inline void *must(void *pointer)
{
    assert_non_null(pointer);
    return pointer;
}

static inline void add_bytes(texts *list, const char *bytes, int64_t length)
{
    if (list->n == list->room) {
        list->room = list->room * 2 + 16;
        list->items = must(realloc(list->items, (size_t)list->room * sizeof *list->items));
    }
    list->items[list->n++] = (text){.bytes = bytes, .length = length};
}

static inline void add(texts *list, const char *string)
{
    add_bytes(list, string, string == NULL ? 0 : (int64_t)strlen(string));
}

static inline __attribute__((format(printf, 2, 3))) void add_made(texts *list, const char *format,
                                                                  ...)
{
    if (list->made == NULL) {
        list->made = must(malloc(MADE_ROOM));
    }
    va_list args;
    va_start(args, format);
    char *to = list->made + list->made_at;
    int length = vsnprintf(to, (size_t)(MADE_ROOM - list->made_at), format, args);
    va_end(args);
    assert_true(length >= 0 && list->made_at + length < MADE_ROOM);
    list->made_at += length;
    add_bytes(list, to, length);
}

static inline void free_texts(texts *list)
{
    free(list->items);
    free(list->made);
}

static inline int64_t sum_of(const texts *list)
{
    int64_t sum = 0;
    for (int64_t i = 0; i < list->n; i++) {
        sum += list->items[i].length;
    }
    return sum;
}

/* A column whose every buffer is an allocation of its own and as long as it has to be. */
typedef struct made_column {
    oci_field field;
    oci_column column;
    uint8_t *validity;
    uint8_t *values;
    uint8_t *bytes;
    uint8_t **buffers;
    int64_t *sizes;
} made_column;

enum { LEAD = 3 }; /* rows before the column's own */

static inline void free_column(made_column *made)
{
    for (int32_t i = 0; i < made->column.n_view_buffers; i++) {
        free(made->buffers[i]);
    }
    free(made->buffers);
    free(made->sizes);
    free(made->validity);
    free(made->values);
    free(made->bytes);
}

/* The slots of nulls hold 5 bytes. */
static inline int64_t slot_bytes(const text *item)
{
    return item->bytes == NULL ? 5 : item->length;
}

static inline void fill_offsets(made_column *made, const texts *list, int width)
{
    int64_t size = 2 * LEAD;
    for (int64_t i = 0; i < list->n; i++) {
        size += slot_bytes(&list->items[i]);
    }
    made->values = must(malloc((size_t)((LEAD + list->n + 1) * width)));
    made->bytes = must(malloc((size_t)size));
    memset(made->bytes, '?', (size_t)size);
    int64_t at = 0;
    for (int64_t i = 0; i <= LEAD + list->n; i++) {
        uint64_t offset = (uint64_t)at;
        memcpy(made->values + i * width, &offset, (size_t)width);
        if (i < LEAD) {
            at += 2;
        } else if (i < LEAD + list->n) {
            const text *item = &list->items[i - LEAD];
            if (item->bytes != NULL && item->length > 0) {
                memcpy(made->bytes + at, item->bytes, (size_t)item->length);
            }
            at += slot_bytes(item);
        }
    }
    made->column.bytes = made->bytes;
}

/* One buffer per long string that differs, by its address, from the one before. */
static inline void fill_views(made_column *made, const texts *list)
{
    made->values = must(malloc((size_t)((LEAD + list->n) * 16)));
    made->buffers = must(calloc((size_t)list->n + 1, sizeof *made->buffers));
    made->sizes = must(calloc((size_t)list->n + 1, sizeof *made->sizes));
    memset(made->values, 0xEE, LEAD * 16);
    const char *last = NULL;
    int32_t n_buffers = 0;
    for (int64_t i = 0; i < list->n; i++) {
        const text *item = &list->items[i];
        oci_view view = {.length = (int32_t)item->length};
        if (item->bytes == NULL) {
            memset(&view, 0xEE, sizeof view);
        } else if (item->length <= 12) {
            memcpy(view.inlined, item->bytes, (size_t)item->length);
        } else {
            if (item->bytes != last) {
                made->buffers[n_buffers] = must(malloc((size_t)item->length));
                made->sizes[n_buffers] = item->length;
                memcpy(made->buffers[n_buffers], item->bytes, (size_t)item->length);
                n_buffers++;
            }
            last = item->bytes;
            memcpy(view.ref.prefix, item->bytes, 4);
            view.ref.buffer = n_buffers - 1;
        }
        memcpy(made->values + (LEAD + i) * 16, &view, sizeof view);
    }
    made->column.view_buffers = (const uint8_t *const *)made->buffers;
    made->column.view_sizes = made->sizes;
    made->column.n_view_buffers = n_buffers;
}

static inline void fill_fixed(made_column *made, const texts *list, int32_t width)
{
    made->values = must(malloc((size_t)((LEAD + list->n) * width) + (width == 0)));
    memset(made->values, '?', (size_t)((LEAD + list->n) * width));
    for (int64_t i = 0; i < list->n; i++) {
        if (list->items[i].bytes != NULL && width > 0) {
            assert_int_equal(list->items[i].length, width);
            memcpy(made->values + (LEAD + i) * width, list->items[i].bytes, (size_t)width);
        }
    }
}

/* Slots of nulls hold something, and the column does not begin at its buffers. `width` for fixed
 * size alone. */
static inline void make_column(made_column *made, oci_type type, const texts *list, int32_t width)
{
    *made = (made_column){.field = {.type = type, .byte_width = width}};
    bool has_nulls = false;
    made->validity = must(calloc((size_t)(LEAD + list->n + 7) / 8, 1));
    for (int64_t i = 0; i < list->n; i++) {
        has_nulls |= list->items[i].bytes == NULL;
        oci_bit_put(made->validity, LEAD + i, list->items[i].bytes != NULL);
    }
    switch (oci_type_layout(type)) {
    case OCI_LAYOUT_OFFSETS32: fill_offsets(made, list, 4); break;
    case OCI_LAYOUT_OFFSETS64: fill_offsets(made, list, 8); break;
    case OCI_LAYOUT_VIEWS: fill_views(made, list); break;
    default: fill_fixed(made, list, width); break;
    }
    made->column.field = &made->field;
    made->column.length = list->n;
    made->column.offset = LEAD;
    made->column.null_count = -1;
    made->column.validity = has_nulls ? made->validity : NULL;
    made->column.values = made->values;
}

/* ---- encoding -------------------------------------------------------------------------------- */

/* Both streams, each an allocation that is just as long as what was written. */
typedef struct streams {
    uint8_t *packed;
    int64_t packed_size;
    uint8_t *bytes;
    int64_t bytes_size;
} streams;

static oci_budget *budget;
static oci_mem *mem;

static inline int set_up(void **unused)
{
    (void)unused;
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "string test", &mem, NULL), OC_OK);
    return 0;
}

static inline int tear_down(void **unused)
{
    (void)unused;
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}

static inline void *copy_of(const void *from, int64_t size)
{
    void *to = must(malloc((size_t)size + (size == 0)));
    memcpy(to, from, (size_t)size);
    return to;
}

/* With scratch for `rows` rows, and with other vectors before this one in both streams. */
static inline void encode_with(const oci_column *column, oci_string_plan *plan, int64_t rows,
                               streams *out)
{
    oci_reservation from = {.mem = mem};
    assert_int_equal(oci_mem_reserve(mem, &from, oci_string_scratch_bytes(rows), NULL), OC_OK);
    oci_string_scratch *scratch;
    assert_int_equal(oci_string_scratch_create(rows, &from, &scratch, NULL), OC_OK);
    int64_t packed, bytes;
    oci_strings_bound(column, &packed, &bytes);
    oci_pack_out to = {.packed = must(malloc((size_t)packed + 16)),
                       .packed_at = 16,
                       .bytes = must(malloc((size_t)bytes + 5)),
                       .bytes_at = 5};
    oci_strings_encode(column, plan, scratch, &to);
    assert_true(to.packed_at <= 16 + packed && to.packed_at % OCI_PACK_ALIGN == 0);
    assert_true(to.bytes_at <= 5 + bytes);
    out->packed_size = to.packed_at - 16;
    out->packed = copy_of(to.packed + 16, out->packed_size);
    out->bytes_size = to.bytes_at - 5;
    out->bytes = copy_of(to.bytes + 5, out->bytes_size);
    free(to.packed);
    free(to.bytes);
    oci_string_scratch_destroy(scratch, &from);
    assert_int_equal(from.bytes, oci_string_scratch_bytes(rows));
    oci_reservation_release(&from);
}

static inline void encode(const oci_column *column, streams *out)
{
    oci_string_plan plan = {0};
    encode_with(column, &plan, column->length, out);
}

static inline void free_streams(streams *s)
{
    free(s->packed);
    free(s->bytes);
}

static inline oci_string_kind kind_of(const streams *s)
{
    return (oci_string_kind)oci_load_le64(s->packed);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static inline oc_status open_streams(const streams *s, int64_t n, oci_strings_in *out)
{
    oc_error err;
    oci_pack_in in = {.packed = s->packed,
                      .packed_size = s->packed_size,
                      .bytes = s->bytes,
                      .bytes_size = s->bytes_size};
    oc_status status = oci_strings_open(&in, n, out, &err);
    assert_true(status == OC_OK || status == OC_EDATA);
    if (status == OC_OK) {
        assert_true(in.packed_at <= s->packed_size && in.bytes_at <= s->bytes_size);
    }
    return status;
}

static inline void check_text(const text *item, const uint8_t *bytes, int64_t length)
{
    assert_int_equal(length, item->length);
    if (length > 0) {
        assert_memory_equal(bytes, item->bytes, (size_t)length);
    }
}

static inline oc_status decode_offsets(const oci_strings_in *in, int width, const texts *expected)
{
    oc_error err;
    uint8_t *offsets = must(malloc((size_t)((in->n + 1) * width)));
    uint8_t *bytes = must(malloc((size_t)(in->value_bytes + OCI_STRING_SLACK)));
    oc_status status = oci_strings_decode(in, width, offsets, bytes, &err);
    assert_true(status == OC_OK || status == OC_EDATA);
    uint64_t start = 0;
    memcpy(&start, offsets, (size_t)width);
    for (int64_t i = 0; status == OC_OK && i < in->n; i++) {
        uint64_t end = 0;
        memcpy(&end, offsets + (i + 1) * width, (size_t)width);
        assert_true(start <= end && end <= (uint64_t)in->value_bytes);
        if (expected != NULL) {
            check_text(&expected->items[i], bytes + start, (int64_t)(end - start));
        }
        start = end;
    }
    if (status == OC_OK) {
        assert_int_equal(start, in->value_bytes);
    }
    free(offsets);
    free(bytes);
    return status;
}

static inline oc_status decode_views(const oci_strings_in *in, const texts *expected)
{
    static const uint8_t zeros[12];
    oc_error err;
    int64_t used = -1;
    uint8_t *views = must(malloc((size_t)(in->n * 16) + 1));
    uint8_t *bytes = must(malloc((size_t)(in->stored_bytes + OCI_STRING_SLACK)));
    oc_status status = oci_strings_decode_views(in, views, bytes, &used, &err);
    assert_true(status == OC_OK || status == OC_EDATA);
    if (status == OC_OK) {
        assert_true(used >= 0 && used <= in->stored_bytes);
    }
    for (int64_t i = 0; status == OC_OK && i < in->n; i++) {
        oci_view view;
        memcpy(&view, views + i * 16, sizeof view);
        const uint8_t *at = view.inlined;
        assert_true(view.length >= 0);
        if (view.length > 12) {
            assert_int_equal(view.ref.buffer, 0);
            assert_true(view.ref.offset >= 0 && view.ref.offset <= used - view.length);
            at = bytes + view.ref.offset;
            assert_memory_equal(view.ref.prefix, at, 4);
        } else {
            assert_memory_equal(view.inlined + view.length, zeros, (size_t)(12 - view.length));
        }
        if (expected != NULL) {
            check_text(&expected->items[i], at, view.length);
        }
    }
    free(views);
    free(bytes);
    return status;
}

static inline oc_status decode_fixed(const oci_strings_in *in, int32_t width,
                                     const uint8_t *validity, const texts *expected)
{
    oc_error err;
    uint8_t *values = must(malloc((size_t)(in->n * width) + 1));
    oc_status status = oci_strings_decode_fixed(in, width, validity, values, &err);
    assert_true(status == OC_OK || status == OC_EDATA);
    for (int64_t i = 0; status == OC_OK && expected != NULL && i < in->n; i++) {
        const text *item = &expected->items[i];
        for (int32_t k = 0; k < width; k++) {
            assert_int_equal(values[i * width + k],
                             item->bytes == NULL ? 0 : (uint8_t)item->bytes[k]);
        }
    }
    free(values);
    return status;
}

/* To every layout that holds strings of any length. */
static inline void check_streams(const streams *s, const texts *list)
{
    oci_strings_in in;
    assert_int_equal(open_streams(s, list->n, &in), OC_OK);
    assert_int_equal(in.n, list->n);
    assert_int_equal(in.value_bytes, sum_of(list));
    assert_int_equal(decode_offsets(&in, 4, list), OC_OK);
    assert_int_equal(decode_offsets(&in, 8, list), OC_OK);
    assert_int_equal(decode_views(&in, list), OC_OK);
}

/* ---- kinds of strings ------------------------------------------------------------------------- */

static inline void make_few_distinct(texts *list, int n, int distinct)
{
    for (int i = 0; i < n; i++) {
        add_made(list, "word %d.", (i * 7919 + i / 3) % distinct);
    }
}

static inline void make_numbered(texts *list, int n)
{
    for (int i = 0; i < n; i++) {
        add_made(list, "user-%d", i * 679 % 1000);
    }
}

static inline void make_sorted(texts *list, int n)
{
    for (int i = 0; i < n; i++) {
        add_made(list, "customer %06d ordered item %d", i * 3, i * 31 % 17);
    }
}

static inline void make_unlike(texts *list, int n)
{
    for (int i = 0; i < n; i++) {
        uint32_t x = (uint32_t)i * 2654435761u;
        add_made(list, "%x-%u", (unsigned)x, (unsigned)(x >> 7) * 13);
    }
}

/* ---- views ----------------------------------------------------------------------------------- */

/* n views of one buffer: view i shows length(i) bytes from start(i) on. */
typedef struct shown {
    oci_view *views;
    const uint8_t *buffer;
    int64_t size;
    oci_field field;
    oci_column column;
    texts list;
} shown;

static inline void show(shown *s, int64_t start, int64_t length)
{
    oci_view view = {.length = (int32_t)length};
    if (length <= 12) {
        memcpy(view.inlined, s->buffer + start, (size_t)length);
    } else {
        memcpy(view.ref.prefix, s->buffer + start, 4);
        view.ref.offset = (int32_t)start;
    }
    s->views[s->list.n] = view;
    add_bytes(&s->list, (const char *)s->buffer + start, length);
    s->column.length = s->list.n;
}

static inline void begin_shown(shown *s, const uint8_t *buffer, int64_t size, int64_t n_max)
{
    *s = (shown){.buffer = buffer, .size = size, .field = {.type = OCI_TYPE_UTF8_VIEW}};
    s->views = must(malloc((size_t)n_max * sizeof *s->views));
    s->column = (oci_column){.field = &s->field,
                             .values = (const uint8_t *)s->views,
                             .view_buffers = &s->buffer,
                             .view_sizes = &s->size,
                             .n_view_buffers = 1};
}

static inline void end_shown(shown *s)
{
    free(s->views);
    free_texts(&s->list);
}

static inline uint8_t *make_buffer(int64_t size)
{
    uint8_t *buffer = must(malloc((size_t)size));
    uint32_t x = 1;
    for (int64_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        buffer[i] = (uint8_t)(x >> 24);
    }
    return buffer;
}

#endif /* OUTCORE_ENCODING_STRING_TEST_SUPPORT_H */
