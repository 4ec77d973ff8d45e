/* An engine for tests of outcore/spill.h: what goes in is made by arrow_maker, and what comes out is held
 * against the same maker. Failures end the test. */
#ifndef OUTCORE_TESTS_SUPPORT_SPILL_ENGINE_H
#define OUTCORE_TESTS_SUPPORT_SPILL_ENGINE_H

#include "outcore/spill.h"
#include "support/arrow_maker.h"

#define KIB ((int64_t)1 << 10)
#define MIB ((int64_t)1 << 20)

/* A folder for the files of a test; to be given to cmocka_run_group_tests(). */
extern char spill_folder[64];
int make_spill_folder(void **state);
int remove_spill_folder(void **state); /* fails when a test left a file */
/* Valid until the next call. */
const char *spill_path_of(const char *name);

/* 64 MiB, files in the folder. */
oc_spill_options default_spill_options(void);
/* options NULL: all defaults. */
oc_spill_manager *make_spill_manager(const oc_spill_options *options);
oc_spill_metrics spill_metrics_of(oc_spill_manager *manager);
/* Destroys a manager after all else: nothing is held any more. */
void end_spilling(oc_spill_manager *manager);

/* path NULL: a file without a name. */
oc_spill_writer *make_spill_writer(oc_spill_manager *manager, const char *const *columns,
                                   int32_t n_columns, const char *path);
void append_spilled(oc_spill_writer *writer, const char *const *columns, int32_t n_columns,
                    const arrow_maker *maker);
/* Appends rows [0, maker->length) in batches of `batch_rows`, finishes and destroys the writer. */
oc_spill_file *write_spilled(oc_spill_writer *writer, const char *const *columns, int32_t n_columns,
                             const arrow_maker *maker, int64_t batch_rows);

void open_spilled(oc_spill_file *file, struct ArrowArrayStream *out);
/* Reads a stream to its end, and checks that it gives the rows that the maker makes. Releases the
 * stream. Returns the number of batches. */
int64_t check_spilled_stream(struct ArrowArrayStream *stream, const char *const *columns,
                             int32_t n_columns, const arrow_maker *maker);
int64_t check_spilled(oc_spill_file *file, const char *const *columns, int32_t n_columns,
                      const arrow_maker *maker);

#endif /* OUTCORE_TESTS_SUPPORT_SPILL_ENGINE_H */
