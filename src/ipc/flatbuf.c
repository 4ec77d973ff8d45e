/* See flatbuf.h for the format and the rules. The sizes in play are below 2^31 (metadata is refused
 * above 256 MiB), so sums of two positions cannot overflow an int64.
 *
 * A builder's buffer comes from malloc: metadata grows with columns and messages, not with rows. */
#include "ipc/flatbuf.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"

#define FLATBUFFER_BYTES_MAX INT32_MAX

static const oci_fb_table no_table = {0};

/* ---- reading --------------------------------------------------------------------------------- */

static void set_problem(oci_fb *fb, const char *problem)
{
    if (fb->problem == NULL) {
        fb->problem = problem;
    }
}

/* Are `count` bytes at `position` inside? */
static bool is_inside(const oci_fb *fb, int64_t position, int64_t count)
{
    return position >= 0 && count >= 0 && count <= fb->size && position <= fb->size - count;
}

static oci_fb_table table_at(oci_fb *fb, int64_t position)
{
    if (!is_inside(fb, position, 4)) {
        set_problem(fb, "a table lies outside");
        return no_table;
    }
    int64_t vtable = position - (int32_t)oci_load_le32(fb->data + position);
    if (!is_inside(fb, vtable, 4)) {
        set_problem(fb, "a vtable lies outside");
        return no_table;
    }
    oci_fb_table table = {
        .position = position,
        .vtable = vtable,
        .vtable_bytes = oci_load_le16(fb->data + vtable),
        .table_bytes = oci_load_le16(fb->data + vtable + 2),
    };
    if (table.vtable_bytes < 4 || table.table_bytes < 4 ||
        !is_inside(fb, vtable, table.vtable_bytes) || !is_inside(fb, position, table.table_bytes)) {
        set_problem(fb, "a table or its vtable runs past the end");
        return no_table;
    }
    return table;
}

/* Follows the distance that is stored at `position` (inside). 0 = damaged. */
static int64_t follow(oci_fb *fb, int64_t position)
{
    int64_t distance = oci_load_le32(fb->data + position);
    if (distance == 0 || !is_inside(fb, position + distance, 4)) {
        set_problem(fb, "an offset leads outside");
        return 0;
    }
    return position + distance;
}

oci_fb_table oci_fb_root(oci_fb *fb)
{
    if (fb->size > FLATBUFFER_BYTES_MAX || !is_inside(fb, 0, 8)) {
        set_problem(fb, "its size cannot be right");
        return no_table;
    }
    int64_t position = follow(fb, 0);
    return position == 0 ? no_table : table_at(fb, position);
}

/* Where the field lies, 0 = absent. */
static int64_t field_position(oci_fb *fb, const oci_fb_table *table, int field, int width)
{
    int32_t slot = 4 + 2 * field;
    if (fb->problem != NULL || table->position == 0 || slot + 2 > table->vtable_bytes) {
        return 0;
    }
    int32_t place = oci_load_le16(fb->data + table->vtable + slot);
    if (place == 0) {
        return 0;
    }
    if (place < 4 || place + width > table->table_bytes) {
        set_problem(fb, "a field lies outside its table");
        return 0;
    }
    return table->position + place;
}

int64_t oci_fb_integer(oci_fb *fb, const oci_fb_table *table, int field, int width, int64_t absent)
{
    int64_t position = field_position(fb, table, field, width);
    if (position == 0) {
        return absent;
    }
    const uint8_t *at = fb->data + position;
    switch (width) {
    case 1: return (int8_t)at[0];
    case 2: return (int16_t)oci_load_le16(at);
    case 4: return (int32_t)oci_load_le32(at);
    default: assert(width == 8); return (int64_t)oci_load_le64(at);
    }
}

oci_fb_table oci_fb_child(oci_fb *fb, const oci_fb_table *table, int field)
{
    int64_t position = field_position(fb, table, field, 4);
    int64_t target = position == 0 ? 0 : follow(fb, position);
    return target == 0 ? no_table : table_at(fb, target);
}

oci_fb_vector oci_fb_get_vector(oci_fb *fb, const oci_fb_table *table, int field,
                                int64_t element_bytes)
{
    oci_fb_vector vector = {0};
    int64_t position = field_position(fb, table, field, 4);
    int64_t target = position == 0 ? 0 : follow(fb, position);
    if (target == 0) {
        return vector;
    }
    int64_t n = oci_load_le32(fb->data + target);
    if (!is_inside(fb, target + 4, n * element_bytes)) {
        set_problem(fb, "a vector or string runs past the end");
        return vector;
    }
    vector.data = fb->data + target + 4;
    vector.n = n;
    return vector;
}

oci_fb_table oci_fb_element(oci_fb *fb, const oci_fb_vector *vector, int64_t i)
{
    assert(i >= 0 && i < vector->n);
    if (fb->problem != NULL) {
        return no_table;
    }
    int64_t target = follow(fb, vector->data - fb->data + 4 * i);
    return target == 0 ? no_table : table_at(fb, target);
}

/* ---- building -------------------------------------------------------------------------------- */

/* Makes room for `count` more bytes in front. */
static bool make_room(oci_fb_builder *b, int64_t count)
{
    if (b->failed || count > FLATBUFFER_BYTES_MAX - b->used) {
        b->failed = true;
        return false;
    }
    if (b->used + count <= b->capacity) {
        return true;
    }
    int64_t capacity = oci_max64(1024, oci_max64(2 * b->capacity, b->used + count));
    uint8_t *data = malloc((size_t)capacity);
    if (data == NULL) {
        b->failed = true;
        return false;
    }
    if (b->used > 0) {
        memcpy(data + capacity - b->used, b->data + b->capacity - b->used, (size_t)b->used);
    }
    free(b->data);
    b->data = data;
    b->capacity = capacity;
    return true;
}

static void push(oci_fb_builder *b, const void *bytes, int64_t count)
{
    if (count == 0 || !make_room(b, count)) {
        return;
    }
    b->used += count;
    memcpy(b->data + b->capacity - b->used, bytes, (size_t)count);
}

static void push_integer(oci_fb_builder *b, int width, int64_t value)
{
    uint8_t bytes[8];
    oci_store_le64(bytes, (uint64_t)value);
    push(b, bytes, width);
}

/* Zeros, so that what comes after `count` more bytes is aligned. */
static void pad_for(oci_fb_builder *b, int64_t count, int64_t align)
{
    static const uint8_t zeros[8];
    push(b, zeros, -(b->used + count) & (align - 1));
}

static oci_fb_ref here(const oci_fb_builder *b)
{
    return b->failed ? 0 : (oci_fb_ref)b->used;
}

oci_fb_ref oci_fb_put_string(oci_fb_builder *b, const void *text, int64_t length)
{
    pad_for(b, length + 1, 4);
    push_integer(b, 1, 0);
    push(b, text, length);
    push_integer(b, 4, length);
    return here(b);
}

oci_fb_ref oci_fb_put_vector(oci_fb_builder *b, const void *elements, int64_t n,
                             int64_t element_bytes, int64_t align)
{
    int64_t bytes = 0;
    if (!oci_mul64(n, element_bytes, &bytes) || bytes > FLATBUFFER_BYTES_MAX) {
        b->failed = true;
        return 0;
    }
    pad_for(b, bytes, align);
    push(b, elements, bytes);
    push_integer(b, 4, n);
    return here(b);
}

oci_fb_ref oci_fb_put_refs(oci_fb_builder *b, const oci_fb_ref *refs, int64_t n)
{
    pad_for(b, 4 * n, 4);
    for (int64_t i = n - 1; i >= 0; i--) {
        push_integer(b, 4, b->used + 4 - refs[i]);
    }
    push_integer(b, 4, n);
    return here(b);
}

void oci_fb_begin_table(oci_fb_builder *b)
{
    b->table_end = b->used;
    memset(b->slots, 0, sizeof b->slots);
}

void oci_fb_add_integer(oci_fb_builder *b, int field, int width, int64_t value)
{
    assert(field < OCI_FB_FIELDS_MAX);
    pad_for(b, 0, width);
    push_integer(b, width, value);
    b->slots[field] = b->used;
}

void oci_fb_add_ref(oci_fb_builder *b, int field, oci_fb_ref ref)
{
    assert(field < OCI_FB_FIELDS_MAX);
    if (ref == 0) {
        return;
    }
    pad_for(b, 0, 4);
    push_integer(b, 4, b->used + 4 - ref);
    b->slots[field] = b->used;
}

oci_fb_ref oci_fb_end_table(oci_fb_builder *b)
{
    pad_for(b, 0, 4);
    push_integer(b, 4, 0); /* the way to the vtable, below */
    int64_t table = b->used;
    int n_fields = OCI_FB_FIELDS_MAX;
    while (n_fields > 0 && b->slots[n_fields - 1] == 0) {
        n_fields--;
    }
    for (int i = n_fields - 1; i >= 0; i--) {
        push_integer(b, 2, b->slots[i] == 0 ? 0 : table - b->slots[i]);
    }
    push_integer(b, 2, table - b->table_end);
    push_integer(b, 2, 4 + 2 * n_fields);
    if (b->failed) {
        return 0;
    }
    oci_store_le32(b->data + b->capacity - table, (uint32_t)(b->used - table));
    return (oci_fb_ref)table;
}

oc_status oci_fb_finish(oci_fb_builder *b, oci_fb_ref root, oc_error *err)
{
    pad_for(b, 4, 8);
    push_integer(b, 4, b->used + 4 - root);
    if (b->failed) {
        OC_FAIL(err, OC_ENOMEM, "out of memory while building Arrow metadata of %" PRId64 " bytes",
                b->used);
    }
    assert(b->used % 8 == 0);
    return OC_OK;
}

const uint8_t *oci_fb_bytes(const oci_fb_builder *b)
{
    return b->data + b->capacity - b->used;
}

void oci_fb_deinit(oci_fb_builder *b)
{
    free(b->data);
    *b = (oci_fb_builder){0};
}
