/* outcore SQL...: statements from the command line, from files, from standard input, or typed.
 *
 *     -c SQL, -f FILE, words     run in this order
 *     nothing, and a terminal    the interactive shell
 *     nothing, and a pipe        a script on standard input */
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/script.h"
#include "cli/shell.h"
#include "cli/signals.h"

static int run_sources(oci_cli_sql *sql)
{
    const oci_cli_list *sources = &sql->options->sources;
    int first_error = OCI_CLI_EXIT_OK;
    if (sources->n == 0) {
        return oci_cli_run_file(sql, "-");
    }
    for (size_t i = 0; i + 1 < sources->n && !sql->leave; i += 2) {
        if (oci_cli_must_leave()) {
            sql->cut_short = true;
            break;
        }
        bool is_text = strcmp(sources->items[i], OCI_CLI_TEXT) == 0;
        const char *source = sources->items[i + 1];
        int code = is_text ? oci_cli_run_text(sql, source) : oci_cli_run_file(sql, source);
        first_error = first_error == OCI_CLI_EXIT_OK ? code : first_error;
        if (sql->cut_short || (code != OCI_CLI_EXIT_OK && !sql->options->go_on)) {
            break;
        }
    }
    return first_error;
}

static int run_all(oci_cli_sql *sql)
{
    int code = run_sources(sql);
    if (code == OCI_CLI_EXIT_OK && sql->options->stats && !sql->cut_short) {
        oci_cli_report_sql(sql);
    }
    return code;
}

int oci_cli_run_sql(const oci_cli_options *options)
{
    oci_cli_sql sql;
    oci_cli_output output;
    bool is_shell = options->sources.n == 0 && isatty(STDIN_FILENO) == 1;
    /* What does not fit together is told before work begins. */
    int code = oci_cli_resolve_output(options, options->output, &output);
    if (code == OCI_CLI_EXIT_OK) {
        code = oci_cli_open_sql(&sql, options, is_shell);
    }
    if (code != OCI_CLI_EXIT_OK) {
        return code;
    }
    if (is_shell) {
        setlocale(LC_CTYPE, ""); /* for the editor: which bytes are one character */
        sql.stats = options->stats;
    }
    code = is_shell ? oci_cli_run_shell(&sql) : run_all(&sql);
    oci_cli_close_sql(&sql);
    /* What was written to standard output after a signal went nowhere; files are complete. */
    if (is_shell || sql.cut_short || sql.wrote_stdout || code != OCI_CLI_EXIT_OK) {
        oci_cli_raise_again();
    }
    return code;
}
