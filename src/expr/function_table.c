/* See function.h: all tables, in the order in which they are asked. */
#include "expr/function_table.h"

const oci_function *const oci_function_tables[] = {
    oci_functions_arithmetic, oci_functions_compare,
    oci_functions_text,       oci_functions_join,
    oci_functions_match,      oci_functions_regex,
    oci_functions_round,      oci_functions_integer,
    oci_functions_math,       oci_functions_time,
    oci_functions_calendar,   oci_functions_format,
    oci_functions_list,       oci_functions_list_make,
    oci_functions_misc,       NULL,
};
