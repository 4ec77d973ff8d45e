/* Scripts: texts of statements and dot commands, from an argument, a file, standard input, or typed.
 *
 *     SET memory_limit = '64m';
 *     .timer on
 *     SELECT a, sum(b) FROM 'x.csv' GROUP BY a;
 *
 * A statement ends with ';', the last one may go without. A line that begins with '.' and a letter, or
 * with '\', where a statement would begin, is a dot command. What is complete runs at once, so a pipe
 * may feed statements one by one. */
#ifndef OUTCORE_CLI_SCRIPT_H
#define OUTCORE_CLI_SCRIPT_H

#include "cli/sql.h"

typedef struct oci_cli_script {
    oci_cli_place place; /* of text[0] */
    char *text;          /* what has not run yet, in `room` */
    size_t size;
    char *room; /* malloc'ed */
    size_t capacity;
} oci_cli_script;

/* Adds text and runs what is complete; at_end: the rest, too. Stops after an error, unless --continue is
 * given. The result is an exit code, that of the first error. */
int oci_cli_feed_script(oci_cli_sql *sql, oci_cli_script *script, const char *text, size_t size,
                        bool at_end);
/* Whether nothing but blanks and comments is left. */
bool oci_cli_script_is_blank(const oci_cli_script *script);
/* Forgets what has not run. */
void oci_cli_clear_script(oci_cli_script *script);
void oci_cli_free_script(oci_cli_script *script);

/* The same for a text and for a file ("-": standard input). A file that cannot be read is told and is
 * the result. */
int oci_cli_run_text(oci_cli_sql *sql, const char *text);
int oci_cli_run_file(oci_cli_sql *sql, const char *path);

#endif /* OUTCORE_CLI_SCRIPT_H */
