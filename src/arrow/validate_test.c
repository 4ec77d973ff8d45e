#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/batch.h"
#include "support/batch_maker.h"

static void assert_message_has(const oc_error *err, const char *part)
{
    if (strstr(err->message, part) == NULL) {
        fail_msg("\"%s\" is not in: %s", part, err->message);
    }
}

static oci_field field_of(oci_type type)
{
    static char name[] = "a";
    oci_field field = {.name = name, .type = type};
    oci_field_set_width(&field);
    return field;
}

static void assert_column(const oci_column *column, int64_t bytes_size, const char *part)
{
    oc_error err = {0};
    oc_status status = oci_column_validate(column, bytes_size, &err);
    if (part == NULL) {
        assert_int_equal(status, OC_OK);
        return;
    }
    assert_int_equal(status, OC_EDATA);
    assert_message_has(&err, part);
}

static void every_made_batch_is_valid(void **state)
{
    (void)state;
    for (int64_t offset = 0; offset < 4; offset++) {
        const arrow_maker maker = {.seed = 4,
                                   .length = 70,
                                   .null_percent = 30,
                                   .offset = offset,
                                   .garbage = true,
                                   .unaligned = true};
        oci_batch *batch = make_batch(arrow_maker_formats, arrow_maker_n_formats, &maker);
        oc_error err = {0};
        assert_int_equal(oci_batch_validate(batch, &err), OC_OK);
        assert_int_equal(oci_batch_validate_rows(batch, &err), OC_OK);
        oci_batch_release(batch);
        batch = make_batch(arrow_maker_nested_formats, arrow_maker_n_nested_formats, &maker);
        for (int64_t start = 0; start < 70; start += 23) {
            oci_batch *slice;
            assert_int_equal(oci_batch_slice(batch, start, start == 69 ? 0 : 23, &slice, NULL),
                             OC_OK);
            assert_int_equal(oci_batch_validate(slice, &err), OC_OK);
            assert_int_equal(oci_batch_validate_rows(slice, &err), OC_OK);
            oci_batch_release(slice);
        }
        oci_batch_release(batch);
    }
}

/* Each offset in turn is made wrong, for both widths and for lengths around the vector width. */
static void one_wrong_offset_is_found_wherever_it_is(void **state)
{
    (void)state;
    oci_field narrow = field_of(OCI_TYPE_BINARY), wide = field_of(OCI_TYPE_LARGE_UTF8);
    int32_t offsets32[40];
    int64_t offsets64[40];
    for (int64_t length = 1; length < 36; length++) {
        for (int64_t wrong = 0; wrong <= length; wrong++) {
            for (int i = 0; i < 40; i++) {
                offsets32[i] = 3 + 2 * i;
                offsets64[i] = 3 + 2 * i;
            }
            oci_column a = {.field = &narrow,
                            .length = length,
                            .offset = 2,
                            .values = (const uint8_t *)offsets32};
            oci_column b = {.field = &wide,
                            .length = length,
                            .offset = 2,
                            .values = (const uint8_t *)offsets64};
            assert_column(&a, -1, NULL);
            assert_column(&b, -1, NULL);
            bool first = wrong == 0; /* too large there, too small elsewhere */
            offsets32[2 + wrong] = first ? INT32_MAX : 0;
            offsets64[2 + wrong] = first ? INT64_MAX : 0;
            assert_column(&a, -1, "column \"a\" has damaged offsets: row ");
            assert_column(&b, -1, "column \"a\" has damaged offsets: row ");
        }
    }
}

static void the_message_tells_the_row(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t offsets[] = {0, 4, 9, 7, 12};
    oci_column column = {.field = &field, .length = 4, .values = (const uint8_t *)offsets};
    assert_column(&column, -1, "row 2 starts at byte 9 and ends at byte 7");
}

/* Range copies take the bytes of all rows at once, so even null rows must not step back. */
static void offsets_under_nulls_count(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t offsets[] = {0, 4, 2, 7};
    const uint8_t valid = 0x05;
    oci_column column = {.field = &field,
                         .length = 3,
                         .null_count = 1,
                         .validity = &valid,
                         .values = (const uint8_t *)offsets};
    assert_column(&column, -1, "row 1");
}

static void offsets_stay_between_zero_and_the_size(void **state)
{
    (void)state;
    oci_field field = field_of(OCI_TYPE_UTF8);
    const int32_t negative[] = {-3, -1, 4}, good[] = {5, 6, 10};
    oci_column column = {.field = &field, .length = 2, .values = (const uint8_t *)negative};
    assert_column(&column, -1, "the first one, -3, is negative");
    column.values = (const uint8_t *)good;
    assert_column(&column, 10, NULL);
    assert_column(&column, 9, "the last one is 10, but there are only 9 bytes");
    column.length = 0; /* nothing is looked at */
    column.values = NULL;
    assert_column(&column, 0, NULL);
}

static void views_stay_inside_their_buffers(void **state)
{
    (void)state;
    const uint8_t *bytes = (const uint8_t *)"0123456789012345678901234567890";
    const uint8_t *buffers[] = {bytes, bytes};
    const int64_t sizes[] = {30, 13};
    oci_field field = field_of(OCI_TYPE_BINARY_VIEW);
    struct {
        int32_t length, buffer, offset;
        bool good;
    } cases[] = {
        {0, 9, 9, true},          {12, 9, -9, true},
        {13, 0, 0, true},         {13, 0, 17, true},
        {13, 0, 18, false},       {13, 1, 0, true},
        {13, 1, 1, false},        {14, 1, 0, false},
        {13, 2, 0, false},        {13, -1, 0, false},
        {13, 0, -1, false},       {-1, 0, 0, false},
        {INT32_MIN, 0, 0, false}, {INT32_MAX, 0, INT32_MAX, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        oci_view views[3] = {{.length = 0}};
        uint8_t valid = 0x05;
        views[1].length = cases[i].length;
        views[1].ref.buffer = cases[i].buffer;
        views[1].ref.offset = cases[i].offset;
        oci_column column = {.field = &field,
                             .length = 3,
                             .null_count = -1,
                             .values = (const uint8_t *)views,
                             .view_buffers = buffers,
                             .view_sizes = sizes,
                             .n_view_buffers = 2};
        assert_column(&column, -1, cases[i].good ? NULL : "a damaged view in row 1");
        column.validity = &valid; /* row 1 is null: anything goes */
        assert_column(&column, -1, NULL);
    }
}

static void view_buffers_have_sizes(void **state)
{
    (void)state;
    const uint8_t *buffers[] = {NULL};
    const int64_t sizes[] = {-1};
    oci_field field = field_of(OCI_TYPE_BINARY_VIEW);
    oci_column column = {
        .field = &field, .view_buffers = buffers, .view_sizes = sizes, .n_view_buffers = 1};
    assert_column(&column, -1, "number 0 has a size of -1 bytes");
}

static void indices_stay_inside_their_dictionary(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_INT8), field = field_of(OCI_TYPE_DICTIONARY);
    for (int type = OCI_TYPE_INT8; type <= OCI_TYPE_UINT64; type++) {
        for (int64_t wild = -1; wild <= 200; wild += 3) {
            oci_column values = {.field = &value_field, .length = 150, .values = (uint8_t *)""};
            uint8_t indices[3 * 8] = {0}, valid = 0x05;
            field.index_type = (oci_type)type;
            oci_field_set_width(&field);
            memcpy(indices + field.byte_width, &wild, (size_t)field.byte_width);
            oci_column column = {.field = &field,
                                 .length = 3,
                                 .null_count = -1,
                                 .values = indices,
                                 .dictionary = &values};
            bool fits = wild >= 0 && wild < (type == OCI_TYPE_INT8 ? 128 : 150);
            assert_column(&column, -1, fits ? NULL : "damaged dictionary index in row 1");
            column.validity = &valid;
            assert_column(&column, -1, NULL);
        }
    }
}

static void an_empty_dictionary_serves_null_rows_only(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_INT8), field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT32;
    oci_field_set_width(&field);
    const uint8_t indices[8] = {0}, none_valid = 0, one_valid = 2;
    oci_column values = {.field = &value_field};
    oci_column column = {.field = &field,
                         .length = 2,
                         .null_count = -1,
                         .validity = &none_valid,
                         .values = indices,
                         .dictionary = &values};
    assert_column(&column, -1, NULL);
    column.validity = &one_valid;
    assert_column(&column, -1, "row 1: 0, but the dictionary has 0 values");
}

static void damaged_dictionary_values_are_found(void **state)
{
    (void)state;
    oci_field value_field = field_of(OCI_TYPE_UTF8), field = field_of(OCI_TYPE_DICTIONARY);
    field.index_type = OCI_TYPE_INT8;
    oci_field_set_width(&field);
    const int32_t offsets[] = {4, 2};
    oci_column values = {.field = &value_field, .length = 1, .values = (const uint8_t *)offsets};
    oci_column column = {
        .field = &field, .length = 1, .values = (const uint8_t *)"", .dictionary = &values};
    assert_column(&column, -1, "dictionary of column \"a\": column \"a\" has damaged offsets");
}

/* ---- nested ---------------------------------------------------------------------------------- */

/* A column with one or two children of int8, all of it on the stack. */
typedef struct parent {
    oci_field field;
    oci_field child_fields[2];
    oci_union_ids ids;
    oci_column children[2];
    oci_column column;
} parent;

static const uint8_t child_values[64];

static void init_parent(parent *p, oci_type type, int32_t n_children, int64_t length,
                        int64_t child_length)
{
    static char names[3][2] = {"a", "x", "y"};
    *p = (parent){.field = {.name = names[0], .type = type, .n_children = n_children}};
    for (int32_t i = 0; i < n_children; i++) {
        p->child_fields[i] = field_of(OCI_TYPE_INT8);
        p->child_fields[i].name = names[1 + i];
        p->children[i] = (oci_column){
            .field = &p->child_fields[i], .length = child_length, .values = child_values};
    }
    p->field.children = p->child_fields;
    memset(&p->ids, -1, sizeof p->ids);
    p->ids.of_child[0] = 5;
    p->ids.child_of[5] = 0;
    p->ids.of_child[1] = 100;
    p->ids.child_of[100] = 1;
    p->field.union_ids = &p->ids;
    p->column = (oci_column){.field = &p->field, .length = length, .children = p->children};
}

static void list_offsets_stay_in_their_child(void **state)
{
    (void)state;
    const int32_t good[] = {2, 2, 5, 9}, back[] = {2, 5, 4, 9}, negative[] = {-1, 2, 5, 9};
    const int64_t wide[] = {0, 3, INT64_MAX};
    parent p;
    init_parent(&p, OCI_TYPE_LIST, 1, 3, 9);
    p.column.values = (const uint8_t *)good;
    assert_column(&p.column, -1, NULL);
    p.children[0].length = 8;
    assert_column(&p.column, -1, "the last one is 9, but there are only 8 rows");
    p.children[0].length = 9;
    p.column.values = (const uint8_t *)back;
    assert_column(&p.column, -1, "row 1 starts at row 5 and ends at row 4");
    p.column.values = (const uint8_t *)negative;
    assert_column(&p.column, -1, "the first one, -1, is negative");
    init_parent(&p, OCI_TYPE_LARGE_LIST, 1, 2, 9);
    p.column.values = (const uint8_t *)wide;
    assert_column(&p.column, -1, "the last one is 9223372036854775807, but there are only 9 rows");
}

/* As the format demands, also under nulls. */
static void list_views_stay_in_their_child(void **state)
{
    (void)state;
    const struct {
        int64_t offset, size;
        bool good;
    } cases[] = {{0, 0, true},         {9, 0, true},   {0, 9, true},
                 {4, 5, true},         {10, 0, false}, {9, 1, false},
                 {4, 6, false},        {-1, 1, false}, {0, -1, false},
                 {0, 1000, false},     {5, -5, false}, {INT32_MAX, INT32_MAX, false},
                 {INT32_MIN, 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const uint8_t none_valid = 0;
        int32_t offsets[3] = {1, (int32_t)cases[i].offset, 2};
        int32_t sizes[3] = {1, (int32_t)cases[i].size, 3};
        int64_t wide_offsets[3] = {1, cases[i].offset, 2}, wide_sizes[3] = {1, cases[i].size, 3};
        parent p;
        for (int is_null = 0; is_null < 2; is_null++) {
            init_parent(&p, OCI_TYPE_LIST_VIEW, 1, 3, 9);
            p.column.validity = is_null ? &none_valid : NULL;
            p.column.values = (const uint8_t *)offsets;
            p.column.sizes = (const uint8_t *)sizes;
            assert_column(&p.column, -1, cases[i].good ? NULL : "damaged list view in row 1: ");
            p.field.type = OCI_TYPE_LARGE_LIST_VIEW;
            p.column.values = (const uint8_t *)wide_offsets;
            p.column.sizes = (const uint8_t *)wide_sizes;
            assert_column(&p.column, -1, cases[i].good ? NULL : "damaged list view in row 1: ");
        }
    }
    const int64_t offset = INT64_MAX, size = INT64_MAX;
    parent p;
    init_parent(&p, OCI_TYPE_LARGE_LIST_VIEW, 1, 1, 9);
    p.column.values = (const uint8_t *)&offset;
    p.column.sizes = (const uint8_t *)&size;
    assert_column(&p.column, -1, "on, but its child has 9");
}

static void children_are_long_enough(void **state)
{
    (void)state;
    parent p;
    init_parent(&p, OCI_TYPE_STRUCT, 2, 4, 6);
    p.column.offset = 2;
    assert_column(&p.column, -1, NULL);
    p.children[1].length = 5;
    assert_column(
        &p.column, -1,
        "child \"y\" of column \"a\" is too short: it has 5 rows, its parent refers to 6");
    init_parent(&p, OCI_TYPE_FIXED_LIST, 1, 4, 18);
    p.field.list_size = 3;
    p.column.offset = 2;
    assert_column(&p.column, -1, NULL);
    p.children[0].length = 17;
    assert_column(&p.column, -1, "it has 17 rows, its parent refers to 18");
    p.column.offset = INT64_MAX / 2;
    assert_column(&p.column, -1, "its parent refers to 9223372036854775807");
    p.column.length = 0;
    assert_column(&p.column, -1, NULL);
}

static void type_ids_are_those_of_children(void **state)
{
    (void)state;
    for (int id = -128; id < 128; id++) {
        const int8_t ids[] = {5, 100, (int8_t)id, 5};
        const int32_t offsets[4] = {0};
        parent p;
        init_parent(&p, OCI_TYPE_SPARSE_UNION, 2, 4, 4);
        p.column.values = (const uint8_t *)ids;
        p.column.child_offsets = (const uint8_t *)offsets;
        const char *part = id == 5 || id == 100 ? NULL : "has a damaged type id in row 2: ";
        assert_column(&p.column, -1, part);
        p.field.type = OCI_TYPE_DENSE_UNION;
        assert_column(&p.column, -1, part);
    }
}

static void union_offsets_stay_in_their_child(void **state)
{
    (void)state;
    const int8_t ids[] = {5, 100, 100, 5};
    const struct {
        int32_t offset;
        bool good;
    } cases[] = {{0, true},   {6, true},          {7, false},
                 {-1, false}, {INT32_MAX, false}, {INT32_MIN, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const int32_t offsets[] = {2, 3, cases[i].offset, 1}; /* they need not ascend */
        parent p;
        init_parent(&p, OCI_TYPE_DENSE_UNION, 2, 4, 7);
        p.children[0].length = 3;
        p.column.values = (const uint8_t *)ids;
        p.column.child_offsets = (const uint8_t *)offsets;
        assert_column(&p.column, -1, cases[i].good ? NULL : "of child \"y\", which has 7");
        p.children[0].length = 2;
        assert_column(&p.column, -1, "has a damaged offset in row 0: row 2 of child \"x\"");
    }
}

static void run_ends_ascend_and_suffice(void **state)
{
    (void)state;
    const struct {
        int64_t ends[3];
        const char *part;
    } cases[] = {
        {{1, 4, 9}, NULL},
        {{1, 4, 20}, NULL},
        {{1, 4, 8}, "its runs end at row 8, it needs 9 rows"},
        {{0, 4, 9}, "run 0 ends at row 0, the one before at 0"},
        {{-3, 4, 9}, "run 0 ends at row -3"},
        {{1, 1, 9}, "run 1 ends at row 1, the one before at 1"},
        {{5, 9, 7}, "run 2 ends at row 7, the one before at 9"},
    };
    const oci_type types[] = {OCI_TYPE_INT16, OCI_TYPE_INT32, OCI_TYPE_INT64};
    for (size_t i = 0; i < 3 * sizeof cases / sizeof cases[0]; i++) {
        uint8_t ends[24];
        parent p;
        init_parent(&p, OCI_TYPE_RUN_END_ENCODED, 2, 7, 3);
        p.column.offset = 2;
        p.child_fields[0].type = types[i % 3];
        oci_field_set_width(&p.child_fields[0]);
        for (int k = 0; k < 3; k++) {
            memcpy(ends + k * p.child_fields[0].byte_width, &cases[i / 3].ends[k],
                   (size_t)p.child_fields[0].byte_width);
        }
        p.children[0].values = ends;
        assert_column(&p.column, -1, cases[i / 3].part);
        if (cases[i / 3].part == NULL) {
            const uint8_t valid = 0x05;
            p.children[1].length = 2;
            assert_column(&p.column, -1, "has 3 runs and 2 values");
            p.children[1].length = 3;
            p.children[0].validity = &valid;
            p.children[0].null_count = -1;
            assert_column(&p.column, -1, "has 1 run ends that are null");
        }
    }
    parent p;
    init_parent(&p, OCI_TYPE_RUN_END_ENCODED, 2, 1, 0);
    p.child_fields[0] = field_of(OCI_TYPE_INT32);
    assert_column(&p.column, -1, "its runs end at row 0, it needs 1 rows");
    p.column.length = 0;
    assert_column(&p.column, -1, NULL);
}

/* Rows that nobody refers to do not count when only rows are checked; as a whole they do. */
static void damage_below_is_found_where_rows_refer_to_it(void **state)
{
    (void)state;
    const int32_t offsets[] = {2, 3, 5}, bad_strings[] = {0, 9, 4, 5, 6, 7, 6};
    oci_field fields[1] = {field_of(OCI_TYPE_LIST)}, child = field_of(OCI_TYPE_UTF8);
    fields[0].n_children = 1;
    fields[0].children = &child;
    oci_column strings = {.field = &child, .length = 6, .values = (const uint8_t *)bad_strings};
    oci_column list = {
        .field = &fields[0], .length = 2, .values = (const uint8_t *)offsets, .children = &strings};
    oci_schema schema = {.n_fields = 1, .fields = fields};
    oci_batch batch = {.schema = &schema, .length = 2, .columns = &list};
    oc_error err = {0};
    assert_int_equal(oci_batch_validate_rows(&batch, &err), OC_OK);
    assert_int_equal(oci_batch_validate(&batch, &err), OC_EDATA);
    assert_message_has(&err, "child of column \"a\": column \"a\" has damaged offsets: row 1");
    const int32_t first[] = {1, 2, 5}, last[] = {2, 3, 6};
    list.values = (const uint8_t *)first;
    assert_int_equal(oci_batch_validate_rows(&batch, &err), OC_EDATA);
    list.values = (const uint8_t *)last;
    assert_int_equal(oci_batch_validate_rows(&batch, &err), OC_EDATA);
}

/* ---- random damage --------------------------------------------------------------------------- */

/* One number somewhere in what a nested array or a dictionary says about rows of others. */
static void damage(const struct ArrowSchema *schema, const struct ArrowArray *array,
                   uint64_t *state)
{
    static const int64_t wild[] = {-1, 0, 1, 2, 7, 127, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    int64_t slots = array->offset + array->length;
    *state = *state * UINT64_C(6364136223846793005) + 1442695040888963407u;
    uint64_t dice = *state >> 16;
    bool down = dice % 3 > 0 && array->n_children > 0;
    if (array->dictionary != NULL && dice % 2 == 0) {
        damage(schema->dictionary, array->dictionary, state);
        return;
    }
    if (down) {
        int64_t i = (int64_t)(dice / 3) % array->n_children;
        damage(schema->children[i], array->children[i], state);
        return;
    }
    const char *f = schema->format;
    bool is_wide = strchr("lLgU", f[0]) != NULL || (f[0] == '+' && strchr("L", f[1])) ||
                   (f[0] == '+' && f[1] == 'v' && f[2] == 'L');
    int64_t width = is_wide ? 8 : strchr("cC", f[0]) ? 1 : strchr("sS", f[0]) ? 2 : 4, which = 1;
    bool numbers = array->dictionary != NULL || strchr("csilCSIL", f[0]) != NULL;
    if (f[0] == '+' && f[1] == 'u') {
        which = f[2] == 'd' ? (int64_t)(dice / 64) % 2 : 0;
        width = which == 0 ? 1 : 4;
    } else if (f[0] == '+' && f[1] == 'v') {
        which = 1 + (int64_t)(dice / 64) % 2;
    } else if (f[0] == '+' && strchr("swr", f[1]) != NULL) {
        return;
    } else if (f[0] != '+' && !numbers) {
        return;
    }
    if (slots > 0 && array->buffers[which] != NULL) {
        uint8_t *at = (uint8_t *)(uintptr_t)array->buffers[which];
        memcpy(at + (int64_t)(dice / 128) % slots * width, &wild[(dice / 4096) % 10],
               (size_t)width);
    }
}

/* Whatever is taken can be read: the sanitizer sees every byte that is not there. */
static void what_passes_after_random_damage_can_be_read(void **state)
{
    (void)state;
    int n_refused = 0, n_taken = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        char text[4000];
        const char *columns[1] = {text};
        arrow_maker maker = {.seed = seed, .length = 13, .null_percent = 20};
        struct ArrowSchema c_schema;
        struct ArrowArray array;
        oci_schema *schema;
        oci_batch *batch = NULL;
        uint64_t dice = seed;
        maker.offset = (int64_t)seed % 3;
        maker.garbage = seed & 1;
        if (seed % 2 == 0) {
            snprintf(text, sizeof text, "%s",
                     arrow_maker_nested_formats[seed / 2 % (uint64_t)arrow_maker_n_nested_formats]);
        } else {
            arrow_make_column_text(seed, 2, text, sizeof text);
        }
        arrow_make_schema(columns, 1, &c_schema);
        arrow_make_array(columns, 1, &maker, &array);
        damage(c_schema.children[0], array.children[0], &dice);
        assert_int_equal(oci_schema_import(&c_schema, &schema, NULL), OC_OK);
        oc_status status = oci_batch_import(&array, schema, &batch, NULL);
        if (status == OC_OK) {
            status = oci_batch_validate_rows(batch, NULL);
        }
        uint64_t hash = 0;
        for (int64_t row = 0; status == OC_OK && row < batch->length; row++) {
            hash += oci_value_hash(&batch->columns[0], row, seed);
        }
        n_taken += status == OC_OK;
        n_refused += status != OC_OK && hash == 0;
        oci_batch_release(batch);
        oci_schema_release(schema);
        c_schema.release(&c_schema);
    }
    assert_true(n_refused > 500);
    assert_true(n_taken > 500);
    assert_int_equal(arrow_maker_live(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_made_batch_is_valid),
        cmocka_unit_test(one_wrong_offset_is_found_wherever_it_is),
        cmocka_unit_test(the_message_tells_the_row),
        cmocka_unit_test(offsets_under_nulls_count),
        cmocka_unit_test(offsets_stay_between_zero_and_the_size),
        cmocka_unit_test(views_stay_inside_their_buffers),
        cmocka_unit_test(view_buffers_have_sizes),
        cmocka_unit_test(indices_stay_inside_their_dictionary),
        cmocka_unit_test(an_empty_dictionary_serves_null_rows_only),
        cmocka_unit_test(damaged_dictionary_values_are_found),
        cmocka_unit_test(list_offsets_stay_in_their_child),
        cmocka_unit_test(list_views_stay_in_their_child),
        cmocka_unit_test(children_are_long_enough),
        cmocka_unit_test(type_ids_are_those_of_children),
        cmocka_unit_test(union_offsets_stay_in_their_child),
        cmocka_unit_test(run_ends_ascend_and_suffice),
        cmocka_unit_test(damage_below_is_found_where_rows_refer_to_it),
        cmocka_unit_test(what_passes_after_random_damage_can_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
