/* The reader against what the writer writes: whole or in slices, from files and pipes, and
 * damaged in every way. */
#include "ipc/reader_test_support.h"

#include <unistd.h>

#include "support/big_endian.h"

/* ---- tests ----------------------------------------------------------------------------------- */

/* Flat and nested ones, by number. */
static const char *format_of(int32_t i)
{
    return i < arrow_maker_n_formats ? arrow_maker_formats[i]
                                     : arrow_maker_nested_formats[i - arrow_maker_n_formats];
}

static int32_t n_formats(void)
{
    return arrow_maker_n_formats + arrow_maker_n_nested_formats;
}

/* One batch of all formats, read whole (a large limit) and in slices (a small one). */
static void all_types_come_back_whole_and_in_slices(void **state)
{
    (void)state;
    const char *columns[256];
    int32_t n = n_formats();
    assert_true(n <= 256);
    for (int32_t i = 0; i < n; i++) {
        columns[i] = format_of(i);
    }
    arrow_maker maker = {
        .seed = 3, .length = 1200, .null_percent = 10, .garbage = true, .offset = 3};
    oci_batch *batch = make_batch(columns, n, &maker);
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 2 * 3 * 2 * 2; k++) {
        byte_sink bytes;
        bool is_file = k % 2 == 1;
        int64_t piece = pieces[2 * (k / 2 % 2)];
        bool in_slices = k / 4 % 2 == 1;
        write_one(batch, is_file, codecs[k / 8], &bytes);
        fixture f;
        open_fixture(&f, in_slices ? 16 * MIB : 256 * MIB); /* all slices are kept */
        f.env.batch_rows = 500;
        read_bytes(&f, &bytes, piece, true, r);
        check_ok(r);
        check_rows(r, batch);
        assert_true(in_slices ? r->n > 3 : r->n == 3); /* of 500 rows at most */
        release_result(r);
        close_fixture(&f);
        free(bytes.data);
    }
    free(r);
    oci_batch_release(batch);
}

/* Each type alone, with few and many nulls, in slices that begin at odd rows. */
static void every_type_is_cut_right(void **state)
{
    (void)state;
    uint64_t random = 5;
    read_result *r = calloc(1, sizeof *r);
    for (int32_t i = 0; i < n_formats(); i++) {
        bool is_nested = i >= arrow_maker_n_formats;
        arrow_maker maker = {.seed = (uint64_t)i,
                             .length = is_nested ? 3001 : 9001,
                             .null_percent = (int32_t)(next_random(&random) % 3) * 5,
                             .string_max = 60,
                             .garbage = true};
        oci_batch *batch = make_column_batch(format_of(i), &maker);
        byte_sink bytes;
        write_one(batch, true, codecs[i % 3], &bytes);
        fixture f;
        open_fixture(&f, is_nested ? 2 * MIB : MIB / 2); /* blocks of 32 and 16 KiB */
        f.env.batch_rows = 1 + (int64_t)(next_random(&random) % 3000);
        read_bytes(&f, &bytes, pieces[i / 3 % 4], true, r);
        check_ok(r);
        check_rows(r, batch);
        for (int32_t k = 0; k < r->n; k++) {
            assert_true(r->batches[k]->length <= f.env.batch_rows);
            assert_true(r->batches[k]->bytes <= 2 * oci_env_block_bytes(&f.env) + 4096);
        }
        release_result(r);
        close_fixture(&f);
        free(bytes.data);
        oci_batch_release(batch);
    }
    free(r);
}

/* The same from a big-endian machine: whole, in slices, compressed, through a pipe. */
static void big_endian_input_is_read_to_the_same_values(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    for (int32_t i = 0; i < n_formats(); i++) {
        arrow_maker maker = {
            .seed = (uint64_t)i, .length = 1501, .null_percent = 10, .garbage = true};
        oci_batch *batch = make_column_batch(format_of(i), &maker);
        for (int k = 0; k < 2; k++) {
            bool is_file = (i + k) % 2 == 0;
            byte_sink bytes, turned;
            write_one(batch, is_file, codecs[(i + k) % 3], &bytes);
            big_endian_copy(&bytes, &turned);
            fixture f;
            open_fixture(&f, k == 0 ? 64 * MIB : MIB); /* blocks of 1 MiB and 16 KiB */
            f.env.batch_rows = 1001;
            read_bytes(&f, &turned, pieces[i / 3 % 4], true, r);
            check_ok(r);
            check_rows(r, batch);
            release_result(r);
            close_fixture(&f);
            free(bytes.data);
            free(turned.data);
        }
        oci_batch_release(batch);
    }
    free(r);
}

/* What a slice promises: its own offsets from 0, no validity where nothing is null, one slab. */
static void slices_are_compact(void **state)
{
    (void)state;
    const char *columns[] = {"a=u", "b=l", "c=b", "d=vu"};
    arrow_maker maker = {.seed = 8, .length = 5000};
    oci_batch *batch = make_batch(columns, 4, &maker);
    byte_sink bytes;
    write_one(batch, true, OCI_CODEC_NONE, &bytes);
    read_result *r = calloc(1, sizeof *r);
    fixture f;
    open_fixture(&f, MIB);
    read_bytes(&f, &bytes, 0, true, r);
    check_ok(r);
    assert_true(r->n > 5);
    for (int32_t k = 0; k < r->n; k++) {
        const oci_batch *slice = r->batches[k];
        assert_int_equal(slice->head_bytes, 0);
        assert_non_null(slice->slab);
        assert_true(slice->slab_bytes <= oci_env_block_bytes(&f.env));
        assert_true(k == r->n - 1 || slice->slab_bytes >= oci_env_block_bytes(&f.env) / 2);
        for (int32_t i = 0; i < 4; i++) {
            assert_int_equal(slice->columns[i].offset, 0);
            assert_null(slice->columns[i].validity);
        }
        assert_int_equal(oci_load_le32(slice->columns[0].values), 0);
        assert_true(slice->columns[3].n_view_buffers <= 1);
    }
    release_result(r);
    close_fixture(&f);
    free(r);
    free(bytes.data);
    oci_batch_release(batch);
}

/* No scratch file is needed for these, as the folder that is not there shows. */
static void large_bodies_are_cut_from_memory_while_there_is_plenty(void **state)
{
    (void)state;
    const char *columns[] = {"a=u", "b=vu", "c=l", "d=s>u", "e=b", "f=U"};
    arrow_maker maker = {.seed = 8, .length = 20000, .null_percent = 5, .string_max = 150};
    oci_batch *batch = make_batch(columns, 6, &maker);
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 6; k++) {
        byte_sink bytes;
        write_one(batch, false, codecs[k / 2], &bytes);
        fixture f;
        open_fixture(&f, 128 * MIB);
        f.env.batch_rows = 8192;
        oci_ipc_read_options options = {.temp_dir = "no/such/folder"};
        read_all(&f, byte_file_open(bytes.data, bytes.size, k % 2 == 0 ? 0 : 65536), &options, true,
                 r);
        check_ok(r);
        check_rows(r, batch);
        for (int32_t i = 0; i < r->n; i++) {
            assert_true(r->batches[i]->slab_bytes <= oci_env_block_bytes(&f.env));
        }
        release_result(r);
        close_fixture(&f);
        open_fixture(&f, 4 * MIB);
        read_all(&f, byte_file_open(bytes.data, bytes.size, 65536), &options, false, r);
        assert_int_equal(r->status, OC_EIO);
        close_fixture(&f);
        free(bytes.data);
    }
    free(r);
    oci_batch_release(batch);
}

static void a_row_beyond_the_block_comes_alone_and_one_beyond_the_limit_is_refused(void **state)
{
    (void)state;
    const char *columns[] = {"a=U", "b=vz"};
    arrow_maker maker = {.seed = 1, .length = 3, .string_max = 4000000};
    oci_batch *batch = make_batch(columns, 2, &maker);
    byte_sink bytes;
    write_one(batch, false, OCI_CODEC_LZ4_FRAME, &bytes);
    read_result *r = calloc(1, sizeof *r);
    fixture f;
    open_fixture(&f, 64 * MIB);
    read_bytes(&f, &bytes, 5000, true, r);
    check_ok(r);
    check_rows(r, batch);
    release_result(r);
    close_fixture(&f);
    open_fixture(&f, 256 * 1024);
    read_bytes(&f, &bytes, 5000, false, r);
    assert_int_equal(r->status, OC_EBUDGET);
    assert_non_null(strstr(r->err.message, "file \"memory\", record batch 0"));
    close_fixture(&f);
    free(r);
    free(bytes.data);
    oci_batch_release(batch);
}

/* ---- damage ---------------------------------------------------------------------------------- */

/* A file of two batches with strings, views, nulls, dictionaries and nested columns; with `rows` a
 * few, all of it is a few KiB. */
static void make_small(int64_t rows, bool is_file, oci_codec_id codec, byte_sink *out)
{
    const char *columns[] = {"a=u", "b=vu",      "c=l",        "d=c>u",
                             "e=b", "f=+l(c>u)", "g=+r(i; u)", "h=+vl(+ud:0,1(i; vu))"};
    oci_batch *batches[2];
    for (int i = 0; i < 2; i++) {
        arrow_maker maker = {
            .seed = 4, .length = rows, .first_row = i * rows, .null_percent = 20, .distinct = 10};
        batches[i] = make_batch(columns, 8, &maker);
    }
    write_batches(batches, 2, is_file, codec, out);
    oci_batch_release(batches[0]);
    oci_batch_release(batches[1]);
}

/* Reads something damaged: an error of the kinds for damage, or right in its form. */
static void read_damaged(const uint8_t *data, int64_t size, int64_t piece, int64_t limit,
                         read_result *r)
{
    fixture f;
    open_fixture(&f, limit);
    byte_sink bytes = {.data = (uint8_t *)(uintptr_t)data, .size = size};
    read_bytes(&f, &bytes, piece, false, r);
    if (r->status != OC_OK && r->status != OC_EDATA && r->status != OC_EUNSUPPORTED &&
        r->status != OC_EBUDGET) {
        fail_msg("unexpected status %s: %s", oc_status_name(r->status), r->err.message);
    }
    assert_true(oci_budget_peak(f.budget) <= limit);
    close_fixture(&f);
}

static void truncation_at_any_byte_is_reported(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 4; k++) {
        bool is_file = k % 2 == 1;
        byte_sink bytes;
        make_small(20, is_file, k < 2 ? OCI_CODEC_NONE : OCI_CODEC_ZSTD, &bytes);
        int32_t n_good = 0;
        for (int64_t size = 0; size < bytes.size; size++) {
            read_damaged(bytes.data, size, size % 2 == 0 ? 0 : 1000, MIB, r);
            if (r->status == OC_OK) {
                /* A stream may end between two messages. */
                assert_false(is_file);
                n_good++;
            } else {
                assert_non_null(strstr(r->err.message, "memory"));
            }
        }
        /* After the schema, the dictionaries, each batch; with other dictionaries between them. */
        assert_true(is_file ? n_good == 0 : n_good >= 5 && n_good <= 8);
        free(bytes.data);
    }
    free(r);
}

static void any_flipped_byte_is_an_error_or_harmless(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    uint64_t random = 1;
    for (int k = 0; k < 6; k++) {
        byte_sink bytes;
        make_small(20, k % 2 == 1, codecs[k / 2], &bytes);
        for (int64_t i = k % 4; i < bytes.size; i += 4) {
            uint8_t old = bytes.data[i];
            bytes.data[i] = (uint8_t)(i % 3 == 0 ? old ^ 0xFFu : next_random(&random));
            read_damaged(bytes.data, bytes.size, i % 2 == 0 ? 0 : 1000, MIB, r);
            bytes.data[i] = old;
        }
        free(bytes.data);
    }
    free(r);
}

/* The same on batches that are cut into slices and staged; most bytes are values there, so it is
 * sampled. */
static void flipped_bytes_in_large_batches_are_errors_or_harmless(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    uint64_t random = 7;
    for (int k = 0; k < 6; k++) {
        byte_sink bytes;
        make_small(1500, k % 2 == 1, codecs[k / 2], &bytes);
        for (int n = 0; n < 600; n++) {
            int64_t i = (int64_t)(next_random(&random) % (uint64_t)bytes.size);
            /* Half of the hits in the metadata at the start, offsets and views follow soon
             * after. */
            i = n % 2 == 0 ? i % oci_min64(bytes.size, 4000) : i;
            uint8_t old = bytes.data[i];
            bytes.data[i] = (uint8_t)next_random(&random);
            read_damaged(bytes.data, bytes.size, n % 3 == 0 ? 5000 : 0, MIB / 2, r);
            bytes.data[i] = old;
        }
        free(bytes.data);
    }
    free(r);
}

static void rows_of_which_nothing_is_there_are_not_believed(void **state)
{
    (void)state;
    const char *columns[] = {"a=n"};
    oci_schema *schema = make_schema(columns, 1);
    oci_column *nulls = calloc(1, sizeof *nulls);
    *nulls =
        (oci_column){.field = &schema->fields[0], .length = 0x123456789, .null_count = 0x123456789};
    oci_batch *batch = NULL;
    assert_int_equal(
        oci_batch_adopt(schema, nulls->length, nulls, NULL, NULL, 0, NULL, 0, &batch, NULL), OC_OK);
    byte_sink bytes;
    write_one(batch, false, OCI_CODEC_NONE, &bytes);
    read_result *r = calloc(1, sizeof *r);
    fixture f;
    open_fixture(&f, MIB);
    read_bytes(&f, &bytes, 0, false, r);
    assert_int_equal(r->status, OC_EDATA);
    assert_int_equal(r->rows, 0);
    close_fixture(&f);
    free(r);
    free(bytes.data);
    oci_batch_release(batch);
    oci_schema_release(schema);
}

static void a_missing_byte_is_an_error_or_harmless(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 2; k++) {
        byte_sink bytes;
        make_small(20, k % 2 == 1, OCI_CODEC_NONE, &bytes);
        uint8_t *shorter = malloc((size_t)bytes.size);
        for (int64_t i = k; i < bytes.size; i += 3) {
            memcpy(shorter, bytes.data, (size_t)i);
            memcpy(shorter + i, bytes.data + i + 1, (size_t)(bytes.size - i - 1));
            read_damaged(shorter, bytes.size - 1, i % 2 == 0 ? 0 : 1000, MIB, r);
        }
        free(shorter);
        free(bytes.data);
    }
    free(r);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static const char *write_temp(const byte_sink *bytes)
{
    static char path[] = "reader_test.arrow.tmp";
    oci_file *file = NULL;
    assert_int_equal(oci_open(oci_posix_io(), path, OCI_OPEN_CREATE, &file, NULL), OC_OK);
    assert_int_equal(oci_write(file, bytes->data, bytes->size, NULL), OC_OK);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    return path;
}

/* One pass over a real file with faults in the seams. */
static oc_status read_with_faults(oci_fault_plan *plan, const char *path, read_result *r)
{
    fixture f;
    r->n = 0;
    oc_status status = try_open_fixture(&f, MIB / 2, plan, &r->err);
    oci_file *file = NULL;
    if (status == OC_OK) {
        status = oci_open(f.env.io, path, OCI_OPEN_READ, &file, &r->err);
    }
    if (status == OC_OK) {
        oci_ipc_read_options options = {.temp_dir = "."};
        read_all(&f, file, &options, false, r);
        status = r->status;
    }
    close_fixture(&f);
    assert_int_equal(oci_fault_live_bytes(plan), 0);
    return status;
}

static void every_failing_operation_is_an_error_and_leaves_nothing_behind(void **state)
{
    (void)state;
    static const oci_fault_kind kinds[] = {OCI_FAULT_ALLOC, OCI_FAULT_OPEN, OCI_FAULT_READ,
                                           OCI_FAULT_WRITE};
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 4 * 2 * 4; k++) {
        byte_sink bytes;
        bool for_ever = k % 2 == 1;
        bool is_large = k / 2 % 2 == 1;
        make_small(is_large ? 1500 : 20, k / 4 % 2 == 1, is_large ? OCI_CODEC_ZSTD : OCI_CODEC_NONE,
                   &bytes);
        const char *path = write_temp(&bytes);
        oci_fault_plan *plan = oci_fault_plan_create();
        for (int64_t n = 1;; n++) {
            oci_fault_arm(plan, kinds[k / 8], n, for_ever);
            oc_status status = read_with_faults(plan, path, r);
            if (oci_fault_injected(plan) == 0) {
                assert_int_equal(status, OC_OK);
                assert_int_equal(r->rows, is_large ? 3000 : 40);
                break;
            }
            /* Memory that the system refuses may be had in another way. */
            assert_true(status != OC_OK || kinds[k / 8] == OCI_FAULT_ALLOC);
            if (status == OC_OK) {
                assert_int_equal(r->rows, is_large ? 3000 : 40);
            }
            assert_true(status == OC_OK || status == OC_ENOMEM || status == OC_EBUDGET ||
                        status == OC_EIO || status == OC_ENOSPC);
        }
        oci_fault_plan_destroy(plan);
        unlink(path);
        free(bytes.data);
    }
    free(r);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void cancel_ends_the_reading(void **state)
{
    (void)state;
    byte_sink bytes;
    make_small(1500, false, OCI_CODEC_NONE, &bytes);
    fixture f;
    open_fixture(&f, MIB / 2);
    oci_stream *stream = NULL;
    oci_batch *batch = NULL;
    assert_int_equal(oci_ipc_reader_open(&f.env, byte_file_open(bytes.data, bytes.size, 0), NULL,
                                         f.mem, &stream, NULL),
                     OC_OK);
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_OK);
    oci_batch_release(batch);
    atomic_store(&f.cancel, true);
    assert_int_equal(oci_stream_next(stream, &batch, NULL), OC_ECANCELED);
    oci_stream_close(stream);
    close_fixture(&f);
    free(bytes.data);
}

static void a_wanted_column_that_is_not_there_is_refused(void **state)
{
    (void)state;
    byte_sink bytes;
    make_small(20, true, OCI_CODEC_NONE, &bytes);
    fixture f;
    open_fixture(&f, MIB);
    int32_t columns[] = {0, 8};
    oci_ipc_read_options options = {.columns = columns, .n_columns = 2};
    oci_stream *stream = NULL;
    oc_error err = {0};
    assert_int_equal(oci_ipc_reader_open(&f.env, byte_file_open(bytes.data, bytes.size, 0),
                                         &options, f.mem, &stream, &err),
                     OC_EINVAL);
    assert_non_null(strstr(err.message, "column 8"));
    assert_null(stream);
    close_fixture(&f);
    free(bytes.data);
}

static void progress_ends_at_the_size_of_the_input(void **state)
{
    (void)state;
    read_result *r = calloc(1, sizeof *r);
    for (int k = 0; k < 8; k++) {
        byte_sink bytes;
        make_small(k / 4 == 0 ? 20 : 1500, k % 2 == 1, OCI_CODEC_ZSTD, &bytes);
        fixture f;
        open_fixture(&f, MIB / 2);
        _Atomic int64_t bytes_read = 0;
        oci_ipc_read_options options = {.bytes_read = &bytes_read};
        read_all(&f, byte_file_open(bytes.data, bytes.size, k / 2 % 2 == 0 ? 0 : 999), &options,
                 false, r);
        check_ok(r);
        assert_int_equal(bytes_read, bytes.size);
        close_fixture(&f);
        free(bytes.data);
    }
    free(r);
}

static void batches_outlive_the_reader(void **state)
{
    (void)state;
    byte_sink bytes;
    make_small(20, false, OCI_CODEC_LZ4_FRAME, &bytes);
    read_result *r = calloc(1, sizeof *r);
    fixture f;
    open_fixture(&f, MIB);
    read_bytes(&f, &bytes, 0, true, r);
    check_ok(r);
    free(bytes.data);
    assert_int_equal(r->n, 2);
    assert_int_equal(oci_batch_validate(r->batches[1], NULL), OC_OK);
    assert_true(oci_mem_held(f.mem) > 0);
    release_result(r);
    close_fixture(&f);
    free(r);
}

static void schema_is_read_without_a_budget(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        byte_sink bytes;
        make_small(20, k % 2 == 1, OCI_CODEC_NONE, &bytes);
        oci_file *file = byte_file_open(bytes.data, bytes.size, k / 2 == 0 ? 0 : 3);
        oci_schema *schema = NULL;
        assert_int_equal(oci_ipc_read_schema(file, &schema, NULL), OC_OK);
        assert_int_equal(schema->n_fields, 8);
        assert_string_equal(schema->fields[3].name, "d");
        oci_schema_release(schema);
        assert_int_equal(oci_close(file, NULL), OC_OK);
        free(bytes.data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_come_back_whole_and_in_slices),
        cmocka_unit_test(every_type_is_cut_right),
        cmocka_unit_test(big_endian_input_is_read_to_the_same_values),
        cmocka_unit_test(slices_are_compact),
        cmocka_unit_test(large_bodies_are_cut_from_memory_while_there_is_plenty),
        cmocka_unit_test(a_row_beyond_the_block_comes_alone_and_one_beyond_the_limit_is_refused),
        cmocka_unit_test(truncation_at_any_byte_is_reported),
        cmocka_unit_test(any_flipped_byte_is_an_error_or_harmless),
        cmocka_unit_test(flipped_bytes_in_large_batches_are_errors_or_harmless),
        cmocka_unit_test(rows_of_which_nothing_is_there_are_not_believed),
        cmocka_unit_test(a_missing_byte_is_an_error_or_harmless),
        cmocka_unit_test(every_failing_operation_is_an_error_and_leaves_nothing_behind),
        cmocka_unit_test(cancel_ends_the_reading),
        cmocka_unit_test(a_wanted_column_that_is_not_there_is_refused),
        cmocka_unit_test(progress_ends_at_the_size_of_the_input),
        cmocka_unit_test(batches_outlive_the_reader),
        cmocka_unit_test(schema_is_read_without_a_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
