/* See share.h. */
#include "ops/share.h"

#include <time.h>

#include "base/bits.h"

/* The first time others are asked for this part of the limit; so many times for one thing. */
#define ASK_PART 16
#define ASKS_MAX 3

#define WAIT_STEPS_MAX 5000
#define WAIT_STEP_NS   2000000

static _Thread_local int32_t calls; /* that this thread is inside of */

void oci_share_enter_call(void)
{
    calls++;
}

void oci_share_leave_call(void)
{
    calls--;
}

void oci_share_join(oci_spill_manager *manager, oci_share_entry *entry)
{
    oci_spill_manager *root = oci_spill_root(manager);
    *entry = (oci_share_entry){.is_counted = true, .is_root = calls <= 1};
    atomic_fetch_add(&root->operators, 1);
    atomic_fetch_add(&root->queries, entry->is_root ? 1 : 0);
}

void oci_share_leave(oci_spill_manager *manager, oci_share_entry *entry)
{
    if (entry->is_counted) {
        oci_spill_manager *root = oci_spill_root(manager);
        atomic_fetch_sub(&root->operators, 1);
        atomic_fetch_sub(&root->queries, entry->is_root ? 1 : 0);
        entry->is_counted = false;
    }
}

int64_t oci_share_of(const oci_env *env, const oci_spill_manager *manager)
{
    int32_t operators = atomic_load(&oci_spill_root(manager)->operators);
    return oci_budget_limit(env->budget) / oci_max64(1, operators);
}

bool oci_share_is_passed(const oci_env *env, const oci_spill_manager *manager, int64_t held)
{
    return atomic_load(&oci_spill_root(manager)->waiting) > 0 && held > oci_share_of(env, manager);
}

/* Has others give back `bytes`; whether they gave anything, or it was there. */
static bool get(oci_mem *mem, int64_t bytes)
{
    oci_reservation asked = {.mem = mem};
    int64_t before = oci_mem_available(mem);
    bool got_all = oci_mem_reserve(mem, &asked, bytes, NULL) == OC_OK;
    oci_reservation_release(&asked);
    return got_all || oci_mem_available(mem) > before;
}

bool oci_share_ask(const oci_env *env, const oci_spill_manager *manager, oci_mem *mem,
                   int64_t least, oci_share_patience *patience)
{
    int64_t most = oci_share_of(env, manager) - oci_mem_held(mem);
    bool is_alone = atomic_load(&oci_spill_root(manager)->operators) <= 1;
    if (is_alone || most <= 0 || patience->asked == ASKS_MAX) {
        return false;
    }
    int64_t part = oci_max64(oci_budget_limit(env->budget) / ASK_PART, least);
    return get(mem, oci_min64(most, part << 2 * patience->asked++));
}

bool oci_share_beg(const oci_env *env, oci_mem *mem, oci_share_patience *patience)
{
    if (patience->has_begged) {
        return false;
    }
    patience->has_begged = true;
    return get(mem, oci_budget_limit(env->budget));
}

/* A number that changes while other operators of the context get something done. */
static int64_t activity(const oci_env *env, const oci_spill_manager *manager)
{
    const oci_spill_counters *counters = &oci_spill_root(manager)->counters;
    const oci_progress *progress = env->progress;
    int64_t rows = progress == NULL
                       ? 0
                       : atomic_load(&progress->input_rows) + atomic_load(&progress->output_rows);
    return rows + atomic_load(&counters->spilled_bytes) + atomic_load(&counters->read_back_bytes);
}

oc_status oci_share_wait(const oci_env *env, oci_spill_manager *manager, int64_t *seen, int *steps,
                         oc_error *err)
{
    int64_t now = activity(env, manager);
    *steps = now == *seen ? *steps : 0;
    *seen = now;
    if (atomic_load(&oci_spill_root(manager)->queries) <= 1 || *steps == WAIT_STEPS_MAX) {
        return OC_EBUDGET;
    }
    OC_TRY(oci_env_check_cancel(env, err));
    ++*steps;
    atomic_fetch_add(&oci_spill_root(manager)->waiting, 1);
    struct timespec pause = {.tv_nsec = WAIT_STEP_NS};
    nanosleep(&pause, NULL);
    atomic_fetch_sub(&oci_spill_root(manager)->waiting, 1);
    return OC_OK;
}
