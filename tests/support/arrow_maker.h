/* Makes Arrow data for tests, through the C data interface alone: schemas, arrays and streams of
 * any supported type, as some other library would hand them in.
 *
 * The *values* depend on the seed, the column's place, the row and `distinct` only. How they lie
 * in memory (offset, garbage, alignment, null count told or not, strings as offsets, views or
 * dictionary) does not change them. So two arrays of one seed are equal row by row whatever their
 * options, and `first_row` makes part of a longer table.
 *
 * A column is told by a short text, "name=format", with the format of the C data interface.
 * Without "name=" the columns are called c0, c1, ...  More of it:
 *
 *     c>u                         dictionary of indices "c" and values "u"
 *     +l(i)                       children in parentheses, as a whole in the place of a format
 *     +s(a=i; b=+l(u))            several are parted by "; "; they may have names
 *     +m(u; i)  +m:sorted(u; i)   a map of keys and values; with the flag for sorted keys (the keys
 *                                 themselves come in any order). The struct between is not told
 *     +ud:5,2(i; u)  +us:0,1(i; u)  +w:3(i)
 *     +r(i; u)                    run ends "i", "l" or "s" (then at most 32 thousand slots), values
 *     c>+l(i>u)                   dictionaries hold anything, anywhere but right below each other
 *     +l@my.type(i)               extension type: sets ARROW:extension:name
 *
 * Nested layouts. `distinct` and `null_percent` count for every level. Arrays of all levels begin
 * at an offset of their own when `offset` is set. `garbage` also means: children have rows in
 * front of and behind those that are referred to, so offsets[0] is not 0 and null lists are not
 * empty; list views lie backwards, with gaps, equal neighbours sharing rows; rows of a struct's
 * children below a null, and of a sparse union's other children, are any values; runs are cut
 * without need, and there is one too many. A run has the value of four rows of the imaginary
 * table, so it may begin before the first slot and end behind the last.
 *
 *     const char *columns[] = {"id=l", "price=d:15,2", "flag=c>u"};
 *     struct ArrowSchema schema;
 *     struct ArrowArray array;
 *     arrow_make_schema(columns, 3, &schema);
 *     arrow_maker maker = {.seed = 1, .length = 100, .null_percent = 10};
 *     arrow_make_array(columns, 3, &maker, &array);
 *
 * Everything is malloc'ed and freed by the release callbacks. Running out of memory ends the
 * program. */
#ifndef OUTCORE_TESTS_SUPPORT_ARROW_MAKER_H
#define OUTCORE_TESTS_SUPPORT_ARROW_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcore/arrow_abi.h"

/* Every flat format, dictionaries of several kinds included. */
extern const char *const arrow_maker_formats[];
extern const int32_t arrow_maker_n_formats;

/* Nested ones: each layout over several children, and in each other. */
extern const char *const arrow_maker_nested_formats[];
extern const int32_t arrow_maker_n_nested_formats;

/* A random text, without a name, of a type with at most `depth` nested types below each other; 0
 * makes a flat one. Ends the program when it does not fit: 2000 bytes are plenty for depth 3. */
void arrow_make_column_text(uint64_t seed, int32_t depth, char *out, size_t size);

typedef struct arrow_maker {
    uint64_t seed;
    int64_t first_row;    /* row of the imaginary table at which the array starts */
    int64_t length;       /* rows */
    int32_t null_percent; /* 0..100 of the slots; dictionaries also get nulls among their values */
    int32_t
        distinct; /* distinct values of a column, 0 = as many as come; dictionaries: at most 100 */
    int32_t string_max;    /* longest string in bytes; 0 means 24 */
    int64_t offset;        /* slots in front of the first row, in every column; they hold garbage */
    int64_t struct_offset; /* the same, but told by the struct around the columns */
    bool garbage;   /* random bytes in null slots: strings of some length, wild views and indices */
    bool unaligned; /* every buffer starts at an odd address */
    bool hide_null_count; /* tell null_count -1 */
    bool always_validity; /* a validity buffer even when nothing is null */
} arrow_maker;

void arrow_make_schema(const char *const *columns, int32_t n_columns, struct ArrowSchema *out);
void arrow_make_array(const char *const *columns, int32_t n_columns, const arrow_maker *maker,
                      struct ArrowArray *out);

/* A stream of `n_batches` batches of maker->length rows (the last one may be cut by total_rows). */
typedef struct arrow_stream_maker {
    const char *const *columns; /* must outlive the stream */
    int32_t n_columns;
    arrow_maker maker; /* first_row: of the first batch */
    int64_t n_batches;
    int64_t total_rows;       /* 0: no cut */
    bool vary;                /* every batch gets other layout options */
    int fail_code;            /* not 0: get_next number fail_at (from 0) returns it ... */
    int64_t fail_at;          /* ... and get_schema does when fail_at is -1 */
    const char *fail_message; /* get_last_error then, may be NULL */
} arrow_stream_maker;

void arrow_make_stream(const arrow_stream_maker *maker, struct ArrowArrayStream *out);

/* Arrays, schemas and streams (with children and dictionaries each counted) that are not released
 * yet. */
int64_t arrow_maker_live(void);

#endif /* OUTCORE_TESTS_SUPPORT_ARROW_MAKER_H */
