#include "support/batch_maker.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

oci_schema *make_schema(const char *const *columns, int32_t n_columns)
{
    struct ArrowSchema c_schema;
    oci_schema *schema = NULL;
    oc_error err = {0};
    arrow_make_schema(columns, n_columns, &c_schema);
    if (oci_schema_import(&c_schema, &schema, &err) != OC_OK) {
        fail_msg("could not make a schema: %s", err.message);
    }
    c_schema.release(&c_schema);
    return schema;
}

oci_batch *make_batch(const char *const *columns, int32_t n_columns, const arrow_maker *maker)
{
    oci_schema *schema = make_schema(columns, n_columns);
    struct ArrowArray array;
    oci_batch *batch = NULL;
    oc_error err = {0};
    arrow_make_array(columns, n_columns, maker, &array);
    if (oci_batch_import(&array, schema, &batch, &err) != OC_OK ||
        oci_batch_validate(batch, &err) != OC_OK) {
        fail_msg("could not make a batch: %s", err.message);
    }
    oci_schema_release(schema);
    return batch;
}

oci_batch *make_column_batch(const char *format, const arrow_maker *maker)
{
    char text[4096];
    const char *columns[1] = {text};
    snprintf(text, sizeof text, "a=%s", format);
    return make_batch(columns, 1, maker);
}
