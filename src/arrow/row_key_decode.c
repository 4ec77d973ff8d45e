/* See row_key_decode.h. The inverse of the encoders of row_key_*.c, for all key columns of a row in one
 * walk over its bytes.
 *
 * The walk is done twice: first it counts rows and bytes of every column of the tree, checks the bytes and so
 * finds out how large one slab for all buffers is; then it fills them. Values are read through the flip of a
 * descending key, byte by byte where it matters. Keys of one width, which need no counting, are decoded column by
 * column instead.
 *
 * The tree of columns comes from malloc: it grows with the schema. */
#include "arrow/row_key_decode.h"

#include <stdlib.h>

#include "arrow/row_key_internal.h"

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

#define NANOS_PER_DAY  INT64_C(86400000000000)
#define MILLIS_PER_DAY INT64_C(86400000)
#define DAYS_PER_MONTH 30
#define ESCAPED_ZERO   0xFF

/* ---- types ----------------------------------------------------------------------------------- */

/* Replaces dictionaries by their values, at every depth. Keeps names and nullability. */
static oc_status resolve_dictionaries(oci_field *field, oc_error *err)
{
    if (field->type == OCI_TYPE_DICTIONARY) {
        oci_field values;
        OC_TRY(oci_field_copy(field->dictionary, &values, err));
        free(values.name);
        values.name = field->name;
        values.nullable = field->nullable;
        field->name = NULL;
        oci_field_deinit(field);
        *field = values;
        return resolve_dictionaries(field, err);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(resolve_dictionaries(&field->children[i], err));
    }
    return OC_OK;
}

static oc_status copy_key_fields(const oci_schema *working, oci_field *fields, int32_t *n_made,
                                 oc_error *err)
{
    for (int32_t i = 0; i < working->n_fields; i++) {
        OC_TRY(oci_field_copy(&working->fields[i], &fields[i], err));
        *n_made = i + 1;
        OC_TRY(resolve_dictionaries(&fields[i], err));
    }
    return OC_OK;
}

static oc_status make_schema(const oci_schema *working, oci_schema **out, oc_error *err)
{
    oci_field *fields = calloc((size_t)working->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make the schema of keys: out of memory");
    }
    int32_t n_made = 0;
    oc_status status = copy_key_fields(working, fields, &n_made, err);
    if (status != OC_OK) {
        for (int32_t i = 0; i < n_made; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        return status;
    }
    return oci_schema_create(fields, working->n_fields, NULL, 0, out, err);
}

oc_status oci_row_keys_schema(const oci_schema *schema, const oci_sort_key *keys, int32_t n_keys,
                              oci_schema **out, oc_error *err)
{
    int32_t *columns = calloc((size_t)n_keys + 1, sizeof *columns);
    if (columns == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not make the schema of keys: out of memory");
    }
    for (int32_t k = 0; k < n_keys; k++) {
        columns[k] = keys[k].column;
    }
    oci_schema *chosen = NULL;
    oci_schema *working = NULL;
    oc_status status = oci_schema_select(schema, columns, n_keys, &chosen, err);
    free(columns);
    if (status == OC_OK) {
        status = oci_schema_working(chosen, &working, err);
    }
    if (status == OC_OK) {
        status = make_schema(working, out, err);
    }
    oci_schema_release(chosen);
    oci_schema_release(working);
    return status;
}

/* ---- the tree of columns --------------------------------------------------------------------- */

typedef struct key_node {
    const oci_field *field;
    oci_layout layout;
    int64_t width; /* of fixed values in the key, -1 = var-length */
    int64_t rows;  /* counted, then where the next one goes */
    int64_t bytes; /* of strings, likewise */
    int64_t rows_max;
    int64_t nulls;
    uint8_t *validity; /* the buffers; NULL while counting */
    uint8_t *values;
    uint8_t *data;
    int64_t sizes[3]; /* of these buffers */
    struct key_node *children;
} key_node;

static void free_children(key_node *node)
{
    for (int32_t i = 0; node->children != NULL && i < node->field->n_children; i++) {
        free_children(&node->children[i]);
    }
    free(node->children);
    node->children = NULL;
}

static oc_status init_node(key_node *node, const oci_field *field, oc_error *err)
{
    *node = (key_node){.field = field, .layout = oci_field_layout(field)};
    node->width = oci_key_width(field);
    if (field->n_children == 0) {
        return OC_OK;
    }
    node->children = calloc((size_t)field->n_children, sizeof *node->children);
    if (node->children == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not decode keys: out of memory");
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        node->children[i].field = &field->children[i];
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        OC_TRY(init_node(&node->children[i], &field->children[i], err));
    }
    return OC_OK;
}

static void free_nodes(key_node *nodes, int32_t n)
{
    for (int32_t i = 0; nodes != NULL && i < n; i++) {
        if (nodes[i].field != NULL) {
            free_children(&nodes[i]);
        }
    }
    free(nodes);
}

static oc_status make_nodes(const oci_schema *decoded, key_node **out, oc_error *err)
{
    key_node *nodes = calloc((size_t)decoded->n_fields + 1, sizeof *nodes);
    if (nodes == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not decode keys: out of memory");
    }
    for (int32_t i = 0; i < decoded->n_fields; i++) {
        oc_status status = init_node(&nodes[i], &decoded->fields[i], err);
        if (status != OC_OK) {
            free_nodes(nodes, decoded->n_fields);
            return status;
        }
    }
    *out = nodes;
    return OC_OK;
}

/* ---- the walk -------------------------------------------------------------------------------- */

typedef struct key_cursor {
    const uint8_t *at;
    const uint8_t *end;
    uint8_t flip;
} key_cursor;

static bool walk_inside(key_node *node, key_cursor *cursor);

static void store_offset(key_node *node, int64_t end)
{
    uint8_t *to = node->values;
    if (to == NULL) {
        return;
    }
    if (node->layout == OCI_LAYOUT_OFFSETS64 || node->layout == OCI_LAYOUT_LIST64) {
        oci_store_le64(to + (node->rows + 1) * 8, (uint64_t)end);
    } else {
        oci_store_le32(to + (node->rows + 1) * 4, (uint32_t)end);
    }
}

static void put_null(key_node *node)
{
    switch (node->layout) {
    case OCI_LAYOUT_FIXED:
        if (node->values != NULL) {
            memset(node->values + node->rows * node->field->byte_width, 0,
                   (size_t)node->field->byte_width);
        }
        break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: store_offset(node, node->bytes); break;
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64: store_offset(node, node->children[0].rows); break;
    case OCI_LAYOUT_FIXED_LIST:
        for (int32_t i = 0; i < node->field->list_size; i++) {
            put_null(&node->children[0]);
        }
        break;
    case OCI_LAYOUT_STRUCT:
        for (int32_t i = 0; i < node->field->n_children; i++) {
            put_null(&node->children[i]);
        }
        break;
    default: break;
    }
    if (node->validity != NULL) {
        oci_bit_clear(node->validity, node->rows);
    }
    node->nulls++;
    node->rows++;
}

/* Floats: the inverse of what order_float() does with bits of one width. */
static uint64_t unorder_float(uint64_t bits, uint64_t sign, uint64_t quiet_nan)
{
    if ((bits & sign) == 0) {
        return ~bits & (sign | (sign - 1));
    }
    bits ^= sign;
    return bits == sign - 1 ? quiet_nan : bits;
}

static uint64_t load_be(const uint8_t *from, int64_t width, uint8_t flip)
{
    uint64_t value = 0;
    for (int64_t i = 0; i < width; i++) {
        value = value << 8 | (uint64_t)(from[i] ^ flip);
    }
    return value;
}

static void store_le(uint8_t *to, int64_t width, uint64_t value)
{
    for (int64_t i = 0; i < width; i++) {
        to[i] = (uint8_t)(value >> (8 * i));
    }
}

/* A signed number of any width. */
static void decode_int(const uint8_t *from, int64_t width, uint8_t flip, uint8_t *to)
{
    if (width == 8) {
        uint64_t mask = (flip != 0 ? UINT64_MAX : 0) ^ UINT64_C(1) << 63;
        oci_store_le64(to, oci_load_be64(from) ^ mask);
        return;
    }
    if (width == 4) {
        uint32_t mask = (flip != 0 ? UINT32_MAX : 0) ^ UINT32_C(1) << 31;
        oci_store_le32(to, __builtin_bswap32(oci_load_le32(from)) ^ mask);
        return;
    }
    for (int64_t i = 0; i < width; i++) {
        to[width - 1 - i] = from[i] ^ flip;
    }
    to[width - 1] ^= 0x80;
}

static void decode_day_time(const uint8_t *from, uint8_t flip, uint8_t *to)
{
    int64_t millis = (int64_t)(load_be(from, 8, flip) ^ (UINT64_C(1) << 63));
    int64_t days = millis / MILLIS_PER_DAY;
    days = days > INT32_MAX ? INT32_MAX : days < INT32_MIN ? INT32_MIN : days;
    oci_store_le32(to, (uint32_t)(int32_t)days);
    oci_store_le32(to + 4, (uint32_t)(int32_t)(millis - days * MILLIS_PER_DAY));
}

static int64_t clamp32(int64_t value)
{
    return value > INT32_MAX ? INT32_MAX : value < INT32_MIN ? INT32_MIN : value;
}

static void decode_month_day_nano(const uint8_t *from, uint8_t flip, uint8_t *to)
{
    uint64_t high = load_be(from, 8, flip) ^ (UINT64_C(1) << 63);
    int128 nanos = (int128)((uint128)high << 64 | load_be(from + 8, 8, flip));
    int64_t days = (int64_t)(nanos / NANOS_PER_DAY);
    int64_t months = clamp32(days / DAYS_PER_MONTH);
    int64_t rest = clamp32(days - months * DAYS_PER_MONTH);
    nanos -= (int128)(months * DAYS_PER_MONTH + rest) * NANOS_PER_DAY;
    oci_store_le32(to, (uint32_t)(int32_t)months);
    oci_store_le32(to + 4, (uint32_t)(int32_t)rest);
    oci_store_le64(to + 8, (uint64_t)(int64_t)nanos);
}

static void decode_fixed(const oci_field *field, const uint8_t *from, uint8_t flip, uint8_t *to)
{
    int64_t width = field->byte_width;
    switch (field->type) {
    case OCI_TYPE_UINT8:
    case OCI_TYPE_UINT16:
    case OCI_TYPE_UINT32:
    case OCI_TYPE_UINT64: store_le(to, width, load_be(from, width, flip)); break;
    case OCI_TYPE_FLOAT16:
        oci_store_le16(to, (uint16_t)unorder_float(load_be(from, 2, flip), 0x8000, 0x7E00));
        break;
    case OCI_TYPE_FLOAT32:
        oci_store_le32(
            to, (uint32_t)unorder_float(load_be(from, 4, flip), UINT64_C(0x80000000), 0x7FC00000));
        break;
    case OCI_TYPE_FLOAT64:
        oci_store_le64(to, unorder_float(load_be(from, 8, flip), UINT64_C(1) << 63,
                                         UINT64_C(0x7FF8000000000000)));
        break;
    case OCI_TYPE_INTERVAL_DAY_TIME: decode_day_time(from, flip, to); break;
    case OCI_TYPE_INTERVAL_MONTH_DAY_NANO: decode_month_day_nano(from, flip, to); break;
    case OCI_TYPE_FIXED_BINARY:
        for (int64_t i = 0; i < width; i++) {
            to[i] = from[i] ^ flip;
        }
        break;
    default: decode_int(from, width, flip, to); break;
    }
}

static bool walk_string(key_node *node, key_cursor *cursor)
{
    const uint8_t *at = cursor->at;
    uint8_t zero = cursor->flip;
    for (;;) {
        const uint8_t *stop = memchr(at, zero, (size_t)(cursor->end - at));
        if (stop == NULL || cursor->end - stop < 2) {
            return false;
        }
        bool is_escape = (stop[1] ^ cursor->flip) == ESCAPED_ZERO;
        if (!is_escape && (stop[1] ^ cursor->flip) != 0) {
            return false;
        }
        int64_t n = stop - at + is_escape; /* the zero itself belongs to the string */
        if (node->data != NULL) {
            memcpy(node->data + node->bytes, at, (size_t)n);
            for (int64_t i = 0; cursor->flip != 0 && i < n; i++) {
                node->data[node->bytes + i] ^= cursor->flip;
            }
        }
        node->bytes += n;
        at = stop + 2;
        if (!is_escape) {
            cursor->at = at;
            store_offset(node, node->bytes);
            return true;
        }
    }
}

static bool walk_list(key_node *node, key_cursor *cursor)
{
    key_node *child = &node->children[0];
    if (node->layout == OCI_LAYOUT_FIXED_LIST) {
        for (int32_t i = 0; i < node->field->list_size; i++) {
            if (!walk_inside(child, cursor)) {
                return false;
            }
        }
        return true;
    }
    while (cursor->at < cursor->end && (*cursor->at ^ cursor->flip) != OCI_KEY_LIST_END) {
        if (!walk_inside(child, cursor)) {
            return false;
        }
    }
    store_offset(node, child->rows);
    return cursor->at++ < cursor->end;
}

/* A value that is not null, behind its first byte. */
static bool walk_value(key_node *node, key_cursor *cursor)
{
    bool is_good = true;
    if (node->width >= 0 && cursor->end - cursor->at < node->width) {
        return false;
    }
    switch (node->layout) {
    case OCI_LAYOUT_BITS:
        if (node->values != NULL && (*cursor->at ^ cursor->flip) != 0) {
            oci_bit_set(node->values, node->rows);
        }
        break;
    case OCI_LAYOUT_FIXED:
        if (node->values != NULL) {
            decode_fixed(node->field, cursor->at, cursor->flip,
                         node->values + node->rows * node->field->byte_width);
        }
        break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_OFFSETS64: is_good = walk_string(node, cursor); break;
    case OCI_LAYOUT_STRUCT:
        for (int32_t i = 0; i < node->field->n_children && is_good; i++) {
            is_good = walk_inside(&node->children[i], cursor);
        }
        break;
    case OCI_LAYOUT_LIST32:
    case OCI_LAYOUT_LIST64:
    case OCI_LAYOUT_FIXED_LIST: is_good = walk_list(node, cursor); break;
    default: return false; /* NULL, which has no values, and what has no keys */
    }
    cursor->at += node->width > 0 ? node->width : 0;
    node->rows += is_good;
    return is_good;
}

static bool walk_null(key_node *node, key_cursor *cursor)
{
    int64_t width = node->width > 0 ? node->width : 0;
    if (cursor->end - cursor->at < width) {
        return false;
    }
    cursor->at += width;
    put_null(node);
    return true;
}

static bool walk_inside(key_node *node, key_cursor *cursor)
{
    if (cursor->at >= cursor->end) {
        return false;
    }
    uint8_t first = *cursor->at++ ^ cursor->flip;
    return first == OCI_KEY_VALID         ? walk_value(node, cursor)
           : first == OCI_KEY_NULL_INSIDE ? walk_null(node, cursor)
                                          : false;
}

/* All keys of one row. The first byte of a key is never inverted. */
static bool walk_row(key_node *nodes, const oci_sort_key *keys, int32_t n_keys, oci_key_ref ref)
{
    key_cursor cursor = {.at = ref.bytes, .end = ref.bytes + ref.size};
    for (int32_t k = 0; k < n_keys; k++) {
        if (cursor.at >= cursor.end) {
            return false;
        }
        uint8_t first = *cursor.at++;
        uint8_t null_byte = keys[k].nulls_first ? OCI_KEY_NULLS_FIRST : OCI_KEY_NULLS_LAST;
        cursor.flip = keys[k].descending ? 0xFF : 0;
        bool is_good = first == OCI_KEY_VALID ? walk_value(&nodes[k], &cursor)
                       : first == null_byte   ? walk_null(&nodes[k], &cursor)
                                              : false;
        if (!is_good) {
            return false;
        }
    }
    return cursor.at == cursor.end;
}

static oc_status walk_all(key_node *nodes, const oci_sort_key *keys, int32_t n_keys,
                          const oci_key_ref *refs, int64_t n, oc_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        if (!walk_row(nodes, keys, n_keys, refs[i])) {
            OC_FAIL(err, OC_EDATA,
                    "could not decode keys: number %" PRId64 " is no key of these columns", i);
        }
    }
    return OC_OK;
}

/* ---- keys of one width ----------------------------------------------------------------------- */

/* Bytes of every key when all columns have a fixed width, else 0. */
static int64_t stride_of(const key_node *nodes, int32_t n_keys)
{
    int64_t stride = 0;
    for (int32_t k = 0; k < n_keys; k++) {
        if (nodes[k].layout != OCI_LAYOUT_FIXED && nodes[k].layout != OCI_LAYOUT_BITS) {
            return 0;
        }
        stride += 1 + nodes[k].width;
    }
    return stride;
}

/* Column by column: the value of a column lies at the same place of every key. */
static bool fill_column(key_node *node, const oci_sort_key *key, const oci_key_ref *refs, int64_t n,
                        int64_t offset)
{
    uint8_t null_byte = key->nulls_first ? OCI_KEY_NULLS_FIRST : OCI_KEY_NULLS_LAST;
    uint8_t flip = key->descending ? 0xFF : 0;
    for (int64_t i = 0; i < n; i++) {
        key_cursor cursor = {refs[i].bytes + offset + 1, refs[i].bytes + refs[i].size, flip};
        uint8_t first = cursor.at[-1];
        if (first == OCI_KEY_VALID) {
            (void)walk_value(node, &cursor);
        } else if (first == null_byte) {
            put_null(node);
        } else {
            return false;
        }
    }
    return true;
}

/* Without success the columns are empty again. */
static bool fill_columns(key_node *nodes, const oci_sort_key *keys, int32_t n_keys,
                         const oci_key_ref *refs, int64_t n)
{
    int64_t offset = 0;
    bool is_good = true;
    for (int32_t k = 0; k < n_keys && is_good; k++) {
        is_good = fill_column(&nodes[k], &keys[k], refs, n, offset);
        offset += 1 + nodes[k].width;
    }
    for (int32_t k = 0; k < n_keys && !is_good; k++) {
        nodes[k].rows = nodes[k].nulls = 0;
    }
    return is_good;
}

/* Takes the place of counting. */
static bool all_have_size(const oci_key_ref *refs, int64_t n, int64_t size)
{
    for (int64_t i = 0; i < n; i++) {
        if (refs[i].size != size) {
            return false;
        }
    }
    return true;
}

/* ---- buffers --------------------------------------------------------------------------------- */

static oc_status check_offsets(const key_node *node, int64_t end, oc_error *err)
{
    if (end > INT32_MAX) {
        OC_FAIL(
            err, OC_EINVAL,
            "could not decode keys: the values of column \"%s\" pass the 2 GiB that 32-bit offsets "
            "can tell; use fewer rows at a time or a large type",
            node->field->name);
    }
    return OC_OK;
}

/* Bytes of the strings, or rows of the lists, of a column. */
static int64_t held_by(const key_node *node)
{
    return node->children != NULL ? node->children[0].rows : node->bytes;
}

/* Sizes of the buffers of a column and those below, each padded to 8 bytes. */
static oc_status size_node(key_node *node, int64_t *total, oc_error *err)
{
    int64_t rows = node->rows;
    node->sizes[0] = node->layout == OCI_LAYOUT_NULL ? 0 : (rows + 7) / 8;
    switch (node->layout) {
    case OCI_LAYOUT_BITS: node->sizes[1] = (rows + 7) / 8; break;
    case OCI_LAYOUT_FIXED: node->sizes[1] = rows * node->field->byte_width; break;
    case OCI_LAYOUT_OFFSETS32:
    case OCI_LAYOUT_LIST32:
        OC_TRY(check_offsets(node, held_by(node), err));
        node->sizes[1] = (rows + 1) * 4;
        break;
    case OCI_LAYOUT_OFFSETS64:
    case OCI_LAYOUT_LIST64: node->sizes[1] = (rows + 1) * 8; break;
    default: break;
    }
    node->sizes[2] = node->bytes;
    for (int i = 0; i < 3; i++) {
        *total += oci_round_up(node->sizes[i], 8);
    }
    for (int32_t i = 0; i < node->field->n_children; i++) {
        OC_TRY(size_node(&node->children[i], total, err));
    }
    return OC_OK;
}

static uint8_t *next_buffer(uint8_t **at, int64_t size)
{
    uint8_t *buffer = *at;
    *at += oci_round_up(size, 8);
    return size == 0 ? NULL : buffer;
}

static void place_node(key_node *node, uint8_t **at)
{
    node->validity = next_buffer(at, node->sizes[0]);
    node->values = next_buffer(at, node->sizes[1]);
    node->data = next_buffer(at, node->sizes[2]);
    if (node->validity != NULL) {
        memset(node->validity, 0xFF, (size_t)node->sizes[0]);
    }
    if (node->values != NULL) {
        /* Bits start out clear; and the first offset is 0. */
        memset(node->values, 0,
               (size_t)(node->layout == OCI_LAYOUT_BITS ? node->sizes[1]
                                                        : oci_min64(node->sizes[1], 8)));
    }
    node->rows_max = node->rows;
    node->rows = node->bytes = node->nulls = 0;
    for (int32_t i = 0; i < node->field->n_children; i++) {
        place_node(&node->children[i], at);
    }
}

static int64_t count_columns(const key_node *node)
{
    int64_t n = 1;
    for (int32_t i = 0; i < node->field->n_children; i++) {
        n += count_columns(&node->children[i]);
    }
    return n;
}

/* Children come from `spare`, a block behind the columns. */
static void make_column(const key_node *node, oci_column *out, oci_column **spare)
{
    static const uint8_t nothing[8];
    *out = (oci_column){
        .field = node->field,
        .length = node->rows_max,
        .null_count = node->nulls,
        .validity = node->nulls > 0 ? node->validity : NULL,
        .values = node->values != NULL ? node->values : nothing,
        .bytes = node->data != NULL ? node->data : nothing,
    };
    if (node->layout == OCI_LAYOUT_NULL) {
        out->values = NULL;
    }
    if (node->field->n_children > 0) {
        oci_column *children = *spare;
        *spare += node->field->n_children;
        for (int32_t i = 0; i < node->field->n_children; i++) {
            make_column(&node->children[i], &children[i], spare);
        }
        out->children = children;
    }
}

static oc_status adopt(oci_schema *decoded, const key_node *nodes, int64_t n, oci_mem *mem,
                       void *slab, int64_t slab_bytes, oci_batch **out, oc_error *err)
{
    int64_t nested = 0;
    for (int32_t i = 0; i < decoded->n_fields; i++) {
        nested += count_columns(&nodes[i]) - 1;
    }
    oci_column *columns = calloc((size_t)decoded->n_fields + 1, sizeof *columns);
    oci_column *extra = nested == 0 ? NULL : calloc((size_t)nested, sizeof *extra);
    if (columns == NULL || (nested > 0 && extra == NULL)) {
        free(columns);
        free(extra);
        oci_mem_free(mem, slab, slab_bytes);
        OC_FAIL(err, OC_ENOMEM, "could not decode keys: out of memory");
    }
    oci_column *spare = extra;
    for (int32_t i = 0; i < decoded->n_fields; i++) {
        make_column(&nodes[i], &columns[i], &spare);
    }
    return oci_batch_adopt(decoded, n, columns, mem, slab, slab_bytes, extra,
                           nested * (int64_t)sizeof *extra, out, err);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static oc_status measure(const oci_schema *decoded, key_node *nodes, const oci_sort_key *keys,
                         const oci_key_ref *refs, int64_t n, int64_t *bytes, oc_error *err)
{
    int64_t stride = stride_of(nodes, decoded->n_fields);
    if (stride > 0 && all_have_size(refs, n, stride)) {
        for (int32_t i = 0; i < decoded->n_fields; i++) {
            nodes[i].rows = n;
        }
    } else {
        OC_TRY(walk_all(nodes, keys, decoded->n_fields, refs, n, err));
    }
    *bytes = 0;
    for (int32_t i = 0; i < decoded->n_fields; i++) {
        OC_TRY(size_node(&nodes[i], bytes, err));
    }
    *bytes = oci_max64(*bytes, 8);
    return OC_OK;
}

oc_status oci_row_keys_decode_bytes(const oci_schema *decoded, const oci_sort_key *keys,
                                    const oci_key_ref *refs, int64_t n, int64_t *bytes,
                                    oc_error *err)
{
    key_node *nodes;
    OC_TRY(make_nodes(decoded, &nodes, err));
    oc_status status = measure(decoded, nodes, keys, refs, n, bytes, err);
    free_nodes(nodes, decoded->n_fields);
    return status;
}

static oc_status decode(oci_schema *decoded, key_node *nodes, const oci_sort_key *keys,
                        const oci_key_ref *refs, int64_t n, oci_mem *mem, oci_reservation *from,
                        oci_batch **out, oc_error *err)
{
    int64_t bytes;
    void *slab;
    OC_TRY(measure(decoded, nodes, keys, refs, n, &bytes, err));
    if (from != NULL) {
        OC_TRY(oci_mem_alloc_reserved(from, bytes, &slab, err));
        mem = from->mem;
    } else {
        OC_TRY(oci_mem_alloc(mem, bytes, &slab, err));
    }
    uint8_t *at = slab;
    for (int32_t i = 0; i < decoded->n_fields; i++) {
        place_node(&nodes[i], &at);
    }
    /* What is of one width was not looked at yet; where a key of it is bad the walk says which. */
    bool is_done = stride_of(nodes, decoded->n_fields) > 0 &&
                   fill_columns(nodes, keys, decoded->n_fields, refs, n);
    oc_status status = is_done ? OC_OK : walk_all(nodes, keys, decoded->n_fields, refs, n, err);
    if (status != OC_OK) {
        oci_mem_free(mem, slab, bytes);
        return status;
    }
    return adopt(decoded, nodes, n, mem, slab, bytes, out, err);
}

oc_status oci_row_keys_decode(oci_schema *decoded, const oci_sort_key *keys,
                              const oci_key_ref *refs, int64_t n, oci_mem *mem,
                              oci_reservation *from, oci_batch **out, oc_error *err)
{
    key_node *nodes;
    OC_TRY(make_nodes(decoded, &nodes, err));
    oc_status status = decode(decoded, nodes, keys, refs, n, mem, from, out, err);
    free_nodes(nodes, decoded->n_fields);
    return status;
}
