/* The commands. Each does the whole work of one command line and returns the exit code. */
#ifndef OUTCORE_CLI_COMMANDS_H
#define OUTCORE_CLI_COMMANDS_H

#include "cli/options.h"

int oci_cli_run_sql(const oci_cli_options *options);
int oci_cli_sort(const oci_cli_options *options);
int oci_cli_convert(const oci_cli_options *options);
int oci_cli_inspect(const oci_cli_options *options);

/* `outcore help [COMMAND]` and `--help`, on standard output. OCI_CLI_NONE: the overview. */
int oci_cli_help(oci_cli_command command);

#endif /* OUTCORE_CLI_COMMANDS_H */
