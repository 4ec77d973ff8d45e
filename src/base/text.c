/* Sizes for people and a growing string. See text.h.
 *
 * Numbers are formatted and read by hand: printf("%.1f") and strtod() follow LC_NUMERIC, which
 * belongs to the program that uses the library. */
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#include "base/bits.h"

/* ---- sizes ---- */

static const char *const unit_names[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};

/* Tenths of `unit` in `bytes`, rounded up or to the nearest. Unsigned, because a rest below 2^60
 * times 10 passes 2^63. */
static int64_t tenths_of(int64_t bytes, int64_t unit, bool up)
{
    uint64_t rest_tenths = (uint64_t)(bytes % unit) * 10;
    uint64_t extra = up ? (uint64_t)unit - 1 : (uint64_t)unit / 2;
    return bytes / unit * 10 + (int64_t)((rest_tenths + extra) / (uint64_t)unit);
}

static const char *format_bytes(int64_t bytes, bool up, char out[OCI_BYTES_TEXT])
{
    if (bytes < 1024) {
        snprintf(out, OCI_BYTES_TEXT, "%" PRId64 " %s", bytes, bytes == 1 ? "byte" : "bytes");
        return out;
    }
    int level = 1;
    int64_t unit = 1024;
    int64_t tenths = tenths_of(bytes, unit, up);
    while (tenths >= 10240 && level < 6) { /* 1024.0 of one unit is 1.0 of the next */
        level++;
        unit *= 1024;
        tenths = tenths_of(bytes, unit, up);
    }
    snprintf(out, OCI_BYTES_TEXT, "%" PRId64 ".%d %s", tenths / 10, (int)(tenths % 10),
             unit_names[level]);
    return out;
}

const char *oci_format_bytes(int64_t bytes, char out[OCI_BYTES_TEXT])
{
    return format_bytes(bytes, false, out);
}

const char *oci_format_bytes_up(int64_t bytes, char out[OCI_BYTES_TEXT])
{
    return format_bytes(bytes, true, out);
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char to_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* What one unit is worth in bytes, 0 for an unknown name. */
static int64_t unit_value(const char *name)
{
    static const char letters[] = "kmgt";
    char first = to_lower(name[0]);
    if (first == '\0' || (first == 'b' && name[1] == '\0')) {
        return 1;
    }
    const char *letter = strchr(letters, first);
    if (letter == NULL) {
        return 0;
    }
    const char *rest = name + 1;
    if (to_lower(rest[0]) == 'i' && to_lower(rest[1]) == 'b') {
        rest++;
    }
    if (to_lower(rest[0]) == 'b') {
        rest++;
    }
    return *rest == '\0' ? INT64_C(1) << (10 * (letter - letters + 1)) : 0;
}

enum { FRACTION_SCALE = 1000000 }; /* times 2^40, the largest unit, still fits in 63 bits */

/* Reads "123.456" and leaves *text behind it. The fraction is in millionths; digits after the
 * sixth are read and dropped. */
static bool read_decimal(const char **text, int64_t *whole, int64_t *fraction, bool *too_large)
{
    const char *at = *text;
    *whole = 0;
    *fraction = 0;
    *too_large = false;
    if (!is_digit(*at)) {
        return false;
    }
    for (; is_digit(*at); at++) {
        if (!oci_mul64(*whole, 10, whole) || !oci_add64(*whole, *at - '0', whole)) {
            *too_large = true;
            *whole = 0;
        }
    }
    if (*at == '.') {
        at++;
        if (!is_digit(*at)) {
            return false;
        }
        for (int64_t scale = FRACTION_SCALE / 10; is_digit(*at); at++, scale /= 10) {
            *fraction += (*at - '0') * scale;
        }
    }
    *text = at;
    return true;
}

oc_status oci_parse_size(const char *text, int64_t *out, oc_error *err)
{
    const char *at = text;
    int64_t whole;
    int64_t fraction;
    bool too_large;
    if (!read_decimal(&at, &whole, &fraction, &too_large)) {
        OC_FAIL(err, OC_EINVAL,
                "could not read size \"%s\": it is not a number of bytes; write it like 4096, 64m "
                "or 1.5g",
                text);
    }
    while (*at == ' ') {
        at++;
    }
    int64_t unit = unit_value(at);
    if (unit == 0) {
        OC_FAIL(err, OC_EINVAL,
                "could not read size \"%s\": unknown unit \"%s\"; the units are k, m, g and t",
                text, at);
    }
    if (unit == 1 && fraction != 0) {
        OC_FAIL(err, OC_EINVAL, "could not read size \"%s\": a fraction of a byte is not possible",
                text);
    }
    int64_t bytes;
    if (too_large || !oci_mul64(whole, unit, &bytes) ||
        !oci_add64(bytes, fraction * unit / FRACTION_SCALE, &bytes)) {
        OC_FAIL(err, OC_EINVAL, "could not read size \"%s\": it is larger than 2^63 - 1 bytes",
                text);
    }
    *out = bytes;
    return OC_OK;
}

/* ---- growing string ---- */

const char *oci_text_chars(const oci_text *text)
{
    return text->data != NULL ? text->data : "";
}

/* Room for `more` characters and the NUL. Doubles, so that many short appends cost one copy per
 * character. */
static oc_status text_reserve(oci_text *text, int64_t more, oc_error *err)
{
    int64_t needed;
    if (!oci_add64(text->length, more, &needed) || needed > INT64_MAX / 4) {
        OC_FAIL(err, OC_ENOMEM, "could not grow a text by %" PRId64 " bytes: too large", more);
    }
    needed++;
    if (needed <= text->capacity) {
        return OC_OK;
    }
    int64_t capacity = oci_max64(64, oci_max64(needed, text->capacity * 2));
    void *data = text->data;
    OC_TRY(oci_mem_realloc(text->mem, data, text->capacity, capacity, &data, err));
    text->data = data;
    text->capacity = capacity;
    return OC_OK;
}

oc_status oci_text_append(oci_text *text, const char *bytes, int64_t length, oc_error *err)
{
    OC_TRY(text_reserve(text, length, err));
    if (length > 0) {
        memcpy(text->data + text->length, bytes, (size_t)length);
    }
    text->length += length;
    text->data[text->length] = '\0';
    return OC_OK;
}

oc_status oci_text_append_str(oci_text *text, const char *str, oc_error *err)
{
    return oci_text_append(text, str, (int64_t)strlen(str), err);
}

oc_status oci_text_append_char(oci_text *text, char c, oc_error *err)
{
    return oci_text_append(text, &c, 1, err);
}

oc_status oci_text_append_int(oci_text *text, int64_t value, oc_error *err)
{
    char digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, value);
    return oci_text_append(text, digits, length, err);
}

oc_status oci_text_append_format(oci_text *text, oc_error *err, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) {
        OC_FAIL(err, OC_EINTERNAL, "could not format a text with \"%s\"", fmt);
    }
    OC_TRY(text_reserve(text, length, err));
    va_start(args, fmt);
    vsnprintf(text->data + text->length, (size_t)length + 1, fmt, args);
    va_end(args);
    text->length += length;
    return OC_OK;
}

void oci_text_clear(oci_text *text)
{
    text->length = 0;
    if (text->data != NULL) {
        text->data[0] = '\0';
    }
}

void oci_text_free(oci_text *text)
{
    oci_mem_free(text->mem, text->data, text->capacity);
    text->data = NULL;
    text->length = 0;
    text->capacity = 0;
}
