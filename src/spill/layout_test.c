/* Unit tests of layouts: physical schemas, columns there and back, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "base/bits.h"
#include "spill/layout.h"
#include "spill/stream_metadata.h"
#include "support/batch_maker.h"

#define MIB ((int64_t)1 << 20)

typedef struct fixture {
    oci_budget *budget;
    oci_mem *mem;
    oci_reservation from;
} fixture;

static void set_up(fixture *f)
{
    assert_int_equal(oci_budget_create(256 * MIB, NULL, &f->budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(f->budget, "test", &f->mem, NULL), OC_OK);
    f->from = (oci_reservation){.mem = f->mem};
}

static void tear_down(fixture *f)
{
    oci_reservation_release(&f->from);
    assert_int_equal(oci_mem_held(f->mem), 0);
    oci_mem_close(f->mem);
    oci_budget_destroy(f->budget);
}

static oci_spill_layout *make_layout(oci_schema *schema, oci_column_layout choice)
{
    oci_column_layout choices[8] = {0};
    oci_spill_layout *layout = NULL;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        choices[i] = choice;
    }
    assert_int_equal(oci_spill_layout_create(schema, choices, &layout, NULL), OC_OK);
    return layout;
}

static oci_batch *encode(fixture *f, const oci_spill_layout *layout, oci_batch *batch)
{
    oci_packer *packer = NULL;
    oci_batch *physical = NULL;
    oc_error err = {0};
    assert_int_equal(oci_packer_create(oci_spill_layout_logical(layout), &packer, NULL), OC_OK);
    assert_true(oci_spill_layout_can_hold(layout, packer, batch));
    if (oci_spill_layout_encode(layout, packer, batch, &f->from, &physical, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    oci_packer_destroy(packer);
    return physical;
}

/* There and back. */
static void check_batch(fixture *f, oci_batch *batch, oci_column_layout choice)
{
    oci_spill_layout *layout = make_layout(batch->schema, choice);
    oci_batch *physical = encode(f, layout, batch);
    oci_batch *back = NULL;
    oc_error err = {0};
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        assert_int_equal(oci_column_validate(&physical->columns[i], -1, NULL), OC_OK);
    }
    if (oci_spill_layout_decode(layout, oci_batch_retain(physical), f->mem, &back, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    assert_ptr_equal(back->schema, batch->schema);
    assert_int_equal(oci_batch_validate(back, NULL), OC_OK);
    assert_true(oci_batch_equal(back, batch));
    oci_batch_release(back);
    oci_spill_layout_give_back(physical, &f->from);
    oci_spill_layout_destroy(layout);
}

/* ---- schemas --------------------------------------------------------------------------------- */

static void check_physical(const char *format, oci_column_layout choice, const char *expected)
{
    char column[64] = "name=";
    strcat(column, format);
    const char *columns[] = {column};
    oci_schema *schema = make_schema(columns, 1);
    oci_spill_layout *layout = make_layout(schema, choice);
    const oci_field *field = &oci_spill_layout_physical(layout)->fields[0];
    char text[256];
    oci_field_type_text(field, text, sizeof text);
    assert_string_equal(text, expected);
    assert_string_equal(field->name, "name");
    oci_spill_layout_destroy(layout);
    oci_schema_release(schema);
}

static void strings_become_lengths_and_bytes(void **state)
{
    (void)state;
    static const char small[] = "struct<lengths: int32, bytes: run_end_encoded<int32, binary>>";
    static const char large[] =
        "struct<lengths: int64, bytes: run_end_encoded<int32, large_binary>>";
    check_physical("u", OCI_COLUMN_LENGTHS, small);
    check_physical("z", OCI_COLUMN_LENGTHS, small);
    check_physical("U", OCI_COLUMN_LENGTHS, large);
    check_physical("Z", OCI_COLUMN_LENGTHS, large);
}

static void packed_columns_are_one_run_of_their_streams(void **state)
{
    (void)state;
    static const char one[] = "run_end_encoded<int32, binary>";
    static const char two[] = "run_end_encoded<int32, struct<packed: binary, bytes: binary>>";
    check_physical("i", OCI_COLUMN_PACKED, one);
    check_physical("+l(d:15,2)", OCI_COLUMN_PACKED, one);
    check_physical("c>l", OCI_COLUMN_PACKED, one);
    check_physical("u", OCI_COLUMN_PACKED, two);
    check_physical("vz", OCI_COLUMN_PACKED, two);
    check_physical("w:5", OCI_COLUMN_PACKED, two);
    check_physical("+l(u)", OCI_COLUMN_PACKED, two);
    check_physical("c>u", OCI_COLUMN_PACKED, two);
}

static void a_schema_message_leads_back_to_its_layout(void **state)
{
    (void)state;
    const char *columns[] = {"a=i", "s=u", "x=l@my.type", "d=c>u"};
    oci_schema *schema = make_schema(columns, 4);
    static const oci_column_layout choices[] = {OCI_COLUMN_PACKED, OCI_COLUMN_LENGTHS,
                                                OCI_COLUMN_PACKED, OCI_COLUMN_PLAIN};
    oci_spill_layout *layout;
    oci_spill_layout *parsed;
    assert_int_equal(oci_spill_layout_create(schema, choices, &layout, NULL), OC_OK);
    assert_false(oci_spill_layout_is_plain(layout));
    oci_schema *physical = oci_spill_layout_physical(layout);
    assert_int_equal(oci_spill_layout_parse(physical, NULL, &parsed, NULL), OC_OK);
    oci_schema *logical = oci_spill_layout_logical(parsed);
    assert_int_equal(logical->n_fields, 4);
    for (int32_t i = 0; i < 4; i++) {
        assert_int_equal(oci_spill_layout_of(parsed, i), choices[i]);
        assert_string_equal(logical->fields[i].name, schema->fields[i].name);
        assert_true(oci_field_same_type(&logical->fields[i], &schema->fields[i]));
        assert_int_equal(logical->fields[i].nullable, schema->fields[i].nullable);
        assert_int_equal(logical->fields[i].metadata_bytes, schema->fields[i].metadata_bytes);
    }
    oci_spill_layout_destroy(parsed);
    /* Who expects a schema gets that one. */
    assert_int_equal(oci_spill_layout_parse(physical, schema, &parsed, NULL), OC_OK);
    assert_ptr_equal(oci_spill_layout_logical(parsed), schema);
    oci_spill_layout_destroy(parsed);
    oci_spill_layout_destroy(layout);
    oci_schema_release(schema);
}

static void foreign_schemas_are_plain(void **state)
{
    (void)state;
    const char *columns[] = {"a=i", "s=u"};
    oci_schema *schema = make_schema(columns, 2);
    oci_spill_layout *parsed;
    assert_int_equal(oci_spill_layout_parse(schema, NULL, &parsed, NULL), OC_OK);
    assert_true(oci_spill_layout_is_plain(parsed));
    oci_spill_layout_destroy(parsed);
    oci_schema_release(schema);
}

/* Parses a schema of one column with these metadata instead of its own. NULL: without that key. */
static oc_status parse_with(oci_schema *physical, const char *version, const char *letters,
                            const char *logical, oc_error *err)
{
    oci_metadata_pair pairs[3];
    int32_t n = 0;
    const char *const keys[] = {OCI_SPILL_VERSION_KEY, OCI_SPILL_LAYOUT_KEY, OCI_SPILL_SCHEMA_KEY};
    const char *const values[] = {version, letters, logical};
    for (int i = 0; i < 3; i++) {
        if (values[i] != NULL) {
            pairs[n++] = (oci_metadata_pair){keys[i], values[i], (int64_t)strlen(values[i])};
        }
    }
    char *metadata;
    int64_t bytes;
    oci_schema *copy;
    oci_spill_layout *parsed = NULL;
    oci_field *fields = calloc((size_t)physical->n_fields, sizeof *fields);
    assert_non_null(fields);
    for (int32_t i = 0; i < physical->n_fields; i++) {
        assert_int_equal(oci_field_copy(&physical->fields[i], &fields[i], NULL), OC_OK);
    }
    assert_int_equal(oci_metadata_build(pairs, n, &metadata, &bytes, NULL), OC_OK);
    assert_int_equal(oci_schema_create(fields, physical->n_fields, metadata, bytes, &copy, NULL),
                     OC_OK);
    oc_status status = oci_spill_layout_parse(copy, NULL, &parsed, err);
    oci_spill_layout_destroy(parsed);
    oci_schema_release(copy);
    return status;
}

static void metadata_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    const char *columns[] = {"a=i", "s=u"};
    oci_schema *schema = make_schema(columns, 2);
    oci_spill_layout *layout = make_layout(schema, OCI_COLUMN_PACKED);
    oci_schema *physical = oci_spill_layout_physical(layout);
    const char *value;
    int64_t size;
    char logical[4096] = "";
    assert_true(oci_metadata_find(physical->metadata, physical->metadata_bytes,
                                  OCI_SPILL_SCHEMA_KEY, &value, &size));
    assert_true(size < (int64_t)sizeof logical);
    memcpy(logical, value, (size_t)size);
    oc_error err = {0};
    assert_int_equal(parse_with(physical, "1", "kk", logical, &err), OC_OK);
    assert_int_equal(parse_with(physical, "2", "kk", logical, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "version 2"));
    assert_int_equal(parse_with(physical, "1", "kx", logical, &err), OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "\"s\""));
    assert_int_equal(parse_with(physical, "1", "k", logical, &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "kkk", logical, &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", NULL, logical, &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "kk", NULL, &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "kk", "", &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "kk", "AAAA", &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "kk", "nonsense!", &err), OC_EDATA);
    assert_int_equal(parse_with(physical, "1", "lk", logical, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "\"a\" is no string"));
    assert_int_equal(parse_with(physical, "1", "pk", logical, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "\"a\" is not laid out"));
    assert_int_equal(parse_with(physical, "1", "kl", logical, &err), OC_EDATA);
    for (int64_t cut = 4; cut < size; cut += 4) {
        logical[size - cut] = '\0';
        oc_status status = parse_with(physical, "1", "kk", logical, &err);
        assert_true(status == OC_EDATA || status == OC_EUNSUPPORTED);
    }
    oci_spill_layout_destroy(layout);
    oci_schema_release(schema);
}

/* ---- there and back -------------------------------------------------------------------------- */

static void check_format(const char *format, oci_column_layout choice)
{
    static const int64_t lengths[] = {0, 1, 3, 64, 1000};
    fixture f;
    set_up(&f);
    for (int variant = 0; variant < 20; variant++) {
        arrow_maker maker = {.seed = (uint64_t)variant + 1,
                             .length = lengths[variant % 5],
                             .null_percent = variant % 4 * 33,
                             .distinct = variant % 3 * 3,
                             .offset = variant % 7 * 3,
                             .garbage = variant % 2 == 1,
                             .unaligned = variant % 5 == 4,
                             .hide_null_count = variant % 3 == 1,
                             .always_validity = variant % 6 == 5};
        oci_batch *batch = make_column_batch(format, &maker);
        check_batch(&f, batch, choice);
        if (batch->length > 10) {
            oci_batch *slice;
            assert_int_equal(oci_batch_slice(batch, 5, batch->length - 8, &slice, NULL), OC_OK);
            check_batch(&f, slice, choice);
            oci_batch_release(slice);
        }
        oci_batch_release(batch);
    }
    tear_down(&f);
}

static void strings_come_back_from_lengths(void **state)
{
    (void)state;
    check_format("u", OCI_COLUMN_LENGTHS);
    check_format("U", OCI_COLUMN_LENGTHS);
    check_format("z", OCI_COLUMN_LENGTHS);
    check_format("Z", OCI_COLUMN_LENGTHS);
}

static void every_type_comes_back_from_its_packed_form(void **state)
{
    (void)state;
    for (int32_t i = 0; i < arrow_maker_n_formats; i++) {
        check_format(arrow_maker_formats[i], OCI_COLUMN_PACKED);
    }
    for (int32_t i = 0; i < arrow_maker_n_nested_formats; i++) {
        check_format(arrow_maker_nested_formats[i], OCI_COLUMN_PACKED);
    }
}

static void null_slots_have_length_0_whatever_they_hold(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    arrow_maker maker = {.seed = 3, .length = 500, .null_percent = 60, .garbage = true};
    oci_batch *batch = make_column_batch("u", &maker);
    oci_spill_layout *layout = make_layout(batch->schema, OCI_COLUMN_LENGTHS);
    oci_batch *physical = encode(&f, layout, batch);
    const oci_column *column = &physical->columns[0];
    const oci_column *run = &column->children[1];
    int64_t sum = 0;
    for (int64_t row = 0; row < 500; row++) {
        int32_t length = (int32_t)oci_load_le32(column->children[0].values + 4 * row);
        bool is_null = oci_column_is_null(&batch->columns[0], row);
        assert_int_equal(oci_column_is_null(column, row), is_null);
        assert_true(!is_null || length == 0);
        sum += length;
    }
    int64_t size;
    (void)oci_column_bytes_at(&run->children[1], 0, &size);
    assert_int_equal(size, sum);
    assert_int_equal(run->children[0].length, 1);
    assert_int_equal(oci_load_le32(run->children[0].values), 500);
    oci_spill_layout_give_back(physical, &f.from);
    oci_spill_layout_destroy(layout);
    oci_batch_release(batch);
    tear_down(&f);
}

static void a_batch_of_no_rows_has_no_runs(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    arrow_maker maker = {.seed = 1};
    for (int choice = OCI_COLUMN_LENGTHS; choice <= OCI_COLUMN_PACKED; choice++) {
        oci_batch *batch = make_column_batch("u", &maker);
        oci_spill_layout *layout = make_layout(batch->schema, (oci_column_layout)choice);
        oci_batch *physical = encode(&f, layout, batch);
        const oci_column *run = &physical->columns[0];
        run = choice == OCI_COLUMN_LENGTHS ? &run->children[1] : run;
        assert_int_equal(run->length, 0);
        assert_int_equal(run->children[0].length, 0);
        assert_int_equal(run->children[1].length, 0);
        oci_spill_layout_give_back(physical, &f.from);
        oci_spill_layout_destroy(layout);
        oci_batch_release(batch);
    }
    tear_down(&f);
}

/* Offsets just below 2^31, in a value buffer of which only the end was ever touched. */
static void offsets_near_their_end_come_back(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    size_t size = (size_t)INT32_MAX + 1;
    uint8_t *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(bytes, MAP_FAILED);
    memcpy(bytes + size - 6, "abcdef", 6);
    int32_t offsets[] = {INT32_MAX - 5, INT32_MAX - 2, INT32_MAX - 2, INT32_MAX};
    const char *columns[] = {"s=u"};
    oci_schema *schema = make_schema(columns, 1);
    oci_column *column = calloc(1, sizeof *column);
    assert_non_null(column);
    *column = (oci_column){.field = &schema->fields[0],
                           .length = 3,
                           .values = (const uint8_t *)offsets,
                           .bytes = bytes};
    oci_batch *batch;
    assert_int_equal(oci_batch_adopt(schema, 3, column, NULL, NULL, 0, NULL, 0, &batch, NULL),
                     OC_OK);
    check_batch(&f, batch, OCI_COLUMN_LENGTHS);
    check_batch(&f, batch, OCI_COLUMN_PACKED);
    oci_batch_release(batch);
    oci_schema_release(schema);
    munmap(bytes, size);
    tear_down(&f);
}

static void offsets_that_do_not_ascend_are_refused(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    arrow_maker maker = {.seed = 3, .length = 50};
    oci_batch *batch = make_column_batch("u", &maker);
    oci_spill_layout *layout = make_layout(batch->schema, OCI_COLUMN_LENGTHS);
    uint8_t *offsets = (uint8_t *)(uintptr_t)batch->columns[0].values;
    oci_store_le32(offsets + 4 * 20, (uint32_t)-7);
    oci_batch *physical = NULL;
    oc_error err = {0};
    assert_int_equal(oci_spill_layout_encode(layout, NULL, batch, &f.from, &physical, &err),
                     OC_EDATA);
    assert_non_null(strstr(err.message, "\"a\""));
    oci_spill_layout_destroy(layout);
    oci_batch_release(batch);
    tear_down(&f);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* Decodes what `spoil` did to a physical batch of 50 strings. */
static void check_refused(oci_column_layout choice, void (*spoil)(oci_column *column))
{
    fixture f;
    set_up(&f);
    arrow_maker maker = {.seed = 3, .length = 50, .null_percent = 10};
    oci_batch *batch = make_column_batch("u", &maker);
    oci_spill_layout *layout = make_layout(batch->schema, choice);
    oci_batch *physical = encode(&f, layout, batch);
    spoil(&physical->columns[0]);
    oci_batch *back = NULL;
    oc_error err = {0};
    assert_int_equal(
        oci_spill_layout_decode(layout, oci_batch_retain(physical), f.mem, &back, &err), OC_EDATA);
    assert_null(back);
    assert_non_null(strstr(err.message, "column \"a\""));
    oci_spill_layout_give_back(physical, &f.from);
    oci_spill_layout_destroy(layout);
    oci_batch_release(batch);
    tear_down(&f);
}

static oci_column *child_of(const oci_column *column, int i)
{
    return (oci_column *)&column->children[i];
}

static void negate_a_length(oci_column *column)
{
    uint8_t *lengths = (uint8_t *)(uintptr_t)column->children[0].values;
    oci_store_le32(lengths + 4 * 7, (uint32_t)-1);
}

static void lengthen_a_length(oci_column *column)
{
    uint8_t *lengths = (uint8_t *)(uintptr_t)column->children[0].values;
    oci_store_le32(lengths + 4 * 7, oci_load_le32(lengths + 4 * 7) + 1);
}

static void take_lengths_away(oci_column *column)
{
    child_of(column, 0)->length--;
}

static void take_bytes_away(oci_column *column)
{
    oci_column *value = child_of(child_of(column, 1), 1);
    uint8_t *offsets = (uint8_t *)(uintptr_t)value->values;
    oci_store_le32(offsets + 4, oci_load_le32(offsets + 4) - 1);
}

static void shorten_the_run_of_bytes(oci_column *column)
{
    uint8_t *end = (uint8_t *)(uintptr_t)child_of(column, 1)->children[0].values;
    oci_store_le32(end, 49);
}

static void take_the_run_of_bytes_away(oci_column *column)
{
    child_of(child_of(column, 1), 0)->length = 0;
}

static void lengths_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    check_refused(OCI_COLUMN_LENGTHS, negate_a_length);
    check_refused(OCI_COLUMN_LENGTHS, lengthen_a_length);
    check_refused(OCI_COLUMN_LENGTHS, take_lengths_away);
    check_refused(OCI_COLUMN_LENGTHS, take_bytes_away);
    check_refused(OCI_COLUMN_LENGTHS, shorten_the_run_of_bytes);
    check_refused(OCI_COLUMN_LENGTHS, take_the_run_of_bytes_away);
}

static void shorten_the_run(oci_column *column)
{
    uint8_t *end = (uint8_t *)(uintptr_t)column->children[0].values;
    oci_store_le32(end, 0);
}

static void take_the_run_away(oci_column *column)
{
    child_of(column, 0)->length = 0;
}

static void take_a_value_away(oci_column *column)
{
    child_of(child_of(column, 1), 1)->length = 0;
}

static void cut_the_packed_stream(oci_column *column)
{
    uint8_t *offsets = (uint8_t *)(uintptr_t)child_of(column, 1)->children[0].values;
    oci_store_le32(offsets + 4, oci_load_le32(offsets + 4) - 8);
}

/* The bytes begin one later: all are there but one. */
static void cut_the_bytes(oci_column *column)
{
    uint8_t *offsets = (uint8_t *)(uintptr_t)child_of(column, 1)->children[1].values;
    oci_store_le32(offsets, 1);
}

static void streams_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    check_refused(OCI_COLUMN_PACKED, shorten_the_run);
    check_refused(OCI_COLUMN_PACKED, take_the_run_away);
    check_refused(OCI_COLUMN_PACKED, take_a_value_away);
    check_refused(OCI_COLUMN_PACKED, cut_the_packed_stream);
    check_refused(OCI_COLUMN_PACKED, cut_the_bytes);
}

static void what_is_left_of_a_stream_is_refused(void **state)
{
    (void)state;
    fixture f;
    set_up(&f);
    arrow_maker maker = {.seed = 3, .length = 50};
    oci_batch *batch = make_column_batch("l", &maker);
    oci_spill_layout *layout = make_layout(batch->schema, OCI_COLUMN_PACKED);
    oci_batch *physical = encode(&f, layout, batch);
    oci_column *values = child_of(&physical->columns[0], 1);
    int64_t size;
    const uint8_t *stream = oci_column_bytes_at(values, 0, &size);
    uint8_t *longer = calloc(1, (size_t)size + 16);
    assert_non_null(longer);
    memcpy(longer, stream, (size_t)size);
    values->bytes = longer;
    uint8_t *offsets = (uint8_t *)(uintptr_t)values->values;
    oci_store_le32(offsets, 0);
    oci_store_le32(offsets + 4, (uint32_t)size + 8);
    oci_batch *back = NULL;
    oc_error err = {0};
    assert_int_equal(
        oci_spill_layout_decode(layout, oci_batch_retain(physical), f.mem, &back, &err), OC_EDATA);
    assert_non_null(strstr(err.message, "8 bytes lie behind its end"));
    oci_spill_layout_give_back(physical, &f.from);
    free(longer);
    oci_spill_layout_destroy(layout);
    oci_batch_release(batch);
    tear_down(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_become_lengths_and_bytes),
        cmocka_unit_test(packed_columns_are_one_run_of_their_streams),
        cmocka_unit_test(a_schema_message_leads_back_to_its_layout),
        cmocka_unit_test(foreign_schemas_are_plain),
        cmocka_unit_test(metadata_that_lead_nowhere_are_refused),
        cmocka_unit_test(strings_come_back_from_lengths),
        cmocka_unit_test(every_type_comes_back_from_its_packed_form),
        cmocka_unit_test(null_slots_have_length_0_whatever_they_hold),
        cmocka_unit_test(a_batch_of_no_rows_has_no_runs),
        cmocka_unit_test(offsets_near_their_end_come_back),
        cmocka_unit_test(offsets_that_do_not_ascend_are_refused),
        cmocka_unit_test(lengths_that_do_not_fit_are_refused),
        cmocka_unit_test(streams_that_do_not_fit_are_refused),
        cmocka_unit_test(what_is_left_of_a_stream_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
