/* The table that finds the distinct strings of a block and numbers them in the order they are first
 * seen. Their bytes go straight to where the dictionary is stored, and are compared there: they lie
 * close together, whatever the column looks like. */
#ifndef OUTCORE_ENCODING_STRING_DICTIONARY_H
#define OUTCORE_ENCODING_STRING_DICTIONARY_H

#include "encoding/string_source.h"
#include "encoding/string_vector.h"

/* A distinct string. */
typedef struct oci_string_entry {
    uint32_t start; /* its bytes in those of the dictionary; the next entry begins where it ends */
    uint32_t row;   /* where it was first seen */
} oci_string_entry;

/* One of the first strings of a dictionary, if it is short, as the words that it is compared by. */
typedef struct oci_string_known {
    uint64_t head[2];
    uint64_t tail[2];
    uint64_t length;
} oci_string_known;

#define OCI_STRING_KNOWN_MAX 256

/* One block; the arrays lie behind the struct. */
struct oci_string_scratch {
    int64_t size; /* of the block */
    int64_t rows;
    int64_t max_entries;
    int max_bits;              /* 2^max_bits slots */
    oci_string_entry *entries; /* max_entries + 1: the last one is an end */
    uint16_t *slots;           /* code + 1 of the string that hashes there, 0 = free */
    uint16_t *numbers;         /* one per row: codes, or lengths shared with the string before */
    uint64_t keys[OCI_STRING_KNOWN_MAX]; /* of the first strings: up to 7 bytes and the length */
    oci_string_known known[OCI_STRING_KNOWN_MAX];
};

typedef struct oci_string_table {
    oci_string_scratch *scratch;
    const oci_string_source *source;
    uint8_t *bytes; /* of the distinct strings; OCI_STRING_ROOM bytes behind `room` are ours too */
    int64_t room;
    int64_t size;
    int64_t n;           /* distinct strings */
    int64_t max;         /* of them */
    int64_t value_bytes; /* of all strings so far, distinct or not */
    int bits;            /* 2^bits slots in use */
    int shift;           /* from hashes to slots */
    uint64_t mask;
    int64_t patience; /* what may still be spent on strings that look alike */
} oci_string_table;

void oci_string_table_init(oci_string_table *table, oci_string_scratch *scratch,
                           const oci_string_source *source, uint8_t *bytes, int64_t room);

/* Codes of the strings [start, start + n), n <= OCI_STRING_STAGE. False when there are more distinct
 * strings, or more bytes of them, than there is room for, or telling them apart takes too long. */
bool oci_string_table_add(oci_string_table *table, int64_t start, int64_t n, uint16_t *codes);

/* Most distinct strings that the table of `rows` rows takes. */
int64_t oci_string_table_entries(int64_t rows);

static inline int64_t oci_string_table_length(const oci_string_table *table, int64_t code)
{
    const oci_string_entry *entry = &table->scratch->entries[code];
    return (int64_t)entry[1].start - (int64_t)entry->start;
}

#endif /* OUTCORE_ENCODING_STRING_DICTIONARY_H */
