/* See utf8_text.h. */
#include "expr/utf8_text.h"

#include "formats/utf8.h"

bool oci_is_ascii(const uint8_t *at, int64_t length)
{
    uint64_t seen = 0;
    for (; length >= 8; at += 8, length -= 8) {
        seen |= oci_load_le64(at);
    }
    for (; length > 0; at++, length--) {
        seen |= *at;
    }
    return (seen & OCI_HIGH_BITS) == 0;
}

int64_t oci_count_characters(const uint8_t *at, int64_t length)
{
    if (oci_is_ascii(at, length)) {
        return length;
    }
    int64_t n = 0;
    for (const uint8_t *end = at + length; at < end; n++) {
        at += oci_character_bytes(at, end - at);
    }
    return n;
}

const uint8_t *oci_skip_characters(const uint8_t *at, const uint8_t *end, int64_t n)
{
    while (n > 0 && at < end) {
        if (n >= 8 && end - at >= 8 && (oci_load_le64(at) & OCI_HIGH_BITS) == 0) {
            at += 8;
            n -= 8;
        } else {
            at += oci_character_bytes(at, end - at);
            n--;
        }
    }
    return at;
}

int64_t oci_put_character(uint32_t code, uint8_t *to)
{
    if (code < 0x80) {
        to[0] = (uint8_t)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (uint8_t)(0xC0 | code >> 6);
        to[1] = (uint8_t)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (uint8_t)(0xE0 | code >> 12);
        to[1] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
        to[2] = (uint8_t)(0x80 | (code & 0x3F));
        return 3;
    }
    to[0] = (uint8_t)(0xF0 | code >> 18);
    to[1] = (uint8_t)(0x80 | (code >> 12 & 0x3F));
    to[2] = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    to[3] = (uint8_t)(0x80 | (code & 0x3F));
    return 4;
}

bool oci_is_letter_or_digit(uint32_t code)
{
    if (code < 0x80) {
        return (code >= '0' && code <= '9') || (code >= 'a' && code <= 'z') ||
               (code >= 'A' && code <= 'Z');
    }
    /* Beyond ASCII all but the blanks and signs that stand in texts. */
    bool is_sign = code < 0xC0 || code == 0xD7 || code == 0xF7 ||
                   (code >= 0x2000 && code < 0x2C00) || (code >= 0x3000 && code < 0x3005);
    return !is_sign || code == 0xAA || code == 0xB5 || code == 0xBA;
}

int64_t oci_change_case(const uint8_t *text, int64_t length, bool upper, uint8_t *to)
{
    uint8_t *start = to;
    const uint8_t *end = text + length;
    uint8_t first = upper ? 'a' : 'A';
    while (text < end) {
        if (*text < 0x80) {
            uint8_t byte = *text++;
            *to++ = (uint8_t)(byte ^ ((uint8_t)(byte - first) < 26 ? 0x20 : 0));
            continue;
        }
        uint32_t code;
        int size = oci_utf8_decode(text, end - text, &code);
        if (size == 0) {
            *to++ = *text++;
            continue;
        }
        to += oci_put_character(upper ? oci_to_upper(code) : oci_to_lower(code), to);
        text += size;
    }
    return to - start;
}
