/* libFuzzer target: columns packed and unpacked, and unpacking of what nobody packed.
 *
 * The bytes choose a schema and an array (tests/support/fuzz_array.h). An array that is sound comes
 * back from packing with the same values. Then the rest of the bytes damages the streams: whatever
 * comes out of them has to be a valid column of the size that was measured, or an error. Columns that
 * were refused are unpacked from the rest of the bytes as they are.
 *
 * Such arrays are short. Some inputs make one long column of numbers instead, out of a few that come
 * again and again, so that every form of numbers is met. */
#include "encoding/packed_column_test_support.h"
#include "support/batch_maker.h"
#include "support/fuzz_array.h"

#define LIMIT    (INT64_C(64) << 20)
#define SLAB_MAX (INT64_C(1) << 20)

enum { DAMAGES_MAX = 8, ROWS_MAX = 64, NUMBERS_MAX = 4096, PERIOD_MAX = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static oci_mem *open_account(void)
{
    static oci_mem *mem = NULL;
    if (mem == NULL) {
        oci_budget *budget = NULL;
        test_require(oci_budget_create(LIMIT, NULL, &budget, NULL) == OC_OK);
        test_require(oci_mem_open(budget, "fuzz", &mem, NULL) == OC_OK);
    }
    return mem;
}

/* Gives the streams to unpacking; what comes of it is checked there. */
static void unpack_any(const oci_schema *schema, int32_t i, int64_t rows,
                       const packed_bytes *packed)
{
    unpacked back;
    oc_error error = {0};
    if (test_unpack(schema, i, rows, packed, SLAB_MAX, &back, &error) == OC_OK) {
        test_unpacked_free(&back);
    }
}

/* Words are where counts and sizes are. */
static void damage(fuzz_bytes *bytes, packed_bytes *packed)
{
    int64_t at = fuzz_byte(bytes) + 256 * fuzz_below(bytes, 4);
    uint8_t value = fuzz_byte(bytes);
    test_require(packed->packed != NULL);
    switch (fuzz_below(bytes, 4)) {
    case 0: packed->packed_size = oci_min64(packed->packed_size, at); break;
    case 1: packed->bytes_size = oci_min64(packed->bytes_size, at); break;
    case 2:
        at = oci_round_down(at, 8);
        if (at <= packed->packed_size - 8) {
            oci_store_le64(packed->packed + at, UINT64_C(1) << (value & 63));
        }
        break;
    default:
        if (at < packed->packed_size) {
            packed->packed[at] = value;
        }
        break;
    }
}

static void use_column(oci_packer *packer, const oci_schema *schema, const oci_column *column,
                       int32_t i, fuzz_bytes *bytes)
{
    packed_bytes packed = test_pack(packer, i, column, open_account());
    unpacked back;
    test_require(test_unpack(schema, i, column->length, &packed, INT64_MAX, &back, NULL) == OC_OK);
    test_same_values(column, &back.column);
    test_unpacked_free(&back);
    for (int k = 0; k < DAMAGES_MAX && bytes->at < bytes->size; k++) {
        damage(bytes, &packed);
        /* In blocks that end where the streams do now. */
        packed_bytes cut = {.packed = test_block(packed.packed, packed.packed_size),
                            .packed_size = packed.packed_size,
                            .bytes = test_block(packed.bytes, packed.bytes_size),
                            .bytes_size = packed.bytes_size};
        unpack_any(schema, i, column->length, &cut);
        test_packed_free(&cut);
    }
    test_packed_free(&packed);
}

static void use_batch(const oci_batch *batch, fuzz_bytes *bytes)
{
    oci_packer *packer = NULL;
    test_require(oci_packer_create(batch->schema, &packer, NULL) == OC_OK);
    for (int32_t i = 0; i < batch->schema->n_fields; i++) {
        use_column(packer, batch->schema, &batch->columns[i], i, bytes);
    }
    oci_packer_destroy(packer);
}

/* The rest of the bytes as streams. */
static void use_rest(const oci_schema *schema, fuzz_bytes *bytes)
{
    int64_t rows = fuzz_below(bytes, ROWS_MAX);
    int64_t text = fuzz_byte(bytes);
    int64_t left = (int64_t)(bytes->size - bytes->at);
    text = oci_min64(left, text);
    packed_bytes packed = {.packed = test_block(bytes->data + bytes->at, left - text),
                           .packed_size = left - text,
                           .bytes = test_block(bytes->data + bytes->size - text, text),
                           .bytes_size = text};
    for (int32_t i = 0; i < schema->n_fields; i++) {
        unpack_any(schema, i, rows, &packed);
    }
    test_packed_free(&packed);
}

/* ---- long columns of numbers ----------------------------------------------------------------- */

/* A word that is small, a decimal, or anything. */
static uint64_t choose_word(fuzz_bytes *bytes)
{
    uint8_t choice = fuzz_byte(bytes);
    uint64_t word = 0;
    for (int i = 0; i < (choice < 200 ? 2 : 8); i++) {
        word = word << 8 | fuzz_byte(bytes);
    }
    if (choice % 4 == 1) {
        double value = (double)(int64_t)word / (choice % 8 == 1 ? 10 : 100000);
        memcpy(&word, &value, sizeof word);
    } else if (choice % 4 == 2) {
        float values[2] = {(float)(int64_t)word / 100, (float)choice};
        memcpy(&word, values, sizeof word);
    }
    return word;
}

static void use_numbers(fuzz_bytes *bytes)
{
    static const char *const formats[] = {"g",   "f", "e", "d:38,0", "d:76,0,256", "d:18,0,64",
                                          "tin", "l", "S", "c",      "d:9,0,32"};
    static uint64_t words[NUMBERS_MAX * 4]; /* the widest have 32 bytes */
    static uint8_t validity[NUMBERS_MAX / 8];
    const char *format = formats[fuzz_below(bytes, sizeof formats / sizeof formats[0])];
    int64_t n = 1 + fuzz_byte(bytes) * 16;
    int32_t period = 1 + fuzz_below(bytes, PERIOD_MAX);
    uint8_t nulls = fuzz_byte(bytes);
    uint64_t step = fuzz_byte(bytes);
    for (int64_t i = 0; i < NUMBERS_MAX * 4; i++) {
        words[i] = i < period ? choose_word(bytes) : words[i - period] + step;
    }
    for (int64_t i = 0; i < NUMBERS_MAX / 8; i++) {
        validity[i] = nulls < 128 ? 0xFF : (uint8_t)(nulls * (i + 1));
    }
    oci_schema *schema = make_schema(&format, 1);
    oci_packer *packer = NULL;
    oci_column column = {.field = schema->fields,
                         .length = n,
                         .null_count = -1,
                         .values = (uint8_t *)words,
                         .validity = nulls < 64 ? NULL : validity};
    test_require(oci_packer_create(schema, &packer, NULL) == OC_OK);
    use_column(packer, schema, &column, 0, bytes);
    use_column(packer, schema, &column, 0, bytes); /* with what was chosen before */
    oci_packer_destroy(packer);
    oci_schema_release(schema);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_bytes bytes = {.data = data, .size = size};
    struct ArrowSchema c_schema;
    struct ArrowArray array;
    oci_schema *schema = NULL;
    oci_batch *batch = NULL;
    if (fuzz_byte(&bytes) >= 192) {
        use_numbers(&bytes);
        return 0;
    }
    fuzz_make_batch(&bytes, &c_schema, &array);
    if (oci_schema_import(&c_schema, &schema, NULL) == OC_OK) {
        bool is_sound = oci_batch_import(&array, schema, &batch, NULL) == OC_OK &&
                        oci_batch_validate(batch, NULL) == OC_OK;
        if (is_sound) {
            use_batch(batch, &bytes);
        } else {
            use_rest(schema, &bytes);
        }
    }
    oci_batch_release(batch);
    oci_schema_release(schema);
    if (c_schema.release != NULL) {
        c_schema.release(&c_schema);
    }
    if (array.release != NULL) {
        array.release(&array);
    }
    test_require(oci_mem_held(open_account()) == 0);
    return 0;
}
