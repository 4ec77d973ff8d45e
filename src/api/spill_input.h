/* Spill files with a name as inputs of readers: their rows, not their columns as they lie. */
#ifndef OUTCORE_API_SPILL_INPUT_H
#define OUTCORE_API_SPILL_INPUT_H

#include "api/context.h"

/* Whether an Arrow file is a spill file. What cannot be read as Arrow is none: its reader will say why.
 * A pipe cannot be looked at without taking its bytes; it counts as none. */
OC_NODISCARD oc_status oci_is_spill_input(oci_file *file, bool *out, oc_error *err);

/* A stream of its rows, charged to context->scan, in batches of up to env.batch_rows rows. Takes the
 * file, also on failure. Adds up the bytes of the batches in *memory_bytes unless it is NULL. */
OC_NODISCARD oc_status oci_spill_input_open(oc_context *context, oci_file *file,
                                            int64_t *memory_bytes, oci_stream **out, oc_error *err);

#endif /* OUTCORE_API_SPILL_INPUT_H */
