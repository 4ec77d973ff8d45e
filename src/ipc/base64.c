/* See base64.h. The results come from malloc: schemas do not grow with rows. */
#include "ipc/base64.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

oc_status oci_base64_encode(const uint8_t *data, int64_t size, oci_bytes *out, oc_error *err)
{
    int64_t length = (size + 2) / 3 * 4;
    uint8_t *text = malloc((size_t)length + 1);
    if (text == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    uint8_t *to = text;
    for (int64_t i = 0; i < size; i += 3) {
        int64_t n = oci_min64(3, size - i);
        uint32_t bits = (uint32_t)data[i] << 16;
        bits |= n > 1 ? (uint32_t)data[i + 1] << 8 : 0;
        bits |= n > 2 ? data[i + 2] : 0;
        *to++ = (uint8_t)digits[bits >> 18];
        *to++ = (uint8_t)digits[(bits >> 12) & 63];
        *to++ = (uint8_t)(n > 1 ? digits[(bits >> 6) & 63] : '=');
        *to++ = (uint8_t)(n > 2 ? digits[bits & 63] : '=');
    }
    *to = '\0';
    *out = (oci_bytes){.data = text, .size = length};
    return OC_OK;
}

/* 0..63, or -1. */
static int digit_value(char c)
{
    const char *at = c == '\0' ? NULL : strchr(digits, c);
    return at == NULL ? -1 : (int)(at - digits);
}

/* Four digits to three bytes; padding counts as 0. False for what is no digit. */
static bool decode_group(const char *text, int n_digits, uint8_t out[3])
{
    uint32_t bits = 0;
    for (int i = 0; i < 4; i++) {
        int value = i < n_digits ? digit_value(text[i]) : 0;
        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
    }
    out[0] = (uint8_t)(bits >> 16);
    out[1] = (uint8_t)(bits >> 8);
    out[2] = (uint8_t)bits;
    return true;
}

oc_status oci_base64_decode(const char *text, int64_t length, oci_bytes *out, oc_error *err)
{
    int64_t padding = 0;
    while (padding < 2 && padding < length && text[length - 1 - padding] == '=') {
        padding++;
    }
    if (length % 4 != 0) {
        OC_FAIL(err, OC_EDATA, "base64 text has %" PRId64 " characters", length);
    }
    uint8_t *data = malloc((size_t)(length / 4 * 3) + 1);
    if (data == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    for (int64_t i = 0; i < length / 4; i++) {
        bool is_last = 4 * i + 4 == length;
        if (!decode_group(text + 4 * i, is_last ? 4 - (int)padding : 4, data + 3 * i)) {
            free(data);
            OC_FAIL(err, OC_EDATA, "base64 text has a character that is none of its digits");
        }
    }
    *out = (oci_bytes){.data = data, .size = length / 4 * 3 - padding};
    return OC_OK;
}
