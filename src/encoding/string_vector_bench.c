/* string_vector_bench [FILE]: how fast strings are packed and unpacked, and into how many bytes.
 *
 * Each line is a column and a kind, in blocks of 8192 strings; `*` marks the kind that is chosen.
 * With FILE, its lines are the strings. Best of many rounds, one thread. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/thread.h"
#include "encoding/string_format.h"
#include "encoding/string_vector.h"

enum { ROWS = 8192, BLOCKS = 24, ROUNDS = 9, STRINGS = ROWS * BLOCKS };

static const char *const kind_names[] = {"plain", "dictionary", "front", "shared"};

static void *must(void *pointer)
{
    if (pointer == NULL) {
        fprintf(stderr, "string_vector_bench: out of memory\n");
        exit(1);
    }
    return pointer;
}

static int64_t now(void)
{
    return oci_system_clock()->now_ns(oci_system_clock()->self);
}

/* ---- strings --------------------------------------------------------------------------------- */

static int make_flag(char *to, size_t size, int64_t i, uint64_t random)
{
    (void)i;
    return snprintf(to, size, "%c", "ANR"[random % 3]);
}

static int make_mode(char *to, size_t size, int64_t i, uint64_t random)
{
    static const char *const modes[] = {"TRUCK", "MAIL", "SHIP", "RAIL", "AIR"};
    (void)i;
    return snprintf(to, size, "%s", modes[random % 5]);
}

static int make_instruction(char *to, size_t size, int64_t i, uint64_t random)
{
    static const char *const words[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE"};
    (void)i;
    return snprintf(to, size, "%s", words[random % 3]);
}

static int make_type(char *to, size_t size, int64_t i, uint64_t random)
{
    static const char *const types[] = {"PROMO ANODIZED NICKEL",  "STANDARD BRUSHED NICKEL",
                                        "PROMO POLISHED COPPER",  "ECONOMY ANODIZED BRASS",
                                        "LARGE BURNISHED COPPER", "STANDARD POLISHED TIN",
                                        "SMALL PLATED STEEL",     "MEDIUM POLISHED COPPER"};
    (void)i;
    return snprintf(to, size, "%s", types[random % 8]);
}

static int make_user(char *to, size_t size, int64_t i, uint64_t random)
{
    (void)i;
    return snprintf(to, size, "user-%d", (int)(random % 1000));
}

static int make_sku(char *to, size_t size, int64_t i, uint64_t random)
{
    (void)i;
    return snprintf(to, size, "sku-%d", (int)(random % 5000));
}

static int make_number(char *to, size_t size, int64_t i, uint64_t random)
{
    (void)random;
    return snprintf(to, size, "this is string number %d", (int)i);
}

static int make_hex(char *to, size_t size, int64_t i, uint64_t random)
{
    (void)i;
    return snprintf(to, size, "%016" PRIx64, random * UINT64_C(0x9E3779B97F4A7C15));
}

static int make_path(char *to, size_t size, int64_t i, uint64_t random)
{
    return snprintf(to, size, "/usr/share/doc/package-%04d/changelog-%d.gz", (int)(i / 9),
                    (int)(random % 100));
}

typedef struct made {
    const char *name;
    int (*make)(char *to, size_t size, int64_t i, uint64_t random);
} made;

static const made columns[] = {
    {"flag", make_flag},       {"ship mode", make_mode},  {"instruction", make_instruction},
    {"part type", make_type},  {"1000 users", make_user}, {"5000 skus", make_sku},
    {"numbered", make_number}, {"hex", make_hex},         {"sorted paths", make_path},
};

/* All strings, the offsets of all blocks in one array. */
typedef struct strings {
    int64_t n;
    int32_t *offsets;
    uint8_t *bytes;
} strings;

static void make_strings(const made *column, strings *out)
{
    uint64_t random = 88172645463325252U;
    char text[128];
    int32_t at = 0;
    out->n = STRINGS;
    out->offsets = must(malloc((STRINGS + 1) * sizeof *out->offsets));
    out->bytes = must(malloc(STRINGS * sizeof text));
    out->offsets[0] = 0;
    for (int64_t i = 0; i < STRINGS; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        int length = column->make(text, sizeof text, i, random >> 20);
        memcpy(out->bytes + at, text, (size_t)length);
        at += length;
        out->offsets[i + 1] = at;
    }
}

static void load_strings(const char *path, strings *out)
{
    FILE *f = must(fopen(path, "r"));
    char line[4096];
    int32_t at = 0;
    out->n = 0;
    out->offsets = must(malloc((STRINGS + 1) * sizeof *out->offsets));
    out->bytes = must(malloc((size_t)STRINGS * 512));
    out->offsets[0] = 0;
    while (out->n < STRINGS && at < STRINGS * 512 - 4096 && fgets(line, sizeof line, f) != NULL) {
        size_t length = strcspn(line, "\n");
        memcpy(out->bytes + at, line, length);
        at += (int32_t)length;
        out->offsets[++out->n] = at;
    }
    fclose(f);
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct room {
    oci_string_scratch *scratch;
    oci_pack_out out;
    uint8_t *offsets;
    uint8_t *bytes;
} room;

typedef struct figures {
    int kind; /* that was really used for most blocks */
    int64_t packed;
    int64_t bytes;
    int64_t encode_ns;
    int64_t decode_ns;
} figures;

static void check(oc_status status, const oc_error *err)
{
    if (status != OC_OK) {
        fprintf(stderr, "string_vector_bench: %s\n", err->message);
        exit(1);
    }
}

static void decode(room *r, int64_t n)
{
    oc_error err;
    oci_strings_in strings_in;
    oci_pack_in in = {.packed = r->out.packed,
                      .packed_size = r->out.packed_at,
                      .bytes = r->out.bytes,
                      .bytes_size = r->out.bytes_at};
    check(oci_strings_open(&in, n, &strings_in, &err), &err);
    check(oci_strings_decode(&strings_in, 4, r->offsets, r->bytes, &err), &err);
}

/* One round over all blocks; kind < 0 leaves the choice to the encoder. */
static void run(const strings *s, int kind, room *r, figures *f, bool is_first)
{
    oci_field field = {.type = OCI_TYPE_UTF8};
    oci_string_plan plan = {0};
    int64_t encode_ns = 0, decode_ns = 0;
    f->packed = f->bytes = 0;
    for (int64_t at = 0; at < s->n; at += ROWS) {
        oci_column column = {.field = &field,
                             .length = oci_min64(ROWS, s->n - at),
                             .offset = at,
                             .values = (const uint8_t *)s->offsets,
                             .bytes = s->bytes};
        if (kind >= 0) {
            plan.kind = (uint8_t)kind;
            plan.blocks_left = 2;
        }
        r->out.packed_at = r->out.bytes_at = 0;
        int64_t start = now();
        oci_strings_encode(&column, &plan, r->scratch, &r->out);
        int64_t middle = now();
        decode(r, column.length);
        int64_t end = now();
        encode_ns += middle - start;
        decode_ns += end - middle;
        f->packed += r->out.packed_at;
        f->bytes += r->out.bytes_at;
        f->kind = (int)r->out.packed[0];
    }
    f->encode_ns = is_first ? encode_ns : oci_min64(encode_ns, f->encode_ns);
    f->decode_ns = is_first ? decode_ns : oci_min64(decode_ns, f->decode_ns);
}

static void print(const char *name, const strings *s, const figures *f, char mark)
{
    double n = (double)s->n;
    printf("%-14s %-11s%c %6.2f B  ->%6.2f +%6.2f B   encode %5.2f ns  decode %5.2f ns\n", name,
           kind_names[f->kind], mark, (double)(s->offsets[s->n] - s->offsets[0]) / n,
           (double)f->packed / n, (double)f->bytes / n, (double)f->encode_ns / n,
           (double)f->decode_ns / n);
}

static void measure(const char *name, const strings *s, room *r)
{
    figures chosen = {0};
    for (int kind = -1; kind < OCI_STRINGS_SHARED; kind++) {
        figures f = {0};
        for (int round = 0; round < ROUNDS; round++) {
            run(s, kind, r, &f, round == 0);
        }
        if (kind < 0) {
            chosen = f;
            print(name, s, &f, '*');
        } else if (f.kind == kind && kind != chosen.kind) {
            print("", s, &f, ' ');
        }
    }
}

static void measure_column(const char *name, strings *s, room *r)
{
    measure(name, s, r);
    free(s->offsets);
    free(s->bytes);
}

int main(int argc, char **argv)
{
    oc_error err;
    oci_budget *budget;
    oci_mem *mem;
    strings s;
    check(oci_budget_create(INT64_C(1) << 30, NULL, &budget, &err), &err);
    check(oci_mem_open(budget, "string bench", &mem, &err), &err);
    oci_reservation reservation = {.mem = mem};
    room r = {.out = {.packed = must(malloc((size_t)ROWS * 16)),
                      .bytes = must(malloc((size_t)ROWS * 4096))},
              .offsets = must(malloc((ROWS + 1) * 4)),
              .bytes = must(malloc((size_t)ROWS * 4096))};
    check(oci_string_scratch_create(ROWS, &reservation, &r.scratch, &err), &err);
    if (argc > 1) {
        load_strings(argv[1], &s);
        measure_column("file", &s, &r);
    }
    for (size_t i = 0; argc == 1 && i < sizeof columns / sizeof columns[0]; i++) {
        make_strings(&columns[i], &s);
        measure_column(columns[i].name, &s, &r);
    }
    oci_string_scratch_destroy(r.scratch, &reservation);
    oci_reservation_release(&reservation);
    oci_mem_close(mem);
    oci_budget_destroy(budget);
    free(r.out.packed);
    free(r.out.bytes);
    free(r.offsets);
    free(r.bytes);
    return 0;
}
