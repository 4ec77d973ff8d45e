/* See scan_predicate.h. Nodes and values come from malloc, as many as the expression has at most.
 *
 * A comparison is understood when one side is a column, perhaps under casts that keep its values and their order (the
 * binder puts them in), and the other a constant. The constant is brought to the type of the column. What lies between
 * two values of the column (1.5 for an integer, noon for a date) becomes the one below, and the comparison such that it
 * says the same. */
#include "sql/scan_predicate.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "expr/cast.h"
#include "expr/number.h"
#include "formats/format_value.h"

typedef struct maker {
    oci_scan_predicate *made;
    const int32_t *columns;
} maker;

/* How a constant lies to the values of a column. */
typedef enum fit {
    FIT_NONE,    /* cannot be compared there, or is null */
    FIT_EXACT,   /* is one of them */
    FIT_BETWEEN, /* the given one is the next below it */
} fit;

static void count(const oci_expr *expr, size_t *nodes, size_t *values)
{
    ++*nodes;
    *values += expr->kind == OCI_EXPR_CONSTANT || expr->kind == OCI_EXPR_COLUMN;
    for (int32_t i = 0; i < expr->n_args; i++) {
        count(expr->args[i], nodes, values);
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

static int64_t nanoseconds_of(const oci_field *field)
{
    static const int64_t units[] = {1000000000, 1000000, 1000, 1};
    return field->type == OCI_TYPE_DATE32 ? INT64_C(86400) * units[0] : units[field->unit];
}

static bool is_text(oci_type type)
{
    return oci_type_is_text(type) || type == OCI_TYPE_BINARY || type == OCI_TYPE_LARGE_BINARY ||
           type == OCI_TYPE_BINARY_VIEW;
}

/* Whether a cast loses no value and no order, and cannot fail. */
static bool keeps_values(const oci_field *from, const oci_field *to)
{
    if (oci_field_same_type(from, to)) {
        return true;
    }
    if (oci_type_is_integer(from->type)) {
        return oci_type_is_decimal(to->type)
                   ? to->precision - to->scale >= oci_integer_digits(from->type)
                   : oci_type_is_integer(to->type) && oci_cast_is_implicit(from, to);
    }
    if (oci_type_is_decimal(from->type)) {
        return oci_type_is_decimal(to->type) && to->scale >= from->scale &&
               to->precision - to->scale >= from->precision - from->scale;
    }
    if (oci_type_is_float(from->type)) {
        return to->type == OCI_TYPE_FLOAT64;
    }
    if (from->type == OCI_TYPE_DATE32) {
        return to->type == OCI_TYPE_TIMESTAMP && to->timezone == NULL;
    }
    if (from->type == OCI_TYPE_TIMESTAMP) {
        return to->type == OCI_TYPE_TIMESTAMP && nanoseconds_of(to) <= nanoseconds_of(from) &&
               (to->timezone == NULL) == (from->timezone == NULL);
    }
    if (from->type == OCI_TYPE_FIXED_BINARY) {
        return to->type == OCI_TYPE_BINARY || to->type == OCI_TYPE_LARGE_BINARY;
    }
    oci_type inner = from->type == OCI_TYPE_DICTIONARY ? from->dictionary->type : from->type;
    return is_text(inner) && is_text(to->type) &&
           oci_type_is_text(inner) == oci_type_is_text(to->type);
}

/* The column that an expression is, but for such casts; or NULL. */
static const oci_expr *column_of(const oci_expr *expr)
{
    while (expr->kind == OCI_EXPR_CAST && !expr->is_try &&
           keeps_values(&expr->args[0]->type, &expr->type)) {
        expr = expr->args[0];
    }
    return expr->kind == OCI_EXPR_COLUMN ? expr : NULL;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void put_wide(oci_predicate_value *out, oci_int128 whole)
{
    uint64_t sign = whole < 0 ? UINT64_MAX : 0;
    *out = (oci_predicate_value){
        .type = OCI_PREDICATE_INTEGER,
        .wide = {(uint64_t)whole, (uint64_t)((oci_uint128)whole >> 64), sign, sign}};
}

/* whole / by, towards minus infinity. */
static fit floor_divide(oci_int128 whole, oci_int128 by, oci_int128 *out)
{
    oci_int128 rest = whole % by;
    *out = whole / by - (rest < 0);
    return rest == 0 ? FIT_EXACT : FIT_BETWEEN;
}

static fit fit_unsigned(oci_int128 whole, fit found, oci_predicate_value *out)
{
    if (whole < 0 || whole > (oci_int128)UINT64_MAX) {
        return FIT_NONE;
    }
    *out =
        (oci_predicate_value){.type = OCI_PREDICATE_UNSIGNED, .unsigned_integer = (uint64_t)whole};
    return found;
}

/* Integers, decimals and bools. */
static fit fit_number(const oci_field *column, const oci_field *type, const oci_column *constant,
                      oci_predicate_value *out)
{
    oci_number number;
    bool is_decimal = oci_type_is_decimal(column->type);
    int32_t scale = is_decimal ? column->scale : 0;
    if (!oci_number_load(type, constant->values, constant->offset, &number) || number.is_real) {
        return FIT_NONE;
    }
    fit found = FIT_EXACT;
    oci_int128 whole = number.whole;
    if (scale - number.scale > 37 || number.scale - scale > 38) {
        return FIT_NONE;
    }
    if (scale < number.scale) {
        found = floor_divide(whole, oci_power_of_ten(number.scale - scale), &whole);
    } else if (!oci_fits_digits(whole, 38 - (scale - number.scale))) {
        return FIT_NONE;
    } else {
        whole *= oci_power_of_ten(scale - number.scale);
    }
    if (column->type >= OCI_TYPE_UINT8 && column->type <= OCI_TYPE_UINT64) {
        return fit_unsigned(whole, found, out);
    }
    put_wide(out, whole);
    return found;
}

static fit fit_time(const oci_field *column, const oci_field *type, const oci_column *constant,
                    oci_predicate_value *out)
{
    const uint8_t *at = constant->values + constant->offset * type->byte_width;
    oci_int128 ticks = type->byte_width == 4 ? (int32_t)oci_load_le32(at)
                                             : (int64_t)oci_load_le64(at);
    oci_int128 whole;
    if (type->type == OCI_TYPE_DATE64) {
        return FIT_NONE;
    }
    fit found = floor_divide(ticks * nanoseconds_of(type), nanoseconds_of(column), &whole);
    put_wide(out, whole);
    return found;
}

static fit fit_constant(const oci_field *column, const oci_expr *expr, oci_predicate_value *out)
{
    const oci_field *type = &expr->type;
    if (expr->kind != OCI_EXPR_CONSTANT ||
        expr->constant->columns[0].field->type == OCI_TYPE_NULL) {
        return FIT_NONE;
    }
    const oci_column *constant = &expr->constant->columns[0];
    if (constant->validity != NULL && !oci_bit_get(constant->validity, constant->offset)) {
        return FIT_NONE;
    }
    bool is_whole = oci_type_is_integer(type->type) || oci_type_is_decimal(type->type) ||
                    type->type == OCI_TYPE_BOOL;
    switch (column->type) {
    case OCI_TYPE_BOOL:
        return type->type == OCI_TYPE_BOOL ? fit_number(column, type, constant, out) : FIT_NONE;
    case OCI_TYPE_DATE32:
    case OCI_TYPE_TIMESTAMP:
        return type->type == OCI_TYPE_DATE32 || type->type == OCI_TYPE_TIMESTAMP
                   ? fit_time(column, type, constant, out)
                   : FIT_NONE;
    case OCI_TYPE_TIME32:
    case OCI_TYPE_TIME64:
        return type->type == OCI_TYPE_TIME32 || type->type == OCI_TYPE_TIME64
                   ? fit_time(column, type, constant, out)
                   : FIT_NONE;
    default: break;
    }
    if (oci_type_is_integer(column->type) || oci_type_is_decimal(column->type)) {
        return is_whole ? fit_number(column, type, constant, out) : FIT_NONE;
    }
    if (oci_type_is_float(column->type)) {
        oci_number number;
        if (!oci_type_is_float(type->type) ||
            !oci_number_load(type, constant->values, constant->offset, &number)) {
            return FIT_NONE;
        }
        *out = (oci_predicate_value){.type = OCI_PREDICATE_FLOAT, .number = number.real};
        return FIT_EXACT;
    }
    oci_type inner = column->type == OCI_TYPE_DICTIONARY ? column->dictionary->type : column->type;
    if ((is_text(inner) || inner == OCI_TYPE_FIXED_BINARY) &&
        (type->type == OCI_TYPE_UTF8 || type->type == OCI_TYPE_BINARY)) {
        out->type = OCI_PREDICATE_BYTES;
        out->bytes.data = oci_value_bytes(constant, 0, &out->bytes.size);
        return FIT_EXACT;
    }
    return FIT_NONE;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static oci_predicate_value *add_value(maker *m)
{
    return &m->made->values[m->made->n_values++];
}

static void say(maker *m, const oci_expr *column, oci_predicate_kind kind,
                const oci_predicate_value *values, int32_t n, oci_predicate *out)
{
    *out = (oci_predicate){
        .kind = kind, .column = m->columns[column->column], .n_values = n, .values = values};
}

static oci_predicate_kind comparison_of(const char *name)
{
    static const struct {
        const char *name;
        oci_predicate_kind kind;
    } kinds[] = {
        {"=", OCI_PREDICATE_EQUAL},          {"<>", OCI_PREDICATE_NOT_EQUAL},
        {"!=", OCI_PREDICATE_NOT_EQUAL},     {"<", OCI_PREDICATE_LESS},
        {"<=", OCI_PREDICATE_LESS_EQUAL},    {">", OCI_PREDICATE_GREATER},
        {">=", OCI_PREDICATE_GREATER_EQUAL},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return kinds[i].kind;
        }
    }
    return OCI_PREDICATE_TRUE;
}

/* constant < column is column > constant. */
static oci_predicate_kind turned(oci_predicate_kind kind)
{
    switch (kind) {
    case OCI_PREDICATE_LESS: return OCI_PREDICATE_GREATER;
    case OCI_PREDICATE_LESS_EQUAL: return OCI_PREDICATE_GREATER_EQUAL;
    case OCI_PREDICATE_GREATER: return OCI_PREDICATE_LESS;
    case OCI_PREDICATE_GREATER_EQUAL: return OCI_PREDICATE_LESS_EQUAL;
    default: return kind;
    }
}

/* The same said of the value below: 1.5 <= x is 1 < x. */
static oci_predicate_kind said_of_below(oci_predicate_kind kind)
{
    switch (kind) {
    case OCI_PREDICATE_LESS:
    case OCI_PREDICATE_LESS_EQUAL: return OCI_PREDICATE_LESS_EQUAL;
    case OCI_PREDICATE_GREATER:
    case OCI_PREDICATE_GREATER_EQUAL: return OCI_PREDICATE_GREATER;
    case OCI_PREDICATE_EQUAL: return OCI_PREDICATE_IN; /* one of none */
    default: return OCI_PREDICATE_IS_NOT_NULL;
    }
}

static void make_comparison(maker *m, const oci_expr *expr, oci_predicate_kind kind,
                            oci_predicate *out)
{
    bool is_turned = expr->args[0]->kind == OCI_EXPR_CONSTANT;
    const oci_expr *column = column_of(expr->args[is_turned]);
    if (column == NULL) {
        return;
    }
    kind = is_turned ? turned(kind) : kind;
    oci_predicate_value *value = add_value(m);
    fit found = fit_constant(&column->type, expr->args[!is_turned], value);
    if (found == FIT_EXACT) {
        say(m, column, kind, value, 1, out);
    } else if (found == FIT_BETWEEN) {
        kind = said_of_below(kind);
        bool has_value = kind != OCI_PREDICATE_IN && kind != OCI_PREDICATE_IS_NOT_NULL;
        say(m, column, kind, value, has_value, out);
    }
}

/* Values that cannot be are left out; one that cannot be compared spoils the list. */
static void make_in(maker *m, const oci_expr *expr, oci_predicate *out)
{
    const oci_expr *column = column_of(expr->args[0]);
    const oci_predicate_value *values = &m->made->values[m->made->n_values];
    int32_t n = 0;
    for (int32_t i = 1; column != NULL && i < expr->n_args; i++) {
        oci_predicate_value *value = add_value(m);
        fit found = fit_constant(&column->type, expr->args[i], value);
        if (found == FIT_NONE) {
            return;
        }
        n += found == FIT_EXACT;
        m->made->n_values -= found != FIT_EXACT;
    }
    if (column != NULL) {
        say(m, column, OCI_PREDICATE_IN, values, n, out);
    }
}

static void make_truth(maker *m, const oci_expr *expr, bool wanted, oci_predicate *out)
{
    const oci_expr *column = column_of(expr);
    if (column != NULL && column->type.type == OCI_TYPE_BOOL) {
        oci_predicate_value *value = add_value(m);
        *value = oci_predicate_integer(wanted);
        say(m, column, OCI_PREDICATE_EQUAL, value, 1, out);
    }
}

static void make_null_test(maker *m, const oci_expr *expr, oci_predicate_kind kind,
                           oci_predicate *out)
{
    const oci_expr *column = column_of(expr->args[0]);
    if (column != NULL) {
        say(m, column, kind, NULL, 0, out);
    }
}

static void make_call(maker *m, const oci_expr *expr, oci_predicate *out)
{
    const char *name = expr->function->name;
    oci_predicate_kind kind = comparison_of(name);
    if (kind != OCI_PREDICATE_TRUE) {
        make_comparison(m, expr, kind, out);
    } else if (strcmp(name, "in") == 0) {
        make_in(m, expr, out);
    } else if (strcmp(name, "not") == 0 || strcmp(name, "is false") == 0) {
        make_truth(m, expr->args[0], false, out);
    } else if (strcmp(name, "is true") == 0) {
        make_truth(m, expr->args[0], true, out);
    } else if (strcmp(name, "is null") == 0) {
        make_null_test(m, expr, OCI_PREDICATE_IS_NULL, out);
    } else if (strcmp(name, "is not null") == 0) {
        make_null_test(m, expr, OCI_PREDICATE_IS_NOT_NULL, out);
    }
}

static void make(maker *m, const oci_expr *expr, oci_predicate *out)
{
    *out = (oci_predicate){.kind = OCI_PREDICATE_TRUE};
    switch (expr->kind) {
    case OCI_EXPR_AND:
    case OCI_EXPR_OR: {
        oci_predicate *children = &m->made->nodes[m->made->n_nodes];
        m->made->n_nodes += expr->n_args;
        for (int32_t i = 0; i < expr->n_args; i++) {
            make(m, expr->args[i], &children[i]);
        }
        *out = (oci_predicate){.kind = expr->kind == OCI_EXPR_AND ? OCI_PREDICATE_AND
                                                                  : OCI_PREDICATE_OR,
                               .n_children = expr->n_args,
                               .children = children};
        break;
    }
    case OCI_EXPR_CALL: make_call(m, expr, out); break;
    case OCI_EXPR_COLUMN: make_truth(m, expr, true, out); break;
    default: break;
    }
}

oc_status oci_scan_predicate_make(const oci_expr *filter, const int32_t *columns,
                                  oci_scan_predicate *out, oc_error *err)
{
    size_t nodes = 0;
    size_t values = 0;
    count(filter, &nodes, &values);
    *out = (oci_scan_predicate){.nodes = calloc(nodes, sizeof *out->nodes),
                                .values = calloc(values + 1, sizeof *out->values),
                                .n_nodes = 1};
    if (out->nodes == NULL || out->values == NULL) {
        oci_scan_predicate_deinit(out);
        OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
    }
    maker m = {.made = out, .columns = columns};
    make(&m, filter, &out->nodes[0]);
    return OC_OK;
}

void oci_scan_predicate_deinit(oci_scan_predicate *predicate)
{
    free(predicate->nodes);
    free(predicate->values);
    *predicate = (oci_scan_predicate){0};
}
