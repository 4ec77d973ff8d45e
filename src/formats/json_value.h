/* Single values as JSON, nested ones included.
 *
 *   list (any kind)     array
 *   struct              object, fields in their order; a name that occurs twice is written twice
 *   map                 object when the keys are texts, else an array of {"key": k, "value": v};
 *                       which of them depends on the type alone. Entries keep their order, and keys
 *                       that occur twice are written twice
 *   union               the value of its child, without saying which child it is
 *   dictionary, runs    the value
 *   null                null; so are NaN and infinities, which JSON does not have
 *   all others          format_value.h: numbers and true / false as they are, times and intervals
 *                       as strings, binary as strings of hex digits
 *
 * Strings are escaped as RFC 8259 says; invalid UTF-8 bytes become U+FFFD. Nothing is held but what
 * is in the buffer of the sink, however large a value is. Recursion is as deep as the type. */
#ifndef OUTCORE_FORMATS_JSON_VALUE_H
#define OUTCORE_FORMATS_JSON_VALUE_H

#include "base/text.h"
#include "formats/text_internal.h"

/* The value of a row that may be null. Stops early, without an error, when the sink is closed. */
OC_NODISCARD oc_status oci_json_write_value(oci_text_sink *sink, const oci_formatter *formatter,
                                            const oci_column *column, int64_t row, oc_error *err);

/* A text with quotes around it; the other one keeps it in memory, for what is written often. */
OC_NODISCARD oc_status oci_json_write_string(oci_text_sink *sink, const uint8_t *text,
                                             int64_t length, oc_error *err);
OC_NODISCARD oc_status oci_json_append_string(oci_text *out, const uint8_t *text, int64_t length,
                                              oc_error *err);

#endif /* OUTCORE_FORMATS_JSON_VALUE_H */
