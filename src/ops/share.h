/* How operators of one context share its memory limit: what is fair, and waiting for it. */
#ifndef OUTCORE_OPS_SHARE_H
#define OUTCORE_OPS_SHARE_H

#include "base/env.h"
#include "spill/manager.h"

/* An operator's entry among those at work. Zeroed at first. */
typedef struct oci_share_entry {
    bool is_counted;
    bool is_root; /* nobody that is counted waits for its rows */
} oci_share_entry;

/* Around every call that gives out rows: whatever is joined inside works for the caller, on its thread. */
void oci_share_enter_call(void);
void oci_share_leave_call(void);
/* From inside the first of these calls to the end of the work; leaving twice is fine. */
void oci_share_join(oci_spill_manager *manager, oci_share_entry *entry);
void oci_share_leave(oci_spill_manager *manager, oci_share_entry *entry);

/* The part of the limit that is one operator's while others of the context are at work. */
int64_t oci_share_of(const oci_env *env, const oci_spill_manager *manager);

/* When another operator waits for memory, nobody keeps more than its share: whether one that could free `held`
 * bytes does. */
bool oci_share_is_passed(const oci_env *env, const oci_spill_manager *manager, int64_t held);

/* What was done already for one thing that was refused. Zeroed at first. */
typedef struct oci_share_patience {
    int steps;       /* of waiting */
    int asked;       /* others for a fair part, so many times */
    bool has_begged; /* others for everything */
} oci_share_patience;

/* After a refusal: asks others for what is fair, up to the share of `mem` (which must hold all that the operator
 * does), beginning with `least` or a part of the limit; more each time, as nobody says what it takes. Whether it is
 * worth trying again. */
bool oci_share_ask(const oci_env *env, const oci_spill_manager *manager, oci_mem *mem,
                   int64_t least, oci_share_patience *patience);
/* When nothing else helps: asks others for everything, once. */
bool oci_share_beg(const oci_env *env, oci_mem *mem, oci_share_patience *patience);

/* At last: waits a moment, in which other operators of the context may give memory back, and counts in
 * *steps (from 0) how often; *seen (from 0) is for telling whether they get anything done. Nothing that others
 * could use may be held meanwhile. OC_OK: try again. OC_EBUDGET (err as it is): there is nobody to wait for (all others
 * work for the same query, and stand still while it does), or nobody has moved on for ten seconds. OC_ECANCELED. */
OC_NODISCARD oc_status oci_share_wait(const oci_env *env, oci_spill_manager *manager, int64_t *seen,
                                      int *steps, oc_error *err);

#endif /* OUTCORE_OPS_SHARE_H */
