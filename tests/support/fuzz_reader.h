/* Reads any bytes as an Arrow IPC input, for fuzz targets. */
#ifndef OUTCORE_TESTS_SUPPORT_FUZZ_READER_H
#define OUTCORE_TESTS_SUPPORT_FUZZ_READER_H

#include <stddef.h>
#include <stdint.h>

/* `choice` says how: from a file or a pipe, at which limit (whole batches or slices), all columns or
 * one. Every value that comes is looked at; ends the program when anything stays charged. */
void fuzz_read_ipc(const uint8_t *data, size_t size, uint8_t choice);

#endif /* OUTCORE_TESTS_SUPPORT_FUZZ_READER_H */
