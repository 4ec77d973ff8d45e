/* See dot_command.h. The table says which there are; .help prints it. */
#include "cli/dot_command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/script.h"

#define WORDS_MAX 4
#define LINE_MAX_ 4096

/* The command's line, taken apart. */
typedef struct command_line {
    const oci_cli_place *place;
    char copy[LINE_MAX_];
    const char *words[WORDS_MAX]; /* the command first; NULL behind the last */
    int n_words;
} command_line;

typedef struct dot_command {
    const char *name;  /* behind the '.' */
    const char *alias; /* behind the '.', or NULL */
    const char *slash; /* behind the '\', or NULL */
    const char *arguments;
    const char *help;
    int (*run)(oci_cli_sql *sql, const command_line *line);
} dot_command;

__attribute__((format(printf, 2, 3))) static int fail(const command_line *line, const char *format,
                                                      ...)
{
    char message[LINE_MAX_];
    va_list values;
    va_start(values, format);
    vsnprintf(message, sizeof message, format, values);
    va_end(values);
    oci_cli_tell_error(line->place, message);
    return OCI_CLI_EXIT_QUERY;
}

/* ---- settings -------------------------------------------------------------------------------- */

static int set_switch(const oci_cli_sql *sql, const command_line *line, bool *value)
{
    const char *word = line->words[1];
    if (word == NULL) {
        *value = !*value;
    } else if (strcmp(word, "on") == 0) {
        *value = true;
    } else if (strcmp(word, "off") == 0) {
        *value = false;
    } else {
        return fail(line, "%s takes on or off, not \"%s\"", line->words[0], word);
    }
    if (sql->is_shell && !sql->options->quiet) {
        fprintf(stderr, "%s is %s\n", line->words[0] + 1, *value ? "on" : "off");
    }
    return OCI_CLI_EXIT_OK;
}

static int run_timer(oci_cli_sql *sql, const command_line *line)
{
    return set_switch(sql, line, &sql->timer);
}

static int run_stats(oci_cli_sql *sql, const command_line *line)
{
    return set_switch(sql, line, &sql->stats);
}

static int run_pager(oci_cli_sql *sql, const command_line *line)
{
    return set_switch(sql, line, &sql->use_pager);
}

static int run_progress(oci_cli_sql *sql, const command_line *line)
{
    return set_switch(sql, line, &sql->progress.enabled);
}

static int run_headers(oci_cli_sql *sql, const command_line *line)
{
    bool on = sql->header != OCI_CLI_HEADER_NO;
    int code = set_switch(sql, line, &on);
    sql->header = on ? OCI_CLI_HEADER_YES : OCI_CLI_HEADER_NO;
    return code;
}

static int run_mode(oci_cli_sql *sql, const command_line *line)
{
    static const char known[] = "auto, table, csv, tsv, json, ndjson, arrow, arrows, null";
    oc_format format = OC_FORMAT_AUTO;
    const char *word = line->words[1];
    if (word == NULL) {
        return fail(line, ".mode takes one of %s", known);
    }
    if (strcmp(word, "auto") != 0 &&
        (!oc_format_parse(word, &format) || format == OC_FORMAT_TBL || format == OC_FORMAT_AUTO)) {
        return fail(line, "no output format \"%s\"; there are %s", word, known);
    }
    sql->format = (int)format;
    return OCI_CLI_EXIT_OK;
}

static int run_maxrows(oci_cli_sql *sql, const command_line *line)
{
    char *end;
    const char *word = line->words[1] != NULL ? line->words[1] : "";
    if (strcmp(word, "all") == 0) {
        sql->max_rows = -1;
        return OCI_CLI_EXIT_OK;
    }
    errno = 0;
    long long number = strtoll(word, &end, 10);
    if (*end != '\0' || number < 1 || errno != 0) {
        return fail(line, ".maxrows takes a whole number from 1, or all, not \"%s\"", word);
    }
    sql->max_rows = number;
    return OCI_CLI_EXIT_OK;
}

static int run_nullvalue(oci_cli_sql *sql, const command_line *line)
{
    sql->has_null_text = line->words[1] != NULL;
    snprintf(sql->null_text, sizeof sql->null_text, "%s", sql->has_null_text ? line->words[1] : "");
    return OCI_CLI_EXIT_OK;
}

/* ---- where answers go ------------------------------------------------------------------------ */

static int run_output(oci_cli_sql *sql, const command_line *line)
{
    const char *path = line->words[1];
    if (sql->output_fd >= 0) {
        close(sql->output_fd);
    }
    free(sql->output);
    sql->output = NULL;
    sql->output_fd = -1;
    sql->n_results = 0;
    sql->last_was_table = false;
    if (path == NULL || strcmp(path, "-") == 0 || strcmp(path, "stdout") == 0) {
        return OCI_CLI_EXIT_OK;
    }
    sql->output_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (sql->output_fd < 0) {
        return fail(line, "could not open \"%s\" for answers: %s", path, strerror(errno));
    }
    sql->output = strdup(path);
    return sql->output != NULL ? OCI_CLI_EXIT_OK : fail(line, "out of memory");
}

static int run_once(oci_cli_sql *sql, const command_line *line)
{
    if (line->words[1] == NULL) {
        return fail(line, ".once takes a file for the next answer");
    }
    free(sql->next_file);
    sql->next_file = strdup(line->words[1]);
    return sql->next_file != NULL ? OCI_CLI_EXIT_OK : fail(line, "out of memory");
}

/* What commands print goes where answers go. */
static int begin_output(const oci_cli_sql *sql)
{
    return sql->output != NULL ? oci_cli_redirect_output(sql->output_fd) : -1;
}

static void end_output(int saved)
{
    fflush(stdout);
    if (saved >= 0) {
        oci_cli_restore_output(saved);
    }
}

/* ---- looking around -------------------------------------------------------------------------- */

static void print_name(const char *name, bool is_view, void *arg)
{
    fprintf(arg, is_view ? "%s (view)\n" : "%s\n", name);
}

static int run_tables(oci_cli_sql *sql, const command_line *line)
{
    (void)line;
    int saved = begin_output(sql);
    oc_session_tables(sql->session, print_name, stdout);
    end_output(saved);
    return OCI_CLI_EXIT_OK;
}

/* DESCRIBE "name", or 'name' when it looks like a file. */
static int run_schema(oci_cli_sql *sql, const command_line *line)
{
    char text[2 * LINE_MAX_];
    const char *name = line->words[1];
    if (name == NULL) {
        return run_tables(sql, line);
    }
    char quote = strpbrk(name, "./*?") != NULL ? '\'' : '"';
    int used = snprintf(text, sizeof text, "DESCRIBE %c", quote);
    for (; *name != '\0'; name++) {
        if (*name == quote) {
            text[used++] = quote;
        }
        text[used++] = *name;
    }
    text[used++] = quote;
    return oci_cli_run_statement(sql, text, (size_t)used, line->place);
}

static int run_settings(oci_cli_sql *sql, const command_line *line)
{
    return oci_cli_run_statement(sql, "SHOW ALL", strlen("SHOW ALL"), line->place);
}

static int run_print(oci_cli_sql *sql, const command_line *line)
{
    int saved = begin_output(sql);
    puts(line->words[1] != NULL ? line->words[1] : "");
    end_output(saved);
    return OCI_CLI_EXIT_OK;
}

/* ---- the rest -------------------------------------------------------------------------------- */

static int run_read(oci_cli_sql *sql, const command_line *line)
{
    if (line->words[1] == NULL) {
        return fail(line, ".read takes the file of a script");
    }
    return oci_cli_run_file(sql, line->words[1]);
}

static int run_cd(oci_cli_sql *sql, const command_line *line)
{
    (void)sql;
    const char *path = line->words[1] != NULL ? line->words[1] : getenv("HOME");
    if (path == NULL || chdir(path) != 0) {
        return fail(line, "could not go to folder \"%s\": %s", path != NULL ? path : "",
                    strerror(errno));
    }
    return OCI_CLI_EXIT_OK;
}

static int run_quit(oci_cli_sql *sql, const command_line *line)
{
    (void)line;
    sql->leave = true;
    return OCI_CLI_EXIT_OK;
}

static int run_help(oci_cli_sql *sql, const command_line *line);

/* clang-format off */
static const dot_command commands[] = {
    {"cd", NULL, "cd", "[FOLDER]", "go to another folder", run_cd},
    {"headers", "header", NULL, "[on|off]", "column names in CSV", run_headers},
    {"help", NULL, "?", "", "this text", run_help},
    {"maxrows", NULL, NULL, "N|all", "rows of a table that are shown", run_maxrows},
    {"mode", NULL, "format", "FORMAT", "auto, table, csv, tsv, json, ndjson, arrow, arrows, null",
     run_mode},
    {"nullvalue", NULL, NULL, "[TEXT]", "what stands for null", run_nullvalue},
    {"once", NULL, NULL, "FILE", "the next answer goes to FILE", run_once},
    {"output", NULL, "o", "[FILE]", "answers go to FILE, or back to here", run_output},
    {"pager", NULL, "pager", "[on|off]", "long answers through $OUTCORE_PAGER or $PAGER", run_pager},
    {"print", NULL, "echo", "[TEXT]", "print the text where answers go", run_print},
    {"progress", NULL, NULL, "[on|off]", "the progress line", run_progress},
    {"quit", "exit", "q", "", "leave (also Ctrl-D)", run_quit},
    {"read", NULL, "i", "FILE", "run a script", run_read},
    {"schema", NULL, "d", "[TABLE]", "columns of a table, view or file", run_schema},
    {"settings", "show", "set", "", "all settings (SHOW ALL)", run_settings},
    {"stats", NULL, NULL, "[on|off]", "memory and spilling after each statement, as JSON", run_stats},
    {"tables", NULL, "dt", "", "names of tables and views", run_tables},
    {"timer", NULL, "timing", "[on|off]", "time taken by each statement", run_timer},
};
/* clang-format on */
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static int run_help(oci_cli_sql *sql, const command_line *line)
{
    (void)line;
    int saved = begin_output(sql);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char left[64];
        const dot_command *c = &commands[i];
        snprintf(left, sizeof left, ".%s %s", c->name, c->arguments);
        printf("%-20s %s%-8s %s\n", left, c->slash != NULL ? "\\" : " ",
               c->slash != NULL ? c->slash : "", c->help);
    }
    puts("\nAll else is SQL and ends with ';'. Files are tables: SELECT * FROM 'x.csv';");
    end_output(saved);
    return OCI_CLI_EXIT_OK;
}

/* ---- lines ----------------------------------------------------------------------------------- */

bool oci_cli_is_dot_command(const char *text, size_t size)
{
    return size > 0 &&
           (text[0] == '\\' || (text[0] == '.' && size > 1 && text[1] >= 'a' && text[1] <= 'z'));
}

/* Cuts line->copy into words; quotes keep blanks together. */
static bool split_words(command_line *line)
{
    char *at = line->copy;
    char *out = at;
    while (true) {
        at += strspn(at, " \t\r\n");
        if (*at == '\0' || *at == ';') {
            return true;
        }
        if (line->n_words == WORDS_MAX - 1) {
            return false;
        }
        line->words[line->n_words++] = out;
        char quote = *at == '\'' || *at == '"' ? *at : '\0';
        at += quote != '\0';
        while (*at != '\0' && (quote != '\0' ? *at != quote : strchr(" \t\r\n", *at) == NULL)) {
            *out++ = *at++;
        }
        /* `\q;` and the like: a habit of SQL. */
        if (quote == '\0' && out > line->words[line->n_words - 1] + 1 && out[-1] == ';') {
            out--;
        }
        at += *at != '\0';
        *out++ = '\0';
    }
}

static const dot_command *find_command(const char *word)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const dot_command *c = &commands[i];
        if (word[0] == '.' ? strcmp(c->name, word + 1) == 0 ||
                                 (c->alias != NULL && strcmp(c->alias, word + 1) == 0)
                           : c->slash != NULL && strcmp(c->slash, word + 1) == 0) {
            return c;
        }
    }
    return NULL;
}

int oci_cli_run_dot_command(oci_cli_sql *sql, const char *text, size_t size,
                            const oci_cli_place *place)
{
    command_line line = {.place = place};
    if (size >= sizeof line.copy || memchr(text, '\0', size) != NULL) {
        return fail(&line, "a line that begins with a dot or backslash is no longer than %d bytes",
                    LINE_MAX_ - 1);
    }
    memcpy(line.copy, text, size);
    line.copy[size] = '\0';
    if (!split_words(&line) || line.n_words > 2) {
        return fail(&line, "%s takes one word at most; put quotes around blanks", line.words[0]);
    }
    const dot_command *command = line.n_words > 0 ? find_command(line.words[0]) : NULL;
    if (command == NULL) {
        return fail(&line, "unknown command \"%s\"; .help lists those that there are",
                    line.words[0]);
    }
    return command->run(sql, &line);
}

void oci_cli_complete_dot_command(const char *text, size_t size,
                                  void (*found)(const char *name, void *arg), void *arg)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        char name[32];
        snprintf(name, sizeof name, ".%s", commands[i].name);
        if (strncmp(name, text, size) == 0) {
            found(name, arg);
        }
        snprintf(name, sizeof name, "\\%s", commands[i].slash != NULL ? commands[i].slash : "");
        if (name[1] != '\0' && strncmp(name, text, size) == 0) {
            found(name, arg);
        }
    }
}
