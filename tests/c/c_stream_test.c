/* The contract of the Arrow C Stream Interface, both ways: producers that fail, end early, are slow
 * or are let go of early; consumers that go away half-way, ask after the end, move structs, keep
 * children, release on other threads. Only outcore.h is used, beside a maker of input. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "outcore/outcore.h"
#include "support/arrow_maker.h"

#define MIB ((int64_t)1 << 20)

static const char *const columns[] = {"k=i", "s=u", "id=l", "n=+s(a=i; b=+l(u))"};
#define N_COLUMNS 4
static const oc_sort_key by_k = {.column = "k"};

/* ---- a producer that is watched ---------------------------------------------------------------- */

typedef struct producer {
    struct ArrowArrayStream inner;
    int64_t end_at;      /* gives the end instead of this batch; -1: does not */
    useconds_t pause;    /* before each answer */
    bool fills_on_error; /* the struct is filled although the call fails */
    int64_t n_asked;     /* calls of get_next */
    int64_t n_late;      /* of these after an end or an error */
    int64_t n_released;  /* of the stream */
    int64_t n_freed;     /* arrays filled on error and released by us */
    bool is_over;
} producer;

static void count_freed(struct ArrowArray *array)
{
    ((producer *)array->private_data)->n_freed++;
    array->release = NULL;
}

static int watched_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    producer *p = self->private_data;
    return p->inner.get_schema(&p->inner, out);
}

static int watched_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    producer *p = self->private_data;
    if (p->pause > 0) {
        usleep(p->pause);
    }
    p->n_late += p->is_over;
    if (p->n_asked++ == p->end_at) {
        p->is_over = true;
        out->release = NULL;
        return 0;
    }
    int code = p->inner.get_next(&p->inner, out);
    p->is_over = code != 0 || out->release == NULL;
    if (code != 0 && p->fills_on_error) {
        *out = (struct ArrowArray){.release = count_freed, .private_data = p};
    }
    return code;
}

static const char *watched_error(struct ArrowArrayStream *self)
{
    producer *p = self->private_data;
    return p->inner.get_last_error(&p->inner);
}

static void watched_release(struct ArrowArrayStream *self)
{
    producer *p = self->private_data;
    p->n_released++;
    p->inner.release(&p->inner);
    self->release = NULL;
}

static void watch(producer *p, const arrow_stream_maker *maker, struct ArrowArrayStream *out)
{
    arrow_make_stream(maker, &p->inner);
    *out = (struct ArrowArrayStream){.get_schema = watched_schema,
                                     .get_next = watched_next,
                                     .get_last_error = watched_error,
                                     .release = watched_release,
                                     .private_data = p};
}

static arrow_stream_maker table(int64_t n_batches)
{
    return (arrow_stream_maker){
        .columns = columns,
        .n_columns = N_COLUMNS,
        .maker = {.seed = 3, .length = 500, .null_percent = 10},
        .n_batches = n_batches,
    };
}

/* ---- operators, one like another --------------------------------------------------------------- */

typedef oc_status (*opener)(oc_context *context, struct ArrowArrayStream *in,
                            struct ArrowArrayStream *out, oc_error *error);

static oc_status open_sort(oc_context *context, struct ArrowArrayStream *in,
                           struct ArrowArrayStream *out, oc_error *error)
{
    return oc_sort(context, in, &by_k, 1, NULL, out, error);
}

static oc_status open_top(oc_context *context, struct ArrowArrayStream *in,
                          struct ArrowArrayStream *out, oc_error *error)
{
    oc_sort_options options = OC_SORT_OPTIONS_INIT;
    options.has_limit = true;
    options.limit = 10;
    return oc_sort(context, in, &by_k, 1, &options, out, error);
}

static oc_status open_select(oc_context *context, struct ArrowArrayStream *in,
                             struct ArrowArrayStream *out, oc_error *error)
{
    static const char *const names[] = {"id", "n"};
    return oc_select(context, in, names, 2, out, error);
}

static const opener openers[] = {open_sort, open_top, open_select};

static oc_context *make_context(int64_t limit)
{
    oc_options options = OC_OPTIONS_INIT;
    oc_context *context = NULL;
    oc_error error = {0};
    options.memory_limit = limit;
    if (oc_context_create(&options, &context, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    return context;
}

static void end_context(oc_context *context)
{
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_int_equal(m.memory_used, 0);
    assert_int_equal(m.disk_now, 0);
    oc_context_destroy(context);
    assert_int_equal(arrow_maker_live(), 0);
}

static void open_or_fail(opener open, oc_context *context, struct ArrowArrayStream *in,
                         struct ArrowArrayStream *out)
{
    oc_error error = {0};
    if (open(context, in, out, &error) != OC_OK) {
        fail_msg("%s", error.message);
    }
    assert_null(in->release); /* moved */
}

/* Reads to the end or the first error, whose code is returned; does not release the stream. */
static int drain(struct ArrowArrayStream *stream, int64_t *rows)
{
    *rows = 0;
    for (;;) {
        struct ArrowArray array;
        memset(&array, 0xA5, sizeof array); /* whatever is there does not matter */
        int code = stream->get_next(stream, &array);
        if (code != 0 || array.release == NULL) {
            return code;
        }
        *rows += array.length;
        array.release(&array);
        assert_null(array.release);
    }
}

/* ---- producers --------------------------------------------------------------------------------- */

static void check_failing_producer(opener open, int64_t limit, int64_t fail_at, const char *text)
{
    arrow_stream_maker maker = table(40);
    maker.fail_code = EIO;
    maker.fail_at = fail_at;
    maker.fail_message = text;
    producer p = {.end_at = -1, .fills_on_error = true};
    oc_context *context = make_context(limit);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    watch(&p, &maker, &in);
    open_or_fail(open, context, &in, &out);
    int64_t rows;
    int code = drain(&out, &rows);
    assert_int_equal(code, EIO);
    const char *message = out.get_last_error(&out);
    assert_non_null(message);
    assert_non_null(strstr(message, text != NULL ? text : "Input/output error"));
    /* The text stays until the next call of the stream, also when asked for again. */
    assert_string_equal(out.get_last_error(&out), message);
    char copy[1024];
    snprintf(copy, sizeof copy, "%s", message);
    struct ArrowArray array = {0};
    assert_int_equal(out.get_next(&out, &array), EIO); /* and the error stays */
    assert_string_equal(out.get_last_error(&out), copy);
    out.release(&out);
    assert_int_equal(p.n_released, 1);
    assert_int_equal(p.n_late, 0);
    assert_int_equal(p.n_freed, 0); /* what a failing call left is not ours */
    end_context(context);
}

static void errors_of_producers_keep_their_text_wherever_they_happen(void **state)
{
    (void)state;
    static const int64_t places[] = {0, 7, 40};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (size_t o = 0; o < 3; o++) {
            check_failing_producer(openers[o], 64 * MIB, places[i], "the disk of the producer");
            check_failing_producer(openers[o], MIB, places[i], NULL);
        }
    }
}

static void a_schema_that_fails_is_told_at_once(void **state)
{
    (void)state;
    for (size_t o = 0; o < 3; o++) {
        arrow_stream_maker maker = table(4);
        maker.fail_code = ENOMEM;
        maker.fail_at = -1;
        maker.fail_message = "no schema today";
        producer p = {.end_at = -1};
        oc_context *context = make_context(MIB);
        struct ArrowArrayStream in;
        struct ArrowArrayStream out;
        oc_error error = {0};
        watch(&p, &maker, &in);
        assert_int_equal(openers[o](context, &in, &out, &error), OC_ESTREAM);
        assert_non_null(strstr(error.message, "no schema today"));
        assert_int_equal(error.sys_errno, ENOMEM);
        assert_null(in.release);
        assert_null(out.release);
        assert_int_equal(p.n_released, 1);
        assert_int_equal(p.n_asked, 0);
        end_context(context);
    }
}

static void a_producer_may_end_early_and_is_not_asked_again(void **state)
{
    (void)state;
    for (int64_t end_at = 0; end_at <= 3; end_at++) {
        for (size_t o = 0; o < 3; o++) {
            arrow_stream_maker maker = table(40);
            producer p = {.end_at = end_at};
            oc_context *context = make_context(MIB);
            struct ArrowArrayStream in;
            struct ArrowArrayStream out;
            watch(&p, &maker, &in);
            open_or_fail(openers[o], context, &in, &out);
            int64_t rows;
            assert_int_equal(drain(&out, &rows), 0);
            assert_int_equal(rows, o != 1 || end_at == 0 ? end_at * 500 : 10);
            for (int again = 0; again < 3; again++) {
                assert_int_equal(drain(&out, &rows), 0); /* the end, again */
                assert_int_equal(rows, 0);
            }
            assert_null(out.get_last_error(&out));
            out.release(&out);
            assert_int_equal(p.n_late, 0);
            assert_int_equal(p.n_asked, end_at + 1);
            assert_int_equal(p.n_released, 1);
            end_context(context);
        }
    }
}

static void a_slow_producer_is_waited_for(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(30);
    producer p = {.end_at = -1, .pause = 2000};
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    watch(&p, &maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    int64_t rows;
    assert_int_equal(drain(&out, &rows), 0);
    assert_int_equal(rows, 15000);
    out.release(&out);
    assert_int_equal(p.n_released, 1);
    end_context(context);
}

/* Arrays are let go of while rows are spilled, not at the end: what the producer holds is not under
 * our limit. */
static void input_is_released_as_it_is_copied(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(200);
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    struct ArrowArray array;
    arrow_make_stream(&maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    assert_int_equal(out.get_next(&out, &array), 0);
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_true(m.spill_count > 1);
    /* The stream is at its end; a few schemas and none of the 200 batches may be left. */
    assert_true(arrow_maker_live() <= 20);
    array.release(&array);
    out.release(&out);
    end_context(context);
}

/* ---- consumers --------------------------------------------------------------------------------- */

/* Before the first batch, after some, and after all; the producer is let go of each time, and never
 * asked before somebody wants rows. */
static void a_consumer_may_go_away_at_any_time(void **state)
{
    (void)state;
    for (int taken = 0; taken < 15; taken += taken < 2 ? 1 : 9) {
        for (size_t o = 0; o < 3; o++) {
            arrow_stream_maker maker = table(60);
            producer p = {.end_at = -1};
            oc_context *context = make_context(MIB);
            struct ArrowArrayStream in;
            struct ArrowArrayStream out;
            watch(&p, &maker, &in);
            open_or_fail(openers[o], context, &in, &out);
            assert_int_equal(p.n_asked, 0);
            for (int i = 0; i < taken; i++) {
                struct ArrowArray array;
                assert_int_equal(out.get_next(&out, &array), 0);
                if (array.release != NULL) {
                    array.release(&array);
                }
            }
            out.release(&out);
            assert_null(out.release);
            assert_int_equal(p.n_released, 1);
            end_context(context);
        }
    }
}

/* What is kept counts, so a consumer that keeps everything is refused, or gets all there is; it can
 * read what it has all the while. */
static void a_consumer_that_keeps_batches_stays_under_the_limit(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(120);
    oc_context *context = make_context(2 * MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    static struct ArrowArray kept[4000];
    int64_t n = 0;
    int64_t rows = 0;
    arrow_make_stream(&maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    int code;
    while ((code = out.get_next(&out, &kept[n])) == 0 && kept[n].release != NULL) {
        rows += kept[n++].length;
    }
    assert_true(code == 0 || code == ENOMEM);
    assert_true(code == 0 || strlen(out.get_last_error(&out)) > 0);
    assert_true(code == ENOMEM || rows == 60000);
    assert_true(n > 1);
    oc_metrics m;
    oc_context_metrics(context, &m);
    assert_true(m.memory_peak <= m.memory_limit);
    out.release(&out);
    for (int64_t i = 0; i < n; i++) {
        assert_true(kept[i].children[2]->length == kept[i].length);
        kept[i].release(&kept[i]);
    }
    end_context(context);
}

static int count_descriptors(void)
{
    int n = 0;
    for (int fd = 0; fd < 256; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

static void many_sorts_in_one_context_leave_nothing_open(void **state)
{
    (void)state;
    oc_context *context = make_context(MIB);
    int before = count_descriptors();
    for (int i = 0; i < 100; i++) {
        arrow_stream_maker maker = table(i % 5 == 0 ? 25 : 2);
        struct ArrowArrayStream in;
        struct ArrowArrayStream out;
        arrow_make_stream(&maker, &in);
        open_or_fail(openers[i % 2], context, &in, &out);
        struct ArrowArray array = {0};
        assert_int_equal(out.get_next(&out, &array), 0);
        out.release(&out);
        array.release(&array);
        assert_int_equal(count_descriptors(), before);
        oc_metrics m;
        oc_context_metrics(context, &m);
        assert_int_equal(m.memory_used, 0);
        assert_int_equal(m.disk_now, 0);
    }
    end_context(context);
}

static int64_t sum_of(const struct ArrowArray *ids)
{
    int64_t sum = 0;
    const int64_t *values = ids->buffers[1];
    for (int64_t i = 0; i < ids->length; i++) {
        sum += values[ids->offset + i] & 0xff;
    }
    return sum;
}

static struct ArrowArray move_array(struct ArrowArray *from)
{
    struct ArrowArray moved;
    memcpy(&moved, from, sizeof moved);
    memset(from, 0, sizeof *from); /* release NULL: gone */
    return moved;
}

/* Stream, array and child live somewhere else than where they were filled; the child outlives array,
 * stream and context. */
static void structs_may_be_moved_and_children_kept(void **state)
{
    (void)state;
    for (size_t o = 0; o < 3; o++) {
        for (int order = 0; order < 6; order++) {
            arrow_stream_maker maker = table(20);
            oc_context *context = make_context(MIB);
            struct ArrowArrayStream in;
            struct ArrowArrayStream filled;
            arrow_make_stream(&maker, &in);
            open_or_fail(openers[o], context, &in, &filled);
            struct ArrowArrayStream *out = malloc(sizeof *out);
            memcpy(out, &filled, sizeof *out);
            memset(&filled, 0x5A, sizeof filled);
            struct ArrowArray array;
            assert_int_equal(out->get_next(out, &array), 0);
            struct ArrowArray elsewhere = move_array(&array);
            int32_t place = o == 2 ? 0 : 2;
            int64_t sum = sum_of(elsewhere.children[place]);
            struct ArrowArray child = move_array(elsewhere.children[place]);
            struct ArrowArray last = move_array(elsewhere.children[elsewhere.n_children - 1]);
            for (int step = 0; step < 3; step++) {
                switch ((order + step * (order < 3 ? 1 : 2)) % 3) {
                case 0: elsewhere.release(&elsewhere); break;
                case 1: out->release(out); break;
                default: oc_context_destroy(context); break;
                }
            }
            assert_int_equal(sum_of(&child), sum);
            assert_null(elsewhere.release);
            free(out);
            last.release(&last);
            child.release(&child);
            assert_null(child.release);
            assert_null(last.release);
            assert_int_equal(arrow_maker_live(), 0);
        }
    }
}

static void children_of_a_schema_may_be_kept(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(2);
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    arrow_make_stream(&maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    struct ArrowSchema schema;
    assert_int_equal(out.get_schema(&out, &schema), 0);
    struct ArrowSchema child = *schema.children[3];
    schema.children[3]->release = NULL;
    out.release(&out);
    schema.release(&schema);
    assert_null(schema.release);
    assert_string_equal(child.name, "n");
    assert_string_equal(child.children[1]->format, "+l");
    child.release(&child);
    end_context(context);
}

/* The schema is the same before the first batch, after some and after the end. */
static void the_schema_may_be_asked_for_between_batches(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(4);
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    arrow_make_stream(&maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    struct ArrowArray array = {.release = NULL};
    do {
        struct ArrowSchema schema;
        assert_int_equal(out.get_schema(&out, &schema), 0);
        assert_int_equal(schema.n_children, N_COLUMNS);
        schema.release(&schema);
        assert_int_equal(out.get_next(&out, &array), 0);
        if (array.release != NULL) {
            array.release(&array);
            array.length = 1;
        } else {
            array.length = 0;
        }
    } while (array.length > 0);
    out.release(&out);
    end_context(context);
}

/* ---- threads ----------------------------------------------------------------------------------- */

/* A stream wanders from thread to thread, each of which takes one batch. */
typedef struct turn {
    struct ArrowArrayStream *stream;
    struct ArrowArray array;
    int code;
} turn;

static void *take_one(void *arg)
{
    turn *t = arg;
    t->code = t->stream->get_next(t->stream, &t->array);
    return NULL;
}

static void a_stream_may_wander_between_threads(void **state)
{
    (void)state;
    arrow_stream_maker maker = table(60);
    oc_context *context = make_context(MIB);
    struct ArrowArrayStream in;
    struct ArrowArrayStream out;
    arrow_make_stream(&maker, &in);
    open_or_fail(open_sort, context, &in, &out);
    int64_t rows = 0;
    for (;;) {
        turn t = {.stream = &out};
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, take_one, &t), 0);
        pthread_join(thread, NULL);
        assert_int_equal(t.code, 0);
        if (t.array.release == NULL) {
            break;
        }
        rows += t.array.length;
        t.array.release(&t.array);
    }
    assert_int_equal(rows, 30000);
    out.release(&out);
    end_context(context);
}

/* Arrays are released on one thread while the stream goes on on another. */
#define QUEUE 16

typedef struct queue {
    struct ArrowArray arrays[QUEUE];
    _Atomic int64_t put;
    _Atomic int64_t taken;
    atomic_bool ended;
} queue;

static void *release_all(void *arg)
{
    queue *q = arg;
    for (;;) {
        bool ended = atomic_load(&q->ended);
        int64_t taken = atomic_load(&q->taken);
        if (taken < atomic_load(&q->put)) {
            struct ArrowArray *array = &q->arrays[taken % QUEUE];
            array->release(array);
            atomic_store(&q->taken, taken + 1);
        } else if (ended) {
            return NULL;
        } else {
            usleep(20);
        }
    }
}

static void arrays_may_be_released_on_another_thread(void **state)
{
    (void)state;
    for (size_t o = 0; o < 3; o += 2) {
        arrow_stream_maker maker = table(80);
        static queue q;
        memset(&q, 0, sizeof q);
        oc_context *context = make_context(2 * MIB);
        struct ArrowArrayStream in;
        struct ArrowArrayStream out;
        arrow_make_stream(&maker, &in);
        open_or_fail(openers[o], context, &in, &out);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, release_all, &q), 0);
        int64_t rows = 0;
        for (;;) {
            int64_t put = atomic_load(&q.put);
            while (put - atomic_load(&q.taken) >= QUEUE / 4) {
                usleep(20);
            }
            struct ArrowArray *array = &q.arrays[put % QUEUE];
            assert_int_equal(out.get_next(&out, array), 0);
            if (array->release == NULL) {
                break;
            }
            rows += array->length;
            atomic_store(&q.put, put + 1);
        }
        out.release(&out);
        atomic_store(&q.ended, true);
        pthread_join(thread, NULL);
        assert_int_equal(rows, 40000);
        end_context(context);
    }
}

/* Each thread has a stream of its own in one context, over producers that are slow or fail. */
typedef struct worker {
    oc_context *context;
    int number;
    int code;
    int64_t rows;
} worker;

static void *work(void *arg)
{
    worker *w = arg;
    for (int round = 0; round < 3; round++) {
        arrow_stream_maker maker = table(30);
        maker.fail_code = w->number == 1 ? EIO : 0;
        maker.fail_at = 25;
        producer p = {.end_at = -1, .pause = w->number == 2 ? 500 : 0};
        struct ArrowArrayStream in;
        struct ArrowArrayStream out;
        watch(&p, &maker, &in);
        if (open_sort(w->context, &in, &out, NULL) != OC_OK) {
            w->code = -1;
            return NULL;
        }
        w->code = drain(&out, &w->rows);
        bool surprises = w->code != maker.fail_code;
        if (surprises) {
            print_error("worker %d, round %d: %s\n", w->number, round, out.get_last_error(&out));
        }
        out.release(&out);
        if (surprises) {
            return NULL;
        }
    }
    return NULL;
}

static void streams_on_several_threads_do_not_disturb_each_other(void **state)
{
    (void)state;
    oc_context *context = make_context(6 * MIB);
    worker workers[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        workers[i] = (worker){.context = context, .number = i};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(workers[i].code, i == 1 ? EIO : 0);
        assert_int_equal(workers[i].rows, i == 1 ? 0 : 15000);
    }
    end_context(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_of_producers_keep_their_text_wherever_they_happen),
        cmocka_unit_test(a_schema_that_fails_is_told_at_once),
        cmocka_unit_test(a_producer_may_end_early_and_is_not_asked_again),
        cmocka_unit_test(a_slow_producer_is_waited_for),
        cmocka_unit_test(input_is_released_as_it_is_copied),
        cmocka_unit_test(a_consumer_may_go_away_at_any_time),
        cmocka_unit_test(a_consumer_that_keeps_batches_stays_under_the_limit),
        cmocka_unit_test(many_sorts_in_one_context_leave_nothing_open),
        cmocka_unit_test(structs_may_be_moved_and_children_kept),
        cmocka_unit_test(children_of_a_schema_may_be_kept),
        cmocka_unit_test(the_schema_may_be_asked_for_between_batches),
        cmocka_unit_test(a_stream_may_wander_between_threads),
        cmocka_unit_test(arrays_may_be_released_on_another_thread),
        cmocka_unit_test(streams_on_several_threads_do_not_disturb_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
