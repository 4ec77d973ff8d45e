/* UTF-8 and display widths. See utf8.h. The tables of widths hold whole blocks, not every exception
 * in them: a table that is one column off in a rare script is no harm. */
#include "formats/utf8.h"

#include <stddef.h>
#include <string.h>

#include "base/bits.h"

int oci_utf8_decode(const uint8_t *text, int64_t length, uint32_t *code)
{
    uint8_t lead = text[0];
    if (lead < 0x80) {
        *code = lead;
        return 1;
    }
    int n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || n > length) {
        return 0;
    }
    uint32_t value = lead & (0x7Fu >> n);
    for (int i = 1; i < n; i++) {
        if ((text[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (text[i] & 0x3F);
    }
    bool overlong = (n == 3 && value < 0x800) || (n == 4 && value < 0x10000);
    if (overlong || (value >= 0xD800 && value <= 0xDFFF) || value > 0x10FFFF) {
        return 0;
    }
    *code = value;
    return n;
}

bool oci_utf8_is_valid(const uint8_t *text, int64_t length)
{
    int64_t at = 0;
    while (at < length) {
        uint64_t words[4];
        while (length - at >= (int64_t)sizeof words) {
            memcpy(words, text + at, sizeof words);
            if (((words[0] | words[1] | words[2] | words[3]) & UINT64_C(0x8080808080808080)) != 0) {
                break;
            }
            at += (int64_t)sizeof words;
        }
        /* One stretch the slow way: up to the next place where words are worth it. */
        for (int64_t end = oci_min64(length, at + (int64_t)sizeof words); at < end;) {
            uint32_t code;
            int n = oci_utf8_decode(text + at, length - at, &code);
            if (n == 0) {
                return false;
            }
            at += n;
        }
    }
    return true;
}

typedef struct {
    uint32_t first;
    uint32_t last;
} range;

static const range zero_width[] = {
    {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},   {0x064B, 0x065F},
    {0x06D6, 0x06DC}, {0x0E31, 0x0E31}, {0x0E34, 0x0E3A}, {0x0E47, 0x0E4E},   {0x1AB0, 0x1AFF},
    {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0x2060, 0x2064},   {0x3099, 0x309A},
    {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0x1F3FB, 0x1F3FF}, {0xE0100, 0xE01EF},
};

static const range double_width[] = {
    {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2E80, 0x303E},   {0x3041, 0x33FF},
    {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xA960, 0xA97F},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF01, 0xFF60},
    {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF},
    {0x20000, 0x3FFFD},
};

static bool is_in(const range *ranges, size_t n, uint32_t code)
{
    for (size_t i = 0; i < n && ranges[i].first <= code; i++) {
        if (code <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

int oci_utf8_width(uint32_t code)
{
    if (code < 0x300) {
        return 1;
    }
    if (is_in(zero_width, sizeof zero_width / sizeof zero_width[0], code)) {
        return 0;
    }
    return is_in(double_width, sizeof double_width / sizeof double_width[0], code) ? 2 : 1;
}
