/* Page headers, both ways, and the names of the format's enums: see metadata.h. */
#include "formats/parquet/metadata_parse.h"

static const char wrong_encoding[] = "an encoding is unknown";

static oci_parquet_encoding parse_encoding(oci_parquet_parser *p, const oci_thrift_field *field)
{
    return (oci_parquet_encoding)oci_parquet_parse_enum(p, field, OCI_PARQUET_ENCODINGS,
                                                        wrong_encoding);
}

static void parse_data_header(oci_parquet_parser *p, oci_parquet_page_header *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->n_values = oci_thrift_int32(&p->thrift, &field); break;
        case 2: out->encoding = parse_encoding(p, &field); break;
        case 3: out->definition_encoding = parse_encoding(p, &field); break;
        case 4: out->repetition_encoding = parse_encoding(p, &field); break;
        case 5:
            if (oci_thrift_struct(&p->thrift, &field)) {
                oci_parquet_parse_statistics(p, &out->statistics);
            }
            break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

static void parse_dictionary_header(oci_parquet_parser *p, oci_parquet_page_header *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->n_values = oci_thrift_int32(&p->thrift, &field); break;
        case 2: out->encoding = parse_encoding(p, &field); break;
        case 3: out->is_sorted = oci_thrift_bool(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

static void parse_data_header_v2(oci_parquet_parser *p, oci_parquet_page_header *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->n_values = oci_thrift_int32(&p->thrift, &field); break;
        case 2: out->n_nulls = oci_thrift_int32(&p->thrift, &field); break;
        case 3: out->n_rows = oci_thrift_int32(&p->thrift, &field); break;
        case 4: out->encoding = parse_encoding(p, &field); break;
        case 5: out->definition_bytes = oci_thrift_int32(&p->thrift, &field); break;
        case 6: out->repetition_bytes = oci_thrift_int32(&p->thrift, &field); break;
        case 7: out->is_compressed = oci_thrift_bool(&p->thrift, &field); break;
        case 8:
            if (oci_thrift_struct(&p->thrift, &field)) {
                oci_parquet_parse_statistics(p, &out->statistics);
            }
            break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

/* `type` says which of the structs belongs to it: field 5 to 8 for types 0 to 3. */
static void check_header(oci_parquet_parser *p, const oci_parquet_page_header *header, int seen)
{
    bool is_known = header->type <= OCI_PARQUET_DATA_PAGE_V2;
    if (header->uncompressed_bytes < 0 || header->compressed_bytes < 0 || header->n_values < 0 ||
        header->n_nulls < 0 || header->n_rows < 0) {
        oci_thrift_fail(&p->thrift, "a size is negative");
    } else if (is_known && header->type != OCI_PARQUET_INDEX_PAGE &&
               (seen & 1 << (int)header->type) == 0) {
        oci_thrift_fail(&p->thrift, "it lacks the part of its type");
    } else if (header->type == OCI_PARQUET_DATA_PAGE_V2) {
        int64_t levels = (int64_t)header->definition_bytes + header->repetition_bytes;
        if (header->definition_bytes < 0 || header->repetition_bytes < 0 ||
            levels > header->compressed_bytes || levels > header->uncompressed_bytes) {
            oci_thrift_fail(&p->thrift, "its levels are larger than the page");
        } else if (header->n_nulls > header->n_values || header->n_rows > header->n_values) {
            oci_thrift_fail(&p->thrift, "it has more nulls or rows than values");
        }
    }
}

oc_status oci_parquet_page_header_parse(const uint8_t *data, int64_t size,
                                        oci_parquet_page_header *out, int64_t *used, oc_error *err)
{
    oci_parquet_parser p = {.thrift = {.data = data, .size = size}, .err = err};
    oci_thrift_field field = {0};
    int seen = 0;
    int32_t type = -1;
    *out =
        (oci_parquet_page_header){.is_compressed = true, .statistics = oci_parquet_no_statistics()};
    while (oci_thrift_next(&p.thrift, &field)) {
        switch (field.id) {
        case 1: type = oci_thrift_int32(&p.thrift, &field); break;
        case 2: out->uncompressed_bytes = oci_thrift_int32(&p.thrift, &field); break;
        case 3: out->compressed_bytes = oci_thrift_int32(&p.thrift, &field); break;
        case 4:
            out->crc = (uint32_t)oci_thrift_int32(&p.thrift, &field);
            out->has_crc = true;
            break;
        case 5:
        case 7:
        case 8:
            if (oci_thrift_struct(&p.thrift, &field)) {
                seen |= 1 << (field.id - 5);
                if (field.id == 5) {
                    parse_data_header(&p, out);
                } else if (field.id == 7) {
                    parse_dictionary_header(&p, out);
                } else {
                    parse_data_header_v2(&p, out);
                }
            }
            break;
        default: oci_thrift_skip(&p.thrift, &field);
        }
    }
    if (p.thrift.problem == NULL && type < 0) {
        oci_thrift_fail(&p.thrift, "it has no type");
    }
    out->type = (oci_parquet_page_type)type;
    if (p.thrift.problem == NULL) {
        check_header(&p, out, seen);
    }
    *used = p.thrift.problem == NULL ? p.thrift.at : 0;
    if (p.thrift.is_short && size < OCI_PARQUET_PAGE_HEADER_BYTES_MAX) {
        return OC_OK;
    }
    return oci_parquet_parser_finish(&p, "a page header");
}

/* ---- writing --------------------------------------------------------------------------------- */

oc_status oci_parquet_page_header_append(const oci_parquet_page_header *header, oci_text *out,
                                         oc_error *err)
{
    oci_thrift_writer w = {.out = out, .err = err};
    oci_thrift_write_i32(&w, 1, (int32_t)header->type);
    oci_thrift_write_i32(&w, 2, header->uncompressed_bytes);
    oci_thrift_write_i32(&w, 3, header->compressed_bytes);
    if (header->has_crc) {
        oci_thrift_write_i32(&w, 4, (int32_t)header->crc);
    }
    oci_thrift_write_struct(&w, (int16_t)(5 + (int)header->type));
    oci_thrift_write_i32(&w, 1, header->n_values);
    if (header->type == OCI_PARQUET_DATA_PAGE_V2) {
        oci_thrift_write_i32(&w, 2, header->n_nulls);
        oci_thrift_write_i32(&w, 3, header->n_rows);
        oci_thrift_write_i32(&w, 4, (int32_t)header->encoding);
        oci_thrift_write_i32(&w, 5, header->definition_bytes);
        oci_thrift_write_i32(&w, 6, header->repetition_bytes);
        oci_thrift_write_bool(&w, 7, header->is_compressed);
    } else {
        oci_thrift_write_i32(&w, 2, (int32_t)header->encoding);
        if (header->type == OCI_PARQUET_DATA_PAGE) {
            oci_thrift_write_i32(&w, 3, (int32_t)header->definition_encoding);
            oci_thrift_write_i32(&w, 4, (int32_t)header->repetition_encoding);
        }
    }
    oci_thrift_write_end(&w);
    oci_thrift_write_end(&w);
    return w.status;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *name_of(const char *const *names, int n, int i)
{
    return i >= 0 && i < n && names[i] != NULL ? names[i] : "unknown";
}

const char *oci_parquet_type_name(oci_parquet_type type)
{
    static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    return name_of(names, OCI_PARQUET_TYPES, (int)type);
}

const char *oci_parquet_encoding_name(oci_parquet_encoding encoding)
{
    static const char *const names[] = {"PLAIN",
                                        NULL,
                                        "PLAIN_DICTIONARY",
                                        "RLE",
                                        "BIT_PACKED",
                                        "DELTA_BINARY_PACKED",
                                        "DELTA_LENGTH_BYTE_ARRAY",
                                        "DELTA_BYTE_ARRAY",
                                        "RLE_DICTIONARY",
                                        "BYTE_STREAM_SPLIT"};
    return name_of(names, OCI_PARQUET_ENCODINGS, (int)encoding);
}

const char *oci_parquet_codec_name(oci_parquet_codec codec)
{
    static const char *const names[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO",
                                        "BROTLI",       "LZ4",    "ZSTD", "LZ4_RAW"};
    return name_of(names, OCI_PARQUET_CODECS, (int)codec);
}
