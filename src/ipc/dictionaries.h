/* Appending to a dictionary: the values of an old batch and of a new one as one batch. For
 * decoder.c. */
#ifndef OUTCORE_IPC_DICTIONARIES_H
#define OUTCORE_IPC_DICTIONARIES_H

#include "arrow/batch.h"

/* `a` and `b` have one column of the same type, not a dictionary. The result is a new slab from
 * `mem`. OC_EUNSUPPORTED when 32-bit offsets cannot reach all bytes together. */
OC_NODISCARD oc_status oci_dictionary_concat(oci_schema *schema, const oci_batch *a,
                                             const oci_batch *b, oci_mem *mem, oci_batch **out,
                                             oc_error *err);

#endif /* OUTCORE_IPC_DICTIONARIES_H */
