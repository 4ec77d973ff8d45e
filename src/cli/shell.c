/* See shell.h. Lines are added to a script (script.h), which runs what is complete. Errors do not end
 * the shell; Ctrl-C ends the statement that runs, or drops what was typed. */
#include "cli/shell.h"

#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dot_command.h"
#include "cli/editor.h"
#include "cli/places.h"
#include "cli/script.h"
#include "cli/signals.h"

static const char prompt_first[] = "outcore> ";
static const char prompt_more[] = "    ...> ";

typedef struct shell {
    oci_cli_sql *sql;
    oci_cli_script script;
} shell;

/* ---- completion ------------------------------------------------------------------------------ */

typedef void (*found_word)(const char *word, void *list);

/* Where the text that an open ' begins, or SIZE_MAX when text[0..size) does not end in quotes. */
static size_t find_open_quote(const char *text, size_t size)
{
    size_t open = SIZE_MAX;
    char quote = '\0';
    for (size_t i = 0; i < size; i++) {
        if (quote == '\0' && (text[i] == '\'' || text[i] == '"')) {
            quote = text[i];
            open = i + 1;
        } else if (quote != '\0' && text[i] == quote) {
            quote = '\0';
        }
    }
    return quote == '\'' ? open : SIZE_MAX;
}

/* A file, unlike a folder, gets `closing` behind it. */
static void complete_file(const char *text, size_t size, const char *closing, found_word found,
                          void *list)
{
    char pattern[OCI_CLI_PATH_BYTES];
    char path[OCI_CLI_PATH_BYTES + 2];
    glob_t paths;
    int n = snprintf(pattern, sizeof pattern, "%.*s*", (int)size, text);
    if (n < 0 || n >= (int)sizeof pattern || glob(pattern, GLOB_MARK, NULL, &paths) != 0) {
        return;
    }
    for (size_t i = 0; i < paths.gl_pathc; i++) {
        size_t length = strlen(paths.gl_pathv[i]);
        bool is_folder = length > 0 && paths.gl_pathv[i][length - 1] == '/';
        snprintf(path, sizeof path, "%s%s", paths.gl_pathv[i], is_folder ? "" : closing);
        found(path, list);
    }
    globfree(&paths);
}

/* The first word of a dot command by its name; further ones are files or tables. */
static void complete_dot_line(shell *state, const char *line, size_t cursor, size_t *start,
                              found_word found, void *list)
{
    size_t first = 0;
    while (first < cursor && line[first] != ' ') {
        first++;
    }
    if (first == cursor) {
        *start = 0;
        oci_cli_complete_dot_command(line, cursor, found, list);
        return;
    }
    bool is_schema = strncmp(line, ".schema ", 8) == 0 || strncmp(line, "\\d ", 3) == 0;
    *start = cursor;
    while (*start > 0 && line[*start - 1] != ' ') {
        (*start)--;
    }
    if (!is_schema) {
        complete_file(line + *start, cursor - *start, "", found, list);
        return;
    }
    /* What could stand behind FROM. */
    char text[OCI_CLI_PATH_BYTES];
    int64_t from;
    int n = snprintf(text, sizeof text, "DESCRIBE %.*s", (int)(cursor - *start), line + *start);
    if (n > 0 && n < (int)sizeof text) {
        oc_session_complete(state->sql->session, text, n, n, &from, found, list);
    }
}

/* `line` is the last line of what is in state->script. */
static void complete(void *arg, const char *line, size_t cursor, size_t *start, found_word found,
                     void *list)
{
    shell *state = arg;
    size_t before = state->script.size;
    if (oci_cli_script_is_blank(&state->script) && oci_cli_is_dot_command(line, cursor + 1)) {
        complete_dot_line(state, line, cursor, start, found, list);
        return;
    }
    size_t size = before + strlen(line);
    char *text = malloc(size + 1);
    if (text == NULL) {
        return;
    }
    if (before > 0) {
        memcpy(text, state->script.text, before);
    }
    memcpy(text + before, line, strlen(line) + 1);
    size_t quote = find_open_quote(text, before + cursor);
    if (quote != SIZE_MAX) {
        *start = quote >= before ? quote - before : cursor;
        complete_file(text + quote, before + cursor - quote, "'", found, list);
    } else {
        int64_t from = (int64_t)(before + cursor);
        oc_session_complete(state->sql->session, text, (int64_t)size, from, &from, found, list);
        *start = from >= (int64_t)before ? (size_t)from - before : cursor;
    }
    free(text);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void set_again(oci_cli_sql *sql, const char *name, int64_t value)
{
    char text[128];
    struct ArrowArrayStream none = {.release = NULL};
    if (value == 0) {
        return; /* the command line does not say */
    }
    snprintf(text, sizeof text, "SET %s = '%" PRId64 "'", name, value);
    if (oc_session_execute(sql->session, text, -1, &none, NULL, NULL) == OC_OK &&
        none.release != NULL) {
        none.release(&none);
    }
}

/* The command line wins over the configuration, so what it says is set once more. */
static void run_config(oci_cli_sql *sql)
{
    char path[OCI_CLI_PATH_BYTES];
    const oci_cli_options *options = sql->options;
    if (options->no_config || !oci_cli_find_config(path)) {
        return;
    }
    sql->is_shell = false;             /* nobody typed this, so nothing is confirmed */
    (void)oci_cli_run_file(sql, path); /* has told what was wrong */
    sql->is_shell = true;
    set_again(sql, "memory_limit", options->memory_limit);
    set_again(sql, "max_temp_directory_size", options->disk_limit);
    set_again(sql, "threads", options->threads);
    set_again(sql, "batch_size", options->batch_rows);
}

static void type_statements(shell *state, oci_cli_editor *editor)
{
    oci_cli_sql *sql = state->sql;
    while (!sql->leave && !oci_cli_must_leave()) {
        const char *line;
        size_t size;
        bool blank = oci_cli_script_is_blank(&state->script);
        oci_cli_typed typed =
            oci_cli_read_line(editor, blank ? prompt_first : prompt_more, &line, &size);
        if (typed == OCI_CLI_TYPED_END) {
            return;
        }
        if (typed == OCI_CLI_TYPED_INTERRUPT) {
            oci_cli_clear_script(&state->script);
            continue;
        }
        state->script.place.line = 1;
        int code = oci_cli_feed_script(sql, &state->script, line, size, false);
        if (code != OCI_CLI_EXIT_OK) {
            oci_cli_clear_script(&state->script);
        }
    }
}

int oci_cli_run_shell(oci_cli_sql *sql)
{
    char history[OCI_CLI_PATH_BYTES];
    shell state = {.sql = sql, .script = {.place = {.name = NULL, .line = 1}}};
    bool keeps_history = oci_cli_find_history(history);
    oci_cli_editor *editor = oci_cli_open_editor(keeps_history ? history : NULL, complete, &state);
    if (editor == NULL) {
        fputs("outcore: out of memory\n", stderr);
        return OCI_CLI_EXIT_SYSTEM;
    }
    if (!sql->options->quiet) {
        fprintf(stderr,
                "Outcore %s. Statements end with ';'. .help lists commands, Ctrl-D leaves.\n",
                oc_version());
    }
    run_config(sql);
    type_statements(&state, editor);
    oci_cli_close_editor(editor);
    oci_cli_free_script(&state.script);
    return OCI_CLI_EXIT_OK;
}
