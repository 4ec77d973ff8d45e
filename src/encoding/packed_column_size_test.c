/* Packed columns: what comes out small, and what is left out. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/hash.h"
#include "encoding/packed_column_test_support.h"
#include "support/batch_maker.h"
#include "support/gather_check.h"

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
} fixture;

static fixture open_fixture(void)
{
    fixture f = {0};
    assert_int_equal(oci_budget_create(INT64_C(1) << 30, NULL, &f.budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f.budget, "packing test", &f.mem, NULL), OC_OK);
    return f;
}

static void close_fixture(fixture *f)
{
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
    assert_int_equal(arrow_maker_live(), 0);
}

static uint64_t random_at(int64_t i)
{
    return oci_hash64(&i, sizeof i, 7);
}

/* Packs one column by a packer of its own, checks that it comes back, returns the unpacked column.
 * *size gets the bytes of both streams. */
static unpacked pack_and_back(oci_mem *mem, oci_schema *schema, const oci_column *column,
                              int64_t *size)
{
    oci_packer *packer = NULL;
    unpacked back;
    assert_int_equal(oci_packer_create(schema, &packer, NULL), OC_OK);
    packed_bytes packed = test_pack(packer, 0, column, mem);
    assert_int_equal(test_unpack(schema, 0, column->length, &packed, INT64_MAX, &back, NULL),
                     OC_OK);
    test_same_values(column, &back.column);
    *size = packed.packed_size + packed.bytes_size;
    test_packed_free(&packed);
    oci_packer_destroy(packer);
    return back;
}

static int64_t packed_size(oci_mem *mem, oci_schema *schema, const oci_column *column)
{
    int64_t size = 0;
    unpacked back = pack_and_back(mem, schema, column, &size);
    test_unpacked_free(&back);
    return size;
}

/* Of n values of `width` bytes that lie in `values`. */
static int64_t packed_size_of(oci_mem *mem, const char *format, const void *values, int64_t n)
{
    oci_schema *schema = make_schema(&format, 1);
    oci_column column = {.field = schema->fields, .length = n, .values = values};
    int64_t size = packed_size(mem, schema, &column);
    oci_schema_release(schema);
    return size;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static int64_t count_nodes(const oci_field *field)
{
    int64_t n = 1 + (field->dictionary != NULL ? count_nodes(field->dictionary) : 0);
    for (int32_t i = 0; i < field->n_children; i++) {
        n += count_nodes(&field->children[i]);
    }
    return n;
}

/* Values that nothing can be made of: the size stays near that of the slab. */
static void check_bounds(oci_mem *mem, const char *format, int64_t rows)
{
    uint64_t state = 3;
    arrow_maker maker = random_maker(&state, rows);
    oci_batch *batch = make_batch(&format, 1, &maker), *compact = NULL;
    oci_schema *working = working_schema(batch);
    oci_packer *packer = NULL;
    oci_packed_bound any, one;
    int64_t n = 0, slab = 0;
    assert_int_equal(oci_packer_create(working, &packer, NULL), OC_OK);
    assert_int_equal(oci_gather_range_fit(working, batch, 0, rows, INT64_MAX, mem, &n, &slab, NULL),
                     OC_OK);
    assert_int_equal(oci_gather_range(working, batch, 0, n, 0, mem, NULL, &compact, NULL), OC_OK);
    oci_packer_bound_bytes(packer, slab, batch->length, &any);
    oci_packer_bound(packer, 0, compact->columns, &one);
    assert_true(one.packed <= any.packed && one.bytes <= any.bytes && one.both <= any.both);
    assert_true(one.scratch <= any.scratch);
    assert_true(any.both <= slab + slab / 100 + 1500 * count_nodes(working->fields) ||
                strstr(format, "w:") != NULL);
    packed_bytes packed = test_pack(packer, 0, compact->columns, mem);
    int64_t plain = slab + slab / 100 + 96 * count_nodes(working->fields);
    if (packed.packed_size + packed.bytes_size > plain) {
        fail_msg("%s: %lld and %lld bytes for %lld", format, (long long)packed.packed_size,
                 (long long)packed.bytes_size, (long long)slab);
    }
    test_packed_free(&packed);
    oci_packer_destroy(packer);
    oci_schema_release(working);
    oci_batch_release(compact);
    oci_batch_release(batch);
}

static void packed_columns_are_hardly_ever_larger_than_plain(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    static const int64_t lengths[] = {0, 1, 10, 5000};
    for (int k = 0; k < 4; k++) {
        for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
            check_bounds(f.mem, arrow_maker_formats[i], lengths[k]);
        }
        for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
            check_bounds(f.mem, arrow_maker_nested_formats[i], lengths[k]);
        }
    }
    close_fixture(&f);
}

/* ---- fixed width ----------------------------------------------------------------------------- */

enum { N = 5000 };

static void decimals_take_what_their_digits_take(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    static uint64_t words[N * 4];
    for (int64_t i = 0; i < N; i++) { /* 17 bits, both signs */
        int64_t value = (int64_t)(random_at(i) % 100000) - 50000;
        words[i] = (uint64_t)value;
    }
    int64_t narrow = packed_size_of(f.mem, "l", words, N);
    for (int64_t i = 0; i < N; i++) {
        int64_t value = (int64_t)(random_at(i) % 100000) - 50000;
        words[i * 2] = (uint64_t)value;
        words[i * 2 + 1] = (uint64_t)(value >> 63);
    }
    assert_int_equal(packed_size_of(f.mem, "d:15,2", words, N), narrow);
    for (int64_t i = 0; i < N; i++) {
        int64_t value = (int64_t)(random_at(i) % 100000) - 50000;
        words[i * 4] = (uint64_t)value;
        words[i * 4 + 1] = words[i * 4 + 2] = words[i * 4 + 3] = (uint64_t)(value >> 63);
    }
    assert_int_equal(packed_size_of(f.mem, "d:50,2,256", words, N), narrow);
    words[4 * 17 + 2] = 5; /* one that needs three words */
    assert_true(packed_size_of(f.mem, "d:50,2,256", words, N) < narrow + 2 * (N / 8) + 200);
    close_fixture(&f);
}

static void floating_point_comes_back_bit_for_bit_in_every_form(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    static uint64_t bits[N];
    static const uint64_t special[] = {
        0x8000000000000000, 0x7FF0000000000000, 0xFFF8000000000001, 0x7FF4000000000000, 1, 0};
    for (int64_t i = 0; i < N; i++) { /* few values */
        bits[i] = special[random_at(i) % 6];
    }
    assert_true(packed_size_of(f.mem, "g", bits, N) < N);
    for (int64_t i = 0; i < N; i++) { /* equal exponents, both signs */
        bits[i] = (random_at(i) >> 12) | random_at(N + i) << 63 | UINT64_C(0x3FE0000000000000);
    }
    memcpy(bits + 100, special, sizeof special);
    assert_true(packed_size_of(f.mem, "g", bits, N) < N * 7 + 1000);
    static uint32_t narrow[N];
    for (int64_t i = 0; i < N; i++) {
        narrow[i] = (uint32_t)((random_at(i) >> 41) | random_at(N + i) << 31 | 0x3F000000);
    }
    assert_true(packed_size_of(f.mem, "f", narrow, N) < N * 25 / 8 + 1000);
    for (int64_t i = 0; i < N; i++) {
        bits[i] = random_at(i);
    }
    assert_true(packed_size_of(f.mem, "g", bits, N) <= N * 8 + 64);
    assert_true(packed_size_of(f.mem, "f", bits, N * 2) <= N * 8 + 64);
    assert_true(packed_size_of(f.mem, "e", bits, N * 4) <= N * 8 + 64);
    assert_true(packed_size_of(f.mem, "tin", bits, N / 2) <= N * 8 + 64);
    close_fixture(&f);
}

/* 17 bits of digits, whatever the point; also where a few values are something else. */
static void decimals_in_floating_point_take_what_their_digits_take(void **unused)
{
    (void)unused;
    static const double odd[] = {NAN, -0.0, INFINITY, 1e300, 0.1 + 0.2, -5e-324};
    fixture f = open_fixture();
    static double values[N];
    static float narrow[N];
    for (int64_t i = 0; i < N; i++) {
        values[i] = ((double)(random_at(i) % 100000) - 50000) / 100;
        narrow[i] = (float)(((double)(random_at(i) % 100000) - 50000) / 1000);
    }
    int64_t size = packed_size_of(f.mem, "g", values, N);
    assert_true(size < N * 17 / 8 + 200);
    assert_true(packed_size_of(f.mem, "f", narrow, N) < N * 17 / 8 + 200);
    for (int k = 0; k < 6; k++) {
        values[k * 800 + 1] = odd[k];
        narrow[k * 800 + 1] = (float)odd[k];
    }
    assert_true(packed_size_of(f.mem, "g", values, N) < size + 6 * 16 + 100);
    assert_true(packed_size_of(f.mem, "f", narrow, N) < size + 6 * 16 + 100);
    assert_true(packed_size_of(f.mem, "g", values, 1) < 64);
    for (int64_t i = 0; i < N; i += 3) {
        values[i] += 1e-9;
    }
    assert_true(packed_size_of(f.mem, "g", values, N) <= N * 8 + 64);
    close_fixture(&f);
}

static void rows_that_are_null_take_only_their_bit(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    const char *format = "l";
    oci_schema *schema = make_schema(&format, 1);
    static uint64_t values[N];
    static uint8_t validity[N / 8 + 1];
    int64_t valid = 0;
    for (int64_t i = 0; i < N; i++) {
        values[i] = random_at(i);
        oci_bit_put(validity, i, random_at(N + i) % 10 == 0);
        valid += random_at(N + i) % 10 == 0;
    }
    oci_column column = {.field = schema->fields,
                         .length = N,
                         .values = (uint8_t *)values,
                         .validity = validity,
                         .null_count = -1};
    assert_true(packed_size(f.mem, schema, &column) < valid * 8 + N / 8 + 200);
    memset(validity, 0, sizeof validity);
    assert_int_equal(packed_size(f.mem, schema, &column), OCI_PACK_ALIGN);
    oci_schema_release(schema);
    close_fixture(&f);
}

static void a_packer_follows_data_that_changes(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    const char *format = "g";
    oci_schema *schema = make_schema(&format, 1);
    oci_packer *packer = NULL;
    static uint64_t values[N];
    assert_int_equal(oci_packer_create(schema, &packer, NULL), OC_OK);
    for (int64_t i = 0; i < N; i++) {
        values[i] = random_at(i);
    }
    oci_column column = {.field = schema->fields, .length = N, .values = (uint8_t *)values};
    packed_bytes packed = test_pack(packer, 0, &column, f.mem);
    assert_true(packed.packed_size <= N * 8 + 64);
    test_packed_free(&packed);
    memset(values, 0, sizeof values);
    for (int k = 0; k < 20; k++) {
        packed = test_pack(packer, 0, &column, f.mem);
        assert_true(packed.packed_size <= N * 8 + 64);
        assert_true(k < 19 || packed.packed_size < 64);
        test_packed_free(&packed);
    }
    for (int64_t i = 0; i < N; i++) {
        values[i] = random_at(i);
    }
    packed = test_pack(packer, 0, &column, f.mem); /* by the plan for zeros */
    assert_true(packed.packed_size <= N * 8 + 64);
    test_packed_free(&packed);
    oci_packer_destroy(packer);
    oci_schema_release(schema);
    close_fixture(&f);
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* A dictionary of `n` values of a format, and indices into it. */
typedef struct dictionary_case {
    oci_schema *schema;
    oci_batch *values;
    oci_column column;
} dictionary_case;

static dictionary_case open_dictionary(const char *text, const char *values, int64_t n,
                                       const int32_t *indices, int64_t rows)
{
    dictionary_case c = {.schema = make_schema(&text, 1)};
    arrow_maker maker = {.seed = 5, .length = n, .null_percent = 10, .string_max = 40};
    c.values = make_column_batch(values, &maker);
    c.column = (oci_column){.field = c.schema->fields,
                            .length = rows,
                            .values = (const uint8_t *)indices,
                            .dictionary = c.values->columns};
    return c;
}

static void close_dictionary(dictionary_case *c)
{
    oci_schema_release(c->schema);
    oci_batch_release(c->values);
}

static void check_trimmed(oci_mem *mem, const char *values, bool exactly)
{
    static const int32_t indices[] = {900, 20, 900, 31, 20, 9999, 500, 20};
    char text[100];
    snprintf(text, sizeof text, "i>%s", values);
    dictionary_case c = open_dictionary(text, values, 10000, indices, 8);
    int64_t size = 0;
    unpacked back = pack_and_back(mem, c.schema, &c.column, &size);
    int64_t length = back.column.dictionary->length;
    assert_int_equal(length, exactly ? 5 : 9980);
    assert_true(!exactly || size < 1000);
    /* The order of values is kept. */
    const uint8_t *codes = back.column.values;
    assert_true(oci_load_le32(codes + 4) == 0 && oci_load_le32(codes + 20) == length - 1);
    test_unpacked_free(&back);
    close_dictionary(&c);
}

static void only_dictionary_values_in_use_are_packed(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    check_trimmed(f.mem, "u", true);
    check_trimmed(f.mem, "vu", true);
    check_trimmed(f.mem, "l", true);
    check_trimmed(f.mem, "b", true);
    check_trimmed(f.mem, "w:5", true);
    check_trimmed(f.mem, "+l(u)", true);
    check_trimmed(f.mem, "+s(a=i; b=u)", true);
    check_trimmed(f.mem, "+vl(i)", false); /* only the ends are cut off */
    close_fixture(&f);
}

/* Every second value of dictionaries whose values share all they have. */
static void dictionaries_that_share_bytes_or_rows_go_on_sharing_them(void **unused)
{
    (void)unused;
    enum { VALUES = 100, LENGTH = 1000 };
    static const char *const formats[] = {"i>vu", "i>+ud:0(z)"};
    static uint8_t bytes[LENGTH], ids[VALUES], offsets[VALUES * 4];
    static const int32_t ends[] = {0, LENGTH};
    fixture f = open_fixture();
    oci_view views[VALUES];
    int32_t indices[VALUES / 2];
    for (int64_t i = 0; i < LENGTH; i++) {
        bytes[i] = (uint8_t)random_at(i);
    }
    for (int32_t i = 0; i < VALUES; i++) {
        views[i] = (oci_view){.length = LENGTH};
        memcpy(views[i].ref.prefix, bytes, 4);
        indices[i / 2] = i / 2 * 2;
    }
    const uint8_t *const buffers[] = {bytes};
    const int64_t sizes[] = {LENGTH};
    for (int k = 0; k < 2; k++) {
        oci_schema *schema = make_schema(&formats[k], 1);
        const oci_field *field = schema->fields[0].dictionary;
        oci_column child = {
            .field = field->children, .length = 1, .values = (const uint8_t *)ends, .bytes = bytes};
        oci_column values = {.field = field,
                             .length = VALUES,
                             .values = k == 0 ? (const uint8_t *)views : ids,
                             .view_buffers = buffers,
                             .view_sizes = sizes,
                             .n_view_buffers = 1,
                             .child_offsets = offsets,
                             .children = &child};
        oci_column column = {.field = schema->fields,
                             .length = VALUES / 2,
                             .values = (const uint8_t *)indices,
                             .dictionary = &values};
        assert_true(packed_size(f.mem, schema, &column) < LENGTH + 400);
        oci_schema_release(schema);
    }
    close_fixture(&f);
}

static void a_dictionary_that_is_used_up_is_packed_as_it_lies(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    int32_t indices[300];
    for (int32_t i = 0; i < 300; i++) {
        indices[i] = 100 + (i * 7) % 100;
    }
    dictionary_case c = open_dictionary("i>u", "u", 200, indices, 300);
    int64_t size = 0;
    unpacked back = pack_and_back(f.mem, c.schema, &c.column, &size);
    assert_int_equal(back.column.dictionary->length, 100);
    test_unpacked_free(&back);
    c.column.length = 0;
    back = pack_and_back(f.mem, c.schema, &c.column, &size);
    assert_int_equal(back.column.dictionary->length, 0);
    test_unpacked_free(&back);
    close_dictionary(&c);
    close_fixture(&f);
}

static void the_bound_of_a_slice_does_not_grow_with_its_dictionary(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    static const int32_t indices[] = {900, 20, 900, 99999};
    dictionary_case c = open_dictionary("i>u", "u", 100000, indices, 4);
    oci_packer *packer = NULL;
    oci_packed_bound bound;
    assert_int_equal(oci_packer_create(c.schema, &packer, NULL), OC_OK);
    oci_packer_bound(packer, 0, &c.column, &bound);
    assert_true(bound.both < 1000);
    packed_bytes packed = test_pack(packer, 0, &c.column, f.mem);
    test_packed_free(&packed);
    oci_packer_destroy(packer);
    close_dictionary(&c);
    close_fixture(&f);
}

/* The budget refuses what gathering takes, at every moment. */
static void packing_a_dictionary_without_memory_fails_and_holds_nothing(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    static const int32_t indices[] = {900, 20, 900, 99999};
    dictionary_case c = open_dictionary("i>u", "u", 100000, indices, 4);
    oci_packer *packer = NULL;
    oci_reservation from = {.mem = f.mem}, rest = {.mem = f.mem};
    uint8_t room[4096];
    oc_error error = {0};
    int failures = 0;
    assert_int_equal(oci_packer_create(c.schema, &packer, NULL), OC_OK);
    oc_status status = OC_EBUDGET;
    for (int64_t left = 0; status != OC_OK; left += 64) {
        oci_pack_out out = {.packed = (uint8_t *)oci_round_up((intptr_t)room, 8),
                            .bytes = room + 2048};
        int64_t all = oci_budget_free(f.budget);
        assert_int_equal(oci_mem_reserve(f.mem, &rest, all - left, NULL), OC_OK);
        status = oci_pack_column(packer, 0, &c.column, &from, &out, &error);
        assert_true(status == OC_OK || status == OC_EBUDGET);
        assert_true(status == OC_OK || strstr(error.message, "column \"c0\"") != NULL);
        oci_reservation_release(&from);
        from = (oci_reservation){.mem = f.mem};
        oci_reservation_release(&rest);
        rest = (oci_reservation){.mem = f.mem};
        assert_int_equal(oci_mem_held(f.mem), 0);
        failures += status != OC_OK;
    }
    assert_true(failures > 3);
    oci_packer_destroy(packer);
    close_dictionary(&c);
    close_fixture(&f);
}

/* ---- children and views ---------------------------------------------------------------------- */

static void only_rows_of_children_that_are_referred_to_are_packed(void **unused)
{
    (void)unused;
    static const char *const formats[] = {"+l(l)",    "+L(l)",         "+w:3(l)",
                                          "+s(a=l)",  "+us:0,1(l; l)", "+ud:0,1(l; l)",
                                          "+r(i; l)", "+vl(l)",        "+m(l; l)"};
    fixture f = open_fixture();
    for (size_t k = 0; k < sizeof formats / sizeof formats[0]; k++) {
        arrow_maker maker = {.seed = 1, .length = 4000};
        oci_batch *batch = make_column_batch(formats[k], &maker), *slice = NULL;
        assert_int_equal(oci_batch_slice(batch, 2000, 4, &slice, NULL), OC_OK);
        assert_true(packed_size(f.mem, slice->schema, slice->columns) < 1500);
        oci_batch_release(slice);
        oci_batch_release(batch);
    }
    close_fixture(&f);
}

/* All lists are the same rows. */
static void list_views_that_share_rows_go_on_sharing_them(void **unused)
{
    (void)unused;
    fixture f = open_fixture();
    const char *format = "+vl(l)";
    oci_schema *schema = make_schema(&format, 1);
    static uint64_t values[1000];
    static uint32_t offsets[1000], sizes[1000];
    for (uint32_t i = 0; i < 1000; i++) {
        values[i] = random_at(i);
        offsets[i] = 100 + i % 3;
        sizes[i] = 500;
    }
    oci_column child = {
        .field = &schema->fields[0].children[0], .length = 1000, .values = (uint8_t *)values};
    oci_column column = {.field = schema->fields,
                         .length = 1000,
                         .values = (uint8_t *)offsets,
                         .sizes = (uint8_t *)sizes,
                         .children = &child};
    int64_t size = 0;
    unpacked back = pack_and_back(f.mem, schema, &column, &size);
    assert_int_equal(back.column.children[0].length, 502);
    assert_true(size < 502 * 8 + 1000);
    test_unpacked_free(&back);
    oci_schema_release(schema);
    close_fixture(&f);
}

/* A batch of views handed on in thin slices, all of them with the same buffers. */
static void slices_of_views_take_what_they_show(void **unused)
{
    (void)unused;
    enum { VIEWS = 100000, LENGTH = 64, SLICES = 1000 };
    fixture f = open_fixture();
    const char *format = "vu";
    oci_schema *schema = make_schema(&format, 1);
    uint8_t *bytes = malloc(VIEWS * LENGTH);
    oci_view *views = malloc(VIEWS * sizeof *views);
    assert_true(bytes != NULL && views != NULL);
    for (int64_t i = 0; i < VIEWS * LENGTH / 8; i++) {
        oci_store_le64(bytes + i * 8, random_at(i));
    }
    for (int32_t i = 0; i < VIEWS; i++) {
        views[i] = (oci_view){.length = LENGTH, .ref = {.offset = i * LENGTH}};
        memcpy(views[i].ref.prefix, bytes + (int64_t)i * LENGTH, 4);
    }
    const uint8_t *const buffers[] = {bytes};
    const int64_t sizes[] = {VIEWS * LENGTH};
    int64_t total = 0;
    for (int64_t k = 0; k < SLICES; k++) {
        oci_column column = {.field = schema->fields,
                             .length = VIEWS / SLICES,
                             .offset = k * (VIEWS / SLICES),
                             .values = (uint8_t *)views,
                             .view_buffers = buffers,
                             .view_sizes = sizes,
                             .n_view_buffers = 1};
        total += packed_size(f.mem, schema, &column);
    }
    assert_true(total * 2 <= VIEWS * LENGTH * 3);
    free(views);
    free(bytes);
    oci_schema_release(schema);
    close_fixture(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packed_columns_are_hardly_ever_larger_than_plain),
        cmocka_unit_test(decimals_take_what_their_digits_take),
        cmocka_unit_test(floating_point_comes_back_bit_for_bit_in_every_form),
        cmocka_unit_test(decimals_in_floating_point_take_what_their_digits_take),
        cmocka_unit_test(rows_that_are_null_take_only_their_bit),
        cmocka_unit_test(a_packer_follows_data_that_changes),
        cmocka_unit_test(only_dictionary_values_in_use_are_packed),
        cmocka_unit_test(dictionaries_that_share_bytes_or_rows_go_on_sharing_them),
        cmocka_unit_test(a_dictionary_that_is_used_up_is_packed_as_it_lies),
        cmocka_unit_test(the_bound_of_a_slice_does_not_grow_with_its_dictionary),
        cmocka_unit_test(packing_a_dictionary_without_memory_fails_and_holds_nothing),
        cmocka_unit_test(only_rows_of_children_that_are_referred_to_are_packed),
        cmocka_unit_test(list_views_that_share_rows_go_on_sharing_them),
        cmocka_unit_test(slices_of_views_take_what_they_show),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
