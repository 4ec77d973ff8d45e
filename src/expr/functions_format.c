/* to_char, to_date, to_timestamp, dayname, monthname. See time_format.h.
 *
 * to_char of numbers: 9 a digit or a blank, 0 a digit, . or D the point, , or G a comma between
 * digits, S a sign, MI a minus or a blank, FM without blanks; what does not fit becomes #. */
#include <stdlib.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/number.h"
#include "expr/time_format.h"

/* ---- dates and timestamps -------------------------------------------------------------------- */

static bool is_moment(oci_type type)
{
    return type == OCI_TYPE_DATE32 || type == OCI_TYPE_DATE64 || type == OCI_TYPE_TIMESTAMP;
}

static bool bind_to_char(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    if (!is_moment(s->args[0].type)) {
        return false;
    }
    return oci_bind_shape(s, "Tt", OCI_TYPE_UTF8);
}

static oc_status time_to_text(const oci_call *call, int64_t i, oci_span format,
                              oci_text_builder *builder, oc_error *err)
{
    const oci_field *type = call->args[0].column.field;
    oci_growing_text g = {.builder = builder};
    oci_moment moment = oci_moment_load(type, oci_arg_at(call, 0, i, 8), 0);
    int32_t zone = type->timezone == NULL ? INT32_MIN : oci_zone_seconds(type->timezone);
    OC_TRY(oci_time_format(format, moment, zone, &g, err));
    oci_text_builder_commit(builder, g.used);
    return OC_OK;
}

static oc_status time_row(const oci_call *call, int64_t i, oci_text_builder *builder, oc_error *err)
{
    return time_to_text(call, i, oci_arg_text(call, 1, i), builder, err);
}

static oc_status dayname_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    static const uint8_t format[] = "FMDay";
    return time_to_text(call, i, (oci_span){format, 5}, builder, err);
}

static oc_status monthname_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                               oc_error *err)
{
    static const uint8_t format[] = "FMMonth";
    return time_to_text(call, i, (oci_span){format, 7}, builder, err);
}

OCI_BIND(bind_to_date, "tt", OCI_TYPE_DATE32)

static bool bind_to_timestamp(oci_signature *s, bool *failed, oc_error *err)
{
    static char utc[] = "UTC";
    (void)failed, (void)err;
    if (!oci_bind_shape(s, "tt", OCI_TYPE_TIMESTAMP)) {
        return false;
    }
    s->result.timezone = utc;
    return true;
}

static oc_status read_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    oci_moment moment;
    int32_t zone;
    OC_TRY(oci_time_read(oci_arg_text(call, 1, i), oci_arg_text(call, 0, i), &moment, &zone, err));
    if (!oci_moment_store(call->result, moment, out)) {
        OC_FAIL(err, OC_EINVAL, "to_timestamp: timestamp out of range");
    }
    *out -= call->result->type == OCI_TYPE_TIMESTAMP ? zone * INT64_C(1000000) : 0;
    return OC_OK;
}

static oc_status read_times(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, read_row, out, err);
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* What a format of a number asks for. */
typedef struct number_format {
    int32_t whole;  /* digits before the point */
    int32_t zeros;  /* of them from the first 0 on */
    int32_t behind; /* digits behind the point */
    int32_t kept;   /* of those, up to the last 0: FM does not take them */
    bool fill;
    bool sign;  /* S */
    bool minus; /* MI */
} number_format;

static bool read_number_format(oci_span format, number_format *out)
{
    bool is_behind = false;
    *out = (number_format){.fill = true};
    for (int64_t k = 0; k < format.length; k++) {
        uint8_t c = format.at[k];
        uint8_t next = k + 1 < format.length ? (uint8_t)(format.at[k + 1] & ~0x20) : 0;
        switch (c) {
        case '9':
        case '0':
            if (is_behind) {
                out->behind++;
                out->kept = c == '0' ? out->behind : out->kept;
            } else {
                out->whole++;
                out->zeros += out->zeros > 0 || c == '0';
            }
            break;
        case '.':
        case 'D':
        case 'd':
            if (is_behind) {
                return false;
            }
            is_behind = true;
            break;
        case 'S':
        case 's': out->sign = true; break;
        case 'F':
        case 'f':
            if (next != 'M') {
                return false;
            }
            out->fill = false;
            k++;
            break;
        case 'M':
        case 'm':
            if (next != 'I') {
                return false;
            }
            out->minus = true;
            k++;
            break;
        case ',':
        case 'G':
        case 'g': break;
        default: return false;
        }
    }
    return out->whole + out->behind <= 36;
}

/* Digits of a number into the places of the format; `digits` are those of whole and behind. */
static char *put_places(oci_span format, const number_format *f, const char *digits, int32_t n_zero,
                        bool overflows, int32_t n_behind, char *to)
{
    int32_t at = 0;
    int32_t behind = 0;
    for (int64_t k = 0; k < format.length; k++) {
        uint8_t c = format.at[k];
        if (c == '9' || c == '0') {
            bool is_whole = at < f->whole;
            bool is_blank = is_whole && at < n_zero;
            behind += !is_whole;
            if (is_blank) {
                if (f->fill) {
                    *to++ = ' ';
                }
            } else if (is_whole || behind <= n_behind) {
                *to++ = overflows ? '#' : digits[at];
            }
            at++;
        } else if (c == ',' || (c | 0x20) == 'g') {
            bool is_blank = at <= n_zero && at < f->whole;
            if (!is_blank) {
                *to++ = ',';
            } else if (f->fill) {
                *to++ = ' ';
            }
        } else if (c == '.' || (c | 0x20) == 'd') {
            *to++ = '.';
        }
    }
    return to;
}

/* The sign goes in front of the first digit, or behind with MI and S at the end. */
static int64_t place_sign(const number_format *f, bool sign_behind, bool negative, char *text,
                          int64_t length)
{
    char sign = negative ? '-' : f->sign ? '+' : ' ';
    if (f->minus || sign_behind) {
        if (sign != ' ' || f->fill) {
            text[length++] = sign;
        }
        return length;
    }
    if (sign == ' ' && !f->fill) {
        return length;
    }
    int64_t blanks = 0;
    while (blanks < length && text[blanks] == ' ') {
        blanks++;
    }
    memmove(text + 1, text, (size_t)length);
    memset(text, ' ', (size_t)blanks + 1);
    text[blanks] = sign;
    return length + 1;
}

static bool bind_number(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    oci_type type = s->args[0].type;
    if (!oci_type_is_number(type) || type == OCI_TYPE_DECIMAL256) {
        return false;
    }
    oci_field number = oci_type_is_float(type) ? oci_expr_type(OCI_TYPE_FLOAT64)
                                               : oci_as_decimal(&s->args[0]);
    (void)oci_bind_shape(s, "=t", OCI_TYPE_UTF8);
    s->args[0] = number;
    return oci_type_is_text(s->args[1].type);
}

static oc_status number_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    number_format f;
    const oci_field *type = call->args[0].column.field;
    oci_span format = oci_arg_text(call, 1, i);
    oci_number number;
    uint8_t stored[16];
    if (format.length > 120 || !read_number_format(format, &f)) {
        OC_FAIL(err, OC_EINVAL,
                "to_char: \"%.*s\" is no format of numbers; 9 0 . , D G S MI FM may be used, with "
                "at most 36 digits",
                (int)oci_min64(format.length, 60), (const char *)format.at);
    }
    oci_field rounded = oci_expr_decimal(38, f.behind);
    bool fits = oci_number_load(type, oci_arg_at(call, 0, i, type->byte_width), 0, &number) &&
                oci_number_store(&rounded, &number, stored, 0);
    oci_int128 value = fits ? oci_load_int128(stored) : 0;
    bool negative = fits ? value < 0 : number.is_real && number.real < 0;
    value = value < 0 ? -value : value;
    bool overflows = !fits || !oci_fits_digits(value, f.whole + f.behind);
    char digits[40];
    for (int32_t k = f.whole + f.behind - 1; k >= 0; k--, value /= 10) {
        digits[k] = (char)('0' + (int)(value % 10));
    }
    int32_t n_zero = 0; /* leading places without a digit */
    while (!overflows && n_zero < f.whole - f.zeros && digits[n_zero] == '0') {
        n_zero++;
    }
    /* The zero before the point stands only where there is nothing behind it. */
    n_zero -= n_zero == f.whole && f.behind == 0 && f.whole > 0;
    int32_t n_behind = f.behind;
    while (!f.fill && n_behind > f.kept && digits[f.whole + n_behind - 1] == '0') {
        n_behind--;
    }
    char text[128];
    char *end = put_places(format, &f, digits, n_zero, overflows, n_behind, text);
    uint8_t last = format.length > 0 ? format.at[format.length - 1] : 0;
    bool sign_behind = (last | 0x20) == 's' && format.length > 1;
    int64_t length = place_sign(&f, sign_behind, negative, text, end - text);
    return oci_text_builder_append(builder, (const uint8_t *)text, length, err);
}

#define TEXT_KERNEL(name)                                                       \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                           \
        return oci_each_text(call, name##_row, false, out, err);                \
    }

TEXT_KERNEL(time)
TEXT_KERNEL(dayname)
TEXT_KERNEL(monthname)
TEXT_KERNEL(number)

const oci_function oci_functions_format[] = {
    OCI_STRICT("to_char", 2, 2, bind_to_char, time, "to_char(timestamp, format) -> text"),
    OCI_STRICT("to_char", 2, 2, bind_number, number, "to_char(number, format) -> text"),
    OCI_STRICT("dayname", 1, 1, bind_to_char, dayname, "dayname(date) -> text"),
    OCI_STRICT("monthname", 1, 1, bind_to_char, monthname, "monthname(date) -> text"),
    OCI_STRICT("to_date", 2, 2, bind_to_date, read_times, "to_date(text, format) -> date"),
    OCI_STRICT("to_timestamp", 2, 2, bind_to_timestamp, read_times,
               "to_timestamp(text, format) -> timestamp with time zone"),
    {.name = NULL},
};
