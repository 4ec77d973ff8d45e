/* Guesses about CSV text. See csv_infer.h. The name of a time zone is the one thing that comes from
 * malloc, as schemas do.
 *
 * Types form a small lattice: each value says which types could hold it, and a column keeps the
 * types that all of its values agree on. The narrowest of what is left wins; nothing left means
 * text. */
#include "formats/csv_infer.h"

#include <stdlib.h>
#include <string.h>

#include "formats/parse_value.h"

enum {
    IS_INT = 1,
    IS_FLOAT = 2,
    IS_BOOL = 4,
    IS_DATE = 8,
    IS_TIMESTAMP = 16,
    IS_TIMESTAMP_UTC = 32, /* with an offset */
    IS_ANYTHING = 63
};

/* Records looked at for the delimiter: enough to tell a pattern from an accident. */
enum { DELIMITER_RECORDS = 1000 };

/* A float, unless an integer is meant: "12345678901234567890" would lose digits and "01.5" its
 * zero. */
static bool is_float(const uint8_t *text, int64_t length)
{
    double value;
    if (oci_parse_float64(text, length, &value) != OCI_PARSE_OK) {
        return false;
    }
    bool negative = text[0] == '-';
    if (text[0] == '+' || (length - negative >= 2 && text[negative] == '0' &&
                           text[negative + 1] >= '0' && text[negative + 1] <= '9')) {
        return false;
    }
    for (int64_t i = negative; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return true;
        }
    }
    return false;
}

static uint8_t types_of(const uint8_t *text, int64_t length)
{
    int64_t integer;
    bool boolean;
    bool has_zone;
    if (length == 0) {
        return 0;
    }
    if (oci_parse_int64_strict(text, length, &integer) == OCI_PARSE_OK) {
        return IS_INT | IS_FLOAT;
    }
    if (oci_parse_date(text, length, &integer) == OCI_PARSE_OK) {
        return IS_DATE | IS_TIMESTAMP;
    }
    if (oci_parse_bool_strict(text, length, &boolean) == OCI_PARSE_OK) {
        return IS_BOOL;
    }
    if (is_float(text, length)) {
        return IS_FLOAT;
    }
    oci_zone utc = {OCI_ZONE_FIXED, 0};
    if (oci_parse_timestamp(text, length, OCI_MICRO, utc, &integer, &has_zone) == OCI_PARSE_OK) {
        return has_zone ? IS_TIMESTAMP_UTC : IS_TIMESTAMP;
    }
    return 0;
}

bool oci_csv_is_typed(const uint8_t *text, int64_t length)
{
    return types_of(text, length) != 0;
}

void oci_csv_guess_add(oci_csv_guess *guess, const uint8_t *text, int64_t length)
{
    uint8_t before = guess->seen ? guess->types : IS_ANYTHING;
    guess->seen = true;
    guess->types = before == 0 ? 0 : before & types_of(text, length);
}

void oci_csv_guess_add_rows(oci_csv_guess *guess, const oci_csv_rows *rows, int32_t source)
{
    for (int64_t row = 0; row < rows->n_rows; row++) {
        if (guess->seen && guess->types == 0) {
            return; /* text, whatever comes */
        }
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(rows, row, source, &length, &quoted);
        if (!oci_csv_is_null(rows, text, length, quoted, true)) {
            oci_csv_guess_add(guess, text, length);
        }
    }
}

oc_status oci_csv_guess_apply(const oci_csv_guess *guess, oci_field *field, oc_error *err)
{
    uint8_t types = guess->seen ? guess->types : 0;
    if (types & IS_INT) {
        field->type = OCI_TYPE_INT64;
    } else if (types & IS_FLOAT) {
        field->type = OCI_TYPE_FLOAT64;
    } else if (types & IS_BOOL) {
        field->type = OCI_TYPE_BOOL;
    } else if (types & IS_DATE) {
        field->type = OCI_TYPE_DATE32;
    } else if (types & (IS_TIMESTAMP | IS_TIMESTAMP_UTC)) {
        field->type = OCI_TYPE_TIMESTAMP;
        field->unit = OCI_MICRO;
    }
    if (field->type == OCI_TYPE_TIMESTAMP && (types & IS_TIMESTAMP_UTC)) {
        field->timezone = strdup("UTC");
        if (field->timezone == NULL) {
            OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
        }
    }
    oci_field_set_width(field);
    return OC_OK;
}

/* ---- delimiter ------------------------------------------------------------------------------- */

/* How well a delimiter fits: records that have as many fields as the first one, and that number. */
typedef struct {
    int64_t n_fields;
    int64_t n_records;
    int64_t n_alike;
} fit;

static fit fit_of(const uint8_t *data, int64_t size, int64_t start, const oci_csv_dialect *dialect)
{
    fit f = {0, 0, 0};
    while (f.n_records < DELIMITER_RECORDS) {
        int64_t n_fields;
        int64_t next = oci_csv_scan_one(data, size, start, dialect, NULL, NULL, &n_fields, NULL);
        if (next < 0) {
            break;
        }
        start = next;
        if (n_fields == 0) {
            continue;
        }
        if (f.n_records == 0) {
            f.n_fields = n_fields;
        }
        f.n_records++;
        f.n_alike += n_fields == f.n_fields;
    }
    return f;
}

/* More records alike is better; among equals, more fields. A delimiter that never occurs is no
 * candidate. */
static bool is_better(const fit *a, const fit *b)
{
    if (a->n_fields <= 1 || a->n_records == 0) {
        return false;
    }
    if (b->n_fields <= 1 || b->n_records == 0) {
        return true;
    }
    /* Shares, by cross-multiplication. */
    int64_t left = a->n_alike * b->n_records;
    int64_t right = b->n_alike * a->n_records;
    return left > right || (left == right && a->n_fields > b->n_fields);
}

uint8_t oci_csv_guess_delimiter(const uint8_t *data, int64_t size, int64_t start,
                                const oci_csv_dialect *dialect)
{
    static const uint8_t candidates[] = {',', '\t', ';', '|'};
    uint8_t best = ',';
    fit best_fit = {0, 0, 0};
    for (size_t i = 0; i < sizeof candidates; i++) {
        oci_csv_dialect tried = *dialect;
        tried.delimiter = candidates[i];
        fit f = fit_of(data, size, start, &tried);
        if (is_better(&f, &best_fit)) {
            best = candidates[i];
            best_fit = f;
        }
    }
    return best;
}

typedef struct {
    int64_t from;
    int64_t to;
    bool quoted;
} last_field;

static void remember_field(void *arg, int64_t from, int64_t to, bool quoted)
{
    last_field *last = arg;
    *last = (last_field){from, to, quoted};
}

bool oci_csv_ends_with_delimiter(const uint8_t *data, int64_t size, int64_t start,
                                 const oci_csv_dialect *dialect)
{
    int64_t n_records = 0;
    while (n_records < DELIMITER_RECORDS) {
        last_field last = {0, 0, false};
        int64_t n_fields;
        int64_t next =
            oci_csv_scan_one(data, size, start, dialect, remember_field, &last, &n_fields, NULL);
        if (next < 0) {
            break;
        }
        start = next;
        if (n_fields == 0) {
            continue;
        }
        if (n_fields == 1 || last.to > last.from) {
            return false;
        }
        n_records++;
    }
    return n_records > 0;
}
