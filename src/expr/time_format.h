/* Formats of to_char and to_date: patterns such as YYYY-MM-DD HH24:MI:SS, everything else as it
 * stands; letters in double quotes are no patterns.
 *
 *   YYYY YYY YY Y IYYY CC Q MM MONTH Month month MON Mon mon WW IW DDD DD D ID J
 *   DAY Day day DY Dy dy HH24 HH12 HH MI SS SSSS MS US AM PM A.M. P.M. am pm TZ OF
 *
 * FM in front of a pattern takes away padding, TH or th behind a number adds st, nd, rd, th. */
#ifndef OUTCORE_EXPR_TIME_FORMAT_H
#define OUTCORE_EXPR_TIME_FORMAT_H

#include "expr/kernel.h"
#include "expr/moment.h"

/* zone_seconds: of TZ and OF; INT32_MIN = the timestamp has no zone. */
OC_NODISCARD oc_status oci_time_format(oci_span format, oci_moment moment, int32_t zone_seconds,
                                       oci_growing_text *out, oc_error *err);
/* Reads a text; fields that the format does not have are those of the year 1, 1 January, 0:00:00.
 * OC_EINVAL: the text does not fit. */
OC_NODISCARD oc_status oci_time_read(oci_span format, oci_span text, oci_moment *out,
                                     int32_t *zone_seconds, oc_error *err);

#endif /* OUTCORE_EXPR_TIME_FORMAT_H */
