/* The interactive shell: statements and dot commands typed on a terminal. */
#ifndef OUTCORE_CLI_SHELL_H
#define OUTCORE_CLI_SHELL_H

#include "cli/sql.h"

/* Runs until the user leaves, or a signal ends it. The result is an exit code. */
int oci_cli_run_shell(oci_cli_sql *sql);

#endif /* OUTCORE_CLI_SHELL_H */
