/* Sealed messages: what was sealed comes back, and nothing else ever does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "spill/seal.h"

static const uint8_t key_a[OCI_SEAL_KEY_BYTES] = "key a of thirty-two bytes......";
static const uint8_t key_b[OCI_SEAL_KEY_BYTES] = "key b of thirty-two bytes......";
static const uint8_t run_a[OCI_SEAL_RUN_ID_BYTES] = "run a..........";
static const uint8_t run_b[OCI_SEAL_RUN_ID_BYTES] = "run b..........";

/* Skips a test where there is no encryption. */
static oci_seal *make_seal(const oci_random *random, const uint8_t *key)
{
    if (!oci_seal_is_available()) {
        skip();
    }
    oci_seal *seal = NULL;
    oc_error err = {0};
    if (oci_seal_create(random, key, &seal, &err) != OC_OK) {
        fail_msg("%s", err.message);
    }
    return seal;
}

/* A block of malloc of exactly `size` bytes, so that a byte beyond it is noticed. */
static uint8_t *make_content(int64_t size)
{
    uint8_t *content = malloc((size_t)size + (size == 0));
    assert_non_null(content);
    for (int64_t i = 0; i < size; i++) {
        content[i] = (uint8_t)(i * 131 + (i >> 8));
    }
    return content;
}

static uint8_t *close_message(const oci_seal *seal, int64_t place, int64_t size)
{
    uint8_t *content = make_content(size);
    uint8_t *frame = malloc((size_t)(size + OCI_SEAL_EXTRA));
    assert_non_null(frame);
    oci_seal_close(seal, run_a, place, content, size, frame);
    free(content);
    return frame;
}

static void what_is_sealed_comes_back(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    static const int64_t sizes[] = {0, 1, 15, 16, 17, 63, 64, 65, 1000, 4096, (3 << 20) + 7};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int64_t size = sizes[i];
        uint8_t *frame = close_message(seal, (int64_t)i, size);
        int64_t claimed = -1;
        assert_int_equal(oci_seal_read_head(frame, &claimed, NULL), OC_OK);
        assert_int_equal(claimed, size);
        uint8_t *content = make_content(size);
        uint8_t *opened = calloc((size_t)size + 1, 1);
        assert_non_null(opened);
        assert_int_equal(oci_seal_open(seal, run_a, (int64_t)i, frame, size, opened, NULL), OC_OK);
        assert_memory_equal(opened, content, (size_t)size);
        free(opened);
        free(content);
        free(frame);
    }
    oci_seal_destroy(seal);
}

static void seals_and_opens_in_place(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, key_a);
    const int64_t size = 100000;
    uint8_t *content = make_content(size);
    uint8_t *apart = close_message(seal, 7, size);
    uint8_t *frame = malloc((size_t)(size + OCI_SEAL_EXTRA));
    assert_non_null(frame);
    uint8_t *middle = frame + OCI_SEAL_HEAD_BYTES;
    memcpy(middle, content, (size_t)size);
    oci_seal_close(seal, run_a, 7, middle, size, frame);
    assert_memory_equal(frame, apart, (size_t)(size + OCI_SEAL_EXTRA));
    assert_int_equal(oci_seal_open(seal, run_a, 7, frame, size, middle, NULL), OC_OK);
    assert_memory_equal(middle, content, (size_t)size);
    free(frame);
    free(apart);
    free(content);
    oci_seal_destroy(seal);
}

/* The bytes that docs/spill-format.md promises, from another implementation of the cipher
 * (HChaCha20 and ChaCha20-Poly1305 of RFC 8439). */
static void frame_is_the_documented_one(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, key_a);
    static const uint8_t expected[] = {'O',  'C',  'S',  'E',  'A',  'L',  1,    0,    5,    0,
                                       0,    0,    0,    0,    0,    0,    0xfe, 0xb4, 0xf5, 0x7e,
                                       0x77, 0xcf, 0x55, 0x5f, 0x3e, 0x06, 0xae, 0x28, 0x4a, 0x7e,
                                       0x16, 0x4f, 0xa5, 0x4c, 0x55, 0xd4, 0x18};
    uint8_t frame[5 + OCI_SEAL_EXTRA];
    oci_seal_close(seal, run_a, 258, (const uint8_t *)"hello", 5, frame);
    assert_memory_equal(frame, expected, sizeof frame);
    oci_seal_destroy(seal);
}

static void sealed_bytes_do_not_show_what_they_hold(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    uint8_t zeros[64] = {0};
    uint8_t first[64 + OCI_SEAL_EXTRA];
    uint8_t second[64 + OCI_SEAL_EXTRA];
    oci_seal_close(seal, run_a, 0, zeros, 64, first);
    oci_seal_close(seal, run_a, 1, zeros, 64, second);
    assert_memory_not_equal(first + OCI_SEAL_HEAD_BYTES, zeros, 64);
    assert_memory_not_equal(first + OCI_SEAL_HEAD_BYTES, second + OCI_SEAL_HEAD_BYTES, 64);
    oci_seal_destroy(seal);
}

/* What a reader does with a frame: head, then content. Anything but OC_OK will do. */
static oc_status open_frame(const oci_seal *seal, const uint8_t *run_id, int64_t place,
                            const uint8_t *frame, int64_t room, uint8_t *opened, oc_error *err)
{
    int64_t size;
    OC_TRY(oci_seal_read_head(frame, &size, err));
    if (size > room) {
        return OC_EDATA; /* the reader sees that it ends behind the file */
    }
    return oci_seal_open(seal, run_id, place, frame, size, opened, err);
}

static void every_flipped_bit_is_an_error(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    enum { SIZE = 40 };
    uint8_t *frame = close_message(seal, 3, SIZE);
    uint8_t opened[SIZE];
    for (int bit = 0; bit < (SIZE + OCI_SEAL_EXTRA) * 8; bit++) {
        frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_not_equal(open_frame(seal, run_a, 3, frame, SIZE, opened, NULL), OC_OK);
        frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(open_frame(seal, run_a, 3, frame, SIZE, opened, NULL), OC_OK);
    free(frame);
    oci_seal_destroy(seal);
}

static void a_changed_size_is_an_error(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    enum { SIZE = 40 };
    uint8_t *frame = close_message(seal, 3, SIZE);
    uint8_t opened[SIZE];
    for (int64_t size = 0; size < SIZE; size++) {
        /* Once asked for less than the head says, once with a head that says less. */
        assert_int_equal(oci_seal_open(seal, run_a, 3, frame, size, opened, NULL), OC_EDATA);
        frame[8] = (uint8_t)size;
        assert_int_equal(oci_seal_open(seal, run_a, 3, frame, size, opened, NULL), OC_EDATA);
        frame[8] = SIZE;
    }
    free(frame);
    oci_seal_destroy(seal);
}

static void a_message_opens_at_its_own_place_only(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, key_a);
    oci_seal *other = make_seal(NULL, key_b);
    enum { SIZE = 40 };
    uint8_t *frame = close_message(seal, 3, SIZE);
    uint8_t opened[SIZE];
    oc_error err = {0};
    assert_int_equal(oci_seal_open(seal, run_a, 2, frame, SIZE, opened, NULL), OC_EDATA);
    assert_int_equal(oci_seal_open(seal, run_a, 4, frame, SIZE, opened, NULL), OC_EDATA);
    assert_int_equal(oci_seal_open(seal, run_b, 3, frame, SIZE, opened, NULL), OC_EDATA);
    assert_int_equal(oci_seal_open(other, run_a, 3, frame, SIZE, opened, &err), OC_EDATA);
    assert_string_equal(err.message, "the seal of message 3 is broken: it was changed, or is not "
                                     "the one written there");
    assert_int_equal(oci_seal_open(seal, run_a, 3, frame, SIZE, opened, NULL), OC_OK);
    free(frame);
    oci_seal_destroy(other);
    oci_seal_destroy(seal);
}

static void heads_that_are_none_are_refused(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    uint8_t *frame = close_message(seal, 0, 8);
    int64_t size = -1;
    oc_error err = {0};
    frame[6] = 2;
    assert_int_equal(oci_seal_read_head(frame, &size, &err), OC_EUNSUPPORTED);
    assert_string_equal(err.message, "sealed messages of version 2 are not known");
    frame[6] = 1;
    memset(frame + 8, 0xFF, 8);
    assert_int_equal(oci_seal_read_head(frame, &size, NULL), OC_EDATA);
    memset(frame + 8, 0, 8);
    frame[12] = 0x40; /* 2^38 */
    assert_int_equal(oci_seal_read_head(frame, &size, NULL), OC_EDATA);
    memset(frame, 0xFF, 4); /* an Arrow message */
    assert_int_equal(oci_seal_read_head(frame, &size, NULL), OC_EDATA);
    assert_int_equal(size, -1);
    free(frame);
    oci_seal_destroy(seal);
}

/* ---- random numbers ---- */

typedef struct counting_random {
    int64_t bytes;
    int error;
    int64_t calls_before_error;
} counting_random;

static int fill_counting(void *self, void *buf, int64_t size)
{
    counting_random *random = self;
    if (random->error != 0 && random->calls_before_error-- == 0) {
        return random->error;
    }
    memset(buf, (int)(random->bytes & 0x7F), (size_t)size);
    random->bytes += size;
    return 0;
}

static void keys_and_runs_take_numbers_from_the_seam(void **state)
{
    (void)state;
    counting_random numbers = {0};
    oci_random random = {.fill = fill_counting, .self = &numbers};
    oci_seal *seal = make_seal(&random, NULL);
    assert_int_equal(numbers.bytes, OCI_SEAL_KEY_BYTES);
    uint8_t id[OCI_SEAL_RUN_ID_BYTES];
    assert_int_equal(oci_seal_run_id(seal, id, NULL), OC_OK);
    assert_int_equal(numbers.bytes, OCI_SEAL_KEY_BYTES + OCI_SEAL_RUN_ID_BYTES);
    assert_int_equal(id[0], OCI_SEAL_KEY_BYTES);
    oci_seal_destroy(seal);
}

static void runs_and_keys_differ(void **state)
{
    (void)state;
    oci_seal *seal = make_seal(NULL, NULL);
    oci_seal *other = make_seal(NULL, NULL);
    uint8_t ids[2][OCI_SEAL_RUN_ID_BYTES];
    assert_int_equal(oci_seal_run_id(seal, ids[0], NULL), OC_OK);
    assert_int_equal(oci_seal_run_id(seal, ids[1], NULL), OC_OK);
    assert_memory_not_equal(ids[0], ids[1], OCI_SEAL_RUN_ID_BYTES);
    uint8_t *frame = close_message(seal, 0, 8);
    uint8_t opened[8];
    assert_int_equal(oci_seal_open(other, run_a, 0, frame, 8, opened, NULL), OC_EDATA);
    free(frame);
    oci_seal_destroy(other);
    oci_seal_destroy(seal);
}

static void no_random_numbers_is_an_error_not_a_weak_key(void **state)
{
    (void)state;
    if (!oci_seal_is_available()) {
        skip();
    }
    counting_random numbers = {.error = ENOSYS};
    oci_random random = {.fill = fill_counting, .self = &numbers};
    oci_seal *seal = NULL;
    oc_error err = {0};
    assert_int_equal(oci_seal_create(&random, NULL, &seal, &err), OC_EIO);
    assert_null(seal);
    assert_int_equal(err.sys_errno, ENOSYS);
    assert_string_equal(err.message, "could not encrypt spill files: the system gives no random "
                                     "numbers: Function not implemented");
    numbers.calls_before_error = 1;
    seal = make_seal(&random, NULL);
    uint8_t id[OCI_SEAL_RUN_ID_BYTES];
    assert_int_equal(oci_seal_run_id(seal, id, NULL), OC_EIO);
    oci_seal_destroy(seal);
}

static void is_refused_where_it_is_not_built_in(void **state)
{
    (void)state;
    if (oci_seal_is_available()) {
        skip();
    }
    oci_seal *seal = NULL;
    oc_error err = {0};
    assert_int_equal(oci_seal_create(NULL, NULL, &seal, &err), OC_EUNSUPPORTED);
    assert_null(seal);
    assert_string_equal(err.message, "cannot encrypt spill files: this library was built without "
                                     "libsodium");
    oci_seal_destroy(seal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_sealed_comes_back),
        cmocka_unit_test(seals_and_opens_in_place),
        cmocka_unit_test(frame_is_the_documented_one),
        cmocka_unit_test(sealed_bytes_do_not_show_what_they_hold),
        cmocka_unit_test(every_flipped_bit_is_an_error),
        cmocka_unit_test(a_changed_size_is_an_error),
        cmocka_unit_test(a_message_opens_at_its_own_place_only),
        cmocka_unit_test(heads_that_are_none_are_refused),
        cmocka_unit_test(keys_and_runs_take_numbers_from_the_seam),
        cmocka_unit_test(runs_and_keys_differ),
        cmocka_unit_test(no_random_numbers_is_an_error_not_a_weak_key),
        cmocka_unit_test(is_refused_where_it_is_not_built_in),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
