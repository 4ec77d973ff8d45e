/* What a CSV file looks like. See csv_shape.h.
 *
 *   first record -> delimiter -> number of fields -> header or not -> names
 *   declared columns -> their types;  the others -> types guessed over the sample
 *   selected columns -> the schema of the batches, and where each of its columns is read from
 *
 * Memory: the schema and the lists made on the way to it come from malloc, as schemas do; since the
 * number of columns is the file's choice, an estimate of their size is charged before they are
 * made. */
#include "formats/csv_shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/hash.h"
#include "formats/csv_infer.h"

/* Bytes of bookkeeping per field of the file: three schemas on the way, lists, names. */
enum { FIELD_CHARGE = 3 * (int)sizeof(oci_field) + 200 };
/* Records scanned at a time while guessing types. */
enum { GUESS_RECORDS = 256 };

/* The columns of the file on their way to a schema. */
typedef struct {
    oci_field *fields; /* malloc'ed, of `n` initialised fields; given away to a schema in the end */
    int32_t n;
    int32_t *sources; /* of each: index of the field in the record */
    bool *inferred;
} column_list;

static void free_list(column_list *list)
{
    for (int32_t i = 0; list->fields != NULL && i < list->n; i++) {
        oci_field_deinit(&list->fields[i]);
    }
    free(list->fields);
    free(list->sources);
    free(list->inferred);
    *list = (column_list){0};
}

static oc_status allocate_list(column_list *list, int32_t capacity, oc_error *err)
{
    *list = (column_list){.fields = calloc((size_t)capacity + 1, sizeof *list->fields),
                          .sources = calloc((size_t)capacity + 1, sizeof *list->sources),
                          .inferred = calloc((size_t)capacity + 1, sizeof *list->inferred)};
    if (list->fields == NULL || list->sources == NULL || list->inferred == NULL) {
        free_list(list);
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    return OC_OK;
}

/* ---- options --------------------------------------------------------------------------------- */

static oc_status check_dialect(const oci_csv_options *options, oc_error *err)
{
    static const char reserved[] = "\r\n";
    char d = options->delimiter;
    char q = options->quote;
    if (d != 0 && (strchr(reserved, d) != NULL || d == '"')) {
        OC_FAIL(err, OC_EINVAL, "a delimiter cannot be a line end or a double quote");
    }
    bool has_quote = q != (char)-1;
    char quote = q == 0 ? '"' : q;
    bool alphanumeric = (quote >= '0' && quote <= '9') ||
                        ((quote | 0x20) >= 'a' && (quote | 0x20) <= 'z');
    if (has_quote &&
        (strchr(reserved, quote) != NULL || alphanumeric || strchr("+-.: \\", quote) != NULL)) {
        OC_FAIL(err, OC_EINVAL,
                "a quote cannot be a line end, blank, letter, digit or any of + - . : \\");
    }
    if (has_quote && quote == d) {
        OC_FAIL(err, OC_EINVAL, "delimiter and quote cannot be the same character '%c'", d);
    }
    return OC_OK;
}

static oc_status take_options(oci_csv_shape *shape, const oci_csv_options *options, oc_error *err)
{
    OC_TRY(check_dialect(options, err));
    shape->dialect = (oci_csv_dialect){.delimiter = (uint8_t)options->delimiter,
                                       .quote = options->quote == 0 ? '"' : (uint8_t)options->quote,
                                       .has_quote = options->quote != (char)-1,
                                       .trailing_delimiter = options->trailing_delimiter};
    const char *null_text = options->null_text != NULL ? options->null_text : "";
    shape->null_length = (int64_t)strlen(null_text);
    void *copy;
    OC_TRY(oci_mem_alloc(shape->mem, shape->null_length + 1, &copy, err));
    memcpy(copy, null_text, (size_t)shape->null_length + 1);
    shape->null_text = copy;
    return OC_OK;
}

/* ---- the first record ------------------------------------------------------------------------ */

/* Makes sure that there is a complete record ahead, behind any blank lines; *found is false in an
 * empty file. The blank lines stay (as long as they fit the window): in a file of one column they
 * are rows. *at is where the record starts, until the window moves. `blank_too`: a blank line is a
 * record, since only one column is declared. */
static oc_status find_first_record(oci_csv_window *window, const oci_csv_dialect *dialect,
                                   bool blank_too, bool *found, int64_t *at, oc_error *err)
{
    int64_t n_blank = 0; /* bytes of blank lines ahead */
    for (;;) {
        int64_t n_fields = 0;
        *at = window->start + n_blank;
        int64_t next =
            oci_csv_scan_one(window->data, window->size, *at, dialect, NULL, NULL, &n_fields, NULL);
        if (next >= 0 && (n_fields > 0 || blank_too)) {
            *found = true;
            return window->lf_added && next == window->size && oci_csv_window_has_only_cr(window)
                       ? oci_csv_window_fail_cr(window, err)
                       : OC_OK;
        }
        if (next >= 0) {
            n_blank = next - window->start;
            continue;
        }
        if (window->at_end) {
            *found = false;
            if (*at < window->size) {
                oci_csv_window_consume(window, *at);
                return oci_csv_window_fail_open_quote(window, dialect, err);
            }
            return OC_OK;
        }
        if (n_blank > window->room / 2) {
            oci_csv_window_consume(window, *at);
            n_blank = 0;
        }
        OC_TRY(oci_csv_window_more(window, dialect, err));
    }
}

/* Where the fields of the first record lie. */
typedef struct {
    oci_mem *mem;
    oci_csv_rows rows; /* one row */
    uint32_t *positions;
    int64_t capacity;
    int64_t count;
} first_record;

static void take_position(void *arg, int64_t from, int64_t to, bool quoted)
{
    first_record *first = arg;
    if (first->count < first->capacity) {
        first->positions[first->count++] = (uint32_t)to | (quoted ? OCI_CSV_QUOTED : 0);
        if (first->count == 1) {
            first->positions[0] = (uint32_t)(from - 1);
            first->positions[first->count++] = (uint32_t)to | (quoted ? OCI_CSV_QUOTED : 0);
        }
    }
}

static oc_status take_first_record(const oci_csv_shape *shape, const oci_csv_window *window,
                                   int64_t at, first_record *first, oc_error *err)
{
    int64_t n_fields = 0;
    (void)oci_csv_scan_one(window->data, window->size, at, &shape->dialect, NULL, NULL, &n_fields,
                           NULL);
    void *positions;
    OC_TRY(oci_mem_alloc(shape->mem, (n_fields + 1) * (int64_t)sizeof(uint32_t), &positions, err));
    *first = (first_record){.mem = shape->mem, .positions = positions, .capacity = n_fields + 1};
    first->rows = (oci_csv_rows){.data = window->data,
                                 .positions = positions,
                                 .stride = (int32_t)(n_fields + 1),
                                 .n_rows = 1,
                                 .quote = shape->dialect.quote,
                                 .null_text = shape->null_text,
                                 .null_length = shape->null_length};
    (void)oci_csv_scan_one(window->data, window->size, at, &shape->dialect, take_position, first,
                           NULL, NULL);
    return OC_OK;
}

static void free_first_record(first_record *first)
{
    if (first->positions != NULL) {
        oci_mem_free(first->mem, first->positions, first->capacity * (int64_t)sizeof(uint32_t));
    }
    first->positions = NULL;
}

/* Finds the first record and with it the delimiter. Records end where they do by the quotes, and
 * which quotes open a field depends on the delimiter: so while it is not known the most usual one
 * stands in for it, and afterwards the record is looked for again. */
static oc_status find_delimiter(oci_csv_shape *shape, oci_csv_window *window,
                                const oci_csv_options *options, bool *found, int64_t *at,
                                oc_error *err)
{
    oci_csv_dialect *dialect = &shape->dialect;
    bool blank_too = options->declared != NULL && options->declared->n_fields == 1 &&
                     options->header == 0 && !options->trailing_delimiter;
    bool guess = dialect->delimiter == 0;
    if (guess) {
        dialect->delimiter = ',';
    }
    OC_TRY(find_first_record(window, dialect, blank_too, found, at, err));
    if (*found && guess) {
        dialect->delimiter = oci_csv_guess_delimiter(window->data, window->size, *at, dialect);
        OC_TRY(find_first_record(window, dialect, blank_too, found, at, err));
    }
    return OC_OK;
}

/* Trailing delimiter and number of fields, from the first record at `at`. */
static oc_status find_dialect(oci_csv_shape *shape, const oci_csv_window *window, int64_t at,
                              const oci_csv_options *options, oc_error *err)
{
    oci_csv_dialect *dialect = &shape->dialect;
    const uint8_t *data = window->data;
    bool guessed = options->delimiter == 0;
    int64_t n_fields = 0;
    (void)oci_csv_scan_one(data, window->size, at, dialect, NULL, NULL, &n_fields, NULL);
    n_fields = oci_max64(n_fields, 1); /* a blank line that is a row */
    /* As .tbl files are written. With other delimiters a last column without values is more likely,
     * unless the declared columns say otherwise. */
    bool one_less_declared = options->declared != NULL &&
                             n_fields == (int64_t)options->declared->n_fields + 1;
    if (!dialect->trailing_delimiter &&
        ((guessed && dialect->delimiter == '|') || one_less_declared)) {
        dialect->trailing_delimiter = oci_csv_ends_with_delimiter(data, window->size, at, dialect);
    }
    if (dialect->trailing_delimiter) {
        n_fields--;
        if (n_fields == 0) {
            OC_FAIL(err, OC_EDATA,
                    "file \"%s\", line %" PRId64 ": record does not end with the delimiter '%c'",
                    window->file->name, window->line, dialect->delimiter);
        }
    }
    shape->n_fields = (int32_t)n_fields; /* bounded by the window */
    dialect->skip_blank = n_fields > 1 || dialect->trailing_delimiter;
    return OC_OK;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The text of a field of the first record as a name: unquoted, doubled quotes single, NUL bytes as
 * '?'. "columnN" when empty or without header. */
static oc_status init_named_field(const first_record *first, int32_t index, bool header,
                                  oci_field *field, oc_error *err)
{
    char number[32];
    snprintf(number, sizeof number, "column%" PRId32, index + 1);
    int64_t length = 0;
    bool quoted = false;
    const uint8_t *text = header ? oci_csv_field_text(&first->rows, 0, index, &length, &quoted)
                                 : NULL;
    OC_TRY(oci_field_init(field, number, OCI_TYPE_UTF8, true, err));
    if (length <= 0) {
        return OC_OK;
    }
    char *name = malloc((size_t)length + 1);
    if (name == NULL) {
        oci_field_deinit(field);
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    int64_t used = 0;
    for (int64_t i = 0; i < length; i++) {
        name[used++] = (char)(text[i] == 0 ? '?' : text[i]);
        i += quoted && text[i] == first->rows.quote;
    }
    name[used] = '\0';
    free(field->name);
    field->name = name;
    return OC_OK;
}

/* All columns of the file, as nullable utf8. */
static oc_status list_file_columns(const oci_csv_shape *shape, const first_record *first,
                                   bool header, column_list *list, oc_error *err)
{
    OC_TRY(allocate_list(list, shape->n_fields, err));
    for (int32_t i = 0; i < shape->n_fields; i++) {
        oc_status status = init_named_field(first, i, header, &list->fields[i], err);
        if (status != OC_OK) {
            free_list(list);
            return status;
        }
        list->n++;
        list->sources[i] = i;
        list->inferred[i] = true;
    }
    return OC_OK;
}

static int compare_hashes(const void *a, const void *b)
{
    const uint64_t *x = a;
    const uint64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* Whether all fields of the first record differ. By their hashes: a collision would only make the
 * guess "no header". */
static oc_status are_unique(const first_record *first, int32_t n, bool *out, oc_error *err)
{
    void *block;
    int64_t bytes = n * (int64_t)sizeof(uint64_t);
    OC_TRY(oci_mem_alloc(first->mem, bytes, &block, err));
    uint64_t *hashes = block;
    for (int32_t i = 0; i < n; i++) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(&first->rows, 0, i, &length, &quoted);
        hashes[i] = oci_hash64(text, length, 0);
    }
    qsort(hashes, (size_t)n, sizeof *hashes, compare_hashes);
    *out = true;
    for (int32_t i = 1; i < n; i++) {
        *out = *out && hashes[i] != hashes[i - 1];
    }
    oci_mem_free(first->mem, block, bytes);
    return OC_OK;
}

/* A header is a record of distinct plain texts. The first may be empty, as above row labels. */
static oc_status looks_like_header(const first_record *first, int32_t n, bool *out, oc_error *err)
{
    *out = false;
    for (int32_t i = 0; i < n; i++) {
        int64_t length;
        bool quoted;
        const uint8_t *text = oci_csv_field_text(&first->rows, 0, i, &length, &quoted);
        bool label_corner = i == 0 && n > 1 && length == 0;
        if (!label_corner &&
            (length == 0 || oci_csv_is_null(&first->rows, text, length, quoted, true) ||
             oci_csv_is_typed(text, length))) {
            return OC_OK;
        }
    }
    return are_unique(first, n, out, err);
}

/* Whether each declared name is in the first record. */
static oc_status has_declared_names(const oci_csv_shape *shape, const first_record *first,
                                    const oci_schema *declared, bool *out, oc_error *err)
{
    column_list list;
    oci_schema *names;
    OC_TRY(list_file_columns(shape, first, true, &list, err));
    oc_status status = oci_schema_create(list.fields, list.n, NULL, 0, &names, err);
    list.fields = NULL;
    free_list(&list);
    OC_TRY(status);
    *out = true;
    for (int32_t i = 0; i < declared->n_fields && *out; i++) {
        int32_t index;
        *out = oci_schema_find(names, declared->fields[i].name, &index, NULL) == OC_OK;
    }
    oci_schema_release(names);
    return OC_OK;
}

static oc_status find_header(const oci_csv_shape *shape, const first_record *first,
                             const oci_csv_options *options, bool *out, oc_error *err)
{
    *out = options->header == 1;
    if (options->header >= 0) {
        return OC_OK;
    }
    if (options->declared != NULL) {
        return has_declared_names(shape, first, options->declared, out, err);
    }
    return looks_like_header(first, shape->n_fields, out, err);
}

/* ---- declared columns ------------------------------------------------------------------------ */

static oc_status replace_field(column_list *list, int32_t index, const oci_field *by, oc_error *err)
{
    oci_field copy;
    OC_TRY(oci_field_copy(by, &copy, err));
    oci_field_deinit(&list->fields[index]);
    list->fields[index] = copy;
    list->inferred[index] = false;
    return OC_OK;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_any_case(const char *a, const char *b)
{
    for (; *a != '\0' && lower(*a) == lower(*b); a++) {
        b++;
    }
    return lower(*a) == lower(*b);
}

/* Finds each declared name among the names of the file: where[i] = its index. */
static oc_status find_declared(const column_list *list, const oci_schema *declared,
                               const char *file_name, int32_t *where, oc_error *err)
{
    for (int32_t i = 0; i < declared->n_fields; i++) {
        const char *name = declared->fields[i].name;
        int32_t n_found = 0;
        for (int pass = 0; pass < 2 && n_found == 0; pass++) {
            for (int32_t k = 0; k < list->n; k++) {
                const char *candidate = list->fields[k].name;
                if (pass == 0 ? strcmp(name, candidate) == 0 : same_any_case(name, candidate)) {
                    where[i] = k;
                    n_found++;
                }
            }
        }
        if (n_found != 1) {
            OC_FAIL(err, OC_EINVAL, "declared column \"%s\" %s in the header of file \"%s\"", name,
                    n_found == 0 ? "is not" : "is there more than once", file_name);
        }
        for (int32_t k = 0; k < i; k++) {
            if (where[k] == where[i]) {
                OC_FAIL(err, OC_EINVAL,
                        "columns \"%s\" and \"%s\" are both declared for the same column of file "
                        "\"%s\"",
                        declared->fields[k].name, name, file_name);
            }
        }
    }
    return OC_OK;
}

/* When every column was declared, their order is the declared one. `where` is a permutation
 * then. */
static void reorder_as_declared(column_list *list, const int32_t *where, column_list *spare)
{
    for (int32_t i = 0; i < list->n; i++) {
        spare->fields[i] = list->fields[where[i]];
        spare->sources[i] = list->sources[where[i]];
        spare->inferred[i] = list->inferred[where[i]];
    }
    spare->n = list->n;
    list->n = 0;
    column_list old = *list;
    *list = *spare;
    *spare = old;
}

static oc_status apply_declared(column_list *list, const oci_schema *declared, bool header,
                                const char *file_name, oc_error *err)
{
    if (!header && declared->n_fields != list->n) {
        OC_FAIL(err, OC_EINVAL,
                "file \"%s\" has %" PRId32 " columns and %" PRId32
                " are declared; a file without header needs all of them",
                file_name, list->n, declared->n_fields);
    }
    column_list spare;
    OC_TRY(allocate_list(&spare, declared->n_fields, err));
    int32_t *where = spare.sources; /* free until the reordering, which has its own */
    oc_status status = OC_OK;
    if (header) {
        OC_GOTO(find_declared(list, declared, file_name, where, err));
    }
    for (int32_t i = 0; i < declared->n_fields; i++) {
        OC_GOTO(replace_field(list, header ? where[i] : i, &declared->fields[i], err));
    }
    if (header && declared->n_fields == list->n) {
        column_list reordered;
        OC_GOTO(allocate_list(&reordered, list->n, err));
        reorder_as_declared(list, where, &reordered);
        free_list(&reordered);
    }
done:
    free_list(&spare);
    return status;
}

/* ---- types ----------------------------------------------------------------------------------- */

static void guess_rows(const column_list *list, const oci_csv_rows *rows, oci_csv_guess *guesses)
{
    for (int32_t i = 0; i < list->n; i++) {
        if (list->inferred[i]) {
            oci_csv_guess_add_rows(&guesses[i], rows, list->sources[i]);
        }
    }
}

/* Runs over the complete records of the window. A bad record ends the sample; reading reports
 * it. */
static oc_status guess_over_sample(const oci_csv_shape *shape, const oci_csv_window *window,
                                   const column_list *list, oci_csv_guess *guesses, oc_error *err)
{
    int32_t stride = shape->n_fields + 1;
    int64_t bytes = GUESS_RECORDS * (int64_t)stride * (int64_t)sizeof(uint32_t);
    int64_t records_max = GUESS_RECORDS;
    void *positions;
    oc_status status = oci_mem_alloc(shape->mem, bytes, &positions, NULL);
    if (status != OC_OK) { /* very many columns: one record at a time must do */
        records_max = 1;
        bytes /= GUESS_RECORDS;
        OC_TRY(oci_mem_alloc(shape->mem, bytes, &positions, err));
    }
    oci_csv_scan scan = {.data = window->data,
                         .size = window->size,
                         .dialect = shape->dialect,
                         .n_fields = shape->n_fields,
                         .records_max = records_max,
                         .positions = positions,
                         .start = window->start};
    oci_csv_rows rows = {.data = window->data,
                         .positions = positions,
                         .stride = stride,
                         .quote = shape->dialect.quote,
                         .null_text = shape->null_text,
                         .null_length = shape->null_length};
    oci_csv_stop stop;
    int64_t n_records = 0;
    do {
        stop = oci_csv_scan_records(&scan);
        rows.n_rows = scan.n_records;
        guess_rows(list, &rows, guesses);
        n_records += scan.n_records;
    } while (stop == OCI_CSV_STOP_FULL && n_records < OCI_CSV_SAMPLE_RECORDS);
    oci_mem_free(shape->mem, positions, bytes);
    return OC_OK;
}

static oc_status guess_types(const oci_csv_shape *shape, const oci_csv_window *window,
                             column_list *list, oc_error *err)
{
    void *guesses;
    int64_t bytes = list->n * (int64_t)sizeof(oci_csv_guess);
    OC_TRY(oci_mem_alloc(shape->mem, bytes, &guesses, err));
    memset(guesses, 0, (size_t)bytes);
    oc_status status = OC_OK;
    OC_GOTO(guess_over_sample(shape, window, list, guesses, err));
    for (int32_t i = 0; i < list->n; i++) {
        if (list->inferred[i]) {
            OC_GOTO(oci_csv_guess_apply((oci_csv_guess *)guesses + i, &list->fields[i], err));
        }
    }
done:
    oci_mem_free(shape->mem, guesses, bytes);
    return status;
}

/* ---- the result ------------------------------------------------------------------------------ */

static oc_status init_columns(oci_csv_shape *shape, const column_list *list, const int32_t *picked,
                              oc_error *err)
{
    int32_t n = shape->schema->n_fields;
    void *columns;
    OC_TRY(oci_mem_alloc(shape->mem, n * (int64_t)sizeof *shape->columns, &columns, err));
    shape->columns = columns;
    for (int32_t i = 0; i < n; i++) {
        int32_t from = picked != NULL ? picked[i] : i;
        OC_TRY(oci_csv_column_init(&shape->columns[i], &shape->schema->fields[i],
                                   list->sources[from], list->inferred[from], err));
    }
    return OC_OK;
}

/* Takes the fields out of the list. */
static oc_status make_schema(oci_csv_shape *shape, column_list *list,
                             const oci_csv_options *options, oc_error *err)
{
    oci_schema *all;
    oci_field *fields = list->fields;
    list->fields = NULL;
    OC_TRY(oci_schema_create(fields, list->n, NULL, 0, &all, err));
    if (options->select == NULL || options->n_select <= 0) {
        shape->schema = all;
        return init_columns(shape, list, NULL, err);
    }
    oc_status status = OC_OK;
    int32_t *picked = calloc((size_t)options->n_select, sizeof *picked);
    if (picked == NULL) {
        oci_schema_release(all);
        OC_FAIL(err, OC_ENOMEM, "out of memory while building a schema");
    }
    for (int32_t i = 0; i < options->n_select; i++) {
        OC_GOTO(oci_schema_find(all, options->select[i], &picked[i], err));
    }
    OC_GOTO(oci_schema_select(all, picked, options->n_select, &shape->schema, err));
    OC_GOTO(init_columns(shape, list, picked, err));
done:
    free(picked);
    oci_schema_release(all);
    return status;
}

/* A file without a record: only what was declared is known. */
static oc_status shape_of_nothing(oci_csv_shape *shape, const oci_csv_window *window,
                                  const oci_csv_options *options, oc_error *err)
{
    const oci_schema *declared = options->declared;
    if (declared == NULL) {
        OC_FAIL(err, OC_EDATA,
                "file \"%s\" is empty: it has no header and no rows; declare its columns to read "
                "it anyway",
                window->file->name);
    }
    column_list list;
    OC_TRY(allocate_list(&list, declared->n_fields, err));
    oc_status status = OC_OK;
    for (int32_t i = 0; i < declared->n_fields; i++) {
        OC_GOTO(oci_field_copy(&declared->fields[i], &list.fields[i], err));
        list.n++;
        list.sources[i] = i;
    }
    shape->n_fields = declared->n_fields;
    shape->dialect.skip_blank = declared->n_fields != 1;
    OC_GOTO(make_schema(shape, &list, options, err));
done:
    free_list(&list);
    return status;
}

/* Reads on behind the header, so that the sample is a whole window and at least one record. */
static oc_status fill_sample(const oci_csv_shape *shape, oci_csv_window *window, oc_error *err)
{
    OC_TRY(oci_csv_window_refill(window, err));
    while (!window->at_end && oci_csv_scan_one(window->data, window->size, window->start,
                                               &shape->dialect, NULL, NULL, NULL, NULL) < 0) {
        OC_TRY(oci_csv_window_more(window, &shape->dialect, err));
    }
    return OC_OK;
}

/* `at` is where the first record starts. */
static oc_status shape_of_records(oci_csv_shape *shape, oci_csv_window *window, int64_t at,
                                  const oci_csv_options *options, oc_error *err)
{
    OC_TRY(find_dialect(shape, window, at, options, err));
    OC_TRY(
        oci_mem_reserve(shape->mem, &shape->names, (int64_t)shape->n_fields * FIELD_CHARGE, err));
    first_record first = {0};
    column_list list = {0};
    oc_status status = OC_OK;
    bool header = false;
    OC_GOTO(take_first_record(shape, window, at, &first, err));
    OC_GOTO(find_header(shape, &first, options, &header, err));
    OC_GOTO(list_file_columns(shape, &first, header, &list, err));
    if (options->declared != NULL) {
        OC_GOTO(apply_declared(&list, options->declared, header, window->file->name, err));
    }
    if (header) {
        int64_t next = oci_csv_scan_one(window->data, window->size, at, &shape->dialect, NULL, NULL,
                                        NULL, NULL);
        oci_csv_window_consume(window, next);
        OC_GOTO(fill_sample(shape, window, err));
    }
    OC_GOTO(guess_types(shape, window, &list, err));
    OC_GOTO(make_schema(shape, &list, options, err));
done:
    free_list(&list);
    free_first_record(&first);
    return status;
}

oc_status oci_csv_shape_find(oci_csv_shape *shape, oci_csv_window *window,
                             const oci_csv_options *options, oci_mem *mem, oc_error *err)
{
    *shape = (oci_csv_shape){.mem = mem};
    OC_TRY(take_options(shape, options, err));
    bool found = false;
    int64_t at = 0;
    OC_TRY(find_delimiter(shape, window, options, &found, &at, err));
    return found ? shape_of_records(shape, window, at, options, err)
                 : shape_of_nothing(shape, window, options, err);
}

void oci_csv_shape_deinit(oci_csv_shape *shape)
{
    if (shape->columns != NULL) {
        oci_mem_free(shape->mem, shape->columns,
                     shape->schema->n_fields * (int64_t)sizeof *shape->columns);
    }
    if (shape->null_text != NULL) {
        oci_mem_free(shape->mem, shape->null_text, shape->null_length + 1);
    }
    oci_schema_release(shape->schema);
    oci_reservation_release(&shape->names);
    *shape = (oci_csv_shape){0};
}
