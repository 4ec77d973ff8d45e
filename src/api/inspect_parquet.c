/* oc_inspect() of a Parquet file: what its footer says. Row groups are read one after the other; what is kept of
 * them are sums for each column, charged to the context. Pages are not looked at. */
#include <string.h>

#include "api/inspect_print.h"
#include "base/bits.h"
#include "base/text.h"
#include "formats/format_value.h"
#include "formats/json_value.h"
#include "formats/parquet/prune_bounds.h"

/* Bytes of a text that are shown. */
enum { VALUE_BYTES_SHOWN = 40, METADATA_BYTES_SHOWN = 60 };

/* Of one leaf, over all row groups. */
typedef struct column_sums {
    uint32_t encodings;
    uint32_t codecs;
    int64_t compressed_bytes;
    int64_t uncompressed_bytes;
    int64_t n_values;
    int64_t null_count;        /* -1: some chunk does not say */
    int32_t page_indexes;      /* chunks that have both */
    int32_t bloom_filters;     /* chunks that have one */
    bool has_bounds;           /* all chunks have both */
    oci_parquet_bounds bounds; /* min and max; bytes lie in the footer */
} column_sums;

typedef struct parquet_file {
    const oci_parquet_metadata *metadata;
    const oci_parquet_schema *schema;
    oci_parquet_arena *kept;    /* as long as this */
    oci_parquet_arena *scratch; /* as long as a row group */
    column_sums *columns;
    column_sums all;
    int64_t rows_max;
    int64_t bytes_max;
    const oci_printer *p;
    oc_error *err;
} parquet_file;

/* ---- sums ------------------------------------------------------------------------------------ */

static void merge_bounds(column_sums *sums, const parquet_file *f, int32_t leaf,
                         const oci_parquet_column_chunk *chunk, bool is_first)
{
    oci_parquet_compared compared = oci_parquet_compare_leaf(f->metadata, f->schema, leaf);
    oci_parquet_bounds bounds = oci_parquet_bounds_of_chunk(&compared, chunk);
    if (!bounds.may_be_value || chunk->n_values == 0) {
        return; /* no value, no bounds */
    }
    if (is_first || !sums->has_bounds || !bounds.has_min || !bounds.has_max) {
        sums->has_bounds = is_first && bounds.has_min && bounds.has_max;
        sums->bounds = bounds;
        return;
    }
    if (oci_parquet_compare(compared.of, &bounds.min, &sums->bounds.min) < 0) {
        sums->bounds.min = bounds.min;
    }
    if (oci_parquet_compare(compared.of, &bounds.max, &sums->bounds.max) > 0) {
        sums->bounds.max = bounds.max;
    }
}

static void add_chunk(column_sums *sums, const oci_parquet_column_chunk *chunk)
{
    sums->encodings |= chunk->encodings;
    sums->codecs |= UINT32_C(1) << chunk->codec;
    sums->compressed_bytes += chunk->compressed_bytes;
    /* What the file says of it may be anything. */
    if (!oci_add64(sums->uncompressed_bytes, chunk->uncompressed_bytes,
                   &sums->uncompressed_bytes)) {
        sums->uncompressed_bytes = INT64_MAX;
    }
    sums->n_values = oci_min64(chunk->n_values, INT64_MAX - sums->n_values) + sums->n_values;
    sums->null_count = chunk->statistics.null_count < 0 || sums->null_count < 0
                           ? -1
                           : oci_min64(sums->null_count, INT64_MAX - chunk->n_values) +
                                 chunk->statistics.null_count;
    sums->page_indexes += chunk->offset_index_offset != 0 && chunk->column_index_offset != 0;
    sums->bloom_filters += chunk->bloom_offset != 0;
}

static oc_status add_row_group(parquet_file *f, int32_t i)
{
    oci_parquet_row_group *group;
    OC_TRY(oci_parquet_row_group_read(f->metadata, i, f->scratch, &group, f->err));
    for (int32_t k = 0; k < group->n_columns; k++) {
        column_sums *sums = &f->columns[k];
        merge_bounds(sums, f, k, &group->columns[k], sums->n_values == sums->null_count);
        add_chunk(sums, &group->columns[k]);
        add_chunk(&f->all, &group->columns[k]);
    }
    f->rows_max = oci_max64(f->rows_max, group->n_rows);
    f->bytes_max = oci_max64(f->bytes_max, f->metadata->row_groups[i].bytes);
    oci_parquet_arena_clear(f->scratch);
    return OC_OK;
}

static oc_status add_row_groups(parquet_file *f)
{
    void *made;
    OC_TRY(
        oci_parquet_arena_alloc(f->kept, f->metadata->n_leaves, sizeof *f->columns, &made, f->err));
    f->columns = made;
    for (int32_t i = 0; i < f->metadata->n_row_groups; i++) {
        OC_TRY(add_row_group(f, i));
    }
    return OC_OK;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Up to `most` bytes as JSON would quote them, with "..." for the rest. */
static oc_status print_text(const parquet_file *f, const uint8_t *text, int64_t size, int64_t most)
{
    oci_text quoted = {.mem = f->kept->mem};
    int64_t shown = oci_min64(size, most);
    while (shown < size && shown > 0 && (text[shown] & 0xC0) == 0x80) {
        shown--; /* not in the middle of a character */
    }
    oc_status status = oci_json_append_string(&quoted, text, shown, f->err);
    if (status == OC_OK) {
        oci_print(f->p, "%s%s", oci_text_chars(&quoted), shown < size ? "..." : "");
    }
    oci_text_free(&quoted);
    return status;
}

static void print_hex(const parquet_file *f, const uint8_t *bytes, int64_t size)
{
    char hex[2 * VALUE_BYTES_SHOWN + 1];
    int64_t shown = oci_min64(size, VALUE_BYTES_SHOWN / 2);
    *oci_format_hex(bytes, shown, hex) = '\0';
    oci_print(f->p, "\\x%s%s", hex, shown < size ? "..." : "");
}

/* A bound as Arrow has it: `byte_width` little-endian bytes of a number. */
static void to_arrow(const oci_predicate_value *value, const oci_field *field, uint8_t out[32])
{
    memset(out, 0, 32);
    if (value->type == OCI_PREDICATE_UNSIGNED) {
        oci_store_le64(out, value->unsigned_integer);
    } else if (value->type == OCI_PREDICATE_FLOAT) {
        float narrow = (float)value->number;
        bool is_double = field->type == OCI_TYPE_FLOAT64;
        memcpy(out, is_double ? (const void *)&value->number : &narrow, is_double ? 8 : 4);
    } else {
        for (int i = 0; i < 4; i++) {
            oci_store_le64(out + 8 * i, value->wide[i]);
        }
    }
}

static oc_status print_value(const parquet_file *f, const oci_field *field,
                             const oci_predicate_value *value)
{
    oci_formatter formatter;
    char text[OCI_VALUE_TEXT_MAX];
    uint8_t arrow[32];
    if (value->type == OCI_PREDICATE_BYTES) {
        bool is_binary = field->type == OCI_TYPE_BINARY || field->type == OCI_TYPE_LARGE_BINARY ||
                         field->type == OCI_TYPE_FIXED_BINARY;
        if (!is_binary) {
            return print_text(f, value->bytes.data, value->bytes.size, VALUE_BYTES_SHOWN);
        }
        print_hex(f, value->bytes.data, value->bytes.size);
        return OC_OK;
    }
    if (field->type == OCI_TYPE_BOOL) {
        oci_print(f->p, "%s", value->wide[0] != 0 ? "true" : "false");
        return OC_OK;
    }
    if (field->type == OCI_TYPE_FLOAT16) {
        *oci_format_float32((float)value->number, text) = '\0';
        oci_print(f->p, "%s", text);
        return OC_OK;
    }
    OC_TRY(oci_formatter_init(&formatter, field, f->kept->mem, f->err));
    to_arrow(value, field, arrow);
    *formatter.format(&formatter, arrow, text) = '\0';
    oci_formatter_deinit(&formatter, f->kept->mem);
    oci_print(f->p, "%s", text);
    return OC_OK;
}

static oc_status print_bounds(const parquet_file *f, const oci_field *field,
                              const oci_parquet_bounds *bounds)
{
    oci_print(f->p, ", ");
    OC_TRY(print_value(f, field, &bounds->min));
    oci_print(f->p, " .. ");
    return print_value(f, field, &bounds->max);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void print_codecs(const oci_printer *p, uint32_t codecs, const char *between)
{
    const char *next = "";
    for (int codec = 0; codec < OCI_PARQUET_CODECS; codec++) {
        if ((codecs >> codec & 1) != 0) {
            oci_print(p, "%s%s", next, oci_parquet_codec_name((oci_parquet_codec)codec));
            next = between;
        }
    }
}

static void print_encodings(const oci_printer *p, uint32_t encodings)
{
    for (int encoding = 0; encoding < OCI_PARQUET_ENCODINGS; encoding++) {
        if ((encodings >> encoding & 1) != 0) {
            oci_print(p, " %s", oci_parquet_encoding_name((oci_parquet_encoding)encoding));
        }
    }
}

/* Behind the name of a leaf: how its values lie, for one chunk or for all. */
static oc_status print_sums(const parquet_file *f, int32_t leaf, const column_sums *sums,
                            int32_t n_chunks)
{
    char packed[OCI_BYTES_TEXT];
    char plain[OCI_BYTES_TEXT];
    print_codecs(f->p, sums->codecs, "/");
    print_encodings(f->p, sums->encodings);
    oci_print(f->p, ", %s of %s", oci_format_bytes(sums->compressed_bytes, packed),
              oci_format_bytes(sums->uncompressed_bytes, plain));
    if (sums->null_count >= 0) {
        oci_print(f->p, ", %" PRId64 " null%s", sums->null_count, sums->null_count == 1 ? "" : "s");
    }
    if (sums->has_bounds) {
        OC_TRY(print_bounds(f, f->schema->leaves[leaf].field, &sums->bounds));
    }
    if (sums->page_indexes > 0) {
        oci_print(f->p, ", page index%s", sums->page_indexes < n_chunks ? " (not everywhere)" : "");
    }
    if (sums->bloom_filters > 0) {
        oci_print(f->p, ", Bloom filter%s",
                  sums->bloom_filters < n_chunks ? " (not everywhere)" : "");
    }
    oci_print(f->p, "\n");
    return OC_OK;
}

static oc_status print_leaves(const parquet_file *f)
{
    oci_print(f->p, "stored as: %d\n", f->metadata->n_leaves);
    for (int32_t i = 0; i < f->metadata->n_leaves; i++) {
        const oci_parquet_leaf *leaf = &f->schema->leaves[i];
        oci_print(f->p, "  %-4d %-32s ", i + 1, leaf->path);
        oci_print(f->p, "%s", oci_parquet_type_name(leaf->element->type));
        if (leaf->element->type == OCI_PARQUET_FIXED) {
            oci_print(f->p, "(%d)", leaf->element->type_length);
        }
        oci_print(f->p, ", ");
        OC_TRY(print_sums(f, i, &f->columns[i], f->metadata->n_row_groups));
    }
    return OC_OK;
}

static oc_status print_row_groups(const parquet_file *f)
{
    for (int32_t i = 0; i < f->metadata->n_row_groups; i++) {
        char bytes[OCI_BYTES_TEXT];
        oci_parquet_row_group *group;
        OC_TRY(oci_parquet_row_group_read(f->metadata, i, f->scratch, &group, f->err));
        oci_print(f->p, "row group %d: %" PRId64 " rows, %s\n", i + 1, group->n_rows,
                  oci_format_bytes(f->metadata->row_groups[i].bytes, bytes));
        for (int32_t k = 0; k < group->n_columns; k++) {
            column_sums sums = {0};
            merge_bounds(&sums, f, k, &group->columns[k], true);
            add_chunk(&sums, &group->columns[k]);
            oci_print(f->p, "  %-4d at %" PRId64 ", ", k + 1, group->columns[k].offset);
            OC_TRY(print_sums(f, k, &sums, 1));
        }
        oci_parquet_arena_clear(f->scratch);
    }
    return OC_OK;
}

static oc_status print_key_values(const parquet_file *f)
{
    for (int32_t i = 0; i < f->metadata->n_key_values; i++) {
        const oci_parquet_key_value *pair = &f->metadata->key_values[i];
        oci_print(f->p, "metadata: ");
        OC_TRY(print_text(f, pair->key.data, pair->key.size, METADATA_BYTES_SHOWN));
        bool is_schema = pair->key.size == 12 && memcmp(pair->key.data, "ARROW:schema", 12) == 0;
        if (is_schema) { /* tells nobody anything; the columns below do */
            oci_print(f->p, ", %" PRId64 " bytes", pair->value.size);
        } else if (pair->value.data != NULL) {
            oci_print(f->p, " = ");
            OC_TRY(print_text(f, pair->value.data, pair->value.size, METADATA_BYTES_SHOWN));
        }
        oci_print(f->p, "\n");
    }
    return OC_OK;
}

static oc_status print_file(const parquet_file *f)
{
    const oci_parquet_metadata *m = f->metadata;
    char largest[OCI_BYTES_TEXT];
    char packed[OCI_BYTES_TEXT];
    char plain[OCI_BYTES_TEXT];
    char footer[OCI_BYTES_TEXT];
    oci_print(f->p, "format: Parquet, version %d\n", m->version);
    if (m->created_by.data != NULL) {
        oci_print(f->p, "written by: ");
        OC_TRY(print_text(f, m->created_by.data, m->created_by.size, METADATA_BYTES_SHOWN));
        oci_print(f->p, "\n");
    }
    oci_print(f->p, "rows: %" PRId64 "\n", m->n_rows);
    oci_print(f->p, "row groups: %d (up to %" PRId64 " rows, %s)\n", m->n_row_groups, f->rows_max,
              oci_format_bytes(f->bytes_max, largest));
    oci_print(f->p, "compression: ");
    print_codecs(f->p, f->all.codecs, ", ");
    oci_print(f->p, "%s\n", f->all.codecs == 0 ? "none" : "");
    oci_print(f->p, "bytes: %s in columns (%s unpacked), %s in the footer\n",
              oci_format_bytes(f->all.compressed_bytes, packed),
              oci_format_bytes(f->all.uncompressed_bytes, plain),
              oci_format_bytes(m->footer.size, footer));
    OC_TRY(print_key_values(f));
    return oci_print_columns(f->p, f->schema->arrow, NULL, NULL, f->err);
}

static oc_status inspect(parquet_file *f, bool with_chunks)
{
    OC_TRY(add_row_groups(f));
    OC_TRY(print_file(f));
    OC_TRY(print_leaves(f));
    return with_chunks ? print_row_groups(f) : OC_OK;
}

oc_status oci_inspect_parquet(oc_context *context, oci_file *file, bool with_chunks,
                              const oci_printer *p, oc_error *err)
{
    oci_mem *mem = context->scan;
    oci_parquet_metadata *metadata = NULL;
    oci_parquet_schema *schema = NULL;
    oci_parquet_arena kept = {.mem = mem};
    oci_parquet_arena scratch = {.mem = mem};
    oc_status status = OC_OK;
    if (!file->seekable) {
        status = OC_SET(err, OC_EUNSUPPORTED,
                        "could not inspect \"%s\": a Parquet file cannot be read from a pipe",
                        file->name);
    }
    if (status == OC_OK) {
        status = oci_parquet_metadata_read(file, mem, &metadata, err);
    }
    if (status == OC_OK) {
        status = oci_parquet_schema_create(metadata, mem, &schema, err);
    }
    if (status == OC_OK) {
        parquet_file f = {.metadata = metadata,
                          .schema = schema,
                          .kept = &kept,
                          .scratch = &scratch,
                          .p = p,
                          .err = err};
        status = inspect(&f, with_chunks);
    }
    oci_parquet_arena_free(&scratch);
    oci_parquet_arena_free(&kept);
    oci_parquet_schema_destroy(schema);
    oci_parquet_metadata_destroy(metadata);
    oci_close(file, NULL);
    return status;
}
