/* The columns of a writer: the way from each top field to each of its leaves, with the levels on it. The order of
 * leaves and what is optional is that of oci_parquet_schema_write(). */
#include "formats/parquet/write_shape.h"

#include <string.h>

/* Steps on the way to the field at hand. An Arrow nesting takes two at most (map, its entries). */
enum { STEPS_MAX = 2 * OCI_NESTING_MAX + 1 };

typedef struct shape_walk {
    oci_parquet_arena *arena;
    const oci_parquet_metadata *metadata;
    oci_parquet_column_writer *columns;
    int32_t n;
    int32_t top;
    int32_t n_steps;
    oci_parquet_step steps[STEPS_MAX];
    uint8_t definition; /* in the field at hand */
    uint8_t repetition;
    oc_error *err;
} shape_walk;

static int32_t count_leaves(const oci_field *field)
{
    int32_t n = 0;
    for (int32_t i = 0; i < field->n_children; i++) {
        n += count_leaves(&field->children[i]);
    }
    return field->n_children == 0 ? 1 : n;
}

static oc_status add_leaf(shape_walk *walk, const oci_field *field)
{
    oci_parquet_column_writer *c = &walk->columns[walk->n];
    void *steps;
    OC_TRY(oci_parquet_arena_alloc(walk->arena, walk->n_steps, sizeof walk->steps[0], &steps,
                                   walk->err));
    memcpy(steps, walk->steps, (size_t)walk->n_steps * sizeof walk->steps[0]);
    c->element = walk->metadata->leaves[walk->n++];
    c->is_dictionary = field->type == OCI_TYPE_DICTIONARY;
    c->field = c->is_dictionary ? field->dictionary : field;
    c->steps = steps;
    c->n_steps = walk->n_steps;
    c->top = walk->top;
    c->max_definition = walk->definition;
    c->max_repetition = walk->repetition;
    oci_parquet_choose_conversion(c);
    return OC_OK;
}

static oc_status walk_field(shape_walk *walk, const oci_field *field, bool is_optional);

static oc_status walk_children(shape_walk *walk, oci_parquet_step *step, const oci_field *field)
{
    if (step->kind == OCI_PARQUET_STEP_LIST) {
        walk->definition++;
        step->repetition = ++walk->repetition;
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        const oci_field *child = &field->children[i];
        step->child = i;
        /* The entries of a map are always there, and so is the key of each. */
        bool is_entries = field->type == OCI_TYPE_MAP;
        bool is_key = walk->n_steps > 1 && i == 0 && step[-1].field->type == OCI_TYPE_MAP;
        OC_TRY(walk_field(walk, child, child->nullable && !is_entries && !is_key));
    }
    return OC_OK;
}

static oc_status walk_field(shape_walk *walk, const oci_field *field, bool is_optional)
{
    uint8_t definition = walk->definition;
    uint8_t repetition = walk->repetition;
    bool is_struct = field->type == OCI_TYPE_STRUCT;
    oci_parquet_step *step = &walk->steps[walk->n_steps++];
    *step = (oci_parquet_step){
        .kind = field->n_children == 0 ? OCI_PARQUET_STEP_LEAF
                : is_struct            ? OCI_PARQUET_STEP_STRUCT
                                       : OCI_PARQUET_STEP_LIST,
        .is_optional = is_optional || field->type == OCI_TYPE_NULL,
        .definition = definition,
        .field = field,
    };
    walk->definition = (uint8_t)(definition + step->is_optional);
    step->present = walk->definition;
    oc_status status = field->n_children == 0 ? add_leaf(walk, field)
                                              : walk_children(walk, step, field);
    walk->n_steps--;
    walk->definition = definition;
    walk->repetition = repetition;
    return status;
}

oc_status oci_parquet_shape_create(const oci_schema *working, const oci_parquet_metadata *metadata,
                                   oci_parquet_arena *arena, oci_parquet_column_writer **out,
                                   int32_t *n, oc_error *err)
{
    shape_walk walk = {.arena = arena, .metadata = metadata, .err = err};
    void *columns;
    *n = 0;
    for (int32_t i = 0; i < working->n_fields; i++) {
        *n += count_leaves(&working->fields[i]);
    }
    OC_TRY(oci_parquet_arena_alloc(arena, *n, sizeof **out, &columns, err));
    walk.columns = columns;
    for (int32_t i = 0; i < working->n_fields; i++) {
        walk.top = i;
        OC_TRY(walk_field(&walk, &working->fields[i], working->fields[i].nullable));
    }
    *out = columns;
    return OC_OK;
}
