/* libFuzzer target: values and levels of Parquet pages that nobody wrote.
 *
 * The first bytes choose encoding, type, width, how many values are asked for at a time and where a dictionary page
 * ends; the rest is that page and the values. Whatever is decoded has to stay inside blocks of the exact size, a
 * second decoder that takes other steps has to give the same values, and nothing may be held in the end. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "formats/parquet/decode.h"
#include "formats/parquet/level_decode.h"

#define LIMIT (INT64_C(16) << 20)

enum { HEAD_BYTES = 6, VALUES_MAX = 700, WIDTH_MAX = 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
    if (!condition) {
        abort();
    }
}

typedef struct input {
    oci_parquet_encoding encoding;
    oci_parquet_type type;
    int32_t length;
    int step;
    const uint8_t *data;
    int64_t size;
    const oci_parquet_dictionary *dictionary;
    oci_mem *mem;
} input;

static oc_status take_bytes(oci_parquet_decoder *d, int64_t n, uint8_t *out, int64_t room,
                            int64_t *used)
{
    int32_t refs[VALUES_MAX];
    int64_t bytes;
    OC_TRY(oci_parquet_decode_refs(d, n, refs, &bytes, NULL));
    int64_t fit = oci_parquet_refs_fit(d, refs, n, room, &bytes);
    require(bytes <= room);
    uint8_t *exact = malloc((size_t)bytes + 1);
    require(exact != NULL);
    oc_status status = oci_parquet_decode_bytes(d, fit, refs, exact + 1, bytes, NULL);
    if (status == OC_OK) {
        memcpy(out, exact + 1, (size_t)bytes);
        *used = bytes;
    }
    free(exact);
    return status != OC_OK ? status : fit < n ? OC_EBUDGET : OC_OK;
}

/* Values until something is wrong, step by step: their bytes into `out`, *used of them. */
static void decode_all(const input *in, int step, uint8_t *out, int64_t room, int64_t *used)
{
    oci_parquet_decoder d = {0};
    oc_status status = oci_parquet_decoder_init(&d, in->encoding, in->type, in->length, in->data,
                                                in->size, in->dictionary, in->mem, NULL);
    *used = 0;
    for (int64_t at = 0; status == OC_OK && at + step <= VALUES_MAX; at += step) {
        int64_t bytes = 0;
        if (in->type == OCI_PARQUET_BOOLEAN) {
            status = oci_parquet_decode_bits(&d, step, out, at, NULL);
            *used = status == OC_OK ? (at + step) / 8 : *used;
            continue;
        }
        if (in->type == OCI_PARQUET_BYTE_ARRAY) {
            status = take_bytes(&d, step, out + *used, room - *used, &bytes);
        } else {
            status = oci_parquet_decode_fixed(&d, step, out + *used, NULL);
            bytes = status == OC_OK ? (int64_t)step * d.width : 0;
        }
        *used += bytes;
    }
    oci_parquet_decoder_deinit(&d);
}

static void decode_both_ways(const input *in)
{
    int64_t room = (int64_t)VALUES_MAX * WIDTH_MAX;
    uint8_t *a = calloc(1, (size_t)room);
    uint8_t *b = calloc(1, (size_t)room);
    int64_t a_bytes;
    int64_t b_bytes;
    require(a != NULL && b != NULL);
    decode_all(in, in->step, a, room, &a_bytes);
    decode_all(in, 1, b, room, &b_bytes);
    require(a_bytes <= b_bytes && memcmp(a, b, (size_t)a_bytes) == 0);
    oci_parquet_decoder d = {0};
    if (oci_parquet_decoder_init(&d, in->encoding, in->type, in->length, in->data, in->size,
                                 in->dictionary, in->mem, NULL) == OC_OK) {
        (void)!oci_parquet_decode_skip(&d, in->step, NULL);
        (void)!oci_parquet_decode_skip(&d, VALUES_MAX, NULL);
    }
    oci_parquet_decoder_deinit(&d);
    free(b);
    free(a);
}

static void decode_levels(const input *in, int max)
{
    uint8_t levels[VALUES_MAX];
    uint8_t bits[VALUES_MAX / 8 + 1];
    int64_t used;
    int64_t n_set;
    oci_parquet_levels l;
    if (oci_parquet_levels_init_v1(&l, in->encoding, max, VALUES_MAX, in->data, in->size, &used,
                                   NULL) == OC_OK) {
        require(used <= in->size);
        (void)!oci_parquet_levels_skip(&l, in->step, NULL);
        if (oci_parquet_levels_read(&l, VALUES_MAX - in->step, levels, NULL) == OC_OK) {
            for (int i = 0; i < VALUES_MAX - in->step; i++) {
                require(levels[i] <= max);
            }
        }
    }
    if (oci_parquet_levels_init_v2(&l, 1, in->data, in->size, NULL) == OC_OK &&
        oci_parquet_levels_read_bits(&l, in->step, bits, 0, &n_set, NULL) == OC_OK) {
        require(n_set <= in->step);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static oci_mem *mem = NULL;
    if (mem == NULL) {
        oci_budget *budget = NULL;
        require(oci_budget_create(LIMIT, NULL, &budget, NULL) == OC_OK);
        require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    }
    if (size < HEAD_BYTES) {
        return 0;
    }
    int64_t rest = (int64_t)size - HEAD_BYTES;
    int64_t page = oci_min64(data[4], rest);
    /* In a block of its own, so that reading in front of it is seen too. */
    uint8_t *bytes = malloc((size_t)(rest - page) + (rest == page));
    require(bytes != NULL);
    memcpy(bytes, data + HEAD_BYTES + page, (size_t)(rest - page));
    input in = {
        .encoding = (oci_parquet_encoding)(data[0] % OCI_PARQUET_ENCODINGS),
        .type = (oci_parquet_type)(data[1] % OCI_PARQUET_TYPES),
        .length = data[2] % (WIDTH_MAX + 1),
        .step = 1 + data[3] * 2,
        .data = bytes,
        .size = rest - page,
        .mem = mem,
    };
    oci_parquet_dictionary *dictionary = NULL;
    if (oci_parquet_dictionary_create(in.type, in.length, data + HEAD_BYTES, page, data[5], mem,
                                      &dictionary, NULL) == OC_OK) {
        in.dictionary = dictionary;
    }
    decode_both_ways(&in);
    decode_levels(&in, data[5]);
    oci_parquet_dictionary_destroy(dictionary);
    free(bytes);
    require(oci_mem_held(mem) == 0);
    return 0;
}
