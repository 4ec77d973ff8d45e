/* Two walks over the same decisions: make_type() grows the schema, depth first, make_array() fills
 * an array of it. A damaged value comes with one chance in some dozens, so that most arrays are
 * sound in most places and damage is met at every depth. */
#include "support/fuzz_array.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX    4
#define COLUMNS_MAX  3
#define CHILDREN_MAX 3
#define ROWS_MAX     12
#define BYTES_MAX    4096 /* of the values of one string column */
#define DAMAGE       251  /* a byte from here on damages */

uint8_t fuzz_byte(fuzz_bytes *bytes)
{
    return bytes->at < bytes->size ? bytes->data[bytes->at++] : 0;
}

int32_t fuzz_below(fuzz_bytes *bytes, int32_t n)
{
    return fuzz_byte(bytes) % n;
}

static int64_t fuzz_word(fuzz_bytes *bytes)
{
    uint64_t word = 0;
    for (int i = 0; i < 8; i++) {
        word = (word << 8) | fuzz_byte(bytes);
    }
    return (int64_t)word;
}

static void *make(size_t n, size_t size)
{
    void *block = calloc(n + 1, size);
    if (block == NULL) {
        abort();
    }
    return block;
}

/* ---- schemas --------------------------------------------------------------------------------- */

static const char *const flat_formats[] = {
    "n",   "b",   "c",   "C",   "s",   "S",        "i",          "I",          "l",   "L",
    "e",   "f",   "g",   "tdD", "tdm", "tts",      "ttu",        "ttn",        "tsn", "tsu:UTC",
    "tDs", "tiM", "tiD", "tin", "w:3", "d:9,2,32", "d:18,1,64",  "d:38,3",     "u",   "U",
    "z",   "Z",   "vu",  "vz",  "w:0", "u",        "d:76,3,256", "tsu:Etc/GMT"};
static const char *const nested_formats[] = {"+l",   "+L",    "+vl",     "+vL",     "+w:2",
                                             "+s",   "+m",    "+ud:3,7", "+us:0,1", "+r",
                                             "+w:0", "+ud:0", "+us:"};
static const char *const index_formats[] = {"c", "C", "s", "S", "i", "I", "l", "L"};
#define COUNT_OF(list) ((int32_t)(sizeof(list) / sizeof(list)[0]))

static void release_schema(struct ArrowSchema *schema)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (schema->children[i]->release != NULL) {
            schema->children[i]->release(schema->children[i]);
        }
        free(schema->children[i]);
    }
    free(schema->children);
    if (schema->dictionary != NULL) {
        schema->dictionary->release(schema->dictionary);
        free(schema->dictionary);
    }
    schema->release = NULL;
}

static void make_type(fuzz_bytes *bytes, int32_t depth, const char *name, struct ArrowSchema *out);

static void start_schema(const char *format, const char *name, int64_t n_children,
                         struct ArrowSchema *out)
{
    *out = (struct ArrowSchema){.format = format,
                                .name = name,
                                .flags = ARROW_FLAG_NULLABLE,
                                .n_children = n_children,
                                .release = release_schema};
    out->children = make((size_t)n_children, sizeof *out->children);
    for (int64_t i = 0; i < n_children; i++) {
        out->children[i] = make(1, sizeof *out->children[i]);
    }
}

static int64_t child_count(fuzz_bytes *bytes, const char *format)
{
    if (strcmp(format, "+s") == 0) {
        return fuzz_below(bytes, CHILDREN_MAX + 1);
    }
    if (strncmp(format, "+u", 2) == 0) {
        return format[4] == '\0' ? 0 : strchr(format, ',') != NULL ? 2 : 1;
    }
    return strcmp(format, "+r") == 0 ? 2 : 1;
}

static void make_map(fuzz_bytes *bytes, int32_t depth, const char *name, struct ArrowSchema *out)
{
    start_schema("+m", name, 1, out);
    start_schema("+s", "entries", 2, out->children[0]);
    out->children[0]->flags = 0;
    make_type(bytes, depth, "key", out->children[0]->children[0]);
    out->children[0]->children[0]->flags = 0;
    make_type(bytes, depth, "value", out->children[0]->children[1]);
}

static void make_nested(fuzz_bytes *bytes, int32_t depth, const char *name, struct ArrowSchema *out)
{
    const char *format = nested_formats[fuzz_below(bytes, COUNT_OF(nested_formats))];
    if (strcmp(format, "+m") == 0) {
        make_map(bytes, depth, name, out);
        return;
    }
    start_schema(format, name, child_count(bytes, format), out);
    for (int64_t i = 0; i < out->n_children; i++) {
        make_type(bytes, depth, i == 0 ? "first" : "other", out->children[i]);
    }
    if (strcmp(format, "+r") == 0 && fuzz_byte(bytes) < DAMAGE) {
        static const char *const widths[] = {"s", "i", "l"};
        out->children[0]->release(out->children[0]);
        start_schema(widths[fuzz_below(bytes, 3)], "run_ends", 0, out->children[0]);
        out->children[0]->flags = 0;
    }
}

static void make_type(fuzz_bytes *bytes, int32_t depth, const char *name, struct ArrowSchema *out)
{
    uint8_t kind = fuzz_byte(bytes);
    if (kind % 4 == 0 && depth < DEPTH_MAX) {
        make_nested(bytes, depth + 1, name, out);
    } else if (kind % 4 == 1) {
        start_schema(index_formats[fuzz_below(bytes, COUNT_OF(index_formats))], name, 0, out);
        out->dictionary = make(1, sizeof *out->dictionary);
        make_type(bytes, depth + 1, "", out->dictionary);
        if (out->dictionary->dictionary != NULL) { /* not right below each other */
            out->dictionary->release(out->dictionary);
            start_schema("u", "", 0, out->dictionary);
        }
    } else {
        start_schema(flat_formats[fuzz_below(bytes, COUNT_OF(flat_formats))], name, 0, out);
    }
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void release_array(struct ArrowArray *array)
{
    for (int64_t i = 0; array->children != NULL && i < array->n_children; i++) {
        if (array->children[i] != NULL && array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
        free(array->children[i]);
    }
    free(array->children);
    if (array->dictionary != NULL) {
        if (array->dictionary->release != NULL) {
            array->dictionary->release(array->dictionary);
        }
        free(array->dictionary);
    }
    int64_t *n_owned = array->private_data;
    for (int64_t i = 0; i < *n_owned; i++) {
        free((void *)(uintptr_t)array->buffers[i]);
    }
    free(array->buffers);
    free(n_owned);
    array->release = NULL;
}

static void *add_buffer(struct ArrowArray *array, int64_t size)
{
    int64_t *n_owned = array->private_data;
    void *buffer = malloc((size_t)size + (size == 0)); /* so that a read behind the end is seen */
    if (buffer == NULL) {
        abort();
    }
    array->buffers[(*n_owned)++] = buffer;
    array->n_buffers = *n_owned;
    return buffer;
}

static void add_bytes(fuzz_bytes *bytes, struct ArrowArray *array, int64_t size)
{
    uint8_t *buffer = add_buffer(array, size);
    for (int64_t i = 0; i < size; i++) {
        buffer[i] = fuzz_byte(bytes);
    }
}

static void add_validity(fuzz_bytes *bytes, struct ArrowArray *array)
{
    if (fuzz_below(bytes, 2) == 0) {
        add_bytes(bytes, array, (array->offset + array->length + 7) / 8);
        array->null_count = -1;
    } else {
        array->buffers[(*(int64_t *)array->private_data)++] = NULL;
        array->n_buffers++;
    }
}

static void store(uint8_t *buffer, int64_t i, int width, int64_t value)
{
    memcpy(buffer + i * width, &value, (size_t)width); /* little-endian */
}

static int64_t load(const uint8_t *buffer, int64_t i, int width)
{
    int32_t narrow;
    int64_t wide = 0;
    memcpy(width == 4 ? (void *)&narrow : (void *)&wide, buffer + i * width, (size_t)width);
    return width == 4 ? narrow : wide;
}

/* A number that is mostly small. */
static int64_t number(fuzz_bytes *bytes, int32_t below)
{
    uint8_t byte = fuzz_byte(bytes);
    return byte >= DAMAGE ? fuzz_word(bytes) : below == 0 ? 0 : byte % below;
}

/* Offsets that mostly ascend; returns the last one, at most `most`. */
static int64_t add_offsets(fuzz_bytes *bytes, struct ArrowArray *array, int width, int64_t most)
{
    int64_t n = array->offset + array->length + 1;
    int64_t offset = fuzz_below(bytes, 4);
    uint8_t *offsets = add_buffer(array, n * width);
    for (int64_t i = 0; i < n; i++) {
        uint8_t byte = fuzz_byte(bytes);
        offset += byte % 8;
        store(offsets, i, width, byte >= DAMAGE ? fuzz_word(bytes) : offset);
    }
    if (load(offsets, n - 1, width) > most) {
        store(offsets, n - 1, width, most);
    }
    return load(offsets, n - 1, width);
}

static void add_views(fuzz_bytes *bytes, struct ArrowArray *array)
{
    int64_t n = array->offset + array->length;
    int32_t n_buffers = fuzz_below(bytes, 4);
    uint8_t *views = add_buffer(array, n * 16);
    memset(views, 0, (size_t)n * 16);
    for (int64_t i = 0; i < n; i++) {
        int32_t length = (int32_t)number(bytes, 20);
        memcpy(views + i * 16, &length, 4);
        for (int64_t k = 4; k < 16; k++) {
            views[i * 16 + k] = k < 8 || length <= 12 ? fuzz_byte(bytes) : 0;
        }
        if (length > 12) {
            int32_t place[2] = {(int32_t)number(bytes, n_buffers), (int32_t)number(bytes, 8)};
            memcpy(views + i * 16 + 8, place, sizeof place);
        }
    }
    int64_t sizes[4] = {0};
    for (int32_t i = 0; i < n_buffers; i++) {
        sizes[i] = fuzz_below(bytes, 40);
        add_bytes(bytes, array, sizes[i]);
        sizes[i] = fuzz_byte(bytes) >= DAMAGE ? -sizes[i] : sizes[i];
    }
    memcpy(add_buffer(array, n_buffers * 8), sizes, (size_t)n_buffers * 8);
}

static void make_array(fuzz_bytes *bytes, const struct ArrowSchema *schema, int64_t length,
                       struct ArrowArray *out);

static void start_array(int64_t length, int64_t offset, int64_t n_children, struct ArrowArray *out)
{
    *out = (struct ArrowArray){.length = length, .offset = offset, .release = release_array};
    out->private_data = make(1, sizeof(int64_t));
    out->buffers = make(8, sizeof *out->buffers);
    out->n_children = n_children;
    out->children = make((size_t)n_children, sizeof *out->children);
}

static void make_child(fuzz_bytes *bytes, const struct ArrowSchema *schema, int64_t i,
                       int64_t length, struct ArrowArray *out)
{
    out->children[i] = make(1, sizeof *out->children[i]);
    make_array(bytes, schema->children[i], length, out->children[i]);
}

/* Lists: the child mostly has the rows that the last offset asks for. */
static void make_list(fuzz_bytes *bytes, const struct ArrowSchema *schema, struct ArrowArray *out)
{
    bool is_view = schema->format[1] == 'v';
    int width = schema->format[is_view ? 2 : 1] == 'L' ? 8 : 4;
    int64_t rows = ROWS_MAX;
    add_validity(bytes, out);
    if (!is_view) {
        int64_t last = add_offsets(bytes, out, width, 64);
        rows = fuzz_byte(bytes) >= DAMAGE || last < 0 ? 0 : last;
    } else {
        for (int k = 0; k < 2; k++) {
            int64_t n = out->offset + out->length;
            uint8_t *numbers = add_buffer(out, n * width);
            for (int64_t i = 0; i < n; i++) {
                store(numbers, i, width, number(bytes, ROWS_MAX / 2));
            }
        }
    }
    make_child(bytes, schema, 0, rows, out);
}

static void make_union(fuzz_bytes *bytes, const struct ArrowSchema *schema, struct ArrowArray *out)
{
    bool dense = schema->format[2] == 'd';
    int64_t n = out->offset + out->length;
    int8_t *ids = add_buffer(out, n);
    int first = schema->format[4] == '\0' ? 0 : atoi(schema->format + 4);
    const char *comma = strchr(schema->format, ',');
    for (int64_t i = 0; i < n; i++) {
        uint8_t byte = fuzz_byte(bytes);
        int id = byte % 2 == 0 || comma == NULL ? first : atoi(comma + 1);
        ids[i] = byte >= DAMAGE ? (int8_t)fuzz_byte(bytes) : (int8_t)id;
    }
    if (dense) {
        uint8_t *rows = add_buffer(out, n * 4);
        for (int64_t i = 0; i < n; i++) {
            store(rows, i, 4, number(bytes, ROWS_MAX));
        }
    }
    for (int64_t i = 0; i < schema->n_children; i++) {
        make_child(bytes, schema, i, dense ? ROWS_MAX : n, out);
    }
}

/* Run ends ascend to the rows that are needed, mostly. */
static void make_runs(fuzz_bytes *bytes, const struct ArrowSchema *schema, struct ArrowArray *out)
{
    int64_t need = out->offset + out->length;
    int64_t n = 0;
    int64_t ends[64];
    const char *format = schema->children[0]->format;
    int width = format[0] == 's' ? 2 : format[0] == 'i' ? 4 : 8;
    for (int64_t end = 0; end < need && n < 60; n++) {
        uint8_t byte = fuzz_byte(bytes);
        end += 1 + byte % 4;
        ends[n] = byte >= DAMAGE ? fuzz_word(bytes) : end;
    }
    make_child(bytes, schema, 0, n, out);
    struct ArrowArray *run_ends = out->children[0];
    bool is_integer = format[1] == '\0' && strchr("sil", format[0]) != NULL;
    bool is_sound = run_ends->n_buffers == 2 && run_ends->length == n && run_ends->offset >= 0 &&
                    run_ends->offset < 4;
    if (is_integer && is_sound) {
        free((void *)(uintptr_t)run_ends->buffers[0]); /* run ends have no nulls */
        run_ends->buffers[0] = NULL;
        run_ends->null_count = 0;
        uint8_t *buffer = (uint8_t *)(uintptr_t)run_ends->buffers[1];
        for (int64_t i = 0; i < n; i++) {
            store(buffer, run_ends->offset + i, width, ends[i]);
        }
    }
    make_child(bytes, schema, 1, n, out);
}

static int64_t fixed_bits(const char *format)
{
    static const struct {
        const char *format;
        int64_t bits;
    } widths[] = {{"b", 1},    {"c", 8},    {"C", 8},    {"s", 16},   {"S", 16},
                  {"e", 16},   {"i", 32},   {"I", 32},   {"f", 32},   {"tdD", 32},
                  {"tts", 32}, {"ttm", 32}, {"tiM", 32}, {"tin", 128}};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        if (strcmp(format, widths[i].format) == 0) {
            return widths[i].bits;
        }
    }
    if (format[0] == 'w') {
        return 8 * atoi(format + 2);
    }
    if (format[0] == 'd') {
        const char *last = strrchr(format, ',');
        return strchr(format, ',') == last ? 128 : atoi(last + 1);
    }
    return 64;
}

static void make_flat(fuzz_bytes *bytes, const struct ArrowSchema *schema, struct ArrowArray *out)
{
    const char *format = schema->format;
    int64_t n = out->offset + out->length;
    if (format[0] == 'n') {
        out->null_count = out->length;
        return;
    }
    add_validity(bytes, out);
    if (format[0] == 'v') {
        add_views(bytes, out);
    } else if (strchr("uUzZ", format[0]) != NULL) {
        int64_t size =
            add_offsets(bytes, out, format[0] == 'u' || format[0] == 'z' ? 4 : 8, BYTES_MAX);
        add_bytes(bytes, out, size < 0 ? 0 : size);
    } else {
        add_bytes(bytes, out, (n * fixed_bits(format) + 7) / 8);
    }
    if (schema->dictionary != NULL) {
        int64_t values = fuzz_below(bytes, ROWS_MAX);
        int64_t width = fixed_bits(format) / 8;
        uint8_t *indices = (uint8_t *)(uintptr_t)out->buffers[1];
        for (int64_t i = 0; i < n && values > 0; i++) { /* else as they came */
            if (indices[i * width] < DAMAGE) {
                store(indices, i, (int)width, indices[i * width] % values);
            }
        }
        out->dictionary = make(1, sizeof *out->dictionary);
        make_array(bytes, schema->dictionary, values, out->dictionary);
    }
}

/* Damage to the array itself. */
static void damage(fuzz_bytes *bytes, struct ArrowArray *out)
{
    switch (fuzz_below(bytes, 8)) {
    case 0: out->length = -out->length; break;
    case 1: out->length = INT64_MAX; break;
    case 2: out->offset = -1 - out->offset; break;
    case 3: out->offset = INT64_MAX - 1; break;
    case 4: /* too few also for views, whose last buffer is taken for the sizes of the others */
        out->n_buffers = fuzz_below(bytes, out->n_buffers < 3 ? (int32_t)out->n_buffers + 1 : 3);
        break;
    case 5: out->null_count = fuzz_word(bytes); break;
    case 6: /* one child less, or gone */
        if (out->n_children > 0) {
            struct ArrowArray *last = out->children[out->n_children - 1];
            last->release(last);
        }
        break;
    default:
        if (out->length > 0) {
            out->length -= 1;
        }
        break;
    }
}

static void make_array(fuzz_bytes *bytes, const struct ArrowSchema *schema, int64_t length,
                       struct ArrowArray *out)
{
    uint8_t choice = fuzz_byte(bytes);
    start_array(length, choice % 4, schema->n_children, out);
    const char *format = schema->format;
    if (format[0] != '+') {
        make_flat(bytes, schema, out);
    } else if (format[1] == 'u') {
        make_union(bytes, schema, out);
    } else if (format[1] == 'r') {
        make_runs(bytes, schema, out);
    } else if (format[1] == 's' || format[1] == 'w') {
        int64_t rows = out->offset + out->length;
        add_validity(bytes, out);
        for (int64_t i = 0; i < schema->n_children; i++) {
            make_child(bytes, schema, i, format[1] == 's' ? rows : rows * atoi(format + 3), out);
        }
    } else {
        make_list(bytes, schema, out);
    }
    if (choice >= DAMAGE) {
        damage(bytes, out);
    }
}

/* ---- both ------------------------------------------------------------------------------------ */

void fuzz_make_batch(fuzz_bytes *bytes, struct ArrowSchema *schema, struct ArrowArray *array)
{
    int32_t n_columns = 1 + fuzz_below(bytes, COLUMNS_MAX);
    start_schema("+s", "", n_columns, schema);
    for (int32_t i = 0; i < n_columns; i++) {
        make_type(bytes, 0, i == 0 ? "a" : i == 1 ? "b" : "c", schema->children[i]);
    }
    start_array(fuzz_below(bytes, ROWS_MAX), fuzz_below(bytes, 3), n_columns, array);
    array->n_buffers = 1;
    *(int64_t *)array->private_data = 1;
    for (int32_t i = 0; i < n_columns; i++) {
        make_child(bytes, schema, i, array->offset + array->length, array);
    }
}
