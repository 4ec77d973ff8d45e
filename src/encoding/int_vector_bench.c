/* int_vector_bench [NAME]: how fast integers are packed and unpacked, and into how many bits.
 *
 * Each line is a column as it occurs in practice, in blocks of 8192 values with the plan kept from
 * block to block. Best of many rounds, one thread, GB/s of the plain values. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "encoding/int_format.h"

enum { ROWS = 8192, BLOCKS = 32, ROUNDS = 15 };

typedef struct column {
    const char *name;
    int width;
    int64_t (*value)(int64_t i, uint64_t random, int64_t before);
} column;

static int64_t random_bits(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return (int64_t)random;
}
static int64_t up_to_100000(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return (int64_t)(random % 100000);
}
static int64_t counting(int64_t i, uint64_t random, int64_t before)
{
    (void)random, (void)before;
    return 1000000 + i;
}
static int64_t uneven_steps(int64_t i, uint64_t random, int64_t before)
{
    (void)i;
    return before + (random % 100 < 5 ? (int64_t)(2 + (random >> 32) % 8) : 1);
}
static int64_t order_keys(int64_t i, uint64_t random, int64_t before)
{
    (void)i;
    return before + (random % 4 != 0 ? 0 : before % 8 == 7 ? 25 : 1);
}
static int64_t dates(int64_t i, uint64_t random, int64_t before)
{
    (void)random, (void)before;
    return 10000 + i % 1000;
}
static int64_t modulo_7(int64_t i, uint64_t random, int64_t before)
{
    (void)random, (void)before;
    return i % 7;
}
static int64_t part_sizes(int64_t i, uint64_t random, int64_t before)
{
    static const int64_t sizes[] = {3, 9, 14, 19, 23, 36, 45, 49};
    (void)i, (void)before;
    return sizes[random >> 61];
}
static int64_t quantities(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return (int64_t)(random % 50 + 1) * 100;
}
static int64_t prices(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return (int64_t)(random % 50 + 1) * (int64_t)(90000 + (random >> 32) % 110000);
}
static int64_t seconds(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return INT64_C(1700000000000000000) + INT64_C(1000000000) * (int64_t)(random % 86400);
}
static int64_t outliers(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)before;
    return random >> 58 == 0 ? (int64_t)(random >> 20 & 0xFFFFFF) : (int64_t)(random & 0xFF);
}
static int64_t long_runs(int64_t i, uint64_t random, int64_t before)
{
    (void)i;
    return random % 500 == 0 ? (int64_t)(random >> 40) : before;
}
static int64_t the_same(int64_t i, uint64_t random, int64_t before)
{
    (void)i, (void)random, (void)before;
    return 42;
}

static const column columns[] = {
    {"random 64 bits", 8, random_bits},
    {"random 32 bits", 4, random_bits},
    {"below 100,000", 8, up_to_100000},
    {"below 100,000, int32", 4, up_to_100000},
    {"counting", 8, counting},
    {"uneven steps", 8, uneven_steps},
    {"sorted order keys", 8, order_keys},
    {"dates i % 1000", 4, dates},
    {"i % 7", 4, modulo_7},
    {"8 sizes", 4, part_sizes},
    {"quantities", 8, quantities},
    {"prices", 8, prices},
    {"seconds as ns", 8, seconds},
    {"outliers, 1.5%", 8, outliers},
    {"long runs", 8, long_runs},
    {"all the same", 8, the_same},
};

static int64_t now(void)
{
    return oci_system_clock()->now_ns(oci_system_clock()->self);
}

static void fill(const column *of, uint8_t *bytes)
{
    uint64_t seed = 12345;
    int64_t value = 1;
    for (int64_t i = 0; i < ROWS * BLOCKS; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        uint64_t x = (seed ^ seed >> 32) * UINT64_C(0xD6E8FEB86659FD93);
        value = of->value(i, x ^ x >> 32, value);
        memcpy(bytes + i * of->width, &value, (size_t)of->width);
    }
}

static int64_t encode_all(const column *of, const uint8_t *bytes, uint8_t *packed, int64_t *sizes)
{
    oci_int_plan plan = {0};
    int64_t total = 0;
    for (int b = 0; b < BLOCKS; b++) {
        oci_int_array array = {
            .values = bytes + b * ROWS * of->width, .width = of->width, .is_signed = true};
        oci_int_source source = oci_int_array_source(&array, ROWS);
        sizes[b] = oci_int_vector_encode(&source, of->width, &plan, packed + total);
        total += sizes[b];
    }
    return total;
}

static void decode_all(const column *of, const uint8_t *packed, const int64_t *sizes, uint8_t *back)
{
    for (int b = 0; b < BLOCKS; b++) {
        oc_error err = {0};
        int64_t taken;
        if (oci_int_vector_decode(packed, sizes[b], ROWS, of->width, back, &taken, &err) != OC_OK) {
            fprintf(stderr, "int_vector_bench: %s\n", err.message);
            exit(1);
        }
        packed += sizes[b];
        back += ROWS * of->width;
    }
}

static void run(const column *of)
{
    static const char *kinds[] = {"", "constant", "pages", "differences", "dictionary", "runs"};
    int64_t plain = (int64_t)ROWS * BLOCKS * of->width, sizes[BLOCKS], total = 0;
    int64_t encode_ns = INT64_MAX, decode_ns = INT64_MAX;
    uint8_t *bytes = malloc((size_t)plain), *back = malloc((size_t)plain);
    uint8_t *packed = malloc((size_t)(oci_int_vector_bound(ROWS, of->width) * BLOCKS));
    if (bytes == NULL || back == NULL || packed == NULL) {
        exit(1);
    }
    fill(of, bytes);
    for (int i = 0; i < ROUNDS; i++) {
        int64_t start = now();
        total = encode_all(of, bytes, packed, sizes);
        int64_t middle = now();
        decode_all(of, packed, sizes, back);
        int64_t end = now();
        encode_ns = encode_ns < middle - start ? encode_ns : middle - start;
        decode_ns = decode_ns < end - middle ? decode_ns : end - middle;
    }
    if (memcmp(bytes, back, (size_t)plain) != 0) {
        fprintf(stderr, "int_vector_bench: \"%s\" came back otherwise\n", of->name);
        exit(1);
    }
    double n = (double)ROWS * BLOCKS;
    printf("%-22s %7.3f bits  encode %5.1f GB/s %5.2f ns  decode %5.1f GB/s %5.2f ns  %s\n",
           of->name, (double)total * 8 / n, (double)plain / (double)encode_ns,
           (double)encode_ns / n, (double)plain / (double)decode_ns, (double)decode_ns / n,
           kinds[packed[0]]);
    free(bytes);
    free(back);
    free(packed);
}

int main(int argc, char **argv)
{
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        if (argc < 2 || strcmp(argv[1], columns[i].name) == 0) {
            run(&columns[i]);
        }
    }
    return 0;
}
