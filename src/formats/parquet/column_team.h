/* Columns of one batch, read by several threads.
 *
 * Every thread takes the next column that nobody has, the ones that took longest first; the caller's is one of them.
 * With one thread, or when others cannot be started, the caller reads them all: same result. The others go by the
 * caller's identity, so that operators above can give memory back while they wait for the batch. */
#ifndef OUTCORE_FORMATS_PARQUET_COLUMN_TEAM_H
#define OUTCORE_FORMATS_PARQUET_COLUMN_TEAM_H

#include <stdatomic.h>

#include "base/env.h"
#include "formats/parquet/column_reader.h"

typedef struct oci_parquet_column_task {
    oci_parquet_column_reader *reader;
    oci_column *out;
    oci_column *space;
    oci_batch *owner; /* keeps the buffers */
    oc_status status;
    oc_error error;
} oci_parquet_column_task;

typedef struct oci_parquet_column_team oci_parquet_column_team;

OC_NODISCARD oc_status oci_parquet_column_team_create(const oci_env *env, int32_t n_columns,
                                                      oci_parquet_column_team **out, oc_error *err);
void oci_parquet_column_team_destroy(oci_parquet_column_team *team); /* NULL is fine */

/* Reads `rows` rows of every task's column; status and error are in the tasks. */
void oci_parquet_column_team_read(oci_parquet_column_team *team, oci_parquet_column_task *tasks,
                                  int32_t n, int64_t rows);

#endif /* OUTCORE_FORMATS_PARQUET_COLUMN_TEAM_H */
