/* Names, types and making of aggregates. See aggregate.h. State fields come from malloc: a few per aggregate. */
#include "ops/aggregate/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "ops/aggregate/aggregate_internal.h"

#define DIGITS128       38
#define DIGITS256       76
#define AVG_DIGITS_MORE 4

static const struct {
    const char *name;
    oci_aggregate_kind kind;
} names[] = {
    {"count", OCI_AGG_COUNT},
    {"sum", OCI_AGG_SUM},
    {"avg", OCI_AGG_AVG},
    {"mean", OCI_AGG_AVG},
    {"min", OCI_AGG_MIN},
    {"max", OCI_AGG_MAX},
    {"bool_and", OCI_AGG_BOOL_AND},
    {"every", OCI_AGG_BOOL_AND},
    {"bool_or", OCI_AGG_BOOL_OR},
    {"bit_and", OCI_AGG_BIT_AND},
    {"bit_or", OCI_AGG_BIT_OR},
    {"bit_xor", OCI_AGG_BIT_XOR},
    {"var_samp", OCI_AGG_VAR_SAMP},
    {"variance", OCI_AGG_VAR_SAMP},
    {"var", OCI_AGG_VAR_SAMP},
    {"var_pop", OCI_AGG_VAR_POP},
    {"stddev_samp", OCI_AGG_STDDEV_SAMP},
    {"stddev", OCI_AGG_STDDEV_SAMP},
    {"stddev_pop", OCI_AGG_STDDEV_POP},
    {"covar_samp", OCI_AGG_COVAR_SAMP},
    {"covar", OCI_AGG_COVAR_SAMP},
    {"covar_pop", OCI_AGG_COVAR_POP},
    {"corr", OCI_AGG_CORR},
    {"approx_count_distinct", OCI_AGG_APPROX_DISTINCT},
    {"approx_distinct", OCI_AGG_APPROX_DISTINCT},
    {"any_value", OCI_AGG_ANY_VALUE},
    {"first_value", OCI_AGG_FIRST},
    {"first", OCI_AGG_FIRST},
    {"last_value", OCI_AGG_LAST},
    {"last", OCI_AGG_LAST},
    {"array_agg", OCI_AGG_ARRAY_AGG},
    {"list", OCI_AGG_ARRAY_AGG},
    {"string_agg", OCI_AGG_STRING_AGG},
    {"listagg", OCI_AGG_STRING_AGG},
    {"group_concat", OCI_AGG_STRING_AGG},
    {"percentile_cont", OCI_AGG_QUANTILE_CONT},
    {"quantile_cont", OCI_AGG_QUANTILE_CONT},
    {"median", OCI_AGG_QUANTILE_CONT},
    {"percentile_disc", OCI_AGG_QUANTILE_DISC},
    {"quantile_disc", OCI_AGG_QUANTILE_DISC},
    {"mode", OCI_AGG_MODE},
};

bool oci_aggregate_find(const char *name, oci_aggregate_kind *kind)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i].name, name) == 0) {
            *kind = names[i].kind;
            return true;
        }
    }
    return false;
}

const char *oci_aggregate_name(oci_aggregate_kind kind)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].kind == kind) {
            return names[i].name;
        }
    }
    return "count";
}

/* Whether a value that comes twice changes nothing. */
static bool ignores_repeats(oci_aggregate_kind kind)
{
    switch (kind) {
    case OCI_AGG_MIN:
    case OCI_AGG_MAX:
    case OCI_AGG_BOOL_AND:
    case OCI_AGG_BOOL_OR:
    case OCI_AGG_BIT_AND:
    case OCI_AGG_BIT_OR:
    case OCI_AGG_APPROX_DISTINCT: return true;
    default: return false;
    }
}

bool oci_aggregate_is_mergeable(const oci_aggregate *aggregate)
{
    return aggregate->kind < OCI_AGG_MERGEABLE_END &&
           (!aggregate->distinct || ignores_repeats(aggregate->kind));
}

/* ---- types ----------------------------------------------------------------------------------- */

oci_field oci_agg_field(oci_type type, int32_t precision, int32_t scale)
{
    static char no_name[] = "";
    oci_field field = {
        .name = no_name, .type = type, .nullable = true, .precision = precision, .scale = scale};
    oci_field_set_width(&field);
    return field;
}

static bool is_float(oci_type type)
{
    return type == OCI_TYPE_FLOAT16 || type == OCI_TYPE_FLOAT32 || type == OCI_TYPE_FLOAT64;
}

static bool is_integer(oci_type type)
{
    return type >= OCI_TYPE_INT8 && type <= OCI_TYPE_UINT64;
}

static bool is_decimal(oci_type type)
{
    return type >= OCI_TYPE_DECIMAL32 && type <= OCI_TYPE_DECIMAL256;
}

static bool is_text(oci_type type)
{
    return type == OCI_TYPE_UTF8 || type == OCI_TYPE_LARGE_UTF8 || type == OCI_TYPE_UTF8_VIEW;
}

/* The result of sum and avg; type NULL when there is none. */
static oci_field sum_field(const oci_field *arg)
{
    oci_type type = arg->type;
    if (type == OCI_TYPE_NULL) {
        return oci_agg_field(OCI_TYPE_INT64, 0, 0);
    }
    if (type == OCI_TYPE_INT64 || type == OCI_TYPE_UINT64 || type == OCI_TYPE_UINT32) {
        return oci_agg_field(OCI_TYPE_DECIMAL128, DIGITS128, 0);
    }
    if (is_integer(type)) {
        return oci_agg_field(OCI_TYPE_INT64, 0, 0);
    }
    if (is_float(type)) {
        return oci_agg_field(OCI_TYPE_FLOAT64, 0, 0);
    }
    if (type == OCI_TYPE_DECIMAL256) {
        return oci_agg_field(type, DIGITS256, arg->scale);
    }
    if (is_decimal(type)) {
        return oci_agg_field(OCI_TYPE_DECIMAL128, DIGITS128, arg->scale);
    }
    oci_field field = oci_agg_field(type, 0, 0);
    field.unit = arg->unit;
    field.type = type == OCI_TYPE_DURATION ? type : OCI_TYPE_NULL;
    return field;
}

static oci_field avg_field(const oci_field *arg)
{
    if (is_decimal(arg->type)) {
        bool is_wide = arg->type == OCI_TYPE_DECIMAL256;
        int32_t digits = is_wide ? DIGITS256 : DIGITS128;
        int32_t before = arg->precision - arg->scale;
        int32_t scale = arg->scale + AVG_DIGITS_MORE;
        scale = before + scale > digits ? digits - before : scale;
        scale = scale < arg->scale ? arg->scale : scale;
        return oci_agg_field(is_wide ? OCI_TYPE_DECIMAL256 : OCI_TYPE_DECIMAL128, digits, scale);
    }
    bool is_number = is_integer(arg->type) || is_float(arg->type) || arg->type == OCI_TYPE_NULL;
    if (arg->type == OCI_TYPE_DURATION) {
        return sum_field(arg);
    }
    return oci_agg_field(is_number ? OCI_TYPE_FLOAT64 : OCI_TYPE_NULL, 0, 0);
}

static oc_status refuse(const oci_aggregate *aggregate, const oci_field *arg, const char *wanted,
                        oc_error *err)
{
    char type[128];
    oci_field_type_text(arg, type, sizeof type);
    OC_FAIL(err, OC_EINVAL, "%s does not take values of type %s%s%s",
            oci_aggregate_name(aggregate->kind), type, wanted[0] != '\0' ? ", but " : "", wanted);
}

static oc_status check_order(const oci_aggregate *aggregate, const oci_schema *input, oc_error *err)
{
    oci_sort_key key = {.column = aggregate->args[0]};
    if (oci_row_key_check(input, &key, 1, NULL) != OC_OK) {
        return refuse(aggregate, &input->fields[aggregate->args[0]], "values that have an order",
                      err);
    }
    return OC_OK;
}

/* A copy of a value's type, with dictionaries and views resolved as grouping does. */
static oc_status value_field(const oci_schema *input, int32_t column, oci_field *out, oc_error *err)
{
    oci_sort_key key = {.column = column};
    oci_schema *decoded;
    OC_TRY(oci_row_keys_schema(input, &key, 1, &decoded, err));
    oc_status status = oci_field_copy(&decoded->fields[0], out, err);
    oci_schema_release(decoded);
    if (status == OC_OK) {
        out->nullable = true;
    }
    return status;
}

static oc_status list_field(const oci_schema *input, int32_t column, oci_field *out, oc_error *err)
{
    oci_field *item = calloc(1, sizeof *item);
    if (item == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oc_status status = value_field(input, column, item, err);
    if (status != OC_OK) {
        free(item);
        return status;
    }
    char *name = strdup("item");
    if (name == NULL) {
        oci_field_deinit(item);
        free(item);
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    free(item->name);
    item->name = name;
    *out = oci_agg_field(OCI_TYPE_LIST, 0, 0);
    out->name = NULL;
    out->children = item;
    out->n_children = 1;
    return OC_OK;
}

/* The result type; `out` owns what it points to, but its name is not set. */
static oc_status result_type(const oci_aggregate *aggregate, const oci_schema *input,
                             oci_field *out, oc_error *err)
{
    const oci_field *arg =
        aggregate->n_args == 0 ? NULL : oci_agg_value_field(&input->fields[aggregate->args[0]]);
    oci_field made = {.type = OCI_TYPE_NULL};
    switch (aggregate->kind) {
    case OCI_AGG_COUNT_STAR:
    case OCI_AGG_COUNT:
    case OCI_AGG_APPROX_DISTINCT: made = oci_agg_field(OCI_TYPE_INT64, 0, 0); break;
    case OCI_AGG_SUM: made = sum_field(arg); break;
    case OCI_AGG_AVG: made = avg_field(arg); break;
    case OCI_AGG_BOOL_AND:
    case OCI_AGG_BOOL_OR:
        made = oci_agg_field(arg->type == OCI_TYPE_BOOL || arg->type == OCI_TYPE_NULL
                                 ? OCI_TYPE_BOOL
                                 : OCI_TYPE_NULL,
                             0, 0);
        break;
    case OCI_AGG_BIT_AND:
    case OCI_AGG_BIT_OR:
    case OCI_AGG_BIT_XOR:
        made = oci_agg_field(is_integer(arg->type) ? arg->type : OCI_TYPE_NULL, 0, 0);
        break;
    case OCI_AGG_VAR_SAMP:
    case OCI_AGG_VAR_POP:
    case OCI_AGG_STDDEV_SAMP:
    case OCI_AGG_STDDEV_POP:
    case OCI_AGG_COVAR_SAMP:
    case OCI_AGG_COVAR_POP:
    case OCI_AGG_CORR:
    case OCI_AGG_QUANTILE_CONT:
        if (is_integer(arg->type) || is_float(arg->type) || is_decimal(arg->type) ||
            arg->type == OCI_TYPE_NULL) {
            made = oci_agg_field(OCI_TYPE_FLOAT64, 0, 0);
        }
        break;
    case OCI_AGG_STRING_AGG:
        made = oci_agg_field(
            is_text(arg->type) || arg->type == OCI_TYPE_NULL ? OCI_TYPE_UTF8 : OCI_TYPE_NULL, 0, 0);
        break;
    case OCI_AGG_ARRAY_AGG: return list_field(input, aggregate->args[0], out, err);
    case OCI_AGG_MIN:
    case OCI_AGG_MAX:
    case OCI_AGG_QUANTILE_DISC:
    case OCI_AGG_MODE:
        OC_TRY(check_order(aggregate, input, err));
        return value_field(input, aggregate->args[0], out, err);
    default: return value_field(input, aggregate->args[0], out, err);
    }
    if (made.type == OCI_TYPE_NULL) {
        return refuse(aggregate, arg, "", err);
    }
    made.name = NULL;
    *out = made;
    return OC_OK;
}

static int32_t args_wanted(oci_aggregate_kind kind)
{
    switch (kind) {
    case OCI_AGG_COUNT_STAR: return 0;
    case OCI_AGG_COVAR_SAMP:
    case OCI_AGG_COVAR_POP:
    case OCI_AGG_CORR: return 2;
    default: return 1;
    }
}

oc_status oci_aggregate_result(const oci_aggregate *aggregate, const oci_schema *input,
                               oci_field *out, oc_error *err)
{
    int32_t wanted = args_wanted(aggregate->kind);
    if (aggregate->n_args != wanted) {
        OC_FAIL(err, OC_EINVAL, "%s takes %d argument%s, not %d",
                oci_aggregate_name(aggregate->kind), wanted, wanted == 1 ? "" : "s",
                aggregate->n_args);
    }
    char *name =
        strdup(aggregate->name != NULL ? aggregate->name : oci_aggregate_name(aggregate->kind));
    if (name == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oci_field made;
    oc_status status = result_type(aggregate, input, &made, err);
    if (status != OC_OK) {
        free(name);
        return status;
    }
    free(made.name);
    made.name = name;
    made.nullable = aggregate->kind > OCI_AGG_COUNT && aggregate->kind != OCI_AGG_APPROX_DISTINCT;
    *out = made;
    return OC_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static oc_status copy_states(const oci_field *states, int32_t n, oci_field *out, oc_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        oc_status status = oci_field_copy(&states[i], &out[i], err);
        if (status != OC_OK) {
            while (--i >= 0) {
                oci_field_deinit(&out[i]);
            }
            return status;
        }
    }
    return OC_OK;
}

static oc_status state_schema(const oci_field *states, int32_t n, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc((size_t)n + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oc_status status = copy_states(states, n, fields, err);
    if (status != OC_OK) {
        free(fields);
        return status;
    }
    return oci_schema_create(fields, n, NULL, 0, out, err);
}

static oc_status result_schema(const oci_aggregate *aggregate, const oci_schema *input,
                               oci_schema **out, oc_error *err)
{
    oci_field *field = calloc(1, sizeof *field);
    if (field == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set up an aggregate: out of memory");
    }
    oc_status status = oci_aggregate_result(aggregate, input, field, err);
    if (status != OC_OK) {
        free(field);
        return status;
    }
    return oci_schema_create(field, 1, NULL, 0, out, err);
}

oc_status oci_agg_init(oci_aggregator *self, const oci_aggregate *aggregate,
                       const oci_schema *input, const oci_aggregator_ops *ops, oci_mem *mem,
                       const oci_field *states, int32_t n_states, oc_error *err)
{
    self->ops = ops;
    self->mem = mem;
    OC_TRY(result_schema(aggregate, input, &self->result, err));
    return state_schema(states, n_states, &self->states, err);
}

void oci_agg_deinit(oci_aggregator *self)
{
    oci_schema_release(self->states);
    oci_schema_release(self->result);
}

oc_status oci_aggregator_create(const oci_aggregate *aggregate, const oci_schema *input,
                                oci_mem *mem, oci_aggregator **out, oc_error *err)
{
    switch (aggregate->kind) {
    case OCI_AGG_COUNT_STAR:
    case OCI_AGG_COUNT: return oci_agg_create_count(aggregate, input, mem, out, err);
    case OCI_AGG_SUM:
    case OCI_AGG_AVG: {
        oci_type type = oci_agg_value_field(&input->fields[aggregate->args[0]])->type;
        return is_float(type) ? oci_agg_create_moments(aggregate, input, mem, out, err)
                              : oci_agg_create_sum(aggregate, input, mem, out, err);
    }
    case OCI_AGG_MIN:
    case OCI_AGG_MAX: return oci_agg_create_extreme(aggregate, input, mem, out, err);
    case OCI_AGG_BOOL_AND:
    case OCI_AGG_BOOL_OR:
    case OCI_AGG_BIT_AND:
    case OCI_AGG_BIT_OR:
    case OCI_AGG_BIT_XOR: return oci_agg_create_bits(aggregate, input, mem, out, err);
    case OCI_AGG_APPROX_DISTINCT: return oci_agg_create_approx(aggregate, input, mem, out, err);
    default: break;
    }
    if (aggregate->kind > OCI_AGG_MERGEABLE_END) {
        OC_FAIL(err, OC_EINTERNAL, "%s has no state", oci_aggregate_name(aggregate->kind));
    }
    return oci_agg_create_moments(aggregate, input, mem, out, err);
}

void oci_aggregator_destroy(oci_aggregator *aggregator)
{
    if (aggregator != NULL) {
        aggregator->ops->destroy(aggregator);
    }
}
