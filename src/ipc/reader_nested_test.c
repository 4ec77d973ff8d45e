/* Nested columns read in slices: lists that jump, runs that cross, projections of trees, old and
 * damaged layouts. What is read whole is the measure for what is read in slices. */
#include "ipc/reader_test_support.h"

#include "ipc/layout_walk.h"
#include "ipc/message.h"
#include "support/big_endian.h"

/* ---- helpers --------------------------------------------------------------------------------- */

/* Where buffer `index` of the first record batch of a stream lies. */
static uint8_t *find_buffer(const byte_sink *bytes, int64_t index, int64_t *size)
{
    int64_t at = 0;
    for (;;) {
        int64_t metadata = 0;
        int prefix = 0;
        oci_message message;
        assert_int_equal(oci_frame_parse(bytes->data + at, &metadata, &prefix, NULL), OC_OK);
        assert_int_equal(oci_message_parse(bytes->data + at + prefix, metadata, &message, NULL),
                         OC_OK);
        at += prefix + metadata;
        if (message.kind == OCI_MESSAGE_BATCH) {
            oci_ipc_buffer buffer = oci_message_buffer(&message, index);
            *size = buffer.length;
            return bytes->data + at + buffer.offset;
        }
        at += message.body_bytes;
    }
}

static void read_at(const byte_sink *bytes, int64_t limit, int64_t piece, read_result *r)
{
    fixture f;
    open_fixture(&f, limit);
    f.env.batch_rows = 100000;
    read_bytes(&f, bytes, piece, false, r);
    close_fixture(&f);
}

/* The input, whatever is in it, gives the same rows in slices as it does whole. */
static void check_slices(const byte_sink *bytes, int64_t limit, int64_t rows, int32_t *n_slices)
{
    fixture whole, sliced;
    read_result *all = calloc(1, sizeof *all);
    read_result *r = calloc(1, sizeof *r);
    open_fixture(&whole, 256 * MIB);
    whole.env.batch_rows = 1000000;
    read_bytes(&whole, bytes, 0, true, all);
    check_ok(all);
    assert_int_equal(all->n, 1);
    open_fixture(&sliced, limit);
    sliced.env.batch_rows = rows;
    read_result *both[] = {all, r};
    for (int64_t piece = 0; piece < 2; piece++) {
        read_bytes(&sliced, bytes, piece * 5000, true, r);
        check_ok(r);
        check_rows(r, all->batches[0]);
        *n_slices = r->n;
        for (int32_t i = 0; i < r->n && r->batches[i]->length > 1; i++) {
            assert_true(r->batches[i]->bytes <= 2 * oci_env_block_bytes(&sliced.env) + 4096);
        }
        release_result(r);
    }
    close_fixture(&sliced);
    release_result(all);
    close_fixture(&whole);
    free(both[0]);
    free(both[1]);
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* What jumps above what is cut: the ranges of the inner columns go forward, back and overlap. */
static void columns_below_lists_that_jump_are_cut_right(void **state)
{
    (void)state;
    static const char *const formats[] = {"+vl(+r(l; u))",
                                          "+vL(+r(s; b))",
                                          "+vl(+vl(vu))",
                                          "+vl(+l(u))",
                                          "+vl(+ud:0,1(i; b))",
                                          "+ud:0,1(+r(i; i); u)",
                                          "+ud:0,1(+l(vu); +w:2(+r(i; b)))",
                                          "+w:2(+r(i; b))",
                                          "+l(+ud:0,1(u; +vl(b)))",
                                          "+r(i; +vl(i))",
                                          "+vl(+s(a=b; b=+L(c>u)))",
                                          "+us:0,1(+vl(u); +r(i; +l(i)))",
                                          "+vl(+w:0(i))",
                                          "+vl(+s())",
                                          "+vl(n)"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        for (int garbage = 0; garbage < 2; garbage++) {
            arrow_maker maker = {.seed = i,
                                 .length = 2001,
                                 .null_percent = 10,
                                 .string_max = 40,
                                 .garbage = garbage == 1};
            oci_batch *batch = make_column_batch(formats[i], &maker);
            byte_sink bytes;
            int32_t n = 0;
            write_one(batch, false, codecs[i % 3], &bytes);
            check_slices(&bytes, 16 * MIB, 97, &n);
            check_slices(&bytes, 4 * MIB, 5000, &n);
            free(bytes.data);
            oci_batch_release(batch);
        }
    }
}

static void columns_of_random_types_are_cut_right(void **state)
{
    (void)state;
    uint64_t random = 11;
    for (uint64_t i = 0; i < 60; i++) {
        char format[3000];
        arrow_make_column_text(i, 3, format, sizeof format);
        arrow_maker maker = {.seed = i,
                             .length = 1 + (int64_t)(next_random(&random) % 1200),
                             .null_percent = (int32_t)(i % 3) * 10,
                             .garbage = i % 2 == 0};
        oci_batch *batch = make_column_batch(format, &maker);
        byte_sink bytes, turned;
        int32_t n = 0;
        write_one(batch, i % 4 == 1, codecs[i % 3], &bytes);
        check_slices(&bytes, 4 * MIB, 1 + (int64_t)(next_random(&random) % 300), &n);
        big_endian_copy(&bytes, &turned);
        check_slices(&turned, 4 * MIB, 1 + (int64_t)(next_random(&random) % 300), &n);
        free(turned.data);
        free(bytes.data);
        oci_batch_release(batch);
    }
}

/* Every other list lies at the end of the values: two rows together would need all of them. */
static void few_rows_come_together_where_lists_lie_far_apart(void **state)
{
    (void)state;
    arrow_maker maker = {.seed = 2, .length = 40000};
    oci_batch *batch = make_column_batch("+vl(l)", &maker);
    byte_sink bytes;
    write_one(batch, false, OCI_CODEC_NONE, &bytes);
    int64_t offset_bytes = 0, size_bytes = 0, value_bytes = 0;
    uint8_t *offsets = find_buffer(&bytes, 1, &offset_bytes);
    uint8_t *sizes = find_buffer(&bytes, 2, &size_bytes);
    (void)find_buffer(&bytes, 4, &value_bytes);
    for (int64_t row = 0; row < 40000; row++) {
        uint32_t size = (uint32_t)(row % 3);
        oci_store_le32(sizes + 4 * row, size);
        oci_store_le32(offsets + 4 * row, row % 2 == 0 ? 0 : (uint32_t)(value_bytes / 8) - size);
    }
    /* The first 600 rows are as they may be. */
    for (int64_t row = 600; row < 40000; row++) {
        oci_store_le32(offsets + 4 * row, 0);
    }
    int32_t n = 0;
    assert_true(value_bytes > 64 * 1024);
    check_slices(&bytes, 4 * MIB, 100000, &n);
    /* Empty lists refer to nothing, so three rows go together. */
    assert_true(n >= 200 && n < 250);
    free(bytes.data);
    oci_batch_release(batch);
}

/* Runs far longer than a slice, between others of one row. */
static void long_runs_are_cut_at_any_row(void **state)
{
    (void)state;
    const char *columns[] = {"a=+r(l; u)", "b=l"};
    enum { ROWS = 40000 };
    arrow_maker maker = {.seed = 2, .length = ROWS};
    oci_batch *batch = make_batch(columns, 2, &maker);
    byte_sink bytes;
    write_one(batch, false, OCI_CODEC_NONE, &bytes);
    int64_t size = 0, end = 0;
    uint8_t *ends = find_buffer(&bytes, 1, &size);
    for (int64_t i = 0; i < size / 8; i++) {
        end = i % 5 == 0 && end + 9000 < ROWS - size / 8 ? end + 9000 : end + 1;
        oci_store_le64(ends + 8 * i, (uint64_t)(i == size / 8 - 1 ? ROWS : end));
    }
    int32_t n = 0;
    check_slices(&bytes, 4 * MIB, 1001, &n);
    assert_true(n >= 40);
    check_slices(&bytes, 8 * MIB, 100000, &n);
    assert_true(n > 2);
    free(bytes.data);
    oci_batch_release(batch);
}

/* ---- projection ------------------------------------------------------------------------------ */

static void a_projection_takes_whole_trees(void **state)
{
    (void)state;
    const char *columns[] = {"a=+l(+s(x=i; y=vu))", "b=+ud:0,1(c>u; +vl(b))", "c=vu", "d=c>+l(s>u)",
                             "e=+r(i; u)",          "f=+m(u; +l(vz))",        "g=n"};
    static const int32_t wanted[][4] = {{6, 5, 4, 3}, {1, 1, 0, 1}, {2, 5, 3, 2}, {4, 6, 3, 0}};
    arrow_maker maker = {.seed = 5, .length = 900, .null_percent = 10, .garbage = true};
    oci_batch *batch = make_batch(columns, 7, &maker);
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 4 * 2 * 2 * 3; k++) {
        const int32_t *indices = wanted[k % 4];
        byte_sink bytes, turned = {0};
        write_one(batch, k / 4 % 2 == 1, codecs[k / 16], &bytes);
        big_endian_copy(&bytes, &turned);
        const byte_sink *in = k % 3 == 0 ? &turned : &bytes;
        fixture f;
        open_fixture(&f, k / 8 % 2 == 0 ? 64 * MIB : 2 * MIB);
        oci_ipc_read_options options = {.columns = indices, .n_columns = 4};
        read_all(&f, byte_file_open(in->data, in->size, k % 5 == 0 ? 0 : 3000), &options, true, r);
        check_ok(r);
        int64_t at = 0;
        for (int32_t i = 0; i < r->n; i++) {
            for (int64_t row = 0; row < r->batches[i]->length; row++, at++) {
                for (int32_t c = 0; c < 4; c++) {
                    assert_true(oci_value_equal(&r->batches[i]->columns[c], row,
                                                &batch->columns[indices[c]], at));
                }
            }
        }
        assert_int_equal(at, batch->length);
        release_result(r);
        close_fixture(&f);
        free(bytes.data);
        free(turned.data);
    }
    free(r);
    oci_batch_release(batch);
}

/* ---- old unions ------------------------------------------------------------------------------ */

/* Adds the buffers of one column to those of a message of V4: unions get an empty validity, or one
 * with a null. */
static void add_v4_buffers(const oci_field *field, const oci_message *message,
                           oci_ipc_buffer *buffers, int64_t *n_buffers, int64_t *buffer,
                           int64_t *variadic)
{
    oci_node_shape shape = oci_node_shape_of(field, OCI_IPC_V5);
    int64_t n = shape.n_buffers;
    if (shape.has_views) {
        n += oci_message_variadic(message, (*variadic)++);
    }
    if (field->union_ids != NULL) {
        buffers[(*n_buffers)++] = (oci_ipc_buffer){0};
    }
    for (int64_t i = 0; i < n; i++) {
        buffers[(*n_buffers)++] = oci_message_buffer(message, (*buffer)++);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        add_v4_buffers(&field->children[i], message, buffers, n_buffers, buffer, variadic);
    }
}

static void put(byte_sink *out, const void *bytes, int64_t size)
{
    out->data = realloc(out->data, (size_t)(out->size + size) + 1);
    memcpy(out->data + out->size, bytes, (size_t)size);
    out->size += size;
}

/* The version is the first field of the root table. */
static void set_v4(uint8_t *metadata)
{
    int64_t table = oci_load_le32(metadata);
    int64_t vtable = table - (int32_t)oci_load_le32(metadata + table);
    int64_t offset = oci_load_le16(metadata + vtable + 4);
    assert_true(offset > 0);
    oci_store_le16(metadata + table + offset, 3);
}

/* A stream of one batch as a stream of V4; `nulls` are claimed by every union. */
static void copy_as_v4(const byte_sink *in, const oci_schema *schema, int64_t nulls, byte_sink *out)
{
    *out = (byte_sink){0};
    for (int64_t at = 0; at + 8 <= in->size;) {
        int64_t metadata = 0;
        int prefix = 0;
        oci_message message;
        assert_int_equal(oci_frame_parse(in->data + at, &metadata, &prefix, NULL), OC_OK);
        if (metadata == 0) {
            put(out, in->data + at, prefix);
            break;
        }
        assert_int_equal(oci_message_parse(in->data + at + prefix, metadata, &message, NULL),
                         OC_OK);
        if (message.kind != OCI_MESSAGE_BATCH) {
            put(out, in->data + at, prefix + metadata + message.body_bytes);
            at += prefix + metadata + message.body_bytes;
            continue;
        }
        oci_ipc_buffer buffers[64];
        oci_ipc_node nodes[64];
        int64_t variadics[8];
        int64_t n_buffers = 0, buffer = 0, variadic = 0;
        for (int32_t i = 0; i < schema->n_fields; i++) {
            add_v4_buffers(&schema->fields[i], &message, buffers, &n_buffers, &buffer, &variadic);
        }
        for (int64_t i = 0; i < message.n_nodes; i++) {
            nodes[i] = oci_message_node(&message, i);
        }
        nodes[0].null_count = nulls;
        for (int64_t i = 0; i < message.n_variadic; i++) {
            variadics[i] = oci_message_variadic(&message, i);
        }
        message.n_buffers = n_buffers;
        oci_bytes head;
        assert_int_equal(oci_message_build_batch(&message, nodes, buffers, variadics, &head, NULL),
                         OC_OK);
        set_v4(head.data + 8);
        put(out, head.data, head.size);
        free(head.data);
        at += prefix + metadata;
        put(out, in->data + at, message.body_bytes);
        at += message.body_bytes;
    }
}

static void unions_of_v4_are_read_without_their_validity(void **state)
{
    (void)state;
    const char *columns[] = {"a=+ud:0,1(i; vu)", "b=u", "c=+l(+us:0,1(b; +ud:0,1(u; i)))", "d=vu"};
    arrow_maker maker = {.seed = 5, .length = 3000, .null_percent = 10};
    oci_batch *batch = make_batch(columns, 4, &maker);
    byte_sink bytes, old;
    write_one(batch, false, OCI_CODEC_LZ4_FRAME, &bytes);
    copy_as_v4(&bytes, batch->schema, 0, &old);
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 4; k++) {
        fixture f;
        open_fixture(&f, k / 2 == 0 ? 64 * MIB : 2 * MIB);
        read_bytes(&f, &old, k % 2 * 1000, true, r);
        check_ok(r);
        check_rows(r, batch);
        release_result(r);
        close_fixture(&f);
    }
    free(old.data);
    copy_as_v4(&bytes, batch->schema, 3, &old);
    read_at(&old, 64 * MIB, 0, r);
    assert_int_equal(r->status, OC_EUNSUPPORTED);
    assert_non_null(strstr(r->err.message, "column \"a\" is a union with 3 nulls of its own"));
    free(old.data);
    free(bytes.data);
    free(r);
    oci_batch_release(batch);
}

/* ---- streams --------------------------------------------------------------------------------- */

/* Batches without rows at the start, in the middle and at the end; and rows without columns. */
static void empty_batches_and_rows_without_columns_come_through(void **state)
{
    (void)state;
    static const int64_t lengths[] = {0, 5, 0, 0, 7, 0};
    const char *columns[] = {"a=+l(+s(x=i; y=vu))", "b=+ud:0,1(c>u; +vl(b))", "c=+r(i; u)"};
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 2 * 2 * 2; k++) {
        oci_batch *batches[6];
        int32_t n_columns = k % 2 == 0 ? 3 : 0;
        for (int i = 0; i < 6; i++) {
            arrow_maker maker = {.seed = 1, .length = lengths[i], .distinct = 3};
            batches[i] = make_batch(columns, n_columns, &maker);
        }
        byte_sink bytes;
        write_batches(batches, 6, k / 2 % 2 == 1, codecs[k % 3], &bytes);
        fixture f;
        open_fixture(&f, k / 4 == 0 ? 64 * MIB : MIB);
        read_bytes(&f, &bytes, k % 3 == 0 ? 0 : 100, true, r);
        check_ok(r);
        assert_int_equal(r->n, 6);
        for (int i = 0; i < 6; i++) {
            assert_int_equal(r->batches[i]->length, lengths[i]);
            assert_int_equal(r->batches[i]->schema->n_fields, n_columns);
            oci_batch_release(batches[i]);
        }
        release_result(r);
        close_fixture(&f);
        free(bytes.data);
    }
    free(r);
}

/* One stream behind the other is one, whether the first has an end marker or not, and whatever
 * machine wrote each; each has its own dictionaries. */
static void streams_of_one_schema_are_read_as_one(void **state)
{
    (void)state;
    const char *columns[] = {"a=+l(c>u)", "b=i"};
    const char *others[] = {"a=+l(c>u)", "b=l"};
    arrow_maker maker = {.seed = 5, .length = 40, .null_percent = 10};
    arrow_maker all_maker = {.seed = 5, .length = 80, .null_percent = 10};
    oci_batch *batch = make_batch(columns, 2, &maker);
    maker.first_row = 40;
    oci_batch *second = make_batch(columns, 2, &maker);
    oci_batch *other = make_batch(others, 2, &maker);
    oci_batch *all = make_batch(columns, 2, &all_maker);
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 4; k++) {
        byte_sink a, b, turned, joined = {0};
        write_one(batch, false, OCI_CODEC_NONE, &a);
        write_one(k == 3 ? other : second, false, OCI_CODEC_NONE, &b);
        big_endian_copy(&b, &turned);
        put(&joined, a.data, k == 1 ? a.size - 8 : a.size);
        put(&joined, k == 2 ? turned.data : b.data, k == 2 ? turned.size : b.size);
        fixture f;
        open_fixture(&f, 64 * MIB);
        read_bytes(&f, &joined, k % 2 * 50, true, r);
        if (k == 3) {
            assert_int_equal(r->status, OC_EUNSUPPORTED);
        } else {
            check_ok(r);
            check_rows(r, all);
        }
        release_result(r);
        close_fixture(&f);
        free(a.data);
        free(b.data);
        free(turned.data);
        free(joined.data);
    }
    free(r);
    oci_batch_release(batch);
    oci_batch_release(second);
    oci_batch_release(other);
    oci_batch_release(all);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* Reads in slices and whole: both refuse, and say why. */
static void check_refused(const byte_sink *bytes, const char *part)
{
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 2; k++) {
        read_at(bytes, k == 0 ? MIB : 256 * MIB, 0, r);
        assert_int_equal(r->status, OC_EDATA);
        if (k == 0 && strstr(r->err.message, part) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", r->err.message, part);
        }
    }
    free(r);
}

static void make_stream(const char *format, int64_t rows, int32_t null_percent, byte_sink *out)
{
    arrow_maker maker = {.seed = 3, .length = rows, .null_percent = null_percent};
    oci_batch *batch = make_column_batch(format, &maker);
    write_one(batch, false, OCI_CODEC_NONE, out);
    oci_batch_release(batch);
}

static void what_steers_the_reading_of_slices_is_checked(void **state)
{
    (void)state;
    byte_sink bytes;
    int64_t size = 0;
    /* A run that ends before the last one, far into the file. */
    make_stream("+r(i; l)", 40000, 0, &bytes);
    uint8_t *ends = find_buffer(&bytes, 1, &size);
    oci_store_le32(ends + 4 * 5000, 3);
    check_refused(&bytes, "run 5000 ends at 3");
    free(bytes.data);
    /* Runs that end early. */
    make_stream("+r(i; l)", 40000, 0, &bytes);
    ends = find_buffer(&bytes, 1, &size);
    for (int64_t i = 0; i < size / 4; i++) {
        oci_store_le32(ends + 4 * i, (uint32_t)i + 1);
    }
    check_refused(&bytes, "runs end at row");
    free(bytes.data);
    /* Offsets, sizes and type ids that lead outside. */
    make_stream("+l(i)", 20000, 0, &bytes);
    oci_store_le32(find_buffer(&bytes, 1, &size) + 4 * 20000, 1 << 30);
    check_refused(&bytes, "do not fit");
    free(bytes.data);
    make_stream("+vl(i)", 20000, 0, &bytes);
    oci_store_le32(find_buffer(&bytes, 2, &size) + 4 * 15000, 1 << 30);
    check_refused(&bytes, "row 15000: list of 1073741824 values");
    free(bytes.data);
    make_stream("+ud:0,1(i; l)", 20000, 0, &bytes);
    find_buffer(&bytes, 0, &size)[15000] = 7;
    check_refused(&bytes, "row 15000: type id 7");
    free(bytes.data);
    make_stream("+ud:0,1(i; l)", 20000, 0, &bytes);
    oci_store_le32(find_buffer(&bytes, 1, &size) + 4 * 15000, UINT32_MAX);
    check_refused(&bytes, "row 15000: value -1");
    free(bytes.data);
    /* Offsets that step back within a slice. */
    make_stream("+l(i)", 20000, 0, &bytes);
    oci_store_le32(find_buffer(&bytes, 1, &size) + 4 * 100, 0);
    check_refused(&bytes, "");
    free(bytes.data);
}

/* Nulls that were counted wrong, in a child as well, also where none are told of. */
static void null_counts_are_held_against_the_bitmaps(void **state)
{
    (void)state;
    static const char *const formats[] = {"l", "+s(a=l)", "+w:2(l)", "+l(l)"};
    for (int i = 0; i < 4; i++) {
        byte_sink bytes;
        int64_t size = 0;
        make_stream(formats[i], 20000, 20, &bytes);
        /* The last bitmap: of the column itself, or of its child. */
        uint8_t *bits = find_buffer(&bytes, i == 0 ? 0 : i == 3 ? 2 : 1, &size);
        assert_true(size > 1000);
        bits[700] = (uint8_t)~bits[700];
        bits[701] = 0;
        check_refused(&bytes, "nulls where the message says");
        free(bytes.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_below_lists_that_jump_are_cut_right),
        cmocka_unit_test(columns_of_random_types_are_cut_right),
        cmocka_unit_test(few_rows_come_together_where_lists_lie_far_apart),
        cmocka_unit_test(long_runs_are_cut_at_any_row),
        cmocka_unit_test(a_projection_takes_whole_trees),
        cmocka_unit_test(unions_of_v4_are_read_without_their_validity),
        cmocka_unit_test(empty_batches_and_rows_without_columns_come_through),
        cmocka_unit_test(streams_of_one_schema_are_read_as_one),
        cmocka_unit_test(what_steers_the_reading_of_slices_is_checked),
        cmocka_unit_test(null_counts_are_held_against_the_bitmaps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
