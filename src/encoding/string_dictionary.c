/* Open addressing with linear probing, at most a quarter full, grown fourfold so that a table of few
 * strings stays in the first-level cache. Strings of up to 32 bytes, most of those that repeat, are
 * four words, the first and the last 16 bytes: hashed by multiplication and compared without a
 * branch on their length. Longer ones are hashed by XXH3, very long ones by both ends and their
 * length.
 *
 * Columns of few short strings are the most common ones. The words of the first strings are kept, and as
 * long as there are no others, strings are looked up straight from their offsets; what is not found
 * there goes the longer way.
 *
 * Views are compared as references before their bytes: many views of one long string cost no more
 * than many short strings. What strings can still cost that look alike without being the same
 * reference is limited; the table gives up then. */
#include "encoding/string_dictionary.h"

#include "base/bits.h"
#include "base/hash.h"
#include "encoding/string_copy.h"
#include "encoding/string_encode_internal.h"

enum { MIN_BITS = 9, SHORT_MAX = 32, HASHED_END = 128 };

/* ---- scratch --------------------------------------------------------------------------------- */

/* A dictionary of more than half of the rows has not paid. */
int64_t oci_string_table_entries(int64_t rows)
{
    return oci_max64(1, oci_min64(rows / 2, OCI_STRINGS_DISTINCT_MAX));
}

/* At most a quarter of the slots is ever taken: hardly a string meets another one in its slot. */
static int bits_for(int64_t entries)
{
    int bits = MIN_BITS;
    while (INT64_C(1) << bits < 4 * entries) {
        bits++;
    }
    return bits;
}

static int64_t block_size(int64_t rows)
{
    int64_t entries = oci_string_table_entries(rows);
    return (int64_t)sizeof(oci_string_scratch) + (entries + 1) * (int64_t)sizeof(oci_string_entry) +
           ((INT64_C(1) << bits_for(entries)) + rows) * (int64_t)sizeof(uint16_t);
}

int64_t oci_string_scratch_bytes(int64_t rows)
{
    return oci_mem_charge_of(block_size(rows));
}

oc_status oci_string_scratch_create(int64_t rows, oci_reservation *from, oci_string_scratch **out,
                                    oc_error *err)
{
    int64_t size = block_size(rows);
    void *block;
    OC_TRY(oci_mem_alloc_reserved(from, size, &block, err));
    oci_string_scratch *scratch = block;
    *scratch = (oci_string_scratch){
        .size = size, .rows = rows, .max_entries = oci_string_table_entries(rows)};
    scratch->max_bits = bits_for(scratch->max_entries);
    scratch->entries = (oci_string_entry *)(scratch + 1);
    scratch->slots = (uint16_t *)(scratch->entries + scratch->max_entries + 1);
    scratch->numbers = scratch->slots + (INT64_C(1) << scratch->max_bits);
    *out = scratch;
    return OC_OK;
}

void oci_string_scratch_destroy(oci_string_scratch *scratch, oci_reservation *to)
{
    if (scratch != NULL) {
        oci_mem_free_reserved(to, scratch, scratch->size);
    }
}

/* ---- one string as words --------------------------------------------------------------------- */

/* How long strings are, so that the loop over many is compiled for each. */
typedef enum span { UP_TO_7, UP_TO_16, UP_TO_32, ANY_LENGTH } span;

/* The first and the last 16 bytes; of less than 16 all of them twice, zeros behind. */
typedef struct words {
    uint64_t head[2]; /* the second is not set when no string is longer than 7 bytes */
    uint64_t tail[2]; /* not set when no string is longer than 16 bytes */
} words;

/* The bytes of two words that belong to a string of 0..16 bytes. */
#define MASK(n) ((n) >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << ((n)&7) * 8) - 1)
#define MASKS(n)                           \
    {                                      \
        MASK(n), MASK((n) < 8 ? 0 : (n)-8) \
    }
static const uint64_t masks[17][2] = {
    MASKS(0), MASKS(1),  MASKS(2),  MASKS(3),  MASKS(4),  MASKS(5),  MASKS(6),  MASKS(7), MASKS(8),
    MASKS(9), MASKS(10), MASKS(11), MASKS(12), MASKS(13), MASKS(14), MASKS(15), MASKS(16)};

/* Sums of those of head and tail are odd. */
static const uint64_t primes[4] = {UINT64_C(0x9E3779B185EBCA87), UINT64_C(0xC2B2AE3D27D4EB4F),
                                   UINT64_C(0x85EBCA77C2B2AE64), UINT64_C(0x27D4EB2F165667C6)};

/* 16 bytes can be read at `at`. */
static inline __attribute__((always_inline)) words load_words(const uint8_t *at, int64_t length,
                                                              span lengths)
{
    words w;
    int64_t rest = length - 16;
    const uint64_t *mask = masks[lengths <= UP_TO_16 ? length : 16 + (rest & rest >> 63)];
    w.head[0] = oci_load_le64(at) & mask[0];
    if (lengths != UP_TO_7) {
        w.head[1] = oci_load_le64(at + 8) & mask[1];
    }
    if (lengths > UP_TO_16) {
        const uint8_t *tail = at + (rest & ~(rest >> 63));
        w.tail[0] = oci_load_le64(tail) & mask[0];
        w.tail[1] = oci_load_le64(tail + 8) & mask[1];
    }
    return w;
}

/* A string of up to 7 bytes as one word. */
static inline uint64_t key_of(uint64_t word, int64_t length)
{
    return word + ((uint64_t)length << 56);
}

/* The same for a string whatever was loaded of it; its upper bits are well mixed. */
static inline __attribute__((always_inline)) uint64_t hash_words(const words *w, int64_t length,
                                                                 span lengths)
{
    if (lengths == UP_TO_7) {
        return key_of(w->head[0], length) * (primes[0] + primes[2]);
    }
    if (lengths == UP_TO_16) {
        return key_of(w->head[0], length) * (primes[0] + primes[2]) +
               w->head[1] * (primes[1] + primes[3]);
    }
    return key_of(w->head[0], length) * primes[0] + w->head[1] * primes[1] +
           key_of(w->tail[0], length) * primes[2] + w->tail[1] * primes[3];
}

/* 0 when all that was loaded is the same. */
static inline __attribute__((always_inline)) uint64_t difference(const words *a, const words *b,
                                                                 span lengths)
{
    uint64_t differ = a->head[0] ^ b->head[0];
    if (lengths != UP_TO_7) {
        differ |= a->head[1] ^ b->head[1];
    }
    if (lengths > UP_TO_16) {
        differ |= (a->tail[0] ^ b->tail[0]) | (a->tail[1] ^ b->tail[1]);
    }
    return differ;
}

static uint64_t hash_long(const uint8_t *at, int64_t length)
{
    if (length <= 2 * HASHED_END) {
        return oci_hash64(at, length, 0);
    }
    uint64_t head = oci_hash64(at, HASHED_END, (uint64_t)length);
    return oci_hash64(at + length - HASHED_END, HASHED_END, head);
}

static uint64_t hash_string(const uint8_t *at, int64_t length)
{
    if (length > SHORT_MAX) {
        return hash_long(at, length);
    }
    words w = load_words(at, length, UP_TO_32);
    return hash_words(&w, length, UP_TO_32);
}

/* ---- the table ------------------------------------------------------------------------------- */

static void clear_slots(oci_string_table *table, int bits)
{
    table->bits = bits;
    table->shift = 64 - bits;
    table->mask = oci_low_mask(bits);
    memset(table->scratch->slots, 0, sizeof(uint16_t) << bits);
}

void oci_string_table_init(oci_string_table *table, oci_string_scratch *scratch,
                           const oci_string_source *source, uint8_t *bytes, int64_t room)
{
    int64_t max = oci_string_table_entries(source->n);
    *table = (oci_string_table){.scratch = scratch,
                                .max = oci_min64(max, scratch->max_entries),
                                .source = source,
                                .bytes = bytes,
                                .room = oci_min64(room, UINT32_MAX),
                                .patience = 64 * source->n + 4 * oci_min64(room, UINT32_MAX)};
    scratch->entries[0].start = 0;
    clear_slots(table, MIN_BITS);
}

static void grow(oci_string_table *table)
{
    oci_string_scratch *scratch = table->scratch;
    clear_slots(table, table->bits + 2 < scratch->max_bits ? table->bits + 2 : scratch->max_bits);
    for (int64_t code = 0; code < table->n; code++) {
        const uint8_t *at = table->bytes + scratch->entries[code].start;
        int64_t length = oci_string_table_length(table, code);
        uint64_t slot = hash_string(at, length) >> table->shift;
        while (scratch->slots[slot] != 0) {
            slot = (slot + 1) & table->mask;
        }
        scratch->slots[slot] = (uint16_t)(code + 1);
    }
}

static void remember(oci_string_table *table, const uint8_t *at, int64_t length)
{
    if (table->n < OCI_STRING_KNOWN_MAX) {
        oci_string_known *known = &table->scratch->known[table->n];
        words w = load_words(at, oci_min64(length, SHORT_MAX), UP_TO_32);
        memcpy(known->head, w.head, sizeof w.head);
        memcpy(known->tail, w.tail, sizeof w.tail);
        known->length = (uint64_t)length;
        table->scratch->keys[table->n] = length <= 7 ? key_of(w.head[0], length) : UINT64_MAX;
    }
}

/* Adds a string at a free slot. */
static __attribute__((noinline)) bool append(oci_string_table *table, uint64_t slot,
                                             const oci_string_stage *stage, int64_t i, int64_t row)
{
    oci_string_scratch *scratch = table->scratch;
    if (table->n == table->max || stage->length[i] > table->room - table->size) {
        return false;
    }
    oci_string_copy(table->bytes + table->size, table->room + OCI_STRING_ROOM - table->size,
                    stage->at[i], stage->readable[i], stage->length[i]);
    table->size += stage->length[i];
    remember(table, stage->at[i], stage->length[i]);
    scratch->entries[table->n].row = (uint32_t)row;
    scratch->slots[slot] = (uint16_t)++table->n;
    scratch->entries[table->n].start = (uint32_t)table->size;
    if (4 * table->n >= INT64_C(1) << table->bits && table->bits < scratch->max_bits) {
        grow(table);
    }
    return true;
}

/* Two strings of more than SHORT_MAX bytes that have the same length. */
static bool equals_long(oci_string_table *table, const oci_string_entry *entry, const uint8_t *at,
                        int64_t length, int64_t row)
{
    const oci_string_source *source = table->source;
    if (source->layout == OCI_LAYOUT_VIEWS &&
        memcmp(source->values + row * (int64_t)sizeof(oci_view),
               source->values + (int64_t)entry->row * (int64_t)sizeof(oci_view),
               sizeof(oci_view)) == 0) {
        return true;
    }
    table->patience -= length;
    return memcmp(table->bytes + entry->start, at, (size_t)length) == 0;
}

/* The slot of a string, or the free one where it belongs. */
static inline __attribute__((always_inline)) uint64_t find(oci_string_table *table,
                                                           const uint8_t *at, int64_t length,
                                                           int64_t row, span lengths)
{
    const uint16_t *slots = table->scratch->slots;
    const oci_string_entry *entries = table->scratch->entries;
    bool is_long = lengths == ANY_LENGTH && length > SHORT_MAX;
    words w = {{0}, {0}};
    uint64_t hash;
    if (is_long) {
        hash = hash_long(at, length);
    } else {
        w = load_words(at, length, lengths);
        hash = hash_words(&w, length, lengths);
    }
    uint64_t slot = hash >> table->shift;
    while (slots[slot] != 0) {
        const oci_string_entry *entry = &entries[slots[slot] - 1];
        if (entry[1].start - entry->start == (uint64_t)length) {
            if (is_long) {
                if (equals_long(table, entry, at, length, row)) {
                    return slot;
                }
            } else {
                words known = load_words(table->bytes + entry->start, length, lengths);
                if (difference(&w, &known, lengths) == 0) {
                    return slot;
                }
            }
        }
        slot = (slot + 1) & table->mask;
        table->patience--;
    }
    return slot;
}

static inline __attribute__((always_inline)) bool add_all(oci_string_table *table,
                                                          const oci_string_stage *stage,
                                                          int64_t start, int64_t n, uint16_t *codes,
                                                          span lengths)
{
    for (int64_t i = 0; i < n; i++) {
        uint64_t slot = find(table, stage->at[i], stage->length[i], start + i, lengths);
        uint16_t code = table->scratch->slots[slot];
        if (code == 0) {
            if (!append(table, slot, stage, i, start + i)) {
                return false;
            }
            code = (uint16_t)table->n;
        }
        codes[i] = (uint16_t)(code - 1);
    }
    return table->patience >= 0;
}

static bool add_staged(oci_string_table *table, int64_t start, int64_t n, uint16_t *codes)
{
    oci_string_stage stage;
    oci_string_source_stage(table->source, start, n, &stage);
    int64_t longest = 0;
    for (int64_t i = 0; i < n; i++) {
        table->value_bytes += stage.length[i];
        longest |= stage.length[i];
    }
    if (longest < 16) {
        return add_all(table, &stage, start, n, codes, UP_TO_16);
    }
    return longest < SHORT_MAX ? add_all(table, &stage, start, n, codes, UP_TO_32)
                               : add_all(table, &stage, start, n, codes, ANY_LENGTH);
}

/* ---- known strings --------------------------------------------------------------------------- */

/* Whether a string is another one than that of a code; strings of more than SHORT_MAX bytes differ by
 * their length. */
static inline __attribute__((always_inline)) bool differs(const oci_string_scratch *scratch,
                                                          int64_t code, const words *w,
                                                          int64_t length, span lengths)
{
    if (lengths == UP_TO_7) {
        return scratch->keys[code] != key_of(w->head[0], length);
    }
    const oci_string_known *known = &scratch->known[code];
    words other = {{known->head[0], known->head[1]}, {known->tail[0], known->tail[1]}};
    return ((known->length ^ (uint64_t)length) | difference(w, &other, lengths)) != 0;
}

/* Codes of strings until the first one that is not known; how many. Offsets are those of the strings,
 * from `bytes` on, and none of the strings is longer than `lengths` says or so close to the end of the
 * bytes that it cannot be loaded. */
static inline __attribute__((always_inline)) int64_t find_known(const oci_string_table *table,
                                                                const uint8_t *offsets,
                                                                const uint8_t *bytes, int64_t n,
                                                                uint16_t *codes, span lengths)
{
    const oci_string_scratch *scratch = table->scratch;
    const uint16_t *slots = scratch->slots;
    uint64_t mask = table->mask;
    int shift = table->shift;
    uint32_t from = oci_load_le32(offsets);
    for (int64_t i = 0; i < n; i++) {
        uint32_t to = oci_load_le32(offsets + (i + 1) * 4);
        int64_t length = to - from;
        words w = load_words(bytes + from, length, lengths);
        uint64_t slot = hash_words(&w, length, lengths) >> shift;
        int64_t code;
        while ((code = slots[slot] - 1) >= 0 && differs(scratch, code, &w, length, lengths)) {
            slot = (slot + 1) & mask;
        }
        if (code < 0) {
            return i;
        }
        codes[i] = (uint16_t)code;
        from = to;
    }
    return n;
}

/* One function each, so that all of a loop stays in registers. */
#define DEFINE_FIND(name, lengths)                                                              \
    static __attribute__((noinline)) int64_t name(const oci_string_table *table,                \
                                                  const uint8_t *offsets, const uint8_t *bytes, \
                                                  int64_t n, uint16_t *codes)                   \
    {                                                                                           \
        return find_known(table, offsets, bytes, n, codes, lengths);                            \
    }
DEFINE_FIND(find_up_to_7, UP_TO_7)
DEFINE_FIND(find_up_to_16, UP_TO_16)
DEFINE_FIND(find_up_to_32, UP_TO_32)

/* How many of the strings can be loaded, 16 bytes each. */
static int64_t count_loadable(const oci_string_source *source, const uint8_t *offsets, int64_t n)
{
    while (n > 0 && source->end - source->bytes - oci_load_le32(offsets + (n - 1) * 4) < 16) {
        n--;
    }
    return n;
}

/* The same for any lengths; how many were found. */
static int64_t add_known(oci_string_table *table, int64_t start, int64_t n, uint16_t *codes)
{
    const oci_string_source *source = table->source;
    const uint8_t *offsets = source->values + start * 4;
    uint32_t longest = 0;
    n = count_loadable(source, offsets, n);
    for (int64_t i = 0; i < n; i++) {
        longest |= oci_load_le32(offsets + (i + 1) * 4) - oci_load_le32(offsets + i * 4);
    }
    if (longest < 8) {
        n = find_up_to_7(table, offsets, source->bytes, n, codes);
    } else if (longest < 16) {
        n = find_up_to_16(table, offsets, source->bytes, n, codes);
    } else {
        n = longest < SHORT_MAX ? find_up_to_32(table, offsets, source->bytes, n, codes) : 0;
    }
    table->value_bytes += oci_load_le32(offsets + n * 4) - oci_load_le32(offsets);
    return n;
}

/* Strings that are looked up the longer way where one of them is not known. */
enum { UNKNOWN_STEP = 16 };

bool oci_string_table_add(oci_string_table *table, int64_t start, int64_t n, uint16_t *codes)
{
    const oci_string_source *source = table->source;
    bool is_direct = source->layout == OCI_LAYOUT_OFFSETS32 && source->validity == NULL;
    for (int64_t i = 0; i < n;) {
        int64_t step = n - i;
        if (is_direct && table->n <= OCI_STRING_KNOWN_MAX) {
            i += add_known(table, start + i, step, codes + i);
            step = oci_min64(UNKNOWN_STEP, n - i);
        }
        if (step > 0 && !add_staged(table, start + i, step, codes + i)) {
            return false;
        }
        i += step;
    }
    return true;
}
