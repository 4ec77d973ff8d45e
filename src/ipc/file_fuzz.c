/* libFuzzer target: the inside of an Arrow IPC file. The magic at both ends and the length of the
 * footer are put right, so that every input gets as far as the footer. The input is the file from
 * behind its first magic to before its last one; the byte behind that chooses how it is read
 * (tests/support/fuzz_reader.h). */
#include <stdlib.h>
#include <string.h>

#include "ipc/message.h"
#include "support/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t inside = size - 1;
    uint8_t *file = malloc(inside + (size_t)2 * OCI_IPC_MAGIC_BYTES);
    if (file == NULL) {
        return 0;
    }
    memcpy(file, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES);
    memcpy(file + OCI_IPC_MAGIC_BYTES, data, inside);
    memcpy(file + OCI_IPC_MAGIC_BYTES + inside, OCI_IPC_MAGIC, OCI_IPC_MAGIC_BYTES);
    /* A footer length that passes the beginning is cut to what there is. */
    if (inside >= 8) {
        uint32_t length;
        memcpy(&length, file + OCI_IPC_MAGIC_BYTES + inside - 4, 4);
        if (length > inside - 6) {
            length = (uint32_t)(length % (inside - 5));
            memcpy(file + OCI_IPC_MAGIC_BYTES + inside - 4, &length, 4);
        }
    }
    fuzz_read_ipc(file, inside + (size_t)2 * OCI_IPC_MAGIC_BYTES, data[inside]);
    free(file);
    return 0;
}
