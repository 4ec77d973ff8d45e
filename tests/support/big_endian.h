/* Makes big-endian Arrow IPC input for tests out of little-endian one, since nothing here writes
 * it: the schema says so, and the numbers in every body are turned. */
#ifndef OUTCORE_TESTS_SUPPORT_BIG_ENDIAN_H
#define OUTCORE_TESTS_SUPPORT_BIG_ENDIAN_H

#include "support/byte_file.h"

/* `in`: a stream or file as our writer writes it, compressed or not. The caller frees out->data.
 * Failures end the program. */
void big_endian_copy(const byte_sink *in, byte_sink *out);

#endif /* OUTCORE_TESTS_SUPPORT_BIG_ENDIAN_H */
