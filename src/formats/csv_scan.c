/* Records and fields by masks of 64 bytes. See csv_scan.h.
 *
 * A block of 64 bytes becomes three masks: delimiters, line feeds, quotes. While no quote is near,
 * each set bit ends a field and nothing else has to be looked at. A block with a quote, or one
 * inside a quoted field, goes bit by bit through a small state machine. A quote opens a field only
 * as its first byte; elsewhere in an unquoted field it is an ordinary character (5" pipes are
 * common). After the closing quote there must be a delimiter or the end of the line.
 *
 * On x86-64 the masks come from SSE2, which every such processor has; elsewhere from arithmetic on
 * 64-bit words. */
#include "formats/csv_scan.h"

#include <assert.h>
#include <string.h>

#include "base/bits.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { BLOCK = 64 };

typedef struct {
    uint64_t delimiters;
    uint64_t newlines;
    uint64_t quotes;
} masks;

#if defined(__SSE2__)

typedef struct {
    __m128i part[4];
} block_bytes;

static inline block_bytes load_block(const uint8_t *from)
{
    block_bytes b;
    for (int i = 0; i < 4; i++) {
        b.part[i] = _mm_loadu_si128((const __m128i *)(const void *)(from + 16 * i));
    }
    return b;
}

static inline uint64_t match_block(const block_bytes *b, uint8_t byte)
{
    __m128i wanted = _mm_set1_epi8((char)byte);
    uint64_t mask = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t bits = (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(b->part[i], wanted));
        mask |= (uint64_t)bits << (16 * i);
    }
    return mask;
}

#else

typedef struct {
    uint64_t word[8];
} block_bytes;

static inline block_bytes load_block(const uint8_t *from)
{
    block_bytes b;
    for (int i = 0; i < 8; i++) {
        b.word[i] = oci_load_le64(from + 8 * i);
    }
    return b;
}

/* Bit i of the result says whether byte i of `word` is `byte`. */
static inline uint64_t match_word(uint64_t word, uint8_t byte)
{
    const uint64_t low_bits = UINT64_C(0x7F7F7F7F7F7F7F7F);
    uint64_t x = word ^ (UINT64_C(0x0101010101010101) * byte);
    uint64_t zero =
        ~(((x & low_bits) + low_bits) | x | low_bits);       /* 0x80 in each byte that was 0 */
    return (zero >> 7) * UINT64_C(0x0102040810204080) >> 56; /* the eight flags side by side */
}

static inline uint64_t match_block(const block_bytes *b, uint8_t byte)
{
    uint64_t mask = 0;
    for (int i = 0; i < 8; i++) {
        mask |= match_word(b->word[i], byte) << (8 * i);
    }
    return mask;
}

#endif

/* State inside one record and the place where its positions go. */
typedef struct {
    oci_csv_scan *scan;
    uint32_t *out; /* entry 0 of the current record */
    int32_t count; /* fields that ended so far */
    int32_t n_fields;
    int32_t delimiters_max;
    bool in_quotes;
    uint32_t quoted; /* OCI_CSV_QUOTED after the closing quote of the current field */
    int64_t skip_to; /* bits before this position are done with (second half of a doubled quote) */
    int64_t records_left;
} state;

enum { GO_ON = -1 };

static inline int64_t field_start(const state *s)
{
    return (int64_t)(s->out[s->count] & ~OCI_CSV_QUOTED) + 1;
}

static inline int begin_record(state *s, int64_t newline_at)
{
    s->count = 0;
    s->quoted = 0;
    s->scan->start = newline_at + 1;
    if (s->records_left == 0) {
        return OCI_CSV_STOP_FULL;
    }
    s->out[0] = (uint32_t)newline_at;
    return GO_ON;
}

/* A line feed outside quotes. */
static inline int end_record(state *s, int64_t at)
{
    const uint8_t *data = s->scan->data;
    int64_t from = field_start(s);
    int64_t end = at - (at > from && data[at - 1] == '\r');
    if (s->count == 0 && end == from && s->scan->dialect.skip_blank) {
        return begin_record(s, at);
    }
    if (s->scan->dialect.trailing_delimiter) {
        if (s->count != s->n_fields) {
            return OCI_CSV_STOP_FEW;
        }
        if (end != from) { /* text after the last delimiter, quoted or not */
            return OCI_CSV_STOP_MANY;
        }
    } else {
        s->out[++s->count] = (uint32_t)end | s->quoted;
        if (s->count != s->n_fields) {
            return OCI_CSV_STOP_FEW;
        }
    }
    s->out += s->n_fields + 1;
    s->records_left--;
    s->scan->n_records++;
    return begin_record(s, at);
}

static inline int end_field(state *s, int64_t at)
{
    if (s->count == s->delimiters_max) {
        return OCI_CSV_STOP_MANY;
    }
    s->out[++s->count] = (uint32_t)at | s->quoted;
    s->quoted = 0;
    return GO_ON;
}

/* A block without quotes: every bit counts. */
static inline int take_plain(state *s, int64_t base, const masks *m)
{
    uint64_t bits = m->delimiters | m->newlines;
    while (bits != 0) {
        uint64_t lowest = bits & (0 - bits);
        int64_t at = base + __builtin_ctzll(bits);
        bits ^= lowest;
        int stop = (m->newlines & lowest) == 0 ? end_field(s, at) : end_record(s, at);
        if (stop != GO_ON) {
            return stop;
        }
    }
    return GO_ON;
}

/* A quote inside a quoted field: doubled, or the end of the field. */
static int close_quote(state *s, int64_t at)
{
    const oci_csv_scan *scan = s->scan;
    if (at + 1 >= scan->size) {
        return OCI_CSV_STOP_MORE;
    }
    uint8_t next = scan->data[at + 1];
    if (next == scan->dialect.quote) {
        s->skip_to = at + 2;
        return GO_ON;
    }
    if (next == '\r') {
        if (at + 2 >= scan->size) {
            return OCI_CSV_STOP_MORE;
        }
        next = scan->data[at + 2];
        if (next != '\n') {
            next = 0;
        }
    }
    if (next != scan->dialect.delimiter && next != '\n') {
        s->scan->problem_at = at + 1;
        return OCI_CSV_STOP_AFTER_QUOTE;
    }
    s->in_quotes = false;
    s->quoted = OCI_CSV_QUOTED;
    return GO_ON;
}

static int take_quoted(state *s, int64_t base, const masks *m)
{
    uint64_t bits = m->delimiters | m->newlines | m->quotes;
    while (bits != 0) {
        if (s->in_quotes) {
            bits &= m->quotes;
            if (bits == 0) {
                break;
            }
        }
        uint64_t lowest = bits & (0 - bits);
        int64_t at = base + __builtin_ctzll(bits);
        bits ^= lowest;
        if (at < s->skip_to) {
            continue;
        }
        int stop = GO_ON;
        if (s->in_quotes) {
            stop = close_quote(s, at);
            /* What lies between the opening and this quote was masked away; what follows was
             * not. */
            bits |= (m->delimiters | m->newlines) & ~((lowest << 1) - 1);
        } else if (m->quotes & lowest) {
            s->in_quotes = at == field_start(s);
        } else {
            stop = (m->newlines & lowest) == 0 ? end_field(s, at) : end_record(s, at);
        }
        if (stop != GO_ON) {
            return stop;
        }
    }
    return GO_ON;
}

oci_csv_stop oci_csv_scan_records(oci_csv_scan *scan)
{
    assert(scan->start >= 1 && scan->size <= OCI_CSV_SCAN_MAX && scan->records_max >= 1);
    const oci_csv_dialect dialect = scan->dialect;
    state s = {.scan = scan,
               .out = scan->positions,
               .n_fields = scan->n_fields,
               .delimiters_max = scan->n_fields - (dialect.trailing_delimiter ? 0 : 1),
               .records_left = scan->records_max};
    scan->n_records = 0;
    s.out[0] = (uint32_t)(scan->start - 1);
    const int64_t size = scan->size;
    for (int64_t base = scan->start; base < size; base += BLOCK) {
        block_bytes b = load_block(scan->data + base);
        masks m = {match_block(&b, dialect.delimiter), match_block(&b, '\n'),
                   dialect.has_quote ? match_block(&b, dialect.quote) : 0};
        if (base + BLOCK > size) {
            uint64_t inside = oci_low_mask((int)(size - base));
            m.delimiters &= inside;
            m.newlines &= inside;
            m.quotes &= inside;
        }
        bool plain = m.quotes == 0 && !s.in_quotes && s.quoted == 0;
        int stop = plain ? take_plain(&s, base, &m) : take_quoted(&s, base, &m);
        if (stop != GO_ON) {
            return (oci_csv_stop)stop;
        }
    }
    return OCI_CSV_STOP_MORE;
}

/* The end of a field that starts at `from`: the position of its delimiter, line feed, or `size`. */
static int64_t find_field_end(const uint8_t *data, int64_t size, int64_t from,
                              const oci_csv_dialect *dialect, bool *quoted, int64_t *quote_at)
{
    int64_t at = from;
    *quoted = dialect->has_quote && at < size && data[at] == dialect->quote;
    if (*quoted) {
        *quote_at = at;
        for (at++; at < size; at++) {
            if (data[at] != dialect->quote) {
                continue;
            }
            if (at + 1 < size && data[at + 1] == dialect->quote) {
                at++;
                continue;
            }
            *quote_at = -1;
            break;
        }
    }
    while (at < size && data[at] != dialect->delimiter && data[at] != '\n') {
        at++;
    }
    return at;
}

int64_t oci_csv_scan_one(const uint8_t *data, int64_t size, int64_t start,
                         const oci_csv_dialect *dialect,
                         void (*take)(void *arg, int64_t from, int64_t to, bool quoted), void *arg,
                         int64_t *n_fields, int64_t *quote_at)
{
    int64_t count = 0;
    int64_t from = start;
    int64_t open = -1;
    int64_t next = -1;
    while (next < 0) {
        bool quoted;
        int64_t at = find_field_end(data, size, from, dialect, &quoted, &open);
        if (at >= size) {
            break;
        }
        bool last = data[at] == '\n';
        int64_t end = at - (last && at > from && data[at - 1] == '\r');
        bool blank = last && count == 0 && end == from;
        if (!blank) {
            count++;
            if (take != NULL) {
                take(arg, from, end, quoted);
            }
        }
        from = at + 1;
        if (last) {
            next = at + 1;
        }
    }
    if (n_fields != NULL) {
        *n_fields = count;
    }
    if (quote_at != NULL) {
        *quote_at = open;
    }
    return next;
}

bool oci_csv_measure_feed(oci_csv_measure *measure, const oci_csv_dialect *dialect,
                          const uint8_t *data, int64_t size)
{
    for (int64_t i = 0; i < size; i++) {
        uint8_t byte = data[i];
        if (measure->in_quotes) {
            if (byte == dialect->quote) {
                measure->quote_seen = !measure->quote_seen;
                continue;
            }
            if (!measure->quote_seen) {
                continue;
            }
            measure->in_quotes = false;
            measure->quote_seen = false;
        }
        if (byte == '\n') {
            measure->length += i + 1;
            return true;
        }
        measure->in_quotes = dialect->has_quote && byte == dialect->quote && !measure->inside;
        measure->inside = byte != dialect->delimiter;
    }
    measure->length += size;
    return false;
}

int64_t oci_csv_count_byte(const uint8_t *data, int64_t size, uint8_t byte)
{
    int64_t count = 0;
    int64_t at = 0;
    for (; at + BLOCK <= size; at += BLOCK) {
        block_bytes b = load_block(data + at);
        count += __builtin_popcountll(match_block(&b, byte));
    }
    for (; at < size; at++) {
        count += data[at] == byte;
    }
    return count;
}
