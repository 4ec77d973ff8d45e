/* Unit tests of telling formats apart, by name and by first bytes; a pipe gives every byte again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/file_format.h"
#include "support/byte_file.h"

static void endings_of_names_tell_the_format(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        oc_format format;
    } names[] = {
        {"a.csv", OC_FORMAT_CSV},
        {"/x/y.z/a.TSV", OC_FORMAT_TSV},
        {"a.tbl", OC_FORMAT_TBL},
        {"a.b.arrow", OC_FORMAT_ARROW},
        {"a.feather", OC_FORMAT_ARROW},
        {"a.arrows", OC_FORMAT_ARROWS},
        {".csv", OC_FORMAT_CSV},
        {"a.jsonl", OC_FORMAT_NDJSON},
        /* No ending of files. */
        {"a.table", OC_FORMAT_AUTO},
        {"a.null", OC_FORMAT_AUTO},
        {"a.auto", OC_FORMAT_AUTO},
        {"a", OC_FORMAT_AUTO},
        {"", OC_FORMAT_AUTO},
        {"a.", OC_FORMAT_AUTO},
        {"/x.csv/a", OC_FORMAT_AUTO},
        {"a.csv/", OC_FORMAT_AUTO},
        {"csv", OC_FORMAT_AUTO},
        {"a.csv.gz", OC_FORMAT_AUTO},
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (oci_format_of_name(names[i].path) != names[i].format) {
            fail_msg("\"%s\" gave %d", names[i].path, (int)oci_format_of_name(names[i].path));
        }
    }
}

/* Looks at the content, then reads everything in pieces of `step`. */
static oc_format look_and_read(const char *bytes, int64_t size, int64_t piece, int64_t step)
{
    oci_file *file = byte_file_open((const uint8_t *)bytes, size, piece);
    oc_format format = OC_FORMAT_NULL;
    assert_int_equal(oci_format_of_content(&file, &format, NULL), OC_OK);
    char back[64];
    int64_t got = 0;
    for (;;) {
        int64_t n = -1;
        assert_int_equal(oci_read(file, back + got, step, &n, NULL), OC_OK);
        assert_true(n >= 0 && n <= step);
        if (n == 0) {
            break;
        }
        got += n;
    }
    assert_int_equal(got, size);
    assert_memory_equal(back, bytes, (size_t)size);
    assert_int_equal(oci_close(file, NULL), OC_OK);
    return format;
}

static void first_bytes_tell_the_format_and_are_not_lost(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int64_t size;
        oc_format format;
    } contents[] = {
        {"ARROW1\0\0more", 12, OC_FORMAT_ARROW},
        {"ARROW1", 6, OC_FORMAT_ARROW},
        {"ARROW", 5, OC_FORMAT_CSV},
        {"\xff\xff\xff\xff\x10\0\0\0x", 9, OC_FORMAT_ARROWS},
        {"\xff\xff\xff\xff", 4, OC_FORMAT_ARROWS},
        {"\xff\xff\xff", 3, OC_FORMAT_CSV},
        {"\x7c\x07\0\0\x10\0\0\0\0\0", 10, OC_FORMAT_ARROWS}, /* before Arrow 0.15 */
        {"a,b\n1,2\n3,4\n", 12, OC_FORMAT_CSV},
        {"\x1f\x8b\x08\0\0\0\0\0\0\x03", 10, OC_FORMAT_CSV}, /* the CSV reader says what it is */
        {"\xff\xfe"
         "a\0b\0",
         6, OC_FORMAT_CSV},
        {"x", 1, OC_FORMAT_CSV},
        {"", 0, OC_FORMAT_CSV},
    };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        /* 0: a file; else a pipe that gives so many bytes at once. */
        for (int64_t piece = 0; piece <= 9; piece++) {
            for (int64_t step = 1; step <= 13; step++) {
                assert_int_equal(look_and_read(contents[i].bytes, contents[i].size, piece, step),
                                 contents[i].format);
            }
        }
    }
}

/* Arrow with a byte changed must not be taken for rows of text. */
static void what_is_neither_arrow_nor_text_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        int64_t size;
    } contents[] = {
        {"ARROX1\0\0more", 12},
        {"\xff\xff\xfe\xff\x10\0\0\0x", 9},
        {"\x7c\x07\0\0\x10\0\0", 7},
        {"\x78\x07\0\0\x10\0\0\0\0\0", 10},
        {"\x7c\x07\0\0\x12\0\0\0\0\0", 10},
        {"\x0c\0\0\0\x10\0\0\0\0\0", 10},
    };
    for (size_t i = 0; i < sizeof contents / sizeof contents[0]; i++) {
        for (int64_t piece = 0; piece <= 9; piece++) {
            oci_file *file =
                byte_file_open((const uint8_t *)contents[i].bytes, contents[i].size, piece);
            oc_format format;
            oc_error err = {0};
            assert_int_equal(oci_format_of_content(&file, &format, &err), OC_EDATA);
            assert_null(file);
            assert_non_null(strstr(err.message, "format of \"memory\""));
        }
    }
}

static void a_pipe_that_was_looked_at_stays_a_pipe(void **state)
{
    (void)state;
    oci_file *file = byte_file_open((const uint8_t *)"a,b\n1,2\n", 8, 3);
    oc_format format;
    assert_int_equal(oci_format_of_content(&file, &format, NULL), OC_OK);
    assert_false(file->seekable);
    assert_string_equal(file->name, "memory");
    char buffer[4];
    int64_t n;
    oc_error err = {0};
    assert_int_equal(oci_pread(file, buffer, 4, 0, &n, &err), OC_EIO);
    assert_non_null(strstr(err.message, "it is a pipe"));
    assert_int_equal(oci_write(file, "x", 1, &err), OC_EIO);
    assert_int_equal(oci_pwrite(file, "x", 1, 0, NULL), OC_EIO);
    oci_discard(file, 0, 1);
    assert_int_equal(oci_read(file, buffer, 0, &n, NULL), OC_OK);
    assert_int_equal(n, 0);
    assert_int_equal(oci_close(file, NULL), OC_OK);
}

static void a_file_that_cannot_be_read_is_closed(void **state)
{
    (void)state;
    /* The writing end of a pipe. */
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    oci_file *file = NULL;
    const oci_io *io = oci_posix_io();
    assert_int_equal(io->wrap(io, fds[1], "the wrong end", &file, NULL), OC_OK);
    oc_format format;
    oc_error err = {0};
    assert_int_equal(oci_format_of_content(&file, &format, &err), OC_EIO);
    assert_null(file);
    assert_non_null(strstr(err.message, "the wrong end"));
    close(fds[0]);
    close(fds[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(endings_of_names_tell_the_format),
        cmocka_unit_test(first_bytes_tell_the_format_and_are_not_lost),
        cmocka_unit_test(what_is_neither_arrow_nor_text_is_refused),
        cmocka_unit_test(a_pipe_that_was_looked_at_stays_a_pipe),
        cmocka_unit_test(a_file_that_cannot_be_read_is_closed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
