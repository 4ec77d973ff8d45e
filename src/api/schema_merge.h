/* Files that are read together and do not have quite the same columns. */
#ifndef OUTCORE_API_SCHEMA_MERGE_H
#define OUTCORE_API_SCHEMA_MERGE_H

#include "api/context.h"

/* A schema that holds the rows of both, without loss: columns by name in the order of `a`; types widen
 *
 *   integers     to the wider one, unsigned to a signed one that holds them
 *   floats       to the wider one; integers up to 32 bits to float64
 *   decimals     of the same scale to more digits
 *   texts        to large ones, and binary
 *   null         to anything
 *
 * A column that only one of them has is null for the rows of the other. OC_EDATA: types that clash, with both names and
 * files. *out may be `a` itself, retained. */
OC_NODISCARD oc_status oci_schema_merge(oci_schema *a, const char *a_path, const oci_schema *b,
                                        const char *b_path, oci_schema **out, oc_error *err);

/* Equal names and types in the same order. */
bool oci_schema_has_same_types(const oci_schema *a, const oci_schema *b);

/* Rows of `stream` as those of `schema`, made by merging its own with others: columns cast, missing ones null. Takes the
 * stream, also on failure. */
OC_NODISCARD oc_status oci_schema_adapt(oc_context *context, oci_stream *stream, oci_schema *schema,
                                        oci_stream **out, oc_error *err);

#endif /* OUTCORE_API_SCHEMA_MERGE_H */
