/* From Thrift to the structs of metadata.h. Only the encoding is checked here, and numbers that are names;
 * what sizes and offsets have to do with each other and the file is metadata_check.c's. */
#include "formats/parquet/metadata_parse.h"

#include <string.h>

const char oci_parquet_encrypted[] = "a column is encrypted, which is not supported";
const char oci_parquet_other_file[] = "a column lies in another file, which is not supported";

void oci_parquet_parse_list(oci_parquet_parser *p, const oci_thrift_field *field,
                            oci_thrift_type type, int64_t size, int32_t *n, void **out)
{
    *n = (int32_t)oci_thrift_list(&p->thrift, field, type);
    *out = NULL;
    if (*n > 0 && p->status == OC_OK) {
        p->status = oci_parquet_arena_alloc(p->arena, *n, size, out, p->err);
    }
    if (p->status != OC_OK) {
        oci_thrift_fail(&p->thrift, "out of memory");
        *n = 0;
    }
}

oci_parquet_bytes oci_parquet_parse_bytes(oci_parquet_parser *p, const oci_thrift_field *field)
{
    oci_parquet_bytes bytes;
    bytes.data = oci_thrift_bytes(&p->thrift, field, &bytes.size);
    return bytes;
}

int32_t oci_parquet_parse_enum(oci_parquet_parser *p, const oci_thrift_field *field, int32_t n,
                               const char *problem)
{
    int32_t value = oci_thrift_int32(&p->thrift, field);
    if (value < 0 || value >= n) {
        oci_thrift_fail(&p->thrift, problem);
        return 0;
    }
    return value;
}

oci_parquet_statistics oci_parquet_no_statistics(void)
{
    return (oci_parquet_statistics){.null_count = -1,
                                    .distinct_count = -1,
                                    .nan_count = -1,
                                    .is_min_exact = -1,
                                    .is_max_exact = -1};
}

void oci_parquet_parse_statistics(oci_parquet_parser *p, oci_parquet_statistics *out)
{
    oci_thrift_field field = {0};
    *out = oci_parquet_no_statistics();
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->max_deprecated = oci_parquet_parse_bytes(p, &field); break;
        case 2: out->min_deprecated = oci_parquet_parse_bytes(p, &field); break;
        case 3: out->null_count = oci_thrift_int(&p->thrift, &field); break;
        case 4: out->distinct_count = oci_thrift_int(&p->thrift, &field); break;
        case 5: out->max = oci_parquet_parse_bytes(p, &field); break;
        case 6: out->min = oci_parquet_parse_bytes(p, &field); break;
        case 7: out->is_max_exact = oci_thrift_bool(&p->thrift, &field); break;
        case 8: out->is_min_exact = oci_thrift_bool(&p->thrift, &field); break;
        case 9: out->nan_count = oci_thrift_int(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

void oci_parquet_parse_key_values(oci_parquet_parser *p, const oci_thrift_field *list, int32_t *n,
                                  oci_parquet_key_value **out)
{
    void *made;
    oci_parquet_parse_list(p, list, OCI_THRIFT_STRUCT, sizeof **out, n, &made);
    *out = made;
    for (int32_t i = 0; i < *n; i++) {
        oci_thrift_field field = {0};
        while (oci_thrift_next(&p->thrift, &field)) {
            switch (field.id) {
            case 1: (*out)[i].key = oci_parquet_parse_bytes(p, &field); break;
            case 2: (*out)[i].value = oci_parquet_parse_bytes(p, &field); break;
            default: oci_thrift_skip(&p->thrift, &field);
            }
        }
    }
}

/* ---- schema ---------------------------------------------------------------------------------- */

/* The union TimeUnit. */
static void parse_unit(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        if (field.id >= 1 && field.id <= 3) {
            out->unit = (int8_t)field.id;
        }
        oci_thrift_skip(&p->thrift, &field);
    }
}

static void parse_decimal(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->scale = oci_thrift_int32(&p->thrift, &field); break;
        case 2: out->precision = oci_thrift_int32(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

static void parse_time(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        if (field.id == 1) {
            out->is_utc = oci_thrift_bool(&p->thrift, &field);
        } else if (field.id == 2 && oci_thrift_struct(&p->thrift, &field)) {
            parse_unit(p, out);
        } else {
            oci_thrift_skip(&p->thrift, &field);
        }
    }
}

static void parse_integer(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        if (field.id == 1) {
            int64_t width = oci_thrift_int(&p->thrift, &field);
            out->bit_width = width == 8 || width == 16 || width == 32 || width == 64 ? (int8_t)width
                                                                                     : (int8_t)0;
        } else if (field.id == 2) {
            out->is_signed = oci_thrift_bool(&p->thrift, &field);
        } else {
            oci_thrift_skip(&p->thrift, &field);
        }
    }
}

static void parse_logical(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        bool known = (field.id >= 1 && field.id <= 8) || (field.id >= 10 && field.id <= 18);
        out->logical = known ? (oci_parquet_logical)field.id : OCI_PARQUET_LOGICAL_OTHER;
        if (!oci_thrift_struct(&p->thrift, &field)) {
            return;
        }
        switch (out->logical) {
        case OCI_PARQUET_LOGICAL_DECIMAL: parse_decimal(p, out); break;
        case OCI_PARQUET_LOGICAL_TIME:
        case OCI_PARQUET_LOGICAL_TIMESTAMP: parse_time(p, out); break;
        case OCI_PARQUET_LOGICAL_INTEGER: parse_integer(p, out); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

void oci_parquet_parse_element(oci_parquet_parser *p, oci_parquet_element *out)
{
    oci_thrift_field field = {0};
    int32_t scale = 0; /* beside the converted type */
    int32_t precision = 0;
    *out =
        (oci_parquet_element){.type = OCI_PARQUET_GROUP, .converted = OCI_PARQUET_CONVERTED_NONE};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1:
            out->type = (oci_parquet_type)oci_parquet_parse_enum(p, &field, OCI_PARQUET_TYPES,
                                                                 "a physical type is unknown");
            break;
        case 2: out->type_length = oci_thrift_int32(&p->thrift, &field); break;
        case 3:
            out->repetition = (oci_parquet_repetition)oci_parquet_parse_enum(
                p, &field, 3, "a repetition type is unknown");
            break;
        case 4: out->name = oci_parquet_parse_bytes(p, &field); break;
        case 5: out->n_children = oci_thrift_int32(&p->thrift, &field); break;
        case 6: {
            int32_t converted = oci_thrift_int32(&p->thrift, &field);
            out->converted = converted >= 0 && converted <= OCI_PARQUET_CONVERTED_INTERVAL
                                 ? (oci_parquet_converted)converted
                                 : OCI_PARQUET_CONVERTED_NONE;
            break;
        }
        case 7: scale = oci_thrift_int32(&p->thrift, &field); break;
        case 8: precision = oci_thrift_int32(&p->thrift, &field); break;
        case 9:
            out->field_id = oci_thrift_int32(&p->thrift, &field);
            out->has_field_id = true;
            break;
        case 10:
            if (oci_thrift_struct(&p->thrift, &field)) {
                parse_logical(p, out);
            }
            break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
    if (out->logical != OCI_PARQUET_LOGICAL_DECIMAL) {
        out->scale = scale;
        out->precision = precision;
    }
}

/* ---- row groups ------------------------------------------------------------------------------ */

static void parse_encodings(oci_parquet_parser *p, const oci_thrift_field *list, uint32_t *out)
{
    int64_t n = oci_thrift_list(&p->thrift, list, OCI_THRIFT_I32);
    for (int64_t i = 0; i < n && p->thrift.problem == NULL; i++) {
        int64_t encoding = oci_thrift_element_int(&p->thrift);
        *out |= encoding >= 0 && encoding < 32 ? UINT32_C(1) << encoding : 0;
    }
}

/* Pages by encoding: whether data pages are there, and all of them refer to the dictionary. */
static bool parse_is_all_dictionary(oci_parquet_parser *p, const oci_thrift_field *list)
{
    int64_t n = oci_thrift_list(&p->thrift, list, OCI_THRIFT_STRUCT);
    bool any = false;
    bool all = true;
    for (int64_t i = 0; i < n && p->thrift.problem == NULL; i++) {
        oci_thrift_field field = {0};
        int64_t values[4] = {0}; /* -, type of page, encoding, count */
        while (oci_thrift_next(&p->thrift, &field)) {
            if (field.id >= 1 && field.id <= 3) {
                values[field.id] = oci_thrift_int(&p->thrift, &field);
            } else {
                oci_thrift_skip(&p->thrift, &field);
            }
        }
        if ((values[1] == OCI_PARQUET_DATA_PAGE || values[1] == OCI_PARQUET_DATA_PAGE_V2) &&
            values[3] > 0) {
            any = true;
            all = all && (values[2] == OCI_PARQUET_PLAIN_DICTIONARY ||
                          values[2] == OCI_PARQUET_RLE_DICTIONARY);
        }
    }
    return any && all;
}

/* ColumnMetaData. */
static void parse_column(oci_parquet_parser *p, oci_parquet_column_chunk *out)
{
    oci_thrift_reader *r = &p->thrift;
    oci_thrift_field field = {0};
    oci_parquet_key_value *key_values = NULL;
    while (oci_thrift_next(r, &field)) {
        switch (field.id) {
        case 1:
            out->type = (oci_parquet_type)oci_parquet_parse_enum(p, &field, OCI_PARQUET_TYPES,
                                                                 "a physical type is unknown");
            break;
        case 2: parse_encodings(p, &field, &out->encodings); break;
        case 4:
            out->codec = (oci_parquet_codec)oci_parquet_parse_enum(p, &field, OCI_PARQUET_CODECS,
                                                                   "a codec is unknown");
            break;
        case 5: out->n_values = oci_thrift_int(r, &field); break;
        case 6: out->uncompressed_bytes = oci_thrift_int(r, &field); break;
        case 7: out->compressed_bytes = oci_thrift_int(r, &field); break;
        case 8:
            oci_parquet_parse_key_values(p, &field, &out->n_key_values, &key_values);
            out->key_values = key_values;
            break;
        case 9: out->data_page_offset = oci_thrift_int(r, &field); break;
        case 11: out->dictionary_page_offset = oci_thrift_int(r, &field); break;
        case 12:
            if (oci_thrift_struct(r, &field)) {
                oci_parquet_parse_statistics(p, &out->statistics);
            }
            break;
        case 13: out->is_all_dictionary = parse_is_all_dictionary(p, &field); break;
        case 14: out->bloom_offset = oci_thrift_int(r, &field); break;
        case 15:
            if (field.type ==
                OCI_THRIFT_LIST) { /* Dremio had this number for something of its own */
                oci_thrift_skip(r, &field);
            } else {
                out->bloom_bytes = oci_thrift_int(r, &field);
            }
            break;
        default: oci_thrift_skip(r, &field);
        }
    }
}

static void parse_chunk(oci_parquet_parser *p, oci_parquet_column_chunk *out)
{
    oci_thrift_reader *r = &p->thrift;
    oci_thrift_field field = {0};
    bool has_metadata = false;
    out->type = OCI_PARQUET_GROUP; /* no leaf has it */
    out->statistics = oci_parquet_no_statistics();
    while (oci_thrift_next(r, &field)) {
        switch (field.id) {
        case 1:
            if (oci_parquet_parse_bytes(p, &field).size > 0) {
                oci_thrift_fail(r, oci_parquet_other_file);
            }
            break;
        case 3:
            if (oci_thrift_struct(r, &field)) {
                parse_column(p, out);
                has_metadata = true;
            }
            break;
        case 4: out->offset_index_offset = oci_thrift_int(r, &field); break;
        case 5: out->offset_index_bytes = oci_thrift_int32(r, &field); break;
        case 6: out->column_index_offset = oci_thrift_int(r, &field); break;
        case 7: out->column_index_bytes = oci_thrift_int32(r, &field); break;
        case 8:
        case 9: oci_thrift_fail(r, oci_parquet_encrypted); break;
        default: oci_thrift_skip(r, &field);
        }
    }
    if (!has_metadata) {
        oci_thrift_fail(r, "a column has no metadata");
    }
}

static void parse_sorting(oci_parquet_parser *p, oci_parquet_sorting_column *out)
{
    oci_thrift_field field = {0};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1: out->column = oci_thrift_int32(&p->thrift, &field); break;
        case 2: out->is_descending = oci_thrift_bool(&p->thrift, &field); break;
        case 3: out->nulls_first = oci_thrift_bool(&p->thrift, &field); break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

void oci_parquet_parse_row_group(oci_parquet_parser *p, oci_parquet_row_group *out)
{
    oci_thrift_field field = {0};
    void *made;
    *out = (oci_parquet_row_group){.n_rows = -1};
    while (oci_thrift_next(&p->thrift, &field)) {
        switch (field.id) {
        case 1:
            oci_parquet_parse_list(p, &field, OCI_THRIFT_STRUCT, sizeof *out->columns,
                                   &out->n_columns, &made);
            out->columns = made;
            for (int32_t i = 0; i < out->n_columns; i++) {
                parse_chunk(p, &out->columns[i]);
            }
            break;
        case 2: out->total_bytes = oci_thrift_int(&p->thrift, &field); break;
        case 3: out->n_rows = oci_thrift_int(&p->thrift, &field); break;
        case 4:
            oci_parquet_parse_list(p, &field, OCI_THRIFT_STRUCT, sizeof *out->sorting,
                                   &out->n_sorting, &made);
            out->sorting = made;
            for (int32_t i = 0; i < out->n_sorting; i++) {
                parse_sorting(p, &out->sorting[i]);
            }
            break;
        default: oci_thrift_skip(&p->thrift, &field);
        }
    }
}

oc_status oci_parquet_parser_finish(const oci_parquet_parser *p, const char *what)
{
    const char *problem = p->thrift.problem;
    if (p->status != OC_OK || problem == NULL) {
        return p->status;
    }
    bool unsupported = problem == oci_parquet_encrypted || problem == oci_parquet_other_file;
    OC_FAIL(p->err, unsupported ? OC_EUNSUPPORTED : OC_EDATA,
            "could not read %s: %s, at byte %" PRId64 " of it", what, problem, p->thrift.at);
}
