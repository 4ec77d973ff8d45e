/* Numbered strings back to text: one beginning, and the digits of a number. */
#include "encoding/string_decode_internal.h"

static const uint32_t powers[OCI_STRINGS_DIGITS_MAX + 1] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

/* Eight digits as text, the highest in the lowest byte: four of two by two, then two by two of each,
 * by multiplication with what 1/100 and 1/10 are in fixed point. */
static inline uint64_t digits_of(uint32_t number)
{
    uint64_t fours = number / 10000 | (uint64_t)(number % 10000) << 32;
    uint64_t hundreds = (fours * 10486 >> 20) & UINT64_C(0x7F0000007F);
    uint64_t twos = hundreds | (fours - 100 * hundreds) << 16;
    uint64_t tens = (twos * 103 >> 10) & UINT64_C(0x000F000F000F000F);
    uint64_t ones = tens | (twos - 10 * tens) << 8;
    return ones | UINT64_C(0x3030303030303030);
}

/* Writes exactly `digits` of them. */
static inline void put_digits(uint8_t *to, int64_t room, uint32_t number, int64_t digits)
{
    if (digits == OCI_STRINGS_DIGITS_MAX) {
        *to++ = (uint8_t)('0' + number / powers[8]);
        number %= powers[8];
        room--;
        digits--;
    }
    uint64_t text = digits_of(number) >> (8 - digits) * 8;
    if (room >= 8) {
        oci_store_le64(to, text);
        return;
    }
    for (int64_t i = 0; i < digits; i++) {
        to[i] = (uint8_t)(text >> i * 8);
    }
}

typedef struct numbering {
    const uint8_t *text;
    int64_t text_length;
    int64_t digits; /* 0: as many as a number needs */
} numbering;

/* Digits that a number needs: about the logarithm, from its bits, put right by one comparison. */
static inline uint64_t count_digits(uint64_t number)
{
    uint64_t about = (uint64_t)(64 - __builtin_clzll(number | 1)) * 1233 >> 12;
    return about + ((number | 1) >= powers[about]);
}

/* Lengths of the strings of a page. */
static oc_status measure(const numbering *of, int64_t n, const uint64_t *numbers, uint64_t *lengths,
                         oc_error *err)
{
    uint64_t last = powers[of->digits > 0 ? of->digits : OCI_STRINGS_DIGITS_MAX] - UINT64_C(1);
    uint64_t excess = 0;
    for (int64_t i = 0; i < n; i++) {
        excess |= numbers[i] | (last - numbers[i]);
    }
    if (excess >> 63 != 0) {
        OC_FAIL(err, OC_EDATA, "damaged strings: a number has more digits than there may be");
    }
    uint64_t text_length = (uint64_t)of->text_length;
    for (int64_t i = 0; i < n; i++) {
        uint64_t digits = of->digits > 0 ? (uint64_t)of->digits : count_digits(numbers[i]);
        lengths[i] = text_length + digits;
    }
    return OC_OK;
}

/* Short texts and numbers of up to 8 digits, as long as 24 bytes can be written: the text and the digits
 * are one store each, whatever their lengths. Returns how many were put. */
static int64_t put_short(const numbering *of, uint8_t *to, const uint8_t *end, int64_t n,
                         const uint64_t *numbers, const uint64_t *lengths)
{
    const int64_t text_length = of->text_length;
    uint8_t text[16] = {0};
    int64_t i = 0;
    if (text_length > 16) {
        return 0;
    }
    memcpy(text, of->text, (size_t)text_length);
    for (; i < n && end - to >= 24 && numbers[i] < powers[8]; i++) {
        int64_t digits = (int64_t)lengths[i] - text_length;
        if (digits > 8) { /* zeros in front */
            break;
        }
        memcpy(to, text, 16);
        oci_store_le64(to + text_length, digits_of((uint32_t)numbers[i]) >> (8 - digits) * 8);
        to += lengths[i];
    }
    return i;
}

static void put_strings(const numbering *of, const oci_string_sink *sink, int64_t n,
                        const uint64_t *numbers, const uint64_t *lengths)
{
    uint8_t *to = sink->bytes + sink->at;
    const uint8_t *end = sink->bytes + sink->room;
    int64_t done = put_short(of, to, end, n, numbers, lengths);
    for (int64_t i = 0; i < done; i++) {
        to += lengths[i];
    }
    for (int64_t i = done; i < n; i++) {
        int64_t digits = (int64_t)lengths[i] - of->text_length;
        memcpy(to, of->text, (size_t)of->text_length);
        to += of->text_length;
        put_digits(to, end - to, (uint32_t)numbers[i], digits);
        to += digits;
    }
}

oc_status oci_string_decode_numbered(const oci_strings_in *in, oci_string_sink *sink, oc_error *err)
{
    uint64_t numbers[OCI_PAGE_VALUES];
    uint64_t lengths[OCI_PAGE_VALUES];
    numbering of = {.text = in->bytes, .text_length = in->bytes_size, .digits = in->extra};
    oci_int_reader reader;
    OC_TRY(oci_int_reader_open(&reader, in->packed, in->packed_size, in->n, err));
    for (int64_t at = 0; at < in->n; at += OCI_PAGE_VALUES) {
        int64_t n = oci_min64(OCI_PAGE_VALUES, in->n - at);
        OC_TRY(oci_int_reader_next(&reader, numbers, n, err));
        OC_TRY(measure(&of, n, numbers, lengths, err));
        OC_TRY(oci_string_check(sink, lengths, n, err));
        put_strings(&of, sink, n, numbers, lengths);
        OC_TRY(sink->page(sink, at, n, lengths, NULL, err));
    }
    return OC_OK;
}
