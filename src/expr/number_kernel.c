/* See number_kernel.h. */
#include "expr/number_kernel.h"

#include "expr/cast.h"

bool oci_bind_whole(oci_signature *s, bool *failed, oc_error *err)
{
    (void)failed, (void)err;
    bool is_wide = false;
    for (int32_t i = 0; i < s->n_args; i++) {
        oci_type type = s->args[i].type;
        bool is_open = s->is_literal[i] || type == OCI_TYPE_NULL;
        if (!is_open && (!oci_type_is_integer(type) || type == OCI_TYPE_UINT64)) {
            return false;
        }
        is_wide = is_wide || (!is_open && oci_computed_integer(type).type == OCI_TYPE_INT64);
    }
    s->result = oci_expr_type(is_wide ? OCI_TYPE_INT64 : OCI_TYPE_INT32);
    for (int32_t i = 0; i < s->n_args; i++) {
        s->args[i] = s->result;
    }
    return true;
}

int64_t oci_arg_whole(const oci_call *call, int32_t arg, int64_t i)
{
    return call->args[arg].column.field->byte_width == 4 ? oci_arg_int32(call, arg, i)
                                                         : oci_arg_int64(call, arg, i);
}

oc_status oci_too_large(const char *function, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "%s: the result is out of range", function);
}

oc_status oci_outside(const char *function, double value, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL,
            "%s: %.17g is outside of what it is defined for, or its result is out "
            "of range",
            function, value);
}
