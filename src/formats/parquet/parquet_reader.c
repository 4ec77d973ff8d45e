/* See parquet_reader.h. Lists of columns come from malloc: they grow with the schema. */
#include "formats/parquet/parquet_reader.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/text.h"
#include "formats/parquet/column_team.h"
#include "formats/parquet/prune.h"

/* All windows together take about this part of the limit. */
#define WINDOWS_SHARE    16
#define WINDOW_BYTES_MIN ((int64_t)8 << 10)
#define WINDOW_BYTES_MAX ((int64_t)1 << 20)

typedef struct parquet_stream {
    oci_stream base; /* must be first */
    const oci_env *env;
    oci_file *file;
    oci_mem *mem;
    const oci_predicate *predicate;
    oci_parquet_metadata *metadata;
    oci_parquet_schema *schema;
    oci_schema *working; /* of the columns asked for */
    int32_t n_columns;
    int32_t *fields; /* of the file's schema */
    oci_parquet_column_reader *columns;
    oci_parquet_column_team *team;
    oci_parquet_column_task *tasks; /* n_columns */
    int64_t columns_below;          /* children and dictionaries of all columns */

    /* The row group at hand. */
    oci_parquet_arena arena;
    int32_t next_group;
    oci_parquet_selection selection;
    int32_t range;    /* the next rows are of this one; n_ranges: the group is done */
    int64_t at;       /* row of the group that the columns stand at */
    double row_bytes; /* of the columns asked for, as far as is known */
    oc_status status; /* sticky */
    oc_error error;
} parquet_stream;

static oc_status out_of_memory(oc_error *err)
{
    OC_FAIL(err, OC_ENOMEM, "could not open a Parquet file: out of memory");
}

/* ---- row groups ------------------------------------------------------------------------------ */

/* What a row takes, by what the footer says of the chunks. */
static double said_row_bytes(const parquet_stream *self, const oci_parquet_row_group *group)
{
    double bytes = 0;
    for (int32_t i = 0; i < self->n_columns; i++) {
        const oci_parquet_node *node = self->columns[i].node;
        for (int32_t leaf = 0; leaf < node->n_leaves; leaf++) {
            bytes += (double)group->columns[node->leaf + leaf].uncompressed_bytes;
        }
    }
    return bytes / (double)oci_max64(1, group->n_rows);
}

static oc_status start_group(parquet_stream *self, oc_error *err)
{
    oci_parquet_row_group *group;
    oci_parquet_arena_clear(&self->arena);
    OC_TRY(
        oci_parquet_row_group_read(self->metadata, self->next_group++, &self->arena, &group, err));
    oci_parquet_prune_source source = {self->file, self->metadata, self->schema};
    OC_TRY(oci_parquet_prune(&source, group, self->predicate, &self->arena, &self->selection, err));
    self->range = 0;
    self->at = 0;
    if (self->selection.n_ranges == 0) {
        return OC_OK;
    }
    for (int32_t i = 0; i < self->n_columns; i++) {
        OC_TRY(oci_parquet_column_reader_start(&self->columns[i], group, err));
    }
    double said = said_row_bytes(self, group);
    self->row_bytes = said > self->row_bytes ? said : self->row_bytes;
    return OC_OK;
}

/* Goes to the next rows that are wanted: *n of them in one piece, 0 = the file ends. */
static oc_status find_rows(parquet_stream *self, int64_t *n, oc_error *err)
{
    *n = 0;
    while (self->range == self->selection.n_ranges) {
        if (self->next_group == self->metadata->n_row_groups) {
            return OC_OK;
        }
        OC_TRY(oci_env_tick(self->env, err));
        OC_TRY(start_group(self, err));
    }
    const oci_parquet_rows *rows = &self->selection.ranges[self->range];
    if (self->at < rows->start) {
        for (int32_t i = 0; i < self->n_columns; i++) {
            OC_TRY(oci_parquet_column_reader_skip(&self->columns[i], rows->start - self->at, err));
        }
        self->at = rows->start;
    }
    *n = rows->end - self->at;
    return OC_OK;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* How many of the next n rows make a batch. */
static oc_status fit_rows(parquet_stream *self, int64_t *n, oc_error *err)
{
    int64_t bytes = oci_env_block_bytes(self->env);
    *n = oci_min64(*n, self->env->batch_rows);
    if (self->row_bytes * (double)*n > (double)bytes) {
        *n = oci_max64(1, (int64_t)((double)bytes / self->row_bytes));
    }
    for (int32_t i = 0; i < self->n_columns; i++) {
        OC_TRY(oci_parquet_column_reader_fit(&self->columns[i], *n, 2 * bytes, n, err));
    }
    return OC_OK;
}

/* Columns were made with the fields of the file's schema. */
static void set_fields(oci_column *column, const oci_field *field)
{
    column->field = field;
    if (column->dictionary != NULL) {
        set_fields((oci_column *)(uintptr_t)column->dictionary, field->dictionary);
    }
    for (int32_t i = 0; i < field->n_children; i++) {
        set_fields((oci_column *)(uintptr_t)&column->children[i], &field->children[i]);
    }
}

/* Each column has an owner of its buffers, which the batch keeps, and its part of `space`. */
static oc_status prepare_tasks(parquet_stream *self, oci_batch *batch, oci_column *space,
                               oc_error *err)
{
    for (int32_t i = 0; i < self->n_columns; i++) {
        oci_batch *owner;
        OC_TRY(oci_batch_without_columns(0, NULL, NULL, 0, &owner, err));
        self->tasks[i] = (oci_parquet_column_task){
            .reader = &self->columns[i], .out = &batch->columns[i], .space = space, .owner = owner};
        OC_TRY(oci_batch_keep(batch, owner, err));
        space += oci_parquet_columns_below(&batch->schema->fields[i]);
    }
    return OC_OK;
}

static oc_status read_columns(parquet_stream *self, oci_batch *batch, oci_column *space,
                              oc_error *err)
{
    int64_t bytes = 0;
    OC_TRY(prepare_tasks(self, batch, space, err));
    oci_parquet_column_team_read(self->team, self->tasks, self->n_columns, batch->length);
    for (int32_t i = 0; i < self->n_columns; i++) {
        if (self->tasks[i].status != OC_OK) {
            *err = self->tasks[i].error;
            return self->tasks[i].status;
        }
        set_fields(&batch->columns[i], &batch->schema->fields[i]);
        bytes += self->columns[i].read_bytes;
    }
    double measured = (double)bytes / (double)batch->length;
    self->row_bytes = measured > self->row_bytes ? measured : self->row_bytes;
    return OC_OK;
}

static oc_status read_rows(parquet_stream *self, int64_t n, oci_batch **out, oc_error *err)
{
    oci_column *columns = calloc((size_t)self->n_columns + 1, sizeof *columns);
    oci_column *space = calloc((size_t)self->columns_below + 1, sizeof *space);
    oci_batch *batch;
    if (columns == NULL || space == NULL) {
        free(columns);
        free(space);
        OC_FAIL(err, OC_ENOMEM, "could not read rows: out of memory");
    }
    OC_TRY(oci_batch_adopt(self->working, n, columns, NULL, NULL, 0, space,
                           self->columns_below * (int64_t)sizeof *space, &batch, err));
    oc_status status = read_columns(self, batch, space, err);
    if (status != OC_OK) {
        oci_batch_release(batch);
        return status;
    }
    self->at += n;
    self->range += self->at == self->selection.ranges[self->range].end;
    status = oci_batch_output(batch, self->base.schema, self->mem, out, err);
    oci_batch_release(batch);
    return status;
}

static oc_status next_rows(parquet_stream *self, oci_batch **out, oc_error *err)
{
    int64_t n;
    OC_TRY(oci_env_tick(self->env, err));
    OC_TRY(find_rows(self, &n, err));
    if (n == 0) {
        return OC_OK;
    }
    OC_TRY(fit_rows(self, &n, err));
    return read_rows(self, n, out, err);
}

/* Pages differ in size, and nobody knows how large the next ones are: as if all columns had the largest page so
 * far, and as much again for what is done with the rows. */
static void name_limit(const parquet_stream *self, oc_error *err)
{
    char *advice = strstr(err->message, "; raise the memory limit");
    int64_t request = oci_max64(0, err->needed_bytes - oci_budget_used(self->env->budget));
    int64_t most = 2 * request;
    int64_t n_leaves = 0;
    for (int32_t i = 0; i < self->n_columns; i++) {
        const oci_parquet_column_reader *column = &self->columns[i];
        for (int32_t k = 0; k < column->n_leaves; k++) {
            most = oci_max64(most, oci_parquet_leaf_reader_bytes(&column->leaves[k].reader));
        }
        n_leaves += column->n_leaves;
    }
    int64_t enough = oci_max64(2 * oci_budget_limit(self->env->budget), 2 * n_leaves * most);
    char text[OCI_BYTES_TEXT];
    if (advice != NULL) {
        int64_t used = advice - err->message;
        snprintf(advice, sizeof err->message - (size_t)used,
                 ", where each of %lld columns holds a page; a limit of %s is enough",
                 (long long)n_leaves, oci_format_bytes_up(enough, text));
        err->needed_bytes = enough;
    }
}

static oc_status parquet_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    parquet_stream *self = (parquet_stream *)stream;
    *out = NULL;
    if (self->status == OC_OK) {
        self->status = next_rows(self, out, &self->error);
        if (self->status == OC_EBUDGET) {
            name_limit(self, &self->error);
        }
    }
    if (self->status != OC_OK && err != NULL) {
        *err = self->error;
    }
    return self->status;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void parquet_close(oci_stream *stream)
{
    parquet_stream *self = (parquet_stream *)stream;
    for (int32_t i = 0; self->columns != NULL && i < self->n_columns; i++) {
        oci_parquet_column_reader_deinit(&self->columns[i]);
    }
    oci_parquet_column_team_destroy(self->team);
    free(self->tasks);
    free(self->columns);
    free(self->fields);
    oci_parquet_arena_free(&self->arena);
    oci_parquet_schema_destroy(self->schema);
    oci_parquet_metadata_destroy(self->metadata);
    oci_schema_release(self->working);
    oci_schema_release(self->base.schema);
    oci_close(self->file, NULL);
    free(self);
}

static oc_status choose_fields(parquet_stream *self, const oci_parquet_read_options *options,
                               oc_error *err)
{
    bool is_all = options->columns == NULL;
    self->n_columns = is_all ? self->schema->n_nodes : options->n_columns;
    self->fields = calloc((size_t)self->n_columns + 1, sizeof *self->fields);
    self->columns = calloc((size_t)self->n_columns + 1, sizeof *self->columns);
    self->tasks = calloc((size_t)self->n_columns + 1, sizeof *self->tasks);
    if (self->fields == NULL || self->columns == NULL || self->tasks == NULL) {
        return out_of_memory(err);
    }
    for (int32_t i = 0; i < self->n_columns; i++) {
        self->fields[i] = is_all ? i : options->columns[i];
    }
    OC_TRY(oci_schema_select(self->schema->working, self->fields, self->n_columns, &self->working,
                             err));
    return oci_schema_select(self->schema->arrow, self->fields, self->n_columns, &self->base.schema,
                             err);
}

static int64_t window_bytes(const parquet_stream *self)
{
    int64_t n_leaves = 1;
    for (int32_t i = 0; i < self->n_columns; i++) {
        n_leaves += self->schema->nodes[self->fields[i]].n_leaves;
    }
    int64_t part = oci_budget_limit(self->env->budget) / WINDOWS_SHARE / n_leaves;
    return oci_max64(WINDOW_BYTES_MIN, oci_min64(part, WINDOW_BYTES_MAX));
}

static oc_status open_columns(parquet_stream *self, const oci_parquet_read_options *options,
                              oc_error *err)
{
    oci_parquet_column_source source = {.file = self->file,
                                        .schema = self->schema,
                                        .window_bytes = window_bytes(self),
                                        .bytes_read = options->bytes_read,
                                        .mem = self->mem};
    for (int32_t i = 0; i < self->n_columns; i++) {
        OC_TRY(oci_parquet_column_reader_init(&self->columns[i], &source,
                                              &self->schema->nodes[self->fields[i]], err));
        self->columns_below += oci_parquet_columns_below(&self->working->fields[i]);
    }
    return oci_parquet_column_team_create(self->env, self->n_columns, &self->team, err);
}

static oc_status init(parquet_stream *self, const oci_parquet_read_options *options, oc_error *err)
{
    OC_TRY(oci_parquet_metadata_read(self->file, self->mem, &self->metadata, err));
    OC_TRY(oci_parquet_schema_create(self->metadata, self->mem, &self->schema, err));
    OC_TRY(choose_fields(self, options, err));
    return open_columns(self, options, err);
}

oc_status oci_parquet_reader_open(const oci_env *env, oci_file *file,
                                  const oci_parquet_read_options *options, oci_mem *mem,
                                  oci_stream **out, oc_error *err)
{
    parquet_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        oci_close(file, NULL);
        return out_of_memory(err);
    }
    self->base = (oci_stream){.next = parquet_next, .close = parquet_close};
    self->env = env;
    self->file = file;
    self->mem = mem;
    self->predicate = options->predicate;
    self->arena.mem = mem;
    oc_status status = init(self, options, err);
    if (status != OC_OK) {
        parquet_close(&self->base);
        return status;
    }
    *out = &self->base;
    return OC_OK;
}

oc_status oci_parquet_read_schema(oci_file *file, oci_mem *mem, oci_schema **out, oc_error *err)
{
    oci_parquet_metadata *metadata;
    oci_parquet_schema *schema = NULL;
    OC_TRY(oci_parquet_metadata_read(file, mem, &metadata, err));
    oc_status status = oci_parquet_schema_create(metadata, mem, &schema, err);
    if (status == OC_OK) {
        *out = oci_schema_retain(schema->arrow);
    }
    oci_parquet_schema_destroy(schema);
    oci_parquet_metadata_destroy(metadata);
    return status;
}
