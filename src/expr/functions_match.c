/* LIKE and ILIKE. A constant pattern is compiled once, when the call is made; others row by row,
 * and anew only where the pattern changes. See like.h. */
#include "expr/function_table.h"
#include "expr/kernel.h"
#include "expr/like.h"
#include "expr/utf8_text.h"

static const uint8_t backslash[] = "\\";

/* ---- binding --------------------------------------------------------------------------------- */

static void free_like(void *like)
{
    oci_like_free(like);
}

/* Compiles a pattern in lower case when case does not count. */
static oc_status compile(oci_span pattern, oci_span escape, bool fold, oci_mem *mem, oci_like **out,
                         oc_error *err)
{
    if (!fold) {
        return oci_like_compile(pattern.at, pattern.length, escape.at, escape.length, out, err);
    }
    void *lower;
    int64_t room = oci_case_room(pattern.length);
    OC_TRY(oci_mem_alloc(mem, room, &lower, err));
    int64_t length = oci_change_case(pattern.at, pattern.length, false, lower);
    oc_status status = oci_like_compile(lower, length, escape.at, escape.length, out, err);
    oci_mem_free(mem, lower, room);
    return status;
}

static bool bind_like(oci_signature *s, bool *failed, oc_error *err)
{
    if (!oci_bind_shape(s, "ttt", OCI_TYPE_BOOL)) {
        return false;
    }
    oci_span pattern;
    oci_span escape = {backslash, 1};
    if (!oci_constant_text(s, 1, &pattern.at, &pattern.length) ||
        (s->n_args == 3 && !oci_constant_text(s, 2, &escape.at, &escape.length))) {
        return true;
    }
    oci_like *like;
    if (oci_like_compile(pattern.at, pattern.length, escape.at, escape.length, &like, err) !=
        OC_OK) {
        *failed = true;
        return false;
    }
    s->data = like;
    s->free_data = free_like;
    return true;
}

/* Patterns whose case does not count need memory to be lowered, which bind has none of. */
OCI_BIND(bind_ilike, "ttt", OCI_TYPE_BOOL)

/* ---- matching -------------------------------------------------------------------------------- */

typedef struct matching {
    const oci_call *call;
    bool fold;
    oci_like *made;   /* of the pattern of an earlier row */
    oci_span pattern; /* of `made` */
    oci_span escape;
    uint8_t *lower; /* room for a text in lower case */
    int64_t lower_room;
} matching;

static void deinit(matching *m)
{
    oci_like_free(m->made);
    oci_mem_free(m->call->mem, m->lower, m->lower_room);
}

static oc_status pattern_of(matching *m, int64_t i, const oci_like **out, oc_error *err)
{
    const oci_call *call = m->call;
    if (call->data != NULL) {
        *out = call->data;
        return OC_OK;
    }
    oci_span pattern = oci_arg_text(call, 1, i);
    oci_span escape = call->n_args == 3 ? oci_arg_text(call, 2, i) : (oci_span){backslash, 1};
    if (m->made == NULL || !oci_span_equal(pattern, m->pattern) ||
        !oci_span_equal(escape, m->escape)) {
        oci_like_free(m->made);
        m->made = NULL;
        OC_TRY(compile(pattern, escape, m->fold, call->mem, &m->made, err));
        m->pattern = pattern;
        m->escape = escape;
    }
    *out = m->made;
    return OC_OK;
}

static oc_status lowered(matching *m, oci_span *text, oc_error *err)
{
    int64_t room = oci_case_room(text->length);
    if (room > m->lower_room) {
        void *grown;
        OC_TRY(oci_mem_realloc(m->call->mem, m->lower, m->lower_room, 2 * room, &grown, err));
        m->lower = grown;
        m->lower_room = 2 * room;
    }
    text->length = oci_change_case(text->at, text->length, false, m->lower);
    text->at = m->lower;
    return OC_OK;
}

static oc_status match_rows(matching *m, bool wanted, uint8_t *values, oc_error *err)
{
    for (int64_t i = 0; i < m->call->n; i++) {
        if (!oci_args_valid(m->call, i)) {
            continue;
        }
        const oci_like *like;
        oci_span text = oci_arg_text(m->call, 0, i);
        OC_TRY(pattern_of(m, i, &like, err));
        if (m->fold) {
            OC_TRY(lowered(m, &text, err));
        }
        bool matches = oci_like_match(like, text.at, text.length);
        values[i >> 3] |= (uint8_t)((unsigned)(matches == wanted) << (i & 7));
    }
    return OC_OK;
}

static oc_status match(const oci_call *call, bool fold, bool wanted, oci_vector *out, oc_error *err)
{
    uint8_t *values;
    matching m = {.call = call, .fold = fold};
    OC_TRY(oci_vector_make(call->result, call->n, false, call->mem, out, &values, NULL, err));
    oc_status status = match_rows(&m, wanted, values, err);
    deinit(&m);
    if (status != OC_OK) {
        oci_vector_deinit(out);
    }
    return status;
}

static oc_status like(const oci_call *call, oci_vector *out, oc_error *err)
{
    return match(call, false, true, out, err);
}

static oc_status not_like(const oci_call *call, oci_vector *out, oc_error *err)
{
    return match(call, false, false, out, err);
}

static oc_status ilike(const oci_call *call, oci_vector *out, oc_error *err)
{
    return match(call, true, true, out, err);
}

static oc_status not_ilike(const oci_call *call, oci_vector *out, oc_error *err)
{
    return match(call, true, false, out, err);
}

#define LIKE_HELP "text LIKE pattern [ESCAPE character] -> boolean"

const oci_function oci_functions_match[] = {
    OCI_STRICT("like", 2, 3, bind_like, like, LIKE_HELP),
    OCI_STRICT("~~", 2, 3, bind_like, like, LIKE_HELP),
    OCI_STRICT("not like", 2, 3, bind_like, not_like, LIKE_HELP),
    OCI_STRICT("!~~", 2, 3, bind_like, not_like, LIKE_HELP),
    OCI_STRICT("ilike", 2, 3, bind_ilike, ilike, LIKE_HELP),
    OCI_STRICT("~~*", 2, 3, bind_ilike, ilike, LIKE_HELP),
    OCI_STRICT("not ilike", 2, 3, bind_ilike, not_ilike, LIKE_HELP),
    OCI_STRICT("!~~*", 2, 3, bind_ilike, not_ilike, LIKE_HELP),
    {.name = NULL},
};
