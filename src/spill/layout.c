/* Layouts: the physical schema of a logical one, and batches to and fro. See layout.h.
 *
 *   logical schema + choices -> physical schema, with metadata that say how to get back
 *   batch:  measure -> one slab -> column by column -> physical batch           (encode)
 *           physical batch -> measure -> one slab -> column by column -> batch  (decode)
 *
 * What a single column becomes is the story of layout_lengths.c and layout_packed.c. Layouts, and the
 * lists with an entry per column that encode and decode use, come from malloc: they grow with the
 * schema. */
#include "spill/layout.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/message.h"
#include "spill/layout_internal.h"
#include "spill/stream_metadata.h"

static oc_status fail_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "out of memory while laying out a spill file");
}

/* ---- fields ---------------------------------------------------------------------------------- */

static oc_status init_children(oci_field *field, int32_t n, oc_error *err)
{
    field->children = calloc((size_t)n, sizeof *field->children);
    if (field->children == NULL) {
        return fail_memory(err);
    }
    field->n_children = n;
    return OC_OK;
}

/* The children of a run-end encoded field; the values are left to the caller. */
static oc_status init_run(oci_field *field, oc_error *err)
{
    OC_TRY(init_children(field, 2, err));
    return oci_field_init(&field->children[0], "run_ends", OCI_TYPE_INT32, false, err);
}

static oc_status init_lengths(const oci_field *logical, oci_field *out, oc_error *err)
{
    bool is_large = oci_field_layout(logical) == OCI_LAYOUT_OFFSETS64;
    OC_TRY(oci_field_init(out, logical->name, OCI_TYPE_STRUCT, logical->nullable, err));
    OC_TRY(init_children(out, 2, err));
    oci_type type = is_large ? OCI_TYPE_INT64 : OCI_TYPE_INT32;
    OC_TRY(oci_field_init(&out->children[0], "lengths", type, false, err));
    oci_field *bytes = &out->children[1];
    OC_TRY(oci_field_init(bytes, "bytes", OCI_TYPE_RUN_END_ENCODED, false, err));
    OC_TRY(init_run(bytes, err));
    type = is_large ? OCI_TYPE_LARGE_BINARY : OCI_TYPE_BINARY;
    return oci_field_init(&bytes->children[1], "values", type, false, err);
}

static oc_status init_packed(const oci_field *logical, oci_field *out, oc_error *err)
{
    OC_TRY(oci_field_init(out, logical->name, OCI_TYPE_RUN_END_ENCODED, false, err));
    OC_TRY(init_run(out, err));
    oci_field *values = &out->children[1];
    if (!oci_packed_has_bytes(logical)) {
        return oci_field_init(values, "values", OCI_TYPE_BINARY, false, err);
    }
    OC_TRY(oci_field_init(values, "values", OCI_TYPE_STRUCT, false, err));
    OC_TRY(init_children(values, 2, err));
    OC_TRY(oci_field_init(&values->children[0], "packed", OCI_TYPE_BINARY, false, err));
    return oci_field_init(&values->children[1], "bytes", OCI_TYPE_BINARY, false, err);
}

static oc_status init_field(const oci_field *logical, oci_column_layout choice, oci_field *out,
                            oc_error *err)
{
    switch (choice) {
    case OCI_COLUMN_LENGTHS:
        assert(oci_lengths_is_for(logical->type));
        return init_lengths(logical, out, err);
    case OCI_COLUMN_PACKED: return init_packed(logical, out, err);
    case OCI_COLUMN_PLAIN: break;
    }
    return oci_field_copy(logical, out, err);
}

/* ---- metadata -------------------------------------------------------------------------------- */

static const char letters[] = "plk"; /* by oci_column_layout */

/* The metadata of the physical schema. */
static oc_status build_metadata(const oci_schema *logical, const oci_column_layout *choices,
                                char **out, int64_t *bytes, oc_error *err)
{
    oci_bytes message = {0};
    oci_bytes text = {0};
    oc_status status = OC_OK;
    char *layout = malloc((size_t)logical->n_fields + 1);
    if (layout == NULL) {
        return fail_memory(err);
    }
    for (int32_t i = 0; i < logical->n_fields; i++) {
        layout[i] = letters[choices[i]];
    }
    OC_GOTO(oci_message_build_schema(logical, false, &message, err));
    OC_GOTO(oci_base64_encode(message.data, message.size, &text, err));
    const oci_metadata_pair pairs[] = {
        {OCI_SPILL_VERSION_KEY, OCI_SPILL_VERSION, 1},
        {OCI_SPILL_LAYOUT_KEY, layout, logical->n_fields},
        {OCI_SPILL_SCHEMA_KEY, (const char *)text.data, text.size},
    };
    status = oci_metadata_build(pairs, 3, out, bytes, err);
done:
    free(message.data);
    free(text.data);
    free(layout);
    return status;
}

/* The logical schema out of the metadata. */
static oc_status parse_logical(const oci_schema *physical, oci_schema **out, oc_error *err)
{
    const char *text;
    int64_t length;
    if (!oci_metadata_find(physical->metadata, physical->metadata_bytes, OCI_SPILL_SCHEMA_KEY,
                           &text, &length)) {
        OC_FAIL(err, OC_EDATA, "the schema does not say what the columns were before");
    }
    oci_bytes message;
    OC_TRY(oci_base64_decode(text, length, &message, err));
    int64_t metadata_bytes = 0;
    int prefix_bytes = 0;
    oc_status status = OC_OK;
    if (message.size < OCI_IPC_PREFIX_BYTES) {
        status = OC_SET(err, OC_EDATA, "the schema of the columns before is cut");
    } else {
        status = oci_frame_parse(message.data, &metadata_bytes, &prefix_bytes, err);
    }
    if (status == OC_OK &&
        (prefix_bytes != OCI_IPC_PREFIX_BYTES || metadata_bytes > message.size - prefix_bytes)) {
        status = OC_SET(err, OC_EDATA, "the schema of the columns before is cut");
    }
    if (status == OC_OK) {
        status = oci_message_parse_schema(message.data + prefix_bytes, metadata_bytes, out, NULL,
                                          NULL, err);
    }
    free(message.data);
    return status;
}

static oc_status parse_choices(const oci_schema *physical, oci_column_layout *choices,
                               oc_error *err)
{
    const char *text;
    int64_t length;
    if (!oci_metadata_find(physical->metadata, physical->metadata_bytes, OCI_SPILL_LAYOUT_KEY,
                           &text, &length) ||
        length != physical->n_fields) {
        OC_FAIL(err, OC_EDATA, "the schema does not say how its columns are laid out");
    }
    for (int32_t i = 0; i < physical->n_fields; i++) {
        const char *letter = text[i] == '\0' ? NULL : strchr(letters, text[i]);
        if (letter == NULL) {
            OC_FAIL(err, OC_EUNSUPPORTED,
                    "column \"%.80s\" has a layout that this version does not know",
                    physical->fields[i].name);
        }
        choices[i] = (oci_column_layout)(letter - letters);
    }
    return OC_OK;
}

/* ---- making ---------------------------------------------------------------------------------- */

static oc_status build_physical(const oci_schema *logical, const oci_column_layout *choices,
                                oci_schema **out, oc_error *err)
{
    char *metadata;
    int64_t metadata_bytes;
    OC_TRY(build_metadata(logical, choices, &metadata, &metadata_bytes, err));
    oci_field *fields = calloc((size_t)logical->n_fields + 1, sizeof *fields);
    oc_status status = fields == NULL ? fail_memory(err) : OC_OK;
    int32_t n = 0;
    for (; n < logical->n_fields && status == OC_OK; n++) {
        status = init_field(&logical->fields[n], choices[n], &fields[n], err);
    }
    if (status != OC_OK) {
        for (int32_t i = 0; i < n; i++) {
            oci_field_deinit(&fields[i]);
        }
        free(fields);
        free(metadata);
        return status;
    }
    return oci_schema_create(fields, n, metadata, metadata_bytes, out, err);
}

oc_status oci_spill_layout_create(oci_schema *logical, const oci_column_layout *choices,
                                  oci_spill_layout **out, oc_error *err)
{
    *out = NULL;
    oci_spill_layout *layout = calloc(1, sizeof *layout);
    if (layout == NULL) {
        return fail_memory(err);
    }
    atomic_init(&layout->references, 1);
    layout->logical = oci_schema_retain(logical);
    layout->is_plain = true;
    layout->choices = calloc((size_t)logical->n_fields + 1, sizeof *layout->choices);
    oc_status status = layout->choices == NULL ? fail_memory(err) : OC_OK;
    for (int32_t i = 0; i < logical->n_fields && status == OC_OK; i++) {
        layout->choices[i] = choices[i];
        layout->is_plain = layout->is_plain && choices[i] == OCI_COLUMN_PLAIN;
    }
    if (status == OC_OK) {
        status = build_physical(logical, choices, &layout->physical, err);
    }
    if (status != OC_OK) {
        oci_spill_layout_release(layout);
        return status;
    }
    *out = layout;
    return OC_OK;
}

oci_spill_layout *oci_spill_layout_retain(oci_spill_layout *layout)
{
    atomic_fetch_add(&layout->references, 1);
    return layout;
}

void oci_spill_layout_release(oci_spill_layout *layout)
{
    if (layout == NULL || atomic_fetch_sub(&layout->references, 1) != 1) {
        return;
    }
    oci_schema_release(layout->logical);
    oci_schema_release(layout->physical);
    free(layout->choices);
    free(layout);
}

oci_schema *oci_spill_layout_logical(const oci_spill_layout *layout)
{
    return layout->logical;
}

oci_schema *oci_spill_layout_physical(const oci_spill_layout *layout)
{
    return layout->physical;
}

oci_column_layout oci_spill_layout_of(const oci_spill_layout *layout, int32_t column)
{
    return layout->choices[column];
}

bool oci_spill_layout_is_plain(const oci_spill_layout *layout)
{
    return layout->is_plain;
}

/* ---- reading a schema ------------------------------------------------------------------------ */

/* Names of children do not count, as for types in general. */
static oc_status check_expected(const oci_schema *logical, const oci_schema *expected,
                                oc_error *err)
{
    if (logical->n_fields != expected->n_fields) {
        OC_FAIL(err, OC_EDATA, "it has %d columns where %d are expected", (int)logical->n_fields,
                (int)expected->n_fields);
    }
    for (int32_t i = 0; i < logical->n_fields; i++) {
        const oci_field *field = &logical->fields[i];
        const oci_field *wanted = &expected->fields[i];
        if (strcmp(field->name, wanted->name) != 0 || !oci_field_same_type(field, wanted)) {
            char type[128];
            char wanted_type[128];
            oci_field_type_text(field, type, sizeof type);
            oci_field_type_text(wanted, wanted_type, sizeof wanted_type);
            OC_FAIL(err, OC_EDATA, "column %d is \"%.80s\" of %s where \"%.80s\" of %s is expected",
                    (int)i, field->name, type, wanted->name, wanted_type);
        }
    }
    return OC_OK;
}

/* The choices must fit the columns, and the physical columns must be what they lead to. */
static oc_status check_physical(const oci_spill_layout *layout, const oci_schema *physical,
                                oc_error *err)
{
    for (int32_t i = 0; i < physical->n_fields; i++) {
        if (!oci_field_same_type(&layout->physical->fields[i], &physical->fields[i])) {
            OC_FAIL(err, OC_EDATA, "column \"%.80s\" is not laid out as its schema says",
                    physical->fields[i].name);
        }
    }
    return OC_OK;
}

static oc_status parse_ours(oci_schema *physical, oci_schema *expected, oci_column_layout *choices,
                            oci_spill_layout **out, oc_error *err)
{
    oci_schema *logical;
    OC_TRY(parse_choices(physical, choices, err));
    OC_TRY(parse_logical(physical, &logical, err));
    oc_status status = OC_OK;
    if (logical->n_fields != physical->n_fields) {
        status = OC_SET(err, OC_EDATA, "it had %d columns before, and has %d now",
                        (int)logical->n_fields, (int)physical->n_fields);
    } else if (expected != NULL) {
        status = check_expected(logical, expected, err);
    }
    for (int32_t i = 0; status == OC_OK && i < physical->n_fields; i++) {
        if (choices[i] == OCI_COLUMN_LENGTHS && !oci_lengths_is_for(logical->fields[i].type)) {
            status = OC_SET(err, OC_EDATA, "column \"%.80s\" is no string and has lengths",
                            logical->fields[i].name);
        }
    }
    if (status == OC_OK) {
        status = oci_spill_layout_create(expected != NULL ? expected : logical, choices, out, err);
    }
    if (status == OC_OK) {
        status = check_physical(*out, physical, err);
        if (status != OC_OK) {
            oci_spill_layout_release(*out);
            *out = NULL;
        }
    }
    oci_schema_release(logical);
    return status;
}

oc_status oci_spill_layout_parse(oci_schema *physical, oci_schema *expected, oci_spill_layout **out,
                                 oc_error *err)
{
    *out = NULL;
    const char *version;
    int64_t length;
    bool is_ours = oci_metadata_find(physical->metadata, physical->metadata_bytes,
                                     OCI_SPILL_VERSION_KEY, &version, &length);
    if (is_ours && (length != (int64_t)strlen(OCI_SPILL_VERSION) ||
                    memcmp(version, OCI_SPILL_VERSION, (size_t)length) != 0)) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "it has version %.*s of the spill format, this version of outcore reads "
                "version " OCI_SPILL_VERSION,
                (int)oci_min64(length, 20), version);
    }
    /* All 0, which is plain. */
    oci_column_layout *choices = calloc((size_t)physical->n_fields + 1, sizeof *choices);
    if (choices == NULL) {
        return fail_memory(err);
    }
    oc_status status = OC_OK;
    if (is_ours) {
        status = parse_ours(physical, expected, choices, out, err);
    } else {
        status = expected != NULL ? check_expected(physical, expected, err) : OC_OK;
        if (status == OC_OK) {
            status =
                oci_spill_layout_create(expected != NULL ? expected : physical, choices, out, err);
        }
    }
    free(choices);
    return status;
}

/* ---- to physical batches --------------------------------------------------------------------- */

bool oci_spill_layout_can_hold(const oci_spill_layout *layout, const oci_packer *packer,
                               const oci_batch *batch)
{
    bool can_hold = layout->is_plain || batch->length <= INT32_MAX;
    for (int32_t i = 0; can_hold && i < layout->logical->n_fields; i++) {
        if (layout->choices[i] == OCI_COLUMN_PACKED) {
            oci_packed_bound bound;
            oci_packer_bound(packer, i, &batch->columns[i], &bound);
            can_hold = bound.packed <= INT32_MAX && bound.bytes <= INT32_MAX;
        }
    }
    return can_hold;
}

oci_layout_bound oci_spill_layout_bound(const oci_spill_layout *layout, const oci_packer *packer,
                                        int64_t slab_bytes, int64_t rows)
{
    oci_layout_bound bound = {0};
    bool has_packed = false;
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        if (layout->choices[i] != OCI_COLUMN_PLAIN) {
            /* Run end, two offsets twice, and padding of five buffers. */
            bound.slab_bytes += 10 * OCI_LAYOUT_ALIGN;
        }
        has_packed = has_packed || layout->choices[i] == OCI_COLUMN_PACKED;
    }
    if (has_packed) {
        oci_packed_bound packed;
        oci_packer_bound_bytes(packer, slab_bytes, rows, &packed);
        bound.slab_bytes += packed.both;
        bound.scratch = packed.scratch;
    } else if (!layout->is_plain) {
        bound.slab_bytes += slab_bytes; /* lengths and bitmaps are not longer than offsets */
    }
    return bound;
}

static oc_status measure_physical(const oci_spill_layout *layout, const oci_packer *packer,
                                  const oci_batch *batch, int64_t *bytes, oc_error *err)
{
    *bytes = 0;
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        if (layout->choices[i] == OCI_COLUMN_LENGTHS) {
            int64_t size;
            OC_TRY(oci_lengths_measure(column, &size, err));
            *bytes += size;
        } else if (layout->choices[i] == OCI_COLUMN_PACKED) {
            oci_packed_bound bound;
            oci_packer_bound(packer, i, column, &bound);
            *bytes += oci_packed_slab_bound(&bound);
        }
    }
    return OC_OK;
}

static oc_status fill_physical(const oci_spill_layout *layout, oci_packer *packer,
                               const oci_batch *batch, oci_reservation *from, oci_layout_out *out,
                               oci_column *columns, oc_error *err)
{
    for (int32_t i = 0; i < layout->logical->n_fields; i++) {
        const oci_column *column = &batch->columns[i];
        const oci_field *field = &layout->physical->fields[i];
        switch (layout->choices[i]) {
        case OCI_COLUMN_PLAIN: columns[i] = *column; break;
        case OCI_COLUMN_LENGTHS: oci_lengths_encode(column, field, out, &columns[i]); break;
        case OCI_COLUMN_PACKED:
            OC_TRY(oci_packed_encode(packer, i, column, field, from, out, &columns[i], err));
            break;
        }
    }
    return OC_OK;
}

oc_status oci_spill_layout_encode(const oci_spill_layout *layout, oci_packer *packer,
                                  oci_batch *batch, oci_reservation *from, oci_batch **out,
                                  oc_error *err)
{
    *out = NULL;
    int64_t bytes;
    void *slab = NULL;
    int32_t n = layout->logical->n_fields;
    OC_TRY(measure_physical(layout, packer, batch, &bytes, err));
    OC_TRY(oci_mem_alloc_reserved(from, bytes, &slab, err));
    int64_t below_bytes = n * (int64_t)(OCI_LAYOUT_BELOW * sizeof(oci_column));
    oci_column *columns = calloc((size_t)n + 1, sizeof *columns);
    oci_column *below = calloc((size_t)n * OCI_LAYOUT_BELOW + 1, sizeof *below);
    oc_status status = columns == NULL || below == NULL ? fail_memory(err) : OC_OK;
    oci_layout_out made = {.slab = slab, .size = bytes, .below = below};
    if (status == OC_OK) {
        status = fill_physical(layout, packer, batch, from, &made, columns, err);
    }
    if (status != OC_OK) {
        free(columns);
        free(below);
        oci_mem_free_reserved(from, slab, bytes);
        return status;
    }
    return oci_batch_adopt(layout->physical, batch->length, columns, from->mem, slab, bytes, below,
                           below_bytes, out, err);
}

void oci_spill_layout_give_back(oci_batch *physical, oci_reservation *from)
{
    if (physical == NULL) {
        return;
    }
    void *slab = physical->slab;
    int64_t bytes = physical->slab_bytes;
    physical->slab = NULL;
    oci_batch_release(physical);
    oci_mem_free_reserved(from, slab, bytes);
}

/* ---- and back -------------------------------------------------------------------------------- */

/* What decoding needs of each column. */
typedef struct decode_job {
    const oci_spill_layout *layout;
    const oci_batch *physical;
    oci_pack_in *packed; /* of PACKED columns; malloc'ed, one per column */
    int64_t slab_bytes;
    int64_t extra_bytes;
} decode_job;

static oc_status measure_column(decode_job *job, int32_t i, oc_error *err)
{
    const oci_column *column = &job->physical->columns[i];
    int64_t bytes = 0;
    switch (job->layout->choices[i]) {
    case OCI_COLUMN_PLAIN: oci_plain_measure(column, &bytes, &job->extra_bytes); break;
    case OCI_COLUMN_LENGTHS: OC_TRY(oci_lengths_unmeasure(column, &bytes, err)); break;
    case OCI_COLUMN_PACKED:
        OC_TRY(oci_packed_open(column, &job->packed[i], err));
        OC_TRY(oci_unpack_measure(&job->layout->logical->fields[i], column->length, &job->packed[i],
                                  &bytes, err));
        break;
    }
    if (!oci_add64(job->slab_bytes, bytes, &job->slab_bytes)) {
        OC_FAIL(err, OC_EDATA, "it is larger than memory can be");
    }
    return OC_OK;
}

static oc_status unpack_column(const oci_field *field, int64_t rows, oci_pack_in *in,
                               oci_unpack_out *out, oci_column *column, oc_error *err)
{
    OC_TRY(oci_unpack_column(field, rows, in, out, column, err));
    if (in->packed_at != in->packed_size || in->bytes_at != in->bytes_size) {
        OC_FAIL(err, OC_EDATA, "packed values are followed by something else");
    }
    return OC_OK;
}

static oc_status decode_column(decode_job *job, int32_t i, oci_unpack_out *out, oci_column *column,
                               oc_error *err)
{
    const oci_column *from = &job->physical->columns[i];
    const oci_field *field = &job->layout->logical->fields[i];
    switch (job->layout->choices[i]) {
    case OCI_COLUMN_PLAIN: oci_plain_copy(from, field, out, column); return OC_OK;
    case OCI_COLUMN_LENGTHS: return oci_lengths_decode(from, field, out, column, err);
    case OCI_COLUMN_PACKED: break;
    }
    return unpack_column(field, from->length, &job->packed[i], out, column, err);
}

static oc_status name_column(const decode_job *job, int32_t i, oc_status status, oc_error *err)
{
    if (status == OC_EDATA) {
        oci_error_prefix(err, "column \"%.80s\"", job->layout->logical->fields[i].name);
    }
    return status;
}

static oc_status fill_columns(decode_job *job, oci_unpack_out *out, oci_column *columns,
                              oc_error *err)
{
    for (int32_t i = 0; i < job->layout->logical->n_fields; i++) {
        OC_TRY(name_column(job, i, decode_column(job, i, out, &columns[i], err), err));
        assert(out->at <= out->size && out->extra_at <= out->extra_size);
    }
    return OC_OK;
}

/* Makes the batch out of a slab (taken, also on failure) of the size that was measured. */
static oc_status fill_batch(decode_job *job, oci_mem *mem, void *slab, oci_batch **out,
                            oc_error *err)
{
    oci_schema *schema = job->layout->logical;
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    uint8_t *extra = calloc(1, (size_t)job->extra_bytes + 1);
    oc_status status = columns == NULL || extra == NULL ? fail_memory(err) : OC_OK;
    oci_unpack_out made = {
        .slab = slab, .size = job->slab_bytes, .extra = extra, .extra_size = job->extra_bytes};
    if (status == OC_OK) {
        status = fill_columns(job, &made, columns, err);
    }
    if (status != OC_OK) {
        free(columns);
        free(extra);
        oci_mem_free(mem, slab, job->slab_bytes);
        return status;
    }
    return oci_batch_adopt(schema, job->physical->length, columns, mem, slab, job->slab_bytes,
                           extra, job->extra_bytes, out, err);
}

/* Dictionaries of plain columns are memory of their own. */
static oc_status keep_dictionaries(oci_batch *batch, const oci_batch *physical, oc_error *err)
{
    for (int32_t i = 0; i < physical->n_kept; i++) {
        OC_TRY(oci_batch_keep(batch, oci_batch_retain(physical->kept[i]), err));
    }
    return OC_OK;
}

/* A column of no rows; what lies below it takes its structs from `space`. */
static void make_empty(const oci_field *field, oci_column *column, oci_column **space)
{
    static const uint8_t nothing[16]; /* the one offset that a reader may look at */
    *column = (oci_column){.field = field,
                           .values = nothing,
                           .bytes = nothing,
                           .sizes = nothing,
                           .child_offsets = nothing};
    if (field->dictionary != NULL) {
        oci_column *values = (*space)++;
        column->dictionary = values;
        make_empty(field->dictionary, values, space);
    }
    oci_column *children = *space;
    *space += field->n_children;
    column->children = children;
    for (int32_t i = 0; i < field->n_children; i++) {
        make_empty(&field->children[i], &children[i], space);
    }
}

static oc_status decode_empty(const oci_spill_layout *layout, oci_batch **out, oc_error *err)
{
    oci_schema *schema = layout->logical;
    int64_t below_bytes = oci_unpack_extra_bytes(schema);
    oci_column *columns = calloc((size_t)schema->n_fields + 1, sizeof *columns);
    oci_column *below = calloc(1, (size_t)below_bytes + 1);
    if (columns == NULL || below == NULL) {
        free(columns);
        free(below);
        return fail_memory(err);
    }
    oci_column *space = below;
    for (int32_t i = 0; i < schema->n_fields; i++) {
        make_empty(&schema->fields[i], &columns[i], &space);
    }
    return oci_batch_adopt(schema, 0, columns, NULL, NULL, 0, below, below_bytes, out, err);
}

static oc_status decode_rows(const oci_spill_layout *layout, const oci_batch *physical,
                             oci_mem *mem, oci_batch **out, oc_error *err)
{
    decode_job job = {.layout = layout,
                      .physical = physical,
                      .extra_bytes = oci_unpack_extra_bytes(layout->logical)};
    int32_t n = layout->logical->n_fields;
    job.packed = calloc((size_t)n + 1, sizeof *job.packed);
    oc_status status = job.packed == NULL ? fail_memory(err) : OC_OK;
    for (int32_t i = 0; i < n && status == OC_OK; i++) {
        status = name_column(&job, i, measure_column(&job, i, err), err);
    }
    void *slab = NULL;
    if (status == OC_OK) {
        status = oci_mem_alloc(mem, job.slab_bytes, &slab, err);
    }
    if (status == OC_OK) {
        status = fill_batch(&job, mem, slab, out, err);
    }
    if (status == OC_OK) {
        status = keep_dictionaries(*out, physical, err);
        if (status != OC_OK) {
            oci_batch_release(*out);
            *out = NULL;
        }
    }
    free(job.packed);
    return status;
}

oc_status oci_spill_layout_decode(const oci_spill_layout *layout, oci_batch *physical, oci_mem *mem,
                                  oci_batch **out, oc_error *err)
{
    if (layout->is_plain) {
        *out = physical;
        return OC_OK;
    }
    *out = NULL;
    oc_status status = physical->length == 0 ? decode_empty(layout, out, err)
                                             : decode_rows(layout, physical, mem, out, err);
    oci_batch_release(physical);
    return status;
}
