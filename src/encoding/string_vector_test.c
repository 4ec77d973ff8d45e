/* String vectors: what goes in comes back, from every layout to every layout; each kind is taken
 * where it pays; damage is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

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

static void *must(void *pointer)
{
    assert_non_null(pointer);
    return pointer;
}

static void add_bytes(texts *list, const char *bytes, int64_t length)
{
    if (list->n == list->room) {
        list->room = list->room * 2 + 16;
        list->items = must(realloc(list->items, (size_t)list->room * sizeof *list->items));
    }
    list->items[list->n++] = (text){.bytes = bytes, .length = length};
}

static void add(texts *list, const char *string)
{
    add_bytes(list, string, string == NULL ? 0 : (int64_t)strlen(string));
}

static void __attribute__((format(printf, 2, 3))) add_made(texts *list, const char *format, ...)
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

static void free_texts(texts *list)
{
    free(list->items);
    free(list->made);
}

static int64_t sum_of(const texts *list)
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

static void free_column(made_column *made)
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
static int64_t slot_bytes(const text *item)
{
    return item->bytes == NULL ? 5 : item->length;
}

static void fill_offsets(made_column *made, const texts *list, int width)
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
            if (item->length > 0) {
                memcpy(made->bytes + at, item->bytes, (size_t)item->length);
            }
            at += slot_bytes(item);
        }
    }
    made->column.bytes = made->bytes;
}

/* One buffer per long string that differs, by its address, from the one before. */
static void fill_views(made_column *made, const texts *list)
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

static void fill_fixed(made_column *made, const texts *list, int32_t width)
{
    made->values = must(malloc((size_t)((LEAD + list->n) * width)));
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
static void make_column(made_column *made, oci_type type, const texts *list, int32_t width)
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

static int set_up(void **unused)
{
    (void)unused;
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "string test", &mem, NULL), OC_OK);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}

static void *copy_of(const void *from, int64_t size)
{
    void *to = must(malloc((size_t)size + (size == 0)));
    memcpy(to, from, (size_t)size);
    return to;
}

/* With scratch for `rows` rows, and with other vectors before this one in both streams. */
static void encode_with(const oci_column *column, oci_string_plan *plan, int64_t rows, streams *out)
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

static void encode(const oci_column *column, streams *out)
{
    oci_string_plan plan = {0};
    encode_with(column, &plan, column->length, out);
}

static void free_streams(streams *s)
{
    free(s->packed);
    free(s->bytes);
}

static oci_string_kind kind_of(const streams *s)
{
    return (oci_string_kind)oci_load_le64(s->packed);
}

/* ---- decoding -------------------------------------------------------------------------------- */

static oc_status open_streams(const streams *s, int64_t n, oci_strings_in *out)
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

static void check_text(const text *item, const uint8_t *bytes, int64_t length)
{
    assert_int_equal(length, item->length);
    if (length > 0) {
        assert_memory_equal(bytes, item->bytes, (size_t)length);
    }
}

static oc_status decode_offsets(const oci_strings_in *in, int width, const texts *expected)
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

static oc_status decode_views(const oci_strings_in *in, const texts *expected)
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

static oc_status decode_fixed(const oci_strings_in *in, int32_t width, const uint8_t *validity,
                              const texts *expected)
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
static void check_streams(const streams *s, const texts *list)
{
    oci_strings_in in;
    assert_int_equal(open_streams(s, list->n, &in), OC_OK);
    assert_int_equal(in.n, list->n);
    assert_int_equal(in.value_bytes, sum_of(list));
    assert_int_equal(decode_offsets(&in, 4, list), OC_OK);
    assert_int_equal(decode_offsets(&in, 8, list), OC_OK);
    assert_int_equal(decode_views(&in, list), OC_OK);
}

static const oci_type var_types[] = {OCI_TYPE_UTF8, OCI_TYPE_LARGE_BINARY, OCI_TYPE_BINARY_VIEW};

/* From every layout; `kind` is what must have been chosen for offsets, or -1. */
static void check_round_trips(const texts *list, int kind)
{
    for (size_t t = 0; t < 3; t++) {
        made_column made;
        streams s;
        make_column(&made, var_types[t], list, 0);
        encode(&made.column, &s);
        if (kind >= 0 && t < 2) {
            assert_int_equal(kind_of(&s), kind);
        }
        check_streams(&s, list);
        free_streams(&s);
        free_column(&made);
    }
}

/* ---- tests: round trips ---------------------------------------------------------------------- */

static void no_strings_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    check_round_trips(&list, -1);
}

static void strings_of_all_lengths_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 300; i++) {
        add_made(&list, "%0*d", i % 150, i * 7919);
        add(&list, i % 7 == 0 ? NULL : "");
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void nulls_alone_round_trip(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add(&list, NULL);
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void bytes_that_are_no_text_round_trip(void **unused)
{
    (void)unused;
    static const char bytes[] = "\0\xff\xfe\0\x80 a\0\0\xc3";
    texts list = {0};
    for (int64_t i = 0; i < 4000; i++) {
        int64_t start = i % 5;
        add_bytes(&list, bytes + start, i * 31 % ((int64_t)sizeof bytes - start));
    }
    check_round_trips(&list, -1);
    free_texts(&list);
}

static void what_nulls_hold_is_not_stored(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 2000; i++) {
        add(&list, NULL);
        add_made(&list, "%d", i);
    }
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, sum_of(&list));
    check_streams(&s, &list);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void fixed_size_binary_round_trips(void **unused)
{
    (void)unused;
    static const int32_t widths[] = {0, 1, 3, 16, 20, 70};
    for (size_t w = 0; w < 6; w++) {
        for (int nulls = 0; nulls < 3; nulls++) {
            texts list = {0};
            for (int i = 0; i < 1500; i++) {
                if (nulls == 2 || (nulls == 1 && i % 3 == 0)) {
                    add(&list, NULL);
                } else {
                    add_made(&list, "%0*d", (int)widths[w], i % 10);
                    list.items[list.n - 1].length = widths[w];
                }
            }
            made_column made;
            streams s;
            make_column(&made, OCI_TYPE_FIXED_BINARY, &list, widths[w]);
            encode(&made.column, &s);
            check_streams(&s, &list);
            uint8_t validity[1500 / 8 + 1] = {0};
            oci_bits_copy(validity, 0, made.validity, LEAD, list.n);
            oci_strings_in in;
            assert_int_equal(open_streams(&s, list.n, &in), OC_OK);
            assert_int_equal(decode_fixed(&in, widths[w], nulls > 0 ? validity : NULL, &list),
                             OC_OK);
            assert_int_equal(decode_fixed(&in, widths[w] + 1, validity, NULL),
                             nulls == 2 ? OC_OK : OC_EDATA);
            free_streams(&s);
            free_column(&made);
            free_texts(&list);
        }
    }
}

static void offsets_beyond_31_bits_round_trip(void **unused)
{
    (void)unused;
    int64_t base = (INT64_C(1) << 31) - 100;
    size_t size = (size_t)base + 1000;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(bytes != MAP_FAILED);
    int64_t offsets[51];
    texts list = {0};
    for (int i = 0; i <= 50; i++) {
        offsets[i] = base + i * 20;
    }
    for (int i = 0; i < 50; i++) {
        snprintf((char *)bytes + offsets[i], 20, "%019d", i * i);
        add_bytes(&list, (char *)bytes + offsets[i], 20);
    }
    oci_field field = {.type = OCI_TYPE_LARGE_UTF8};
    oci_column column = {
        .field = &field, .length = 50, .values = (const uint8_t *)offsets, .bytes = bytes};
    streams s;
    encode(&column, &s);
    check_streams(&s, &list);
    free_streams(&s);
    free_texts(&list);
    munmap(bytes, size);
}

/* ---- tests: kinds ---------------------------------------------------------------------------- */

static void make_few_distinct(texts *list, int n, int distinct)
{
    for (int i = 0; i < n; i++) {
        add_made(list, "word-%d", (i * 7919 + i / 3) % distinct);
    }
}

static void make_sorted(texts *list, int n)
{
    for (int i = 0; i < n; i++) {
        add_made(list, "customer %06d ordered item %d", i * 3, i * 31 % 17);
    }
}

static void make_unlike(texts *list, int n)
{
    for (int i = 0; i < n; i++) {
        uint32_t x = (uint32_t)i * 2654435761u;
        add_made(list, "%x-%u", (unsigned)x, (unsigned)(x >> 7) * 13);
    }
}

static void few_distinct_strings_become_a_dictionary(void **unused)
{
    (void)unused;
    texts list = {0};
    make_few_distinct(&list, 5000, 100);
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, 10 * 6 + 90 * 7);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void long_strings_that_repeat_become_a_dictionary(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add_made(&list, "%s%0*d", i % 50 == 7 ? "" : "http://", 20 + i % 5 * 100, i * 7919 % 20);
        if (i % 11 == 0) {
            add(&list, NULL);
        }
    }
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    free_texts(&list);
}

static void one_string_again_and_again_takes_no_room(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 10000; i++) {
        add(&list, "the same");
    }
    check_round_trips(&list, OCI_STRINGS_DICTIONARY);
    made_column made;
    streams s;
    make_column(&made, OCI_TYPE_UTF8, &list, 0);
    encode(&made.column, &s);
    assert_int_equal(s.bytes_size, 8);
    assert_true(s.packed_size < 100);
    free_streams(&s);
    free_column(&made);
    free_texts(&list);
}

static void sorted_strings_are_front_coded(void **unused)
{
    (void)unused;
    texts list = {0};
    make_sorted(&list, 5000);
    check_round_trips(&list, OCI_STRINGS_FRONT);
    add(&list, NULL);
    add(&list, NULL);
    make_sorted(&list, 1000);
    check_round_trips(&list, OCI_STRINGS_FRONT);
    free_texts(&list);
}

static void strings_that_have_nothing_in_common_stay_plain(void **unused)
{
    (void)unused;
    texts list = {0};
    make_unlike(&list, 5000);
    check_round_trips(&list, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

/* Encodes with a plan that wants `kind`. */
static void check_plan(const texts *list, oci_string_kind wanted, int64_t rows,
                       oci_string_kind expected)
{
    made_column made;
    streams s;
    oci_string_plan plan = {.kind = (uint8_t)wanted, .blocks_left = 5};
    make_column(&made, OCI_TYPE_UTF8, list, 0);
    encode_with(&made.column, &plan, rows, &s);
    assert_int_equal(kind_of(&s), expected);
    check_streams(&s, list);
    free_streams(&s);
    free_column(&made);
}

static void dictionaries_of_any_size_round_trip(void **unused)
{
    (void)unused;
    static const int distinct[] = {1, 2, 127, 128, 129, 1023, 1025, 4096, 16383, 16384};
    for (size_t i = 0; i < sizeof distinct / sizeof distinct[0]; i++) {
        texts list = {0};
        make_few_distinct(&list, 3 * distinct[i] + 600, distinct[i]);
        check_plan(&list, OCI_STRINGS_DICTIONARY, list.n, OCI_STRINGS_DICTIONARY);
        free_texts(&list);
    }
}

static void a_dictionary_that_outgrows_its_table_is_given_up(void **unused)
{
    (void)unused;
    texts list = {0};
    make_unlike(&list, 40000);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 40000, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void a_dictionary_that_has_not_paid_is_given_up(void **unused)
{
    (void)unused;
    texts list = {0};
    for (int i = 0; i < 3000; i++) {
        add_made(&list, "%c", 'a' + i % 26);
    }
    check_plan(&list, OCI_STRINGS_DICTIONARY, 3000, OCI_STRINGS_DICTIONARY);
    make_unlike(&list, 2900);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 5900, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void front_coding_is_given_up_for_very_long_strings(void **unused)
{
    (void)unused;
    texts list = {0};
    make_sorted(&list, 1000);
    add_made(&list, "%040000d", 0);
    add_made(&list, "%080000d", 0);
    check_plan(&list, OCI_STRINGS_FRONT, list.n, OCI_STRINGS_FRONT);
    add_made(&list, "x%070000d", 0);
    check_plan(&list, OCI_STRINGS_FRONT, list.n, OCI_STRINGS_PLAIN);
    free_texts(&list);
}

static void more_rows_than_scratch_stay_plain(void **unused)
{
    (void)unused;
    texts list = {0};
    make_few_distinct(&list, 1000, 3);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 999, OCI_STRINGS_PLAIN);
    check_plan(&list, OCI_STRINGS_DICTIONARY, 1001, OCI_STRINGS_DICTIONARY);
    free_texts(&list);
}

static void a_plan_is_kept_for_some_blocks_and_then_looked_at_again(void **unused)
{
    (void)unused;
    texts unlike = {0};
    texts few = {0};
    make_unlike(&unlike, 1000);
    make_few_distinct(&few, 1000, 10);
    made_column made[2];
    make_column(&made[0], OCI_TYPE_UTF8, &unlike, 0);
    make_column(&made[1], OCI_TYPE_UTF8, &few, 0);
    oci_string_plan plan = {0};
    for (int i = 0; i < 20; i++) {
        streams s;
        encode_with(&made[i > 0].column, &plan, 1000, &s);
        assert_int_equal(kind_of(&s), i < 16 ? OCI_STRINGS_PLAIN : OCI_STRINGS_DICTIONARY);
        check_streams(&s, i > 0 ? &few : &unlike);
        free_streams(&s);
    }
    free_column(&made[0]);
    free_column(&made[1]);
    free_texts(&unlike);
    free_texts(&few);
}

/* ---- tests: views ---------------------------------------------------------------------------- */

/* n views of one buffer: view i shows length(i) bytes from start(i) on. */
typedef struct shown {
    oci_view *views;
    const uint8_t *buffer;
    int64_t size;
    oci_field field;
    oci_column column;
    texts list;
} shown;

static void show(shown *s, int64_t start, int64_t length)
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

static void begin_shown(shown *s, const uint8_t *buffer, int64_t size, int64_t n_max)
{
    *s = (shown){.buffer = buffer, .size = size, .field = {.type = OCI_TYPE_UTF8_VIEW}};
    s->views = must(malloc((size_t)n_max * sizeof *s->views));
    s->column = (oci_column){.field = &s->field,
                             .values = (const uint8_t *)s->views,
                             .view_buffers = &s->buffer,
                             .view_sizes = &s->size,
                             .n_view_buffers = 1};
}

static void end_shown(shown *s)
{
    free(s->views);
    free_texts(&s->list);
}

static uint8_t *make_buffer(int64_t size)
{
    uint8_t *buffer = must(malloc((size_t)size));
    uint32_t x = 1;
    for (int64_t i = 0; i < size; i++) {
        x = x * 1664525 + 1013904223;
        buffer[i] = (uint8_t)(x >> 24);
    }
    return buffer;
}

static void views_of_one_long_string_store_it_once(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 100000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, 0, SIZE);
    }
    int64_t packed, bytes;
    oci_strings_bound(&s.column, &packed, &bytes);
    assert_true(bytes < SIZE + 100);
    encode(&s.column, &out);
    assert_int_equal(out.bytes_size, SIZE);
    assert_true(out.packed_size < 1000);
    oci_strings_in in;
    assert_int_equal(open_streams(&out, N, &in), OC_OK);
    assert_int_equal(in.value_bytes, (int64_t)SIZE * N);
    assert_int_equal(in.stored_bytes, SIZE);
    uint8_t *views = must(malloc(N * 16));
    uint8_t *stored = must(malloc(SIZE + OCI_STRING_SLACK));
    int64_t used;
    assert_int_equal(oci_strings_decode_views(&in, views, stored, &used, NULL), OC_OK);
    assert_int_equal(used, SIZE);
    assert_memory_equal(stored, buffer, SIZE);
    assert_memory_equal(views, s.views, N * 16);
    uint8_t offsets[4];
    assert_int_equal(oci_strings_decode(&in, 4, offsets, stored, NULL), OC_EDATA);
    free(views);
    free(stored);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void views_that_overlap_store_what_they_show_once(void **unused)
{
    (void)unused;
    enum { SIZE = 50000, N = 9000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, 1000 + i % 13, i % 5 == 0 ? i % 13 : 20 + i);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    assert_true(out.bytes_size < 9000 + 40 + 9000 / 5 * 13);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void slices_of_views_store_what_they_show(void **unused)
{
    (void)unused;
    enum { SIZE = 100000, N = 5000, SLICE = 50 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i * 7919 % (SIZE - 20), 20);
    }
    for (int64_t i = 0; i < N; i += SLICE) {
        streams out;
        oci_column slice = s.column;
        slice.offset = i;
        slice.length = SLICE;
        encode(&slice, &out);
        assert_int_equal(out.bytes_size, SLICE * 20);
        check_streams(&out, &(texts){.items = s.list.items + i, .n = SLICE});
        free_streams(&out);
    }
    end_shown(&s);
    free(buffer);
}

static void views_that_repeat_between_much_else_become_a_dictionary(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 5000 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i % 10 * 100000, 1000);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_DICTIONARY);
    assert_int_equal(out.bytes_size, 10 * 1000);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

static void views_that_hardly_repeat_stay_plain(void **unused)
{
    (void)unused;
    enum { SIZE = 40000, N = 2001 };
    uint8_t *buffer = make_buffer(SIZE);
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i * 7919 % 2000 * 20, 20);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_PLAIN);
    check_streams(&out, &s.list);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

/* All alike, so that comparing their bytes would never end. */
static void long_views_that_are_equal_do_not_take_forever(void **unused)
{
    (void)unused;
    enum { SIZE = 1 << 20, N = 100000 };
    uint8_t *buffer = must(calloc(SIZE + N, 1));
    shown s;
    streams out;
    begin_shown(&s, buffer, SIZE + N, N);
    for (int64_t i = 0; i < N; i++) {
        show(&s, i, SIZE);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

/* ---- tests: damage --------------------------------------------------------------------------- */

/* Whatever becomes of it, nothing beside the buffers is touched. */
static void decode_damaged(const streams *s, int64_t n)
{
    enum { MEMORY_MAX = 1 << 20 };
    static const uint8_t validity[64];
    oci_strings_in in;
    if (open_streams(s, n, &in) == OC_OK && in.value_bytes <= MEMORY_MAX &&
        in.stored_bytes <= MEMORY_MAX) {
        (void)decode_offsets(&in, 4, NULL);
        (void)decode_offsets(&in, 8, NULL);
        (void)decode_views(&in, NULL);
        (void)decode_fixed(&in, 4, NULL, NULL);
        (void)decode_fixed(&in, 4, validity, NULL);
    }
}

static void damage(const streams *s, int64_t n)
{
    streams damaged = *s;
    for (int64_t bit = 0; bit < s->packed_size * 8; bit++) {
        s->packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
        decode_damaged(s, n);
        s->packed[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (int64_t size = 0; size < s->packed_size; size++) {
        damaged.packed_size = size;
        damaged.packed = copy_of(s->packed, size);
        decode_damaged(&damaged, n);
        free(damaged.packed);
    }
    damaged = *s;
    for (int64_t size = 0; size < s->bytes_size; size++) {
        damaged.bytes_size = size;
        damaged.bytes = copy_of(s->bytes, size);
        oci_strings_in in;
        assert_int_equal(open_streams(&damaged, n, &in), OC_EDATA);
        free(damaged.bytes);
    }
    decode_damaged(s, n - 1);
    decode_damaged(s, n + 1);
}

static void damaged_vectors_are_refused_or_read_safely(void **unused)
{
    (void)unused;
    texts lists[4] = {0};
    make_unlike(&lists[0], 70);
    make_few_distinct(&lists[1], 200, 9);
    make_sorted(&lists[2], 80);
    for (int i = 0; i < 100; i++) {
        add_made(&lists[3], "%03d", i % 3 + 1);
        lists[3].items[i].length = i % 4 == 0 ? 0 : 4;
    }
    static const oci_string_kind kinds[] = {OCI_STRINGS_PLAIN, OCI_STRINGS_DICTIONARY,
                                            OCI_STRINGS_FRONT, OCI_STRINGS_DICTIONARY};
    for (int i = 0; i < 4; i++) {
        made_column made;
        streams s;
        make_column(&made, OCI_TYPE_UTF8, &lists[i], 0);
        encode(&made.column, &s);
        assert_int_equal(kind_of(&s), kinds[i]);
        damage(&s, lists[i].n);
        free_streams(&s);
        free_column(&made);
        free_texts(&lists[i]);
    }
}

static void damaged_shared_bytes_are_refused_or_read_safely(void **unused)
{
    (void)unused;
    uint8_t *buffer = make_buffer(90);
    shown s;
    streams out;
    begin_shown(&s, buffer, 90, 60);
    for (int64_t i = 0; i < 60; i++) {
        show(&s, i % 31, i % 59);
    }
    encode(&s.column, &out);
    assert_int_equal(kind_of(&out), OCI_STRINGS_SHARED);
    damage(&out, 60);
    free_streams(&out);
    end_shown(&s);
    free(buffer);
}

/* ---- tests: anything ------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525 + 1013904223;
    return *state >> 8;
}

static void make_random(texts *list, uint32_t *state)
{
    int n = (int)(next_random(state) % 3000);
    int distinct = 1 << next_random(state) % 14;
    int length = 1 << next_random(state) % 8;
    int nulls = (int)(next_random(state) % 3) * 40;
    bool sorted = next_random(state) % 2;
    for (int i = 0; i < n; i++) {
        int value = sorted ? i / (1 + n / distinct) : (int)next_random(state) % distinct;
        if ((int)next_random(state) % 100 < nulls) {
            add(list, NULL);
        } else {
            add_made(list, "%0*d", (int)next_random(state) % length, value);
            list->items[list->n - 1].length -= next_random(state) % 2;
        }
    }
}

static void random_strings_round_trip(void **unused)
{
    (void)unused;
    uint32_t state = 42;
    int seen[OCI_STRINGS_KINDS] = {0};
    for (int round = 0; round < 150; round++) {
        texts list = {0};
        make_random(&list, &state);
        for (size_t t = 0; t < 3; t++) {
            oci_string_plan plan = {.kind = (uint8_t)(next_random(&state) % OCI_STRINGS_KINDS),
                                    .blocks_left = (uint8_t)(next_random(&state) % 2)};
            made_column made;
            streams s;
            make_column(&made, var_types[t], &list, 0);
            encode_with(&made.column, &plan, list.n, &s);
            seen[kind_of(&s)]++;
            check_streams(&s, &list);
            free_streams(&s);
            free_column(&made);
        }
        free_texts(&list);
    }
    assert_true(seen[OCI_STRINGS_PLAIN] > 20 && seen[OCI_STRINGS_DICTIONARY] > 20 &&
                seen[OCI_STRINGS_FRONT] > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_strings_round_trip),
        cmocka_unit_test(strings_of_all_lengths_round_trip),
        cmocka_unit_test(nulls_alone_round_trip),
        cmocka_unit_test(bytes_that_are_no_text_round_trip),
        cmocka_unit_test(what_nulls_hold_is_not_stored),
        cmocka_unit_test(fixed_size_binary_round_trips),
        cmocka_unit_test(offsets_beyond_31_bits_round_trip),
        cmocka_unit_test(few_distinct_strings_become_a_dictionary),
        cmocka_unit_test(long_strings_that_repeat_become_a_dictionary),
        cmocka_unit_test(one_string_again_and_again_takes_no_room),
        cmocka_unit_test(sorted_strings_are_front_coded),
        cmocka_unit_test(strings_that_have_nothing_in_common_stay_plain),
        cmocka_unit_test(dictionaries_of_any_size_round_trip),
        cmocka_unit_test(a_dictionary_that_outgrows_its_table_is_given_up),
        cmocka_unit_test(a_dictionary_that_has_not_paid_is_given_up),
        cmocka_unit_test(front_coding_is_given_up_for_very_long_strings),
        cmocka_unit_test(more_rows_than_scratch_stay_plain),
        cmocka_unit_test(a_plan_is_kept_for_some_blocks_and_then_looked_at_again),
        cmocka_unit_test(views_of_one_long_string_store_it_once),
        cmocka_unit_test(views_that_overlap_store_what_they_show_once),
        cmocka_unit_test(slices_of_views_store_what_they_show),
        cmocka_unit_test(views_that_repeat_between_much_else_become_a_dictionary),
        cmocka_unit_test(views_that_hardly_repeat_stay_plain),
        cmocka_unit_test(long_views_that_are_equal_do_not_take_forever),
        cmocka_unit_test(damaged_vectors_are_refused_or_read_safely),
        cmocka_unit_test(damaged_shared_bytes_are_refused_or_read_safely),
        cmocka_unit_test(random_strings_round_trip),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
