/* Texts put together or rewritten: ||, concat, replace, repeat, translate, encode and their kin. */
#include <stdio.h>

#include "expr/cast.h"
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/utf8_text.h"
#include "formats/utf8.h"

OCI_BIND(bind_text, "t", OCI_TYPE_UTF8)
OCI_BIND(bind_repeat, "ti", OCI_TYPE_UTF8)
OCI_BIND(bind_to_int, "t", OCI_TYPE_INT32)
OCI_BIND(bind_from_int, "i", OCI_TYPE_UTF8)
OCI_BIND(bind_encode, "yt", OCI_TYPE_UTF8)
OCI_BIND(bind_decode, "tt", OCI_TYPE_BINARY)
OCI_BIND(bind_bytes, "y", OCI_TYPE_BINARY)

/* ---- || and concat: any values, as texts ----------------------------------------------------- */

/* Values of any type as texts: what has one already is used where it lies. */
typedef struct texts {
    oci_vector made[OCI_FUNCTION_ARGS_MAX];
    const oci_vector *of[OCI_FUNCTION_ARGS_MAX];
} texts;

static void deinit_texts(const oci_call *call, texts *t)
{
    for (int32_t a = 0; a < call->n_args; a++) {
        oci_vector_deinit(&t->made[a]);
    }
    oci_mem_free(call->mem, t, (int64_t)sizeof *t);
}

static oc_status make_texts(const oci_call *call, texts **out, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(call->mem, (int64_t)sizeof(texts), &block, err));
    texts *t = block;
    memset(t, 0, sizeof *t);
    for (int32_t a = 0; a < call->n_args; a++) {
        const oci_vector *arg = &call->args[a];
        t->of[a] = arg;
        if (oci_type_is_text(arg->column.field->type) || arg->column.field->type == OCI_TYPE_NULL) {
            continue;
        }
        oc_status status = oci_cast_vector(arg, arg->column.length, call->result, false, call->mem,
                                           &t->made[a], err);
        if (status != OC_OK) {
            deinit_texts(call, t);
            return status;
        }
        t->made[a].is_constant = arg->is_constant;
        t->of[a] = &t->made[a];
    }
    *out = t;
    return OC_OK;
}

/* Appends one value of all texts that are not null, with a separator between them. */
static oc_status join_row(const oci_call *call, const texts *t, int32_t first, oci_span separator,
                          int64_t i, oci_text_builder *builder, oc_error *err)
{
    int64_t total = 0;
    for (int32_t a = first; a < call->n_args; a++) {
        if (!oci_arg_is_null(call, a, i)) {
            total += oci_text_at(t->of[a], i).length + separator.length;
        }
    }
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, total, &to, err));
    int64_t used = 0;
    bool any = false;
    for (int32_t a = first; a < call->n_args; a++) {
        if (oci_arg_is_null(call, a, i)) {
            continue;
        }
        if (any) {
            memcpy(to + used, separator.at, (size_t)separator.length);
            used += separator.length;
        }
        oci_span text = oci_text_at(t->of[a], i);
        memcpy(to + used, text.at, (size_t)text.length);
        used += text.length;
        any = true;
    }
    oci_text_builder_commit(builder, used);
    return OC_OK;
}

static oc_status join(const oci_call *call, bool has_separator, oci_vector *out, oc_error *err)
{
    static const uint8_t nothing[] = "";
    texts *t;
    oci_text_builder builder;
    OC_TRY(make_texts(call, &t, err));
    oc_status status = oci_text_builder_init(&builder, call->result, call->n, call->mem, err);
    if (status != OC_OK) {
        deinit_texts(call, t);
        return status;
    }
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        bool is_null = has_separator && oci_arg_is_null(call, 0, i);
        oci_span separator = {nothing, 0};
        if (has_separator && !is_null) {
            separator = oci_text_at(t->of[0], i);
        }
        status = is_null ? oci_text_builder_append_null(&builder, err)
                         : join_row(call, t, has_separator ? 1 : 0, separator, i, &builder, err);
    }
    deinit_texts(call, t);
    if (status != OC_OK) {
        oci_text_builder_deinit(&builder);
        return status;
    }
    return oci_text_builder_finish(&builder, out, err);
}

static oc_status concat(const oci_call *call, oci_vector *out, oc_error *err)
{
    return join(call, false, out, err);
}

static oc_status concat_ws(const oci_call *call, oci_vector *out, oc_error *err)
{
    return join(call, true, out, err);
}

static bool has_text(const oci_field *type)
{
    return oci_field_layout(type) <= OCI_LAYOUT_VIEWS;
}

static bool bind_concat(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    for (int32_t i = 0; i < s->n_args; i++) {
        if (!has_text(&s->args[i]) || s->n_args > OCI_FUNCTION_ARGS_MAX) {
            return false;
        }
    }
    s->result = oci_expr_type(OCI_TYPE_UTF8);
    return true;
}

static bool bind_concat_ws(oci_signature *s, bool *failed, oc_error *err)
{
    bool separates = oci_type_is_text(s->args[0].type) || s->args[0].type == OCI_TYPE_NULL;
    return separates && bind_concat(s, failed, err);
}

/* At least one side is a text, as in PostgreSQL. */
static bool bind_append(oci_signature *s, bool *failed, oc_error *err)
{
    bool any = false;
    for (int32_t i = 0; i < 2; i++) {
        any = any || oci_type_is_text(s->args[i].type) || s->args[i].type == OCI_TYPE_NULL;
    }
    return any && bind_concat(s, failed, err);
}

static oc_status append_bytes_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                                  oc_error *err)
{
    oci_span a = oci_arg_text(call, 0, i);
    oci_span b = oci_arg_text(call, 1, i);
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, a.length + b.length, &to, err));
    memcpy(to, a.at, (size_t)a.length);
    memcpy(to + a.length, b.at, (size_t)b.length);
    oci_text_builder_commit(builder, a.length + b.length);
    return OC_OK;
}

/* ---- replace, translate, repeat, reverse ----------------------------------------------------- */

static oc_status replace_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    oci_span from = oci_arg_text(call, 1, i);
    oci_span to = oci_arg_text(call, 2, i);
    const uint8_t *end = text.at + text.length;
    oci_growing_text g = {.builder = builder};
    while (from.length > 0) {
        const uint8_t *found = oci_find(text, from);
        if (found == NULL) {
            break;
        }
        OC_TRY(oci_growing_put(&g, text.at, found - text.at, err));
        OC_TRY(oci_growing_put(&g, to.at, to.length, err));
        text.at = found + from.length;
        text.length = end - text.at;
    }
    OC_TRY(oci_growing_put(&g, text.at, text.length, err));
    oci_text_builder_commit(builder, g.used);
    return OC_OK;
}

/* translate(text, from, to): each character of `from` becomes that of `to` at its place, or goes. */
static oc_status translate_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                               oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    oci_span from = oci_arg_text(call, 1, i);
    oci_span to = oci_arg_text(call, 2, i);
    const uint8_t *end = text.at + text.length;
    const uint8_t *to_end = to.at + to.length;
    oci_growing_text g = {.builder = builder};
    for (const uint8_t *at = text.at; at < end;) {
        int64_t size = oci_character_bytes(at, end - at);
        const uint8_t *from_end = from.at + from.length;
        int64_t index = 0;
        bool found = false;
        for (const uint8_t *f = from.at; f < from_end && !found; index += !found) {
            int64_t step = oci_character_bytes(f, from_end - f);
            found = step == size && memcmp(f, at, (size_t)size) == 0;
            f += step;
        }
        if (!found) {
            OC_TRY(oci_growing_put(&g, at, size, err));
        } else {
            const uint8_t *with = oci_skip_characters(to.at, to_end, index);
            if (with < to_end) {
                OC_TRY(oci_growing_put(&g, with, oci_character_bytes(with, to_end - with), err));
            }
        }
        at += size;
    }
    oci_text_builder_commit(builder, g.used);
    return OC_OK;
}

static oc_status repeat_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    int64_t count = oci_max64(0, oci_arg_int64(call, 1, i));
    int64_t total;
    if (!oci_mul64(text.length, count, &total) || total > INT32_MAX) {
        OC_FAIL(err, OC_EINVAL, "repeat: the result would be longer than 2 GiB");
    }
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, total, &to, err));
    if (text.length == 1) {
        memset(to, text.at[0], (size_t)total);
    } else {
        for (int64_t k = 0; k < total; k += text.length) {
            memcpy(to + k, text.at, (size_t)text.length);
        }
    }
    oci_text_builder_commit(builder, total);
    return OC_OK;
}

static oc_status reverse_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    const uint8_t *end = text.at + text.length;
    uint8_t *start;
    OC_TRY(oci_text_builder_room(builder, text.length, &start, err));
    uint8_t *to = start + text.length;
    for (const uint8_t *at = text.at; at < end;) {
        int64_t size = oci_character_bytes(at, end - at);
        to -= size;
        memcpy(to, at, (size_t)size);
        at += size;
    }
    oci_text_builder_commit(builder, text.length);
    return OC_OK;
}

/* The first letter of each word upper, the others lower case. */
static oc_status initcap_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                             oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    const uint8_t *end = text.at + text.length;
    bool in_word = false;
    uint8_t *start;
    OC_TRY(oci_text_builder_room(builder, oci_case_room(text.length), &start, err));
    uint8_t *to = start;
    for (const uint8_t *at = text.at; at < end;) {
        uint32_t code;
        int size = oci_utf8_decode(at, end - at, &code);
        if (size == 0) {
            *to++ = *at++;
            continue;
        }
        to += oci_put_character(in_word ? oci_to_lower(code) : oci_to_upper(code), to);
        in_word = oci_is_letter_or_digit(code);
        at += size;
    }
    oci_text_builder_commit(builder, to - start);
    return OC_OK;
}

/* ---- characters and numbers ------------------------------------------------------------------ */

static oc_status ascii_row(const oci_call *call, int64_t i, int64_t *out, oc_error *err)
{
    (void)err;
    oci_span text = oci_arg_text(call, 0, i);
    uint32_t code = 0;
    if (text.length > 0 && oci_utf8_decode(text.at, text.length, &code) == 0) {
        code = text.at[0];
    }
    *out = code;
    return OC_OK;
}

static oc_status ascii(const oci_call *call, oci_vector *out, oc_error *err)
{
    return oci_each_int(call, ascii_row, out, err);
}

static oc_status chr_row(const oci_call *call, int64_t i, oci_text_builder *builder, oc_error *err)
{
    int64_t code = oci_arg_int64(call, 0, i);
    if (code < 1 || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
        OC_FAIL(err, OC_EINVAL, "chr: %" PRId64 " is not the code of a character", code);
    }
    uint8_t *to;
    OC_TRY(oci_text_builder_room(builder, 4, &to, err));
    oci_text_builder_commit(builder, oci_put_character((uint32_t)code, to));
    return OC_OK;
}

static oc_status to_hex_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    char text[20];
    int length = snprintf(text, sizeof text, "%" PRIx64, (uint64_t)oci_arg_int64(call, 0, i));
    return oci_text_builder_append(builder, (const uint8_t *)text, length, err);
}

/* ---- quoting --------------------------------------------------------------------------------- */

static oc_status quote(oci_span text, uint8_t mark, oci_text_builder *builder, oc_error *err)
{
    uint8_t *start;
    OC_TRY(oci_text_builder_room(builder, 2 * text.length + 2, &start, err));
    uint8_t *to = start;
    *to++ = mark;
    for (int64_t k = 0; k < text.length; k++) {
        if (text.at[k] == mark) {
            *to++ = mark;
        }
        *to++ = text.at[k];
    }
    *to++ = mark;
    oci_text_builder_commit(builder, to - start);
    return OC_OK;
}

static oc_status quote_literal_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                                   oc_error *err)
{
    return quote(oci_arg_text(call, 0, i), '\'', builder, err);
}

/* Names in lower case stay as they are. */
static oc_status quote_ident_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                                 oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    bool plain = text.length > 0 && !(text.at[0] >= '0' && text.at[0] <= '9');
    for (int64_t k = 0; k < text.length; k++) {
        uint8_t c = text.at[k];
        plain = plain && (c == '_' || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'));
    }
    return plain ? oci_text_builder_append(builder, text.at, text.length, err)
                 : quote(text, '"', builder, err);
}

/* ---- encode, decode -------------------------------------------------------------------------- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static bool is_named(oci_span text, const char *name)
{
    return oci_span_equal(text, (oci_span){(const uint8_t *)name, (int64_t)strlen(name)});
}

static int64_t put_hex(oci_span bytes, uint8_t *to)
{
    static const char digits[] = "0123456789abcdef";
    for (int64_t k = 0; k < bytes.length; k++) {
        to[2 * k] = (uint8_t)digits[bytes.at[k] >> 4];
        to[2 * k + 1] = (uint8_t)digits[bytes.at[k] & 15];
    }
    return 2 * bytes.length;
}

static int64_t put_base64(oci_span bytes, uint8_t *to)
{
    uint8_t *start = to;
    for (int64_t k = 0; k < bytes.length; k += 3) {
        int64_t left = bytes.length - k;
        uint32_t word = (uint32_t)bytes.at[k] << 16;
        word |= left > 1 ? (uint32_t)bytes.at[k + 1] << 8 : 0;
        word |= left > 2 ? bytes.at[k + 2] : 0;
        *to++ = (uint8_t)base64_digits[word >> 18];
        *to++ = (uint8_t)base64_digits[word >> 12 & 63];
        *to++ = (uint8_t)(left > 1 ? base64_digits[word >> 6 & 63] : '=');
        *to++ = (uint8_t)(left > 2 ? base64_digits[word & 63] : '=');
    }
    return to - start;
}

static oc_status unknown_encoding(const char *function, oci_span name, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "%s: there is no encoding \"%.*s\"; there are hex and base64", function,
            (int)oci_min64(name.length, 40), (const char *)name.at);
}

static oc_status encode_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    oci_span bytes = oci_arg_text(call, 0, i);
    oci_span name = oci_arg_text(call, 1, i);
    bool is_hex = is_named(name, "hex");
    uint8_t *to;
    if (!is_hex && !is_named(name, "base64")) {
        return unknown_encoding("encode", name, err);
    }
    OC_TRY(oci_text_builder_room(builder, 2 * bytes.length + 4, &to, err));
    oci_text_builder_commit(builder, is_hex ? put_hex(bytes, to) : put_base64(bytes, to));
    return OC_OK;
}

static int hex_digit(uint8_t c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 87 : -1;
}

/* Bytes written, -1 when it is no such text. */
static int64_t get_hex(oci_span text, uint8_t *to)
{
    for (int64_t k = 0; k + 1 < text.length; k += 2) {
        int high = hex_digit(text.at[k]);
        int low = hex_digit(text.at[k + 1]);
        if (high < 0 || low < 0) {
            return -1;
        }
        to[k / 2] = (uint8_t)(high << 4 | low);
    }
    return text.length % 2 == 0 ? text.length / 2 : -1;
}

static int64_t get_base64(oci_span text, uint8_t *to)
{
    uint32_t word = 0;
    int n = 0;
    int padding = 0;
    uint8_t *start = to;
    for (int64_t k = 0; k < text.length; k++) {
        uint8_t c = text.at[k];
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') {
            continue;
        }
        const char *digit = c == 0 ? NULL : strchr(base64_digits, c);
        if ((digit == NULL && c != '=') || (padding > 0 && c != '=')) {
            return -1;
        }
        padding += c == '=';
        word = word << 6 | (digit == NULL ? 0 : (uint32_t)(digit - base64_digits));
        if (++n == 4) {
            *to++ = (uint8_t)(word >> 16);
            *to++ = (uint8_t)(word >> 8);
            *to++ = (uint8_t)word;
            word = 0;
            n = 0;
        }
    }
    return n != 0 || padding > 2 || padding > to - start ? -1 : to - start - padding;
}

static oc_status decode_row(const oci_call *call, int64_t i, oci_text_builder *builder,
                            oc_error *err)
{
    oci_span text = oci_arg_text(call, 0, i);
    oci_span name = oci_arg_text(call, 1, i);
    bool is_hex = is_named(name, "hex");
    uint8_t *to;
    if (!is_hex && !is_named(name, "base64")) {
        return unknown_encoding("decode", name, err);
    }
    OC_TRY(oci_text_builder_room(builder, text.length + 4, &to, err));
    int64_t length = is_hex ? get_hex(text, to) : get_base64(text, to);
    if (length < 0) {
        OC_FAIL(err, OC_EINVAL, "decode: \"%.*s\" is not %s", (int)oci_min64(text.length, 40),
                (const char *)text.at, is_hex ? "a text of pairs of hex digits" : "base64");
    }
    oci_text_builder_commit(builder, length);
    return OC_OK;
}

#define TEXT_KERNEL(name)                                                       \
    static oc_status name(const oci_call *call, oci_vector *out, oc_error *err) \
    {                                                                           \
        return oci_each_text(call, name##_row, false, out, err);                \
    }

TEXT_KERNEL(append_bytes)
TEXT_KERNEL(replace)
TEXT_KERNEL(translate)
TEXT_KERNEL(repeat)
TEXT_KERNEL(reverse)
TEXT_KERNEL(initcap)
TEXT_KERNEL(chr)
TEXT_KERNEL(to_hex)
TEXT_KERNEL(quote_literal)
TEXT_KERNEL(quote_ident)
TEXT_KERNEL(encode)
TEXT_KERNEL(decode)

const oci_function oci_functions_join[] = {
    OCI_STRICT("||", 2, 2, bind_append, concat, "text || anything -> text"),
    OCI_STRICT("||", 2, 2, bind_bytes, append_bytes, "binary || binary"),
    {.name = "concat",
     .args_min = 1,
     .args_max = OCI_FUNCTION_ARGS_MAX,
     .bind = bind_concat,
     .kernel = concat,
     .help = "concat(anything, ...) -> text, nulls count as empty"},
    {.name = "concat_ws",
     .args_min = 1,
     .args_max = OCI_FUNCTION_ARGS_MAX,
     .bind = bind_concat_ws,
     .kernel = concat_ws,
     .help = "concat_ws(separator, anything, ...) -> text"},
    OCI_STRICT("replace", 3, 3, bind_text, replace, "replace(text, from, to) -> text"),
    OCI_STRICT("translate", 3, 3, bind_text, translate, "translate(text, from, to) -> text"),
    OCI_STRICT("repeat", 2, 2, bind_repeat, repeat, "repeat(text, count) -> text"),
    OCI_STRICT("reverse", 1, 1, bind_text, reverse, "reverse(text) -> text"),
    OCI_STRICT("initcap", 1, 1, bind_text, initcap, "initcap(text) -> text"),
    OCI_STRICT("ascii", 1, 1, bind_to_int, ascii, "ascii(text) -> integer, of its first character"),
    OCI_STRICT("unicode", 1, 1, bind_to_int, ascii, "unicode(text) -> integer"),
    OCI_STRICT("chr", 1, 1, bind_from_int, chr, "chr(code) -> text"),
    OCI_STRICT("to_hex", 1, 1, bind_from_int, to_hex, "to_hex(integer) -> text"),
    OCI_STRICT("quote_literal", 1, 1, bind_text, quote_literal, "quote_literal(text) -> text"),
    OCI_STRICT("quote_ident", 1, 1, bind_text, quote_ident, "quote_ident(text) -> text"),
    OCI_STRICT("encode", 2, 2, bind_encode, encode, "encode(binary, 'hex' or 'base64') -> text"),
    OCI_STRICT("decode", 2, 2, bind_decode, decode, "decode(text, 'hex' or 'base64') -> binary"),
    {.name = NULL},
};
