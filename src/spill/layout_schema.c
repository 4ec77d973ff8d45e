/* Layouts: the physical schema of a logical one, and the metadata that say how to get back. See
 * layout.h.
 *
 *   logical schema + choices -> physical schema with metadata      (writing: create)
 *   physical schema with metadata -> logical schema + choices      (reading: parse)
 *
 * A schema that was read is held against the one that would have been written: the same metadata must
 * lead to the same physical types. Everything comes from malloc: it grows with the schema. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "ipc/base64.h"
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
        oci_spill_layout_destroy(layout);
        return status;
    }
    *out = layout;
    return OC_OK;
}

void oci_spill_layout_destroy(oci_spill_layout *layout)
{
    if (layout == NULL) {
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
            oci_spill_layout_destroy(*out);
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
