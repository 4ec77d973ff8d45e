/* Unit tests of looking ahead: it tells whether there is more, and loses nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/peek.h"

/* A stream of batches without columns. */
typedef struct source {
    const int64_t *lengths; /* -1 = fails, 0 length = an empty batch */
    size_t n;
    size_t next;
    int released_batches;
    int released;
} source;

static void release_batch(struct ArrowArray *batch)
{
    source *from = batch->private_data;
    from->released_batches++;
    batch->release = NULL;
}

static int source_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    source *from = stream->private_data;
    *out = (struct ArrowArray){.release = NULL};
    if (from->next == from->n) {
        return 0;
    }
    int64_t length = from->lengths[from->next++];
    if (length < 0) {
        return 5;
    }
    *out = (struct ArrowArray){.length = length, .release = release_batch, .private_data = from};
    return 0;
}

static const char *source_get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the reason";
}

static void source_release(struct ArrowArrayStream *stream)
{
    source *from = stream->private_data;
    from->released++;
    stream->release = NULL;
}

static struct ArrowArrayStream stream_of(source *from)
{
    return (struct ArrowArrayStream){.get_next = source_get_next,
                                     .get_last_error = source_get_last_error,
                                     .release = source_release,
                                     .private_data = from};
}

/* Reads all; the sum of the lengths, or minus the error. */
static int64_t drain(struct ArrowArrayStream *stream)
{
    int64_t rows = 0;
    while (true) {
        struct ArrowArray batch;
        int code = stream->get_next(stream, &batch);
        if (code != 0) {
            return -code;
        }
        if (batch.release == NULL) {
            return rows;
        }
        rows += batch.length;
        batch.release(&batch);
    }
}

static void peek_tells_whether_there_is_more_and_keeps_all(void **state)
{
    (void)state;
    static const int64_t lengths[] = {2, 0, 3, 1};
    for (int64_t wanted = 0; wanted < 9; wanted++) {
        source from = {.lengths = lengths, .n = 4};
        oci_cli_peek peek;
        struct ArrowArrayStream stream = stream_of(&from);
        assert_int_equal(oci_cli_peek_rows(&peek, &stream, wanted), wanted < 6);
        assert_int_equal(drain(&stream), 6);
        stream.release(&stream);
        oci_cli_free_peek(&peek);
        assert_int_equal(from.released, 1);
        assert_int_equal(from.released_batches, 4);
    }
}

static void peek_passes_a_failure_on_after_the_rows_before_it(void **state)
{
    (void)state;
    static const int64_t lengths[] = {2, -1};
    source from = {.lengths = lengths, .n = 2};
    oci_cli_peek peek;
    struct ArrowArrayStream stream = stream_of(&from);
    struct ArrowArray batch;
    assert_false(oci_cli_peek_rows(&peek, &stream, 5));
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    assert_int_equal(batch.length, 2);
    batch.release(&batch);
    assert_int_equal(stream.get_next(&stream, &batch), 5);
    assert_string_equal(stream.get_last_error(&stream), "the reason");
    stream.release(&stream);
    oci_cli_free_peek(&peek);
}

static void peek_releases_what_nobody_took(void **state)
{
    (void)state;
    static const int64_t lengths[] = {1, 1, 1};
    source from = {.lengths = lengths, .n = 3};
    oci_cli_peek peek;
    struct ArrowArrayStream stream = stream_of(&from);
    assert_true(oci_cli_peek_rows(&peek, &stream, 2));
    stream.release(&stream);
    oci_cli_free_peek(&peek);
    assert_int_equal(from.released_batches, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peek_tells_whether_there_is_more_and_keeps_all),
        cmocka_unit_test(peek_passes_a_failure_on_after_the_rows_before_it),
        cmocka_unit_test(peek_releases_what_nobody_took),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
