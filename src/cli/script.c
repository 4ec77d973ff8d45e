/* See script.h. */
#include "cli/script.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dot_command.h"
#include "cli/signals.h"

#define READ_BYTES   65536
#define SCRIPT_DEPTH 32 /* scripts that read scripts; more is a circle */

/* ---- text that waits ------------------------------------------------------------------------- */

static bool append_text(oci_cli_script *script, const char *text, size_t size)
{
    if (script->size > 0) {
        memmove(script->room, script->text, script->size);
    }
    if (script->size + size > script->capacity || script->room == NULL) {
        size_t capacity = 2 * (script->size + size) + 256;
        char *larger = realloc(script->room, capacity);
        if (larger == NULL) {
            return false;
        }
        script->room = larger;
        script->capacity = capacity;
    }
    script->text = script->room;
    if (size > 0) {
        memcpy(script->text + script->size, text, size);
        script->size += size;
    }
    return true;
}

static void drop_text(oci_cli_script *script, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        script->place.line += script->text[i] == '\n';
    }
    script->text += size;
    script->size -= size;
}

/* Bytes of blanks and comments of one line at the begin; is_whole: no more text will come, so that a
 * comment may end without its line. */
static size_t blank_size(const char *text, size_t size, bool is_whole)
{
    size_t at = 0;
    while (at < size) {
        if (strchr(" \t\r\n\f\v", text[at]) != NULL && text[at] != '\0') {
            at++;
        } else if (text[at] == '-' && at + 1 < size && text[at + 1] == '-') {
            const char *end = memchr(text + at, '\n', size - at);
            if (end == NULL) {
                return is_whole ? size : at;
            }
            at = (size_t)(end - text) + 1;
        } else {
            break;
        }
    }
    return at;
}

bool oci_cli_script_is_blank(const oci_cli_script *script)
{
    return blank_size(script->text, script->size, true) == script->size;
}

void oci_cli_clear_script(oci_cli_script *script)
{
    script->size = 0;
}

void oci_cli_free_script(oci_cli_script *script)
{
    free(script->room);
    *script = (oci_cli_script){.size = 0};
}

/* ---- running --------------------------------------------------------------------------------- */

/* Finds the first piece of script->text that can run: its bytes, 0 = wait for more. */
static size_t next_piece(const oci_cli_script *script, bool at_end, bool *is_command)
{
    bool complete;
    *is_command = oci_cli_is_dot_command(script->text, script->size);
    if (*is_command) {
        const char *end = memchr(script->text, '\n', script->size);
        return end != NULL ? (size_t)(end - script->text) + 1 : at_end ? script->size : 0;
    }
    int64_t size = oc_sql_split(script->text, (int64_t)script->size, &complete);
    return complete ? (size_t)size : at_end ? script->size : 0;
}

static int run_piece(oci_cli_sql *sql, const oci_cli_script *script, size_t size, bool is_command)
{
    return is_command ? oci_cli_run_dot_command(sql, script->text, size, &script->place)
                      : oci_cli_run_statement(sql, script->text, size, &script->place);
}

int oci_cli_feed_script(oci_cli_sql *sql, oci_cli_script *script, const char *text, size_t size,
                        bool at_end)
{
    int first_error = OCI_CLI_EXIT_OK;
    if (!append_text(script, text, size)) {
        fputs("outcore: out of memory\n", stderr);
        return OCI_CLI_EXIT_SYSTEM;
    }
    while (!sql->leave) {
        drop_text(script, blank_size(script->text, script->size, at_end));
        bool is_command;
        size_t piece = script->size > 0 ? next_piece(script, at_end, &is_command) : 0;
        if (piece == 0) {
            break;
        }
        if (oci_cli_must_leave()) {
            sql->cut_short = true;
            break;
        }
        int code = run_piece(sql, script, piece, is_command);
        drop_text(script, piece);
        if (code != OCI_CLI_EXIT_OK && first_error == OCI_CLI_EXIT_OK) {
            first_error = code;
        }
        if (code != OCI_CLI_EXIT_OK && !sql->options->go_on) {
            break;
        }
    }
    return first_error;
}

int oci_cli_run_text(oci_cli_sql *sql, const char *text)
{
    oci_cli_script script = {.place = {.name = NULL, .line = 1}};
    int code = oci_cli_feed_script(sql, &script, text, strlen(text), true);
    oci_cli_free_script(&script);
    return code;
}

static int run_descriptor(oci_cli_sql *sql, int fd, const char *path)
{
    static const char out_of_memory[] = "outcore: out of memory\n";
    oci_cli_script script = {.place = {.name = path, .line = 1}};
    char *buffer = malloc(READ_BYTES);
    int first_error = OCI_CLI_EXIT_OK;
    ssize_t n = 1;
    if (buffer == NULL) {
        fputs(out_of_memory, stderr);
        return OCI_CLI_EXIT_SYSTEM;
    }
    while (n > 0 && !sql->leave && !sql->cut_short &&
           (first_error == OCI_CLI_EXIT_OK || sql->options->go_on)) {
        do {
            n = read(fd, buffer, READ_BYTES);
        } while (n < 0 && errno == EINTR && !oci_cli_must_leave());
        /* After a signal, the end of standard input is one that the handler made. */
        sql->cut_short |= oci_cli_must_leave() && (n < 0 || fd == STDIN_FILENO);
        if (sql->cut_short) {
            break;
        }
        if (n < 0) {
            fprintf(stderr, "outcore: could not read \"%s\": %s\n", path, strerror(errno));
            first_error = OCI_CLI_EXIT_SYSTEM;
            break;
        }
        int code = oci_cli_feed_script(sql, &script, buffer, (size_t)n, n == 0);
        first_error = first_error == OCI_CLI_EXIT_OK ? code : first_error;
    }
    free(buffer);
    oci_cli_free_script(&script);
    return first_error;
}

int oci_cli_run_file(oci_cli_sql *sql, const char *path)
{
    if (strcmp(path, "-") == 0) {
        return run_descriptor(sql, STDIN_FILENO, "stdin");
    }
    if (sql->script_depth >= SCRIPT_DEPTH) {
        fprintf(stderr, "outcore: script \"%s\" is read by itself, in the end\n", path);
        return OCI_CLI_EXIT_QUERY;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fprintf(stderr, "outcore: could not open script \"%s\": %s\n", path, strerror(errno));
        return OCI_CLI_EXIT_QUERY;
    }
    sql->script_depth++;
    int code = run_descriptor(sql, fd, path);
    sql->script_depth--;
    close(fd);
    return code;
}
