/* The loops of bit_pack.h for AVX2. CMakeLists.txt compiles this file with -mavx2; nothing in it may
 * be called before the processor was asked. */
#include "encoding/bit_pack_variants.h"

#ifdef __AVX2__
#define OCI_PACK_NAME(call) oci_bit_##call##_page_avx2
#define OCI_PACK_VECTOR     32
#include "encoding/bit_pack_kernel.h"
#endif
