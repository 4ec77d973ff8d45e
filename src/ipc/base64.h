/* Bytes as text: schemas in the metadata of other files. */
#ifndef OUTCORE_IPC_BASE64_H
#define OUTCORE_IPC_BASE64_H

#include "ipc/message.h"

/* Base64 of RFC 4648, section 4, with padding. *out is malloc'ed. */
OC_NODISCARD oc_status oci_base64_encode(const uint8_t *data, int64_t size, oci_bytes *out,
                                         oc_error *err);
/* OC_EDATA: not base64. */
OC_NODISCARD oc_status oci_base64_decode(const char *text, int64_t length, oci_bytes *out,
                                         oc_error *err);

#endif /* OUTCORE_IPC_BASE64_H */
