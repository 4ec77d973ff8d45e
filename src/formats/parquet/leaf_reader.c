/* See leaf_reader.h. */
#include "formats/parquet/leaf_reader.h"

#include <inttypes.h>

#include "base/bits.h"
#include "formats/utf8.h"

oc_status oci_parquet_leaf_reader_blame(const oci_parquet_leaf_reader *r, oc_status status,
                                        oc_error *err)
{
    if (status == OC_EDATA) {
        oci_parquet_page_reader_place(&r->pages, err);
    }
    return status;
}

/* ---- text ------------------------------------------------------------------------------------ */

oc_status oci_parquet_check_text(const oci_parquet_leaf_reader *r, const uint8_t *bytes,
                                 const int32_t *lengths, int64_t n, oc_error *err)
{
    int64_t size = 0;
    bool starts_well = true; /* no value begins inside a character */
    for (int64_t i = 0; i < n; i++) {
        starts_well &= lengths[i] == 0 || (bytes[size] & 0xC0) != 0x80;
        size += lengths[i];
    }
    if (starts_well && oci_utf8_is_valid(bytes, size)) {
        return OC_OK;
    }
    OC_SET(err, OC_EDATA, "a text is not valid UTF-8");
    return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

oc_status oci_parquet_leaf_reader_init(oci_parquet_leaf_reader *r, oci_file *file,
                                       const oci_parquet_leaf *leaf, bool is_text,
                                       int64_t window_wish, _Atomic int64_t *bytes_read,
                                       oci_mem *mem, oc_error *err)
{
    static const oci_parquet_column_chunk none = {.codec = OCI_PARQUET_UNCOMPRESSED};
    *r = (oci_parquet_leaf_reader){.leaf = leaf, .is_text = is_text, .mem = mem};
    OC_TRY(oci_parquet_page_reader_init(&r->pages, file, &none, leaf->path, window_wish, mem, err));
    r->pages.bytes_read = bytes_read;
    return OC_OK;
}

static void drop_dictionary(oci_parquet_leaf_reader *r)
{
    oci_parquet_dictionary_destroy(r->dictionary);
    r->dictionary = NULL;
    r->dictionary_longest = 0;
}

oc_status oci_parquet_leaf_reader_start(oci_parquet_leaf_reader *r,
                                        const oci_parquet_column_chunk *chunk, oc_error *err)
{
    drop_dictionary(r);
    r->page_left = 0;
    r->chunk_left = chunk->n_values;
    return oci_parquet_page_reader_restart(&r->pages, chunk, err);
}

void oci_parquet_leaf_reader_deinit(oci_parquet_leaf_reader *r)
{
    if (r->leaf != NULL) {
        drop_dictionary(r);
        oci_parquet_decoder_deinit(&r->values);
        oci_parquet_page_reader_deinit(&r->pages);
        r->leaf = NULL;
    }
}

int64_t oci_parquet_leaf_reader_bytes(const oci_parquet_leaf_reader *r)
{
    int64_t dictionary = r->dictionary != NULL ? r->dictionary->block_bytes : 0;
    return r->pages.window_room + r->pages.page_room + dictionary;
}

/* ---- pages ----------------------------------------------------------------------------------- */

static oc_status check_dictionary(oci_parquet_leaf_reader *r, oc_error *err)
{
    const oci_parquet_dictionary *d = r->dictionary;
    if (d->offsets == NULL) {
        return OC_OK;
    }
    for (int32_t i = 0; i < d->n; i++) {
        int32_t length = d->offsets[i + 1] - d->offsets[i];
        r->dictionary_longest = oci_max64(r->dictionary_longest, length);
        if (r->is_text) {
            OC_TRY(oci_parquet_check_text(r, d->values + d->offsets[i], &length, 1, err));
        }
    }
    return OC_OK;
}

static oc_status take_dictionary(oci_parquet_leaf_reader *r, oc_error *err)
{
    const oci_parquet_page_header *header = &r->pages.header;
    const uint8_t *data;
    int64_t size;
    if (r->dictionary != NULL) {
        OC_SET(err, OC_EDATA, "a column chunk has two dictionaries");
        return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
    }
    if (header->encoding != OCI_PARQUET_PLAIN && header->encoding != OCI_PARQUET_PLAIN_DICTIONARY) {
        OC_FAIL(err, OC_EUNSUPPORTED, "column \"%s\": a dictionary page of encoding %s",
                r->leaf->path, oci_parquet_encoding_name(header->encoding));
    }
    OC_TRY(oci_parquet_page_reader_load(&r->pages, &data, &size, err));
    const oci_parquet_element *element = r->leaf->element;
    oc_status status = oci_parquet_dictionary_create(element->type, element->type_length, data,
                                                     size, header->n_values, r->mem, &r->dictionary,
                                                     err);
    OC_TRY(oci_parquet_leaf_reader_blame(r, status, err));
    return check_dictionary(r, err);
}

/* Levels and values of the page at hand, a data page. */
static oc_status split_page(oci_parquet_leaf_reader *r, const uint8_t *data, int64_t size,
                            oc_error *err)
{
    const oci_parquet_page_header *header = &r->pages.header;
    const oci_parquet_leaf *leaf = r->leaf;
    int64_t used = 0;
    if (header->type == OCI_PARQUET_DATA_PAGE_V2) {
        OC_TRY(oci_parquet_levels_init_v2(&r->repetition, leaf->max_repetition, data,
                                          header->repetition_bytes, err));
        data += header->repetition_bytes;
        OC_TRY(oci_parquet_levels_init_v2(&r->definition, leaf->max_definition, data,
                                          header->definition_bytes, err));
        data += header->definition_bytes;
        size -= (int64_t)header->repetition_bytes + header->definition_bytes;
    } else {
        OC_TRY(oci_parquet_levels_init_v1(&r->repetition, header->repetition_encoding,
                                          leaf->max_repetition, header->n_values, data, size, &used,
                                          err));
        data += used;
        size -= used;
        OC_TRY(oci_parquet_levels_init_v1(&r->definition, header->definition_encoding,
                                          leaf->max_definition, header->n_values, data, size, &used,
                                          err));
        data += used;
        size -= used;
    }
    r->is_dictionary_page = header->encoding == OCI_PARQUET_RLE_DICTIONARY ||
                            header->encoding == OCI_PARQUET_PLAIN_DICTIONARY;
    return oci_parquet_decoder_init(&r->values, header->encoding, leaf->element->type,
                                    leaf->element->type_length, data, size, r->dictionary, r->mem,
                                    err);
}

static bool is_data(const oci_parquet_page_header *header)
{
    return header->type == OCI_PARQUET_DATA_PAGE || header->type == OCI_PARQUET_DATA_PAGE_V2;
}

/* The next data page that has entries, not loaded; *found false: the chunk ends. */
static oc_status next_data_page(oci_parquet_leaf_reader *r, bool *found, oc_error *err)
{
    for (;;) {
        const oci_parquet_page_header *header = &r->pages.header;
        OC_TRY(oci_parquet_page_reader_next(&r->pages, found, err));
        if (!*found) {
            return OC_OK;
        }
        if (header->type == OCI_PARQUET_DICTIONARY_PAGE) {
            OC_TRY(take_dictionary(r, err));
        } else if (is_data(header) && header->n_values > r->chunk_left) {
            OC_SET(err, OC_EDATA, "pages have more values than their column chunk");
            return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
        } else if (is_data(header) && header->n_values > 0) {
            return OC_OK;
        }
    }
}

static oc_status end_chunk(const oci_parquet_leaf_reader *r, oc_error *err)
{
    if (r->chunk_left == 0) {
        return OC_OK;
    }
    OC_SET(err, OC_EDATA, "a column chunk ends %" PRId64 " values early", r->chunk_left);
    return oci_parquet_leaf_reader_blame(r, OC_EDATA, err);
}

static oc_status load_page(oci_parquet_leaf_reader *r, oc_error *err)
{
    const uint8_t *data;
    int64_t size;
    OC_TRY(oci_parquet_page_reader_load(&r->pages, &data, &size, err));
    oc_status status = split_page(r, data, size, err);
    OC_TRY(oci_parquet_leaf_reader_blame(r, status, err));
    r->page_left = r->pages.header.n_values;
    return OC_OK;
}

oc_status oci_parquet_leaf_reader_fill(oci_parquet_leaf_reader *r, oc_error *err)
{
    bool found = false;
    if (r->page_left > 0) {
        return OC_OK;
    }
    if (r->chunk_left > 0) {
        OC_TRY(next_data_page(r, &found, err));
    }
    return found ? load_page(r, err) : end_chunk(r, err);
}

/* Passes over entries of the page at hand. */
static oc_status skip_in_page(oci_parquet_leaf_reader *r, int64_t n, oc_error *err)
{
    int64_t n_values = n;
    if (r->leaf->max_definition > 0) {
        enum { PART = 512 };
        uint8_t levels[PART];
        n_values = 0;
        for (int64_t at = 0; at < n;) {
            int64_t part = oci_min64(PART, n - at);
            OC_TRY(oci_parquet_levels_read(&r->definition, part, levels, err));
            for (int64_t i = 0; i < part; i++) {
                n_values += levels[i] == r->leaf->max_definition;
            }
            at += part;
        }
    }
    return oci_parquet_decode_skip(&r->values, n_values, err);
}

oc_status oci_parquet_leaf_reader_skip_flat(oci_parquet_leaf_reader *r, int64_t n, oc_error *err)
{
    while (n > 0) {
        if (r->page_left == 0) {
            bool found;
            OC_TRY(next_data_page(r, &found, err));
            if (!found) {
                return end_chunk(r, err);
            }
            if (r->pages.header.n_values <= n) {
                n -= r->pages.header.n_values;
                r->chunk_left -= r->pages.header.n_values;
                continue;
            }
            OC_TRY(load_page(r, err));
        }
        int64_t part = oci_min64(n, r->page_left);
        OC_TRY(oci_parquet_leaf_reader_blame(r, skip_in_page(r, part, err), err));
        oci_parquet_leaf_reader_took(r, part);
        n -= part;
    }
    return OC_OK;
}
