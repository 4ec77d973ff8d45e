/* In-place sort of key entries.
 *
 * Most significant digit first ("American flag": McIlroy, Bostic, McIlroy, "Engineering radix
 * sort", 1993): a pass finds the first byte in which the entries differ at all, counts its values,
 * and swaps every entry into its bucket along cycles; then each bucket is sorted by the bytes that
 * follow. Small buckets are finished by a comparison sort on 128-bit numbers. Two passes of a radix
 * step over n entries cost about as much as 6-8 comparison levels, which is where the threshold
 * comes from.
 *
 * No scratch memory: while rows are buffered only 16 bytes a row have to be set aside for this.
 * Depth is at most 16 (bytes of an entry). Input that is ascending already, or strictly descending,
 * is recognised in the pass that looks for the differing byte, at the top level only. */
#include "ops/sort/entry_sort.h"

#include <stdbool.h>
#include <string.h>

/* Below this a bucket is finished by comparisons: 256 counters would cost more than the sort. */
#define RADIX_ENTRIES_MIN     384
#define INSERTION_ENTRIES_MAX 24
#define ENTRY_BYTES           16

__extension__ typedef unsigned __int128 u128;

static inline u128 entry_value(const oci_entry *e)
{
    return ((u128)e->hi << 64) | ((uint64_t)e->lo << 32) | e->ordinal;
}

static inline unsigned entry_byte(const oci_entry *e, int byte)
{
    if (byte < 8) {
        return (unsigned)(e->hi >> (56 - 8 * byte)) & 0xff;
    }
    uint64_t tail = ((uint64_t)e->lo << 32) | e->ordinal;
    return (unsigned)(tail >> (56 - 8 * (byte - 8))) & 0xff;
}

static inline void entry_swap(oci_entry *a, oci_entry *b)
{
    oci_entry t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(oci_entry *e, int64_t n)
{
    for (int64_t i = 1; i < n; i++) {
        oci_entry moving = e[i];
        u128 value = entry_value(&moving);
        int64_t j = i;
        while (j > 0 && entry_value(&e[j - 1]) > value) {
            e[j] = e[j - 1];
            j--;
        }
        e[j] = moving;
    }
}

static void heap_sift(oci_entry *e, int64_t root, int64_t n)
{
    oci_entry moving = e[root];
    u128 value = entry_value(&moving);
    for (;;) {
        int64_t child = 2 * root + 1;
        if (child >= n) {
            break;
        }
        if (child + 1 < n && entry_value(&e[child + 1]) > entry_value(&e[child])) {
            child++;
        }
        if (entry_value(&e[child]) <= value) {
            break;
        }
        e[root] = e[child];
        root = child;
    }
    e[root] = moving;
}

static void heap_sort(oci_entry *e, int64_t n)
{
    for (int64_t i = n / 2; i-- > 0;) {
        heap_sift(e, i, n);
    }
    for (int64_t i = n - 1; i > 0; i--) {
        entry_swap(&e[0], &e[i]);
        heap_sift(e, 0, i);
    }
}

/* Moves the median of first, middle and last to the middle. */
static u128 median_pivot(const oci_entry *e, int64_t n)
{
    u128 a = entry_value(&e[0]);
    u128 b = entry_value(&e[n / 2]);
    u128 c = entry_value(&e[n - 1]);
    if (a > b) {
        u128 t = a;
        a = b;
        b = t;
    }
    if (b > c) {
        b = c > a ? c : a;
    }
    return b;
}

/* Quicksort for a few hundred entries; heap sort when `depth` pivots were bad. */
static void comparison_sort(oci_entry *e, int64_t n, int depth)
{
    while (n > INSERTION_ENTRIES_MAX) {
        if (depth-- == 0) {
            heap_sort(e, n);
            return;
        }
        u128 pivot = median_pivot(e, n);
        int64_t i = 0;
        int64_t j = n - 1;
        while (i <= j) {
            while (entry_value(&e[i]) < pivot) {
                i++;
            }
            while (entry_value(&e[j]) > pivot) {
                j--;
            }
            if (i <= j) {
                entry_swap(&e[i], &e[j]);
                i++;
                j--;
            }
        }
        /* Recurse into the smaller side so that the stack stays logarithmic. */
        if (j + 1 < n - i) {
            comparison_sort(e, j + 1, depth);
            e += i;
            n -= i;
        } else {
            comparison_sort(e + i, n - i, depth);
            n = j + 1;
        }
    }
    insertion_sort(e, n);
}

/* First byte in which any two entries differ, ENTRY_BYTES when none does. */
static int differing_byte(const oci_entry *e, int64_t n)
{
    uint64_t hi = 0;
    uint64_t tail = 0;
    uint64_t first_tail = ((uint64_t)e[0].lo << 32) | e[0].ordinal;
    for (int64_t i = 1; i < n; i++) {
        hi |= e[i].hi ^ e[0].hi;
        tail |= (((uint64_t)e[i].lo << 32) | e[i].ordinal) ^ first_tail;
    }
    if (hi != 0) {
        return __builtin_clzll(hi) / 8;
    }
    return tail != 0 ? 8 + __builtin_clzll(tail) / 8 : ENTRY_BYTES;
}

/* Swaps every entry into the bucket of its byte. heads[b] ends where bucket b ends. */
static void permute(oci_entry *e, int byte, const int64_t counts[256], int64_t ends[256])
{
    int64_t heads[256];
    int64_t at = 0;
    for (int b = 0; b < 256; b++) {
        heads[b] = at;
        at += counts[b];
        ends[b] = at;
    }
    for (int b = 0; b < 256; b++) {
        while (heads[b] < ends[b]) {
            oci_entry moving = e[heads[b]];
            unsigned target = entry_byte(&moving, byte);
            while (target != (unsigned)b) {
                oci_entry displaced = e[heads[target]];
                e[heads[target]++] = moving;
                moving = displaced;
                target = entry_byte(&moving, byte);
            }
            e[heads[b]++] = moving;
        }
    }
}

static void radix_sort(oci_entry *e, int64_t n)
{
    if (n < RADIX_ENTRIES_MIN) {
        comparison_sort(e, n, 32);
        return;
    }
    int byte = differing_byte(e, n);
    if (byte == ENTRY_BYTES) {
        return;
    }
    int64_t counts[256] = {0};
    for (int64_t i = 0; i < n; i++) {
        counts[entry_byte(&e[i], byte)]++;
    }
    int64_t ends[256];
    permute(e, byte, counts, ends);
    if (byte + 1 < ENTRY_BYTES) {
        int64_t start = 0;
        for (int b = 0; b < 256; b++) {
            if (ends[b] - start > 1) {
                radix_sort(e + start, ends[b] - start);
            }
            start = ends[b];
        }
    }
}

static void reverse(oci_entry *e, int64_t n)
{
    for (int64_t i = 0, j = n - 1; i < j; i++, j--) {
        entry_swap(&e[i], &e[j]);
    }
}

void oci_entries_sort(oci_entry *entries, int64_t n)
{
    if (n < 2) {
        return;
    }
    /* Both scans stop at the first pair that breaks the pattern, so random input pays for a few
     * comparisons only. */
    int64_t up = 1;
    while (up < n && entry_value(&entries[up - 1]) <= entry_value(&entries[up])) {
        up++;
    }
    if (up == n) {
        return;
    }
    int64_t down = 1;
    while (down < n && entry_value(&entries[down - 1]) > entry_value(&entries[down])) {
        down++;
    }
    if (down == n) {
        reverse(entries, n);
        return;
    }
    radix_sort(entries, n);
}
