/* UTF-8 one character at a time, and how wide characters are on a terminal. */
#ifndef OUTCORE_FORMATS_UTF8_H
#define OUTCORE_FORMATS_UTF8_H

#include <stdbool.h>
#include <stdint.h>

/* Reads the character at text[0..length), length >= 1. Returns its bytes and sets *code, or 0 when
 * the bytes there are not valid UTF-8 (overlong forms, surrogates and values above U+10FFFF are
 * not). */
int oci_utf8_decode(const uint8_t *text, int64_t length, uint32_t *code);

/* Whether all of text[0..length) is valid UTF-8; plain ASCII is looked at 32 bytes at a time. */
bool oci_utf8_is_valid(const uint8_t *text, int64_t length);

/* Columns a character takes: 0 (combining marks), 1 or 2 (East Asian wide, emoji). Approximately
 * right for all scripts; not for control characters. */
int oci_utf8_width(uint32_t code);

#endif /* OUTCORE_FORMATS_UTF8_H */
