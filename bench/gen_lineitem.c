/* gen_lineitem [ROWS [SEED]] > lineitem.tbl
 *
 * Writes a table of the shape of TPC-H's lineitem, for machines that cannot get the real generator:
 * the same 16 columns, `|` after each field, rows in the order of (l_orderkey, l_linenumber), and
 * about the same widths and number of distinct values, so that it sorts and compresses alike. It is
 * not TPC-H data: texts and prices are drawn from one seeded generator, so the same arguments give
 * the same bytes everywhere.
 *
 * Path of a row: drawn field by field, appended to one buffer, written when that is nearly full.
 * Memory is the buffer. A failed write ends the program with code 1. */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BUFFER_BYTES = 1 << 20,
    ROW_BYTES_MAX = 512, /* the longest row is about 180 bytes */
    COMMENT_BYTES_MIN = 10,
    COMMENT_BYTES_MAX = 43,
    DAYS = 2557, /* 1992-01-01 to 1998-12-31 */
};

static const char *const instructions[] = {"COLLECT COD", "DELIVER IN PERSON", "NONE",
                                           "TAKE BACK RETURN"};
static const char *const modes[] = {"AIR", "FOB", "MAIL", "RAIL", "REG AIR", "SHIP", "TRUCK"};
static const char *const words[] = {
    "about",    "above",     "according", "accounts",   "across",       "after",    "again",
    "against",  "along",     "among",     "asymptotes", "bold",         "braids",   "busy",
    "careful",  "carefully", "close",     "courts",     "daring",       "deposits", "dependencies",
    "dolphins", "even",      "evenly",    "express",    "final",        "fluffily", "foxes",
    "furious",  "furiously", "haggle",    "ideas",      "instructions", "ironic",   "packages",
    "pending",  "pinto",     "platelets", "quick",      "quickly",      "regular",  "requests",
    "ruthless", "silent",    "sleep",     "slyly",      "special",      "the",      "theodolites",
    "unusual",
};

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

typedef struct {
    char bytes[BUFFER_BYTES];
    int64_t used;
    uint64_t random;
} generator;

/* splitmix64: each state gives one well mixed value. */
static uint64_t draw(generator *g)
{
    g->random += 0x9E3779B97F4A7C15U;
    uint64_t x = g->random;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
}

/* A value in [low, high]. The bias of the remainder does not matter here. */
static int64_t draw_between(generator *g, int64_t low, int64_t high)
{
    return low + (int64_t)(draw(g) % (uint64_t)(high - low + 1));
}

static void put_text(generator *g, const char *text)
{
    size_t length = strlen(text);
    memcpy(g->bytes + g->used, text, length);
    g->used += (int64_t)length;
}

static void put_char(generator *g, char c)
{
    g->bytes[g->used++] = c;
}

/* A non-negative number, with leading zeros up to `digits_min`. */
static void put_digits(generator *g, int64_t value, int digits_min)
{
    char digits[20];
    int n = 0;
    while (value > 0 || n < digits_min) {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    }
    while (n > 0) {
        put_char(g, digits[--n]);
    }
}

static void put_number(generator *g, int64_t value)
{
    put_digits(g, value, 1);
    put_char(g, '|');
}

static void put_cents(generator *g, int64_t cents)
{
    put_digits(g, cents / 100, 1);
    put_char(g, '.');
    put_digits(g, cents % 100, 2);
    put_char(g, '|');
}

/* Days since 1992-01-01 as YYYY-MM-DD, by counting years of 365 or 366 days from 1992. */
static void put_date(generator *g, int64_t day)
{
    static const int month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 1992;
    for (; day >= 365 + (year % 4 == 0); year++) {
        day -= 365 + (year % 4 == 0);
    }
    int month = 0;
    for (; day >= month_days[month] + (month == 1 && year % 4 == 0); month++) {
        day -= month_days[month] + (month == 1 && year % 4 == 0);
    }
    put_digits(g, year, 4);
    put_char(g, '-');
    put_digits(g, month + 1, 2);
    put_char(g, '-');
    put_digits(g, day + 1, 2);
    put_char(g, '|');
}

/* A stretch of running text: begins and ends anywhere, also inside a word. */
static void put_comment(generator *g)
{
    int64_t length = draw_between(g, COMMENT_BYTES_MIN, COMMENT_BYTES_MAX);
    int64_t end = g->used + length;
    const char *first = words[draw_between(g, 0, COUNT(words) - 1)];
    put_text(g, first + draw_between(g, 0, (int64_t)strlen(first) - 1));
    while (g->used < end) {
        put_char(g, ' ');
        put_text(g, words[draw_between(g, 0, COUNT(words) - 1)]);
    }
    g->used = end;
    put_char(g, '|');
}

/* One line item of order `order_key`, ordered on `order_day`. */
static void put_row(generator *g, int64_t order_key, int64_t line, int64_t order_day)
{
    int64_t part = draw_between(g, 1, 200000);
    int64_t quantity = draw_between(g, 1, 50);
    int64_t price_cents = 90000 + part / 10 % 20001 + 100 * (part % 1000);
    int64_t shipped = order_day + draw_between(g, 1, 121);
    int64_t received = shipped + draw_between(g, 1, 30);
    int64_t today = 1263; /* 1995-06-17: later items are open and cannot be returned */

    put_number(g, order_key);
    put_number(g, part);
    put_number(g, draw_between(g, 1, 10000));
    put_number(g, line);
    put_number(g, quantity);
    put_cents(g, quantity * price_cents);
    put_cents(g, draw_between(g, 0, 10));
    put_cents(g, draw_between(g, 0, 8));
    put_text(g, received > today ? "N|" : draw(g) % 2 == 0 ? "A|" : "R|");
    put_text(g, shipped > today ? "O|" : "F|");
    put_date(g, shipped);
    put_date(g, order_day + draw_between(g, 30, 90));
    put_date(g, received);
    put_text(g, instructions[draw_between(g, 0, COUNT(instructions) - 1)]);
    put_char(g, '|');
    put_text(g, modes[draw_between(g, 0, COUNT(modes) - 1)]);
    put_char(g, '|');
    put_comment(g);
    put_char(g, '\n');
}

static int flush(generator *g)
{
    size_t written = fwrite(g->bytes, 1, (size_t)g->used, stdout);
    int failed = written != (size_t)g->used;
    g->used = 0;
    return failed;
}

static int write_table(generator *g, int64_t row_count)
{
    int64_t rows = 0;
    for (int64_t order = 0; rows < row_count; order++) {
        /* As in TPC-H, only 8 of every 32 order keys are used. */
        int64_t order_key = order / 8 * 32 + order % 8 + 1;
        int64_t order_day = draw_between(g, 0, DAYS - 152);
        int64_t lines = draw_between(g, 1, 7);
        for (int64_t line = 1; line <= lines && rows < row_count; line++, rows++) {
            if (g->used > BUFFER_BYTES - ROW_BYTES_MAX && flush(g) != 0) {
                return 1;
            }
            put_row(g, order_key, line, order_day);
        }
    }
    return flush(g) != 0 || fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    static generator g;
    int64_t row_count = argc > 1 ? strtoll(argv[1], NULL, 10) : 6001215;
    g.random = argc > 2 ? strtoull(argv[2], NULL, 10) : 42;
    if (argc > 3 || row_count <= 0) {
        fputs("usage: gen_lineitem [ROWS [SEED]] > lineitem.tbl\n", stderr);
        return 2;
    }
    if (write_table(&g, row_count) != 0) {
        perror("could not write the table");
        return 1;
    }
    return 0;
}
