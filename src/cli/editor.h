/* Lines typed on a terminal: with libedit (history, completion, the usual keys), or plain when the
 * program is built without it. */
#ifndef OUTCORE_CLI_EDITOR_H
#define OUTCORE_CLI_EDITOR_H

#include <stddef.h>

typedef struct oci_cli_editor oci_cli_editor;

/* Calls `found` with everything that the word before line[cursor] could become. *start gets where that
 * word begins. */
typedef void (*oci_cli_completer)(void *arg, const char *line, size_t cursor, size_t *start,
                                  void (*found)(const char *word, void *list), void *list);

typedef enum oci_cli_typed {
    OCI_CLI_TYPED_LINE,
    OCI_CLI_TYPED_INTERRUPT, /* Ctrl-C: the line is forgotten */
    OCI_CLI_TYPED_END        /* Ctrl-D, or a signal that ends the program */
} oci_cli_typed;

/* history: the file to keep lines in, NULL = none. NULL: out of memory. */
oci_cli_editor *oci_cli_open_editor(const char *history, oci_cli_completer completer, void *arg);
/* *line lives until the next call, and ends with a newline. */
oci_cli_typed oci_cli_read_line(oci_cli_editor *editor, const char *prompt, const char **line,
                                size_t *size);
void oci_cli_close_editor(oci_cli_editor *editor);

#endif /* OUTCORE_CLI_EDITOR_H */
