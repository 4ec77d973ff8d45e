/* From the values of a page to its bytes: encoding, codec, header.
 *
 * The first page of a chunk is encoded and compressed in every way that its type has, and the chunk stays with what
 * took the fewest bytes. PLAIN is the fastest to read, so others have to save a twentieth. Of a dictionary its own
 * bytes count as well: all of them when new values kept coming, an eighth when they came half as often in the second
 * half of the page as in the first, since the pages behind it use them too. */
#include "base/bits.h"
#include "formats/parquet/write_column.h"

enum { SIZE_BYTES = 4, CANDIDATES_MAX = 4, SHARE_SATURATED = 8 };

int64_t oci_parquet_page_weight(const oci_parquet_column_writer *c)
{
    return c->definitions.length + c->repetitions.length + c->values.length + c->lengths.length +
           c->indices.length;
}

static oci_parquet_strings strings_of(const oci_parquet_column_writer *c)
{
    return (oci_parquet_strings){c->values.data, (const int32_t *)(const void *)c->lengths.data,
                                 c->n_values, c->values.length};
}

/* ---- encoding -------------------------------------------------------------------------------- */

static oc_status encode_booleans(const oci_parquet_column_writer *c, oci_parquet_buffer *out,
                                 oc_error *err)
{
    int64_t start = out->length;
    uint8_t size[SIZE_BYTES] = {0};
    OC_TRY(oci_parquet_buffer_append(out, size, sizeof size, err));
    OC_TRY(oci_parquet_encode_levels(c->values.data, c->n_values, 1, out, err));
    oci_store_le32(out->data + start, (uint32_t)(out->length - start - SIZE_BYTES));
    return OC_OK;
}

static oc_status encode_indices(const oci_parquet_column_writer *c, oci_parquet_buffer *out,
                                oc_error *err)
{
    uint8_t width = (uint8_t)oci_parquet_bit_width((uint32_t)oci_max64(0, c->table.n - 1));
    OC_TRY(oci_parquet_buffer_append(out, &width, 1, err));
    return oci_parquet_encode_hybrid((const uint32_t *)(const void *)c->indices.data, c->n_values,
                                     width, out, err);
}

/* The values of the page into an empty buffer. */
static oc_status encode_values(const oci_parquet_column_writer *c, oci_parquet_encoding encoding,
                               oci_parquet_buffer *out, oc_error *err)
{
    oci_parquet_strings strings = strings_of(c);
    out->length = 0;
    if (c->n_values == 0) {
        return OC_OK;
    }
    switch (encoding) {
    case OCI_PARQUET_RLE: return encode_booleans(c, out, err);
    case OCI_PARQUET_RLE_DICTIONARY: return encode_indices(c, out, err);
    case OCI_PARQUET_DELTA_BINARY_PACKED:
        return oci_parquet_encode_delta(c->values.data, c->n_values, c->width, out, err);
    case OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY:
        return oci_parquet_encode_delta_lengths(&strings, out, err);
    case OCI_PARQUET_DELTA_BYTE_ARRAY: return oci_parquet_encode_front(&strings, out, err);
    case OCI_PARQUET_BYTE_STREAM_SPLIT:
        return oci_parquet_encode_split(c->values.data, c->n_values, c->width, out, err);
    default:
        return c->width == 0
                   ? oci_parquet_encode_plain_bytes(&strings, out, err)
                   : oci_parquet_buffer_append(out, c->values.data, c->values.length, err);
    }
}

/* Compresses press->encoded into press->packed; *is_packed false: it takes no fewer bytes, or there is no codec. */
static oc_status pack(oci_parquet_press *press, bool *is_packed, oc_error *err)
{
    *is_packed = false;
    if (press->codec == NULL || press->encoded.length == 0) {
        return OC_OK;
    }
    int64_t bound = oci_codec_bound(press->codec_id, press->encoded.length);
    press->packed.length = 0;
    OC_TRY(oci_parquet_buffer_reserve(&press->packed, bound, err));
    OC_TRY(oci_codec_compress(press->codec, press->encoded.data, press->encoded.length,
                              press->packed.data, bound, &press->packed.length, err));
    *is_packed = press->packed.length < press->encoded.length;
    return OC_OK;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* What a type can have besides a dictionary, the first of which is what the others have to beat. BYTE_STREAM_SPLIT of
 * anything but floats came to the format late, and not all readers have it. */
static int list_candidates(const oci_parquet_column_writer *c,
                           oci_parquet_encoding out[CANDIDATES_MAX])
{
    int n = 0;
    if (c->element->type == OCI_PARQUET_BOOLEAN) {
        out[n++] = OCI_PARQUET_RLE;
        return n;
    }
    out[n++] = OCI_PARQUET_PLAIN;
    switch (c->element->type) {
    case OCI_PARQUET_INT32:
    case OCI_PARQUET_INT64: out[n++] = OCI_PARQUET_DELTA_BINARY_PACKED; break;
    case OCI_PARQUET_FLOAT:
    case OCI_PARQUET_DOUBLE: out[n++] = OCI_PARQUET_BYTE_STREAM_SPLIT; break;
    case OCI_PARQUET_BYTE_ARRAY:
        out[n++] = OCI_PARQUET_DELTA_LENGTH_BYTE_ARRAY;
        out[n++] = OCI_PARQUET_DELTA_BYTE_ARRAY;
        break;
    default: break;
    }
    return n;
}

static oc_status measure(const oci_parquet_column_writer *c, oci_parquet_encoding encoding,
                         oci_parquet_press *press, int64_t *bytes, oc_error *err)
{
    bool is_packed;
    OC_TRY(encode_values(c, encoding, &press->encoded, err));
    OC_TRY(pack(press, &is_packed, err));
    *bytes = is_packed ? press->packed.length : press->encoded.length;
    return OC_OK;
}

static oc_status measure_dictionary(const oci_parquet_column_writer *c, oci_parquet_press *press,
                                    int64_t *bytes, oc_error *err)
{
    bool is_packed;
    OC_TRY(measure(c, OCI_PARQUET_RLE_DICTIONARY, press, bytes, err));
    press->encoded.length = 0;
    OC_TRY(oci_parquet_table_encode(&c->table, &press->encoded, err));
    OC_TRY(pack(press, &is_packed, err));
    int64_t own = is_packed ? press->packed.length : press->encoded.length;
    int64_t different_late = c->table.n - c->n_different_early;
    int64_t n_late = c->n_values - c->n_early;
    bool is_saturated = 2 * different_late * c->n_early < c->n_different_early * n_late;
    *bytes += is_saturated ? own / SHARE_SATURATED : own;
    return OC_OK;
}

static oc_status choose(oci_parquet_column_writer *c, oci_parquet_press *press, oc_error *err)
{
    oci_parquet_encoding candidates[CANDIDATES_MAX];
    int n = list_candidates(c, candidates);
    int64_t best = 0;
    int64_t bytes = 0;
    c->encoding = candidates[0];
    for (int i = 0; i < n && (n > 1 || c->has_table); i++) {
        OC_TRY(measure(c, candidates[i], press, &bytes, err));
        if (i == 0 || bytes < best - best / 20) {
            best = bytes;
            c->encoding = candidates[i];
        }
    }
    if (c->has_table) {
        OC_TRY(measure_dictionary(c, press, &bytes, err));
        c->has_table = bytes <= best;
    }
    if (!c->has_table) {
        oci_parquet_table_clear(&c->table);
    }
    c->is_chosen = true;
    return OC_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

/* Levels without sizes in front, as V2 has them. */
static oc_status encode_levels(const oci_parquet_column_writer *c, oci_parquet_press *press,
                               oci_parquet_page_header *header, oc_error *err)
{
    press->levels.length = 0;
    if (c->max_repetition > 0) {
        OC_TRY(oci_parquet_encode_levels(c->repetitions.data, c->n_entries,
                                         oci_parquet_bit_width((uint32_t)c->max_repetition),
                                         &press->levels, err));
    }
    header->repetition_bytes = (int32_t)press->levels.length;
    if (c->max_definition > 0) {
        OC_TRY(oci_parquet_encode_levels(c->definitions.data, c->n_entries,
                                         oci_parquet_bit_width((uint32_t)c->max_definition),
                                         &press->levels, err));
    }
    header->definition_bytes = (int32_t)press->levels.length - header->repetition_bytes;
    return OC_OK;
}

static oc_status add_page(oci_parquet_column_writer *c, oci_parquet_ready_page page, oc_error *err)
{
    const int64_t size = (int64_t)sizeof(oci_parquet_ready_page);
    if (c->n_pages == c->pages_capacity) {
        int64_t capacity = oci_max64(4, 2 * c->pages_capacity);
        void *grown;
        OC_TRY(oci_mem_realloc(c->mem, c->pages, c->pages_capacity * size, capacity * size, &grown,
                               err));
        c->pages = grown;
        c->pages_capacity = capacity;
    }
    OC_TRY(oci_mem_alloc(c->mem, page.bytes, &page.block, err));
    c->pages[c->n_pages++] = page;
    c->ready_bytes += page.bytes;
    return OC_OK;
}

static void find_bounds(const oci_parquet_column_writer *c, oci_parquet_bounds *out)
{
    oci_parquet_strings strings = strings_of(c);
    if (c->width == 0) {
        oci_parquet_bounds_bytes(c->order, &strings, out);
    } else {
        oci_parquet_bounds_fixed(c->order, c->values.data, c->n_values, c->width, out);
    }
}

static void clear_page(oci_parquet_column_writer *c)
{
    oci_parquet_buffer *const buffers[] = {&c->definitions, &c->repetitions, &c->values,
                                           &c->lengths, &c->indices};
    for (size_t i = 0; i < sizeof buffers / sizeof buffers[0]; i++) {
        buffers[i]->length = 0;
    }
    c->n_entries = 0;
    c->n_values = 0;
    c->n_rows = 0;
    c->n_indexed = 0;
    c->indexed_bytes = 0;
}

/* Header, levels, values one behind the other in a block of their own. */
static oc_status assemble(oci_parquet_column_writer *c, oci_parquet_press *press,
                          oci_parquet_page_header *header, bool is_packed, oc_error *err)
{
    const oci_parquet_buffer *body = is_packed ? &press->packed : &press->encoded;
    int64_t plain = press->levels.length + press->encoded.length;
    if (plain > INT32_MAX || press->levels.length + body->length > INT32_MAX) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not write column \"%s\" as Parquet: a row takes a page of more than 2 GiB",
                c->field->name);
    }
    header->uncompressed_bytes = (int32_t)plain;
    header->compressed_bytes = (int32_t)(press->levels.length + body->length);
    header->is_compressed = is_packed;
    oci_text_clear(&press->header);
    OC_TRY(oci_parquet_page_header_append(header, &press->header, err));
    oci_parquet_ready_page page = {
        .bytes = press->header.length + header->compressed_bytes,
        .plain_bytes = press->header.length + plain,
        .n_rows = c->n_rows,
        .n_entries = c->n_entries,
        .n_nulls = c->n_entries - c->n_values,
    };
    find_bounds(c, &page.bounds);
    OC_TRY(add_page(c, page, err));
    uint8_t *to = c->pages[c->n_pages - 1].block;
    memcpy(to, press->header.data, (size_t)press->header.length);
    to += press->header.length;
    if (press->levels.length > 0) {
        memcpy(to, press->levels.data, (size_t)press->levels.length);
        to += press->levels.length;
    }
    if (body->length > 0) {
        memcpy(to, body->data, (size_t)body->length);
    }
    return OC_OK;
}

oc_status oci_parquet_write_page(oci_parquet_column_writer *c, oci_parquet_press *press,
                                 oc_error *err)
{
    if (c->n_entries == 0) {
        return OC_OK;
    }
    if (!c->is_chosen && c->n_values > 0) {
        OC_TRY(choose(c, press, err));
    }
    /* A page of nulls has no values to encode, and may come before anything is chosen. */
    oci_parquet_encoding encoding = c->n_values == 0 ? OCI_PARQUET_PLAIN
                                    : c->has_table   ? OCI_PARQUET_RLE_DICTIONARY
                                                     : c->encoding;
    oci_parquet_page_header header = {
        .type = OCI_PARQUET_DATA_PAGE_V2,
        .n_values = (int32_t)c->n_entries,
        .n_nulls = (int32_t)(c->n_entries - c->n_values),
        .n_rows = (int32_t)c->n_rows,
        .encoding = encoding,
    };
    bool is_packed;
    OC_TRY(encode_levels(c, press, &header, err));
    OC_TRY(encode_values(c, encoding, &press->encoded, err));
    OC_TRY(pack(press, &is_packed, err));
    OC_TRY(assemble(c, press, &header, is_packed, err));
    c->encodings |= 1U << encoding;
    clear_page(c);
    return OC_OK;
}

oc_status oci_parquet_write_dictionary(oci_parquet_column_writer *c, oci_parquet_press *press,
                                       int64_t *plain_bytes, oc_error *err)
{
    bool is_packed;
    press->encoded.length = 0;
    press->other.length = 0;
    OC_TRY(oci_parquet_table_encode(&c->table, &press->encoded, err));
    OC_TRY(pack(press, &is_packed, err));
    /* A dictionary page has no flag that says it is not compressed. */
    const oci_parquet_buffer *body =
        press->codec != NULL && press->encoded.length > 0 ? &press->packed : &press->encoded;
    oci_parquet_page_header header = {
        .type = OCI_PARQUET_DICTIONARY_PAGE,
        .uncompressed_bytes = (int32_t)press->encoded.length,
        .compressed_bytes = (int32_t)body->length,
        .n_values = (int32_t)c->table.n,
        .encoding = OCI_PARQUET_PLAIN,
    };
    oci_text_clear(&press->header);
    OC_TRY(oci_parquet_page_header_append(&header, &press->header, err));
    OC_TRY(oci_parquet_buffer_append(&press->other, press->header.data, press->header.length, err));
    *plain_bytes = press->header.length + press->encoded.length;
    return oci_parquet_buffer_append(&press->other, body->data, body->length, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

void oci_parquet_column_clear(oci_parquet_column_writer *c)
{
    for (int64_t i = 0; i < c->n_pages; i++) {
        oci_mem_free(c->mem, c->pages[i].block, c->pages[i].bytes);
    }
    c->n_pages = 0;
    c->ready_bytes = 0;
    c->encodings = 0;
    c->is_chosen = false;
    c->has_table = c->element->type != OCI_PARQUET_BOOLEAN;
    c->n_early = 0;
    c->n_different_early = 0;
    oci_parquet_table_clear(&c->table);
}

void oci_parquet_column_free(oci_parquet_column_writer *c)
{
    oci_parquet_column_clear(c);
    oci_parquet_table_free(&c->table);
    oci_parquet_buffer_free(&c->definitions);
    oci_parquet_buffer_free(&c->repetitions);
    oci_parquet_buffer_free(&c->values);
    oci_parquet_buffer_free(&c->lengths);
    oci_parquet_buffer_free(&c->indices);
    oci_mem_free(c->mem, c->pages, c->pages_capacity * (int64_t)sizeof(oci_parquet_ready_page));
    c->pages = NULL;
    c->pages_capacity = 0;
}
