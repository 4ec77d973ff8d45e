/* Walking over UTF-8 text by characters, for functions that count in them.
 *
 * Text may hold invalid bytes: each byte that is no part of a character counts as one. */
#ifndef OUTCORE_EXPR_UTF8_TEXT_H
#define OUTCORE_EXPR_UTF8_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bits.h"

#define OCI_HIGH_BITS UINT64_C(0x8080808080808080)

static inline bool oci_is_continuation(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Bytes of the character at `at`; length >= 1. */
static inline int64_t oci_character_bytes(const uint8_t *at, int64_t length)
{
    if (at[0] < 0xC0 || at[0] > 0xF7) {
        return 1;
    }
    int64_t most = at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : 2;
    int64_t n = 1;
    while (n < most && n < length && oci_is_continuation(at[n])) {
        n++;
    }
    return n;
}

/* The start of the character that ends at `end` > start. */
static inline const uint8_t *oci_previous_character(const uint8_t *start, const uint8_t *end)
{
    const uint8_t *at = end - 1;
    while (at > start && end - at < 4 && oci_is_continuation(*at)) {
        at--;
    }
    return oci_character_bytes(at, end - at) == end - at ? at : end - 1;
}

bool oci_is_ascii(const uint8_t *at, int64_t length);
int64_t oci_count_characters(const uint8_t *at, int64_t length);
/* Behind `n` characters, or the end. */
const uint8_t *oci_skip_characters(const uint8_t *at, const uint8_t *end, int64_t n);
/* Writes a character (at most 4 bytes); returns its bytes. */
int64_t oci_put_character(uint32_t code, uint8_t *to);
/* One character to another by Unicode's simple case mappings (one to one). */
uint32_t oci_to_lower(uint32_t code);
uint32_t oci_to_upper(uint32_t code);
bool oci_is_letter_or_digit(uint32_t code); /* for initcap */

/* Lower or upper case of a text; `to` has room for oci_case_room(length) bytes. Returns bytes. */
static inline int64_t oci_case_room(int64_t length)
{
    return length + length / 2 + 8; /* two bytes may become three */
}
int64_t oci_change_case(const uint8_t *text, int64_t length, bool upper, uint8_t *to);

#endif /* OUTCORE_EXPR_UTF8_TEXT_H */
