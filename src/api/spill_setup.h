/* What contexts and spill managers have in common: settings of spilling that were checked, and
 * folders that were tried, before any work begins. */
#ifndef OUTCORE_API_SPILL_SETUP_H
#define OUTCORE_API_SPILL_SETUP_H

#include "base/env.h"
#include "outcore/outcore.h"
#include "spill/manager.h"

typedef struct oci_spill_request {
    const char *const *temp_dirs; /* NULL = the default folder */
    size_t n_temp_dirs;
    int64_t disk_limit; /* 0 = none */
    oc_codec codec;
    int32_t level; /* 0 = default */
    oc_spill_encoding encoding;
    bool without_checksums;
    bool encrypt;
} oci_spill_request;

/* OC_EINVAL, OC_EUNSUPPORTED: what would otherwise be heard of at the first spill. */
OC_NODISCARD oc_status oci_spill_check(const oci_spill_request *request, oc_error *err);

/* Makes the manager and opens a file in each folder to see that it can. Uses io and clock of env, which
 * must outlive it. */
OC_NODISCARD oc_status oci_spill_set_up(const oci_env *env, const oci_spill_request *request,
                                        oci_spill_manager **out, oc_error *err);

const char *oci_spill_codec_name(const oci_spill_manager *spill);    /* "auto", "zstd", ... */
const char *oci_spill_encoding_name(const oci_spill_manager *spill); /* "auto", "plain", ... */

#endif /* OUTCORE_API_SPILL_SETUP_H */
