/* Scratch of the string encoder. */
#ifndef OUTCORE_ENCODING_STRING_DICTIONARY_H
#define OUTCORE_ENCODING_STRING_DICTIONARY_H

#include "encoding/string_vector.h"

/* A distinct string. */
typedef struct oci_string_entry {
    uint32_t start; /* its bytes in those of the dictionary; the next entry begins where it ends */
    uint32_t row;   /* where it was first seen */
} oci_string_entry;

/* One block; the arrays lie behind the struct. */
struct oci_string_scratch {
    int64_t size; /* of the block */
    int64_t rows;
    int64_t max_entries;
    int64_t max_slots;
    oci_string_entry *entries; /* max_entries + 1 */
    uint16_t *slots;           /* code + 1 of the string that hashes there, 0 = free */
    uint16_t *numbers;         /* one per row: codes, or lengths shared with the string before */
};

#endif /* OUTCORE_ENCODING_STRING_DICTIONARY_H */
