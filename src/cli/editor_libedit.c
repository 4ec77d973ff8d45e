/* Lines edited with libedit. See editor.h.
 *
 * Characters are read here, not by libedit: a signal then ends the reading at once, whatever libedit
 * thinks of it, and the line typed so far is dropped. */
#ifdef OUTCORE_HAS_LIBEDIT

#include <errno.h>
#include <histedit.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#include "cli/editor.h"
#include "cli/signals.h"

#define PROMPT_BYTES  32
#define HISTORY_LINES 2000
#define POLL_MS       50  /* a signal between a check and the wait is seen this late */
#define LISTED_MAX    200 /* candidates shown */

struct oci_cli_editor {
    EditLine *edit;
    History *history;
    const char *history_path;
    char prompt[PROMPT_BYTES];
    oci_cli_completer completer;
    void *completer_arg;
    FILE *out;
    bool interrupted;
};

static oci_cli_editor *editor_of(EditLine *edit)
{
    void *editor = NULL;
    el_get(edit, EL_CLIENTDATA, &editor);
    return editor;
}

static char *get_prompt(EditLine *edit)
{
    return editor_of(edit)->prompt;
}

/* ---- characters ------------------------------------------------------------------------------ */

/* One byte; false at the end of the input and after a signal. */
static bool read_byte(oci_cli_editor *editor, char *byte)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    while (!oci_cli_must_leave()) {
        if (oci_cli_take_interrupt()) {
            editor->interrupted = true;
            return false;
        }
        int ready = poll(&input, 1, POLL_MS);
        if (ready > 0) {
            ssize_t n = read(STDIN_FILENO, byte, 1);
            if (n >= 0 || errno != EINTR) {
                return n == 1;
            }
        } else if (ready < 0 && errno != EINTR) {
            return false;
        }
    }
    return false;
}

static int read_character(EditLine *edit, wchar_t *out)
{
    oci_cli_editor *editor = editor_of(edit);
    mbstate_t state = {0};
    char byte;
    while (read_byte(editor, &byte)) {
        size_t used = mbrtowc(out, &byte, 1, &state);
        if (used == 1 || used == 0) {
            return 1;
        }
        if (used == (size_t)-1) {
            memset(&state, 0, sizeof state); /* not UTF-8: dropped */
        }
    }
    return 0;
}

/* ---- completion ------------------------------------------------------------------------------ */

/* What the word could become; malloc'ed: as long as what is found. */
typedef struct candidates {
    char *common; /* longest common beginning, in the letters of the first */
    char **words;
    size_t n_words;
    size_t n_found;
} candidates;

static void add_candidate(const char *word, void *arg)
{
    candidates *list = arg;
    list->n_found++;
    if (list->words == NULL) {
        list->words = calloc(LISTED_MAX, sizeof *list->words);
        list->common = strdup(word);
    }
    if (list->words == NULL || list->common == NULL) {
        return;
    }
    size_t same = 0;
    while (list->common[same] != '\0' && strncasecmp(list->common + same, word + same, 1) == 0) {
        same++;
    }
    list->common[same] = '\0';
    if (list->n_words < LISTED_MAX) {
        char *copy = strdup(word);
        list->n_words += copy != NULL;
        if (copy != NULL) {
            list->words[list->n_words - 1] = copy;
        }
    }
}

static void free_candidates(candidates *list)
{
    for (size_t i = 0; i < list->n_words; i++) {
        free(list->words[i]);
    }
    free(list->words);
    free(list->common);
}

static void print_candidates(const oci_cli_editor *editor, const candidates *list)
{
    struct winsize size;
    size_t longest = 1;
    for (size_t i = 0; i < list->n_words; i++) {
        size_t length = strlen(list->words[i]);
        longest = length > longest ? length : longest;
    }
    size_t width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                                   : 80;
    size_t per_line = width / (longest + 2) > 0 ? width / (longest + 2) : 1;
    for (size_t i = 0; i < list->n_words; i++) {
        fprintf(editor->out, "%s%-*s", i % per_line == 0 ? "\n" : "  ", (int)longest,
                list->words[i]);
    }
    if (list->n_found > list->n_words) {
        fprintf(editor->out, "\nand %zu more", list->n_found - list->n_words);
    }
    fputc('\n', editor->out);
}

/* A keyword goes in small letters where the word was begun in small letters. */
static void match_case(char *text, const char *typed, size_t typed_size)
{
    bool small = false;
    for (size_t i = 0; i < typed_size; i++) {
        if (typed[i] >= 'A' && typed[i] <= 'Z') {
            return;
        }
        small = small || (typed[i] >= 'a' && typed[i] <= 'z');
    }
    for (const char *c = text; *c != '\0'; c++) {
        if (*c >= 'a' && *c <= 'z') {
            return;
        }
    }
    for (char *c = text; small && *c != '\0'; c++) {
        if (*c >= 'A' && *c <= 'Z') {
            *c = (char)(*c - 'A' + 'a');
        }
    }
}

static unsigned char complete_word(EditLine *edit, int key)
{
    (void)key;
    oci_cli_editor *editor = editor_of(edit);
    const LineInfo *info = el_line(edit);
    size_t cursor = (size_t)(info->cursor - info->buffer);
    size_t start = cursor;
    candidates list = {.common = NULL};
    char *line = strndup(info->buffer, (size_t)(info->lastchar - info->buffer));
    if (line == NULL) {
        return CC_ERROR;
    }
    editor->completer(editor->completer_arg, line, cursor, &start, add_candidate, &list);
    unsigned char result = CC_ERROR;
    size_t typed = cursor - start;
    if (list.common != NULL) {
        bool grows = strlen(list.common) > typed;
        match_case(list.common, line + start, typed);
        bool unique = list.n_found == 1;
        if (grows || unique) {
            char last = list.common[0] != '\0' ? list.common[strlen(list.common) - 1] : '\0';
            el_deletestr(edit, (int)typed);
            el_insertstr(edit, list.common);
            if (unique && last != '/' && last != '.' && last != '(') {
                el_insertstr(edit, " ");
            }
            result = CC_REFRESH;
        } else {
            print_candidates(editor, &list);
            result = CC_REDISPLAY;
        }
    }
    free_candidates(&list);
    free(line);
    return result;
}

/* ---- the editor ------------------------------------------------------------------------------ */

static void set_up(oci_cli_editor *editor)
{
    HistEvent event;
    EditLine *edit = editor->edit;
    el_set(edit, EL_CLIENTDATA, editor);
    el_set(edit, EL_PROMPT, get_prompt);
    el_set(edit, EL_SIGNAL, 0);
    el_set(edit, EL_EDITOR, "emacs");
    el_set(edit, EL_GETCFN, read_character);
    history(editor->history, &event, H_SETSIZE, HISTORY_LINES);
    history(editor->history, &event, H_SETUNIQUE, 1);
    if (editor->history_path != NULL) {
        history(editor->history, &event, H_LOAD, editor->history_path);
    }
    el_set(edit, EL_HIST, history, editor->history);
    /* The wide call keeps the texts as they are; the narrow one copies them and never frees that. */
    el_wset(edit, EL_ADDFN, L"complete-word", L"complete the word", complete_word);
    el_set(edit, EL_BIND, "^I", "complete-word", NULL);
    el_set(edit, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_source(edit, NULL); /* ~/.editrc, as other programs do */
}

oci_cli_editor *oci_cli_open_editor(const char *history_path, oci_cli_completer completer,
                                    void *arg)
{
    oci_cli_editor *editor = calloc(1, sizeof *editor);
    if (editor == NULL) {
        return NULL;
    }
    editor->history_path = history_path;
    editor->completer = completer;
    editor->completer_arg = arg;
    editor->out = isatty(STDOUT_FILENO) == 1 ? stdout : stderr;
    editor->edit = el_init("outcore", stdin, editor->out, stderr);
    editor->history = history_init();
    if (editor->edit == NULL || editor->history == NULL) {
        oci_cli_close_editor(editor);
        return NULL;
    }
    set_up(editor);
    return editor;
}

oci_cli_typed oci_cli_read_line(oci_cli_editor *editor, const char *prompt, const char **line,
                                size_t *size)
{
    int n = 0;
    HistEvent event;
    snprintf(editor->prompt, sizeof editor->prompt, "%s", prompt);
    editor->interrupted = false;
    el_resize(editor->edit);
    /* Before the prompt is seen: a Ctrl-D that came between it and the terminal's change of mode would be lost. */
    el_set(editor->edit, EL_PREP_TERM, 1);
    *line = el_gets(editor->edit, &n);
    if (*line != NULL && n > 0 && !editor->interrupted) {
        *size = (size_t)n;
        if (n > 1) {
            history(editor->history, &event, H_ENTER, *line);
        }
        return OCI_CLI_TYPED_LINE;
    }
    fputs(editor->interrupted ? "^C\n" : "\n", editor->out);
    fflush(editor->out);
    el_reset(editor->edit);
    return editor->interrupted ? OCI_CLI_TYPED_INTERRUPT : OCI_CLI_TYPED_END;
}

void oci_cli_close_editor(oci_cli_editor *editor)
{
    HistEvent event;
    if (editor->history != NULL) {
        if (editor->history_path != NULL) {
            history(editor->history, &event, H_SAVE, editor->history_path);
        }
        history_end(editor->history);
    }
    if (editor->edit != NULL) {
        el_end(editor->edit);
    }
    free(editor);
}

#else
typedef int oci_cli_editor_is_plain; /* a file needs something in it */
#endif
