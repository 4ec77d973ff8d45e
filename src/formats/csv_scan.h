/* Where records and fields of CSV text begin and end.
 *
 * The scanner finds positions and touches no value: the reader scans a stretch of its buffer first
 * and then fills its columns one by one from the positions. A scan always starts at the first byte
 * of a record, so a record that a buffer cuts in two is simply scanned anew when more of it is
 * there, and no state has to survive between two scans.
 *
 * Positions. A record of n fields takes n + 1 entries p[0..n], relative to `data`: field k is
 * [p[k] + 1, p[k + 1]), where p[0] is the byte before the record and the others are delimiters, or
 * the end of the record (LF, or CR of CR LF). The entry that ends a field carries OCI_CSV_QUOTED
 * when the field is quoted; the range then includes both quotes, and quotes inside are still
 * doubled. So the byte before the first record must exist: start >= 1. */
#ifndef OUTCORE_FORMATS_CSV_SCAN_H
#define OUTCORE_FORMATS_CSV_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#define OCI_CSV_QUOTED UINT32_C(0x80000000)
/* Text that one scan can address. */
#define OCI_CSV_SCAN_MAX INT64_C(0x7FFFFF00)
/* Bytes behind `size` that must be readable; their contents do not matter. */
#define OCI_CSV_SCAN_PAD 64

typedef struct oci_csv_dialect {
    uint8_t delimiter;
    uint8_t quote;
    bool has_quote;          /* false: quotes are ordinary characters */
    bool trailing_delimiter; /* every record ends with a delimiter that begins no field */
    bool skip_blank;         /* lines without a byte are no records */
} oci_csv_dialect;

typedef enum oci_csv_stop {
    OCI_CSV_STOP_MORE, /* all records that are complete were found; the next one needs more text */
    OCI_CSV_STOP_FULL, /* records_max reached */
    OCI_CSV_STOP_FEW,  /* a record with too few fields */
    OCI_CSV_STOP_MANY, /* a record with too many fields */
    OCI_CSV_STOP_AFTER_QUOTE /* text between a closing quote and the next delimiter */
} oci_csv_stop;

typedef struct oci_csv_scan {
    /* given */
    const uint8_t *data;
    int64_t size; /* end of the text, <= OCI_CSV_SCAN_MAX */
    oci_csv_dialect dialect;
    int32_t n_fields;    /* of every record, >= 1 */
    int64_t records_max; /* >= 1 */
    uint32_t *positions; /* room for records_max * (n_fields + 1) */
    /* in: the first byte to scan, >= 1; out: the first byte of the record that was not taken */
    int64_t start;
    /* out */
    int64_t n_records;
    int64_t problem_at; /* position of the byte after the quote for OCI_CSV_STOP_AFTER_QUOTE */
} oci_csv_scan;

/* Finds complete records (ended by LF) from `start` on. After a stop for a bad record, the good
 * ones before it were counted and `start` is the bad one. */
oci_csv_stop oci_csv_scan_records(oci_csv_scan *scan);

/* One record of any number of fields, slowly: for headers, for guessing and for error messages.
 * Looks at data[start..size). Fields are counted as they are written, so a trailing delimiter
 * begins one more, empty field. Calls `take` (may be NULL) with the range of each field as in
 * `positions`. Returns where the next record starts, or -1 when the record is not complete;
 * *n_fields (may be NULL) is 0 for a blank line. *quote_at (may be NULL) is where an open quote
 * begins when the record is incomplete, else -1. */
int64_t oci_csv_scan_one(const uint8_t *data, int64_t size, int64_t start,
                         const oci_csv_dialect *dialect,
                         void (*take)(void *arg, int64_t from, int64_t to, bool quoted), void *arg,
                         int64_t *n_fields, int64_t *quote_at);

/* Finds the end of one record that does not fit a buffer, piece by piece. Zero-initialise, then
 * feed the text from the start of the record on. */
typedef struct oci_csv_measure {
    int64_t length; /* bytes fed so far, up to and including the LF at the end */
    bool inside;    /* behind the first byte of a field */
    bool in_quotes;
    bool quote_seen; /* the last byte was a quote inside quotes: doubled, or the end */
} oci_csv_measure;

/* True when the record ended in data[0..size). */
bool oci_csv_measure_feed(oci_csv_measure *measure, const oci_csv_dialect *dialect,
                          const uint8_t *data, int64_t size);
/* Whether the text so far ends inside quotes. */
static inline bool oci_csv_measure_is_open(const oci_csv_measure *measure)
{
    return measure->in_quotes && !measure->quote_seen;
}

/* How many bytes of data[0..size) are `byte`. */
int64_t oci_csv_count_byte(const uint8_t *data, int64_t size, uint8_t byte);

#endif /* OUTCORE_FORMATS_CSV_SCAN_H */
