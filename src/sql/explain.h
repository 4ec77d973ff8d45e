/* Plans as text. See docs/sql.md. */
#ifndef OUTCORE_SQL_EXPLAIN_H
#define OUTCORE_SQL_EXPLAIN_H

#include "sql/execute.h"

/* Calls line(text, arg) for each line of the tree, or of the JSON. Metrics are shown where there are. */
OC_NODISCARD oc_status oci_plan_explain(const oci_plan *plan, bool json,
                                        oc_status (*line)(const char *text, void *arg,
                                                          oc_error *err),
                                        void *arg, oc_error *err);

#endif /* OUTCORE_SQL_EXPLAIN_H */
