/* Damaged spill files: an error, and never a crash or wrong rows.
 *
 * Samples are small runs of each encoding, codec and kind of protection. Each is read back
 *   - cut off at every byte, as a file that was handed over and as one that an operator remembers the
 *     size of: always an error, and the batches before it are the right ones;
 *   - with every bit flipped: the same; without checksums anything may come but no harm;
 *   - with messages swapped, repeated, left out, or taken from another run.
 *
 * No allocation may be larger than the budget of the sample. By default some of the cases run, other
 * ones in each sample; OUTCORE_DAMAGE=full runs all. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arrow/gather.h"
#include "ipc/message.h"
#include "spill/run.h"
#include "support/batch_maker.h"
#include "support/byte_file.h"

#define MIB          ((int64_t)1 << 20)
#define LIMIT        (2 * MIB)
#define N_BATCHES    3
#define MESSAGES_MAX 64
#define FLIP_STEP    97 /* one bit of so many by default */
#define CUT_STEP     17 /* one size of so many, and those near the ends of messages */

/* No single allocation may be larger than this, budget or not. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "max_allocation_size_mb=16";
}

typedef enum guard { GUARD_NONE, GUARD_CHECKSUM, GUARD_SEAL } guard;

/* A run, its bytes, and what it takes to read it. */
typedef struct sample {
    char name[80];
    guard guard;
    oci_budget *budget;
    oci_mem *mem;
    oci_spill_manager *manager;
    oci_schema *schema;
    oci_batch *batches[N_BATCHES];
    oci_run_extent extent;
    uint8_t *bytes;
    int64_t size;
    int64_t starts[MESSAGES_MAX + 1]; /* of the messages; starts[n_messages] = size */
    int32_t n_messages;
} sample;

#ifdef __SANITIZE_THREAD__
#define THINNED 8 /* there is one thread, so that sanitizer finds nothing */
#else
#define THINNED 1
#endif

static int64_t n_cases;

static bool is_full(void)
{
    const char *mode = getenv("OUTCORE_DAMAGE");
    return mode != NULL && strcmp(mode, "full") == 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

/* Strings go by length and bytes from 128 rows on; the second batch is another one, the third is a
 * single row. */
static void make_batches(sample *s, uint64_t seed)
{
    static const char *const columns[] = {"id=l", "s=u", "d=c>u", "n=+l(i)", "p=d:15,2", "v=vu"};
    static const int64_t rows[N_BATCHES] = {130, 40, 1};
    for (int32_t i = 0; i < N_BATCHES; i++) {
        arrow_maker maker = {.seed = seed,
                             .first_row = i * 1000,
                             .length = rows[i],
                             .null_percent = i == 1 ? 0 : 10,
                             .distinct = i == 1 ? 3 : 60,
                             .string_max = 30};
        oci_batch *batch = make_batch(columns, 6, &maker);
        if (i == 0) {
            assert_int_equal(oci_schema_working(batch->schema, &s->schema, NULL), OC_OK);
        }
        assert_int_equal(oci_gather_range(s->schema, batch, 0, batch->length, 0, s->mem, NULL,
                                          &s->batches[i], NULL),
                         OC_OK);
        oci_batch_release(batch);
    }
}

static void must(oc_status status, const sample *s, const oc_error *err)
{
    if (status != OC_OK) {
        fail_msg("%s: %s", s->name, err->message);
    }
}

static void write_sample(sample *s)
{
    oc_error err = {0};
    oci_spill_file *file = NULL;
    oci_run_writer *writer = NULL;
    must(oci_spill_file_open(s->manager, &file, &err), s, &err);
    must(oci_run_writer_create(file, s->schema, s->mem, NULL, &writer, &err), s, &err);
    must(oci_run_writer_begin(writer, &err), s, &err);
    for (int32_t i = 0; i < N_BATCHES; i++) {
        must(oci_run_writer_add(writer, oci_batch_retain(s->batches[i]), &err), s, &err);
    }
    must(oci_run_writer_finish(writer, &s->extent, &err), s, &err);
    s->size = s->extent.bytes;
    s->bytes = malloc((size_t)s->size);
    assert_non_null(s->bytes);
    must(oci_spill_read(file, s->bytes, s->size, s->extent.offset, &err), s, &err);
    oci_run_writer_destroy(writer);
    oci_spill_file_close(file);
}

/* Bytes of the message (or frame) that begins here. */
static int64_t message_bytes(const sample *s, const uint8_t *at)
{
    int64_t size = 0;
    if (s->guard == GUARD_SEAL) {
        assert_int_equal(oci_seal_read_head(at, &size, NULL), OC_OK);
        return size + OCI_SEAL_EXTRA;
    }
    int prefix = 0;
    oci_message message = {0};
    assert_int_equal(oci_frame_parse(at, &size, &prefix, NULL), OC_OK);
    if (size > 0) {
        assert_int_equal(oci_message_parse(at + prefix, size, &message, NULL), OC_OK);
    }
    return prefix + size + message.body_bytes;
}

static void find_messages(sample *s)
{
    int64_t at = 0;
    while (at < s->size) {
        assert_true(s->n_messages < MESSAGES_MAX);
        s->starts[s->n_messages++] = at;
        at += message_bytes(s, s->bytes + at);
    }
    assert_int_equal(at, s->size);
    s->starts[s->n_messages] = at;
}

static const char *const encoding_names[] = {"auto", "plain", "lengths"};
static const char *const guard_names[] = {"unchecked", "checked", "sealed"};

static void open_sample(sample *s, oci_spill_encoding encoding, oci_codec_id codec, guard g,
                        uint64_t seed)
{
    static const char *const folders[] = {"/tmp"};
    oc_error err = {0};
    *s = (sample){.guard = g};
    snprintf(s->name, sizeof s->name, "%s, %s, %s", encoding_names[encoding], oci_codec_name(codec),
             guard_names[g]);
    must(oci_budget_create(LIMIT, NULL, &s->budget, &err), s, &err);
    must(oci_mem_open(s->budget, "test", &s->mem, &err), s, &err);
    oci_spill_settings settings = {.folders = folders,
                                   .n_folders = 1,
                                   .codec = codec,
                                   .encoding = encoding,
                                   .no_checksums = g == GUARD_NONE,
                                   .is_sealed = g == GUARD_SEAL};
    must(oci_spill_manager_create(oci_posix_io(), &settings, &s->manager, &err), s, &err);
    make_batches(s, seed);
    write_sample(s);
    find_messages(s);
}

static void close_sample(sample *s)
{
    for (int32_t i = 0; i < N_BATCHES; i++) {
        oci_batch_release(s->batches[i]);
    }
    oci_schema_release(s->schema);
    oci_spill_manager_release(s->manager);
    assert_int_equal(oci_mem_held(s->mem), 0);
    oci_mem_close(s->mem);
    oci_budget_destroy(s->budget);
    free(s->bytes);
}

/* Calls for each encoding, codec and protection. */
static void for_each_kind(void (*body)(sample *s), guard first, guard last)
{
    for (guard g = first; g <= last; g++) {
        for (int encoding = 0; encoding < 3; encoding++) {
            for (int codec = OCI_CODEC_NONE; codec <= OCI_CODEC_ZSTD; codec++) {
                if (g == GUARD_SEAL && !oci_seal_is_available()) {
                    continue;
                }
                sample s;
                open_sample(&s, (oci_spill_encoding)encoding, (oci_codec_id)codec, g, 7);
                body(&s);
                close_sample(&s);
            }
        }
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What came of a reading. */
typedef struct outcome {
    oc_status status;
    oc_error err;
    int32_t batches;
} outcome;

/* With protection each batch that comes is the right one. Without it, what was checked when it was
 * read is sound; what was not checked is not looked at. */
static void look_at(const sample *s, const oci_batch *batch, int32_t number, bool trusted)
{
    static volatile uint64_t hash;
    if (s->guard != GUARD_NONE) {
        if (number >= N_BATCHES || !oci_batch_equal(batch, s->batches[number])) {
            fail_msg("%s: batch %d is not the one that was written", s->name, (int)number);
        }
    } else if (!trusted) {
        oc_error err = {0};
        if (oci_batch_validate(batch, &err) != OC_OK) {
            fail_msg("%s: batch %d is not sound: %s", s->name, (int)number, err.message);
        }
        for (int64_t row = 0; row < batch->length && row < 200; row++) {
            for (int32_t i = 0; i < batch->schema->n_fields; i++) {
                hash = oci_value_hash(&batch->columns[i], row, hash);
            }
        }
    }
}

/* Reads data[0..size) as the run that lies in the first `claimed` bytes of a file. */
static outcome read_run(const sample *s, const uint8_t *data, int64_t size, int64_t claimed,
                        bool trusted)
{
    outcome o = {0};
    oci_spill_file *file = NULL;
    oci_run_decoder *decoder = NULL;
    must(oci_spill_file_wrap(s->manager, byte_file_open(data, size, 0), size, &file, &o.err), s,
         &o.err);
    must(oci_run_decoder_create(s->manager, s->schema, trusted, s->mem, &decoder, &o.err), s,
         &o.err);
    oci_run_extent extent = {.bytes = claimed};
    memcpy(extent.run_id, s->extent.run_id, sizeof extent.run_id);
    oci_run_cursor cursor = {0};
    oci_run_cursor_start(&cursor, file, &extent);
    cursor.is_kept = true;
    oci_batch *batch = NULL;
    while ((o.status = oci_run_cursor_next(&cursor, decoder, &batch, &o.err)) == OC_OK &&
           batch != NULL && o.batches < 1000) {
        look_at(s, batch, o.batches++, trusted);
        oci_batch_release(batch);
    }
    oci_run_cursor_finish(&cursor);
    oci_run_decoder_destroy(decoder);
    oci_spill_file_close(file);
    assert_true(oci_budget_peak(s->budget) <= LIMIT);
    n_cases++;
    return o;
}

static bool is_refusal(const sample *s, const outcome *o)
{
    return o->err.message[0] != '\0' && (o->status == OC_EDATA || o->status == OC_EUNSUPPORTED ||
                                         (s->guard == GUARD_NONE && o->status == OC_EBUDGET));
}

static void expect_refusal(const sample *s, const outcome *o, const char *what, int64_t where)
{
    if (!is_refusal(s, o)) {
        fail_msg("%s: %s %d: %s: %s", s->name, what, (int)where, oc_status_name(o->status),
                 o->err.message);
    }
}

/* ---- cuts and flips -------------------------------------------------------------------------- */

static void undamaged(sample *s)
{
    for (int trusted = 0; trusted < 2; trusted++) {
        outcome o = read_run(s, s->bytes, s->size, s->size, trusted);
        must(o.status, s, &o.err);
        assert_int_equal(o.batches, N_BATCHES);
    }
}

static void an_undamaged_run_comes_back(void **state)
{
    (void)state;
    for_each_kind(undamaged, GUARD_NONE, GUARD_SEAL);
}

static bool is_near_end_of_message(const sample *s, int64_t size)
{
    for (int32_t i = 0; i <= s->n_messages; i++) {
        if (size >= s->starts[i] - 2 && size <= s->starts[i] + 9) {
            return true;
        }
    }
    return false;
}

static void cut(sample *s)
{
    for (int64_t size = 0; size < s->size; size++) {
        if (!is_full() && size % (CUT_STEP * THINNED) != s->size % CUT_STEP &&
            !is_near_end_of_message(s, size)) {
            continue;
        }
        /* A block of its own, so that reading behind it is seen. */
        uint8_t *data = malloc((size_t)size + (size == 0));
        assert_non_null(data);
        memcpy(data, s->bytes, (size_t)size);
        outcome known = read_run(s, data, size, s->size, true);
        expect_refusal(s, &known, "cut at", size);
        outcome unknown = read_run(s, data, size, size, false);
        expect_refusal(s, &unknown, "run cut at", size);
        free(data);
    }
}

static void a_cut_at_any_byte_is_an_error(void **state)
{
    (void)state;
    for_each_kind(cut, GUARD_NONE, GUARD_SEAL);
}

static void flip(sample *s)
{
    for (int64_t bit = 0; bit < s->size * 8; bit++) {
        if (!is_full() && bit % (FLIP_STEP * THINNED) != s->size % FLIP_STEP) {
            continue;
        }
        s->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        outcome o = read_run(s, s->bytes, s->size, s->size, bit % 3 == 0);
        if (s->guard != GUARD_NONE || o.status != OC_OK) {
            expect_refusal(s, &o, "flipped bit", bit);
        }
        s->bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

static void every_flipped_bit_is_an_error(void **state)
{
    (void)state;
    for_each_kind(flip, GUARD_CHECKSUM, GUARD_SEAL);
}

static void a_flipped_bit_does_no_harm_without_checksums(void **state)
{
    (void)state;
    for_each_kind(flip, GUARD_NONE, GUARD_NONE);
}

static void name_the_place(sample *s)
{
    for (int32_t i = 0; i < s->n_messages; i++) {
        int64_t at = s->starts[i + 1] - 1;
        s->bytes[at] ^= 1;
        outcome o = read_run(s, s->bytes, s->size, s->size, true);
        char expected[120];
        snprintf(expected, sizeof expected,
                 "could not read message %d at byte %lld of memory: ", (int)i,
                 (long long)s->starts[i]);
        if (strncmp(o.err.message, expected, strlen(expected)) != 0) {
            fail_msg("%s: message %d: %s", s->name, (int)i, o.err.message);
        }
        s->bytes[at] ^= 1;
    }
}

static void an_error_names_the_file_the_message_and_its_byte(void **state)
{
    (void)state;
    for_each_kind(name_the_place, GUARD_CHECKSUM, GUARD_SEAL);
}

/* Where sizes and counts are: large, small and negative ones instead. */
static void patch(sample *s)
{
    static const uint64_t values[] = {0, UINT64_MAX, UINT64_C(1) << 31, UINT64_C(1) << 62, 1};
    int64_t step = is_full() ? 4 : 52 * THINNED;
    for (int64_t at = 0; at + 8 <= s->size; at += step) {
        for (size_t k = 0; k < 2 * sizeof values / sizeof *values; k++) {
            uint8_t old[8];
            size_t width = k % 2 == 0 ? 4 : 8;
            memcpy(old, s->bytes + at, 8);
            memcpy(s->bytes + at, &values[k / 2], width);
            outcome o = read_run(s, s->bytes, s->size, s->size, at / step % 2 == 0);
            if (o.status != OC_OK) {
                expect_refusal(s, &o, "patched at", at);
            }
            memcpy(s->bytes + at, old, 8);
        }
    }
}

static void numbers_beyond_all_bounds_do_no_harm_without_checksums(void **state)
{
    (void)state;
    for_each_kind(patch, GUARD_NONE, GUARD_NONE);
}

/* ---- messages in another order --------------------------------------------------------------- */

static void append(const sample *s, int32_t message, byte_sink *to)
{
    oci_file *file = byte_file_create(to);
    int64_t size = s->starts[message + 1] - s->starts[message];
    assert_int_equal(oci_write(file, s->bytes + s->starts[message], size, NULL), OC_OK);
    assert_int_equal(oci_close(file, NULL), OC_OK);
}

static bool is_same_message(const sample *a, int32_t i, const sample *b, int32_t j)
{
    int64_t size = a->starts[i + 1] - a->starts[i];
    return size == b->starts[j + 1] - b->starts[j] &&
           memcmp(a->bytes + a->starts[i], b->bytes + b->starts[j], (size_t)size) == 0;
}

/* Reads what lies in `made`, and empties it. */
static void expect_made_is_refused(const sample *s, byte_sink *made, const char *what, int32_t i,
                                   int32_t j)
{
    outcome o = read_run(s, made->data, made->size, made->size, (i + j) % 2 == 0);
    expect_refusal(s, &o, what, (int64_t)i * 100 + j);
    free(made->data);
    *made = (byte_sink){0};
}

static void reorder(sample *s)
{
    byte_sink made = {0};
    for (int32_t i = 0; i < s->n_messages; i++) {
        for (int32_t k = 0; k < s->n_messages; k++) {
            if (k != i) {
                append(s, k, &made);
            }
        }
        expect_made_is_refused(s, &made, "left out", 0, i);
        for (int32_t k = 0; k < s->n_messages; k++) {
            append(s, k, &made);
            if (k == i) {
                append(s, k, &made);
            }
        }
        expect_made_is_refused(s, &made, "repeated", 0, i);
        for (int32_t j = i + 1; j < s->n_messages && s->guard != GUARD_NONE; j++) {
            if (is_same_message(s, i, s, j)) {
                continue; /* two end markers */
            }
            for (int32_t k = 0; k < s->n_messages; k++) {
                append(s, k == i ? j : k == j ? i : k, &made);
            }
            expect_made_is_refused(s, &made, "swapped", i, j);
        }
    }
}

static void messages_lost_repeated_or_swapped_are_an_error(void **state)
{
    (void)state;
    for_each_kind(reorder, GUARD_CHECKSUM, GUARD_SEAL);
}

/* Counts at the end see the blocks that are gone or there twice; the rest is what checksums are for. */
static void lose_blocks(sample *s)
{
    for (int32_t i = 0; i < s->n_messages; i++) {
        oci_message message = {0};
        int64_t size = 0;
        int prefix = 0;
        const uint8_t *at = s->bytes + s->starts[i];
        assert_int_equal(oci_frame_parse(at, &size, &prefix, NULL), OC_OK);
        if (size == 0 || oci_message_parse(at + prefix, size, &message, NULL) != OC_OK ||
            message.kind != OCI_MESSAGE_BATCH) {
            continue;
        }
        byte_sink made = {0};
        for (int copies = 0; copies <= 2; copies += 2) {
            for (int32_t k = 0; k < s->n_messages; k++) {
                for (int copy = 0; copy < (k == i ? copies : 1); copy++) {
                    append(s, k, &made);
                }
            }
            expect_made_is_refused(s, &made, "left out or repeated", copies, i);
        }
    }
}

static void lost_and_repeated_blocks_are_an_error_without_checksums(void **state)
{
    (void)state;
    for_each_kind(lose_blocks, GUARD_NONE, GUARD_NONE);
}

/* Puts message j of another run in the place of message i. What has no seal belongs to a place, not
 * to a run, so there the places differ. */
static void mix(sample *s)
{
    sample other = *s;
    other.n_messages = 0;
    make_batches(&other, 8);
    write_sample(&other);
    find_messages(&other);
    byte_sink made = {0};
    for (int32_t i = 0; i < s->n_messages; i++) {
        for (int32_t j = 0; j < other.n_messages; j++) {
            if ((s->guard == GUARD_CHECKSUM && i == j) || is_same_message(s, i, &other, j)) {
                continue;
            }
            for (int32_t k = 0; k < s->n_messages; k++) {
                append(k == i ? &other : s, k == i ? j : k, &made);
            }
            expect_made_is_refused(s, &made, "taken from another run", i, j);
        }
    }
    for (int32_t i = 0; i < N_BATCHES; i++) {
        oci_batch_release(other.batches[i]);
    }
    oci_schema_release(other.schema);
    free(other.bytes);
}

static void messages_of_another_run_are_an_error(void **state)
{
    (void)state;
    for_each_kind(mix, GUARD_CHECKSUM, GUARD_SEAL);
}

/* ---- sealed runs ----------------------------------------------------------------------------- */

static void a_sealed_run_opens_with_its_key_and_number_only(void **state)
{
    (void)state;
    if (!oci_seal_is_available()) {
        skip();
    }
    sample s;
    sample other;
    open_sample(&s, OCI_SPILL_ENCODING_AUTO, OCI_CODEC_ZSTD, GUARD_SEAL, 7);
    open_sample(&other, OCI_SPILL_ENCODING_AUTO, OCI_CODEC_ZSTD, GUARD_SEAL, 7);
    outcome o = read_run(&other, s.bytes, s.size, s.size, true);
    assert_int_equal(o.status, OC_EDATA);
    assert_int_equal(o.batches, 0);
    s.extent.run_id[15] ^= 1;
    o = read_run(&s, s.bytes, s.size, s.size, true);
    assert_int_equal(o.status, OC_EDATA);
    close_sample(&other);
    close_sample(&s);
}

/* Strings of the sample that can be read in its file. */
static int64_t count_readable(const sample *s)
{
    int64_t n = 0;
    const oci_column *strings = &s->batches[0]->columns[1];
    for (int64_t row = 0; row < strings->length; row++) {
        int64_t size = 0;
        const uint8_t *bytes = oci_column_bytes_at(strings, row, &size);
        n += size >= 8 && memmem(s->bytes, (size_t)s->size, bytes, (size_t)size) != NULL;
    }
    return n;
}

static void sealed_bytes_show_no_string(void **state)
{
    (void)state;
    if (!oci_seal_is_available()) {
        skip();
    }
    sample plain;
    sample sealed;
    open_sample(&plain, OCI_SPILL_ENCODING_PLAIN, OCI_CODEC_NONE, GUARD_CHECKSUM, 7);
    open_sample(&sealed, OCI_SPILL_ENCODING_PLAIN, OCI_CODEC_NONE, GUARD_SEAL, 7);
    assert_true(count_readable(&plain) > 0);
    assert_int_equal(count_readable(&sealed), 0);
    close_sample(&sealed);
    close_sample(&plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_undamaged_run_comes_back),
        cmocka_unit_test(a_cut_at_any_byte_is_an_error),
        cmocka_unit_test(every_flipped_bit_is_an_error),
        cmocka_unit_test(a_flipped_bit_does_no_harm_without_checksums),
        cmocka_unit_test(an_error_names_the_file_the_message_and_its_byte),
        cmocka_unit_test(numbers_beyond_all_bounds_do_no_harm_without_checksums),
        cmocka_unit_test(messages_lost_repeated_or_swapped_are_an_error),
        cmocka_unit_test(lost_and_repeated_blocks_are_an_error_without_checksums),
        cmocka_unit_test(messages_of_another_run_are_an_error),
        cmocka_unit_test(a_sealed_run_opens_with_its_key_and_number_only),
        cmocka_unit_test(sealed_bytes_show_no_string),
    };
    int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    printf("%lld readings\n", (long long)n_cases);
    return n_failed;
}
