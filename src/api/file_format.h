/* Which format a file has: by its name, or by its first bytes. */
#ifndef OUTCORE_API_FILE_FORMAT_H
#define OUTCORE_API_FILE_FORMAT_H

#include "base/io.h"
#include "outcore/outcore.h"

/* By the ending of the name; AUTO when it tells nothing. */
oc_format oci_format_of_name(const char *path);

/* By the first bytes, when the name tells nothing: Parquet, Arrow IPC file or stream, else CSV. OC_EDATA when
 * they are no Arrow and hold NUL bytes, OC_EUNSUPPORTED for encrypted spill files. A pipe is replaced
 * by a file that gives the bytes that were looked at once more; takes over *file and replaces it, also
 * on failure. */
OC_NODISCARD oc_status oci_format_of_content(oci_file **file, oc_format *out, oc_error *err);

#endif /* OUTCORE_API_FILE_FORMAT_H */
