/* Decoders of levels and values: the examples of the format's description byte for byte, round trips with the
 * encoders in steps of any size, and bytes that end or lie. Every input lies in a block of its exact size, so that
 * the address sanitizer sees a byte read too much. */
#include "formats/parquet/decode.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bits.h"
#include "formats/parquet/encode.h"
#include "formats/parquet/level_decode.h"

static oci_budget *budget;
static oci_mem *mem;

static int open_memory(void **state)
{
    (void)state;
    assert_int_equal(oci_budget_create(64 << 20, NULL, &budget, NULL), OC_OK);
    assert_int_equal(oci_mem_open(budget, "test", &mem, NULL), OC_OK);
    return 0;
}

static int close_memory(void **state)
{
    (void)state;
    assert_int_equal(oci_mem_held(mem), 0);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}

static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* A block of exactly `size` bytes. */
static uint8_t *exact(const void *data, int64_t size)
{
    uint8_t *block = malloc(size == 0 ? 1 : (size_t)size);
    assert_non_null(block);
    if (size > 0) {
        memcpy(block, data, (size_t)size);
    }
    return size == 0 ? block + 1 : block;
}

static void free_exact(uint8_t *block, int64_t size)
{
    free(size == 0 ? block - 1 : block);
}

/* ---- bit packing, hybrid --------------------------------------------------------------------- */

static void every_width_unpacks_from_any_number_on(void **state)
{
    (void)state;
    enum { N = 150 };
    uint64_t random = 1;
    for (int width = 0; width <= 64; width++) {
        uint64_t values[N];
        int64_t size = oci_bytes_for_bits((int64_t)N * width);
        uint8_t packed[N * 8 + 8] = {0};
        for (int i = 0; i < N; i++) {
            values[i] = next_random(&random) & oci_low_mask(width);
            oci_bits_store(packed, (int64_t)i * width, values[i], width);
        }
        uint8_t *in = exact(packed, size);
        for (int first = 0; first < 40; first++) {
            for (int n = 0; n <= N - first; n += 1 + n / 7) {
                uint64_t wide[N];
                uint32_t narrow[N];
                oci_parquet_unpack64(in, in + size, first, width, n, wide);
                assert_memory_equal(wide, values + first, (size_t)n * 8);
                if (width <= 32) {
                    oci_parquet_unpack32(in, in + size, first, width, n, narrow);
                    for (int i = 0; i < n; i++) {
                        assert_int_equal(narrow[i], values[first + i]);
                    }
                }
            }
        }
        free_exact(in, size);
    }
}

/* Numbers below 2^width: stretches of noise and runs. */
static void fill_numbers(uint32_t *values, int64_t n, int width, uint64_t seed)
{
    uint64_t random = seed * 77 + 1;
    for (int64_t i = 0; i < n;) {
        int64_t stretch = (int64_t)(next_random(&random) % 60);
        bool is_run = next_random(&random) % 2 == 0;
        uint32_t value = (uint32_t)(next_random(&random) & oci_low_mask(width));
        for (; stretch >= 0 && i < n; stretch--, i++) {
            values[i] = value;
            if (!is_run) {
                value = (uint32_t)(next_random(&random) & oci_low_mask(width));
            }
        }
    }
}

static void hybrid_of_every_width_comes_back_in_steps_of_any_size(void **state)
{
    (void)state;
    enum { N = 1000 };
    static const int steps[] = {1, 3, 8, 100, N};
    for (int width = 0; width <= 32; width++) {
        uint32_t values[N];
        uint32_t back[N];
        oci_parquet_buffer out = {.mem = mem};
        fill_numbers(values, N, width, (uint64_t)width);
        assert_int_equal(oci_parquet_encode_hybrid(values, N, width, &out, NULL), OC_OK);
        uint8_t *in = exact(out.data, out.length);
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            oci_parquet_hybrid h;
            assert_int_equal(oci_parquet_hybrid_init(&h, in, out.length, width, NULL), OC_OK);
            for (int at = 0; at < N; at += 2 * steps[s]) {
                int n = oci_min64(steps[s], N - at);
                assert_int_equal(oci_parquet_hybrid_read(&h, n, back, NULL), OC_OK);
                assert_memory_equal(back, values + at, (size_t)n * 4);
                n = oci_max64(0, oci_min64(steps[s], N - at - n));
                assert_int_equal(oci_parquet_hybrid_skip(&h, n, NULL), OC_OK);
            }
        }
        free_exact(in, out.length);
        oci_parquet_buffer_free(&out);
    }
}

static void hybrid_takes_the_bytes_of_the_format_s_examples(void **state)
{
    (void)state;
    static const uint8_t packed[] = {0x03, 0x88, 0xC6, 0xFA}; /* 0 to 7 in 3 bits */
    static const uint8_t run[] = {0xC8, 0x01, 0x34, 0x12};    /* 100 times 0x1234 */
    uint32_t back[100];
    oci_parquet_hybrid h;
    assert_int_equal(oci_parquet_hybrid_init(&h, packed, 4, 3, NULL), OC_OK);
    assert_int_equal(oci_parquet_hybrid_read(&h, 8, back, NULL), OC_OK);
    for (uint32_t i = 0; i < 8; i++) {
        assert_int_equal(back[i], i);
    }
    assert_int_equal(oci_parquet_hybrid_read(&h, 1, back, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_hybrid_init(&h, run, 4, 13, NULL), OC_OK);
    assert_int_equal(oci_parquet_hybrid_read(&h, 100, back, NULL), OC_OK);
    assert_int_equal(back[0], 0x1234);
    assert_int_equal(back[99], 0x1234);
    assert_int_equal(oci_parquet_hybrid_read(&h, 1, back, NULL), OC_EDATA);
}

static void hybrid_that_ends_early_or_lies_is_refused(void **state)
{
    (void)state;
    enum { N = 300, WIDTH = 11 };
    uint32_t values[N];
    uint32_t back[N];
    oci_parquet_hybrid h;
    oci_parquet_buffer out = {.mem = mem};
    fill_numbers(values, N, WIDTH, 5);
    assert_int_equal(oci_parquet_encode_hybrid(values, N, WIDTH, &out, NULL), OC_OK);
    for (int64_t cut = 0; cut < out.length; cut++) {
        uint8_t *in = exact(out.data, cut);
        assert_int_equal(oci_parquet_hybrid_init(&h, in, cut, WIDTH, NULL), OC_OK);
        oc_status status = oci_parquet_hybrid_read(&h, N, back, NULL);
        /* Of the last group's eight numbers some are filling. */
        assert_true(status == OC_EDATA || cut > out.length - WIDTH);
        free_exact(in, cut);
    }
    oci_parquet_buffer_free(&out);
    static const uint8_t wide[] = {0x02, 0xFF}; /* a run of 255 in 7 bits */
    static const uint8_t endless[] = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01};
    static const uint8_t nothing[] = {0x00, 0x00, 0x01, 0x00};
    assert_int_equal(oci_parquet_hybrid_init(&h, wide, 2, 7, NULL), OC_OK);
    assert_int_equal(oci_parquet_hybrid_read(&h, 1, back, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_hybrid_init(&h, endless, 6, 1, NULL), OC_OK);
    assert_int_equal(oci_parquet_hybrid_read(&h, 1, back, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_hybrid_init(&h, nothing, 4, 1, NULL), OC_OK);
    assert_int_equal(oci_parquet_hybrid_read(&h, 1, back, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_hybrid_init(&h, nothing, 4, 33, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_hybrid_init(&h, nothing, 4, -1, NULL), OC_EDATA);
}

/* ---- levels ---------------------------------------------------------------------------------- */

static void bit_packed_levels_count_from_the_highest_bit(void **state)
{
    (void)state;
    static const uint8_t example[] = {0x05, 0x39, 0x77}; /* 0 to 7 in 3 bits */
    uint8_t back[8];
    int64_t used;
    oci_parquet_levels l;
    for (int first = 0; first < 8; first++) {
        uint8_t *in = exact(example, 3);
        assert_int_equal(
            oci_parquet_levels_init_v1(&l, OCI_PARQUET_BIT_PACKED, 7, 8, in, 3, &used, NULL),
            OC_OK);
        assert_int_equal(used, 3);
        assert_int_equal(oci_parquet_levels_skip(&l, first, NULL), OC_OK);
        assert_int_equal(oci_parquet_levels_read(&l, 8 - first, back, NULL), OC_OK);
        for (int i = first; i < 8; i++) {
            assert_int_equal(back[i - first], i);
        }
        assert_int_equal(oci_parquet_levels_read(&l, 1, back, NULL), OC_EDATA);
        free_exact(in, 3);
    }
    assert_int_equal(
        oci_parquet_levels_init_v1(&l, OCI_PARQUET_BIT_PACKED, 7, 9, example, 3, &used, NULL),
        OC_EDATA);
    assert_int_equal(
        oci_parquet_levels_init_v1(&l, OCI_PARQUET_BIT_PACKED, 5, 8, example, 3, &used, NULL),
        OC_OK);
    assert_int_equal(oci_parquet_levels_read(&l, 8, back, NULL), OC_EDATA); /* 6 and 7 */
}

static void levels_come_back_as_bytes_and_as_bits(void **state)
{
    (void)state;
    enum { N = 20000 };
    static const int maxima[] = {1, 2, 3, 4, 7, 8, 130, 255};
    uint8_t *levels = malloc(N);
    uint8_t *back = malloc(N);
    assert_true(levels != NULL && back != NULL);
    for (size_t m = 0; m < sizeof maxima / sizeof maxima[0]; m++) {
        uint64_t random = 99;
        int max = maxima[m];
        int64_t n_set = 0;
        for (int i = 0; i < N; i++) { /* runs of any length, a long one in the middle */
            bool goes_on = i > 0 && next_random(&random) % 32 != 0;
            levels[i] = i > 3000 && i < 14000 ? (uint8_t)max
                        : goes_on             ? levels[i - 1]
                                  : (uint8_t)(next_random(&random) % (uint64_t)(max + 1));
            n_set += levels[i] != 0;
        }
        oci_parquet_buffer out = {.mem = mem};
        uint8_t size[4] = {0};
        int width = oci_parquet_bit_width((uint32_t)max);
        assert_int_equal(oci_parquet_buffer_append(&out, size, 4, NULL), OC_OK);
        assert_int_equal(oci_parquet_encode_levels(levels, N, width, &out, NULL), OC_OK);
        oci_store_le32(out.data, (uint32_t)(out.length - 4));
        oci_parquet_levels l;
        int64_t used;
        assert_int_equal(oci_parquet_levels_init_v1(&l, OCI_PARQUET_RLE, max, N, out.data,
                                                    out.length, &used, NULL),
                         OC_OK);
        assert_int_equal(used, out.length);
        for (int at = 0; at < N; at += 777) {
            int n = (int)oci_min64(777, N - at);
            assert_int_equal(oci_parquet_levels_read(&l, n, back + at, NULL), OC_OK);
        }
        assert_memory_equal(back, levels, N);
        assert_int_equal(oci_parquet_levels_init_v2(&l, max, out.data + 4, out.length - 4, NULL),
                         OC_OK);
        assert_int_equal(oci_parquet_levels_skip(&l, 5000, NULL), OC_OK);
        uint8_t level;
        int64_t n_equal;
        assert_int_equal(oci_parquet_levels_peek(&l, N, &level, &n_equal, NULL), OC_OK);
        assert_int_equal(level, max);
        assert_true(n_equal > 1000);
        for (int64_t i = 0; i < n_equal; i++) {
            assert_int_equal(levels[5000 + i], max);
        }
        if (max == 1) {
            int64_t set;
            uint8_t bits[N / 8 + 1];
            assert_int_equal(oci_parquet_levels_init_v2(&l, 1, out.data + 4, out.length - 4, NULL),
                             OC_OK);
            assert_int_equal(oci_parquet_levels_read_bits(&l, N, bits, 3, &set, NULL), OC_OK);
            assert_int_equal(set, n_set);
            for (int i = 0; i < N; i++) {
                assert_int_equal(oci_bit_get(bits, i + 3), levels[i]);
            }
        }
        oci_parquet_buffer_free(&out);
    }
    free(back);
    free(levels);
}

static void levels_above_the_maximum_and_sizes_beyond_the_page_are_refused(void **state)
{
    (void)state;
    static const uint8_t packed[] = {4, 0, 0, 0, 0x03, 0xFF, 0xFF, 0x00};
    static const uint8_t run[] = {2, 0, 0, 0, 0x10, 0x03};
    uint8_t back[8];
    int64_t used;
    oci_parquet_levels l;
    assert_int_equal(oci_parquet_levels_init_v1(&l, OCI_PARQUET_RLE, 2, 8, packed, 8, &used, NULL),
                     OC_OK);
    assert_int_equal(oci_parquet_levels_read(&l, 8, back, NULL), OC_EDATA);
    assert_int_equal(oci_parquet_levels_init_v1(&l, OCI_PARQUET_RLE, 2, 8, run, 6, &used, NULL),
                     OC_OK);
    assert_int_equal(oci_parquet_levels_read(&l, 8, back, NULL), OC_EDATA);
    for (int size = 0; size < 6; size++) {
        assert_int_equal(
            oci_parquet_levels_init_v1(&l, OCI_PARQUET_RLE, 2, 8, run, size, &used, NULL),
            OC_EDATA);
    }
    assert_int_equal(oci_parquet_levels_init_v1(&l, OCI_PARQUET_PLAIN, 2, 8, run, 6, &used, NULL),
                     OC_EDATA);
    assert_int_equal(oci_parquet_levels_init_v2(&l, 256, run, 6, NULL), OC_EUNSUPPORTED);
    assert_int_equal(oci_parquet_levels_init_v1(&l, OCI_PARQUET_RLE, 0, 8, NULL, 0, &used, NULL),
                     OC_OK);
    assert_int_equal(oci_parquet_levels_read(&l, 8, back, NULL), OC_OK); /* no levels: all 0 */
    assert_int_equal(back[7], 0);
}

/* ---- delta ----------------------------------------------------------------------------------- */

static void delta_takes_the_bytes_of_the_format_s_examples(void **state)
{
    (void)state;
    /* 7, 5, 3, 1, 2, 3, 4, 5 in blocks of 128 and 4 miniblocks: smallest step -2, steps above it of 2 bits. */
    static const uint8_t example[] = {0x80, 0x01, 0x04, 0x08, 0x0E, 0x03, 0x02, 0x00, 0x00,
                                      0x00, 0xC0, 0x3F, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00};
    static const int32_t values[] = {7, 5, 3, 1, 2, 3, 4, 5};
    int32_t back[8];
    const uint8_t *end;
    oci_parquet_delta d;
    uint8_t *in = exact(example, sizeof example);
    assert_int_equal(oci_parquet_delta_init(&d, in, sizeof example, 32, NULL), OC_OK);
    assert_int_equal(oci_parquet_delta_end(&d, &end, NULL), OC_OK);
    assert_int_equal(end - in, sizeof example);
    assert_int_equal(oci_parquet_delta_read32(&d, 8, back, NULL), OC_OK);
    assert_memory_equal(back, values, sizeof values);
    assert_int_equal(oci_parquet_delta_read32(&d, 1, back, NULL), OC_EDATA);
    free_exact(in, sizeof example);
    oci_parquet_buffer out = {.mem = mem};
    assert_int_equal(oci_parquet_encode_delta(values, 8, 4, &out, NULL), OC_OK);
    assert_int_equal(out.length, sizeof example);
    assert_memory_equal(out.data, example, sizeof example);
    oci_parquet_buffer_free(&out);
}

/* Numbers of kind 0: steps of one, 1: noise below 1000, 2: noise of all bits, 3: the ends of the range in turn,
 * 4: equal ones. */
static void fill_kind(int64_t *values, int64_t n, int kind)
{
    uint64_t random = 4711;
    for (int64_t i = 0; i < n; i++) {
        switch (kind) {
        case 0: values[i] = 1000 + i; break;
        case 1: values[i] = (int64_t)(next_random(&random) % 1000) - 500; break;
        case 2: values[i] = (int64_t)next_random(&random); break;
        case 3: values[i] = i % 2 == 0 ? INT64_MIN : INT64_MAX; break;
        default: values[i] = -7; break;
        }
    }
}

static void delta_comes_back_in_steps_of_any_size(void **state)
{
    (void)state;
    enum { N = 1000 };
    static const int sizes[] = {0, 1, 2, 32, 33, 128, 129, 130, 257, N};
    static const int steps[] = {1, 7, 32, 128, N};
    int64_t values[N];
    int32_t narrow[N];
    int64_t back[N];
    int32_t narrow_back[N];
    for (int c = 0; c < 5 * 10 * 5; c++) {
        int n = sizes[c / 5 % 10];
        int step = steps[c / 50];
        oci_parquet_buffer out = {.mem = mem};
        oci_parquet_buffer out32 = {.mem = mem};
        const uint8_t *end;
        fill_kind(values, n, c % 5);
        for (int i = 0; i < n; i++) {
            narrow[i] = (int32_t)(values[i] >> (c % 5 == 3 ? 32 : 0));
        }
        assert_int_equal(oci_parquet_encode_delta(values, n, 8, &out, NULL), OC_OK);
        assert_int_equal(oci_parquet_encode_delta(narrow, n, 4, &out32, NULL), OC_OK);
        uint8_t *in = exact(out.data, out.length);
        uint8_t *in32 = exact(out32.data, out32.length);
        oci_parquet_delta d;
        oci_parquet_delta d32;
        assert_int_equal(oci_parquet_delta_init(&d, in, out.length, 64, NULL), OC_OK);
        assert_int_equal(oci_parquet_delta_init(&d32, in32, out32.length, 32, NULL), OC_OK);
        assert_int_equal(d.n_left, n);
        for (int at = 0; at < n; at += step) {
            int here = (int)oci_min64(step, n - at);
            assert_int_equal(oci_parquet_delta_end(&d, &end, NULL), OC_OK);
            assert_ptr_equal(end, in + out.length);
            if (at / step % 3 == 2) {
                assert_int_equal(oci_parquet_delta_skip(&d, here, NULL), OC_OK);
                memcpy(back + at, values + at, (size_t)here * 8);
            } else {
                assert_int_equal(oci_parquet_delta_read64(&d, here, back + at, NULL), OC_OK);
            }
            assert_int_equal(oci_parquet_delta_read32(&d32, here, narrow_back + at, NULL), OC_OK);
        }
        assert_memory_equal(back, values, (size_t)n * 8);
        assert_memory_equal(narrow_back, narrow, (size_t)n * 4);
        assert_int_equal(oci_parquet_delta_read64(&d, 1, back, NULL), OC_EDATA);
        free_exact(in, out.length);
        free_exact(in32, out32.length);
        oci_parquet_buffer_free(&out);
        oci_parquet_buffer_free(&out32);
    }
}

static void delta_of_other_block_shapes_is_read(void **state)
{
    (void)state;
    /* One block of 256 in 2 miniblocks of 128 numbers: 1 + steps of 3 (width 2 above 0) for the first 128. */
    uint8_t bytes[64] = {0x80, 0x02, 0x02, 0x81, 0x01, 0x02, 0x00, 0x02, 0xFF};
    int64_t back[129];
    oci_parquet_delta d;
    memset(bytes + 9, 0xFF, 32);
    uint8_t *in = exact(bytes, 9 + 32);
    assert_int_equal(oci_parquet_delta_init(&d, in, 9 + 32, 64, NULL), OC_OK);
    assert_int_equal(oci_parquet_delta_read64(&d, 129, back, NULL), OC_OK);
    for (int i = 0; i < 129; i++) {
        assert_int_equal(back[i], 1 + 3 * i);
    }
    free_exact(in, 9 + 32);
}

static void delta_that_ends_early_or_lies_is_refused(void **state)
{
    (void)state;
    enum { N = 300 };
    int64_t values[N];
    int64_t back[N];
    const uint8_t *end;
    oci_parquet_delta d;
    oci_parquet_buffer out = {.mem = mem};
    fill_kind(values, N, 1);
    assert_int_equal(oci_parquet_encode_delta(values, N, 8, &out, NULL), OC_OK);
    for (int64_t cut = 0; cut < out.length; cut++) {
        uint8_t *in = exact(out.data, cut);
        if (oci_parquet_delta_init(&d, in, cut, 64, NULL) == OC_OK) {
            assert_int_equal(oci_parquet_delta_end(&d, &end, NULL), OC_EDATA);
            oc_status status = oci_parquet_delta_read64(&d, N, back, NULL);
            assert_true(status == OC_EDATA || cut > out.length - 32 * 11 / 8);
        }
        free_exact(in, cut);
    }
    oci_parquet_buffer_free(&out);
    static const struct {
        uint8_t bytes[16];
        int size;
    } lies[] = {
        {{0x00, 0x04, 0x01, 0x00}, 4},                               /* blocks of nothing */
        {{0x80, 0x01, 0x00, 0x01, 0x00}, 5},                         /* no miniblocks */
        {{0x80, 0x01, 0x03, 0x01, 0x00}, 5},                         /* 128 / 3 */
        {{0x80, 0x01, 0x08, 0x01, 0x00}, 5},                         /* 16 a miniblock */
        {{0x80, 0x01, 0x04, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0x00}, 9}, /* 2^32 - 1 values */
        {{0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}, 11},
    };
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        uint8_t *in = exact(lies[i].bytes, lies[i].size);
        assert_int_equal(oci_parquet_delta_init(&d, in, lies[i].size, 64, NULL), OC_EDATA);
        free_exact(in, lies[i].size);
    }
    static const uint8_t wide[] = {0x80, 0x01, 0x04, 0x02, 0x00, 0x00, 0x21, 0, 0, 0, 0, 0, 0, 0};
    assert_int_equal(oci_parquet_delta_init(&d, wide, sizeof wide, 32, NULL), OC_OK);
    assert_int_equal(oci_parquet_delta_read64(&d, 2, back, NULL), OC_EDATA); /* 33 bits */
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Fixed values of a page in each encoding they can have. */
typedef struct fixed_case {
    oci_parquet_type type;
    int32_t length;
    oci_parquet_encoding encoding;
} fixed_case;

static const fixed_case fixed_cases[] = {
    {OCI_PARQUET_INT32, 0, OCI_PARQUET_PLAIN},
    {OCI_PARQUET_INT64, 0, OCI_PARQUET_PLAIN},
    {OCI_PARQUET_INT96, 0, OCI_PARQUET_PLAIN},
    {OCI_PARQUET_FIXED, 5, OCI_PARQUET_PLAIN},
    {OCI_PARQUET_FIXED, 0, OCI_PARQUET_PLAIN},
    {OCI_PARQUET_INT32, 0, OCI_PARQUET_RLE_DICTIONARY},
    {OCI_PARQUET_DOUBLE, 0, OCI_PARQUET_PLAIN_DICTIONARY},
    {OCI_PARQUET_INT96, 0, OCI_PARQUET_RLE_DICTIONARY},
    {OCI_PARQUET_FIXED, 16, OCI_PARQUET_RLE_DICTIONARY},
    {OCI_PARQUET_FIXED, 7, OCI_PARQUET_RLE_DICTIONARY},
    {OCI_PARQUET_INT32, 0, OCI_PARQUET_DELTA_BINARY_PACKED},
    {OCI_PARQUET_INT64, 0, OCI_PARQUET_DELTA_BINARY_PACKED},
    {OCI_PARQUET_FIXED, 3, OCI_PARQUET_DELTA_BYTE_ARRAY},
    {OCI_PARQUET_FLOAT, 0, OCI_PARQUET_BYTE_STREAM_SPLIT},
    {OCI_PARQUET_INT64, 0, OCI_PARQUET_BYTE_STREAM_SPLIT},
    {OCI_PARQUET_FIXED, 2, OCI_PARQUET_BYTE_STREAM_SPLIT},
    {OCI_PARQUET_FIXED, 11, OCI_PARQUET_BYTE_STREAM_SPLIT},
};
enum { N_FIXED_CASES = sizeof fixed_cases / sizeof fixed_cases[0], N_FIXED = 1500, N_PICKED = 37 };

/* Values of one case: as they are, as a page and, where it has one, as a dictionary. */
typedef struct fixed_page {
    int32_t width;
    uint8_t *values;
    oci_parquet_buffer page;
    oci_parquet_dictionary *dictionary;
} fixed_page;

static void make_dictionary_page(const fixed_case *c, fixed_page *p)
{
    uint32_t indices[N_FIXED];
    uint8_t width = (uint8_t)oci_parquet_bit_width(N_PICKED - 1);
    fill_numbers(indices, N_FIXED, 5, 3);
    assert_int_equal(oci_parquet_dictionary_create(c->type, c->length, p->values,
                                                   (int64_t)N_PICKED * p->width, N_PICKED, mem,
                                                   &p->dictionary, NULL),
                     OC_OK);
    for (int i = N_PICKED; i < N_FIXED; i++) {
        memcpy(p->values + i * p->width, p->values + indices[i] * (uint32_t)p->width,
               (size_t)p->width);
    }
    for (uint32_t i = 0; i < N_PICKED; i++) {
        indices[i] = i;
    }
    assert_int_equal(oci_parquet_buffer_append(&p->page, &width, 1, NULL), OC_OK);
    assert_int_equal(oci_parquet_encode_hybrid(indices, N_FIXED, width, &p->page, NULL), OC_OK);
}

static fixed_page make_fixed_page(const fixed_case *c)
{
    fixed_page p = {.width = oci_parquet_type_width(c->type, c->length), .page = {.mem = mem}};
    uint64_t random = 17;
    p.values = malloc((size_t)(N_FIXED * p.width) + 1);
    assert_non_null(p.values);
    for (int i = 0; i < N_FIXED * p.width; i++) {
        p.values[i] = (uint8_t)(next_random(&random) >> (i % 3 == 0 ? 60 : 40));
    }
    int32_t lengths[N_FIXED];
    for (int i = 0; i < N_FIXED; i++) {
        lengths[i] = p.width;
    }
    oci_parquet_strings strings = {p.values, lengths, N_FIXED, (int64_t)N_FIXED * p.width};
    switch (c->encoding) {
    case OCI_PARQUET_PLAIN_DICTIONARY:
    case OCI_PARQUET_RLE_DICTIONARY: make_dictionary_page(c, &p); break;
    case OCI_PARQUET_DELTA_BINARY_PACKED:
        assert_int_equal(oci_parquet_encode_delta(p.values, N_FIXED, p.width, &p.page, NULL),
                         OC_OK);
        break;
    case OCI_PARQUET_DELTA_BYTE_ARRAY:
        assert_int_equal(oci_parquet_encode_front(&strings, &p.page, NULL), OC_OK);
        break;
    case OCI_PARQUET_BYTE_STREAM_SPLIT:
        assert_int_equal(oci_parquet_encode_split(p.values, N_FIXED, p.width, &p.page, NULL),
                         OC_OK);
        break;
    default:
        assert_int_equal(
            oci_parquet_buffer_append(&p.page, p.values, (int64_t)N_FIXED * p.width, NULL), OC_OK);
        break;
    }
    return p;
}

static void free_fixed_page(fixed_page *p)
{
    free(p->values);
    oci_parquet_buffer_free(&p->page);
    oci_parquet_dictionary_destroy(p->dictionary);
}

static void fixed_values_come_back_in_steps_with_some_skipped(void **state)
{
    (void)state;
    static const int steps[] = {1, 3, 64, 513, N_FIXED};
    for (int c = 0; c < N_FIXED_CASES; c++) {
        fixed_page p = make_fixed_page(&fixed_cases[c]);
        uint8_t *in = exact(p.page.data, p.page.length);
        for (size_t s = 0; s < sizeof steps / sizeof steps[0]; s++) {
            oci_parquet_decoder d = {0};
            assert_int_equal(oci_parquet_decoder_init(&d, fixed_cases[c].encoding,
                                                      fixed_cases[c].type, fixed_cases[c].length,
                                                      in, p.page.length, p.dictionary, mem, NULL),
                             OC_OK);
            for (int64_t at = 0; at < N_FIXED;) {
                int64_t n = oci_min64(steps[s], N_FIXED - at);
                uint8_t *back = exact(p.values, n * p.width);
                memset(back, 0xAA, (size_t)(n * p.width));
                assert_int_equal(oci_parquet_decode_fixed(&d, n, back, NULL), OC_OK);
                assert_memory_equal(back, p.values + at * p.width, (size_t)(n * p.width));
                free_exact(back, n * p.width);
                at += n;
                n = oci_min64(steps[s] / 2, N_FIXED - at);
                assert_int_equal(oci_parquet_decode_skip(&d, n, NULL), OC_OK);
                at += n;
            }
            oci_parquet_decoder_deinit(&d);
        }
        free_exact(in, p.page.length);
        free_fixed_page(&p);
    }
}

static void fixed_values_that_end_early_are_refused_at_every_byte(void **state)
{
    (void)state;
    enum { FILLING_MAX = 32 * 8 };
    uint8_t *back = malloc(N_FIXED * 16);
    for (int c = 0; c < N_FIXED_CASES; c++) {
        fixed_page p = make_fixed_page(&fixed_cases[c]);
        for (int64_t cut = 0; cut < p.page.length; cut += cut < 300 ? 1 : 97) {
            uint8_t *in = exact(p.page.data, cut);
            oci_parquet_decoder d = {0};
            oc_status status = oci_parquet_decoder_init(&d, fixed_cases[c].encoding,
                                                        fixed_cases[c].type, fixed_cases[c].length,
                                                        in, cut, p.dictionary, mem, NULL);
            if (status == OC_OK) {
                status = oci_parquet_decode_fixed(&d, N_FIXED, back, NULL);
            }
            if (status == OC_OK) { /* only what fills the last group or miniblock may be missing */
                assert_true(cut > p.page.length - FILLING_MAX);
                assert_memory_equal(back, p.values, (size_t)(N_FIXED * p.width));
            } else {
                assert_int_equal(status, OC_EDATA);
            }
            oci_parquet_decoder_deinit(&d);
            free_exact(in, cut);
        }
        free_fixed_page(&p);
    }
    free(back);
}

static void booleans_come_back_plain_and_as_runs(void **state)
{
    (void)state;
    enum { N = 1000 };
    uint8_t bits[N / 8] = {0};
    uint8_t levels[N];
    uint64_t random = 3;
    for (int i = 0; i < N; i++) {
        bool value = i > 300 && i < 700 ? true : next_random(&random) >> 63;
        oci_bit_put(bits, i, value);
        levels[i] = value;
    }
    for (int k = 0; k < 2; k++) {
        oci_parquet_buffer page = {.mem = mem};
        oci_parquet_encoding encoding = k == 0 ? OCI_PARQUET_PLAIN : OCI_PARQUET_RLE;
        uint8_t size[4] = {0};
        if (k == 0) {
            assert_int_equal(oci_parquet_encode_bits(bits, 3, N - 3, &page, NULL), OC_OK);
        } else {
            assert_int_equal(oci_parquet_buffer_append(&page, size, 4, NULL), OC_OK);
            assert_int_equal(oci_parquet_encode_levels(levels + 3, N - 3, 1, &page, NULL), OC_OK);
            oci_store_le32(page.data, (uint32_t)(page.length - 4));
        }
        for (int64_t cut = 0; cut <= page.length; cut++) {
            uint8_t back[N / 8 + 1] = {0};
            uint8_t *in = exact(page.data, cut);
            oci_parquet_decoder d = {0};
            oc_status status = oci_parquet_decoder_init(&d, encoding, OCI_PARQUET_BOOLEAN, 0, in,
                                                        cut, NULL, mem, NULL);
            for (int at = 3; at < N && status == OC_OK; at += 100) {
                int64_t n = oci_min64(100, N - at);
                status = at == 103 ? oci_parquet_decode_skip(&d, n, NULL)
                                   : oci_parquet_decode_bits(&d, n, back, at + 2, NULL);
            }
            assert_int_equal(status, cut < page.length ? OC_EDATA : OC_OK);
            for (int i = 3; i < N && status == OC_OK; i++) {
                if (i < 103 || i >= 203) {
                    assert_int_equal(oci_bit_get(back, i + 2), oci_bit_get(bits, i));
                }
            }
            free_exact(in, cut);
        }
        oci_parquet_buffer_free(&page);
    }
}

/* ---- byte arrays ----------------------------------------------------------------------------- */

enum { N_TEXTS = 1200, TEXT_BYTES_MAX = 70 };

static const oci_parquet_encoding text_encodings[] = {OCI_PARQUET_PLAIN, OCI_PARQUET_RLE_DICTIONARY,
                                                      OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY,
                                                      OCI_PARQUET_DELTA_BYTE_ARRAY};

typedef struct text_page {
    uint8_t *bytes;
    int32_t lengths[N_TEXTS];
    int64_t offsets[N_TEXTS + 1];
    oci_parquet_buffer page;
    oci_parquet_dictionary *dictionary;
} text_page;

static void encode_texts(text_page *p, oci_parquet_encoding encoding,
                         const oci_parquet_strings *strings)
{
    uint8_t width = 11;
    uint32_t indices[N_TEXTS];
    oci_parquet_buffer plain = {.mem = mem};
    switch (encoding) {
    case OCI_PARQUET_PLAIN:
        assert_int_equal(oci_parquet_encode_plain_bytes(strings, &p->page, NULL), OC_OK);
        break;
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        assert_int_equal(oci_parquet_encode_delta_lengths(strings, &p->page, NULL), OC_OK);
        break;
    case OCI_PARQUET_DELTA_BYTE_ARRAY:
        assert_int_equal(oci_parquet_encode_front(strings, &p->page, NULL), OC_OK);
        break;
    default:
        assert_int_equal(oci_parquet_encode_plain_bytes(strings, &plain, NULL), OC_OK);
        assert_int_equal(oci_parquet_dictionary_create(OCI_PARQUET_BYTE_ARRAY, 0, plain.data,
                                                       plain.length, N_TEXTS, mem, &p->dictionary,
                                                       NULL),
                         OC_OK);
        for (uint32_t i = 0; i < N_TEXTS; i++) {
            indices[i] = i;
        }
        assert_int_equal(oci_parquet_buffer_append(&p->page, &width, 1, NULL), OC_OK);
        assert_int_equal(oci_parquet_encode_hybrid(indices, N_TEXTS, width, &p->page, NULL), OC_OK);
        oci_parquet_buffer_free(&plain);
        break;
    }
}

/* Texts of any length, many of which begin as the one before. */
static text_page *make_text_page(oci_parquet_encoding encoding)
{
    text_page *p = calloc(1, sizeof *p);
    uint64_t random = 23;
    assert_non_null(p);
    p->page.mem = mem;
    p->bytes = calloc(N_TEXTS, TEXT_BYTES_MAX);
    assert_non_null(p->bytes);
    int64_t at = 0;
    for (int i = 0; i < N_TEXTS; i++) {
        p->lengths[i] = (int32_t)(next_random(&random) % (i % 5 == 0 ? TEXT_BYTES_MAX : 12));
        for (int k = 0; k < p->lengths[i]; k++) {
            bool same = i > 0 && k < p->lengths[i - 1] && i % 4 != 0;
            p->bytes[at + k] = same ? p->bytes[p->offsets[i - 1] + k]
                                    : (uint8_t)next_random(&random);
        }
        p->offsets[i] = at;
        at += p->lengths[i];
    }
    p->offsets[N_TEXTS] = at;
    oci_parquet_strings strings = {p->bytes, p->lengths, N_TEXTS, at};
    encode_texts(p, encoding, &strings);
    return p;
}

static void free_text_page(text_page *p)
{
    free(p->bytes);
    oci_parquet_buffer_free(&p->page);
    oci_parquet_dictionary_destroy(p->dictionary);
    free(p);
}

/* Values [at, at + n): looked at together with some more, of which only those that fit are taken. */
static void take_texts(const text_page *p, oci_parquet_decoder *d, int64_t at, int64_t n,
                       int64_t slack)
{
    int32_t refs[N_TEXTS];
    int64_t more = oci_min64(N_TEXTS - at, n + 10);
    int64_t wanted = p->offsets[at + n] - p->offsets[at];
    int64_t bytes;
    assert_int_equal(oci_parquet_decode_refs(d, more, refs, &bytes, NULL), OC_OK);
    assert_int_equal(bytes, p->offsets[at + more] - p->offsets[at]);
    int64_t fit = oci_parquet_refs_fit(d, refs, more, wanted, &bytes);
    assert_true(fit >= n && bytes == wanted); /* more are empty ones */
    uint8_t *out = malloc((size_t)(wanted + slack) + 1);
    uint8_t *to = out + 1; /* ends where the block ends */
    assert_int_equal(oci_parquet_decode_bytes(d, n, refs, to, wanted + slack, NULL), OC_OK);
    assert_memory_equal(to, p->bytes + p->offsets[at], (size_t)wanted);
    assert_memory_equal(refs, p->lengths + at, (size_t)n * 4);
    free(out);
}

static void texts_come_back_in_steps_with_some_skipped(void **state)
{
    (void)state;
    static const int steps[] = {1, 5, 100, 777, N_TEXTS};
    for (size_t e = 0; e < 4; e++) {
        text_page *p = make_text_page(text_encodings[e]);
        uint8_t *in = exact(p->page.data, p->page.length);
        for (size_t s = 0; s < 2 * sizeof steps / sizeof steps[0]; s++) {
            oci_parquet_decoder d = {0};
            int step = steps[s / 2];
            assert_int_equal(oci_parquet_decoder_init(&d, text_encodings[e], OCI_PARQUET_BYTE_ARRAY,
                                                      0, in, p->page.length, p->dictionary, mem,
                                                      NULL),
                             OC_OK);
            for (int64_t at = 0; at < N_TEXTS;) {
                int64_t n = oci_min64(step, N_TEXTS - at);
                take_texts(p, &d, at, n, s % 2 == 0 ? 0 : 32);
                at += n;
                n = oci_min64(step / 2, N_TEXTS - at);
                assert_int_equal(oci_parquet_decode_skip(&d, n, NULL), OC_OK);
                at += n;
            }
            oci_parquet_decoder_deinit(&d);
        }
        free_exact(in, p->page.length);
        free_text_page(p);
    }
}

static void texts_that_end_early_are_refused_at_every_byte(void **state)
{
    (void)state;
    for (size_t e = 0; e < 4; e++) {
        text_page *p = make_text_page(text_encodings[e]);
        for (int64_t cut = 0; cut < p->page.length; cut += cut < 200 ? 1 : 61) {
            int32_t refs[N_TEXTS];
            int64_t bytes;
            uint8_t *in = exact(p->page.data, cut);
            oci_parquet_decoder d = {0};
            oc_status status = oci_parquet_decoder_init(&d, text_encodings[e],
                                                        OCI_PARQUET_BYTE_ARRAY, 0, in, cut,
                                                        p->dictionary, mem, NULL);
            if (status == OC_OK) {
                status = oci_parquet_decode_refs(&d, N_TEXTS, refs, &bytes, NULL);
                assert_int_equal(oci_parquet_decode_skip(&d, N_TEXTS, NULL), status);
            }
            assert_int_equal(status, OC_EDATA);
            oci_parquet_decoder_deinit(&d);
            free_exact(in, cut);
        }
        free_text_page(p);
    }
}

static void lengths_and_indices_that_lead_nowhere_are_refused(void **state)
{
    (void)state;
    static const struct {
        oci_parquet_encoding encoding;
        uint8_t bytes[40];
        int size;
        int n;
    } lies[] = {
        {OCI_PARQUET_PLAIN, {0xFF, 0xFF, 0xFF, 0xFF, 'a'}, 5, 1},
        {OCI_PARQUET_PLAIN, {2, 0, 0, 0, 'a'}, 5, 1},
        {OCI_PARQUET_RLE_DICTIONARY, {2, 0x02, 0x02}, 3, 1},             /* index 2 of 2 values */
        {OCI_PARQUET_RLE_DICTIONARY, {33, 0x02, 0x02}, 3, 1},            /* 33 bits */
        {OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY, {0x80, 1, 4, 1, 1}, 5, 1}, /* -1 */
        {OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY, {0x80, 1, 4, 1, 6, 'a', 'b'}, 7, 1},
        /* A prefix without a value before; a negative one; more prefixes than values. */
        {OCI_PARQUET_DELTA_BYTE_ARRAY, {0x80, 1, 4, 1, 2, 0x80, 1, 4, 1, 2, 'a'}, 11, 1},
        {OCI_PARQUET_DELTA_BYTE_ARRAY, {0x80, 1, 4, 1, 1, 0x80, 1, 4, 1, 2, 'a'}, 11, 1},
        {OCI_PARQUET_DELTA_BYTE_ARRAY, {0x80, 1, 4, 1, 0, 0x80, 1, 4, 0, 0}, 10, 1},
    };
    static const uint8_t two[] = {1, 0, 0, 0, 'x', 0, 0, 0, 0};
    oci_parquet_dictionary *dictionary = NULL;
    assert_int_equal(oci_parquet_dictionary_create(OCI_PARQUET_BYTE_ARRAY, 0, two, sizeof two, 2,
                                                   mem, &dictionary, NULL),
                     OC_OK);
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        int32_t refs[4];
        oc_error err = {0};
        uint8_t *in = exact(lies[i].bytes, lies[i].size);
        oci_parquet_decoder d = {0};
        oc_status status = oci_parquet_decoder_init(&d, lies[i].encoding, OCI_PARQUET_BYTE_ARRAY, 0,
                                                    in, lies[i].size, dictionary, mem, &err);
        if (status == OC_OK) {
            status = oci_parquet_decode_refs(&d, lies[i].n, refs, NULL, &err);
        }
        assert_int_equal(status, OC_EDATA);
        assert_true(strlen(err.message) > 10);
        oci_parquet_decoder_deinit(&d);
        free_exact(in, lies[i].size);
    }
    oci_parquet_dictionary_destroy(dictionary);
}

static void dictionary_pages_that_lie_allocate_nothing(void **state)
{
    (void)state;
    static const uint8_t page[] = {1, 0, 0, 0, 'x', 9, 0, 0, 0};
    oci_parquet_dictionary *dictionary = NULL;
    int64_t before = oci_budget_peak(budget);
    static const struct {
        oci_parquet_type type;
        int32_t n;
    } lies[] = {{OCI_PARQUET_BYTE_ARRAY, 2},    {OCI_PARQUET_BYTE_ARRAY, INT32_MAX},
                {OCI_PARQUET_INT32, INT32_MAX}, {OCI_PARQUET_INT64, 2},
                {OCI_PARQUET_BYTE_ARRAY, -1},   {OCI_PARQUET_BOOLEAN, 1}};
    for (size_t i = 0; i < sizeof lies / sizeof lies[0]; i++) {
        assert_int_equal(oci_parquet_dictionary_create(lies[i].type, 0, page, sizeof page,
                                                       lies[i].n, mem, &dictionary, NULL),
                         OC_EDATA);
        assert_int_equal(oci_mem_held(mem), 0);
    }
    assert_true(oci_budget_peak(budget) - before < 1 << 20);
}

static void encodings_that_a_type_does_not_have_are_refused_by_name(void **state)
{
    (void)state;
    oc_error err = {0};
    oci_parquet_decoder d = {0};
    assert_int_equal(oci_parquet_decoder_init(&d, OCI_PARQUET_DELTA_BINARY_PACKED,
                                              OCI_PARQUET_DOUBLE, 0, NULL, 0, NULL, mem, &err),
                     OC_EUNSUPPORTED);
    assert_non_null(strstr(err.message, "DELTA_BINARY_PACKED of type DOUBLE"));
    assert_int_equal(oci_parquet_decoder_init(&d, OCI_PARQUET_RLE_DICTIONARY, OCI_PARQUET_INT32, 0,
                                              NULL, 0, NULL, mem, &err),
                     OC_EDATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_width_unpacks_from_any_number_on),
        cmocka_unit_test(hybrid_of_every_width_comes_back_in_steps_of_any_size),
        cmocka_unit_test(hybrid_takes_the_bytes_of_the_format_s_examples),
        cmocka_unit_test(hybrid_that_ends_early_or_lies_is_refused),
        cmocka_unit_test(bit_packed_levels_count_from_the_highest_bit),
        cmocka_unit_test(levels_come_back_as_bytes_and_as_bits),
        cmocka_unit_test(levels_above_the_maximum_and_sizes_beyond_the_page_are_refused),
        cmocka_unit_test(delta_takes_the_bytes_of_the_format_s_examples),
        cmocka_unit_test(delta_comes_back_in_steps_of_any_size),
        cmocka_unit_test(delta_of_other_block_shapes_is_read),
        cmocka_unit_test(delta_that_ends_early_or_lies_is_refused),
        cmocka_unit_test(fixed_values_come_back_in_steps_with_some_skipped),
        cmocka_unit_test(fixed_values_that_end_early_are_refused_at_every_byte),
        cmocka_unit_test(booleans_come_back_plain_and_as_runs),
        cmocka_unit_test(texts_come_back_in_steps_with_some_skipped),
        cmocka_unit_test(texts_that_end_early_are_refused_at_every_byte),
        cmocka_unit_test(lengths_and_indices_that_lead_nowhere_are_refused),
        cmocka_unit_test(dictionary_pages_that_lie_allocate_nothing),
        cmocka_unit_test(encodings_that_a_type_does_not_have_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, open_memory, close_memory);
}
