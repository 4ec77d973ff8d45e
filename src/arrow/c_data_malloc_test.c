/* What crosses the C data interface is held by structs from malloc, which no fault allocator sees:
 * fields, columns, nodes. This test is linked with --wrap for the calls of libc, so that the Nth of
 * them fails, once or from then on, while a stream of nested columns comes in, is checked, and goes
 * out again. After each: the right rows or OC_ENOMEM, and as many blocks as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/stream.h"
#include "support/batch_maker.h"

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *block);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *block);

static struct {
    bool armed, for_ever;
    int64_t nth;    /* call that fails */
    int64_t n;      /* calls since it was armed */
    int64_t n_live; /* blocks */
} calls;

static bool fails(void)
{
    calls.n += calls.armed;
    return calls.armed && (calls.n == calls.nth || (calls.for_ever && calls.n > calls.nth));
}

static void *count(void *block)
{
    calls.n_live += block != NULL;
    return block;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : count(__real_malloc(size));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : count(__real_calloc(n, size));
}

void *__wrap_realloc(void *block, size_t size)
{
    if (fails()) {
        return NULL;
    }
    return block != NULL ? __real_realloc(block, size) : count(__real_realloc(block, size));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : count(__real_strdup(text));
}

void __wrap_free(void *block)
{
    calls.n_live -= block != NULL;
    __real_free(block);
}

static const char *const columns[] = {"+l@test.list(+s(a=i; b=+ud:1,7(u; +l(b))))",
                                      "c>+l(s>vu)",
                                      "+m(u; +w:2(vz))",
                                      "+r(i; +vl(tsu:UTC))",
                                      "+us:3,4(i; d:15,2)",
                                      "l"};
#define N_COLUMNS 6
#define N_ROWS    20

static const arrow_stream_maker stream_maker = {
    .columns = columns,
    .n_columns = N_COLUMNS,
    .maker = {.seed = 3, .length = N_ROWS, .null_percent = 20, .offset = 3, .garbage = true},
    .n_batches = 2,
};

/* Only what the library does may fail, not what the producer of this test does. */
static int (*made_get_schema)(struct ArrowArrayStream *self, struct ArrowSchema *out);
static int (*made_get_next)(struct ArrowArrayStream *self, struct ArrowArray *out);

static int get_schema_unarmed(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    bool armed = calls.armed;
    calls.armed = false;
    int code = made_get_schema(self, out);
    calls.armed = armed;
    return code;
}

static int get_next_unarmed(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    bool armed = calls.armed;
    calls.armed = false;
    int code = made_get_next(self, out);
    calls.armed = armed;
    return code;
}

static void make_stream(struct ArrowArrayStream *out)
{
    arrow_make_stream(&stream_maker, out);
    made_get_schema = out->get_schema;
    made_get_next = out->get_next;
    out->get_schema = get_schema_unarmed;
    out->get_next = get_next_unarmed;
}

/* All batches of a stream that was handed out. */
static int drain(struct ArrowArrayStream *stream, int64_t *rows)
{
    struct ArrowSchema schema;
    int code = stream->get_schema(stream, &schema);
    if (code != 0) {
        return code;
    }
    schema.release(&schema);
    for (;;) {
        struct ArrowArray array;
        code = stream->get_next(stream, &array);
        if (code != 0 || array.release == NULL) {
            return code;
        }
        *rows += array.length;
        array.release(&array);
    }
}

/* In over one bridge, out over the other. */
static int pass_through(struct ArrowArrayStream *in, int64_t *rows)
{
    oci_stream *stream;
    struct ArrowArrayStream out;
    oc_status status = oci_stream_import(in, &stream, NULL);
    if (status == OC_OK) {
        oci_schema *schema = oci_schema_retain(stream->schema);
        status = oci_stream_export(stream, schema, NULL, NULL, NULL, &out, NULL);
        oci_schema_release(schema);
    }
    if (status != OC_OK) {
        return oc_status_errno(status);
    }
    int code = drain(&out, rows);
    out.release(&out);
    return code;
}

static void every_failing_malloc_is_survived(void **state)
{
    (void)state;
    int64_t n_sites = 0;
    for (int for_ever = 0; for_ever < 2; for_ever++) {
        bool injected = true;
        for (int64_t nth = 1; injected; nth++) {
            struct ArrowArrayStream in;
            int64_t rows = 0, n_before = calls.n_live;
            make_stream(&in);
            calls.nth = nth;
            calls.n = 0;
            calls.for_ever = for_ever;
            calls.armed = true;
            int code = pass_through(&in, &rows);
            calls.armed = false;
            injected = calls.n >= nth;
            assert_int_equal(code, injected ? ENOMEM : 0);
            assert_true(injected || rows == 2 * N_ROWS);
            assert_null(in.release);
            assert_int_equal(arrow_maker_live(), 0);
            assert_int_equal(calls.n_live, n_before);
            n_sites += injected;
        }
    }
    assert_true(n_sites > 500);
    print_message("%d calls failed\n", (int)n_sites);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_failing_malloc_is_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
