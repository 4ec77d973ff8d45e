/* See sql_files.h. A table has a copy of the request (paths, options), from malloc, and opens the files anew for each
 * query, with the columns that it wants. */
#include "api/sql_files.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "api/context.h"
#include "api/files.h"
#include "base/text.h"
#include "ops/relational/relational.h"

typedef struct file_table {
    oci_table base; /* must be first */
    oc_session *session;
    char **paths;
    size_t n_paths;
    oc_read_options options;
    char *columns;
    char *null_text;
} file_table;

/* ---- patterns -------------------------------------------------------------------------------- */

typedef struct path_list {
    char **paths;
    size_t n;
    size_t room;
} path_list;

static void free_paths(path_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        free(list->paths[i]);
    }
    free(list->paths);
    *list = (path_list){0};
}

static oc_status add_path(path_list *list, const char *path, oc_error *err)
{
    if (list->n == list->room) {
        size_t room = 2 * list->room + 16;
        char **longer = calloc(room, sizeof(char *));
        if (longer == NULL) {
            OC_FAIL(err, OC_ENOMEM, "could not list files: out of memory");
        }
        if (list->n > 0) {
            memcpy(longer, list->paths, list->n * sizeof(char *));
        }
        free(list->paths);
        list->paths = longer;
        list->room = room;
    }
    list->paths[list->n] = strdup(path);
    if (list->paths[list->n] == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not list files: out of memory");
    }
    list->n++;
    return OC_OK;
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* All files in a folder whose names fit `pattern` (NULL: any), and in those below it. Hidden ones do not count. */
static oc_status walk_folder(const char *folder, const char *pattern, int depth, path_list *out,
                             oc_error *err)
{
    DIR *dir = opendir(folder);
    oc_status status = OC_OK;
    if (dir == NULL || depth > 64) {
        if (dir != NULL) {
            closedir(dir);
        }
        OC_FAIL(err, OC_EIO, "could not read folder \"%s\"", folder);
    }
    for (struct dirent *entry = readdir(dir); status == OC_OK && entry != NULL;
         entry = readdir(dir)) {
        char path[4096];
        if (entry->d_name[0] == '.' || entry->d_name[0] == '_') {
            continue;
        }
        if (snprintf(path, sizeof path, "%s/%s", folder, entry->d_name) >= (int)sizeof path) {
            continue;
        }
        if (is_folder(path)) {
            status = walk_folder(path, pattern, depth + 1, out, err);
        } else if (pattern == NULL || fnmatch(pattern, entry->d_name, 0) == 0) {
            status = add_path(out, path, err);
        }
    }
    closedir(dir);
    return status;
}

static oc_status glob_paths(const char *pattern, path_list *out, oc_error *err)
{
    glob_t found;
    int code = glob(pattern, GLOB_MARK, NULL, &found);
    oc_status status = code == GLOB_NOSPACE
                           ? OC_SET(err, OC_ENOMEM, "could not list files: out of memory")
                           : OC_OK;
    for (size_t i = 0; code == 0 && status == OC_OK && i < found.gl_pathc; i++) {
        size_t length = strlen(found.gl_pathv[i]);
        if (found.gl_pathv[i][length - 1] != '/') {
            status = add_path(out, found.gl_pathv[i], err);
        }
    }
    if (code == 0) {
        globfree(&found);
    }
    return status;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A folder, folder/ ** /pattern, a glob, or one path, which need not exist yet. */
static oc_status expand(const char *pattern, path_list *out, oc_error *err)
{
    struct stat info;
    const char *deep = strstr(pattern, "**");
    bool exists = stat(pattern, &info) == 0;
    if (exists && S_ISDIR(info.st_mode)) {
        OC_TRY(walk_folder(pattern, NULL, 0, out, err));
    } else if (exists || strpbrk(pattern, "*?[") == NULL) {
        return add_path(out, pattern, err);
    } else if (deep != NULL) {
        char folder[4096];
        int length = (int)(deep - pattern);
        const char *name = strrchr(deep, '/') != NULL ? strrchr(deep, '/') + 1 : NULL;
        snprintf(folder, sizeof folder, "%.*s", length > 1 ? length - 1 : 1,
                 length > 0 ? pattern : ".");
        OC_TRY(walk_folder(folder, name, 0, out, err));
    } else {
        OC_TRY(glob_paths(pattern, out, err));
    }
    if (out->n == 0) {
        OC_FAIL(err, OC_EINVAL, "no file matches \"%s\"", pattern);
    }
    qsort(out->paths, out->n, sizeof(char *), by_name);
    return OC_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static bool is_true(const char *value)
{
    return strcasecmp(value, "true") == 0 || strcasecmp(value, "yes") == 0 ||
           strcasecmp(value, "on") == 0 || strcmp(value, "1") == 0;
}

static oc_status parse_format(const char *name, oc_format *out, oc_error *err)
{
    *out = OC_FORMAT_AUTO;
    if (name == NULL) {
        return OC_OK;
    }
    if (strcasecmp(name, "arrow") == 0 || strcasecmp(name, "ipc") == 0) {
        return OC_OK; /* file and stream format are told apart by their first bytes */
    }
    if (!oc_format_parse(name, out)) {
        OC_FAIL(err, OC_EINVAL,
                "unknown format \"%s\"; there are csv, tsv, tbl, arrow, arrows, parquet", name);
    }
    return OC_OK;
}

static oc_status delimiter_of(const char *value, char *out, oc_error *err)
{
    *out = strcmp(value, "\\t") == 0 ? '\t' : value[0];
    if (value[0] == '\0' || (value[1] != '\0' && strcmp(value, "\\t") != 0)) {
        OC_FAIL(err, OC_EINVAL, "a delimiter is one byte, not \"%s\"", value);
    }
    return OC_OK;
}

static oc_status read_option(file_table *table, const oci_option *option, oc_error *err)
{
    const char *name = option->name;
    if (strcmp(name, "delimiter") == 0 || strcmp(name, "sep") == 0 || strcmp(name, "delim") == 0) {
        return delimiter_of(option->value, &table->options.delimiter, err);
    }
    if (strcmp(name, "header") == 0 || strcmp(name, "has_header") == 0) {
        table->options.header = is_true(option->value) ? 1 : 2;
        return OC_OK;
    }
    if (strcmp(name, "null") == 0 || strcmp(name, "nullstr") == 0 ||
        strcmp(name, "null_value") == 0) {
        table->null_text = strdup(option->value);
        table->options.null_text = table->null_text;
        if (table->null_text == NULL) {
            OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
        }
        return OC_OK;
    }
    OC_FAIL(err, OC_EINVAL, "unknown option \"%s\" of a file; there are delimiter, header, null",
            name);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void file_table_destroy(oci_table *base)
{
    file_table *table = (file_table *)base;
    for (size_t i = 0; i < table->n_paths; i++) {
        free(table->paths[i]);
    }
    free(table->paths);
    free(table->columns);
    free(table->null_text);
    free(base->name);
    oci_schema_release(base->schema);
    free(table);
}

/* The wanted columns out of those that came. */
static oc_status pick(oc_context *context, oci_stream *stream, const char *const *names, int32_t n,
                      oci_stream **out, oc_error *err)
{
    oci_expr **exprs = calloc((size_t)n + 1, sizeof(oci_expr *));
    int32_t *indices = calloc((size_t)n + 1, sizeof *indices);
    oci_schema *schema = NULL;
    oc_status status = exprs == NULL || indices == NULL
                           ? OC_SET(err, OC_ENOMEM, "could not open a table: out of memory")
                           : OC_OK;
    for (int32_t i = 0; status == OC_OK && i < n; i++) {
        status = oci_schema_find(stream->schema, names[i], &indices[i], err);
        if (status == OC_OK) {
            status = oci_expr_column(stream->schema, indices[i], -1, &exprs[i], err);
        }
    }
    if (status == OC_OK) {
        status = oci_schema_select(stream->schema, indices, n, &schema, err);
    }
    oci_relational common = {.env = &context->env, .mem = context->scan};
    if (status == OC_OK) {
        status = oci_project_open(&common, stream, exprs, schema, out, err);
    } else {
        oci_stream_close(stream);
    }
    for (int32_t i = 0; exprs != NULL && i < n; i++) {
        oci_expr_release(exprs[i]);
    }
    free(exprs);
    free(indices);
    oci_schema_release(schema);
    return status;
}

static bool has_columns(const oci_schema *schema, const char *const *names, int32_t n)
{
    bool same = schema->n_fields == n;
    for (int32_t i = 0; same && i < n; i++) {
        same = names[i] != NULL && strcmp(schema->fields[i].name, names[i]) == 0;
    }
    return same;
}

static oc_status file_table_read(oci_table *base, const int32_t *columns, int32_t n,
                                 const oci_predicate *wanted, oci_stream **out, oc_error *err)
{
    file_table *table = (file_table *)base;
    oc_context *context = oc_session_context(table->session);
    oc_read_options options = table->options;
    const char **names = calloc((size_t)n + 1, sizeof(char *));
    if (names == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
    }
    for (int32_t i = 0; i < n; i++) {
        names[i] = base->schema->fields[columns[i]].name;
    }
    /* No column at all: rows are counted by the first one. */
    if (n == 0) {
        names[0] = base->schema->n_fields > 0 ? base->schema->fields[0].name : NULL;
    }
    bool is_all = has_columns(base->schema, names, n);
    options.select = is_all || names[0] == NULL ? NULL : names;
    options.n_select = options.select == NULL ? 0 : n == 0 ? 1 : (size_t)n;
    oci_read_hints hints = {.wanted = wanted, .counts_only = n == 0};
    oc_status status = oci_read_files(context, (const char *const *)table->paths, table->n_paths,
                                      &options, &hints, out, err);
    if (status == OC_OK && !has_columns((*out)->schema, names, n)) {
        status = pick(context, *out, names, n, out, err);
    }
    free(names);
    return status;
}

static const struct oci_table_ops file_table_ops = {.open = file_table_read,
                                                    .destroy = file_table_destroy};

/* Opens the files once, for the schema. */
static oc_status find_schema(file_table *table, oc_error *err)
{
    oci_stream *stream;
    oc_context *context = oc_session_context(table->session);
    OC_TRY(oci_read_files(context, (const char *const *)table->paths, table->n_paths,
                          &table->options, NULL, &stream, err));
    table->base.schema = oci_schema_retain(stream->schema);
    oci_stream_close(stream);
    return OC_OK;
}

static oc_status fill_table(file_table *table, const char *pattern, const char *format,
                            const char *columns, const oci_option *options, int32_t n_options,
                            oc_error *err)
{
    path_list paths = {0};
    table->base.name = strdup(pattern);
    table->columns = columns == NULL ? NULL : strdup(columns);
    if (table->base.name == NULL || (columns != NULL && table->columns == NULL)) {
        OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
    }
    table->options = (oc_read_options)OC_READ_OPTIONS_INIT;
    table->options.columns = table->columns;
    OC_TRY(parse_format(format, &table->options.format, err));
    for (int32_t i = 0; i < n_options; i++) {
        OC_TRY(read_option(table, &options[i], err));
    }
    oc_status status = expand(pattern, &paths, err);
    if (status != OC_OK) {
        free_paths(&paths);
        return status;
    }
    table->paths = paths.paths;
    table->n_paths = paths.n;
    return find_schema(table, err);
}

oc_status oci_file_table_open(oc_session *session, const char *pattern, const char *format,
                              const char *columns, const oci_option *options, int32_t n_options,
                              oci_table **out, oc_error *err)
{
    file_table *table = calloc(1, sizeof *table);
    if (table == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
    }
    table->base = (oci_table){.ops = &file_table_ops, .rows = -1};
    atomic_init(&table->base.references, 1);
    table->session = session;
    oc_status status = fill_table(table, pattern, format, columns, options, n_options, err);
    if (status != OC_OK) {
        file_table_destroy(&table->base);
        return status;
    }
    *out = &table->base;
    return OC_OK;
}

static oc_status open_table(void *self, const char *pattern, const char *format,
                            const oci_option *options, int32_t n_options, oci_table **out,
                            oc_error *err)
{
    return oci_file_table_open(self, pattern, format, NULL, options, n_options, out, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* A codec by name, for zstd, gzip and brotli with a level in brackets, as in "zstd(3)". */
static oc_status codec_of(const char *value, oc_write_options *options, oc_error *err)
{
    static const struct {
        const char *name;
        oc_codec codec;
    } codecs[] = {
        {"none", OC_CODEC_NONE},     {"uncompressed", OC_CODEC_NONE}, {"lz4", OC_CODEC_LZ4},
        {"lz4_raw", OC_CODEC_LZ4},   {"lz4_frame", OC_CODEC_LZ4},     {"zstd", OC_CODEC_ZSTD},
        {"snappy", OC_CODEC_SNAPPY}, {"gzip", OC_CODEC_GZIP},         {"brotli", OC_CODEC_BROTLI},
    };
    size_t length = strcspn(value, "(");
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strlen(codecs[i].name) == length && strncasecmp(value, codecs[i].name, length) == 0) {
            options->codec = codecs[i].codec;
            options->codec_level = value[length] == '('
                                       ? (int32_t)strtol(value + length + 1, NULL, 10)
                                       : options->codec_level;
            return OC_OK;
        }
    }
    OC_FAIL(err, OC_EINVAL,
            "unknown compression \"%s\"; there are none, lz4, zstd, and for Parquet snappy, gzip, "
            "brotli",
            value);
}

static oc_status count_of(const oci_option *option, int64_t *out, oc_error *err)
{
    char *end;
    errno = 0;
    long long value = strtoll(option->value, &end, 10);
    if (end == option->value || *end != '\0' || errno != 0 || value < INT32_MIN) {
        OC_FAIL(err, OC_EINVAL, "option %s takes a whole number, not \"%s\"", option->name,
                option->value);
    }
    *out = value;
    return OC_OK;
}

static oc_status write_option(oc_write_options *options, const oci_option *option, oc_error *err)
{
    if (strcmp(option->name, "delimiter") == 0 || strcmp(option->name, "sep") == 0) {
        return delimiter_of(option->value, &options->delimiter, err);
    }
    if (strcmp(option->name, "header") == 0) {
        options->header = is_true(option->value) ? 1 : 2;
        return OC_OK;
    }
    if (strcmp(option->name, "null") == 0) {
        options->null_text = option->value;
        return OC_OK;
    }
    if (strcmp(option->name, "compression") == 0 || strcmp(option->name, "codec") == 0) {
        return codec_of(option->value, options, err);
    }
    if (strcmp(option->name, "compression_level") == 0) {
        int64_t level;
        OC_TRY(count_of(option, &level, err));
        options->codec_level = (int32_t)level;
        return OC_OK;
    }
    if (strcmp(option->name, "row_group_size") == 0) {
        return count_of(option, &options->row_group_rows, err);
    }
    if (strcmp(option->name, "row_group_size_bytes") == 0) {
        return oci_parse_size(option->value, &options->row_group_bytes, err);
    }
    OC_FAIL(
        err, OC_EINVAL,
        "unknown option \"%s\" of COPY; there are format, delimiter, header, null, compression, "
        "compression_level, row_group_size, row_group_size_bytes",
        option->name);
}

static oc_status write_rows(void *self, oci_stream *rows, const char *path, const char *format,
                            const oci_option *options, int32_t n_options, int64_t *n_rows,
                            oc_error *err)
{
    oc_write_options given = OC_WRITE_OPTIONS_INIT;
    oc_status status = parse_format(format, &given.format, err);
    bool is_stream = format != NULL && strcasecmp(format, "arrows") == 0;
    bool is_arrow = format != NULL &&
                    (strcasecmp(format, "arrow") == 0 || strcasecmp(format, "ipc") == 0);
    given.format = is_stream ? OC_FORMAT_ARROWS : is_arrow ? OC_FORMAT_ARROW : given.format;
    for (int32_t i = 0; status == OC_OK && i < n_options; i++) {
        status = write_option(&given, &options[i], err);
    }
    if (status == OC_OK) {
        status = oci_write_file(oc_session_context(self), rows, path, &given, n_rows, err);
    }
    oci_stream_close(rows);
    return status;
}

void oci_file_tables_init(oci_file_tables *files, oc_session *session)
{
    *files = (oci_file_tables){.open = open_table, .write = write_rows, .self = session};
}

/* ---- streams --------------------------------------------------------------------------------- */

typedef struct stream_table {
    oci_table base;     /* must be first */
    oci_stream *stream; /* NULL once it was read */
} stream_table;

static void stream_table_destroy(oci_table *base)
{
    oci_stream_close(((stream_table *)base)->stream);
    oci_schema_release(base->schema);
    free(base->name);
    free(base);
}

typedef struct picked_stream {
    oci_stream base; /* must be first */
    oci_stream *input;
    int32_t *indices;
} picked_stream;

static oc_status picked_next(oci_stream *stream, oci_batch **out, oc_error *err)
{
    picked_stream *self = (picked_stream *)stream;
    oci_batch *batch;
    *out = NULL;
    OC_TRY(oci_stream_next(self->input, &batch, err));
    if (batch == NULL) {
        return OC_OK;
    }
    oc_status status = oci_batch_select(batch, self->base.schema, self->indices, out, err);
    oci_batch_release(batch);
    return status;
}

static void picked_close(oci_stream *stream)
{
    picked_stream *self = (picked_stream *)stream;
    oci_stream_close(self->input);
    oci_schema_release(self->base.schema);
    free(self->indices);
    free(self);
}

static oc_status stream_table_read(oci_table *base, const int32_t *columns, int32_t n,
                                   const oci_predicate *wanted, oci_stream **out, oc_error *err)
{
    (void)wanted;
    stream_table *table = (stream_table *)base;
    if (table->stream == NULL) {
        OC_FAIL(err, OC_EINVAL, "table \"%s\" is a stream, which can be read once, and was",
                base->name);
    }
    picked_stream *self = calloc(1, sizeof *self);
    int32_t *indices = calloc((size_t)n + 1, sizeof *indices);
    if (self == NULL || indices == NULL) {
        free(self);
        free(indices);
        OC_FAIL(err, OC_ENOMEM, "could not open a table: out of memory");
    }
    memcpy(indices, columns, (size_t)n * sizeof *indices);
    *self =
        (picked_stream){.base = {.next = picked_next, .close = picked_close}, .indices = indices};
    oc_status status = oci_schema_select(base->schema, columns, n, &self->base.schema, err);
    if (status != OC_OK) {
        picked_close(&self->base);
        return status;
    }
    self->input = table->stream;
    table->stream = NULL;
    *out = &self->base;
    return OC_OK;
}

static const struct oci_table_ops stream_table_ops = {.open = stream_table_read,
                                                      .destroy = stream_table_destroy};

oc_status oci_stream_table_open(const char *name, oci_stream *stream, oci_table **out,
                                oc_error *err)
{
    stream_table *table = calloc(1, sizeof *table);
    char *copy = strdup(name);
    if (table == NULL || copy == NULL) {
        free(table);
        free(copy);
        oci_stream_close(stream);
        OC_FAIL(err, OC_ENOMEM, "could not add table \"%s\": out of memory", name);
    }
    table->base = (oci_table){.ops = &stream_table_ops, .name = copy, .rows = -1};
    table->base.schema = oci_schema_retain(stream->schema);
    atomic_init(&table->base.references, 1);
    table->stream = stream;
    *out = &table->base;
    return OC_OK;
}
