/* Reading and writing files inside the library: what oc_read_files and oc_write_file do, on streams of our own. */
#ifndef OUTCORE_API_FILES_H
#define OUTCORE_API_FILES_H

#include "api/context.h"
#include "formats/predicate.h"

/* What only queries say of files. */
typedef struct oci_read_hints {
    const oci_predicate
        *wanted; /* rows that cannot match may be left out; NULL. Borrowed until the close */
    bool
        counts_only; /* no column is wanted: where a format can tell how many rows there are without
                                  * reading any, batches have none; else those of options->select come */
} oci_read_hints;

/* As oc_read_files; columns of options->select may come in another order, with others between them, when a file
 * cannot be read so. `hints` may be NULL. */
OC_NODISCARD oc_status oci_read_files(oc_context *context, const char *const *paths, size_t n_paths,
                                      const oc_read_options *options, const oci_read_hints *hints,
                                      oci_stream **out, oc_error *err);
/* As oc_write_file; the stream is borrowed. `options` are whole. */
OC_NODISCARD oc_status oci_write_file(oc_context *context, oci_stream *input, const char *path,
                                      const oc_write_options *options, int64_t *rows,
                                      oc_error *err);

#endif /* OUTCORE_API_FILES_H */
