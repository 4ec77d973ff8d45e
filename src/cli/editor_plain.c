/* Lines without editing, where there is no libedit. See editor.h. */
#ifndef OUTCORE_HAS_LIBEDIT

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/editor.h"
#include "cli/signals.h"

struct oci_cli_editor {
    char *line; /* malloc'ed by getline */
    size_t capacity;
};

oci_cli_editor *oci_cli_open_editor(const char *history, oci_cli_completer completer, void *arg)
{
    (void)history, (void)completer, (void)arg;
    return calloc(1, sizeof(oci_cli_editor));
}

oci_cli_typed oci_cli_read_line(oci_cli_editor *editor, const char *prompt, const char **line,
                                size_t *size)
{
    FILE *out = isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
    fputs(prompt, out);
    fflush(out);
    ssize_t n = getline(&editor->line, &editor->capacity, stdin);
    if (n >= 0) {
        *line = editor->line;
        *size = (size_t)n;
        return OCI_CLI_TYPED_LINE;
    }
    bool interrupted = ferror(stdin) && errno == EINTR && oci_cli_take_interrupt();
    clearerr(stdin);
    fputc('\n', out);
    return interrupted ? OCI_CLI_TYPED_INTERRUPT : OCI_CLI_TYPED_END;
}

void oci_cli_close_editor(oci_cli_editor *editor)
{
    free(editor->line);
    free(editor);
}

#else
typedef int oci_cli_editor_is_libedit; /* a file needs something in it */
#endif
