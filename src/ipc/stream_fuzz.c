/* libFuzzer target: any bytes as an Arrow IPC stream (or file, when they look like one). The last
 * byte chooses how they are read (tests/support/fuzz_reader.h). */
#include "support/fuzz_reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 0) {
        fuzz_read_ipc(data, size - 1, data[size - 1]);
    }
    return 0;
}
