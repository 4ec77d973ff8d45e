/* See codec_choice.h for the model.
 *
 *   note_*()  -> rates: nanoseconds per byte, over the last dozen of samples or so
 *   next()    -> the cheapest codec whose rates are known, or one that is due for a try
 *
 * Candidates. Measured on packed columns, text and plain columns in blocks of 1 MB: zstd below level
 * 1 is as slow as level 1 and packs less; levels above 3 take three times as long for 1 to 4%, which
 * pays below 5 MB/s. So there are four.
 *
 * Guesses. A codec that was not seen, or not for long, is guessed from a neighbour that was, and from
 * what codecs usually do. A guess that it is cheaper is reason enough to try it. Else trying it is
 * paid from what may be lost on tries: a share of all that was spent. And what could not win even if
 * it took half the time and left nothing to write is not tried.
 *
 * No single sample can do much harm: a block that was encoded while something else had the processor
 * counts four times as slow as expected, not more.
 *
 * The struct comes from malloc, one per context. */
#include "spill/codec_choice.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

/* Of the samples before, when another comes. */
#define KEPT_OF_RATIO (1.0 / 2) /* no clock in it */
#define KEPT_OF_CODEC (7.0 / 8)
#define KEPT_OF_DISK  (15.0 / 16) /* stalls come in bursts */

#define LOST_SHARE_MAX 0.02 /* of all costs may be lost on tries */
#define SLOWER_MAX     4.0

enum {
    TRY_AGAIN_BLOCKS = 32, /* what is older is tried again */
    FORGET_BLOCKS = 256,   /* what is older is a guess */
    CANDIDATES = 4,        /* the first compresses nothing, the others more and more */
    FIRST = 1              /* cheap everywhere, and shows what compressing does to the data */
};

/* What a byte usually takes, in nanoseconds, and becomes: on a mixture of packed numbers and text. */
static const struct {
    oci_codec_setting setting;
    double encode;
    double ratio;
    double decode;
} usual[CANDIDATES] = {
    {{OCI_CODEC_NONE, 0}, 0.02, 1.0, 0.02},
    {{OCI_CODEC_LZ4_FRAME, 0}, 1.0, 0.7, 0.2},
    {{OCI_CODEC_ZSTD, 1}, 1.5, 0.62, 0.5},
    {{OCI_CODEC_ZSTD, 3}, 1.8, 0.61, 0.5},
};

#define DISK_USUAL 2.0 /* ns per byte written */
#define READ_USUAL 0.5 /* of what writing takes: reads are often from the page cache */

/* Samples, the older ones fading. */
typedef struct samples {
    double bytes;
    double sum;
} samples;

typedef struct candidate {
    samples encode; /* ns by bytes before */
    samples packed; /* bytes after by bytes before */
    int64_t seen;   /* the block it was used for last; 0 = never */
} candidate;

struct oci_codec_choice {
    pthread_mutex_t lock;
    candidate candidates[CANDIDATES];
    samples decode[OCI_CODEC_ZSTD + 1];
    samples write;
    samples read;
    int64_t blocks;     /* noted so far */
    double block_bytes; /* of the last one, before the codec */
    double spent;       /* ns that all blocks cost */
    double lost;        /* of it by tries */
};

static void add_sample(samples *s, double kept, double bytes, double sum)
{
    s->bytes = s->bytes * kept + bytes;
    s->sum = s->sum * kept + sum;
}

static double rate_or(const samples *s, double usually)
{
    return s->bytes > 0 ? s->sum / s->bytes : usually;
}

/* ---- what a byte costs ------------------------------------------------------------------------ */

static double disk_cost(const oci_codec_choice *choice)
{
    double write = rate_or(&choice->write, DISK_USUAL);
    return write + rate_or(&choice->read, write * READ_USUAL);
}

/* Not compressing holds no surprises: it never needs a try. */
static bool is_known(const oci_codec_choice *choice, int i)
{
    int64_t seen = choice->candidates[i].seen;
    return i == 0 || (seen > 0 && choice->blocks - seen < FORGET_BLOCKS);
}

/* The one whose rates say most about candidate `i`: itself when it is known, else what is known of
 * those that compress, below or, failing that, above; in the end itself again, however old. */
static int witness_of(const oci_codec_choice *choice, int i)
{
    int witness = i;
    while (witness > 0 && !is_known(choice, witness)) {
        witness--;
    }
    if (witness > 0 || i == 0) {
        return witness;
    }
    witness = i + 1;
    while (witness < CANDIDATES && !is_known(choice, witness)) {
        witness++;
    }
    return witness < CANDIDATES ? witness : i;
}

static double encode_cost(const oci_codec_choice *choice, int i)
{
    int from = witness_of(choice, i);
    double scale = usual[i].encode / usual[from].encode;
    return scale * rate_or(&choice->candidates[from].encode, usual[from].encode);
}

static double packed_ratio(const oci_codec_choice *choice, int i)
{
    int from = witness_of(choice, i);
    double scale = usual[i].ratio / usual[from].ratio;
    return scale * rate_or(&choice->candidates[from].packed, usual[from].ratio);
}

static double cost_of(const oci_codec_choice *choice, int i, double encode, double ratio)
{
    oci_codec_id id = usual[i].setting.id;
    return encode + ratio * disk_cost(choice) + rate_or(&choice->decode[id], usual[i].decode);
}

static double cost(const oci_codec_choice *choice, int i)
{
    return cost_of(choice, i, encode_cost(choice, i), packed_ratio(choice, i));
}

static int cheapest_known(const oci_codec_choice *choice)
{
    int best = 0;
    for (int i = 1; i < CANDIDATES; i++) {
        if (is_known(choice, i) && cost(choice, i) < cost(choice, best)) {
            best = i;
        }
    }
    return best;
}

/* ---- choosing --------------------------------------------------------------------------------- */

static bool is_due(const oci_codec_choice *choice, int i, double best_cost)
{
    bool is_old = !is_known(choice, i) ||
                  choice->blocks - choice->candidates[i].seen >= TRY_AGAIN_BLOCKS;
    return is_old && encode_cost(choice, i) / 2 < best_cost;
}

/* The one that is due and promises most, when it promises something or its try can be paid;
 * else the best known. */
static int choose(const oci_codec_choice *choice)
{
    if (choice->blocks == 0) {
        return FIRST;
    }
    int best = cheapest_known(choice);
    double best_cost = cost(choice, best);
    double may_be_lost = choice->spent * LOST_SHARE_MAX - choice->lost;
    int pick = best;
    double pick_cost = 0;
    for (int i = 1; i < CANDIDATES; i++) {
        double c = cost(choice, i);
        bool is_paid = (c - best_cost) * choice->block_bytes <= may_be_lost;
        if (i != best && is_due(choice, i, best_cost) && (c < best_cost || is_paid) &&
            (pick == best || c < pick_cost)) {
            pick = i;
            pick_cost = c;
        }
    }
    return pick;
}

/* ---- life and calls --------------------------------------------------------------------------- */

oc_status oci_codec_choice_create(oci_codec_choice **out, oc_error *err)
{
    oci_codec_choice *choice = calloc(1, sizeof *choice);
    if (choice == NULL) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while setting up the choice of a codec");
    }
    pthread_mutex_init(&choice->lock, NULL);
    *out = choice;
    return OC_OK;
}

void oci_codec_choice_destroy(oci_codec_choice *choice)
{
    if (choice != NULL) {
        pthread_mutex_destroy(&choice->lock);
        free(choice);
    }
}

oci_codec_setting oci_codec_choice_next(oci_codec_choice *choice)
{
    pthread_mutex_lock(&choice->lock);
    int pick = choose(choice);
    pthread_mutex_unlock(&choice->lock);
    return usual[pick].setting;
}

static int find_candidate(oci_codec_setting setting)
{
    int i = 0;
    while (i < CANDIDATES &&
           (usual[i].setting.id != setting.id || usual[i].setting.level != setting.level)) {
        i++;
    }
    return i;
}

static void note_block(oci_codec_choice *choice, int i, double in, double out, double ns)
{
    int best = cheapest_known(choice);
    double best_cost = cost(choice, best);
    double encode = ns / in;
    double slowest = SLOWER_MAX * encode_cost(choice, i);
    encode = encode < slowest ? encode : slowest;
    double own_cost = cost_of(choice, i, encode, out / in);
    choice->blocks++;
    choice->block_bytes = in;
    choice->spent += own_cost * in;
    if (i != best && own_cost > best_cost) {
        choice->lost += (own_cost - best_cost) * in;
    }
    candidate *c = &choice->candidates[i];
    if (choice->blocks - c->seen > TRY_AGAIN_BLOCKS) {
        c->encode = c->packed = (samples){0};
    }
    add_sample(&c->encode, KEPT_OF_CODEC, in, encode * in);
    add_sample(&c->packed, KEPT_OF_RATIO, in, out);
    c->seen = choice->blocks;
}

void oci_codec_choice_note_encode(oci_codec_choice *choice, oci_codec_setting setting,
                                  int64_t bytes_in, int64_t bytes_out, int64_t ns)
{
    int i = find_candidate(setting);
    if (i == CANDIDATES || bytes_in <= 0) {
        return;
    }
    pthread_mutex_lock(&choice->lock);
    note_block(choice, i, (double)bytes_in, (double)bytes_out, (double)ns);
    pthread_mutex_unlock(&choice->lock);
}

static void note_rate(oci_codec_choice *choice, samples *s, double kept, int64_t bytes, int64_t ns)
{
    if (bytes > 0) {
        pthread_mutex_lock(&choice->lock);
        add_sample(s, kept, (double)bytes, (double)ns);
        pthread_mutex_unlock(&choice->lock);
    }
}

void oci_codec_choice_note_write(oci_codec_choice *choice, int64_t bytes, int64_t ns)
{
    note_rate(choice, &choice->write, KEPT_OF_DISK, bytes, ns);
}

void oci_codec_choice_note_read(oci_codec_choice *choice, int64_t bytes, int64_t ns)
{
    note_rate(choice, &choice->read, KEPT_OF_DISK, bytes, ns);
}

void oci_codec_choice_note_decode(oci_codec_choice *choice, oci_codec_id id, int64_t bytes_out,
                                  int64_t ns)
{
    assert(id <= OCI_CODEC_ZSTD);
    note_rate(choice, &choice->decode[id], KEPT_OF_CODEC, bytes_out, ns);
}
