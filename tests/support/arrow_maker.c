/* See arrow_maker.h. Every value comes from maker_mix(seed of its node, row): no state runs along, so any
 * part of the imaginary table can be made on its own and in any layout. What is here makes flat
 * arrays, dictionaries and streams; arrow_maker_nested.c makes what has children, by telling each
 * child which rows it has; arrow_maker_text.c reads the column texts.
 *
 * Buffers are malloc'ed at their exact size, so that the address sanitizer sees every read past
 * an end. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/arrow_maker_internal.h"

static _Atomic int64_t live;

int64_t arrow_maker_live(void)
{
    return atomic_load(&live);
}

void maker_count(int64_t change)
{
    atomic_fetch_add(&live, change);
}

void *maker_take(size_t size)
{
    void *block = calloc(1, size > 0 ? size : 1);
    if (block == NULL) {
        fputs("arrow_maker: out of memory\n", stderr);
        abort();
    }
    return block;
}

/* splitmix64's finish over the parts. */
uint64_t maker_mix(uint64_t a, uint64_t b, uint64_t c)
{
    uint64_t h = a;
    uint64_t parts[2] = {b, c};
    for (int i = 0; i < 2; i++) {
        h += parts[i] * UINT64_C(0x9E3779B97F4A7C15) + UINT64_C(0x2545F4914F6CDD1D);
        h = (h ^ (h >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94D049BB133111EB);
        h ^= h >> 31;
    }
    return h;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool is_string(const char *format)
{
    const char *last = format[0] == 'v' ? format + 1 : format;
    return strchr("uUzZ", last[0]) != NULL && last[1] == 0;
}

/* Bytes of a value that is not a string or a bit. */
static int32_t width_of(const char *format)
{
    int precision, scale, bits = 128;
    switch (format[0]) {
    case 'c':
    case 'C': return 1;
    case 's':
    case 'S':
    case 'e': return 2;
    case 'i':
    case 'I':
    case 'f': return 4;
    case 'l':
    case 'L':
    case 'g': return 8;
    case 'w': return (int32_t)atoi(format + 2);
    case 'd': sscanf(format, "d:%d,%d,%d", &precision, &scale, &bits); return (int32_t)bits / 8;
    default: break;
    }
    if (strcmp(format, "tin") == 0) {
        return 16;
    }
    bool narrow = strcmp(format, "tdD") == 0 || strcmp(format, "tts") == 0 ||
                  strcmp(format, "ttm") == 0 || strcmp(format, "tiM") == 0;
    return narrow ? 4 : 8;
}

static int64_t units_per_second(char unit)
{
    return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

static int64_t make_decimal(const char *format, uint64_t h)
{
    int64_t power = 1;
    int precision = atoi(format + 2);
    for (int i = 0; i < precision && i < 18; i++) {
        power *= 10;
    }
    int64_t value = h % 16 == 0 ? power - 1 : (int64_t)(maker_mix(h, 1, 1) % (uint64_t)power);
    return h & 32 ? -value : value;
}

static double make_double(uint64_t h)
{
    uint64_t bits;
    double value;
    switch (h % 24) {
    case 0: bits = UINT64_C(0x8000000000000000); break; /* -0.0 */
    case 1: bits = 0; break;
    case 2: bits = UINT64_C(0x7FF8000000000000); break; /* NaN */
    case 3: bits = UINT64_C(0xFFF8000000001234); break; /* another NaN */
    case 4: bits = UINT64_C(0x7FF0000000000000); break; /* infinity */
    case 5: bits = UINT64_C(0xFFF0000000000000); break;
    case 6: bits = 1; break; /* the smallest above zero */
    default: return (double)(int64_t)maker_mix(h, 2, 2) / 1e12;
    }
    memcpy(&value, &bits, sizeof value);
    return value;
}

static int64_t make_time(const char *format, uint64_t h)
{
    int64_t days = (int64_t)(h % 40000) - 10000;
    int64_t seconds = (int64_t)(h % 4000000000u) - 2000000000;
    switch (format[1]) {
    case 'd': return format[2] == 'D' ? days : days * 86400000;
    case 't': return (int64_t)(h % (uint64_t)(86400 * units_per_second(format[2])));
    case 's':
        return seconds * units_per_second(format[2]) +
               (int64_t)(h >> 40) % units_per_second(format[2]);
    case 'D': return (int64_t)h / 1000;
    default: return (int64_t)(h % 2400) - 1200; /* tiM */
    }
}

static void make_interval(const char *format, uint64_t h, uint8_t *out)
{
    int32_t parts[2] = {(int32_t)(h % 2400) - 1200, (int32_t)((h >> 20) % 86400000)};
    int64_t nanos = (int64_t)maker_mix(h, 3, 3) / 1000000;
    memcpy(out, parts, sizeof parts);
    if (strcmp(format, "tin") == 0) {
        memcpy(out + 8, &nanos, sizeof nanos);
    }
}

/* The low bytes come first, so one int64 serves every width. */
void maker_put_int(uint8_t *out, int64_t value, int32_t width)
{
    memset(out, value < 0 ? 0xFF : 0, (size_t)width);
    memcpy(out, &value, width < 8 ? (size_t)width : sizeof value);
}

static int64_t make_int(uint64_t h)
{
    static const int64_t edges[] = {0, 1, -1, INT64_MIN, INT64_MAX, INT32_MIN, INT32_MAX, 127};
    return h % 8 == 0 ? edges[(h >> 8) % 8] : (int64_t)maker_mix(h, 4, 4);
}

static void make_fixed(const char *format, uint64_t h, uint8_t *out)
{
    int32_t width = width_of(format);
    double wide = make_double(h);
    float narrow = (float)wide;
    switch (format[0]) {
    case 'd': maker_put_int(out, make_decimal(format, h), width); break;
    case 'f': memcpy(out, &narrow, sizeof narrow); break;
    case 'g': memcpy(out, &wide, sizeof wide); break;
    case 'w':
        for (int32_t i = 0; i < width; i++) {
            out[i] = (uint8_t)maker_mix(h, 5, (uint64_t)i);
        }
        break;
    case 't':
        if (strcmp(format, "tin") == 0 || strcmp(format, "tiD") == 0) {
            make_interval(format, h, out);
        } else {
            maker_put_int(out, make_time(format, h), width);
        }
        break;
    default: maker_put_int(out, make_int(h), width); break;
    }
}

/* Few letters, so that long common prefixes are frequent. utf8 gets letters of 1, 2 and 4 bytes
 * and the zero byte, binary gets many bytes 0x00 and 0xFF. Returns the length; `out` NULL asks
 * for it alone. */
static int64_t make_string(const arrow_maker *maker, bool utf8, uint64_t h, uint8_t *out)
{
    static const char *const letters[] = {"a", "b", "a", "Z", "\xC3\xA9", "\xF0\x9F\x98\x80",
                                          "",  "a"};
    uint64_t longest = maker->string_max > 0 ? (uint64_t)maker->string_max : 24;
    int64_t length =
        (int64_t)(h % (h & 0x100000000u ? longest + 1 : (longest < 4 ? longest + 1 : 4)));
    for (int64_t i = 0; out != NULL && i < length;) {
        uint64_t dice = maker_mix(h, 6, (uint64_t)i);
        const char *letter = letters[dice % 8];
        int64_t size = letter[0] == 0 ? 1 : (int64_t)strlen(letter);
        if (!utf8) {
            out[i++] = dice % 4 == 0 ? 0 : dice % 4 == 1 ? 0xFF : (uint8_t)(dice >> 8);
        } else if (i + size > length) {
            out[i++] = 'x';
        } else {
            memcpy(out + i, letter, (size_t)size);
            i += size;
        }
    }
    return length;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void release_array(struct ArrowArray *array)
{
    made_array *made = array->private_data;
    for (int64_t i = 0; i < array->n_children; i++) {
        if (array->children[i]->release != NULL) {
            array->children[i]->release(array->children[i]);
        }
    }
    if (array->dictionary != NULL && array->dictionary->release != NULL) {
        array->dictionary->release(array->dictionary);
    }
    for (int i = 0; i < 3 + MAKER_VIEW_BUFFERS; i++) {
        free(made->blocks[i]);
    }
    free(made->children);
    free(made->child_pointers);
    free(made);
    array->release = NULL;
    array->private_data = NULL;
    maker_count(-1);
}

made_array *maker_start_array(struct ArrowArray *out)
{
    made_array *made = maker_take(sizeof *made);
    *out = (struct ArrowArray){
        .buffers = made->buffers, .release = release_array, .private_data = made};
    maker_count(1);
    return made;
}

void maker_add_children(made_array *made, int64_t n, struct ArrowArray *out)
{
    made->children = maker_take((size_t)n * sizeof *made->children);
    made->child_pointers = maker_take((size_t)n * sizeof *made->child_pointers);
    for (int64_t i = 0; i < n; i++) {
        made->child_pointers[i] = &made->children[i];
    }
    out->n_children = n;
    out->children = n > 0 ? made->child_pointers : NULL;
}

uint8_t *maker_add_buffer(const column_work *w, int index, int64_t size)
{
    size_t shift = w->maker->unaligned ? 1 : 0;
    w->made->blocks[index] = maker_take((size_t)size + shift);
    w->made->buffers[index] = (uint8_t *)w->made->blocks[index] + shift;
    return (uint8_t *)w->made->blocks[index] + shift;
}

void maker_push_row(row_list *list, uint64_t row)
{
    if (list->n == list->capacity) {
        list->capacity = list->capacity * 2 + 16;
        list->rows = realloc(list->rows, (size_t)list->capacity * sizeof *list->rows);
        if (list->rows == NULL) {
            fputs("arrow_maker: out of memory\n", stderr);
            abort();
        }
    }
    list->rows[list->n++] = row;
}

/* Runs are groups of four rows that have one value; else every row has its own. */
static uint64_t value_row(const column_work *w, int64_t slot)
{
    return strcmp(w->format, "+r") == 0 && !w->by_id ? w->rows[slot] / 4 : w->rows[slot];
}

uint64_t maker_id_at(const column_work *w, int64_t slot)
{
    uint64_t row = value_row(w, slot);
    return w->by_id || w->distinct == 0 ? row : maker_mix(w->seed, 11, row) % (uint64_t)w->distinct;
}

uint64_t maker_hash_at(const column_work *w, int64_t slot)
{
    return maker_mix(w->seed, 12, maker_id_at(w, slot));
}

/* One value in four of those that a null row would take is null itself. */
static bool id_is_null(const column_work *w, uint64_t id)
{
    return (int32_t)(maker_mix(w->seed, 13, id) % 400) < w->maker->null_percent;
}

static bool row_is_null(const column_work *w, uint64_t row)
{
    return (int32_t)(maker_mix(w->seed, 14, row) % 100) < w->maker->null_percent;
}

bool maker_has_validity(const char *format)
{
    return format[0] != 'n' && strncmp(format, "+u", 2) != 0 && strcmp(format, "+r") != 0;
}

bool maker_slot_is_null(const column_work *w, int64_t slot, bool indices)
{
    if (w->node->not_null || (!indices && !maker_has_validity(w->format))) {
        return false;
    }
    if (w->by_id) {
        return id_is_null(w, w->rows[slot]);
    }
    bool value_is_null = !indices && w->distinct > 0 && id_is_null(w, maker_id_at(w, slot));
    return row_is_null(w, w->rows[slot]) || value_is_null;
}

uint64_t maker_garbage_at(const column_work *w, int64_t slot)
{
    return maker_mix(w->seed, 15, w->rows[slot]);
}

/* Every level gets another one, so that parent and child differ in where their bits begin. */
int64_t maker_lead(const arrow_maker *maker, int32_t depth)
{
    return maker->offset > 0 ? maker->offset + 3 * depth : 0;
}

static void put_bit(uint8_t *bits, int64_t i, bool value)
{
    bits[i / 8] = (uint8_t)(bits[i / 8] | (value ? 1u << (i % 8) : 0u));
}

static void fill_validity(const column_work *w, bool indices, struct ArrowArray *out)
{
    bool wanted = w->maker->always_validity || (w->maker->null_percent > 0 && !w->node->not_null);
    int64_t nulls = 0;
    if (wanted) {
        uint8_t *bits = maker_add_buffer(w, 0, (w->slots + 7) / 8);
        for (int64_t slot = 0; slot < w->slots; slot++) {
            bool null = maker_slot_is_null(w, slot, indices);
            put_bit(bits, slot, !null);
            nulls += null && slot >= out->offset && slot < out->offset + out->length;
        }
    }
    out->null_count = w->maker->hide_null_count ? -1 : nulls;
}

static void fill_bits(const column_work *w)
{
    uint8_t *bits = maker_add_buffer(w, 1, (w->slots + 7) / 8);
    for (int64_t slot = 0; slot < w->slots; slot++) {
        bool null = maker_slot_is_null(w, slot, false);
        bool value = null ? w->maker->garbage && maker_garbage_at(w, slot) & 1
                          : maker_hash_at(w, slot) & 1;
        put_bit(bits, slot, value);
    }
}

static void fill_fixed(const column_work *w)
{
    int32_t width = width_of(w->format);
    uint8_t *values = maker_add_buffer(w, 1, w->slots * width);
    for (int64_t slot = 0; slot < w->slots; slot++) {
        if (!maker_slot_is_null(w, slot, false)) {
            make_fixed(w->format, maker_hash_at(w, slot), values + slot * width);
        } else if (w->maker->garbage) {
            memset(values + slot * width, (int)(maker_garbage_at(w, slot) & 0xFF), (size_t)width);
        }
    }
}

/* Bytes of the string in a slot; what lies under a null is a length, too. */
static int64_t string_at(const column_work *w, int64_t slot, uint8_t *out)
{
    bool utf8 = strpbrk(w->format, "uU") != NULL;
    if (maker_slot_is_null(w, slot, false)) {
        return w->maker->garbage ? make_string(w->maker, utf8, maker_garbage_at(w, slot), out) : 0;
    }
    return make_string(w->maker, utf8, maker_hash_at(w, slot), out);
}

static void fill_offsets(const column_work *w)
{
    int32_t width = strpbrk(w->format, "UZ") != NULL ? 8 : 4;
    uint8_t *offsets = maker_add_buffer(w, 1, (w->slots + 1) * width);
    int64_t at = w->maker->garbage ? 5 : 0; /* the first offset need not be 0 */
    maker_put_int(offsets, at, width);
    for (int64_t slot = 0; slot < w->slots; slot++) {
        at += string_at(w, slot, NULL);
        maker_put_int(offsets + (slot + 1) * width, at, width);
    }
    uint8_t *bytes = maker_add_buffer(w, 2, at);
    at = w->maker->garbage ? 5 : 0;
    for (int64_t slot = 0; slot < w->slots; slot++) {
        at += string_at(w, slot, bytes + at);
    }
}

/* Strings that are too long for their view go to the buffers in turn. */
static void fill_views(const column_work *w)
{
    uint8_t *views = maker_add_buffer(w, 1, w->slots * 16);
    uint8_t *bytes[MAKER_VIEW_BUFFERS];
    int64_t sizes[MAKER_VIEW_BUFFERS] = {0};
    for (int64_t slot = 0; slot < w->slots; slot++) {
        int64_t length = maker_slot_is_null(w, slot, false) ? 0 : string_at(w, slot, NULL);
        sizes[slot % MAKER_VIEW_BUFFERS] += length > 12 ? length : 0;
    }
    uint8_t *told = maker_add_buffer(w, 2 + MAKER_VIEW_BUFFERS, sizeof sizes);
    memcpy(told, sizes, sizeof sizes);
    for (int i = 0; i < MAKER_VIEW_BUFFERS; i++) {
        bytes[i] = maker_add_buffer(w, 2 + i, sizes[i]);
        sizes[i] = 0;
    }
    for (int64_t slot = 0; slot < w->slots; slot++) {
        uint8_t *view = views + slot * 16;
        int32_t buffer = (int32_t)(slot % MAKER_VIEW_BUFFERS);
        if (maker_slot_is_null(w, slot, false)) {
            uint64_t garbage = w->maker->garbage ? maker_garbage_at(w, slot) : 0;
            memcpy(view, &garbage, 8);
            memcpy(view + 8, &garbage, 8);
            continue;
        }
        int64_t length = string_at(w, slot, NULL);
        maker_put_int(view, length, 4);
        if (length <= 12) {
            string_at(w, slot, view + 4);
            continue;
        }
        string_at(w, slot, bytes[buffer] + sizes[buffer]);
        memcpy(view + 4, bytes[buffer] + sizes[buffer], 4);
        maker_put_int(view + 8, buffer, 4);
        maker_put_int(view + 12, sizes[buffer], 4);
        sizes[buffer] += length;
    }
}

static void fill_indices(const column_work *w, const char *format)
{
    int32_t width = width_of(format);
    uint8_t *indices = maker_add_buffer(w, 1, w->slots * width);
    for (int64_t slot = 0; slot < w->slots; slot++) {
        if (!maker_slot_is_null(w, slot, true)) {
            maker_put_int(indices + slot * width, (int64_t)maker_id_at(w, slot), width);
        } else if (w->maker->garbage) {
            maker_put_int(indices + slot * width, (int64_t)maker_garbage_at(w, slot), width);
        }
    }
}

/* Buffers and children of an array of values; sets n_buffers. */
static void fill_values(const column_work *w, struct ArrowArray *out)
{
    out->n_buffers = 2;
    if (w->format[0] == 'n') {
        out->n_buffers = 0;
        out->null_count = out->length;
        return;
    }
    if (maker_has_validity(w->format)) {
        fill_validity(w, false, out);
    } else {
        /* Of unions other libraries take nothing but 0. */
        out->null_count = w->maker->hide_null_count && w->format[1] == 'r' ? -1 : 0;
    }
    if (w->format[0] == '+') {
        maker_fill_nested(w, out);
    } else if (w->format[0] == 'b') {
        fill_bits(w);
    } else if (w->format[0] == 'v') {
        out->n_buffers = 3 + MAKER_VIEW_BUFFERS;
        fill_views(w);
    } else if (is_string(w->format)) {
        out->n_buffers = 3;
        fill_offsets(w);
    } else {
        fill_fixed(w);
    }
}

/* Empty arrays may come without any buffers. */
static void drop_buffers_of_empty(const column_work *w)
{
    if (w->slots == 0 && w->maker->garbage) {
        memset(w->made->buffers, 0, sizeof w->made->buffers);
    }
}

static void make_dictionary(const column_work *indices, struct ArrowArray *out)
{
    column_work w = *indices;
    row_list list = {0};
    w.by_id = true;
    w.depth++;
    w.made = maker_start_array(out);
    out->offset = maker_lead(w.maker, w.depth);
    out->length = w.distinct;
    w.slots = out->offset + out->length;
    for (int64_t slot = 0; slot < w.slots; slot++) {
        maker_push_row(&list, (uint64_t)(slot - out->offset));
    }
    w.rows = list.rows;
    fill_values(&w, out);
    free(list.rows);
}

/* An array of the rows of a list, all slots told, of which `offset` are in front. */
static void make_array(const arrow_maker *maker, const maker_node *node, uint64_t seed,
                       int32_t depth, const row_list *list, int64_t offset, struct ArrowArray *out)
{
    bool dictionary = node->indices[0] != 0;
    column_work w = {
        .maker = maker,
        .node = node,
        .format = node->format,
        .seed = seed,
        .depth = depth,
        .distinct = maker->distinct,
        .slots = list->n,
        .rows = list->rows,
        .made = maker_start_array(out),
    };
    out->offset = offset;
    out->length = list->n - offset;
    if (!dictionary) {
        fill_values(&w, out);
        drop_buffers_of_empty(&w);
        return;
    }
    w.distinct = maker->distinct == 0 ? 10 : maker->distinct > 100 ? 100 : maker->distinct;
    out->n_buffers = 2;
    fill_validity(&w, true, out);
    fill_indices(&w, node->indices);
    make_dictionary(&w, &w.made->dictionary);
    out->dictionary = &w.made->dictionary;
    drop_buffers_of_empty(&w);
}

void maker_make_child(const column_work *parent, int32_t index, row_list *list,
                      struct ArrowArray *out)
{
    int64_t lead = maker_lead(parent->maker, parent->depth + 1);
    row_list all = {0};
    uint64_t first = list->n > 0 ? list->rows[0] : 0;
    for (int64_t i = 0; i < lead; i++) {
        maker_push_row(&all, first - (uint64_t)(lead - i));
    }
    for (int64_t i = 0; i < list->n; i++) {
        maker_push_row(&all, list->rows[i]);
    }
    make_array(parent->maker, &parent->node->children[index],
               maker_mix(parent->seed, 20, (uint64_t)index), parent->depth + 1, &all, lead, out);
    free(all.rows);
    free(list->rows);
    *list = (row_list){0};
}

static void make_column(const arrow_maker *maker, const char *text, int32_t index,
                        struct ArrowArray *out)
{
    maker_node *node = maker_parse_column(text, index);
    row_list list = {0};
    /* A struct with an offset may have children that go on behind its end. */
    int64_t behind = maker->struct_offset > 0 ? 2 : 0;
    int64_t lead = maker->offset + maker->struct_offset;
    for (int64_t slot = 0; slot < lead + maker->length + behind; slot++) {
        maker_push_row(&list, (uint64_t)(maker->first_row + slot - lead));
    }
    make_array(maker, node, maker_mix(maker->seed, 10, (uint64_t)index), 0, &list, maker->offset,
               out);
    free(list.rows);
    maker_free_column(node);
}

void arrow_make_array(const char *const *columns, int32_t n_columns, const arrow_maker *maker,
                      struct ArrowArray *out)
{
    made_array *made = maker_start_array(out);
    maker_add_children(made, n_columns, out);
    for (int32_t i = 0; i < n_columns; i++) {
        make_column(maker, columns[i], i, &made->children[i]);
    }
    out->length = maker->length;
    out->offset = maker->struct_offset;
    out->n_buffers = 1;
}

/* ---- streams --------------------------------------------------------------------------------- */

typedef struct made_stream {
    arrow_stream_maker maker;
    int64_t n_given;
    bool failed;
} made_stream;

static int stream_get_schema(struct ArrowArrayStream *self, struct ArrowSchema *out)
{
    made_stream *made = self->private_data;
    if (made->maker.fail_code != 0 && made->maker.fail_at == -1) {
        made->failed = true;
        return made->maker.fail_code;
    }
    arrow_make_schema(made->maker.columns, made->maker.n_columns, out);
    return 0;
}

static int stream_get_next(struct ArrowArrayStream *self, struct ArrowArray *out)
{
    made_stream *made = self->private_data;
    arrow_maker maker = made->maker.maker;
    int64_t batch = made->n_given, rows_before = batch * maker.length;
    if (made->maker.fail_code != 0 && made->maker.fail_at == batch) {
        made->failed = true;
        return made->maker.fail_code;
    }
    if (batch >= made->maker.n_batches) {
        out->release = NULL;
        return 0;
    }
    if (made->maker.total_rows > 0 && made->maker.total_rows - rows_before < maker.length) {
        int64_t left = made->maker.total_rows - rows_before;
        maker.length = left > 0 ? left : 0;
    }
    maker.first_row += rows_before;
    if (made->maker.vary) {
        maker.offset = batch * 5 % 18;
        maker.struct_offset = batch * 3 % 4;
        maker.garbage = batch & 1;
        maker.unaligned = batch & 2;
        maker.hide_null_count = batch & 4;
        maker.always_validity = batch & 8;
    }
    arrow_make_array(made->maker.columns, made->maker.n_columns, &maker, out);
    made->n_given++;
    return 0;
}

static const char *stream_get_last_error(struct ArrowArrayStream *self)
{
    const made_stream *made = self->private_data;
    return made->failed ? made->maker.fail_message : NULL;
}

static void stream_release(struct ArrowArrayStream *self)
{
    free(self->private_data);
    self->release = NULL;
    self->private_data = NULL;
    maker_count(-1);
}

void arrow_make_stream(const arrow_stream_maker *maker, struct ArrowArrayStream *out)
{
    made_stream *made = maker_take(sizeof *made);
    made->maker = *maker;
    *out = (struct ArrowArrayStream){
        .get_schema = stream_get_schema,
        .get_next = stream_get_next,
        .get_last_error = stream_get_last_error,
        .release = stream_release,
        .private_data = made,
    };
    maker_count(1);
}
