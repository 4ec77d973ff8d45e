/* External merge sort.
 *
 * Takes batches until memory runs out, sorts what it has and writes it as a run, goes on; at the
 * end the rows still in memory are merged with the runs. See docs/sort.md for the whole picture. */
#ifndef OUTCORE_OPS_SORT_SORT_H
#define OUTCORE_OPS_SORT_SORT_H

#include "arrow/row_key.h"
#include "arrow/stream.h"
#include "base/env.h"
#include "spill/manager.h"

/* Sorts `input` (taken over, also on failure) by keys (copied). limit < 0 = all rows, else the
 * first `limit`. Nothing is read before the first next(). The stream's schema is the working form
 * of the input's. `env` and `manager` must outlive the stream; batches may outlive it. OC_EINVAL /
 * OC_EUNSUPPORTED: see oci_row_key_check. */
OC_NODISCARD oc_status oci_sort_open(const oci_env *env, oci_spill_manager *manager,
                                     oci_stream *input, const oci_sort_key *keys, int32_t n_keys,
                                     int64_t limit, oci_stream **out, oc_error *err);

#endif /* OUTCORE_OPS_SORT_SORT_H */
