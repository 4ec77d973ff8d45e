/* Threads, the background worker and the clock. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "base/fault.h"
#include "base/thread.h"

static void pause_ms(long ms)
{
    struct timespec pause = {.tv_nsec = ms * 1000000};
    nanosleep(&pause, NULL);
}

static void *read_signal_mask(void *arg)
{
    pthread_sigmask(SIG_SETMASK, NULL, arg);
    return NULL;
}

static void threads_start_with_all_signals_blocked(void **state)
{
    (void)state;
    sigset_t inside;
    sigset_t before;
    sigset_t after;
    sigemptyset(&inside);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pthread_t thread;
    const oci_threads *threads = oci_system_threads();
    assert_int_equal(threads->start(threads->self, &thread, read_signal_mask, &inside), 0);
    pthread_join(thread, NULL);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_true(sigismember(&inside, SIGINT) && sigismember(&inside, SIGTERM));
    assert_int_equal(sigismember(&after, SIGINT), sigismember(&before, SIGINT));
}

static void clock_does_not_go_back(void **state)
{
    (void)state;
    const oci_clock *clock = oci_system_clock();
    int64_t first = clock->now_ns(clock->self);
    pause_ms(2);
    int64_t second = clock->now_ns(clock->self);
    assert_true(second - first >= 2000000);
}

typedef struct job {
    oci_task task;
    int index;
    int *order; /* where the next finished job writes its index; touched by one thread at a time */
    int *n_done;
    atomic_bool *gate; /* waited for when not NULL */
    pthread_t ran_on;
} job;

static void run_job(void *arg)
{
    job *j = arg;
    while (j->gate != NULL && !atomic_load(j->gate)) {
        pause_ms(1);
    }
    j->order[(*j->n_done)++] = j->index;
    j->ran_on = pthread_self();
}

enum { N_JOBS = 20 };

static void make_jobs(job *jobs, int *order, int *n_done, atomic_bool *gate)
{
    for (int i = 0; i < N_JOBS; i++) {
        jobs[i] = (job){.index = i, .order = order, .n_done = n_done, .gate = gate};
        jobs[i].task = (oci_task){.run = run_job, .arg = &jobs[i]};
    }
}

static void tasks_run_in_order_on_one_other_thread(void **state)
{
    (void)state;
    job jobs[N_JOBS];
    int order[N_JOBS];
    int n_done = 0;
    atomic_bool gate = false;
    oci_worker *worker = NULL;
    make_jobs(jobs, order, &n_done, &gate);
    assert_int_equal(oci_worker_create(oci_system_threads(), &worker, NULL), OC_OK);
    assert_true(oci_worker_is_done(worker, &jobs[0].task));
    for (int i = 0; i < N_JOBS; i++) {
        oci_worker_submit(worker, &jobs[i].task);
    }
    assert_false(oci_worker_is_done(worker, &jobs[N_JOBS - 1].task));
    atomic_store(&gate, true);
    oci_worker_wait(worker, &jobs[N_JOBS - 1].task);
    assert_int_equal(n_done, N_JOBS);
    for (int i = 0; i < N_JOBS; i++) {
        assert_int_equal(order[i], i);
        assert_true(oci_worker_is_done(worker, &jobs[i].task));
        oci_worker_wait(worker, &jobs[i].task);
        assert_false(pthread_equal(jobs[i].ran_on, pthread_self()));
        assert_true(pthread_equal(jobs[i].ran_on, jobs[0].ran_on));
    }
    oci_worker_destroy(worker);
}

static void task_can_be_submitted_again(void **state)
{
    (void)state;
    int order[N_JOBS];
    int n_done = 0;
    oci_worker *worker = NULL;
    job j = {.order = order, .n_done = &n_done};
    j.task = (oci_task){.run = run_job, .arg = &j};
    assert_int_equal(oci_worker_create(oci_system_threads(), &worker, NULL), OC_OK);
    oci_worker_wait(worker, &j.task); /* idle: returns at once */
    for (int i = 0; i < N_JOBS; i++) {
        oci_worker_submit(worker, &j.task);
        oci_worker_wait(worker, &j.task);
        assert_int_equal(n_done, i + 1);
    }
    oci_worker_destroy(worker);
}

static void destroy_waits_for_queued_tasks(void **state)
{
    (void)state;
    job jobs[N_JOBS];
    int order[N_JOBS];
    int n_done = 0;
    atomic_bool gate = false;
    oci_worker *worker = NULL;
    make_jobs(jobs, order, &n_done, &gate);
    assert_int_equal(oci_worker_create(oci_system_threads(), &worker, NULL), OC_OK);
    for (int i = 0; i < N_JOBS; i++) {
        oci_worker_submit(worker, &jobs[i].task);
    }
    atomic_store(&gate, true);
    oci_worker_destroy(worker);
    assert_int_equal(n_done, N_JOBS);
    oci_worker_destroy(NULL);
}

static void without_a_thread_tasks_run_inside_submit(void **state)
{
    (void)state;
    job jobs[N_JOBS];
    int order[N_JOBS];
    int n_done = 0;
    oci_worker *worker = NULL;
    oci_fault_plan *plan = oci_fault_plan_create();
    assert_non_null(plan);
    oci_fault_arm(plan, OCI_FAULT_THREAD, 1, true);
    make_jobs(jobs, order, &n_done, NULL);
    assert_int_equal(oci_worker_create(oci_fault_threads(plan), &worker, NULL), OC_OK);
    for (int i = 0; i < N_JOBS; i++) {
        oci_worker_submit(worker, &jobs[i].task);
        assert_int_equal(n_done, i + 1);
        assert_true(oci_worker_is_done(worker, &jobs[i].task));
        oci_worker_wait(worker, &jobs[i].task);
        assert_true(pthread_equal(jobs[i].ran_on, pthread_self()));
    }
    oci_worker_destroy(worker);
    oci_fault_plan_destroy(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_start_with_all_signals_blocked),
        cmocka_unit_test(clock_does_not_go_back),
        cmocka_unit_test(tasks_run_in_order_on_one_other_thread),
        cmocka_unit_test(task_can_be_submitted_again),
        cmocka_unit_test(destroy_waits_for_queued_tasks),
        cmocka_unit_test(without_a_thread_tasks_run_inside_submit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
