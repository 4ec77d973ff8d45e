/* Dot commands: settings of the program and short cuts, by the names that people know from other
 * shells: `.timer on` and `\timing on` are the same.
 *
 * They are lines, not SQL: arguments are words, in quotes when they have blanks. */
#ifndef OUTCORE_CLI_DOT_COMMAND_H
#define OUTCORE_CLI_DOT_COMMAND_H

#include "cli/sql.h"

/* Whether text[0..size) begins with one. */
bool oci_cli_is_dot_command(const char *text, size_t size);

/* Runs the line text[0..size). Errors are told; the result is an exit code. */
int oci_cli_run_dot_command(oci_cli_sql *sql, const char *text, size_t size,
                            const oci_cli_place *place);

/* Calls `found` with every name that begins with text[0..size). */
void oci_cli_complete_dot_command(const char *text, size_t size,
                                  void (*found)(const char *name, void *arg), void *arg);

#endif /* OUTCORE_CLI_DOT_COMMAND_H */
