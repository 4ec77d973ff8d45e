/* See regex.h. Handles come from malloc: they grow with the statement, and PCRE2 bounds them. */
#include "expr/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "base/bits.h"

/* Steps of one match: some 100 ms. Heap of a match without JIT in KiB; stack of one with JIT. */
#define MATCH_STEPS_MAX 10000000
#define MATCH_HEAP_KIB  (16 * 1024)
#define STACK_BYTES_MIN ((size_t)32 * 1024)
#define STACK_BYTES_MAX ((size_t)1024 * 1024)
#define PATTERN_MAX     ((int64_t)64 * 1024)

struct oci_regex {
    pcre2_code *code;
};

struct oci_matcher {
    pcre2_match_data *data;
    pcre2_match_context *context;
    pcre2_jit_stack *stack;
};

oc_status oci_regex_flags_parse(const uint8_t *text, int64_t length, int *out, oc_error *err)
{
    *out = 0;
    for (int64_t i = 0; i < length; i++) {
        switch (text[i]) {
        case 'i': *out |= OCI_REGEX_IGNORE_CASE; break;
        case 'c': *out &= ~OCI_REGEX_IGNORE_CASE; break;
        case 'g': *out |= OCI_REGEX_GLOBAL; break;
        case 'n':
        case 'm': *out |= OCI_REGEX_LINES; break;
        case 's': *out &= ~OCI_REGEX_LINES; break;
        case 'x': *out |= OCI_REGEX_EXTENDED; break;
        default:
            OC_FAIL(err, OC_EINVAL,
                    "there is no flag \"%c\" of regular expressions; there are i, c, g, m, n, s, x",
                    text[i] >= ' ' && text[i] < 127 ? text[i] : '?');
        }
    }
    return OC_OK;
}

void oci_regex_free(oci_regex *regex)
{
    if (regex != NULL) {
        pcre2_code_free(regex->code);
        free(regex);
    }
}

oc_status oci_regex_compile(const uint8_t *pattern, int64_t length, int flags, oci_regex **out,
                            oc_error *err)
{
    if (length > PATTERN_MAX) {
        OC_FAIL(err, OC_EINVAL, "a regular expression of %" PRId64 " bytes is too long", length);
    }
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C;
    options |= (flags & OCI_REGEX_IGNORE_CASE) != 0 ? PCRE2_CASELESS : 0;
    options |= (flags & OCI_REGEX_LINES) != 0 ? PCRE2_MULTILINE
                                              : PCRE2_DOTALL | PCRE2_DOLLAR_ENDONLY;
    options |= (flags & OCI_REGEX_EXTENDED) != 0 ? PCRE2_EXTENDED : 0;
    oci_regex *regex = calloc(1, sizeof *regex);
    if (regex == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not compile a regular expression: out of memory");
    }
    int code;
    PCRE2_SIZE at;
    regex->code = pcre2_compile(pattern, (size_t)length, options, &code, &at, NULL);
    if (regex->code == NULL) {
        PCRE2_UCHAR reason[160];
        (void)pcre2_get_error_message(code, reason, sizeof reason);
        oci_regex_free(regex);
        if (code == PCRE2_ERROR_HEAP_FAILED) {
            OC_FAIL(err, OC_ENOMEM, "could not compile a regular expression: out of memory");
        }
        OC_FAIL(err, OC_EINVAL, "cannot read the regular expression \"%.*s\": %s, at byte %zu",
                (int)oci_min64(length, 80), (const char *)pattern, (const char *)reason, at);
    }
    /* Without JIT (not built in, or no executable memory) matching is slower and else the same. */
    (void)pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    *out = regex;
    return OC_OK;
}

oc_status oci_matcher_create(oci_matcher **out, oc_error *err)
{
    oci_matcher *matcher = calloc(1, sizeof *matcher);
    if (matcher != NULL) {
        matcher->data = pcre2_match_data_create(OCI_REGEX_GROUPS_MAX, NULL);
        matcher->context = pcre2_match_context_create(NULL);
        matcher->stack = pcre2_jit_stack_create(STACK_BYTES_MIN, STACK_BYTES_MAX, NULL);
    }
    if (matcher == NULL || matcher->data == NULL || matcher->context == NULL) {
        oci_matcher_free(matcher);
        OC_FAIL(err, OC_ENOMEM, "could not match a regular expression: out of memory");
    }
    pcre2_set_match_limit(matcher->context, MATCH_STEPS_MAX);
    pcre2_set_heap_limit(matcher->context, MATCH_HEAP_KIB);
    if (matcher->stack != NULL) {
        pcre2_jit_stack_assign(matcher->context, NULL, matcher->stack);
    }
    *out = matcher;
    return OC_OK;
}

void oci_matcher_free(oci_matcher *matcher)
{
    if (matcher != NULL) {
        pcre2_match_data_free(matcher->data);
        pcre2_match_context_free(matcher->context);
        pcre2_jit_stack_free(matcher->stack);
        free(matcher);
    }
}

static oc_status match_failed(int code, oc_error *err)
{
    switch (code) {
    case PCRE2_ERROR_MATCHLIMIT:
    case PCRE2_ERROR_DEPTHLIMIT:
    case PCRE2_ERROR_HEAPLIMIT:
    case PCRE2_ERROR_JIT_STACKLIMIT:
        OC_FAIL(err, OC_EINVAL,
                "a regular expression takes too long on a text; make it simpler, "
                "above all repetitions inside repetitions");
    case PCRE2_ERROR_NOMEMORY:
        OC_FAIL(err, OC_ENOMEM, "could not match a regular expression: out of memory");
    default: break;
    }
    PCRE2_UCHAR reason[160];
    (void)pcre2_get_error_message(code, reason, sizeof reason);
    OC_FAIL(err, OC_EINVAL, "could not match a regular expression: %s", (const char *)reason);
}

oc_status oci_regex_match(const oci_regex *regex, oci_matcher *matcher, const uint8_t *text,
                          int64_t length, int64_t start, bool not_empty, int32_t *n_groups,
                          int64_t *places, oc_error *err)
{
    uint32_t options = not_empty ? PCRE2_NOTEMPTY_ATSTART : 0;
    int n = pcre2_match(regex->code, text, (size_t)length, (size_t)start, options, matcher->data,
                        matcher->context);
    *n_groups = 0;
    if (n == PCRE2_ERROR_NOMATCH) {
        return OC_OK;
    }
    if (n < 0) {
        return match_failed(n, err);
    }
    *n_groups = n == 0 ? OCI_REGEX_GROUPS_MAX : n;
    const PCRE2_SIZE *found = pcre2_get_ovector_pointer(matcher->data);
    for (int32_t g = 0; places != NULL && g < *n_groups; g++) {
        bool is_set = found[(size_t)2 * (size_t)g] != PCRE2_UNSET;
        places[2 * g] = is_set ? (int64_t)found[2 * g] : -1;
        places[2 * g + 1] = is_set ? (int64_t)found[2 * g + 1] : -1;
    }
    return OC_OK;
}
