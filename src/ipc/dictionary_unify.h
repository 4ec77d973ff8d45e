/* One dictionary for a column over all batches of a file.
 *
 * Batches come with dictionaries of their own; the file format can only extend a dictionary. So
 * the values seen so far are kept, found again by hash, and numbered in the order in which they
 * were first used; indices are translated to these numbers. Values are told apart bit for bit;
 * null is a value like any other. */
#ifndef OUTCORE_IPC_DICTIONARY_UNIFY_H
#define OUTCORE_IPC_DICTIONARY_UNIFY_H

#include "arrow/batch.h"

typedef struct oci_unify oci_unify;

/* `field` is a dictionary field; borrowed. All memory comes from `mem`. */
OC_NODISCARD oc_status oci_unify_create(const oci_field *field, oci_mem *mem, oci_unify **out,
                                        oc_error *err);
void oci_unify_destroy(oci_unify *unify); /* NULL is fine */

/* Translates the indices of a column, values plain or in working form, into `indices`
 * (column->length values of the index width; 0 for nulls). OC_EUNSUPPORTED when there are more
 * values than the index type can number. After a failure only destroy() is useful. */
OC_NODISCARD oc_status oci_unify_add(oci_unify *unify, const oci_column *column, uint8_t *indices,
                                     oc_error *err);

/* The values that came since the last call, in their order: batches of one column of the working
 * form of the value type, borrowed until destroy(). After the first add() there is at least one,
 * without rows if need be, because a reader wants a dictionary. Returns how many. */
int64_t oci_unify_fresh(oci_unify *unify, oci_batch *const **out);

/* Schema of one column of the value type, as announced; borrowed. */
oci_schema *oci_unify_schema(const oci_unify *unify);

#endif /* OUTCORE_IPC_DICTIONARY_UNIFY_H */
