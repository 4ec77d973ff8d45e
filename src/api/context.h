/* The context behind the public handle: the seams, the budget, and what all work of one caller
 * shares.
 *
 * Reference-counted: the caller's handle is one reference, every stream that is out is another.
 * Memory of exported arrays may outlive even that (accounts linger, see base/memory.h). */
#ifndef OUTCORE_API_CONTEXT_H
#define OUTCORE_API_CONTEXT_H

#include "arrow/stream.h"
#include "base/env.h"
#include "outcore/outcore.h"
#include "spill/manager.h"

struct oc_context {
    oci_env env;
    oci_progress progress;
    atomic_bool cancel;
    oci_spill_manager *spill;
    oci_mem *scan;   /* batches of readers */
    oci_mem *output; /* what is made for consumers: views, text and encode buffers */
    oc_progress_callback callback;
    void *callback_arg;
    int64_t start_ns;
    _Atomic int32_t references;
};

/* The seams to use instead of the system's: for tests of error paths. NULL members mean the
 * system's. */
typedef struct oci_seams {
    const oci_allocator *allocator;
    const oci_io *io;
    const oci_threads *threads;
    const oci_clock *clock;
} oci_seams;

OC_NODISCARD oc_status oci_context_create(const oc_options *options, const oci_seams *seams,
                                          oc_context **out, oc_error *err);
oc_context *oci_context_retain(oc_context *context);
void oci_context_release(oc_context *context);

/* First spill folder: where readers stage large inputs. */
const char *oci_context_temp_folder(const oc_context *context);

/* Hands a stream out whose release gives the context reference back that this call takes. Takes the
 * stream, also on failure. */
OC_NODISCARD oc_status oci_context_export(oc_context *context, oci_stream *stream,
                                          oci_schema *schema, struct ArrowArrayStream *out,
                                          oc_error *err);

/* Copies what the caller's version of an options struct has over defaults. `size` is its
 * struct_size, `known` ours. */
OC_NODISCARD oc_status oci_copy_options(void *to, const void *from, size_t size, size_t known,
                                        const char *what, oc_error *err);

#endif /* OUTCORE_API_CONTEXT_H */
