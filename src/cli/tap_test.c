/* Unit tests of the tap: what a reader behind it sees of a stream that is written out here. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/tap.h"

/* A stream of batches without columns. */
typedef struct script {
    const int64_t *lengths; /* rows of each batch, -1 = the end, -2 = failure */
    int asked;              /* calls of get_next */
    bool released;
} script;

static int released_arrays_of_script;

static void release_array(struct ArrowArray *array)
{
    released_arrays_of_script++;
    array->release = NULL;
}

static int script_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    (void)stream, (void)out;
    return ENOTSUP;
}

static int script_get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    script *s = stream->private_data;
    int64_t length = s->lengths[s->asked++];
    *out = (struct ArrowArray){.length = length};
    if (length == -2) {
        return EIO;
    }
    if (length >= 0) {
        out->release = release_array;
    }
    return 0;
}

static const char *script_get_last_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return "the disk is gone";
}

static void script_release(struct ArrowArrayStream *stream)
{
    ((script *)stream->private_data)->released = true;
    stream->release = NULL;
}

static struct ArrowArrayStream open_script(script *s)
{
    released_arrays_of_script = 0;
    return (struct ArrowArrayStream){.get_schema = script_get_schema,
                                     .get_next = script_get_next,
                                     .get_last_error = script_get_last_error,
                                     .release = script_release,
                                     .private_data = s};
}

/* Reads to the end; returns the rows, *n_batches says in how many batches. */
static int64_t drain(struct ArrowArrayStream *stream, int *n_batches)
{
    int64_t rows = 0;
    *n_batches = 0;
    for (;;) {
        struct ArrowArray batch;
        assert_int_equal(stream->get_next(stream, &batch), 0);
        if (batch.release == NULL) {
            return rows;
        }
        rows += batch.length;
        ++*n_batches;
        batch.release(&batch);
    }
}

static void count_call(void *arg)
{
    ++*(int *)arg;
}

static void tap_without_limit_passes_all_rows(void **state)
{
    (void)state;
    script s = {.lengths = (const int64_t[]){3, 0, 4, -1}};
    struct ArrowArrayStream stream = open_script(&s);
    oci_cli_tap tap;
    int calls = 0;
    int batches;
    oci_cli_insert_tap(&tap, &stream, -1, count_call, &calls);
    assert_int_equal(drain(&stream, &batches), 7);
    assert_int_equal(batches, 3);
    assert_int_equal(calls, 1);
    assert_int_equal(tap.failed, 0);
    stream.release(&stream);
    assert_true(s.released);
    assert_null(stream.release);
}

static void tap_cuts_at_every_limit_and_stops_reading(void **state)
{
    (void)state;
    for (int64_t limit = 0; limit <= 8; limit++) {
        script s = {.lengths = (const int64_t[]){3, 0, 4, -1, -2}};
        struct ArrowArrayStream stream = open_script(&s);
        oci_cli_tap tap;
        int batches;
        oci_cli_insert_tap(&tap, &stream, limit, NULL, NULL);
        assert_int_equal(drain(&stream, &batches), limit < 7 ? limit : 7);
        assert_int_equal(s.asked, limit == 0 ? 0 : limit <= 3 ? 1 : limit <= 7 ? 3 : 4);
        assert_int_equal(released_arrays_of_script, batches);
        stream.release(&stream);
    }
}

static void tap_keeps_errno_and_text_of_the_first_failure(void **state)
{
    (void)state;
    script s = {.lengths = (const int64_t[]){3, -2, -1}};
    struct ArrowArrayStream stream = open_script(&s);
    oci_cli_tap tap;
    struct ArrowArray batch;
    struct ArrowSchema schema;
    oci_cli_insert_tap(&tap, &stream, -1, NULL, NULL);
    assert_null(stream.get_last_error(&stream));
    assert_int_equal(stream.get_next(&stream, &batch), 0);
    batch.release(&batch);
    assert_int_equal(stream.get_next(&stream, &batch), EIO);
    assert_int_equal(stream.get_schema(&stream, &schema), ENOTSUP);
    assert_int_equal(tap.failed, EIO);
    assert_string_equal(tap.message, "the disk is gone");
    assert_string_equal(stream.get_last_error(&stream), "the disk is gone");
    stream.release(&stream);
    assert_true(s.released);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tap_without_limit_passes_all_rows),
        cmocka_unit_test(tap_cuts_at_every_limit_and_stops_reading),
        cmocka_unit_test(tap_keeps_errno_and_text_of_the_first_failure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
