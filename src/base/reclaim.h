/* The reclaimers of a budget. Private to the memory budget; see reclaim.c. */
#ifndef OUTCORE_BASE_RECLAIM_H
#define OUTCORE_BASE_RECLAIM_H

#include <pthread.h>

#include "base/memory.h"

typedef struct oci_reclaim_list {
    pthread_mutex_t lock;   /* guards what follows; never held while a reclaimer is called */
    pthread_cond_t changed; /* a call or a pass has ended */
    oci_reclaimer *first;
    oci_reclaimer *calling; /* the reclaimer that is being called, or NULL */
    pthread_t caller;       /* the thread of the running pass */
    bool pass_is_running;
    int64_t pass_number;
} oci_reclaim_list;

void oci_reclaim_init(oci_reclaim_list *list);
void oci_reclaim_deinit(oci_reclaim_list *list);
void oci_reclaim_add(oci_reclaim_list *list, oci_reclaimer *reclaimer);
void oci_reclaim_remove(oci_reclaim_list *list, oci_reclaimer *reclaimer);

/* Asks for memory until `missing(arg)` is not above 0 or everyone was asked. Returns true when
 * it is worth trying again: somebody gave something, or another thread's pass has just ended.
 * False on a thread that is itself inside a reclaim call. */
bool oci_reclaim_pass(oci_reclaim_list *list, int64_t (*missing)(void *arg), void *arg);

#endif /* OUTCORE_BASE_RECLAIM_H */
