/* What a sample of the strings says about the kinds: how long strings are, how much neighbours have
 * in common, and whether strings come again. Stretches of neighbours from all over the block. */
#include "encoding/string_dictionary.h"
#include "encoding/string_encode_internal.h"

enum { STRETCHES = 8, STRETCH = 64, REPEATS_MIN = 32 };

typedef struct sample {
    int64_t n;
    int64_t bytes;
    int64_t pairs;  /* of neighbours */
    int64_t shared; /* bytes that neighbours begin with alike */
    bool repeats;
    bool numbered;
} sample;

static void look_at(const oci_string_source *source, int64_t start, int64_t n, sample *s)
{
    oci_string_stage stage;
    oci_string_source_stage(source, start, n, &stage);
    for (int64_t i = 0; i < n; i++) {
        s->bytes += stage.length[i];
        if (i > 0) {
            s->shared += oci_string_stage_shared(&stage, i);
        }
    }
    s->n += n;
    s->pairs += n - 1;
}

static void take(oci_string_job *job, sample *s)
{
    int64_t n = job->source.n;
    bool has_table = job->bound.allowed[OCI_STRINGS_DICTIONARY];
    bool fits = has_table;
    uint16_t codes[STRETCH];
    oci_string_table table = {0};
    if (has_table) {
        oci_string_table_init(&table, job->scratch, &job->source,
                              job->out->bytes + job->out->bytes_at, job->bound.bytes);
    }
    *s = (sample){.numbered = job->bound.allowed[OCI_STRINGS_NUMBERED]};
    for (int64_t i = 0; i < STRETCHES && s->n < n; i++) {
        bool takes_all = n <= STRETCHES * STRETCH;
        int64_t start = takes_all ? i * STRETCH : i * (n - STRETCH) / (STRETCHES - 1);
        int64_t size = oci_min64(STRETCH, n - start);
        look_at(&job->source, start, size, s);
        s->numbered = s->numbered && oci_strings_are_numbered(&job->source, start, size);
        fits = fits && oci_string_table_add(&table, start, size, codes);
    }
    s->repeats = fits && (s->n - table.n) * REPEATS_MIN >= s->n;
}

/* What `bytes` of `some` strings are for n; views may show very much. */
static int64_t scale(int64_t bytes, int64_t some, int64_t n)
{
    return some == 0 ? 0 : bytes / some * n + bytes % some * n / some;
}

/* Bytes of a number per string. */
enum { NUMBER_BYTES = 1, SHARED_MIN = 3 };

void oci_strings_estimate(oci_string_job *job, oci_string_costs *out)
{
    sample s;
    take(job, &s);
    int64_t n = job->source.n;
    out->of[OCI_STRINGS_PLAIN] = scale(s.bytes, s.n, n) + n * NUMBER_BYTES;
    out->of[OCI_STRINGS_DICTIONARY] = s.repeats ? 0 : INT64_MAX;
    out->of[OCI_STRINGS_NUMBERED] = s.numbered ? 0 : INT64_MAX;
    out->of[OCI_STRINGS_SHARED] = job->bound.bytes + OCI_STRING_PLACE_BYTES * n;
    bool pays = job->bound.allowed[OCI_STRINGS_FRONT] && s.pairs > 0 &&
                s.shared >= SHARED_MIN * s.pairs;
    out->of[OCI_STRINGS_FRONT] = pays ? scale(s.bytes - s.shared, s.n, n) + 2 * n * NUMBER_BYTES
                                      : INT64_MAX;
}
