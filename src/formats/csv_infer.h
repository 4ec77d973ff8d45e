/* Guesses about CSV text, made over a sample: delimiter, header, types.
 *
 * A guess never changes a value without notice: a type is guessed only when every value of the
 * sample would be written back the same (so "007" stays text), and a later value that does not fit
 * is an error, not another type. */
#ifndef OUTCORE_FORMATS_CSV_INFER_H
#define OUTCORE_FORMATS_CSV_INFER_H

#include "arrow/schema.h"
#include "formats/csv_column.h"
#include "formats/csv_scan.h"

/* The delimiter among , tab ; | that cuts the records of data[start..size) into the same number of
 * fields, most of them when several do; ',' when none does. `dialect` gives the quote. */
uint8_t oci_csv_guess_delimiter(const uint8_t *data, int64_t size, int64_t start,
                                const oci_csv_dialect *dialect);

/* Whether every record of the sample (up to 1000) ends with a delimiter. */
bool oci_csv_ends_with_delimiter(const uint8_t *data, int64_t size, int64_t start,
                                 const oci_csv_dialect *dialect);

/* The types that all values seen so far could be, as bits; zero-initialise. */
typedef struct oci_csv_guess {
    bool seen; /* a value that is not null */
    uint8_t types;
} oci_csv_guess;

/* Whether a text reads as anything but plain text: a number, a date, true, ... */
bool oci_csv_is_typed(const uint8_t *text, int64_t length);

void oci_csv_guess_add(oci_csv_guess *guess, const uint8_t *text, int64_t length);

/* Adds a column of records. */
void oci_csv_guess_add_rows(oci_csv_guess *guess, const oci_csv_rows *rows, int32_t source);

/* Sets the type of a field that is initialised as nullable utf8. OC_ENOMEM. */
OC_NODISCARD oc_status oci_csv_guess_apply(const oci_csv_guess *guess, oci_field *field,
                                           oc_error *err);

#endif /* OUTCORE_FORMATS_CSV_INFER_H */
