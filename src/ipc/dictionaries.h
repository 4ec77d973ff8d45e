/* Appending to a dictionary: the values of an old batch and of a new one as one batch. For
 * decoder.c. */
#ifndef OUTCORE_IPC_DICTIONARIES_H
#define OUTCORE_IPC_DICTIONARIES_H

#include "arrow/batch.h"

/* `a` and `b` have one validated column of the type of `schema`. Dictionary columns inside are
 * joined as the indices that they are, nothing is attached to those of the result. The result is a
 * new slab from `mem`. OC_EUNSUPPORTED when 32-bit offsets or the run ends cannot reach all values
 * together. */
OC_NODISCARD oc_status oci_dictionary_concat(oci_schema *schema, const oci_batch *a,
                                             const oci_batch *b, oci_mem *mem, oci_batch **out,
                                             oc_error *err);

#endif /* OUTCORE_IPC_DICTIONARIES_H */
