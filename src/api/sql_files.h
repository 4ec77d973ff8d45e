/* Files as tables of a session. */
#ifndef OUTCORE_API_SQL_FILES_H
#define OUTCORE_API_SQL_FILES_H

#include "outcore/sql.h"
#include "sql/catalog.h"

/* `session` outlives the tables: they ask for its context when they are opened. */
void oci_file_tables_init(oci_file_tables *files, oc_session *session);
/* The same with declared columns ("a int64, b utf8") for CSV; columns NULL = none. */
OC_NODISCARD oc_status oci_file_table_open(oc_session *session, const char *pattern,
                                           const char *format, const char *columns,
                                           const oci_option *options, int32_t n_options,
                                           oci_table **out, oc_error *err);
/* A stream as a table that can be read once. Takes the stream, also on failure. */
OC_NODISCARD oc_status oci_stream_table_open(const char *name, oci_stream *stream, oci_table **out,
                                             oc_error *err);

#endif /* OUTCORE_API_SQL_FILES_H */
