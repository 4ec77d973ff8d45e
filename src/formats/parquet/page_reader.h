/* The pages of one column chunk, one after the other.
 *
 *   next_header    finds the header of the next page; what was there before is gone
 *   load           its bytes: CRC checked, unpacked. Without it the page is passed unread
 *
 * Held are a window of the chunk's bytes (as large as was asked for, or as one page with its header) and one page as
 * unpacked; a page that is stored plain is given as it lies in the window. Both charged. Bytes behind a page that is
 * passed are not read when the window ends before them.
 *
 * Checked: pages against the chunk, the unpacked size against what the codec says the bytes can hold, CRC. */
#ifndef OUTCORE_FORMATS_PARQUET_PAGE_READER_H
#define OUTCORE_FORMATS_PARQUET_PAGE_READER_H

#include "codec/codec.h"
#include "formats/parquet/metadata.h"

typedef struct oci_parquet_page_reader {
    oci_parquet_page_header header; /* of the page at hand */
    /* private */
    oci_file *file;
    const char *column; /* path of the leaf, for messages */
    oci_mem *mem;
    oci_parquet_codec codec_id;
    oci_codec_id codec_kind;
    oci_codec *codec;
    int64_t at;          /* in the file: the next page's header; while one is at hand, its bytes */
    int64_t end;         /* of the chunk */
    int64_t window_wish; /* bytes of a read, if pages are not larger */
    uint8_t *window;     /* bytes [window_start, window_end) of the file */
    int64_t window_room;
    int64_t window_start;
    int64_t window_end;
    uint8_t *page; /* as unpacked */
    int64_t page_room;
    _Atomic int64_t *bytes_read; /* progress, or NULL */
    bool has_page;               /* a header was given, and its bytes were not passed */
} oci_parquet_page_reader;

/* Stands in front of the first page of `chunk`. `file` and `column` are borrowed. OC_EUNSUPPORTED: the codec. */
OC_NODISCARD oc_status oci_parquet_page_reader_init(oci_parquet_page_reader *r, oci_file *file,
                                                    const oci_parquet_column_chunk *chunk,
                                                    const char *column, int64_t window_wish,
                                                    oci_mem *mem, oc_error *err);
/* Another chunk of the same column; room and codec are kept where they fit. */
OC_NODISCARD oc_status oci_parquet_page_reader_restart(oci_parquet_page_reader *r,
                                                       const oci_parquet_column_chunk *chunk,
                                                       oc_error *err);
void oci_parquet_page_reader_deinit(oci_parquet_page_reader *r);

/* The next page; *found false: there is none. */
OC_NODISCARD oc_status oci_parquet_page_reader_next(oci_parquet_page_reader *r, bool *found,
                                                    oc_error *err);
/* The bytes of the page at hand: *data[0..*size), size as the header says, levels included; valid until the next
 * call. */
OC_NODISCARD oc_status oci_parquet_page_reader_load(oci_parquet_page_reader *r,
                                                    const uint8_t **data, int64_t *size,
                                                    oc_error *err);
/* Adds column, page and file to the message of an OC_EDATA about the page at hand, unless it names a column. */
void oci_parquet_page_reader_place(const oci_parquet_page_reader *r, oc_error *err);

#endif /* OUTCORE_FORMATS_PARQUET_PAGE_READER_H */
