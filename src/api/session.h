/* Making sessions over other seams than the system's: for tests. */
#ifndef OUTCORE_API_SESSION_H
#define OUTCORE_API_SESSION_H

#include "api/context.h"
#include "outcore/sql.h"

OC_NODISCARD oc_status oci_session_create(const oc_options *options, const oci_seams *seams,
                                          oc_session **out, oc_error *err);

#endif /* OUTCORE_API_SESSION_H */
