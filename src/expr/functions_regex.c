/* ~ ~* !~ !~*, regexp_like, regexp_replace, regexp_substr, regexp_count, regexp_instr. See regex.h.
 *
 * Constant patterns are compiled when the call is made, into what is malloc'ed with the statement.
 * The flags must be constant. */
#include <stdlib.h>

#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/regex.h"
#include "expr/utf8_text.h"

/* What a call carries, malloc'ed with the statement. */
typedef struct regex_plan {
    oci_regex *regex; /* NULL: the pattern differs from row to row */
    int flags;
} regex_plan;

/* ---- binding --------------------------------------------------------------------------------- */

static void free_plan(void *data)
{
    regex_plan *plan = data;
    oci_regex_free(plan->regex);
    free(plan);
}

static bool stop(regex_plan *plan, bool *failed)
{
    free_plan(plan);
    *failed = true;
    return false;
}

/* `flags_at`: the argument with flags, if the call has so many. */
static bool bind_regex(oci_signature *s, const char *shape, oci_type result, int32_t flags_at,
                       int flags, bool *failed, oc_error *err)
{
    if (!oci_bind_shape(s, shape, result)) {
        return false;
    }
    regex_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        OC_SET(err, OC_ENOMEM, "could not compile a regular expression: out of memory");
        *failed = true;
        return false;
    }
    oci_span text;
    if (flags_at < s->n_args) {
        if (!oci_constant_text(s, flags_at, &text.at, &text.length)) {
            OC_SET(err, OC_EINVAL, "the flags of a regular expression must be a constant text");
            return stop(plan, failed);
        }
        if (oci_regex_flags_parse(text.at, text.length, &plan->flags, err) != OC_OK) {
            return stop(plan, failed);
        }
    }
    plan->flags |= flags;
    if (oci_constant_text(s, 1, &text.at, &text.length) &&
        oci_regex_compile(text.at, text.length, plan->flags, &plan->regex, err) != OC_OK) {
        return stop(plan, failed);
    }
    s->data = plan;
    s->free_data = free_plan;
    return true;
}

#define BIND_REGEX(name, shape, result, flags_at, flags)                           \
    static bool name(oci_signature *s, bool *failed, oc_error *err)                \
    {                                                                              \
        return bind_regex(s, (shape), (result), (flags_at), (flags), failed, err); \
    }

BIND_REGEX(bind_like, "ttt", OCI_TYPE_BOOL, 2, 0)
BIND_REGEX(bind_like_folded, "ttt", OCI_TYPE_BOOL, 2, OCI_REGEX_IGNORE_CASE)
BIND_REGEX(bind_replace, "tttt", OCI_TYPE_UTF8, 3, 0)
BIND_REGEX(bind_substr, "ttiit", OCI_TYPE_UTF8, 4, 0)
BIND_REGEX(bind_group, "tti", OCI_TYPE_UTF8, 3, 0)
BIND_REGEX(bind_count, "ttit", OCI_TYPE_INT32, 3, 0)
BIND_REGEX(bind_pattern_only, "tt", OCI_TYPE_UTF8, 2, 0)

/* ---- rows ------------------------------------------------------------------------------------ */

typedef struct regex_work {
    const oci_call *call;
    int flags;
    oci_matcher *matcher;
    oci_regex *made; /* of the pattern of an earlier row */
    oci_span pattern;
    int64_t places[2 * OCI_REGEX_GROUPS_MAX];
    int32_t n_groups;
} regex_work;

static oc_status begin(regex_work *work, const oci_call *call, oc_error *err)
{
    work->call = call;
    work->flags = ((const regex_plan *)call->data)->flags;
    work->made = NULL;
    work->matcher = NULL;
    return oci_matcher_create(&work->matcher, err);
}

static void end(regex_work *work)
{
    oci_matcher_free(work->matcher);
    oci_regex_free(work->made);
}

static oc_status regex_of(regex_work *work, int64_t i, const oci_regex **out, oc_error *err)
{
    const regex_plan *plan = work->call->data;
    if (plan->regex != NULL) {
        *out = plan->regex;
        return OC_OK;
    }
    oci_span pattern = oci_arg_text(work->call, 1, i);
    if (work->made == NULL || !oci_span_equal(pattern, work->pattern)) {
        oci_regex_free(work->made);
        work->made = NULL;
        OC_TRY(oci_regex_compile(pattern.at, pattern.length, work->flags, &work->made, err));
        work->pattern = pattern;
    }
    *out = work->made;
    return OC_OK;
}

/* The next match at or behind byte `from`; work->n_groups 0 = none. */
static oc_status next_match(regex_work *work, const oci_regex *regex, oci_span text, int64_t from,
                            bool not_empty, oc_error *err)
{
    return oci_regex_match(regex, work->matcher, text.at, text.length, from, not_empty,
                           &work->n_groups, work->places, err);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static oc_status test_rows(regex_work *work, bool wanted, uint8_t *values, oc_error *err)
{
    for (int64_t i = 0; i < work->call->n; i++) {
        if (!oci_args_valid(work->call, i)) {
            continue;
        }
        const oci_regex *regex;
        oci_span text = oci_arg_text(work->call, 0, i);
        int32_t n_groups;
        OC_TRY(regex_of(work, i, &regex, err));
        OC_TRY(oci_regex_match(regex, work->matcher, text.at, text.length, 0, false, &n_groups,
                               NULL, err));
        values[i >> 3] |= (uint8_t)((unsigned)((n_groups > 0) == wanted) << (i & 7));
    }
    return OC_OK;
}

static oc_status test(const oci_call *call, bool wanted, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    regex_work work;
    OC_TRY(begin(&work, call, err));
    oc_status status =
        oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err);
    if (status == OC_OK) {
        status = test_rows(&work, wanted, values, err);
        if (status != OC_OK) {
            oci_vector_deinit(out);
        }
    }
    end(&work);
    return status;
}

static oc_status matches(const oci_call *call, oci_vector *out, oc_error *err)
{
    return test(call, true, out, err);
}

static oc_status matches_not(const oci_call *call, oci_vector *out, oc_error *err)
{
    return test(call, false, out, err);
}

/* ---- texts ----------------------------------------------------------------------------------- */

typedef oc_status regex_row(regex_work *work, const oci_regex *regex, int64_t i,
                            oci_text_builder *builder, oc_error *err);

static oc_status each(const oci_call *call, regex_row *row, oci_vector *out, oc_error *err)
{
    regex_work work;
    oci_text_builder builder;
    OC_TRY(begin(&work, call, err));
    oc_status status = oci_text_builder_init(&builder, call->result, call->n, call->mem, err);
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        const oci_regex *regex;
        if (!oci_args_valid(call, i)) {
            status = oci_text_builder_append(&builder, NULL, 0, err);
            continue;
        }
        status = regex_of(&work, i, &regex, err);
        if (status == OC_OK) {
            status = row(&work, regex, i, &builder, err);
        }
    }
    end(&work);
    if (status != OC_OK) {
        oci_text_builder_deinit(&builder);
        return status;
    }
    return oci_text_builder_finish(&builder, out, err);
}

/* \1 to \9 are groups, \& and \0 the whole match, \\ a backslash. */
static oc_status put_replacement(const regex_work *work, oci_span text, oci_span with,
                                 oci_growing_text *g, oc_error *err)
{
    for (int64_t k = 0; k < with.length; k++) {
        uint8_t c = with.at[k];
        uint8_t next = k + 1 < with.length ? with.at[k + 1] : 0;
        bool is_group = (next >= '0' && next <= '9') || next == '&';
        if (c != '\\' || !(is_group || next == '\\')) {
            OC_TRY(oci_growing_put(g, &with.at[k], 1, err));
            continue;
        }
        k++;
        if (next == '\\') {
            OC_TRY(oci_growing_put(g, &with.at[k], 1, err));
            continue;
        }
        int32_t group = next == '&' ? 0 : next - '0';
        if (group < work->n_groups && work->places[2 * group] >= 0) {
            OC_TRY(oci_growing_put(g, text.at + work->places[2 * group],
                                   work->places[2 * group + 1] - work->places[2 * group], err));
        }
    }
    return OC_OK;
}

static oc_status replace_row(regex_work *work, const oci_regex *regex, int64_t i,
                             oci_text_builder *builder, oc_error *err)
{
    oci_span text = oci_arg_text(work->call, 0, i);
    oci_span with = oci_arg_text(work->call, 2, i);
    oci_growing_text g = {.builder = builder};
    int64_t at = 0;   /* where to look on */
    int64_t done = 0; /* what of the text is in the result */
    while (at <= text.length) {
        OC_TRY(next_match(work, regex, text, at, false, err));
        if (work->n_groups == 0) {
            break;
        }
        int64_t start = work->places[0];
        int64_t behind = work->places[1];
        OC_TRY(oci_growing_put(&g, text.at + done, start - done, err));
        OC_TRY(put_replacement(work, text, with, &g, err));
        done = behind;
        if ((work->flags & OCI_REGEX_GLOBAL) == 0) {
            break;
        }
        at = behind > start ? behind : behind + 1;
        if (behind == start && behind < text.length) {
            at = behind + oci_character_bytes(text.at + behind, text.length - behind);
        }
    }
    OC_TRY(oci_growing_put(&g, text.at + done, text.length - done, err));
    oci_text_builder_commit(builder, g.used);
    return OC_OK;
}

static oc_status regexp_replace(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each(call, replace_row, out, err);
}

/* Byte where the character number `from` (from 1) of a text begins; -1 when it is behind the text. */
static int64_t byte_of(oci_span text, int64_t from)
{
    const uint8_t *end = text.at + text.length;
    int64_t characters = from - 1;
    if (characters > text.length) {
        return -1;
    }
    return oci_skip_characters(text.at, end, characters) - text.at;
}

static oc_status check_start(const char *name, int64_t from, oc_error *err)
{
    if (from < 1) {
        OC_FAIL(err, OC_EINVAL, "%s: the start must be 1 or more, but is %" PRId64, name, from);
    }
    return OC_OK;
}

/* The n-th match from byte `at` on, without overlap. */
static oc_status nth_match(regex_work *work, const oci_regex *regex, oci_span text, int64_t at,
                           int64_t n, oc_error *err)
{
    work->n_groups = 0;
    for (; n > 0 && at >= 0 && at <= text.length; n--) {
        OC_TRY(next_match(work, regex, text, at, false, err));
        if (work->n_groups == 0 || n == 1) {
            return OC_OK;
        }
        bool is_empty = work->places[1] == work->places[0];
        at = work->places[1];
        at += !is_empty          ? 0
              : at < text.length ? oci_character_bytes(text.at + at, text.length - at)
                                 : 1;
        work->n_groups = 0;
    }
    return OC_OK;
}

/* regexp_substr(text, pattern [, start [, number [, flags]]]): null when there is no match. */
static oc_status substr_row(regex_work *work, const oci_regex *regex, int64_t i,
                            oci_text_builder *builder, oc_error *err)
{
    const oci_call *call = work->call;
    oci_span text = oci_arg_text(call, 0, i);
    int64_t from = call->n_args > 2 ? oci_arg_int64(call, 2, i) : 1;
    int64_t n = call->n_args > 3 ? oci_arg_int64(call, 3, i) : 1;
    OC_TRY(check_start("regexp_substr", from, err));
    OC_TRY(check_start("regexp_substr", n, err));
    OC_TRY(nth_match(work, regex, text, byte_of(text, from), n, err));
    if (work->n_groups == 0) {
        return oci_text_builder_append_null(builder, err);
    }
    return oci_text_builder_append(builder, text.at + work->places[0],
                                   work->places[1] - work->places[0], err);
}

static oc_status regexp_substr(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each(call, substr_row, out, err);
}

/* regexp_extract(text, pattern [, group]): an empty text when there is no match. */
static oc_status extract_row(regex_work *work, const oci_regex *regex, int64_t i,
                             oci_text_builder *builder, oc_error *err)
{
    oci_span text = oci_arg_text(work->call, 0, i);
    int64_t group = work->call->n_args > 2 ? oci_arg_int64(work->call, 2, i) : 0;
    OC_TRY(next_match(work, regex, text, 0, false, err));
    bool found = group >= 0 && group < work->n_groups && work->places[2 * group] >= 0;
    const int64_t *place = &work->places[2 * (found ? group : 0)];
    return found ? oci_text_builder_append(builder, text.at + place[0], place[1] - place[0], err)
                 : oci_text_builder_append(builder, NULL, 0, err);
}

static oc_status regexp_extract(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each(call, extract_row, out, err);
}

/* substring(text from pattern): the first group if there is one, else the match; null without. */
static oc_status part_row(regex_work *work, const oci_regex *regex, int64_t i,
                          oci_text_builder *builder, oc_error *err)
{
    oci_span text = oci_arg_text(work->call, 0, i);
    OC_TRY(next_match(work, regex, text, 0, false, err));
    const int64_t *place = &work->places[work->n_groups > 1 ? 2 : 0];
    if (work->n_groups == 0 || place[0] < 0) {
        return oci_text_builder_append_null(builder, err);
    }
    return oci_text_builder_append(builder, text.at + place[0], place[1] - place[0], err);
}

static oc_status substring_pattern(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each(call, part_row, out, err);
}

/* ---- numbers --------------------------------------------------------------------------------- */

static oc_status count_one(regex_work *work, const oci_regex *regex, int64_t i, int64_t *out,
                           oc_error *err)
{
    const oci_call *call = work->call;
    oci_span text = oci_arg_text(call, 0, i);
    int64_t from = call->n_args > 2 ? oci_arg_int64(call, 2, i) : 1;
    OC_TRY(check_start("regexp_count", from, err));
    int64_t at = byte_of(text, from);
    while (at >= 0 && at <= text.length) {
        OC_TRY(nth_match(work, regex, text, at, 1, err));
        if (work->n_groups == 0) {
            break;
        }
        ++*out;
        at = work->places[1];
        if (work->places[0] == at) {
            at += at < text.length ? oci_character_bytes(text.at + at, text.length - at) : 1;
        }
    }
    return OC_OK;
}

/* The place of the first match in characters, 0 = none. */
static oc_status place_one(regex_work *work, const oci_regex *regex, int64_t i, int64_t *out,
                           oc_error *err)
{
    const oci_call *call = work->call;
    oci_span text = oci_arg_text(call, 0, i);
    int64_t from = call->n_args > 2 ? oci_arg_int64(call, 2, i) : 1;
    OC_TRY(check_start("regexp_instr", from, err));
    OC_TRY(nth_match(work, regex, text, byte_of(text, from), 1, err));
    *out = work->n_groups == 0 ? 0 : oci_count_characters(text.at, work->places[0]) + 1;
    return OC_OK;
}

typedef oc_status regex_number(regex_work *work, const oci_regex *regex, int64_t i, int64_t *out,
                               oc_error *err);

static oc_status each_number(const oci_call *call, regex_number *row, oci_vector *out,
                             oc_error *err)
{
    regex_work work;
    uint8_t *values;
    OC_TRY(begin(&work, call, err));
    oc_status status =
        oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err);
    bool made = status == OC_OK;
    for (int64_t i = 0; status == OC_OK && i < call->n; i++) {
        const oci_regex *regex;
        int64_t number = 0;
        if (oci_args_valid(call, i)) {
            status = regex_of(&work, i, &regex, err);
            if (status == OC_OK) {
                status = row(&work, regex, i, &number, err);
            }
        }
        oci_store_le32(values + i * 4, (uint32_t)(int32_t)number);
    }
    end(&work);
    if (made && status != OC_OK) {
        oci_vector_deinit(out);
    }
    return status;
}

static oc_status regexp_count(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each_number(call, count_one, out, err);
}

static oc_status regexp_instr(const oci_call *call, oci_vector *out, oc_error *err)
{
    return each_number(call, place_one, out, err);
}

#define LIKE_HELP "regexp_like(text, pattern [, flags]) -> boolean"

const oci_function oci_functions_regex[] = {
    OCI_STRICT("~", 2, 2, bind_like, matches, "text ~ pattern -> boolean"),
    OCI_STRICT("~*", 2, 2, bind_like_folded, matches, "text ~* pattern -> boolean"),
    OCI_STRICT("!~", 2, 2, bind_like, matches_not, "text !~ pattern -> boolean"),
    OCI_STRICT("!~*", 2, 2, bind_like_folded, matches_not, "text !~* pattern -> boolean"),
    OCI_STRICT("regexp_like", 2, 3, bind_like, matches, LIKE_HELP),
    OCI_STRICT("regexp_matches", 2, 3, bind_like, matches,
               "regexp_matches(text, pattern [, flags]) -> boolean, as in DuckDB"),
    OCI_STRICT("regexp_replace", 3, 4, bind_replace, regexp_replace,
               "regexp_replace(text, pattern, with [, flags]) -> text"),
    OCI_STRICT("regexp_substr", 2, 5, bind_substr, regexp_substr,
               "regexp_substr(text, pattern [, start [, number [, flags]]]) -> text"),
    OCI_STRICT("regexp_extract", 2, 3, bind_group, regexp_extract,
               "regexp_extract(text, pattern [, group]) -> text"),
    OCI_STRICT("regexp_count", 2, 4, bind_count, regexp_count,
               "regexp_count(text, pattern [, start [, flags]]) -> integer"),
    OCI_STRICT("regexp_instr", 2, 4, bind_count, regexp_instr,
               "regexp_instr(text, pattern [, start [, flags]]) -> integer"),
    OCI_STRICT("substring", 2, 2, bind_pattern_only, substring_pattern,
               "substring(text from pattern) -> text"),
    {.name = NULL},
};
