/* Choosing how a vector of integers is stored: what each kind would take for a sample. */
#ifndef OUTCORE_ENCODING_INT_CHOOSE_H
#define OUTCORE_ENCODING_INT_CHOOSE_H

#include "encoding/int_format.h"

typedef struct oci_int_choice {
    oci_int_kind kind; /* not OCI_INT_CONSTANT: that shows when all values were seen */
    uint64_t scale;    /* 0 = none */
} oci_int_choice;

/* Kinds that were found not to work for this vector. */
typedef struct oci_int_excluded {
    bool kinds[OCI_INT_KINDS];
    bool scale;
} oci_int_excluded;

/* Chooses for a source of at least one value. */
oci_int_choice oci_int_choose(const oci_int_source *source, const oci_int_excluded *excluded);

#endif /* OUTCORE_ENCODING_INT_CHOOSE_H */
