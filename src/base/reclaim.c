/* Asking those who can give memory back.
 *
 * A pass asks everyone how much they could free, then has them free it, largest first, until
 * enough is there. The rules:
 *
 * - One pass at a time per budget, so that no reclaimer is called twice at once. A second thread
 *   waits for the running pass and tries its allocation again: what it needs may have been freed
 *   meanwhile.
 * - No lock is held during a call; `calling` protects the reclaimer instead: remove() waits
 *   until it is not being called, except on the thread of the pass itself, where a reclaimer may
 *   remove itself or others.
 * - A thread inside a reclaim call never starts a pass or waits for one: spilling works with
 *   what it has, or with what is free. */
#include "base/reclaim.h"

#include <assert.h>

static _Thread_local int reclaim_depth;

void oci_reclaim_init(oci_reclaim_list *list)
{
    *list = (oci_reclaim_list){.first = NULL};
    pthread_mutex_init(&list->lock, NULL);
    pthread_cond_init(&list->changed, NULL);
}

void oci_reclaim_deinit(oci_reclaim_list *list)
{
    assert(list->first == NULL);
    pthread_cond_destroy(&list->changed);
    pthread_mutex_destroy(&list->lock);
}

void oci_reclaim_add(oci_reclaim_list *list, oci_reclaimer *reclaimer)
{
    pthread_mutex_lock(&list->lock);
    reclaimer->held_seen = 0;
    reclaimer->pass_seen =
        list->pass_number; /* a running pass goes by what was there at its start */
    reclaimer->next = list->first;
    list->first = reclaimer;
    pthread_mutex_unlock(&list->lock);
}

void oci_reclaim_remove(oci_reclaim_list *list, oci_reclaimer *reclaimer)
{
    pthread_mutex_lock(&list->lock);
    for (oci_reclaimer **link = &list->first; *link != NULL; link = &(*link)->next) {
        if (*link == reclaimer) {
            *link = reclaimer->next;
            break;
        }
    }
    while (list->calling == reclaimer && !pthread_equal(list->caller, pthread_self())) {
        pthread_cond_wait(&list->changed, &list->lock);
    }
    pthread_mutex_unlock(&list->lock);
}

/* Calls held() (`ask`) or reclaim() of a reclaimer that is in the list. The lock is held before
 * and after. */
static int64_t call_unlocked(oci_reclaim_list *list, oci_reclaimer *reclaimer, bool ask,
                             int64_t bytes)
{
    list->calling = reclaimer;
    pthread_mutex_unlock(&list->lock);
    reclaim_depth++;
    int64_t answer = ask ? reclaimer->held(reclaimer->self)
                         : reclaimer->reclaim(reclaimer->self, bytes);
    reclaim_depth--;
    pthread_mutex_lock(&list->lock);
    list->calling = NULL;
    pthread_cond_broadcast(&list->changed);
    return answer;
}

static bool is_listed(const oci_reclaim_list *list, const oci_reclaimer *reclaimer)
{
    for (const oci_reclaimer *at = list->first; at != NULL; at = at->next) {
        if (at == reclaimer) {
            return true;
        }
    }
    return false;
}

/* The list may change during each call, so every step starts from its head and looks for one not
 * asked in this pass. */
static void ask_everyone(oci_reclaim_list *list)
{
    oci_reclaimer *at = list->first;
    while (at != NULL) {
        if (at->pass_seen == list->pass_number) {
            at = at->next;
            continue;
        }
        at->pass_seen = list->pass_number;
        int64_t held = call_unlocked(list, at, true, 0);
        if (is_listed(list, at)) {
            at->held_seen = held;
        }
        at = list->first;
    }
}

static oci_reclaimer *largest(const oci_reclaim_list *list)
{
    oci_reclaimer *best = NULL;
    for (oci_reclaimer *at = list->first; at != NULL; at = at->next) {
        if (at->held_seen > 0 && (best == NULL || at->held_seen > best->held_seen)) {
            best = at;
        }
    }
    return best;
}

bool oci_reclaim_pass(oci_reclaim_list *list, int64_t (*missing)(void *arg), void *arg)
{
    if (reclaim_depth > 0) {
        return false;
    }
    pthread_mutex_lock(&list->lock);
    if (list->pass_is_running) {
        while (list->pass_is_running) {
            pthread_cond_wait(&list->changed, &list->lock);
        }
        pthread_mutex_unlock(&list->lock);
        return true;
    }
    list->pass_is_running = true;
    list->caller = pthread_self();
    list->pass_number++;
    ask_everyone(list);
    bool got_some = false;
    for (oci_reclaimer *at = largest(list); at != NULL; at = largest(list)) {
        int64_t bytes = missing(arg);
        if (bytes <= 0) {
            got_some = true;
            break;
        }
        at->held_seen = 0;
        got_some = call_unlocked(list, at, false, bytes) > 0 || got_some;
    }
    list->pass_is_running = false;
    pthread_cond_broadcast(&list->changed);
    pthread_mutex_unlock(&list->lock);
    return got_some;
}
