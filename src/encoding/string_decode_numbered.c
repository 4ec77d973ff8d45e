/* Numbered strings back to text: one beginning, and the digits of a number. */
#include "encoding/string_decode_internal.h"

static const uint32_t powers[OCI_STRINGS_DIGITS_MAX + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

typedef struct numbering {
    const uint8_t *text;
    int64_t text_length;
    int64_t digits; /* 0: as many as a number needs */
} numbering;

/* Eight digits, one a byte, the highest in the lowest: four of two by two, then two by two of each, by
 * multiplication with what 1/100 and 1/10 are in fixed point. */
static inline uint64_t digits_of(uint64_t number)
{
    uint64_t fours = number / 10000 | number % 10000 << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x7F0000007F);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000F000F000F000F);
    return tens | (twos - 10 * tens) << 8;
}

/* Whether one of them is more than `most`. */
static bool exceeds(const uint64_t *numbers, int64_t n, uint64_t most)
{
    uint64_t excess = 0;
    for (int64_t i = 0; i < n; i++) {
        excess |= numbers[i] | (most - numbers[i]);
    }
    return excess >> 63 != 0;
}

/* ---- pages of numbers of up to 8 digits ------------------------------------------------------ */

/* Numbers become their digits; lengths of the strings. */
static void measure_short(const numbering *of, int64_t n, uint64_t *numbers, uint64_t *lengths)
{
    uint64_t text_length = (uint64_t)of->text_length;
    for (int64_t i = 0; i < n; i++) {
        numbers[i] = digits_of(numbers[i]);
        uint64_t zeros = (uint64_t)__builtin_ctzll(numbers[i] | UINT64_C(1) << 56) / 8;
        lengths[i] = text_length + (of->digits > 0 ? (uint64_t)of->digits : 8 - zeros);
    }
}

/* Digits are one store whatever their number, and so is a text of up to 16 bytes, as long as there is
 * room. */
static void put_short(const numbering *of, const oci_string_sink *sink, int64_t n,
                      const uint64_t *digits, const uint64_t *lengths)
{
    const int64_t text_length = of->text_length;
    uint8_t *to = sink->bytes + sink->at;
    const uint8_t *end = sink->bytes + sink->room;
    uint8_t text[16] = {0};
    memcpy(text, of->text, (size_t)oci_min64(text_length, 16));
    for (int64_t i = 0; i < n; i++) {
        int64_t n_digits = (int64_t)lengths[i] - text_length;
        uint64_t word = (digits[i] | UINT64_C(0x3030303030303030)) >> (8 - n_digits) * 8;
        if (text_length <= 16 && end - to >= 24) {
            memcpy(to, text, 16);
            oci_store_le64(to + text_length, word);
        } else {
            memcpy(to, of->text, (size_t)text_length);
            for (int64_t k = 0; k < n_digits; k++) {
                to[text_length + k] = (uint8_t)(word >> k * 8);
            }
        }
        to += lengths[i];
    }
}

/* ---- pages with others ----------------------------------------------------------------------- */

static void measure_long(const numbering *of, int64_t n, const uint64_t *numbers, uint64_t *lengths)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t digits = 1;
        for (int k = 1; k < OCI_STRINGS_DIGITS_MAX; k++) {
            digits += numbers[i] >= powers[k];
        }
        lengths[i] = (uint64_t)(of->text_length + (of->digits > 0 ? of->digits : (int64_t)digits));
    }
}

static void put_long(const numbering *of, const oci_string_sink *sink, int64_t n,
                     const uint64_t *numbers, const uint64_t *lengths)
{
    uint8_t *to = sink->bytes + sink->at;
    for (int64_t i = 0; i < n; i++) {
        memcpy(to, of->text, (size_t)of->text_length);
        uint64_t rest = numbers[i];
        for (int64_t k = (int64_t)lengths[i] - 1; k >= of->text_length; k--) {
            to[k] = (uint8_t)('0' + rest % 10);
            rest /= 10;
        }
        to += lengths[i];
    }
}

static oc_status put_numbered_page(const numbering *of, oci_string_sink *sink, int64_t start,
                                   int64_t n, uint64_t *numbers, oc_error *err)
{
    uint64_t lengths[OCI_PAGE_VALUES];
    if (exceeds(numbers, n, powers[of->digits > 0 ? of->digits : OCI_STRINGS_DIGITS_MAX] - 1)) {
        OC_FAIL(err, OC_EDATA, "damaged strings: a number has more digits than there may be");
    }
    if (of->digits <= 8 && !exceeds(numbers, n, powers[8] - 1)) {
        measure_short(of, n, numbers, lengths);
        OC_TRY(oci_string_check(sink, lengths, n, err));
        put_short(of, sink, n, numbers, lengths);
    } else {
        measure_long(of, n, numbers, lengths);
        OC_TRY(oci_string_check(sink, lengths, n, err));
        put_long(of, sink, n, numbers, lengths);
    }
    return sink->page(sink, start, n, lengths, NULL, err);
}

oc_status oci_string_decode_numbered(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    uint64_t numbers[OCI_PAGE_VALUES];
    numbering of = {.text = in->bytes, .text_length = in->bytes_size, .digits = in->extra};
    oci_int_reader reader;
    OC_TRY(oci_int_reader_open(&reader, in->packed, in->packed_size, in->n, err));
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&reader, numbers, n, err));
        OC_TRY(put_numbered_page(&of, sink, at, n, numbers, err));
    }
    return OC_OK;
}
