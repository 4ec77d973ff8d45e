/* See explain.h. */
#include "sql/explain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { LINE_MAX = 4000, DETAIL_MAX = 3000 };

typedef struct explaining {
    bool json;
    oc_status (*line)(const char *text, void *arg, oc_error *err);
    void *arg;
    oc_error *err;
} explaining;

/* ---- what a node does ------------------------------------------------------------------------ */

static const char *name_of(const oci_plan *plan)
{
    switch (plan->kind) {
    case OCI_PLAN_SCAN: return "Scan";
    case OCI_PLAN_VALUES: return "Values";
    case OCI_PLAN_SERIES: return "Series";
    case OCI_PLAN_FILTER: return "Filter";
    case OCI_PLAN_PROJECT: return "Project";
    case OCI_PLAN_GROUP: return "Group";
    case OCI_PLAN_GROUPING_SETS: return "GroupingSets";
    case OCI_PLAN_SORT: return plan->limit >= 0 ? "TopK" : "Sort";
    case OCI_PLAN_LIMIT: return "Limit";
    case OCI_PLAN_UNION: return "Union";
    }
    return "?";
}

/* Text that is cut where there is no more room. */
typedef struct text {
    char *buf;
    size_t size;
    size_t used;
} text;

static void put(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->buf + t->used, t->size - t->used, format, args);
    va_end(args);
    t->used += n < 0 ? 0 : (size_t)n;
    t->used = t->used < t->size ? t->used : t->size - 1;
}

static void put_column(text *t, const oci_schema *schema, int32_t column)
{
    const char *name = column >= 0 && column < schema->n_fields ? schema->fields[column].name : "?";
    if (name[0] == '\0') {
        put(t, "#%d", column + 1);
    } else {
        put(t, "%s", name);
    }
}

static void put_expr(text *t, const oci_expr *expr, const oci_schema *schema)
{
    char buf[600];
    oci_expr_format(expr, schema, buf, sizeof buf);
    put(t, "%s", buf);
}

static void put_exprs(text *t, oci_expr *const *exprs, int32_t n, const oci_schema *schema)
{
    for (int32_t i = 0; i < n; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_expr(t, exprs[i], schema);
    }
}

static void put_keys(text *t, const oci_sort_key *keys, int32_t n, const oci_schema *schema)
{
    for (int32_t i = 0; i < n; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_column(t, schema, keys[i].column);
        put(t, "%s%s", keys[i].descending ? " DESC" : "",
            keys[i].nulls_first == keys[i].descending ? ""
            : keys[i].nulls_first                     ? " NULLS FIRST"
                                                      : " NULLS LAST");
    }
}

static void put_aggregate(text *t, const oci_aggregate *a, const oci_schema *schema)
{
    put(t, "%s(%s", oci_aggregate_name(a->kind), a->distinct ? "DISTINCT " : "");
    for (int32_t i = 0; i < a->n_args; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_column(t, schema, a->args[i]);
    }
    put(t, "%s", a->kind == OCI_AGG_COUNT_STAR ? "*" : "");
    if (a->n_order > 0) {
        put(t, " ORDER BY ");
        put_keys(t, a->order, a->n_order, schema);
    }
    put(t, ")");
    if (a->filter >= 0) {
        put(t, " FILTER ");
        put_column(t, schema, a->filter);
    }
}

static bool is_hashed(const oci_plan *plan)
{
    bool all = !plan->is_ordered;
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        all = all &&
              (oci_aggregate_is_mergeable(&plan->aggregates[i]) ||
               (plan->aggregates[i].distinct && plan->aggregates[i].kind < OCI_AGG_MERGEABLE_END));
    }
    return all;
}

static void put_group(text *t, const oci_plan *plan)
{
    const oci_schema *input = plan->inputs[0]->schema;
    put(t, "%s, keys: ", plan->is_ordered ? "ordered" : is_hashed(plan) ? "hashed" : "sorted");
    for (int32_t i = 0; i < plan->n_keys; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_column(t, input, plan->keys[i]);
    }
    put(t, "%s%s", plan->n_keys == 0 ? "none" : "", plan->n_aggregates > 0 ? ", aggregates: " : "");
    for (int32_t i = 0; i < plan->n_aggregates; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_aggregate(t, &plan->aggregates[i], input);
    }
}

static void put_scan(text *t, const oci_plan *plan)
{
    put(t, "%s, columns: ", plan->table->name);
    for (int32_t i = 0; i < plan->schema->n_fields; i++) {
        put(t, "%s", i > 0 ? ", " : "");
        put_column(t, plan->schema, i);
    }
    if (plan->filter != NULL) {
        put(t, ", filter: ");
        put_expr(t, plan->filter, plan->schema);
    }
    if (plan->scan_limit >= 0) {
        put(t, ", limit: %lld", (long long)plan->scan_limit);
    }
}

static void put_detail(text *t, const oci_plan *plan)
{
    t->buf[0] = '\0';
    switch (plan->kind) {
    case OCI_PLAN_SCAN: put_scan(t, plan); break;
    case OCI_PLAN_VALUES: put(t, "%lld rows", (long long)plan->n_rows); break;
    case OCI_PLAN_SERIES: put_exprs(t, plan->exprs, plan->n_exprs, plan->schema); break;
    case OCI_PLAN_FILTER:
    case OCI_PLAN_PROJECT: put_exprs(t, plan->exprs, plan->n_exprs, plan->inputs[0]->schema); break;
    case OCI_PLAN_GROUP: put_group(t, plan); break;
    case OCI_PLAN_GROUPING_SETS: put(t, "%d sets of %d keys", plan->n_sets, plan->n_keys); break;
    case OCI_PLAN_SORT:
        put_keys(t, plan->sort_keys, plan->n_sort_keys, plan->schema);
        if (plan->limit >= 0) {
            put(t, ", first %lld", (long long)plan->limit);
        }
        break;
    case OCI_PLAN_LIMIT:
        if (plan->limit >= 0) {
            put(t, "%lld", (long long)plan->limit);
        } else {
            put(t, "all");
        }
        if (plan->offset > 0) {
            put(t, ", offset %lld", (long long)plan->offset);
        }
        break;
    case OCI_PLAN_UNION: break;
    }
}

/* ---- as a tree ------------------------------------------------------------------------------- */

static void put_metrics(text *t, const oci_plan_metrics *m)
{
    char bytes[OCI_BYTES_TEXT];
    put(t, "  [rows=%lld, time=%.1fms", (long long)m->rows, (double)m->elapsed_ns / 1e6);
    if (m->peak_bytes > 0) {
        put(t, ", peak_memory=%s", oci_format_bytes(m->peak_bytes, bytes));
    }
    if (m->has_spill) {
        put(t, ", spill_count=%lld, spilled_bytes=%s, spilled_rows=%lld", (long long)m->spill_count,
            oci_format_bytes(m->spilled_bytes, bytes), (long long)m->spilled_rows);
        put(t, ", read_back=%s", oci_format_bytes(m->read_back_bytes, bytes));
    }
    put(t, "]");
}

static oc_status explain_tree(const explaining *e, const oci_plan *plan, int depth)
{
    char line[LINE_MAX];
    char detail[DETAIL_MAX];
    text d = {detail, sizeof detail, 0};
    text t = {line, sizeof line, 0};
    put_detail(&d, plan);
    put(&t, "%*s%s%s%s", 2 * depth, "", name_of(plan), detail[0] != '\0' ? ": " : "", detail);
    if (plan->metrics != NULL) {
        put_metrics(&t, plan->metrics);
    }
    OC_TRY(e->line(line, e->arg, e->err));
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        OC_TRY(explain_tree(e, plan->inputs[i], depth + 1));
    }
    return OC_OK;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void put_json_text(text *t, const char *value)
{
    put(t, "\"");
    for (const unsigned char *c = (const unsigned char *)value; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            put(t, "\\%c", *c);
        } else if (*c < 0x20) {
            put(t, "\\u%04x", *c);
        } else {
            put(t, "%c", *c);
        }
    }
    put(t, "\"");
}

static void put_json_metrics(text *t, const oci_plan_metrics *m)
{
    put(t,
        ", \"rows\": %lld, \"batches\": %lld, \"elapsed_ns\": %lld, \"peak_bytes\": %lld, "
        "\"spill_count\": %lld, "
        "\"spilled_bytes\": %lld, \"spilled_rows\": %lld, \"read_back_bytes\": %lld",
        (long long)m->rows, (long long)m->batches, (long long)m->elapsed_ns,
        (long long)m->peak_bytes, (long long)m->spill_count, (long long)m->spilled_bytes,
        (long long)m->spilled_rows, (long long)m->read_back_bytes);
}

static oc_status explain_json(const explaining *e, const oci_plan *plan, int depth, bool is_last)
{
    char line[2 * LINE_MAX];
    char detail[DETAIL_MAX];
    text d = {detail, sizeof detail, 0};
    text t = {line, sizeof line, 0};
    put_detail(&d, plan);
    put(&t, "%*s{\"operator\": \"%s\", \"detail\": ", 2 * depth, "", name_of(plan));
    put_json_text(&t, detail);
    if (plan->metrics != NULL) {
        put_json_metrics(&t, plan->metrics);
    }
    if (plan->n_inputs > 0) {
        put(&t, ", \"inputs\": [");
    } else {
        put(&t, ", \"inputs\": []}%s", is_last ? "" : ",");
    }
    OC_TRY(e->line(line, e->arg, e->err));
    for (int32_t i = 0; i < plan->n_inputs; i++) {
        OC_TRY(explain_json(e, plan->inputs[i], depth + 1, i == plan->n_inputs - 1));
    }
    if (plan->n_inputs > 0) {
        char end[OCI_BYTES_TEXT + 64];
        snprintf(end, sizeof end, "%*s]}%s", depth < 16 ? 2 * depth : 32, "", is_last ? "" : ",");
        OC_TRY(e->line(end, e->arg, e->err));
    }
    return OC_OK;
}

oc_status oci_plan_explain(const oci_plan *plan, bool json,
                           oc_status (*line)(const char *text, void *arg, oc_error *err), void *arg,
                           oc_error *err)
{
    explaining e = {json, line, arg, err};
    return json ? explain_json(&e, plan, 0, true) : explain_tree(&e, plan, 0);
}
