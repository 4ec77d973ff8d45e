/* See run_list.h. */
#include "ops/sort/run_list.h"

#include <string.h>

#include "base/bits.h"
#include "base/tiny.h"

/* No more inputs than memory allows; three in tests with tiny limits. */
#define FAN_IN_MAX OCI_TINY(3, INT32_MAX)

/* What a merge keeps per input besides blocks: an upper bound of its struct, slots and place in the
 * tree. */
#define INPUT_BYTES 512

void oci_run_key_set(oci_run_key *out, const uint8_t *key, int64_t size)
{
    out->is_whole = size <= OCI_RUN_KEY_BYTES;
    out->size = out->is_whole ? (int32_t)size : OCI_RUN_KEY_BYTES;
    if (out->size > 0) {
        memcpy(out->bytes, key, (size_t)out->size);
    }
}

/* Order of what is known of two keys; 0 = equal as far as both are known. */
static int compare_known(const oci_run_key *a, const oci_run_key *b)
{
    int32_t n = a->size < b->size ? a->size : b->size;
    return memcmp(a->bytes, b->bytes, (size_t)n);
}

bool oci_run_key_not_above(const oci_run_key *a, const oci_run_key *b)
{
    int order = compare_known(a, b);
    return order < 0 || (order == 0 && a->is_whole && b->is_whole && a->size == b->size);
}

bool oci_run_key_below(const oci_run_key *a, const oci_run_key *b)
{
    return compare_known(a, b) < 0;
}

/* -- the list
 * ------------------------------------------------------------------------------------------------
 */

void oci_run_list_init(oci_run_list *list, oci_mem *mem)
{
    *list = (oci_run_list){.mem = mem};
}

static void free_extents(oci_run_list *list, oci_sorted_run *run)
{
    oci_mem_free(list->mem, run->extents, run->capacity * (int64_t)sizeof *run->extents);
    run->extents = NULL;
}

void oci_run_list_deinit(oci_run_list *list)
{
    for (int32_t i = 0; i < list->n; i++) {
        free_extents(list, &list->runs[i]);
    }
    oci_mem_free(list->mem, list->runs, list->capacity * (int64_t)sizeof *list->runs);
    *list = (oci_run_list){.mem = list->mem};
}

static oc_status grow_extents(oci_run_list *list, oci_sorted_run *run, oc_error *err)
{
    int32_t capacity = run->capacity == 0 ? 1 : run->capacity * 2;
    void *grown;
    OC_TRY(oci_mem_realloc(list->mem, run->extents, run->capacity * (int64_t)sizeof *run->extents,
                           capacity * (int64_t)sizeof *run->extents, &grown, err));
    run->extents = grown;
    run->capacity = capacity;
    return OC_OK;
}

static oc_status grow_runs(oci_run_list *list, oc_error *err)
{
    int32_t capacity = list->capacity == 0 ? 8 : list->capacity * 2;
    void *grown;
    OC_TRY(oci_mem_realloc(list->mem, list->runs, list->capacity * (int64_t)sizeof *list->runs,
                           capacity * (int64_t)sizeof *list->runs, &grown, err));
    list->runs = grown;
    list->capacity = capacity;
    return OC_OK;
}

static void widen(int64_t *most, int64_t value)
{
    *most = *most > value ? *most : value;
}

/* Adds an extent at index `at` of the run's list; sorted input extends the extent before instead,
 * unless they are sealed, which is done run by run. */
static oc_status insert_extent(oci_run_list *list, oci_sorted_run *run, int32_t at,
                               const oci_run_extent *extent, oc_error *err)
{
    if (at > 0 && at == run->n_extents) {
        oci_run_extent *last = &run->extents[at - 1];
        bool is_same_seal = memcmp(last->run_id, extent->run_id, sizeof last->run_id) == 0;
        if (is_same_seal && last->offset + last->bytes == extent->offset) {
            last->bytes += extent->bytes;
            last->rows += extent->rows;
            last->blocks += extent->blocks;
            widen(&last->block_rows_max, extent->block_rows_max);
            widen(&last->block_bytes_max, extent->block_bytes_max);
            widen(&last->slab_bytes_max, extent->slab_bytes_max);
            widen(&last->read_bytes_max, extent->read_bytes_max);
            return OC_OK;
        }
    }
    if (run->n_extents == run->capacity) {
        OC_TRY(grow_extents(list, run, err));
    }
    memmove(&run->extents[at + 1], &run->extents[at],
            (size_t)(run->n_extents - at) * sizeof *run->extents);
    run->extents[at] = *extent;
    run->n_extents++;
    return OC_OK;
}

static oc_status join(oci_run_list *list, oci_sorted_run *into, const oci_sorted_run *run,
                      bool behind, const oci_run_extent *extent, oc_error *err)
{
    OC_TRY(insert_extent(list, into, behind ? into->n_extents : 0, extent, err));
    if (behind) {
        into->last_key = run->last_key;
    } else {
        into->first_key = run->first_key;
    }
    into->rows += run->rows;
    into->bytes += run->bytes;
    widen(&into->slab_bytes_max, run->slab_bytes_max);
    widen(&into->read_bytes_max, run->read_bytes_max);
    widen(&into->key_bytes_max, run->key_bytes_max);
    return OC_OK;
}

static oc_status fill_run(oci_run_list *list, oci_sorted_run *slot, const oci_sorted_run *run,
                          const oci_run_extent *extent, oc_error *err)
{
    *slot = *run;
    slot->extents = NULL;
    slot->n_extents = 0;
    slot->capacity = 0;
    return insert_extent(list, slot, 0, extent, err);
}

oc_status oci_run_list_add(oci_run_list *list, const oci_sorted_run *run,
                           const oci_run_extent *extent, oc_error *err)
{
    if (list->n > 0) {
        oci_sorted_run *last = &list->runs[list->n - 1];
        if (oci_run_key_not_above(&last->last_key, &run->first_key)) {
            return join(list, last, run, true, extent, err);
        }
        if (oci_run_key_below(&run->last_key, &last->first_key)) {
            return join(list, last, run, false, extent, err);
        }
    }
    if (list->n == list->capacity) {
        OC_TRY(grow_runs(list, err));
    }
    OC_TRY(fill_run(list, &list->runs[list->n], run, extent, err));
    list->n++;
    return OC_OK;
}

oc_status oci_run_list_replace(oci_run_list *list, int32_t start, int32_t n,
                               const oci_sorted_run *run, const oci_run_extent *extent,
                               oc_error *err)
{
    oci_sorted_run merged;
    OC_TRY(fill_run(list, &merged, run, extent, err));
    for (int32_t i = start; i < start + n; i++) {
        free_extents(list, &list->runs[i]);
    }
    list->runs[start] = merged;
    memmove(&list->runs[start + 1], &list->runs[start + n],
            (size_t)(list->n - start - n) * sizeof *list->runs);
    list->n -= n - 1;
    return OC_OK;
}

/* -- the plan
 * ------------------------------------------------------------------------------------------------
 */

int64_t oci_run_cost(const oci_sorted_run *run)
{
    return run->slab_bytes_max + run->key_bytes_max + INPUT_BYTES;
}

/* How many runs from `start` on fit into `space` together, and their bytes on disk. */
static int32_t window_fit(const oci_run_list *list, int32_t start, int32_t most, int64_t space,
                          int64_t *bytes)
{
    int32_t n = 0;
    int64_t cost = 0;
    *bytes = 0;
    most = most < FAN_IN_MAX ? most : FAN_IN_MAX;
    while (n < most && start + n < list->n) {
        cost += oci_run_cost(&list->runs[start + n]);
        if (cost > space) {
            break;
        }
        *bytes += list->runs[start + n].bytes;
        n++;
    }
    return n;
}

/* How many of the runs, taken as average ones, a merge can have as inputs. */
static int32_t average_fan_in(const oci_run_list *list, int64_t space)
{
    int64_t cost = 0;
    for (int32_t i = 0; i < list->n; i++) {
        cost += oci_run_cost(&list->runs[i]);
    }
    int64_t average = cost <= list->n ? 1 : (cost + list->n - 1) / list->n;
    int64_t fan_in = oci_min64(space / average, FAN_IN_MAX);
    return fan_in < 2 ? 2 : fan_in > list->n ? list->n : (int32_t)fan_in;
}

/* Runs to merge in this step. A merge of k runs makes k - 1 runs fewer. The first step takes just
 * so many that all later ones can be full (Knuth, TAOCP 3, 5.4.9: add dummy runs so that (n - 1)
 * mod (k - 1) is 0), so that as few bytes as possible move twice. */
static int32_t step_size(int32_t n_runs, int32_t fan_in, int32_t final_fan_in)
{
    int32_t excess = n_runs - final_fan_in;
    if (excess + 1 <= fan_in) {
        return excess + 1;
    }
    int32_t first = excess % (fan_in - 1);
    return first == 0 ? fan_in : first + 1;
}

static oc_status refuse(const oci_run_list *list, int64_t space, int64_t *needed, oc_error *err)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i + 1 < list->n; i++) {
        int64_t cost = oci_run_cost(&list->runs[i]) + oci_run_cost(&list->runs[i + 1]);
        least = cost < least ? cost : least;
    }
    *needed = least;
    OC_FAIL(err, OC_EBUDGET,
            "could not merge sorted runs: two blocks take %" PRId64 " bytes of %" PRId64, least,
            space);
}

oc_status oci_merge_plan(const oci_run_list *list, int64_t space, int64_t final_space,
                         oci_merge_step *out, int64_t *needed, oc_error *err)
{
    int64_t bytes;
    *needed = 0;
    if (list->n <= 1 || window_fit(list, 0, list->n, final_space, &bytes) == list->n) {
        *out = (oci_merge_step){.start = 0, .n = list->n, .is_final = true};
        return OC_OK;
    }
    int32_t wanted =
        step_size(list->n, average_fan_in(list, space), average_fan_in(list, final_space));
    wanted = wanted < 2 ? 2 : wanted;
    int32_t best_n = 0;
    int64_t best_bytes = 0;
    for (int32_t start = 0; start + 1 < list->n; start++) {
        int32_t n = window_fit(list, start, wanted, space, &bytes);
        if (n >= 2 && (n > best_n || (n == best_n && bytes < best_bytes))) {
            *out = (oci_merge_step){.start = start, .n = n};
            best_n = n;
            best_bytes = bytes;
        }
    }
    return best_n >= 2 ? OC_OK : refuse(list, space, needed, err);
}

int32_t oci_merge_passes_left(const oci_run_list *list, int64_t space, int64_t final_space)
{
    if (list->n <= 1) {
        return list->n;
    }
    int32_t fan_in = average_fan_in(list, space);
    int32_t final_fan_in = average_fan_in(list, final_space);
    int32_t passes = 1;
    for (int64_t n = list->n; n > final_fan_in; n = (n + fan_in - 1) / fan_in) {
        passes++;
    }
    return passes;
}
