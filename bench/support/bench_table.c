/* See bench_table.h. A set is a list of columns, a column a rule for its values; a rule has its own
 * state, so columns are filled one after the other and batches in order. */
#include "support/bench_table.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "outcore/outcore.h"
#include "support/bench_measure.h"

typedef enum rule {
    RULE_UNIFORM, /* of [low, high) */
    RULE_STEPS,   /* from `add` on, each step 1, with `percent` % a step of [low, high) */
    RULE_NUMBERS, /* one of `numbers` */
    RULE_TEXTS,   /* one of `texts` */
    RULE_ROW,     /* add + (i * multiply / divide) % modulo, i the number of the row */
} rule;

typedef struct column_rule {
    const char *name;
    const char *format; /* "i" int32, "l" int64, "tdD" date32, "d:p,s" decimal128, "u" utf8 */
    bool nullable;
    rule rule;
    int64_t low;
    int64_t high;
    int percent;
    const int64_t *numbers;
    const char *const *texts;
    int64_t n_choices;
    int64_t add;
    int64_t multiply;
    int64_t divide;
    int64_t modulo;
    const char *prefix; /* RULE_ROW of utf8: this and the number */
    int64_t null_every; /* rows i with i % null_every == 0 are null; 0 = none */
} column_rule;

struct bench_set {
    const char *name;
    uint64_t seed;
    bool rows_restart; /* i counts from 0 in every batch */
    int64_t n_columns;
    const column_rule *columns;
};

#define COUNT(array) ((int64_t)(sizeof(array) / sizeof((array)[0])))

/* ---- sets ------------------------------------------------------------------------------------ */

#define UNIFORM(name_, format_, low_, high_)                                                       \
    {                                                                                              \
        .name = (name_), .format = (format_), .rule = RULE_UNIFORM, .low = (low_), .high = (high_) \
    }
#define STEPS(name_, percent_, low_, high_)                                                       \
    {                                                                                             \
        .name = (name_), .format = "l", .rule = RULE_STEPS, .add = 400000, .percent = (percent_), \
        .low = (low_), .high = (high_)                                                            \
    }
#define TEXTS(name_, texts_)                                                   \
    {                                                                          \
        .name = (name_), .format = "u", .rule = RULE_TEXTS, .texts = (texts_), \
        .n_choices = COUNT(texts_)                                             \
    }
#define ROW(name_, format_, add_, multiply_, divide_, modulo_)                 \
    {                                                                          \
        .name = (name_), .format = (format_), .rule = RULE_ROW, .add = (add_), \
        .multiply = (multiply_), .divide = (divide_), .modulo = (modulo_)      \
    }
#define TAG(name_, prefix_, multiply_, divide_, modulo_)                       \
    {                                                                          \
        .name = (name_), .format = "u", .rule = RULE_ROW, .prefix = (prefix_), \
        .multiply = (multiply_), .divide = (divide_), .modulo = (modulo_)      \
    }

static const char *const brands[] = {"Brand#32", "Brand#33", "Brand#41", "Brand#42", "Brand#55"};
static const char *const types[] = {"PROMO ANODIZED NICKEL",  "STANDARD BRUSHED NICKEL",
                                    "PROMO POLISHED COPPER",  "ECONOMY ANODIZED BRASS",
                                    "LARGE BURNISHED COPPER", "STANDARD POLISHED TIN",
                                    "SMALL PLATED STEEL",     "MEDIUM POLISHED COPPER"};
static const int64_t sizes[] = {3, 9, 14, 19, 23, 36, 45, 49};
static const char *const flags[] = {"A", "N", "R"};
static const char *const statuses[] = {"F", "O"};
static const char *const instructions[] = {"DELIVER IN PERSON", "COLLECT COD", "NONE"};
static const char *const modes[] = {"TRUCK", "MAIL", "SHIP", "RAIL", "AIR"};

static const column_rule q2[] = {
    STEPS("ps_partkey", 5, 2, 10),
    {.name = "min_ps_supplycost",
     .format = "d:15,2",
     .nullable = true,
     .rule = RULE_UNIFORM,
     .low = 1000,
     .high = 100000},
};
static const column_rule q16[] = {
    TEXTS("p_brand", brands),
    TEXTS("p_type", types),
    {.name = "p_size",
     .format = "i",
     .rule = RULE_NUMBERS,
     .numbers = sizes,
     .n_choices = COUNT(sizes)},
    UNIFORM("alias1", "l", 1000, 100000),
};
static const column_rule q20[] = {
    STEPS("l_partkey", 3, 2, 6),
    UNIFORM("l_suppkey", "l", 10000, 99999),
    {.name = "sum_l_quantity",
     .format = "d:25,2",
     .nullable = true,
     .rule = RULE_UNIFORM,
     .low = 500,
     .high = 20000},
};
static const column_rule wide[] = {
    ROW("l_linenumber", "i", 0, 1, 1, 7),
    UNIFORM("l_suppkey", "l", 0, 100000),
    ROW("l_orderkey", "l", 1000000, 1, 1, INT64_MAX),
    UNIFORM("l_partkey", "l", 0, 200000),
    UNIFORM("l_quantity", "d:15,2", 100, 10000),
    UNIFORM("l_extendedprice", "d:15,2", 1000, 1000000),
    UNIFORM("l_discount", "d:15,2", 0, 10000),
    UNIFORM("l_tax", "d:15,2", 0, 5000),
    TEXTS("l_returnflag", flags),
    TEXTS("l_linestatus", statuses),
    ROW("l_shipdate", "tdD", 10000, 1, 1, 1000),
    ROW("l_commitdate", "tdD", 10001, 1, 1, 1000),
    ROW("l_receiptdate", "tdD", 10002, 1, 1, 1000),
    TEXTS("l_shipinstruct", instructions),
    TEXTS("l_shipmode", modes),
};
static const column_rule read_100[] = {
    {.name = "c0",
     .format = "i",
     .nullable = true,
     .rule = RULE_ROW,
     .multiply = 1,
     .divide = 1,
     .modulo = INT64_MAX},
    {.name = "c1",
     .format = "u",
     .nullable = true,
     .rule = RULE_ROW,
     .multiply = 1,
     .divide = 1,
     .modulo = INT64_MAX,
     .prefix = "this is string number ",
     .null_every = 10},
    {.name = "c2",
     .format = "tdD",
     .nullable = true,
     .rule = RULE_ROW,
     .multiply = 1,
     .divide = 1,
     .modulo = INT64_MAX},
    {.name = "c3",
     .format = "d:11,2",
     .nullable = true,
     .rule = RULE_ROW,
     .multiply = 1000000,
     .divide = 1,
     .modulo = INT64_MAX},
};
static const column_rule small_batches[] = {
    ROW("k", "l", 0, 7919, 1, 1600000), TAG("s1", "region-", 1, 1, 8),
    TAG("s2", "status-", 1, 1000, 5),   TAG("s3", "user-", 1, 1, 1000),
    TAG("s4", "sku-", 31, 1, 5000),     TAG("s5", "city-", 1, 7, 300),
    TAG("s6", "tag-", 1, 1, 3),
};

static const bench_set sets[] = {
    {"q2", 2, false, COUNT(q2), q2},
    {"q16", 16, false, COUNT(q16), q16},
    {"q20", 20, false, COUNT(q20), q20},
    {"wide", 10, true, COUNT(wide), wide},
    {"read_100", 0, true, COUNT(read_100), read_100},
    {"small_batches", 0, false, COUNT(small_batches), small_batches},
};

const bench_set *bench_set_find(const char *name)
{
    for (int64_t i = 0; i < COUNT(sets); i++) {
        if (strcmp(sets[i].name, name) == 0) {
            return &sets[i];
        }
    }
    return NULL;
}

const char *bench_set_name(const bench_set *set)
{
    return set->name;
}

/* ---- values ---------------------------------------------------------------------------------- */

typedef struct column_state {
    uint64_t random;
    int64_t last; /* RULE_STEPS */
} column_state;

static void *take(size_t size)
{
    void *memory = calloc(1, size > 0 ? size : 1);
    if (memory == NULL) {
        fputs("could not make a table: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* splitmix64. */
static uint64_t draw(column_state *state)
{
    state->random += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t z = state->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Of [low, high), ranges far below 2^32: the upper bits scaled. */
static int64_t draw_between(column_state *state, int64_t low, int64_t high)
{
    return low + (int64_t)(((draw(state) >> 32) * (uint64_t)(high - low)) >> 32);
}

/* The value of row i, or the number of its text. */
static int64_t next_value(const column_rule *column, column_state *state, int64_t i)
{
    switch (column->rule) {
    case RULE_UNIFORM: return draw_between(state, column->low, column->high);
    case RULE_STEPS:
        state->last += draw_between(state, 0, 100) < column->percent
                           ? draw_between(state, column->low, column->high)
                           : 1;
        return state->last;
    case RULE_NUMBERS: return column->numbers[draw_between(state, 0, column->n_choices)];
    case RULE_TEXTS: return draw_between(state, 0, column->n_choices);
    case RULE_ROW:
    default: return column->add + i * column->multiply / column->divide % column->modulo;
    }
}

static int64_t value_width(const column_rule *column)
{
    switch (column->format[0]) {
    case 'l': return 8;
    case 'd': return 16;
    default: return 4; /* int32, date32, offsets */
    }
}

static bool is_null(const column_rule *column, int64_t i)
{
    return column->null_every > 0 && i % column->null_every == 0;
}

static void fill_numbers(const column_rule *column, column_state *state, int64_t first, int64_t n,
                         uint8_t *out)
{
    int64_t width = value_width(column);
    for (int64_t i = 0; i < n; i++) {
        int64_t value[2] = {next_value(column, state, first + i), 0};
        value[1] = value[0] < 0 ? -1 : 0;
        memcpy(out + i * width, value, (size_t)width);
    }
}

#define TEXT_BYTES_MAX 64

/* Fills offsets; returns the bytes, malloc'ed. */
static char *fill_texts(const column_rule *column, column_state *state, int64_t first, int64_t n,
                        int32_t *offsets)
{
    char *bytes = take((size_t)(n * TEXT_BYTES_MAX));
    int32_t end = 0;
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = end;
        int64_t value = next_value(column, state, first + i);
        if (is_null(column, first + i)) {
            continue;
        }
        if (column->rule == RULE_TEXTS) {
            size_t length = strlen(column->texts[value]);
            memcpy(bytes + end, column->texts[value], length);
            end += (int32_t)length;
        } else {
            end += snprintf(bytes + end, TEXT_BYTES_MAX, "%s%" PRId64, column->prefix, value);
        }
    }
    offsets[n] = end;
    char *exact = realloc(bytes, end > 0 ? (size_t)end : 1);
    return exact != NULL ? exact : bytes;
}

/* ---- Arrow ----------------------------------------------------------------------------------- */

static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

/* Handed out as a whole: its children count as released with it. */
static void release_batch(struct ArrowArray *array)
{
    for (int64_t c = 0; c < array->n_children; c++) {
        array->children[c]->release = NULL;
    }
    array->release = NULL;
}

static void fill_column(const column_rule *column, column_state *state, int64_t first, int64_t n,
                        struct ArrowArray *out, int64_t *bytes)
{
    bool is_text = column->format[0] == 'u';
    int64_t values_bytes = (n + (is_text ? 1 : 0)) * value_width(column);
    const void **buffers = take(3 * sizeof *buffers);
    void *values = take((size_t)values_bytes);
    *out = (struct ArrowArray){.length = n, .n_buffers = is_text ? 3 : 2, .buffers = buffers};
    *bytes += values_bytes;
    buffers[1] = values;
    if (is_text) {
        buffers[2] = fill_texts(column, state, first, n, values);
        *bytes += ((const int32_t *)values)[n];
    } else {
        fill_numbers(column, state, first, n, values);
    }
    if (column->null_every > 0) {
        uint8_t *validity = take((size_t)((n + 7) / 8));
        for (int64_t i = 0; i < n; i++) {
            bool null = is_null(column, first + i);
            validity[i / 8] |= (uint8_t)(!null << (i % 8));
            out->null_count += null;
        }
        buffers[0] = validity;
        *bytes += (n + 7) / 8;
    }
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void make_schema(const bench_set *set, struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = "+s", .name = "", .n_children = set->n_columns};
    out->children = take((size_t)set->n_columns * sizeof(struct ArrowSchema *));
    for (int64_t c = 0; c < set->n_columns; c++) {
        const column_rule *column = &set->columns[c];
        out->children[c] = take(sizeof(struct ArrowSchema));
        *out->children[c] =
            (struct ArrowSchema){.format = column->format,
                                 .name = column->name,
                                 .flags = column->nullable ? ARROW_FLAG_NULLABLE : 0,
                                 .release = release_schema};
    }
    out->release = release_schema;
}

void bench_table_make(const bench_set *set, int64_t rows, int64_t batch_rows, bench_table *out)
{
    *out = (bench_table){.n_batches = (rows + batch_rows - 1) / batch_rows, .rows = rows};
    make_schema(set, &out->schema);
    out->batches = take((size_t)out->n_batches * sizeof *out->batches);
    column_state *states = take((size_t)set->n_columns * sizeof *states);
    for (int64_t c = 0; c < set->n_columns; c++) {
        states[c] =
            (column_state){.random = set->seed * 1000 + (uint64_t)c, .last = set->columns[c].add};
    }
    for (int64_t b = 0; b < out->n_batches; b++) {
        int64_t start = b * batch_rows;
        int64_t n = rows - start < batch_rows ? rows - start : batch_rows;
        struct ArrowArray *batch = &out->batches[b];
        *batch = (struct ArrowArray){.length = n, .n_buffers = 1, .n_children = set->n_columns};
        batch->buffers = take(sizeof *batch->buffers);
        batch->children = take((size_t)set->n_columns * sizeof *batch->children);
        for (int64_t c = 0; c < set->n_columns; c++) {
            batch->children[c] = take(sizeof(struct ArrowArray));
            fill_column(&set->columns[c], &states[c], set->rows_restart ? 0 : start, n,
                        batch->children[c], &out->bytes);
        }
    }
    free(states);
}

void bench_table_free(bench_table *table)
{
    for (int64_t b = 0; b < table->n_batches; b++) {
        struct ArrowArray *batch = &table->batches[b];
        for (int64_t c = 0; c < batch->n_children; c++) {
            struct ArrowArray *column = batch->children[c];
            for (int64_t i = 0; i < column->n_buffers; i++) {
                free((void *)(uintptr_t)column->buffers[i]);
            }
            free(column->buffers);
            free(column);
        }
        free(batch->children);
        free(batch->buffers);
    }
    free(table->batches);
    for (int64_t c = 0; c < table->schema.n_children; c++) {
        free(table->schema.children[c]);
    }
    free(table->schema.children);
    *table = (bench_table){.rows = 0};
}

void bench_table_batch(bench_table *table, int64_t i, struct ArrowArray *out)
{
    *out = table->batches[i];
    out->release = release_batch;
    for (int64_t c = 0; c < out->n_children; c++) {
        out->children[c]->release = release_nothing;
    }
}

/* ---- stream ---------------------------------------------------------------------------------- */

typedef struct table_stream {
    bench_table *table;
    int64_t next;
} table_stream;

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    const table_stream *s = stream->private_data;
    *out = s->table->schema;
    out->release = release_schema;
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    table_stream *s = stream->private_data;
    *out = (struct ArrowArray){.length = 0};
    if (s->next < s->table->n_batches) {
        bench_table_batch(s->table, s->next++, out);
    }
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
}

void bench_table_stream(bench_table *table, struct ArrowArrayStream *out)
{
    table_stream *s = take(sizeof *s);
    s->table = table;
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = stream_release,
                                     .private_data = s};
}

void bench_table_write(bench_table *table, const char *path)
{
    oc_error err;
    oc_context *context = NULL;
    struct ArrowArrayStream stream;
    oc_write_options options = OC_WRITE_OPTIONS_INIT;
    options.format = OC_FORMAT_ARROW;
    bench_table_stream(table, &stream);
    bench_check(oc_context_create(NULL, &context, &err), &err);
    bench_check(oc_write_file(context, &stream, path, &options, NULL, &err), &err);
    oc_context_destroy(context);
}
