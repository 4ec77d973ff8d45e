/* The DELTA encodings; delta_decode.h describes the bytes. Blocks of 128 values in 4 miniblocks, as all writers make
 * them. */
#include "base/bits.h"
#include "formats/parquet/encode.h"

enum {
    BLOCK = 128,
    MINI = 32,
    N_MINIS = BLOCK / MINI,
    VARINT_BYTES_MAX = 10,
    HEADER_BYTES_MAX = 4 * VARINT_BYTES_MAX
};

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7) {
        *to++ = (uint8_t)(value | 0x80);
    }
    *to++ = (uint8_t)value;
    return to;
}

static uint64_t zigzag(int64_t value)
{
    return ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
}

static int64_t value_at(const uint8_t *values, int64_t i, int byte_width)
{
    return byte_width == 4 ? (int32_t)oci_load_le32(values + i * 4)
                           : (int64_t)oci_load_le64(values + i * 8);
}

/* 32 numbers of `width` bits: 4 * width bytes. */
static uint8_t *put_mini(uint8_t *to, const uint64_t *values, int width)
{
    uint64_t word = 0;
    int used = 0;
    for (int i = 0; i < MINI; i++) {
        word |= values[i] << used;
        used += width;
        if (used >= 64) {
            oci_store_le64(to, word);
            to += 8;
            used -= 64;
            word = used == 0 ? 0 : values[i] >> (width - used);
        }
    }
    if (used > 0) { /* 32: the width is odd */
        oci_store_le32(to, (uint32_t)word);
        to += 4;
    }
    return to;
}

/* One block: n <= 128 differences. Those behind n are made 0 here. */
static uint8_t *put_block(uint8_t *to, int64_t *deltas, int64_t n)
{
    int64_t min = deltas[0];
    for (int64_t i = 1; i < n; i++) {
        min = oci_min64(min, deltas[i]);
    }
    uint64_t above[BLOCK] = {0};
    for (int64_t i = 0; i < n; i++) {
        above[i] = (uint64_t)deltas[i] - (uint64_t)min;
    }
    to = put_varint(to, zigzag(min));
    uint8_t *widths = to;
    to += N_MINIS;
    for (int m = 0; m < N_MINIS; m++) {
        uint64_t all = 0;
        for (int i = 0; i < MINI; i++) {
            all |= above[m * MINI + i];
        }
        int width = all == 0 ? 0 : 64 - __builtin_clzll(all);
        widths[m] = (uint8_t)width;
        if (width > 0) {
            to = put_mini(to, above + (ptrdiff_t)m * MINI, width);
        }
    }
    return to;
}

oc_status oci_parquet_encode_delta(const void *values, int64_t n, int byte_width,
                                   oci_parquet_buffer *out, oc_error *err)
{
    /* Differences of 32-bit numbers wrap around at 32 bits, so that none takes more. */
    int64_t blocks = n / BLOCK + 1;
    OC_TRY(oci_parquet_buffer_reserve(
        out, HEADER_BYTES_MAX + blocks * (VARINT_BYTES_MAX + N_MINIS + (int64_t)BLOCK * byte_width),
        err));
    uint8_t *to = out->data + out->length;
    int64_t last = n > 0 ? value_at(values, 0, byte_width) : 0;
    to = put_varint(to, BLOCK);
    to = put_varint(to, N_MINIS);
    to = put_varint(to, (uint64_t)n);
    to = put_varint(to, zigzag(last));
    int64_t deltas[BLOCK];
    for (int64_t start = 1; start < n; start += BLOCK) {
        int64_t here = oci_min64(n - start, BLOCK);
        for (int64_t i = 0; i < here; i++) {
            int64_t value = value_at(values, start + i, byte_width);
            int64_t delta = (int64_t)((uint64_t)value - (uint64_t)last);
            deltas[i] = byte_width == 4 ? (int32_t)(uint32_t)delta : delta;
            last = value;
        }
        to = put_block(to, deltas, here);
    }
    out->length = to - out->data;
    return OC_OK;
}

oc_status oci_parquet_encode_delta_lengths(const oci_parquet_strings *strings,
                                           oci_parquet_buffer *out, oc_error *err)
{
    int64_t length = out->length;
    OC_TRY(oci_parquet_encode_delta(strings->lengths, strings->n, sizeof(int32_t), out, err));
    oc_status status = oci_parquet_buffer_append(out, strings->bytes, strings->n_bytes, err);
    if (status != OC_OK) {
        out->length = length;
    }
    return status;
}

/* ---- DELTA_BYTE_ARRAY ------------------------------------------------------------------------ */

static int32_t shared_prefix(const uint8_t *a, int32_t a_length, const uint8_t *b, int32_t b_length)
{
    int32_t most = a_length < b_length ? a_length : b_length;
    int32_t i = 0;
    for (; i + 8 <= most; i += 8) {
        uint64_t differ = oci_load_le64(a + i) ^ oci_load_le64(b + i);
        if (differ != 0) {
            return i + __builtin_ctzll(differ) / 8;
        }
    }
    while (i < most && a[i] == b[i]) {
        i++;
    }
    return i;
}

/* Where the comparing of values with the one before stands. */
typedef struct front {
    const uint8_t *before;
    const uint8_t *at;
    int32_t before_length;
} front;

static int32_t next_shared(front *f, int32_t length)
{
    int32_t shared = shared_prefix(f->before, f->before_length, f->at, length);
    f->before = f->at;
    f->before_length = length;
    f->at += length;
    return shared;
}

int64_t oci_parquet_shared_bytes(const oci_parquet_strings *strings)
{
    front f = {.before = strings->bytes, .at = strings->bytes};
    int64_t total = 0;
    for (int64_t i = 0; i < strings->n; i++) {
        total += next_shared(&f, strings->lengths[i]);
    }
    return total;
}

static oc_status encode_front(const oci_parquet_strings *strings, int32_t *prefixes,
                              int32_t *suffixes, oci_parquet_buffer *out, oc_error *err)
{
    front f = {.before = strings->bytes, .at = strings->bytes};
    int64_t shared = 0;
    for (int64_t i = 0; i < strings->n; i++) {
        prefixes[i] = next_shared(&f, strings->lengths[i]);
        suffixes[i] = strings->lengths[i] - prefixes[i];
        shared += prefixes[i];
    }
    OC_TRY(oci_parquet_encode_delta(prefixes, strings->n, sizeof(int32_t), out, err));
    OC_TRY(oci_parquet_encode_delta(suffixes, strings->n, sizeof(int32_t), out, err));
    OC_TRY(oci_parquet_buffer_reserve(out, strings->n_bytes - shared, err));
    const uint8_t *from = strings->bytes;
    for (int64_t i = 0; i < strings->n; i++) {
        from += prefixes[i];
        if (suffixes[i] > 0) {
            memcpy(out->data + out->length, from, (size_t)suffixes[i]);
        }
        from += suffixes[i];
        out->length += suffixes[i];
    }
    return OC_OK;
}

oc_status oci_parquet_encode_front(const oci_parquet_strings *strings, oci_parquet_buffer *out,
                                   oc_error *err)
{
    int64_t bytes = 2 * strings->n * (int64_t)sizeof(int32_t);
    int64_t length = out->length;
    void *scratch;
    OC_TRY(oci_mem_alloc(out->mem, bytes, &scratch, err));
    int32_t *prefixes = scratch;
    oc_status status = encode_front(strings, prefixes, prefixes + strings->n, out, err);
    oci_mem_free(out->mem, scratch, bytes);
    if (status != OC_OK) {
        out->length = length;
    }
    return status;
}
