/* oc_read_files: some files, one after the other, as one stream.
 *
 * Copies of the request come from malloc, bounded by what the caller gave.
 *
 * The first file is opened at once, since its header is the schema; the others when their turn
 * comes. They must have the same columns. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/context.h"
#include "api/file_format.h"
#include "api/files.h"
#include "api/schema_merge.h"
#include "api/spill_input.h"
#include "formats/csv.h"
#include "formats/parquet/parquet_reader.h"
#include "ipc/reader.h"
#include "spill/run_summary.h"

typedef struct files_stream {
    oci_stream base; /* must be first */
    oc_context *context;
    oc_read_options options; /* texts point into what follows */
    char **paths;
    size_t n_paths;
    size_t next_path;
    char **select;
    char *null_text;
    oci_schema *declared; /* CSV: declared columns, or NULL */
    oci_read_hints hints;
    oci_schema *merged; /* of several Parquet files, all columns; NULL else */
    oci_stream *current;
} files_stream;

/* ---- copies of what the caller gave ---------------------------------------------------------- */

static void free_texts(char **texts, size_t n)
{
    for (size_t i = 0; texts != NULL && i < n; i++) {
        free(texts[i]);
    }
    free(texts);
}

static char **copy_texts(const char *const *texts, size_t n)
{
    char **copies = calloc(n + 1, sizeof *copies);
    bool complete = copies != NULL;
    for (size_t i = 0; complete && i < n; i++) {
        copies[i] = strdup(texts[i]);
        complete = copies[i] != NULL;
    }
    if (!complete) {
        free_texts(copies, n);
        return NULL;
    }
    return copies;
}

static oc_status copy_request(files_stream *self, const char *const *paths, size_t n_paths,
                              oc_error *err)
{
    oc_read_options *options = &self->options;
    self->paths = copy_texts(paths, n_paths);
    self->n_paths = self->paths == NULL ? 0 : n_paths;
    bool complete = self->paths != NULL;
    if (options->select != NULL) {
        self->select = copy_texts(options->select, options->n_select);
        complete = complete && self->select != NULL;
    }
    if (options->null_text != NULL) {
        self->null_text = strdup(options->null_text);
        complete = complete && self->null_text != NULL;
    }
    if (!complete) {
        OC_FAIL(err, OC_ENOMEM, "could not open files: out of memory");
    }
    if (options->columns != NULL) {
        OC_TRY(oci_parse_columns(options->columns, &self->declared, err));
    }
    return OC_OK;
}

/* ---- one file -------------------------------------------------------------------------------- */

static oc_status open_path(oc_context *context, const char *path, oci_file **out, oc_error *err)
{
    if (strcmp(path, "-") == 0) {
        return context->env.io->wrap(context->env.io, STDIN_FILENO, "standard input", out, err);
    }
    return oci_open(context->env.io, path, OCI_OPEN_READ, out, err);
}

static oci_csv_options csv_options(files_stream *self, oc_format format)
{
    const oc_read_options *given = &self->options;
    oci_csv_options options = {
        .delimiter = given->delimiter,
        .header = given->header == 1   ? 1
                  : given->header == 2 ? 0
                                       : -1,
        .declared = self->declared,
        .null_text = self->null_text,
        .select = (const char *const *)self->select,
        .n_select = self->select == NULL ? 0 : (int32_t)given->n_select,
        .bytes_read = &self->context->progress.input_bytes,
    };
    if (format == OC_FORMAT_TSV && options.delimiter == 0) {
        options.delimiter = '\t';
    }
    if (format == OC_FORMAT_TBL) {
        options.delimiter = options.delimiter == 0 ? '|' : options.delimiter;
        options.quote = (char)-1;
        options.header = options.header < 0 ? 0 : options.header;
        options.trailing_delimiter = true;
    }
    return options;
}

static oc_status find_columns(files_stream *self, const oci_schema *schema, int32_t *indices,
                              oc_error *err)
{
    for (size_t i = 0; i < self->options.n_select; i++) {
        OC_TRY(oci_schema_find(schema, self->select[i], &indices[i], err));
    }
    return OC_OK;
}

/* The reader of Arrow streams would give the columns of a spill file as they lie. */
static oc_status refuse_spill_pipe(oci_stream **stream, const char *path, oc_error *err)
{
    if (!oci_is_spill_schema((*stream)->schema)) {
        return OC_OK;
    }
    oci_stream_close(*stream);
    *stream = NULL;
    OC_FAIL(err, OC_EUNSUPPORTED,
            "could not read %s: it is a spill file, which is read by name and not from a pipe",
            strcmp(path, "-") == 0 ? "standard input" : path);
}

/* Takes the file. */
static oc_status open_arrow(files_stream *self, oci_file *file, oci_stream **out, oc_error *err)
{
    oc_context *context = self->context;
    oci_ipc_read_options options = {
        .temp_dir = oci_context_temp_folder(context),
        .bytes_read = &context->progress.input_bytes,
    };
    int32_t *indices = NULL;
    if (self->select != NULL && file->seekable) {
        /* Only the columns wanted are read. A pipe's schema cannot be looked at beforehand: there
         * they are dropped afterwards. */
        oci_schema *schema = NULL;
        indices = calloc(self->options.n_select + 1, sizeof *indices);
        oc_status status =
            indices == NULL
                ? OC_SET(err, OC_ENOMEM, "could not open \"%s\": out of memory", file->name)
                : oci_ipc_read_schema(file, &schema, err);
        if (status == OC_OK) {
            status = find_columns(self, schema, indices, err);
        }
        oci_schema_release(schema);
        if (status != OC_OK) {
            free(indices);
            oci_close(file, NULL);
            return status;
        }
        options.columns = indices;
        options.n_columns = (int32_t)self->options.n_select;
    }
    oc_status status = oci_ipc_reader_open(&context->env, file, &options, context->scan, out, err);
    free(indices);
    return status;
}

/* The columns to read of a Parquet file: those that are wanted, and of several files those of them that this one has. */
static oc_status choose_parquet(files_stream *self, const oci_schema *schema, int32_t **indices,
                                int32_t *n, oc_error *err)
{
    const oci_schema *whole = self->base.schema; /* NULL: this is the only file, or the first */
    bool is_one_of_many = self->merged != NULL && whole != NULL;
    *n = is_one_of_many ? whole->n_fields : (int32_t)self->options.n_select;
    *indices = calloc((size_t)*n + 1, sizeof **indices);
    if (*indices == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open a file: out of memory");
    }
    if (!is_one_of_many) {
        return find_columns(self, schema, *indices, err);
    }
    int32_t found = 0;
    for (int32_t i = 0; i < whole->n_fields; i++) {
        for (int32_t k = 0; k < schema->n_fields; k++) {
            if (strcmp(schema->fields[k].name, whole->fields[i].name) == 0) {
                (*indices)[found++] = k;
                break;
            }
        }
    }
    *n = found;
    return OC_OK;
}

/* Takes the file. */
static oc_status open_parquet(files_stream *self, oci_file *file, oci_stream **out, oc_error *err)
{
    oc_context *context = self->context;
    oci_parquet_read_options options = {.bytes_read = &context->progress.input_bytes};
    oci_schema *schema = NULL;
    int32_t *indices = NULL;
    oc_status status = OC_OK;
    bool is_one_of_many = self->merged != NULL && self->base.schema != NULL;
    if (!file->seekable) {
        status = OC_SET(err, OC_EUNSUPPORTED,
                        "could not read %s: Parquet is read by name and not from a pipe, since its "
                        "metadata lies at the end",
                        file->name);
    } else {
        status = oci_parquet_read_schema(file, context->scan, &schema, err);
    }
    if (status == OC_OK && (is_one_of_many || self->select != NULL)) {
        status = choose_parquet(self, schema, &indices, &options.n_columns, err);
        options.columns = indices;
        options.n_columns = self->hints.counts_only ? 0 : options.n_columns;
    }
    if (status == OC_OK) {
        /* What is wanted counts columns as the table has them. */
        bool is_same = self->merged == NULL || oci_schema_has_same_types(self->merged, schema);
        options.predicate = is_same ? self->hints.wanted : NULL;
        status = oci_parquet_reader_open(&context->env, file, &options, context->scan, out, err);
    } else {
        oci_close(file, NULL);
    }
    oci_schema_release(schema);
    free(indices);
    if (status == OC_OK && is_one_of_many) {
        status = oci_schema_adapt(context, *out, self->base.schema, out, err);
    }
    return status;
}

/* Takes the file. */
static oc_status open_arrow_or_spill(files_stream *self, const char *path, oci_file *file,
                                     oci_stream **out, oc_error *err)
{
    bool is_spill;
    oc_status status = oci_is_spill_input(file, &is_spill, err);
    if (status != OC_OK) {
        oci_close(file, NULL);
        return status;
    }
    if (is_spill) {
        return oci_spill_input_open(self->context, file, NULL, out, err);
    }
    OC_TRY(open_arrow(self, file, out, err));
    return refuse_spill_pipe(out, path, err);
}

static oc_status open_file(files_stream *self, const char *path, oci_stream **out, oc_error *err)
{
    oc_context *context = self->context;
    oci_file *file;
    OC_TRY(open_path(context, path, &file, err));
    oc_format format = self->options.format;
    if (format == OC_FORMAT_AUTO) {
        format = oci_format_of_name(path);
    }
    if (format == OC_FORMAT_AUTO) {
        OC_TRY(oci_format_of_content(&file, &format, err));
    }
    switch (format) {
    case OC_FORMAT_CSV:
    case OC_FORMAT_TSV:
    case OC_FORMAT_TBL: {
        oci_csv_options options = csv_options(self, format);
        return oci_csv_reader_open(&context->env, file, &options, context->scan, out, err);
    }
    case OC_FORMAT_ARROW:
    case OC_FORMAT_ARROWS: return open_arrow_or_spill(self, path, file, out, err);
    case OC_FORMAT_PARQUET: return open_parquet(self, file, out, err);
    default:
        oci_close(file, NULL);
        OC_FAIL(err, OC_EUNSUPPORTED,
                "could not read file \"%s\": its format can be written only; give the format of "
                "the input",
                path);
    }
}

/* ---- the stream ------------------------------------------------------------------------------ */

static oc_status check_same_columns(const files_stream *self, const oci_schema *schema,
                                    const char *path, oc_error *err)
{
    const oci_schema *first = self->base.schema;
    if (first->n_fields != schema->n_fields) {
        OC_FAIL(
            err, OC_EDATA,
            "file \"%s\" has %d columns, but \"%s\" has %d; files read together must have the same",
            path, schema->n_fields, self->paths[0], first->n_fields);
    }
    for (int32_t i = 0; i < first->n_fields; i++) {
        const oci_field *a = &first->fields[i];
        const oci_field *b = &schema->fields[i];
        if (!oci_field_same_type(a, b) || strcmp(a->name, b->name) != 0) {
            char a_type[128];
            char b_type[128];
            oci_field_type_text(a, a_type, sizeof a_type);
            oci_field_type_text(b, b_type, sizeof b_type);
            OC_FAIL(err, OC_EDATA,
                    "column %d is \"%s\" %s in file \"%s\", but \"%s\" %s in \"%s\"; files read "
                    "together must have "
                    "the same columns (CSV: declare them)",
                    i + 1, b->name, b_type, path, a->name, a_type, self->paths[0]);
        }
    }
    return OC_OK;
}

/* Of several Parquet files the footers are read at once, since their columns may widen. */
static oc_status merge_schemas(files_stream *self, oc_error *err)
{
    for (size_t i = 0; i < self->n_paths; i++) {
        oci_file *file;
        oci_schema *schema;
        OC_TRY(open_path(self->context, self->paths[i], &file, err));
        oc_status status = oci_parquet_read_schema(file, self->context->scan, &schema, err);
        oci_close(file, NULL);
        OC_TRY(status);
        if (self->merged == NULL) {
            self->merged = schema;
            continue;
        }
        oci_schema *both = NULL;
        status = oci_schema_merge(self->merged, self->paths[0], schema, self->paths[i], &both, err);
        oci_schema_release(schema);
        OC_TRY(status);
        oci_schema_release(self->merged);
        self->merged = both;
    }
    if (self->select == NULL) {
        self->base.schema = oci_schema_retain(self->merged);
        return OC_OK;
    }
    int32_t *indices = calloc(self->options.n_select + 1, sizeof *indices);
    if (indices == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open files: out of memory");
    }
    int32_t n = self->hints.counts_only ? 0 : (int32_t)self->options.n_select;
    oc_status status = find_columns(self, self->merged, indices, err);
    if (status == OC_OK) {
        status = oci_schema_select(self->merged, indices, n, &self->base.schema, err);
    }
    free(indices);
    return status;
}

static oc_status is_parquet(files_stream *self, const char *path, bool *out, oc_error *err)
{
    oc_format format = self->options.format;
    oci_file *file;
    if (format == OC_FORMAT_AUTO) {
        format = oci_format_of_name(path);
    }
    if (format == OC_FORMAT_AUTO && strcmp(path, "-") != 0) {
        OC_TRY(open_path(self->context, path, &file, err));
        if (file->seekable) { /* a pipe is none, and must not be looked at */
            OC_TRY(oci_format_of_content(&file, &format, err));
        }
        oci_close(file, NULL);
    }
    *out = format == OC_FORMAT_PARQUET;
    return OC_OK;
}

static oc_status open_next(files_stream *self, oc_error *err)
{
    const char *path = self->paths[self->next_path++];
    OC_TRY(open_file(self, path, &self->current, err));
    if (self->base.schema == NULL) {
        self->base.schema = oci_schema_retain(self->current->schema);
        return OC_OK;
    }
    return check_same_columns(self, self->current->schema, path, err);
}

static oc_status files_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    files_stream *self = (files_stream *)stream;
    *out = NULL;
    for (;;) {
        if (self->current == NULL) {
            if (self->next_path == self->n_paths) {
                return OC_OK;
            }
            OC_TRY(open_next(self, err));
        }
        OC_TRY(oci_stream_next(self->current, out, err));
        if (*out != NULL) {
            return OC_OK;
        }
        oci_stream_close(self->current);
        self->current = NULL;
    }
}

static void files_close(oci_stream *stream)
{
    files_stream *self = (files_stream *)stream;
    oci_stream_close(self->current);
    oci_schema_release(self->base.schema);
    oci_schema_release(self->declared);
    oci_schema_release(self->merged);
    free_texts(self->paths, self->n_paths);
    free_texts(self->select, self->options.n_select);
    free(self->null_text);
    free(self);
}

/* Sizes of regular files, for progress; a pipe among them makes the total unknown. Nothing is
 * opened for it: a named pipe whose writer is done would wait for another one. */
static void note_total(oc_context *context, char *const *paths, size_t n_paths)
{
    int64_t total = 0;
    for (size_t i = 0; i < n_paths; i++) {
        struct stat info;
        if (strcmp(paths[i], "-") == 0 || stat(paths[i], &info) != 0 || !S_ISREG(info.st_mode)) {
            total = -1;
            break;
        }
        total += info.st_size;
    }
    atomic_store(&context->progress.input_bytes_total, total);
}

static oc_status open_files(oc_context *context, const char *const *paths, size_t n_paths,
                            const oc_read_options *options, const oci_read_hints *hints,
                            files_stream **out, oc_error *err)
{
    if (n_paths == 0) {
        OC_FAIL(err, OC_EINVAL, "no input file given");
    }
    files_stream *self = calloc(1, sizeof *self);
    if (self == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open files: out of memory");
    }
    self->base = (oci_stream){.next = files_next, .close = files_close};
    self->context = context;
    self->hints = hints != NULL ? *hints : (oci_read_hints){.wanted = NULL};
    self->options = (oc_read_options)OC_READ_OPTIONS_INIT;
    oc_status status = OC_OK;
    if (options != NULL) {
        status = oci_copy_options(&self->options, options, options->struct_size,
                                  sizeof self->options, "read options", err);
    }
    if (status == OC_OK) {
        status = copy_request(self, paths, n_paths, err);
    }
    bool is_many = n_paths > 1;
    if (status == OC_OK && is_many) {
        status = is_parquet(self, self->paths[0], &is_many, err);
    }
    if (status == OC_OK && is_many) {
        status = merge_schemas(self, err);
    }
    if (status == OC_OK) {
        status = open_next(self, err);
    }
    if (status != OC_OK) {
        files_close(&self->base);
        return status;
    }
    *out = self;
    return OC_OK;
}

/* Whether the columns of the stream are the wanted ones already. */
static bool is_selected(const files_stream *self)
{
    if (self->select == NULL || (size_t)self->base.schema->n_fields != self->options.n_select) {
        return self->select == NULL;
    }
    for (size_t i = 0; i < self->options.n_select; i++) {
        if (strcasecmp(self->base.schema->fields[i].name, self->select[i]) != 0) {
            return false;
        }
    }
    return true;
}

oc_status oci_read_files(oc_context *context, const char *const *paths, size_t n_paths,
                         const oc_read_options *options, const oci_read_hints *hints,
                         oci_stream **out, oc_error *err)
{
    files_stream *self;
    atomic_store(&context->progress.phase, "reading");
    OC_TRY(open_files(context, paths, n_paths, options, hints, &self, err));
    note_total(context, self->paths, self->n_paths);
    *out = &self->base;
    return OC_OK;
}

oc_status oc_read_files(oc_context *context, const char *const *paths, size_t n_paths,
                        const oc_read_options *options, struct ArrowArrayStream *output,
                        oc_error *error)
{
    output->release = NULL;
    files_stream *self;
    atomic_store(&context->progress.phase,
                 "reading"); /* a CSV sample from a slow pipe takes its time */
    OC_TRY(open_files(context, paths, n_paths, options, NULL, &self, error));
    note_total(context, self->paths, self->n_paths);
    if (is_selected(self)) {
        return oci_context_export(context, &self->base, self->base.schema, output, error);
    }
    /* A pipe: all columns were read, the wanted ones are picked. */
    struct ArrowArrayStream all;
    OC_TRY(oci_context_export(context, &self->base, self->base.schema, &all, error));
    return oc_select(context, &all, options->select, options->n_select, output, error);
}
