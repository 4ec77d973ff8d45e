/* Functions on text: length, case, cutting, searching. Positions and counts are in characters. */
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/utf8_text.h"

static oc_status append(oci_text_builder *builder, const uint8_t *from, const uint8_t *to,
                        oc_error *err)
{
    return oci_text_builder_append(builder, from, to - from, err);
}

OCI_BIND(bind_length, "t", OCI_TYPE_INT32)
OCI_BIND(bind_bytes_length, "y", OCI_TYPE_INT32)
OCI_BIND(bind_text, "t", OCI_TYPE_UTF8)
OCI_BIND(bind_text_int, "ti", OCI_TYPE_UTF8)
/* A text in place of the start is a pattern: see functions_regex.c. */
static bool bind_substr(oci_signature *s, bool *failed, oc_error *err)
{
    return !oci_type_is_text(s->args[1].type) && bind_text_int(s, failed, err);
}

OCI_BIND(bind_text_int_text, "tit", OCI_TYPE_UTF8)
OCI_BIND(bind_position, "tt", OCI_TYPE_INT32)
OCI_BIND(bind_test, "tt", OCI_TYPE_BOOL)
OCI_BIND(bind_split, "tti", OCI_TYPE_UTF8)
OCI_BIND(bind_overlay, "ttii", OCI_TYPE_UTF8)

/* ---- length ---------------------------------------------------------------------------------- */

static oc_status length_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    oci_span text = oci_arg_text(call, 0, i);
    *out = oci_count_characters(text.at, text.length);
    return OC_OK;
}

static oc_status octet_length_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_text(call, 0, i).length;
    return OC_OK;
}

static oc_status bit_length_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    *out = oci_arg_text(call, 0, i).length * 8;
    return OC_OK;
}

static oc_status length(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, length_row, out, err);
}

static oc_status octet_length(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, octet_length_row, out, err);
}

static oc_status bit_length(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, bit_length_row, out, err);
}

/* ---- case ------------------------------------------------------------------------------------ */

static oc_status change_case(const oci_call *call, int64_t i, bool upper, oci_text_builder *builder,
                             oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, oci_case_room(text.length), &to, err));
    oci_text_builder_commit(builder, oci_change_case(text.at, text.length, upper, to));
    return OC_OK;
}

static oc_status lower_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                           oc_error *err)
{
    return change_case(call, i, false, builder, err);
}

static oc_status upper_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                           oc_error *err)
{
    return change_case(call, i, true, builder, err);
}

static oc_status lower(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, lower_row, false, out, err);
}

static oc_status upper(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, upper_row, false, out, err);
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Characters [from, from + count) of a text, from 1; those before the first count too. */
static oc_status substr_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    int64_t from = oci_arg_int64(call, 1, i);
    int64_t end = INT64_MAX;
    if (call->n_args == 3) {
        int64_t count = oci_arg_int64(call, 2, i);
        if (count < 0) {
            OC_FAIL(err, OC_EINVAL, "substr: the length must not be negative, but is %" PRId64,
                    count);
        }
        end = oci_add64(from, count, &end) ? end : INT64_MAX;
    }
    from = from < 1 ? 1 : from;
    if (end <= from) {
        return oci_text_builder_append(builder, NULL, 0, err);
    }
    const uint8_t *last = text.at + text.length;
    const uint8_t *start = oci_skip_characters(text.at, last, from - 1);
    return append(builder, start, oci_skip_characters(start, last, end - from), err);
}

static oc_status substr(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, substr_row, false, out, err);
}

/* The text without its last n characters begins where this says. */
static const uint8_t *back_characters(oci_span text, int64_t n)
{
    const uint8_t *at = text.at + text.length;
    while (n > 0 && at > text.at) {
        at = oci_previous_character(text.at, at);
        n--;
    }
    return at;
}

static oc_status left_row(const oci_call *call, int64_t i, oci_text_builder *builder, oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    int64_t n = oci_arg_int64(call, 1, i);
    const uint8_t *end = n >= 0 ? oci_skip_characters(text.at, text.at + text.length, n)
                                : back_characters(text, n == INT64_MIN ? INT64_MAX : -n);
    return append(builder, text.at, end, err);
}

static oc_status right_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                           oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    int64_t n = oci_arg_int64(call, 1, i);
    const uint8_t *end = text.at + text.length;
    const uint8_t *start = n >= 0
                               ? back_characters(text, n)
                               : oci_skip_characters(text.at, end, n == INT64_MIN ? INT64_MAX : -n);
    return append(builder, start, end, err);
}

static oc_status left(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, left_row, false, out, err);
}

static oc_status right(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, right_row, false, out, err);
}

/* ---- trimming -------------------------------------------------------------------------------- */

static bool is_in_set(oci_span set, const uint8_t *at, int64_t size)
{
    const uint8_t *end = set.at + set.length;
    for (const uint8_t *c = set.at; c < end;) {
        int64_t step = oci_character_bytes(c, end - c);
        if (step == size && memcmp(c, at, (size_t)size) == 0) {
            return true;
        }
        c += step;
    }
    return false;
}

static oc_status trim_row(const oci_call *call, int64_t i, bool at_left, bool at_right,
                          oci_text_builder *builder, oc_error *err)
{
    static const uint8_t blank[] = " ";
    oci_span text = oci_arg_text(call, 0, i);
    oci_span set = call->n_args == 2 ? oci_arg_text(call, 1, i) : (oci_span){blank, 1};
    const uint8_t *start = text.at;
    const uint8_t *end = text.at + text.length;
    while (at_left && start < end) {
        int64_t size = oci_character_bytes(start, end - start);
        if (!is_in_set(set, start, size)) {
            break;
        }
        start += size;
    }
    while (at_right && start < end) {
        const uint8_t *last = oci_previous_character(start, end);
        if (!is_in_set(set, last, end - last)) {
            break;
        }
        end = last;
    }
    return append(builder, start, end, err);
}

static oc_status btrim_row(const oci_call *call, int64_t i, oci_text_builder *b, oc_error *err)
{
    return trim_row(call, i, true, true, b, err);
}

static oc_status ltrim_row(const oci_call *call, int64_t i, oci_text_builder *b, oc_error *err)
{
    return trim_row(call, i, true, false, b, err);
}

static oc_status rtrim_row(const oci_call *call, int64_t i, oci_text_builder *b, oc_error *err)
{
    return trim_row(call, i, false, true, b, err);
}

static oc_status btrim(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, btrim_row, false, out, err);
}

static oc_status ltrim(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, ltrim_row, false, out, err);
}

static oc_status rtrim(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, rtrim_row, false, out, err);
}

/* ---- searching ------------------------------------------------------------------------------- */

static oc_status position_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    oci_span text = oci_arg_text(call, 0, i);
    const uint8_t *found = oci_find(text, oci_arg_text(call, 1, i));
    *out = found == NULL ? 0 : oci_count_characters(text.at, found - text.at) + 1;
    return OC_OK;
}

static oc_status position(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, position_row, out, err);
}

static oc_status contains_row(const oci_call *call, int64_t i, bool *out, oc_error *err)
{
    (void)err;
    *out = oci_find(oci_arg_text(call, 0, i), oci_arg_text(call, 1, i)) != NULL;
    return OC_OK;
}

static oc_status starts_row(const oci_call *call, int64_t i, bool *out, oc_error *err)
{
    (void)err;
    oci_span text = oci_arg_text(call, 0, i);
    oci_span part = oci_arg_text(call, 1, i);
    *out = part.length <= text.length && oci_span_equal((oci_span){text.at, part.length}, part);
    return OC_OK;
}

static oc_status ends_row(const oci_call *call, int64_t i, bool *out, oc_error *err)
{
    (void)err;
    oci_span text = oci_arg_text(call, 0, i);
    oci_span part = oci_arg_text(call, 1, i);
    *out = part.length <= text.length &&
           oci_span_equal((oci_span){text.at + text.length - part.length, part.length}, part);
    return OC_OK;
}

static oc_status contains(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_bool(call, contains_row, out, err);
}

static oc_status starts_with(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_bool(call, starts_row, out, err);
}

static oc_status ends_with(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_bool(call, ends_row, out, err);
}

/* ---- split_part, overlay --------------------------------------------------------------------- */

static int64_t count_parts(oci_span text, oci_span delimiter)
{
    int64_t n = 1;
    const uint8_t *end = text.at + text.length;
    for (;;) {
        const uint8_t *found = oci_find(text, delimiter);
        if (found == NULL) {
            return n;
        }
        n++;
        text.at = found + delimiter.length;
        text.length = end - text.at;
    }
}

static oc_status split_part_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                                oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    oci_span delimiter = oci_arg_text(call, 1, i);
    int64_t n = oci_arg_int64(call, 2, i);
    const uint8_t *end = text.at + text.length;
    if (n == 0) {
        OC_FAIL(err, OC_EINVAL,
                "split_part: the number of the part must not be zero; parts are "
                "counted from 1, or from -1 at the end");
    }
    if (delimiter.length == 0) {
        return oci_text_builder_append(builder, text.at, n == 1 || n == -1 ? text.length : 0, err);
    }
    if (n < 0) {
        n += count_parts(text, delimiter) + 1;
    }
    for (; n > 1; n--) {
        const uint8_t *found = oci_find(text, delimiter);
        if (found == NULL) {
            break;
        }
        text.at = found + delimiter.length;
        text.length = end - text.at;
    }
    if (n != 1) {
        return oci_text_builder_append(builder, NULL, 0, err);
    }
    const uint8_t *found = oci_find(text, delimiter);
    return append(builder, text.at, found == NULL ? end : found, err);
}

static oc_status split_part(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, split_part_row, false, out, err);
}

/* overlay(text, with, from [, count]) */
static oc_status overlay_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    oci_span with = oci_arg_text(call, 1, i);
    int64_t from = oci_arg_int64(call, 2, i);
    int64_t count = call->n_args == 4 ? oci_arg_int64(call, 3, i)
                                      : oci_count_characters(with.at, with.length);
    int64_t behind;
    if (from < 1 || !oci_add64(from, count, &behind)) {
        OC_FAIL(err, OC_EINVAL, "overlay: the start must be 1 or more and the length reasonable");
    }
    const uint8_t *end = text.at + text.length;
    const uint8_t *head = oci_skip_characters(text.at, end, from - 1);
    const uint8_t *tail = oci_skip_characters(text.at, end, behind - 1);
    uint8_t *to;
    int64_t bytes = (head - text.at) + with.length + (end - tail);
    OC_TRY(oci_text_builder_room(builder, bytes, &to, err));
    memcpy(to, text.at, (size_t)(head - text.at));
    memcpy(to + (head - text.at), with.at, (size_t)with.length);
    memcpy(to + (head - text.at) + with.length, tail, (size_t)(end - tail));
    oci_text_builder_commit(builder, bytes);
    return OC_OK;
}

static oc_status overlay(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, overlay_row, false, out, err);
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Fills `bytes` behind `to` with copies of the fill, up to `n` characters; returns the end. */
static uint8_t *put_fill(uint8_t *to, oci_span fill, int64_t n)
{
    const uint8_t *end = fill.at + fill.length;
    const uint8_t *at = fill.at;
    for (; n > 0; n--) {
        int64_t size = oci_character_bytes(at, end - at);
        memcpy(to, at, (size_t)size);
        to += size;
        at = at + size < end ? at + size : fill.at;
    }
    return to;
}

static oc_status pad(const oci_call *call, int64_t i, bool at_left, oci_text_builder *builder,
                     oc_error *err)
{
    static const uint8_t blank[] = " ";
    oci_span text = oci_arg_text(call, 0, i);
    int64_t wanted = oci_max64(0, oci_arg_int64(call, 1, i));
    oci_span fill = call->n_args == 3 ? oci_arg_text(call, 2, i) : (oci_span){blank, 1};
    int64_t have = oci_count_characters(text.at, text.length);
    if (have >= wanted || fill.length == 0) {
        return append(builder, text.at, oci_skip_characters(text.at, text.at + text.length, wanted),
                      err);
    }
    int64_t missing = wanted - have;
    int64_t widest = oci_is_ascii(fill.at, fill.length) ? 1 : 4;
    if (missing > INT32_MAX / widest) {
        OC_FAIL(err, OC_EINVAL, "%s: a text of %" PRId64 " characters is too long",
                at_left ? "lpad" : "rpad", wanted);
    }
    uint8_t *start;
    OC_TRY(oci_text_builder_room(builder, text.length + missing * widest, &start, err));
    uint8_t *to = at_left ? put_fill(start, fill, missing) : start;
    memcpy(to, text.at, (size_t)text.length);
    to += text.length;
    to = at_left ? to : put_fill(to, fill, missing);
    oci_text_builder_commit(builder, to - start);
    return OC_OK;
}

static oc_status lpad_row(const oci_call *call, int64_t i, oci_text_builder *b, oc_error *err)
{
    return pad(call, i, true, b, err);
}

static oc_status rpad_row(const oci_call *call, int64_t i, oci_text_builder *b, oc_error *err)
{
    return pad(call, i, false, b, err);
}

static oc_status lpad(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, lpad_row, false, out, err);
}

static oc_status rpad(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_text(call, rpad_row, false, out, err);
}

#define LENGTH_HELP "length(text) -> integer, in characters; of bytes in bytes"
#define SUBSTR_HELP "substr(text, from [, count]) -> text"

const oci_function oci_functions_text[] = {
    OCI_STRICT("length", 1, 1, bind_length, length, LENGTH_HELP),
    OCI_STRICT("length", 1, 1, bind_bytes_length, octet_length, NULL),
    OCI_STRICT("len", 1, 1, bind_length, length, "len(text) -> integer"),
    OCI_STRICT("char_length", 1, 1, bind_length, length, "char_length(text) -> integer"),
    OCI_STRICT("character_length", 1, 1, bind_length, length, "character_length(text) -> integer"),
    OCI_STRICT("octet_length", 1, 1, bind_length, octet_length, "octet_length(text) -> integer"),
    OCI_STRICT("octet_length", 1, 1, bind_bytes_length, octet_length, NULL),
    OCI_STRICT("strlen", 1, 1, bind_length, octet_length, "strlen(text) -> integer, in bytes"),
    OCI_STRICT("bit_length", 1, 1, bind_length, bit_length, "bit_length(text) -> integer"),
    OCI_STRICT("bit_length", 1, 1, bind_bytes_length, bit_length, NULL),
    OCI_STRICT("lower", 1, 1, bind_text, lower, "lower(text) -> text"),
    OCI_STRICT("lcase", 1, 1, bind_text, lower, "lcase(text) -> text"),
    OCI_STRICT("upper", 1, 1, bind_text, upper, "upper(text) -> text"),
    OCI_STRICT("ucase", 1, 1, bind_text, upper, "ucase(text) -> text"),
    OCI_STRICT("substr", 2, 3, bind_substr, substr, SUBSTR_HELP),
    OCI_STRICT("substring", 2, 3, bind_substr, substr, "substring(text, from [, count]) -> text"),
    OCI_STRICT("left", 2, 2, bind_text_int, left, "left(text, count) -> text"),
    OCI_STRICT("right", 2, 2, bind_text_int, right, "right(text, count) -> text"),
    OCI_STRICT("btrim", 1, 2, bind_text, btrim, "btrim(text [, characters]) -> text"),
    OCI_STRICT("trim", 1, 2, bind_text, btrim, "trim(text [, characters]) -> text"),
    OCI_STRICT("ltrim", 1, 2, bind_text, ltrim, "ltrim(text [, characters]) -> text"),
    OCI_STRICT("rtrim", 1, 2, bind_text, rtrim, "rtrim(text [, characters]) -> text"),
    OCI_STRICT("strpos", 2, 2, bind_position, position, "strpos(text, part) -> integer, 0 = none"),
    OCI_STRICT("position", 2, 2, bind_position, position, "position(part in text) -> integer"),
    OCI_STRICT("instr", 2, 2, bind_position, position, "instr(text, part) -> integer"),
    OCI_STRICT("contains", 2, 2, bind_test, contains, "contains(text, part) -> boolean"),
    OCI_STRICT("starts_with", 2, 2, bind_test, starts_with, "starts_with(text, part) -> boolean"),
    OCI_STRICT("^@", 2, 2, bind_test, starts_with, "text ^@ part -> boolean"),
    OCI_STRICT("ends_with", 2, 2, bind_test, ends_with, "ends_with(text, part) -> boolean"),
    OCI_STRICT("split_part", 3, 3, bind_split, split_part,
               "split_part(text, delimiter, number) -> text"),
    OCI_STRICT("overlay", 3, 4, bind_overlay, overlay,
               "overlay(text, with, from [, count]) -> text"),
    OCI_STRICT("lpad", 2, 3, bind_text_int_text, lpad, "lpad(text, length [, fill]) -> text"),
    OCI_STRICT("rpad", 2, 3, bind_text_int_text, rpad, "rpad(text, length [, fill]) -> text"),
    {.name = NULL},
};
