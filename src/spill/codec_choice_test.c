/* Choosing a codec on simulated machines: the choice is fed with what blocks would have taken, and
 * its total is held against the best codec chosen beforehand. */
#include "spill/codec_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SETTINGS = 4, BLOCK_BYTES = 1000000, RUN_BLOCKS = 100 };

static const oci_codec_setting settings[SETTINGS] = {
    {OCI_CODEC_NONE, 0}, {OCI_CODEC_LZ4_FRAME, 0}, {OCI_CODEC_ZSTD, 1}, {OCI_CODEC_ZSTD, 3}};

/* Nanoseconds per byte and ratio of each setting, as measured. */
typedef struct data_kind {
    const char *name;
    struct {
        double encode;
        double ratio;
        double decode;
    } with[SETTINGS];
} data_kind;

static const data_kind kinds[] = {
    {"noise", {{0.02, 1, 0}, {0.03, 1, 0.02}, {0.04, 1, 0.02}, {0.04, 1, 0.02}}},
    {"text", {{0.02, 1, 0}, {2.2, 0.492, 0.25}, {2.68, 0.339, 0.64}, {3.15, 0.324, 0.67}}},
    {"packed", {{0.02, 1, 0}, {1.0, 0.715, 0.2}, {1.53, 0.630, 0.37}, {1.81, 0.621, 0.38}}},
    {"plain", {{0.02, 1, 0}, {1.96, 0.479, 0.31}, {2.68, 0.300, 0.91}, {3.3, 0.295, 0.77}}},
    {"words", {{0.02, 1, 0}, {0.49, 0.513, 0.21}, {1.46, 0.313, 0.66}, {1.36, 0.308, 0.62}}},
    {"equal", {{0.02, 1, 0}, {0.1, 0.004, 0.1}, {0.2, 0.0005, 0.1}, {0.3, 0.0005, 0.1}}},
};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

typedef struct machine {
    const char *name;
    double write; /* ns per byte */
    double read;
    double slower; /* than the one that was measured */
} machine;

static const machine machines[] = {
    {"50 MB/s", 20, 20, 1},       {"100 MB/s", 10, 10, 1},     {"200 MB/s", 5, 5, 1},
    {"400 MB/s", 2.5, 2.5, 1},    {"1 GB/s", 1, 1, 1},         {"2 GB/s", 0.5, 0.5, 1},
    {"5 GB/s", 0.2, 0.2, 1},      {"page cache", 0.4, 0.1, 1}, {"fresh pages", 2, 0.3, 1},
    {"old, 100 MB/s", 10, 10, 5}, {"old, 1 GB/s", 1, 1, 5},
};

enum { MACHINES = sizeof machines / sizeof machines[0] };

static int number_of(oci_codec_setting setting)
{
    for (int i = 0; i < SETTINGS; i++) {
        if (settings[i].id == setting.id && settings[i].level == setting.level) {
            return i;
        }
    }
    fail_msg("setting %d, %d is not known", (int)setting.id, setting.level);
    return 0;
}

/* Blocks that are written, and read when a run of them is there; times are as noisy as `noise`
 * says. */
typedef struct simulation {
    oci_codec_choice *choice;
    uint64_t random;
    double noise;
    double total; /* ns */
    int64_t used[SETTINGS];
    int unread[RUN_BLOCKS];
    int n_unread;
} simulation;

static simulation start(double noise)
{
    simulation s = {.random = 1, .noise = noise};
    assert_int_equal(oci_codec_choice_create(&s.choice, NULL), OC_OK);
    return s;
}

/* Nanoseconds that `bytes` take: between 1 - noise and 1 + noise of what they should. */
static int64_t take(simulation *s, double bytes, double ns_per_byte)
{
    s->random = s->random * UINT64_C(6364136223846793005) + 1442695040888963407;
    double wobble = (double)(s->random >> 40) / (1 << 23) - 1;
    double ns = bytes * ns_per_byte * (1 + s->noise * wobble);
    s->total += ns;
    return (int64_t)ns;
}

static void read_back(simulation *s, const machine *m, const data_kind *kind)
{
    for (int k = 0; k < s->n_unread; k++) {
        int i = s->unread[k];
        double out = BLOCK_BYTES * kind->with[i].ratio;
        oci_codec_choice_note_read(s->choice, (int64_t)out, take(s, out, m->read));
        oci_codec_choice_note_decode(s->choice, settings[i].id, BLOCK_BYTES,
                                     take(s, BLOCK_BYTES, m->slower * kind->with[i].decode));
    }
    s->n_unread = 0;
}

static int run_block(simulation *s, const machine *m, const data_kind *kind)
{
    oci_codec_setting setting = oci_codec_choice_next(s->choice);
    int i = number_of(setting);
    double out = BLOCK_BYTES * kind->with[i].ratio;
    oci_codec_choice_note_encode(s->choice, setting, BLOCK_BYTES, (int64_t)out,
                                 take(s, BLOCK_BYTES, m->slower * kind->with[i].encode));
    oci_codec_choice_note_write(s->choice, (int64_t)out, take(s, out, m->write));
    s->used[i]++;
    s->unread[s->n_unread++] = i;
    if (s->n_unread == RUN_BLOCKS) {
        read_back(s, m, kind);
    }
    return i;
}

static void run_blocks(simulation *s, const machine *m, const data_kind *kind, int n)
{
    for (int k = 0; k < n; k++) {
        run_block(s, m, kind);
    }
    read_back(s, m, kind);
}

static double cost_of(const machine *m, const data_kind *kind, int i)
{
    return m->slower * (kind->with[i].encode + kind->with[i].decode) +
           kind->with[i].ratio * (m->write + m->read);
}

static int best_fixed(const machine *m, const data_kind *kind)
{
    int best = 0;
    for (int i = 1; i < SETTINGS; i++) {
        best = cost_of(m, kind, i) < cost_of(m, kind, best) ? i : best;
    }
    return best;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* What `n` blocks cost, by what the best codec known beforehand would have cost. */
static double excess(simulation *s, const machine *m, const data_kind *kind, int n)
{
    s->total = 0;
    run_blocks(s, m, kind, n);
    return s->total / (n * (double)BLOCK_BYTES * cost_of(m, kind, best_fixed(m, kind)));
}

static void assert_excess(double is, double at_most, const machine *m, const data_kind *kind)
{
    if (is > at_most) {
        fail_msg("%s, %s: costs %.3f times what the best codec does, not %.3f", m->name, kind->name,
                 is, at_most);
    }
}

static void choice_costs_little_more_than_the_best_codec_known_beforehand(void **state)
{
    (void)state;
    for (int m = 0; m < MACHINES; m++) {
        for (int k = 0; k < KINDS; k++) {
            for (int noisy = 0; noisy < 2; noisy++) {
                simulation s = start(noisy ? 0.3 : 0);
                assert_excess(excess(&s, &machines[m], &kinds[k], 500), 1.06, &machines[m],
                              &kinds[k]);
                oci_codec_choice_destroy(s.choice);
            }
        }
    }
}

/* With a machine and data that stay as they are, trying the others is all that costs. */
static void trying_others_costs_less_than_three_percent(void **state)
{
    (void)state;
    for (int m = 0; m < MACHINES; m++) {
        for (int k = 0; k < KINDS; k++) {
            simulation s = start(0);
            run_blocks(&s, &machines[m], &kinds[k], 2 * RUN_BLOCKS);
            assert_excess(excess(&s, &machines[m], &kinds[k], 1000), 1.03, &machines[m], &kinds[k]);
            oci_codec_choice_destroy(s.choice);
        }
    }
}

/* Runs blocks and says what most of the last ones used. */
static int settle(simulation *s, const machine *m, const data_kind *kind, int n)
{
    run_blocks(s, m, kind, n - 20);
    int64_t used[SETTINGS] = {0};
    for (int k = 0; k < 20; k++) {
        used[run_block(s, m, kind)]++;
    }
    int most = 0;
    for (int i = 1; i < SETTINGS; i++) {
        most = used[i] > used[most] ? i : most;
    }
    assert_true(used[most] > 10);
    return most;
}

static void choice_is_made_within_few_blocks(void **state)
{
    (void)state;
    static const struct {
        int machine;
        int kind;
        int setting;
    } cases[] = {
        {0, 0, 0}, /* noise is not compressed even on a slow disk */
        {0, 3, 2}, /* slow disk: zstd */
        {1, 1, 2}, /* 100 MB/s: zstd */
        {3, 4, 1}, /* 400 MB/s, data that is easy: LZ4 */
        {6, 1, 0}, /* fast disk: none */
        {6, 5, 1}, /* but where all values are equal */
        {7, 2, 0}, /* page cache: none */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const machine *m = &machines[cases[i].machine];
        const data_kind *kind = &kinds[cases[i].kind];
        assert_int_equal(best_fixed(m, kind), cases[i].setting);
        simulation s = start(0);
        assert_int_equal(settle(&s, m, kind, 30), cases[i].setting);
        oci_codec_choice_destroy(s.choice);
    }
}

static void choice_follows_the_data_and_the_disk(void **state)
{
    (void)state;
    const machine *slow = &machines[1];
    const machine *fast = &machines[6];
    const data_kind *noise = &kinds[0];
    const data_kind *text = &kinds[1];
    simulation s = start(0.2);
    assert_true(settle(&s, slow, text, 100) >= 2); /* the two levels are close */
    assert_int_equal(settle(&s, slow, noise, 100), 0);
    assert_true(settle(&s, slow, text, 100) >= 2);
    assert_int_equal(settle(&s, fast, text, 200), 0);
    assert_true(settle(&s, slow, text, 200) >= 2);
    oci_codec_choice_destroy(s.choice);
}

/* A disk that reads much slower than it writes: nothing is known of it until something was read. */
static void choice_counts_reading(void **state)
{
    (void)state;
    machine m = {"fast to write", 0.4, 10, 1};
    simulation s = start(0);
    for (int k = 0; k < RUN_BLOCKS - 1; k++) {
        run_block(&s, &m, &kinds[1]);
    }
    assert_true(s.used[0] > RUN_BLOCKS - 10);
    assert_true(settle(&s, &m, &kinds[1], RUN_BLOCKS) >= 2);
    oci_codec_choice_destroy(s.choice);
}

/* Blocks that were encoded while something else had the processor. */
static void interruptions_do_not_change_the_choice(void **state)
{
    (void)state;
    const machine *m = &machines[1];
    simulation s = start(0);
    assert_int_equal(settle(&s, m, &kinds[1], 100), 2);
    for (int i = 1; i < SETTINGS; i++) {
        int64_t out = (int64_t)(BLOCK_BYTES * kinds[1].with[i].ratio);
        oci_codec_choice_note_encode(s.choice, settings[i], BLOCK_BYTES, out, 1000000000);
    }
    assert_excess(excess(&s, m, &kinds[1], 200), 1.1, m, &kinds[1]);
    oci_codec_choice_destroy(s.choice);
}

static void foreign_settings_and_empty_blocks_are_passed_over(void **state)
{
    (void)state;
    simulation s = start(0);
    assert_int_equal(settle(&s, &machines[6], &kinds[1], 50), 0);
    for (int i = 0; i < 100; i++) {
        oci_codec_setting other = {OCI_CODEC_ZSTD, 9};
        oci_codec_choice_note_encode(s.choice, other, BLOCK_BYTES, 1, 1);
        oci_codec_choice_note_encode(s.choice, settings[1], 0, 0, 1);
        oci_codec_choice_note_write(s.choice, 0, 1000000000);
        oci_codec_choice_note_read(s.choice, 0, 1000000000);
        oci_codec_choice_note_decode(s.choice, OCI_CODEC_NONE, 0, 1000000000);
    }
    assert_int_equal(settle(&s, &machines[6], &kinds[1], 30), 0);
    oci_codec_choice_destroy(s.choice);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choice_costs_little_more_than_the_best_codec_known_beforehand),
        cmocka_unit_test(trying_others_costs_less_than_three_percent),
        cmocka_unit_test(choice_is_made_within_few_blocks),
        cmocka_unit_test(choice_follows_the_data_and_the_disk),
        cmocka_unit_test(choice_counts_reading),
        cmocka_unit_test(interruptions_do_not_change_the_choice),
        cmocka_unit_test(foreign_settings_and_empty_blocks_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
