/* A helper thread that runs tasks in the order they were submitted.
 *
 *   submit -> [queue] -> background thread: run -> done -> wait() makes the task idle again
 *
 * One mutex guards the queue and the states of all tasks; two conditions tell the thread of work
 * and the waiters of finished tasks. Tasks live in the callers' storage, so submitting allocates
 * nothing and cannot fail. Without a thread (the seam refused to start one) submit() runs the
 * task itself; callers cannot tell the difference but by the clock.
 *
 * The struct is a fixed overhead per worker and outside the memory budget. */
#include <assert.h>
#include <stdlib.h>

#include "base/thread.h"

enum { TASK_IDLE = 0, TASK_QUEUED = 1, TASK_RUNNING = 2, TASK_DONE = 3 };

struct oci_worker {
    pthread_mutex_t lock;
    pthread_cond_t work;     /* a task was queued, or stop was set */
    pthread_cond_t finished; /* a task became done */
    oci_task *first;         /* queue, oldest first */
    oci_task *last;
    bool stop;
    bool has_thread;
    pthread_t thread;
};

static oci_task *next_task(oci_worker *worker)
{
    while (worker->first == NULL && !worker->stop) {
        pthread_cond_wait(&worker->work, &worker->lock);
    }
    oci_task *task = worker->first;
    if (task != NULL) {
        worker->first = task->next;
        if (worker->first == NULL) {
            worker->last = NULL;
        }
        task->next = NULL;
        task->state = TASK_RUNNING;
    }
    return task;
}

/* Ends when stop is set and the queue is empty. */
static void *worker_body(void *arg)
{
    oci_worker *worker = arg;
    pthread_mutex_lock(&worker->lock);
    for (oci_task *task = next_task(worker); task != NULL; task = next_task(worker)) {
        pthread_mutex_unlock(&worker->lock);
        task->run(task->arg);
        pthread_mutex_lock(&worker->lock);
        task->state = TASK_DONE;
        pthread_cond_broadcast(&worker->finished);
    }
    pthread_mutex_unlock(&worker->lock);
    return NULL;
}

oc_status oci_worker_create(const oci_threads *threads, oci_worker **out, oc_error *err)
{
    oci_worker *worker = calloc(1, sizeof *worker);
    if (worker == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not allocate a background worker: out of memory");
    }
    /* With default attributes these initialisers cannot fail on Linux. */
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->work, NULL);
    pthread_cond_init(&worker->finished, NULL);
    worker->has_thread = threads->start(threads->self, &worker->thread, worker_body, worker) == 0;
    *out = worker;
    return OC_OK;
}

void oci_worker_destroy(oci_worker *worker)
{
    if (worker == NULL) {
        return;
    }
    if (worker->has_thread) {
        pthread_mutex_lock(&worker->lock);
        worker->stop = true;
        pthread_cond_signal(&worker->work);
        pthread_mutex_unlock(&worker->lock);
        pthread_join(worker->thread, NULL);
    }
    assert(worker->first == NULL);
    pthread_cond_destroy(&worker->finished);
    pthread_cond_destroy(&worker->work);
    pthread_mutex_destroy(&worker->lock);
    free(worker);
}

static void submit_without_thread(oci_worker *worker, oci_task *task)
{
    task->run(task->arg);
    pthread_mutex_lock(&worker->lock);
    task->state = TASK_DONE;
    pthread_mutex_unlock(&worker->lock);
}

void oci_worker_submit(oci_worker *worker, oci_task *task)
{
    if (!worker->has_thread) {
        submit_without_thread(worker, task);
        return;
    }
    pthread_mutex_lock(&worker->lock);
    assert(task->state == TASK_IDLE || task->state == TASK_DONE);
    task->state = TASK_QUEUED;
    task->next = NULL;
    if (worker->last == NULL) {
        worker->first = task;
    } else {
        worker->last->next = task;
    }
    worker->last = task;
    pthread_cond_signal(&worker->work);
    pthread_mutex_unlock(&worker->lock);
}

void oci_worker_wait(oci_worker *worker, oci_task *task)
{
    pthread_mutex_lock(&worker->lock);
    while (task->state == TASK_QUEUED || task->state == TASK_RUNNING) {
        pthread_cond_wait(&worker->finished, &worker->lock);
    }
    task->state = TASK_IDLE;
    pthread_mutex_unlock(&worker->lock);
}

bool oci_worker_is_done(oci_worker *worker, oci_task *task)
{
    pthread_mutex_lock(&worker->lock);
    bool done = task->state == TASK_IDLE || task->state == TASK_DONE;
    pthread_mutex_unlock(&worker->lock);
    return done;
}
