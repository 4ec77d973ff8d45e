/* Running SQL: a session, and what the user wants to see of its answers.
 *
 *     oci_cli_open_sql            a session with the settings of the command line
 *     oci_cli_run_statement       one statement: its rows go out, its error is told
 *     oci_cli_close_sql
 *
 * Scripts (script.h) and the interactive shell (shell.h) cut texts into statements and dot commands
 * (dot_command.h), which change how answers look. All of this is used by one thread. */
#ifndef OUTCORE_CLI_SQL_H
#define OUTCORE_CLI_SQL_H

#include "cli/job.h"
#include "outcore/sql.h"

#define OCI_CLI_NULL_TEXT_BYTES  64
#define OCI_CLI_MAX_ROWS_DEFAULT 40 /* of oc_write_options */

typedef struct oci_cli_sql {
    const oci_cli_options *options;
    oc_session *session;
    oci_cli_progress progress;
    bool is_shell; /* people are watching: tags of commands are shown */

    /* How answers look and where they go; see dot_command.c. */
    int format;       /* oc_format; AUTO = by the output */
    int64_t max_rows; /* as in oc_write_options */
    int header;       /* oci_cli_header */
    bool has_null_text;
    char null_text[OCI_CLI_NULL_TEXT_BYTES];
    bool timer;
    bool stats; /* shell: after each statement */
    bool use_pager;
    char *output;    /* malloc'ed: all answers go there; NULL = standard output */
    int output_fd;   /* of it */
    char *next_file; /* malloc'ed: the next answer goes there */

    int64_t n_results;    /* answers written to where they go now */
    bool last_was_table;  /* the one before, and it was written to the same place */
    int64_t rows;         /* written in all */
    double began;         /* seconds of the monotonic clock */
    int32_t script_depth; /* scripts that read scripts */
    bool leave;           /* .quit */
    bool cut_short;       /* a signal came when there was still something to do */
    bool wrote_stdout;    /* some answer went there */
} oci_cli_sql;

/* Where a statement was found, for messages; name NULL: on the command line or the terminal. */
typedef struct oci_cli_place {
    const char *name;
    int64_t line;
} oci_cli_place;

/* The result is an exit code; when it is not OCI_CLI_EXIT_OK there is nothing to close. */
int oci_cli_open_sql(oci_cli_sql *sql, const oci_cli_options *options, bool is_shell);
void oci_cli_close_sql(oci_cli_sql *sql);

/* Runs one statement. Its error is told on stderr; the result is an exit code. */
int oci_cli_run_statement(oci_cli_sql *sql, const char *text, size_t size,
                          const oci_cli_place *place);

/* The --stats line, and time, of everything so far. */
void oci_cli_report_sql(const oci_cli_sql *sql);

/* Sends what is written to standard output to `fd` (not closed) until it is put back. -1: failed. */
int oci_cli_redirect_output(int fd);
void oci_cli_restore_output(int saved);

/* "outcore: MESSAGE", after a script's name and line. */
void oci_cli_tell_error(const oci_cli_place *place, const char *message);

#endif /* OUTCORE_CLI_SQL_H */
