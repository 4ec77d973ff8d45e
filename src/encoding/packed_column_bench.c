/* What packing makes of tables that queries spill, before any codec.
 *
 *     packed_column_bench [rows per batch, default 8192] [name of a set]
 *
 * The sets of bench/spill_io (seeded, uniform, ranges half-open) and a few single types: MiB in
 * memory, MiB packed, and how fast, in GB of plain columns a second: the best of seven passes over
 * 409,600 rows, each column taken by itself. A set's name in front: its columns one by one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/bits.h"
#include "encoding/packed_column.h"

enum { ROWS = 409600, PASSES = 7, COLUMNS_MAX = 16 };

typedef enum making {
    STEPS,   /* from `low` on, each step 1, with `percent` a step of [2, high) */
    UNIFORM, /* [low, high) */
    CYCLE,   /* low + i % high; i counts in the batch */
    CHOICE,  /* one of `texts` */
    REAL,    /* [0, 1) */
    PRICE    /* [low, high) hundredths, as floating point */
} making;

typedef struct spec {
    const char *name;
    oci_type type;
    making making;
    int64_t low;
    int64_t high;
    int32_t percent; /* STEPS: of long steps; others: of nulls */
    const char *texts[9];
} spec;

typedef struct set {
    const char *name;
    spec columns[COLUMNS_MAX];
} set;

/* clang-format off */
static const set sets[] = {
    {"q2", {
        {"ps_partkey", OCI_TYPE_INT64, STEPS, 400000, 10, 5, {0}},
        {"min_ps_supplycost", OCI_TYPE_DECIMAL128, UNIFORM, 1000, 100000, 0, {0}}}},
    {"q16", {
        {"p_brand", OCI_TYPE_UTF8, CHOICE, 0, 0, 0,
         {"Brand#32", "Brand#33", "Brand#41", "Brand#42", "Brand#55"}},
        {"p_type", OCI_TYPE_UTF8, CHOICE, 0, 0, 0,
         {"PROMO ANODIZED NICKEL", "STANDARD BRUSHED NICKEL", "PROMO POLISHED COPPER",
          "ECONOMY ANODIZED BRASS", "LARGE BURNISHED COPPER", "STANDARD POLISHED TIN",
          "SMALL PLATED STEEL", "MEDIUM POLISHED COPPER"}},
        {"p_size", OCI_TYPE_INT32, CHOICE, 0, 0, 0,
         {"3", "9", "14", "19", "23", "36", "45", "49"}},
        {"alias1", OCI_TYPE_INT64, UNIFORM, 1000, 100000, 0, {0}}}},
    {"q20", {
        {"l_partkey", OCI_TYPE_INT64, STEPS, 400000, 6, 3, {0}},
        {"l_suppkey", OCI_TYPE_INT64, UNIFORM, 10000, 99999, 0, {0}},
        {"sum_l_quantity", OCI_TYPE_DECIMAL128, UNIFORM, 500, 20000, 0, {0}}}},
    {"wide", {
        {"l_linenumber", OCI_TYPE_INT32, CYCLE, 0, 7, 0, {0}},
        {"l_suppkey", OCI_TYPE_INT64, UNIFORM, 0, 100000, 0, {0}},
        {"l_orderkey", OCI_TYPE_INT64, CYCLE, 1000000, ROWS, 0, {0}},
        {"l_partkey", OCI_TYPE_INT64, UNIFORM, 0, 200000, 0, {0}},
        {"l_quantity", OCI_TYPE_DECIMAL128, UNIFORM, 100, 10000, 0, {0}},
        {"l_extendedprice", OCI_TYPE_DECIMAL128, UNIFORM, 1000, 1000000, 0, {0}},
        {"l_discount", OCI_TYPE_DECIMAL128, UNIFORM, 0, 10000, 0, {0}},
        {"l_tax", OCI_TYPE_DECIMAL128, UNIFORM, 0, 5000, 0, {0}},
        {"l_returnflag", OCI_TYPE_UTF8, CHOICE, 0, 0, 0, {"A", "N", "R"}},
        {"l_linestatus", OCI_TYPE_UTF8, CHOICE, 0, 0, 0, {"F", "O"}},
        {"l_shipdate", OCI_TYPE_DATE32, CYCLE, 10000, 1000, 0, {0}},
        {"l_commitdate", OCI_TYPE_DATE32, CYCLE, 10001, 1000, 0, {0}},
        {"l_receiptdate", OCI_TYPE_DATE32, CYCLE, 10002, 1000, 0, {0}},
        {"l_shipinstruct", OCI_TYPE_UTF8, CHOICE, 0, 0, 0,
         {"DELIVER IN PERSON", "COLLECT COD", "NONE"}},
        {"l_shipmode", OCI_TYPE_UTF8, CHOICE, 0, 0, 0, {"TRUCK", "MAIL", "SHIP", "RAIL", "AIR"}}}},
    {"types", {
        {"float64 [0, 1)", OCI_TYPE_FLOAT64, REAL, 0, 0, 0, {0}},
        {"float64 prices", OCI_TYPE_FLOAT64, PRICE, 100, 1000000, 0, {0}},
        {"float64 of 8 values", OCI_TYPE_FLOAT64, PRICE, 100, 108, 0, {0}},
        {"float32 [0, 1)", OCI_TYPE_FLOAT32, REAL, 0, 0, 0, {0}},
        {"int64, 10% null", OCI_TYPE_INT64, UNIFORM, 0, 100000, 10, {0}},
        {"int64, 50% null", OCI_TYPE_INT64, UNIFORM, 0, 100000, 50, {0}},
        {"decimal128, 10% null", OCI_TYPE_DECIMAL128, UNIFORM, 0, 100000, 10, {0}},
        {"decimal128, wide", OCI_TYPE_DECIMAL128, REAL, 0, 0, 0, {0}},
        {"int64, any bits", OCI_TYPE_INT64, REAL, 0, 0, 0, {0}}}},
};
/* clang-format on */

/* ---- making ---------------------------------------------------------------------------------- */

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    random_state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = random_state;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

static int64_t random_in(int64_t low, int64_t high)
{
    return low + (int64_t)(next_random() % (uint64_t)(high - low));
}

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "packed_column_bench: %s\n", err->message);
        exit(1);
    }
}

static void *block(int64_t bytes)
{
    void *memory = aligned_alloc(64, (size_t)oci_round_up(bytes + 64, 64));
    if (memory == NULL) {
        fprintf(stderr, "packed_column_bench: out of memory\n");
        exit(1);
    }
    memset(memory, 0, (size_t)bytes + 64);
    return memory;
}

static const char *choose_text(const spec *s)
{
    int n = 1; /* there is one */
    while (s->texts[n] != NULL) {
        n++;
    }
    return s->texts[random_in(0, n)];
}

/* The low 64 bits of the next value. */
static uint64_t make_value(const spec *s, int64_t i, int64_t *last)
{
    double real = (double)(next_random() >> 11) / 9007199254740992.0;
    float narrow = (float)real;
    uint64_t bits = next_random();
    switch (s->making) {
    case STEPS:
        *last = i == 0 && *last == 0             ? s->low
                : random_in(0, 100) < s->percent ? *last + random_in(2, s->high)
                                                 : *last + 1;
        return (uint64_t)*last;
    case CYCLE: return (uint64_t)(s->low + i % s->high);
    case CHOICE: return (uint64_t)atoi(choose_text(s));
    case REAL:
        if (s->type == OCI_TYPE_FLOAT64) {
            memcpy(&bits, &real, 8);
        } else if (s->type == OCI_TYPE_FLOAT32) {
            memcpy(&bits, &narrow, 4);
        }
        return bits;
    case PRICE:
        real = (double)random_in(s->low, s->high) / 100;
        memcpy(&bits, &real, 8);
        return bits;
    default: return (uint64_t)random_in(s->low, s->high);
    }
}

static void make_fixed(const spec *s, int64_t rows, int64_t *last, oci_column *column)
{
    int64_t width = column->field->byte_width;
    uint8_t *values = block(rows * width);
    for (int64_t i = 0; i < rows; i++) {
        uint64_t value = make_value(s, i, last);
        memcpy(values + i * width, &value, (size_t)oci_min64(width, 8));
        if (width == 16 && s->making == REAL) {
            oci_store_le64(values + i * width + 8, next_random() >> 32);
        }
    }
    column->values = values;
}

static void make_strings(const spec *s, int64_t rows, oci_column *column)
{
    uint8_t *offsets = block((rows + 1) * 4), *bytes = block(rows * 32);
    int64_t end = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (const char *text = choose_text(s); *text != '\0'; text++) {
            bytes[end++] = (uint8_t)*text;
        }
        oci_store_le32(offsets + (i + 1) * 4, (uint32_t)end);
    }
    column->values = offsets;
    column->bytes = bytes;
}

static oci_column make_column(const spec *s, const oci_field *field, int64_t rows, int64_t *last)
{
    oci_column column = {.field = field, .length = rows};
    if (s->type == OCI_TYPE_UTF8) {
        make_strings(s, rows, &column);
    } else {
        make_fixed(s, rows, last, &column);
    }
    if (s->making != STEPS && s->percent > 0) {
        uint8_t *validity = block(rows / 8 + 1);
        for (int64_t i = 0; i < rows; i++) {
            oci_bit_put(validity, i, random_in(0, 100) >= s->percent);
        }
        column.validity = validity;
        column.null_count = -1;
    }
    return column;
}

static int64_t plain_bytes(const oci_column *column)
{
    int64_t n = column->length;
    int64_t bytes = column->validity != NULL ? n / 8 : 0;
    return column->bytes != NULL ? bytes + 4 * n + (int32_t)oci_load_le32(column->values + 4 * n)
                                 : bytes + n * column->field->byte_width;
}

/* ---- measuring ------------------------------------------------------------------------------- */

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

typedef struct result {
    int64_t plain;
    int64_t packed;
    int64_t encode_ns;
    int64_t decode_ns;
} result;

/* One batch's column through both directions; times are added to *out. */
static void pass(oci_packer *packer, const oci_schema *schema, int32_t i, const oci_column *column,
                 oci_reservation *from, uint8_t *memory[4], result *out)
{
    oci_pack_out to = {.packed = memory[0], .bytes = memory[1]};
    oc_error err = {0};
    int64_t start = now_ns();
    check(oci_pack_column(packer, i, column, from, &to, &err), &err);
    int64_t middle = now_ns();
    oci_pack_in in = {.packed = to.packed,
                      .packed_size = to.packed_at,
                      .bytes = to.bytes,
                      .bytes_size = to.bytes_at};
    oci_unpack_out back = {.slab = memory[2], .extra = memory[3], .extra_size = 4096};
    oci_column column_back;
    check(oci_unpack_measure(&schema->fields[i], column->length, &in, &back.size, &err), &err);
    check(oci_unpack_column(&schema->fields[i], column->length, &in, &back, &column_back, &err),
          &err);
    out->encode_ns += middle - start;
    out->decode_ns += now_ns() - middle;
    out->plain += plain_bytes(column);
    out->packed += to.packed_at + to.bytes_at;
}

static result measure(const oci_schema *schema, int32_t i, const oci_column *columns, int n,
                      oci_mem *mem)
{
    int64_t room = columns[0].length * 64 + 4096;
    uint8_t *memory[4] = {block(room), block(room), block(room), block(4096)};
    result best = {.encode_ns = INT64_MAX, .decode_ns = INT64_MAX};
    oci_packed_bound bound;
    oci_reservation from = {.mem = mem};
    oc_error err = {0};
    oci_packer *packer = NULL;
    check(oci_packer_create((oci_schema *)schema, &packer, &err), &err);
    oci_packer_bound(packer, i, &columns[0], &bound);
    check(oci_mem_reserve(mem, &from, bound.scratch, &err), &err);
    for (int k = 0; k < PASSES; k++) {
        result one = {0};
        for (int b = 0; b < n; b++) {
            pass(packer, schema, i, &columns[b], &from, memory, &one);
        }
        best.plain = one.plain;
        best.packed = one.packed;
        best.encode_ns = oci_min64(best.encode_ns, one.encode_ns);
        best.decode_ns = oci_min64(best.decode_ns, one.decode_ns);
    }
    oci_packer_destroy(packer);
    oci_reservation_release(&from);
    for (int k = 0; k < 4; k++) {
        free(memory[k]);
    }
    return best;
}

static void print(const char *name, const result *r)
{
    printf("%-22s %8.3f %8.3f %8.1f%% %8.2f %8.2f\n", name, (double)r->plain / 1048576,
           (double)r->packed / 1048576, 100 * (double)r->packed / (double)r->plain,
           (double)r->plain / (double)r->encode_ns, (double)r->plain / (double)r->decode_ns);
}

static oci_schema *make_schema(const set *s)
{
    int32_t n = 1; /* there is one */
    oci_schema *schema = NULL;
    oc_error err = {0};
    while (n < COLUMNS_MAX && s->columns[n].name != NULL) {
        n++;
    }
    oci_field *fields = calloc((size_t)n, sizeof *fields);
    for (int32_t i = 0; i < n; i++) {
        check(oci_field_init(&fields[i], s->columns[i].name, s->columns[i].type, true, &err), &err);
    }
    check(oci_schema_create(fields, n, NULL, 0, &schema, &err), &err);
    return schema;
}

static void free_column(oci_column *column)
{
    free((void *)column->values);
    free((void *)column->bytes);
    free((void *)column->validity);
}

static void run(const set *s, int64_t rows, bool each, oci_mem *mem)
{
    oci_schema *schema = make_schema(s);
    result sum = {0};
    int n = (int)(ROWS / rows);
    oci_column *columns = calloc((size_t)n, sizeof *columns);
    for (int32_t i = 0; i < schema->n_fields; i++) {
        int64_t last = 0;
        for (int b = 0; b < n; b++) {
            columns[b] = make_column(&s->columns[i], &schema->fields[i], rows, &last);
        }
        result one = measure(schema, i, columns, n, mem);
        sum.plain += one.plain;
        sum.packed += one.packed;
        sum.encode_ns += one.encode_ns;
        sum.decode_ns += one.decode_ns;
        if (each) {
            print(s->columns[i].name, &one);
        }
        for (int b = 0; b < n; b++) {
            free_column(&columns[b]);
        }
    }
    print(s->name, &sum);
    free(columns);
    oci_schema_release(schema);
}

int main(int argc, char **argv)
{
    int64_t rows = argc > 1 ? atoll(argv[1]) : 8192;
    oci_budget *budget = NULL;
    oci_mem *mem = NULL;
    oc_error err = {0};
    if (rows < 1 || rows > ROWS) {
        fprintf(stderr, "packed_column_bench: rows per batch must be 1 to %d\n", ROWS);
        return 1;
    }
    check(oci_budget_create(INT64_C(1) << 30, NULL, &budget, &err), &err);
    check(oci_mem_open(budget, "bench", &mem, &err), &err);
    printf("%-22s %8s %8s %9s %8s %8s\n", "", "MiB", "packed", "", "GB/s in", "out");
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        if (argc <= 2 || strcmp(argv[2], sets[k].name) == 0) {
            run(&sets[k], rows, argc > 2, mem);
        }
    }
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    return 0;
}
