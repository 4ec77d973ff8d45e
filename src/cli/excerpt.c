/* See excerpt.h. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "cli/excerpt.h"

/* Characters shown before and after the place. */
#define BEFORE 50
#define AFTER  40

static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xC0) == 0x80;
}

/* Goes back over at most n characters, not before `begin`. */
static size_t step_back(const char *text, size_t at, size_t begin, int n)
{
    while (at > begin && n > 0) {
        at--;
        n -= !continues_character(text[at]);
    }
    return at;
}

static size_t step_forward(const char *text, size_t at, size_t end, int n)
{
    while (at < end && n > 0) {
        at++;
        while (at < end && continues_character(text[at])) {
            at++;
        }
        n--;
    }
    return at;
}

/* One line of text: what a terminal would not print as one column is a blank. */
static size_t copy_visible(const char *text, size_t begin, size_t end, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = begin; i < end && used + 1 < room; i++) {
        unsigned char byte = (unsigned char)text[i];
        out[used++] = byte < 0x20 || byte == 0x7F ? ' ' : text[i];
    }
    out[used] = '\0';
    return used;
}

static int count_characters(const char *text)
{
    int n = 0;
    for (; *text != '\0'; text++) {
        n += !continues_character(*text);
    }
    return n;
}

int64_t oci_cli_format_excerpt(const char *text, size_t size, int64_t position,
                               char out[OCI_CLI_EXCERPT_BYTES])
{
    out[0] = '\0';
    if (position < 0 || (uint64_t)position > size) {
        return 1;
    }
    size_t at = (size_t)position;
    int64_t line = 1;
    size_t begin = 0;
    for (size_t i = 0; i < at; i++) {
        if (text[i] == '\n') {
            line++;
            begin = i + 1;
        }
    }
    size_t end = at;
    while (end < size && text[end] != '\n' && text[end] != '\r') {
        end++;
    }
    size_t from = step_back(text, at, begin, BEFORE);
    size_t to = step_forward(text, at, end, AFTER);

    char before[8 + 4 * BEFORE];
    char after[8 + 4 * AFTER];
    copy_visible(text, from, at, before, sizeof before);
    copy_visible(text, at, to, after, sizeof after);
    int lead = snprintf(out, OCI_CLI_EXCERPT_BYTES, "LINE %" PRId64 ": %s", line,
                        from > begin ? "..." : "");
    snprintf(out + lead, OCI_CLI_EXCERPT_BYTES - (size_t)lead, "%s%s%s\n%*s^\n", before, after,
             to < end ? "..." : "", lead + count_characters(before), "");
    return line;
}
