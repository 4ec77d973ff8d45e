/* Seekable files and pipes over bytes in memory, for tests of binary formats: what an input
 * holds is given, what is written is kept. */
#ifndef OUTCORE_TESTS_SUPPORT_BYTE_FILE_H
#define OUTCORE_TESTS_SUPPORT_BYTE_FILE_H

#include "base/io.h"

typedef struct byte_sink {
    uint8_t *data; /* malloc'ed */
    int64_t size;
    int64_t capacity;
} byte_sink;

/* An input of bytes[0..size), borrowed. `piece` 0: a file that can be read anywhere. Else a pipe
 * that gives at most `piece` bytes at a time. Running out of memory ends the program. Its name
 * is "memory". */
oci_file *byte_file_open(const uint8_t *bytes, int64_t size, int64_t piece);

/* An output that appends to `sink`, which is borrowed. */
oci_file *byte_file_create(byte_sink *sink);

#endif /* OUTCORE_TESTS_SUPPORT_BYTE_FILE_H */
