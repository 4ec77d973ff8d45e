/* A catalog for tests of statements: one table t of three columns, and files that are there when their name ends in
 * ".csv" and have one column. Nothing can be read from any of them. */
#ifndef OUTCORE_TESTS_SUPPORT_SQL_CATALOG_H
#define OUTCORE_TESTS_SUPPORT_SQL_CATALOG_H

#include "sql/catalog.h"

/* t (a int64, b utf8, c float64), a view v of it, and files of (x int64). Aborts when it cannot be made. */
oci_catalog *make_sql_catalog(void);

#endif /* OUTCORE_TESTS_SUPPORT_SQL_CATALOG_H */
