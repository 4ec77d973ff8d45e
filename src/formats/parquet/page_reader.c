/* See page_reader.h. */
#include "formats/parquet/page_reader.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/bits.h"

/* First read of a header: more than most have. */
#define HEADER_BYTES 256
/* Decoders may look at so many bytes behind a page. */
#define SPARE_BYTES 64

/* ---- making ---------------------------------------------------------------------------------- */

static oc_status codec_of(oci_parquet_codec parquet, const char *column, oci_codec_id *out,
                          oc_error *err)
{
    switch (parquet) {
    case OCI_PARQUET_UNCOMPRESSED: *out = OCI_CODEC_NONE; return OC_OK;
    case OCI_PARQUET_SNAPPY: *out = OCI_CODEC_SNAPPY; return OC_OK;
    case OCI_PARQUET_GZIP: *out = OCI_CODEC_GZIP; return OC_OK;
    case OCI_PARQUET_BROTLI: *out = OCI_CODEC_BROTLI; return OC_OK;
    case OCI_PARQUET_LZ4_HADOOP: *out = OCI_CODEC_LZ4_HADOOP; return OC_OK;
    case OCI_PARQUET_ZSTD: *out = OCI_CODEC_ZSTD; return OC_OK;
    case OCI_PARQUET_LZ4_RAW: *out = OCI_CODEC_LZ4_RAW; return OC_OK;
    default: break;
    }
    OC_FAIL(err, OC_EUNSUPPORTED, "column \"%s\": the codec %s is not supported", column,
            oci_parquet_codec_name(parquet));
}

oc_status oci_parquet_page_reader_init(oci_parquet_page_reader *r, oci_file *file,
                                       const oci_parquet_column_chunk *chunk, const char *column,
                                       int64_t window_wish, oci_mem *mem, oc_error *err)
{
    *r = (oci_parquet_page_reader){.file = file,
                                   .column = column,
                                   .mem = mem,
                                   .codec_id = OCI_PARQUET_UNCOMPRESSED,
                                   .window_wish = window_wish};
    return oci_parquet_page_reader_restart(r, chunk, err);
}

oc_status oci_parquet_page_reader_restart(oci_parquet_page_reader *r,
                                          const oci_parquet_column_chunk *chunk, oc_error *err)
{
    oci_codec_id id;
    OC_TRY(codec_of(chunk->codec, r->column, &id, err));
    if (chunk->codec != r->codec_id) {
        oci_codec_destroy(r->codec);
        r->codec = NULL;
        r->codec_id = chunk->codec;
    }
    r->codec_kind = id;
    if (r->codec == NULL && id != OCI_CODEC_NONE) {
        OC_TRY(oci_codec_create(id, 0, &r->codec, err));
        oci_codec_charge(r->codec, r->mem);
    }
    r->at = chunk->offset;
    r->end = chunk->offset + chunk->compressed_bytes;
    r->has_page = false;
    return OC_OK;
}

void oci_parquet_page_reader_deinit(oci_parquet_page_reader *r)
{
    oci_codec_destroy(r->codec);
    oci_mem_free(r->mem, r->window, r->window_room);
    oci_mem_free(r->mem, r->page, r->page_room);
    *r = (oci_parquet_page_reader){.file = NULL};
}

void oci_parquet_page_reader_place(const oci_parquet_page_reader *r, oc_error *err)
{
    char text[sizeof err->message];
    if (err == NULL || strstr(err->message, "column \"") != NULL) {
        return;
    }
    snprintf(text, sizeof text, "%s: column \"%s\", page at byte %" PRId64 ": %.600s",
             r->file->name, r->column, r->at, err->message);
    memcpy(err->message, text, sizeof err->message);
}

static oc_status damaged(const oci_parquet_page_reader *r, const char *what, oc_error *err)
{
    OC_SET(err, OC_EDATA, "%s", what);
    oci_parquet_page_reader_place(r, err);
    return OC_EDATA;
}

/* ---- window ---------------------------------------------------------------------------------- */

static oc_status grow_window(oci_parquet_page_reader *r, int64_t room, oc_error *err)
{
    void *block;
    if (room <= r->window_room) {
        return OC_OK;
    }
    int64_t held = oci_max64(0, r->window_end - oci_max64(r->at, r->window_start));
    OC_TRY(oci_mem_alloc(r->mem, room, &block, err));
    if (held > 0) {
        memcpy(block, r->window + (r->window_end - held - r->window_start), (size_t)held);
    }
    oci_mem_free(r->mem, r->window, r->window_room);
    r->window = block;
    r->window_room = room;
    r->window_start = r->window_end - held;
    return OC_OK;
}

/* Has bytes [at, at + size) of the file in the window; what lies before them is dropped. */
static oc_status fill_window(oci_parquet_page_reader *r, int64_t size, oc_error *err)
{
    if (r->at < r->window_start || r->at > r->window_end) {
        r->window_start = r->window_end = r->at;
    }
    if (r->at + size <= r->window_end) {
        return OC_OK;
    }
    int64_t wanted = oci_max64(size, oci_min64(r->window_wish, r->end - r->at));
    OC_TRY(grow_window(r, wanted + SPARE_BYTES, err));
    int64_t held = r->window_end - r->at;
    if (held > 0 && r->at > r->window_start) {
        memmove(r->window, r->window + (r->at - r->window_start), (size_t)held);
    }
    r->window_start = r->at;
    OC_TRY(oci_pread_exact(r->file, r->window + held, wanted - held, r->window_end, err));
    r->window_end += wanted - held;
    /* What comes next is fetched while this is decoded. */
    oci_will_read(r->file, r->window_end, oci_min64(r->window_wish, r->end - r->window_end));
    if (r->bytes_read != NULL) {
        atomic_fetch_add(r->bytes_read, wanted - held);
    }
    return OC_OK;
}

/* ---- pages ----------------------------------------------------------------------------------- */

oc_status oci_parquet_page_reader_next(oci_parquet_page_reader *r, bool *found, oc_error *err)
{
    *found = false;
    if (r->has_page) {
        r->at += r->header.compressed_bytes;
        r->has_page = false;
    }
    if (r->at == r->end) {
        return OC_OK;
    }
    int64_t used = 0;
    int64_t size = HEADER_BYTES;
    while (used == 0) {
        size = oci_min64(size, r->end - r->at);
        OC_TRY(fill_window(r, size, err));
        const uint8_t *bytes = r->window + (r->at - r->window_start);
        /* What the window has behind it is given too: a header that is cut is parsed again. */
        int64_t there = oci_min64(r->window_end, r->end) - r->at;
        oc_status status = oci_parquet_page_header_parse(bytes, there, &r->header, &used, err);
        if (status == OC_EDATA) {
            oci_parquet_page_reader_place(r, err);
        }
        OC_TRY(status);
        if (used == 0 && (there == r->end - r->at || there >= OCI_PARQUET_PAGE_HEADER_BYTES_MAX)) {
            return damaged(r, "a page header does not end in the column chunk", err);
        }
        size = 4 * there;
    }
    r->at += used;
    if (r->header.compressed_bytes > r->end - r->at) {
        return damaged(r, "a page goes on behind its column chunk", err);
    }
    r->has_page = *found = true;
    return OC_OK;
}

static oc_status check_crc(const oci_parquet_page_reader *r, const uint8_t *bytes, oc_error *err)
{
    if (!r->header.has_crc) {
        return OC_OK;
    }
    uLong crc = crc32(0, bytes, (uInt)r->header.compressed_bytes);
    return (uint32_t)crc == r->header.crc
               ? OC_OK
               : damaged(r, "the checksum of a page does not fit its bytes", err);
}

/* Levels of V2 pages lie in front as they are. */
static int64_t plain_prefix(const oci_parquet_page_header *header)
{
    return header->type == OCI_PARQUET_DATA_PAGE_V2
               ? (int64_t)header->definition_bytes + header->repetition_bytes
               : 0;
}

static oc_status unpack(oci_parquet_page_reader *r, const uint8_t *bytes, oc_error *err)
{
    int64_t prefix = plain_prefix(&r->header);
    int64_t packed = r->header.compressed_bytes - prefix;
    int64_t size = r->header.uncompressed_bytes - prefix;
    if (packed < 0 || size < 0) {
        return damaged(r, "a page is shorter than its levels", err);
    }
    if (packed > 0 && size > oci_codec_content_max(r->codec_kind, bytes + prefix, packed)) {
        return damaged(r, "a page says to be larger than its bytes can hold", err);
    }
    int64_t room = r->header.uncompressed_bytes + SPARE_BYTES;
    if (room > r->page_room) {
        void *block;
        oci_mem_free(r->mem, r->page, r->page_room);
        r->page = NULL;
        r->page_room = 0;
        OC_TRY(oci_mem_alloc(r->mem, room, &block, err));
        r->page = block;
        r->page_room = room;
    }
    memcpy(r->page, bytes, (size_t)prefix);
    if (packed == 0 && size == 0) {
        return OC_OK; /* an empty page need not be a frame */
    }
    oc_status status =
        oci_codec_decompress(r->codec, bytes + prefix, packed, r->page + prefix, size, err);
    if (status == OC_EDATA) {
        oci_parquet_page_reader_place(r, err);
    }
    return status;
}

oc_status oci_parquet_page_reader_load(oci_parquet_page_reader *r, const uint8_t **data,
                                       int64_t *size, oc_error *err)
{
    OC_TRY(fill_window(r, r->header.compressed_bytes, err));
    const uint8_t *bytes = r->window + (r->at - r->window_start);
    OC_TRY(check_crc(r, bytes, err));
    *size = r->header.uncompressed_bytes;
    if (r->codec == NULL || !r->header.is_compressed) {
        if (r->header.compressed_bytes != r->header.uncompressed_bytes) {
            return damaged(r, "a page that is not compressed has two sizes", err);
        }
        *data = bytes;
        return OC_OK;
    }
    OC_TRY(unpack(r, bytes, err));
    *data = r->page;
    return OC_OK;
}
