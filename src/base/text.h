/* Text helpers that do not depend on the locale: sizes for people, and a growing string. */
#ifndef OUTCORE_BASE_TEXT_H
#define OUTCORE_BASE_TEXT_H

#include "base/error.h"
#include "base/memory.h"

/* Room for any byte count as text, with its NUL. */
#define OCI_BYTES_TEXT 32

/* Writes `bytes` (>= 0) for people: "1 byte", "512 bytes", "12.3 MiB". Units are powers of 1024,
 * one decimal, rounded to the nearest. Returns `out`. */
const char *oci_format_bytes(int64_t bytes, char out[OCI_BYTES_TEXT]);

/* The same rounded up, for "at least this much". */
const char *oci_format_bytes_up(int64_t bytes, char out[OCI_BYTES_TEXT]);

/* Reads a size such as "4096", "64m", "1.5g", "2 GiB", "10MB". Units k, m, g and t (with "b" or
 * "ib" after them, in any case) are powers of 1024. OC_EINVAL: not a size, negative or too
 * large; the message quotes the text. */
OC_NODISCARD oc_status oci_parse_size(const char *text, int64_t *out, oc_error *err);

/* A string that grows in an account. Plain struct: {.mem = mem} is an empty one. `data` is NULL
 * until something was appended (oci_text_chars() is never NULL) and NUL-terminated after that. A
 * failed append leaves it as it was. */
typedef struct oci_text {
    oci_mem *mem;
    char *data;
    int64_t length; /* without the NUL */
    int64_t capacity;
} oci_text;

const char *oci_text_chars(const oci_text *text);
OC_NODISCARD oc_status oci_text_append(oci_text *text, const char *bytes, int64_t length,
                                       oc_error *err);
OC_NODISCARD oc_status oci_text_append_str(oci_text *text, const char *str, oc_error *err);
OC_NODISCARD oc_status oci_text_append_char(oci_text *text, char c, oc_error *err);
OC_NODISCARD oc_status oci_text_append_int(oci_text *text, int64_t value, oc_error *err);
/* printf without the floating point conversions, which follow the locale. */
OC_NODISCARD oc_status oci_text_append_format(oci_text *text, oc_error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Makes it empty and keeps the memory. */
void oci_text_clear(oci_text *text);
/* Frees the memory; the struct can be used again. */
void oci_text_free(oci_text *text);

#endif /* OUTCORE_BASE_TEXT_H */
