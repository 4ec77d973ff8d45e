/* The numbered kind: strings that are one text and a number behind it, such as "user-17" or
 * "Customer#000000017". What is stored is the text, once, and the numbers as integers.
 *
 * The text is what the first string has before its last digits. Numbers have as many digits as they
 * need, or all the same; only then does their text come back as it was. While strings are read the
 * numbers wait where the bytes of other kinds would go. */
#include "encoding/string_encode_internal.h"

/* What the strings have in common. */
typedef struct numbering {
    const uint8_t *text;
    int64_t text_length;
    int64_t digits;    /* of the first number */
    uint64_t words[2]; /* the first 16 bytes of the text, and which of them are */
    uint64_t masks[2];
    bool has_zeros; /* some number begins with a zero that it does not need */
    bool differs;   /* some number has other digits than the first */
} numbering;

static void begin(const uint8_t *at, int64_t length, numbering *out)
{
    int64_t digits = 0;
    while (digits < length && digits < OCI_STRINGS_DIGITS_MAX &&
           (uint8_t)(at[length - 1 - digits] - '0') < 10) {
        digits++;
    }
    *out = (numbering){.text = at, .text_length = length - digits, .digits = digits};
    int bits = (int)oci_min64(128, out->text_length * 8);
    out->words[0] = oci_load_le64(at); /* 16 bytes can be read of every string */
    out->words[1] = oci_load_le64(at + 8);
    out->masks[0] = oci_low_mask(bits < 64 ? bits : 64);
    out->masks[1] = oci_low_mask(bits < 64 ? 0 : bits - 64);
}

/* Up to 8 digits in the upper bytes of a word, the last one in the highest, zeros below. Pairs of digits
 * become numbers, then pairs of those, by multiplication. False when one is none. */
static inline bool read_word(uint64_t digits, uint32_t *number)
{
    const uint64_t low = UINT64_C(0x000000FF000000FF);
    uint64_t excess = digits | (digits + UINT64_C(0x7676767676767676));
    uint64_t pairs = digits * 10 + (digits >> 8);
    *number = (uint32_t)(((pairs & low) * (100 + (UINT64_C(1000000) << 32)) +
                          (pairs >> 16 & low) * (1 + (UINT64_C(10000) << 32))) >>
                         32);
    return (excess & UINT64_C(0x8080808080808080)) == 0;
}

/* The same for any number of digits, which may be all that can be read. */
static bool read_digits(const uint8_t *at, int64_t digits, uint32_t *number)
{
    uint32_t value = 0;
    for (int64_t k = 0; k < digits; k++) {
        uint32_t digit = (uint32_t)at[k] - '0';
        if (digit > 9) {
            return false;
        }
        value = value * 10 + digit;
    }
    *number = value;
    return true;
}

static inline bool has_text(const numbering *of, const uint8_t *at)
{
    if (of->text_length > 16) {
        return memcmp(at, of->text, (size_t)of->text_length) == 0;
    }
    return ((oci_load_le64(at) ^ of->words[0]) & of->masks[0]) == 0 &&
           ((oci_load_le64(at + 8) ^ of->words[1]) & of->masks[1]) == 0;
}

/* The numbers of a stage, 4 bytes each; false when one is none. */
static bool read_numbers(numbering *of, const oci_string_stage *stage, int64_t n, uint8_t *out)
{
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *at = stage->at[i] + of->text_length;
        int64_t digits = stage->length[i] - of->text_length;
        uint32_t number = 0;
        if (digits < 1 || digits > OCI_STRINGS_DIGITS_MAX || !has_text(of, stage->at[i])) {
            return false;
        }
        bool is_word = digits <= 8 && stage->readable[i] >= of->text_length + 8;
        if (is_word
                ? !read_word((oci_load_le64(at) - UINT64_C(0x3030303030303030)) << (8 - digits) * 8,
                             &number)
                : !read_digits(at, digits, &number)) {
            return false;
        }
        of->has_zeros |= (at[0] == '0') & (digits > 1);
        of->differs |= digits != of->digits;
        oci_store_le32(out + i * 4, number);
    }
    return !of->has_zeros || !of->differs;
}

bool oci_strings_are_numbered(const oci_string_source *source, int64_t start, int64_t n)
{
    oci_string_stage stage;
    uint8_t numbers[OCI_STRING_STAGE * 4];
    numbering of;
    if (n == 0) {
        return false;
    }
    oci_string_source_stage(source, start, n, &stage);
    begin(stage.at[0], stage.length[0], &of);
    return read_numbers(&of, &stage, n, numbers);
}

bool oci_strings_encode_numbered(oci_string_job *job)
{
    const oci_string_source *source = &job->source;
    uint8_t *bytes = job->out->bytes + job->out->bytes_at;
    uint8_t *numbers = bytes;
    int64_t value_bytes = 0;
    oci_string_stage stage;
    numbering of = {0};
    for (int64_t at = 0; at < source->n; at += OCI_STRING_STAGE) {
        int64_t n = oci_min64(OCI_STRING_STAGE, source->n - at);
        oci_string_source_stage(source, at, n, &stage);
        if (at == 0) {
            begin(stage.at[0], stage.length[0], &of);
            if (of.text_length + source->n * 4 > job->bound.bytes) {
                return false; /* no room for the numbers */
            }
            memcpy(bytes, of.text, (size_t)of.text_length);
            of.text = bytes;
            numbers = bytes + of.text_length;
        }
        if (!read_numbers(&of, &stage, n, numbers + at * 4)) {
            return false;
        }
        for (int64_t i = 0; i < n; i++) {
            value_bytes += stage.length[i];
        }
    }
    oci_string_put_header(job, &(oci_string_header){.kind = OCI_STRINGS_NUMBERED,
                                                    .value_bytes = value_bytes,
                                                    .bytes_size = of.text_length,
                                                    .extra = of.has_zeros ? of.digits : 0});
    oci_int_array array = {.values = numbers, .width = 4};
    oci_string_put_numbers(job, 0, oci_int_array_source(&array, source->n), 4);
    return true;
}
