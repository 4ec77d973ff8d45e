/* Reading and writing files inside the library: what oc_read_files and oc_write_file do, on streams of our own. */
#ifndef OUTCORE_API_FILES_H
#define OUTCORE_API_FILES_H

#include "api/context.h"

/* As oc_read_files; columns of options->select may come in another order, with others between them, when a file
 * cannot be read so. */
OC_NODISCARD oc_status oci_read_files(oc_context *context, const char *const *paths, size_t n_paths,
                                      const oc_read_options *options, oci_stream **out,
                                      oc_error *err);
/* As oc_write_file; the stream is borrowed. `options` are whole. */
OC_NODISCARD oc_status oci_write_file(oc_context *context, oci_stream *input, const char *path,
                                      const oc_write_options *options, int64_t *rows,
                                      oc_error *err);

#endif /* OUTCORE_API_FILES_H */
