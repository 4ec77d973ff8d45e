/* Tables for people. See text_writer.h.
 *
 *   ┌──────┬───────┐
 *   │ name │ price │        numbers and their headings to the right, all else to the left
 *   ├──────┼───────┤        cells that are too wide end with …
 *   │ a    │  1.50 │        control characters are shown as \n, \t, \x1b: nothing reaches the
 * terminal but text └──────┴───────┘ (1 row)
 *
 * The first rows are kept as text (each cell cut to the width of a line) until there are as many as
 * are shown or their memory reaches its bound; then the widths of the columns are decided and what
 * was kept is printed. Rows that follow, when there is no limit to them, are printed with the same
 * widths at once.
 *
 * Widths: when all columns fit at their natural width, they get it. Else the widest are cut, all to
 * the same width, as little as needed. When even narrow columns do not fit side by side, columns in
 * the middle are left out and the last line says so. */
#include "base/bits.h"
#include "base/text.h"
#include "formats/json_value.h"
#include "formats/utf8.h"

enum {
    WIDTH_DEFAULT = 80,
    ROWS_DEFAULT = 40,
    /* Columns are not cut below this before columns are left out. */
    COLUMN_WIDTH_MIN = 8,
    CELL_EDGES = 3 /* "│ " and " " around a cell */
};
/* Memory for kept rows even when the budget is nearly used up. */
#define KEPT_BYTES_MIN (INT64_C(16) * 1024)

static const char ellipsis[] = "\xE2\x80\xA6";

/* The text of a cell in `text`, up to where the next one begins. */
typedef struct {
    int64_t offset;
    int32_t length;
    int32_t width; /* terminal columns */
} cell;

typedef struct {
    int64_t width;    /* of a line */
    int64_t rows_max; /* -1 = all */
    int64_t kept_max; /* bytes */
    bool laid_out;
    oci_text text;        /* of all kept cells; the first n_fields are the headings */
    oci_text_sink nested; /* takes the JSON of a nested value, drains into nested_text */
    oci_text nested_text;
    cell *cells;
    int64_t n_cells;
    int64_t cells_capacity;
    int32_t *widths; /* per column; -1 = left out. n_fields entries */
    int32_t n_hidden;
    int32_t first_hidden;
    int64_t rows_shown;
} table_state;

/* ---- cells ----------------------------------------------------------------------------------- */

/* Appends one character or what stands for it, as long as the width stays within `width_max`. */
static oc_status append_piece(oci_text *text, const char *bytes, int64_t length,
                              int32_t piece_width, int64_t width_max, int32_t *width, bool *cut,
                              oc_error *err)
{
    if (*width + piece_width > width_max) {
        *cut = true;
        return OC_OK;
    }
    *width += piece_width;
    return oci_text_append(text, bytes, length, err);
}

/* Control characters, and those that change the direction of the text around them. */
static bool must_escape(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2066 && code <= 0x2069);
}

static int64_t put_escape(uint32_t code, char out[12])
{
    static const char short_codes[] = "\nn\rr\tt";
    const char *found = code == 0 || code > 0x1F ? NULL : strchr(short_codes, (int)code);
    char *at = out;
    *at++ = '\\';
    if (found != NULL) {
        *at++ = found[1];
    } else if (code < 0x100) {
        uint8_t byte = (uint8_t)code;
        *at++ = 'x';
        at = oci_format_hex(&byte, 1, at);
    } else {
        uint8_t bytes[2] = {(uint8_t)(code >> 8), (uint8_t)code};
        *at++ = 'u';
        at = oci_format_hex(bytes, 2, at);
    }
    return at - out;
}

/* Appends text of a value with escapes, cut to `width_max` columns with an ellipsis in the last
 * one. */
static oc_status append_cut(oci_text *text, const uint8_t *bytes, int64_t length, int64_t width_max,
                            bool escape, int32_t *width, oc_error *err)
{
    int64_t start = text->length;
    int64_t before_last = start; /* where the text fits with room for the ellipsis */
    int32_t width_before_last = 0;
    bool cut = false;
    *width = 0;
    for (int64_t i = 0; i < length && !cut;) {
        uint32_t code;
        int n = oci_utf8_decode(bytes + i, length - i, &code);
        if (n == 0) {
            OC_TRY(append_piece(text, "\xEF\xBF\xBD", 3, 1, width_max, width, &cut, err));
            n = 1;
        } else if (escape && must_escape(code)) {
            char shown[12];
            int64_t shown_length = put_escape(code, shown);
            OC_TRY(append_piece(text, shown, shown_length, (int32_t)shown_length, width_max, width,
                                &cut, err));
        } else {
            OC_TRY(append_piece(text, (const char *)bytes + i, n, oci_utf8_width(code), width_max,
                                width, &cut, err));
        }
        if (!cut && *width < width_max) {
            before_last = text->length;
            width_before_last = *width;
        }
        i += n;
    }
    if (cut && width_max > 0) {
        text->length = before_last;
        text->data[before_last] = '\0';
        *width = width_before_last + 1;
        OC_TRY(oci_text_append_str(text, ellipsis, err));
    }
    return OC_OK;
}

/* Bytes of a nested value that can matter in a cell: characters have at most 4, and a few may take
 * no column. */
static int64_t nested_bytes_max(const table_state *state)
{
    return 8 * state->width;
}

/* Keeps the beginning of a nested value, up to the end of a character, and closes the sink. */
static oc_status drain_to_cell(oci_text_sink *nested, const char *bytes, int64_t length,
                               oc_error *err)
{
    table_state *state = nested->target;
    int64_t room = nested_bytes_max(state) - state->nested_text.length;
    if (nested->closed) {
        return OC_OK;
    }
    if (length > room) {
        nested->closed = true;
        length = room;
        while (length > 0 && ((uint8_t)bytes[length] & 0xC0) == 0x80) {
            length--;
        }
    }
    return oci_text_append(&state->nested_text, bytes, length, err);
}

static oc_status format_nested(table_state *state, const oci_formatter *formatter,
                               const oci_column *column, int64_t row, oc_error *err)
{
    oci_text_clear(&state->nested_text);
    state->nested.closed = false;
    OC_TRY(oci_json_write_value(&state->nested, formatter, column, row, err));
    return oci_text_sink_flush(&state->nested, err);
}

/* Appends the text of a value, cut to `width_max` columns. */
static oc_status append_value(const oci_text_writer *writer, int32_t index,
                              const oci_column *column, int64_t row, int64_t width_max,
                              oci_text *text, int32_t *width, oc_error *err)
{
    table_state *state = writer->state;
    const oci_formatter *formatter = &writer->formatters[index];
    char buffer[OCI_VALUE_TEXT_MAX];
    const uint8_t *bytes = (const uint8_t *)buffer;
    int64_t length;
    if (!oci_value_resolve(&formatter, &column, &row)) {
        bytes = (const uint8_t *)writer->options.null_text;
        length = writer->null_length;
    } else if (oci_kind_is_nested(formatter->kind)) {
        OC_TRY(format_nested(state, formatter, column, row, err));
        bytes = (const uint8_t *)oci_text_chars(&state->nested_text);
        length = state->nested_text.length;
    } else if (formatter->kind == OCI_VALUE_TEXT) {
        bytes = oci_value_bytes(column, row, &length);
    } else if (formatter->kind == OCI_VALUE_BINARY) {
        const uint8_t *raw = oci_value_bytes(column, row, &length);
        int64_t shown = oci_min64(length, OCI_VALUE_TEXT_MAX / 2 - 1);
        char *end = oci_format_hex(raw, shown, buffer);
        length = end - buffer;
    } else {
        length = oci_format_value(formatter, column, row, buffer) - buffer;
    }
    if (text->length == 0) { /* so that there is a NUL to cut at */
        OC_TRY(oci_text_append_str(text, "", err));
    }
    return append_cut(text, bytes, length, width_max, true, width, err);
}

static oc_status keep_cell(oci_text_writer *writer, cell kept, oc_error *err)
{
    table_state *state = writer->state;
    if (state->n_cells == state->cells_capacity) {
        int64_t larger = oci_max64(64, 2 * state->cells_capacity);
        void *grown;
        OC_TRY(oci_mem_realloc(writer->mem, state->cells,
                               state->cells_capacity * (int64_t)sizeof(cell),
                               larger * (int64_t)sizeof(cell), &grown, err));
        state->cells = grown;
        state->cells_capacity = larger;
    }
    state->cells[state->n_cells++] = kept;
    return OC_OK;
}

static oc_status keep_row(oci_text_writer *writer, const oci_batch *batch, int64_t row,
                          oc_error *err)
{
    table_state *state = writer->state;
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        cell kept = {.offset = state->text.length};
        OC_TRY(append_value(writer, i, &batch->columns[i], row, state->width, &state->text,
                            &kept.width, err));
        kept.length = (int32_t)(state->text.length - kept.offset);
        OC_TRY(keep_cell(writer, kept, err));
    }
    return OC_OK;
}

/* ---- widths ---------------------------------------------------------------------------------- */

static int64_t line_width(const int32_t *widths, int32_t n, int64_t cap)
{
    int64_t total = 1;
    for (int32_t i = 0; i < n; i++) {
        total += oci_min64(widths[i], cap) + CELL_EDGES;
    }
    return total;
}

/* Leaves columns out from the middle until the rest fits beside one column of "…". Columns are
 * taken in turn from the left and the right end as long as there is room. */
static void hide_middle(table_state *state, int32_t n)
{
    int64_t room = state->width - 1 - (1 + CELL_EDGES);
    int32_t left = 0;
    int32_t right = 0;
    while (left + right < n) {
        bool from_left = left <= right;
        int32_t next = from_left ? left : n - 1 - right;
        int64_t needed = oci_min64(state->widths[next], COLUMN_WIDTH_MIN) + CELL_EDGES;
        if (needed > room && left > 0) {
            break;
        }
        room -= needed;
        left += from_left;
        right += !from_left;
    }
    state->first_hidden = left;
    state->n_hidden = n - left - right;
    for (int32_t i = left; i < n - right; i++) {
        state->widths[i] = -1;
    }
}

static void choose_widths(oci_text_writer *writer)
{
    table_state *state = writer->state;
    int32_t n = writer->schema->n_fields;
    for (int32_t i = 0; i < n; i++) {
        state->widths[i] = 1;
    }
    for (int64_t i = 0; i < state->n_cells; i++) {
        int32_t *width = &state->widths[i % n];
        *width = state->cells[i].width > *width ? state->cells[i].width : *width;
    }
    int64_t cap = state->width;
    if (line_width(state->widths, n, COLUMN_WIDTH_MIN) > state->width) {
        hide_middle(state, n);
        cap = COLUMN_WIDTH_MIN;
    } else {
        while (cap > COLUMN_WIDTH_MIN && line_width(state->widths, n, cap) > state->width) {
            cap--;
        }
    }
    for (int32_t i = 0; i < n; i++) {
        state->widths[i] = (int32_t)oci_min64(state->widths[i], cap);
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

static oc_status write_spaces(oci_text_sink *sink, int64_t n, oc_error *err)
{
    for (int64_t i = 0; i < n; i++) {
        OC_TRY(oci_text_sink_char(sink, ' ', err));
    }
    return OC_OK;
}

/* A horizontal line with these three joints. */
static oc_status write_rule(oci_text_writer *writer, const char *left, const char *middle,
                            const char *right, oc_error *err)
{
    const table_state *state = writer->state;
    oci_text_sink *sink = &writer->sink;
    const char *joint = left;
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        int64_t width = state->widths[i];
        if (width < 0) {
            if (i != state->first_hidden) {
                continue;
            }
            width = 1; /* the column of "…" */
        }
        OC_TRY(oci_text_sink_str(sink, joint, err));
        for (int64_t k = 0; k < width + 2; k++) {
            OC_TRY(oci_text_sink_str(sink, "─", err));
        }
        joint = middle;
    }
    OC_TRY(oci_text_sink_str(sink, right, err));
    return oci_text_sink_char(sink, '\n', err);
}

/* A cell with its edges, cut to the width of its column. */
static oc_status write_cell(oci_text_writer *writer, int32_t index, const char *bytes,
                            int64_t length, int32_t width, oc_error *err)
{
    const table_state *state = writer->state;
    oci_text_sink *sink = &writer->sink;
    int32_t column_width = state->widths[index];
    oci_value_kind kind = writer->formatters[index].kind;
    bool right = kind == OCI_VALUE_NUMBER || kind == OCI_VALUE_FLOAT;
    oci_text cut = {.mem = writer->mem};
    oc_status status = OC_OK;
    if (width > column_width) {
        OC_GOTO(oci_text_append_str(&cut, "", err));
        OC_GOTO(append_cut(&cut, (const uint8_t *)bytes, length, column_width, false, &width, err));
        bytes = oci_text_chars(&cut);
        length = cut.length;
    }
    OC_GOTO(oci_text_sink_str(sink, "│ ", err));
    OC_GOTO(write_spaces(sink, right ? column_width - width : 0, err));
    OC_GOTO(oci_text_sink_write(sink, bytes, length, err));
    OC_GOTO(write_spaces(sink, right ? 0 : column_width - width, err));
    OC_GOTO(oci_text_sink_char(sink, ' ', err));
done:
    oci_text_free(&cut);
    return status;
}

static oc_status write_hidden_cell(oci_text_writer *writer, oc_error *err)
{
    OC_TRY(oci_text_sink_str(&writer->sink, "│ ", err));
    OC_TRY(oci_text_sink_str(&writer->sink, ellipsis, err));
    return oci_text_sink_char(&writer->sink, ' ', err);
}

/* A line of cells that were kept: cells[first ..]. */
static oc_status write_kept_row(oci_text_writer *writer, int64_t first, oc_error *err)
{
    const table_state *state = writer->state;
    const char *text = oci_text_chars(&state->text);
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        const cell *c = &state->cells[first + i];
        if (state->widths[i] >= 0) {
            OC_TRY(write_cell(writer, i, text + c->offset, c->length, c->width, err));
        } else if (i == state->first_hidden) {
            OC_TRY(write_hidden_cell(writer, err));
        }
    }
    return oci_text_sink_str(&writer->sink, "│\n", err);
}

/* A line of a batch after the widths were decided. */
static oc_status write_row(oci_text_writer *writer, const oci_batch *batch, int64_t row,
                           oc_error *err)
{
    table_state *state = writer->state;
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        if (state->widths[i] >= 0) {
            int32_t width;
            oci_text_clear(&state->text);
            OC_TRY(append_value(writer, i, &batch->columns[i], row, state->widths[i], &state->text,
                                &width, err));
            OC_TRY(write_cell(writer, i, oci_text_chars(&state->text), state->text.length, width,
                              err));
        } else if (i == state->first_hidden) {
            OC_TRY(write_hidden_cell(writer, err));
        }
    }
    return oci_text_sink_str(&writer->sink, "│\n", err);
}

/* Decides the widths and prints what was kept. */
static oc_status lay_out(oci_text_writer *writer, oc_error *err)
{
    table_state *state = writer->state;
    int32_t n = writer->schema->n_fields;
    state->laid_out = true;
    if (n == 0) {
        return OC_OK;
    }
    choose_widths(writer);
    OC_TRY(write_rule(writer, "┌", "┬", "┐", err));
    OC_TRY(write_kept_row(writer, 0, err));
    OC_TRY(write_rule(writer, "├", "┼", "┤", err));
    for (int64_t first = n; first < state->n_cells; first += n) {
        OC_TRY(write_kept_row(writer, first, err));
    }
    oci_text_clear(&state->text);
    return OC_OK;
}

/* ---- the format ------------------------------------------------------------------------------ */

static oc_status keep_headings(oci_text_writer *writer, oc_error *err)
{
    table_state *state = writer->state;
    OC_TRY(oci_text_append_str(&state->text, "", err));
    for (int32_t i = 0; i < writer->schema->n_fields; i++) {
        const char *name = writer->schema->fields[i].name;
        cell kept = {.offset = state->text.length};
        OC_TRY(append_cut(&state->text, (const uint8_t *)name, (int64_t)strlen(name), state->width,
                          true, &kept.width, err));
        kept.length = (int32_t)(state->text.length - kept.offset);
        OC_TRY(keep_cell(writer, kept, err));
    }
    return OC_OK;
}

static oc_status table_begin(oci_text_writer *writer, oc_error *err)
{
    void *block;
    OC_TRY(oci_mem_alloc(writer->mem, (int64_t)sizeof(table_state), &block, err));
    table_state *state = block;
    int64_t rows_max = writer->options.max_rows == 0 ? ROWS_DEFAULT : writer->options.max_rows;
    int64_t quarter = oci_budget_free(oci_mem_budget(writer->mem)) / 4;
    *state = (table_state){
        .width = writer->options.width > 0 ? writer->options.width : WIDTH_DEFAULT,
        .rows_max = rows_max < 0 ? -1 : rows_max,
        .kept_max = oci_max64(quarter, KEPT_BYTES_MIN),
        .text = {.mem = writer->mem},
        .nested_text = {.mem = writer->mem},
        .nested = {.drain = drain_to_cell, .target = state, .capacity = OCI_TEXT_SINK_BYTES_MIN}};
    writer->state = state;
    OC_TRY(oci_mem_alloc(writer->mem, state->nested.capacity, &block, err));
    state->nested.data = block;
    OC_TRY(oci_mem_alloc(writer->mem, writer->schema->n_fields * (int64_t)sizeof *state->widths,
                         &block, err));
    state->widths = block;
    return keep_headings(writer, err);
}

static oc_status table_add(oci_text_writer *writer, const oci_batch *batch, oc_error *err)
{
    table_state *state = writer->state;
    for (int64_t row = 0; row < batch->length; row++) {
        if (state->rows_max >= 0 && state->rows_shown == state->rows_max) {
            return OC_OK; /* the others are only counted */
        }
        state->rows_shown++;
        if (state->laid_out) {
            OC_TRY(write_row(writer, batch, row, err));
            continue;
        }
        OC_TRY(keep_row(writer, batch, row, err));
        /* Doubled when they grow, so that half of the bound is the moment to stop. */
        if (state->text.length + state->n_cells * (int64_t)sizeof(cell) > state->kept_max / 4) {
            OC_TRY(lay_out(writer, err));
        }
    }
    return OC_OK;
}

/* "(3 rows)", "(1,000 rows, 40 shown; 4 columns not shown)" without the comma of the thousands. */
static oc_status write_last_line(oci_text_writer *writer, oc_error *err)
{
    const table_state *state = writer->state;
    char buffer[32];
    oci_text_sink *sink = &writer->sink;
    OC_TRY(oci_text_sink_char(sink, '(', err));
    OC_TRY(oci_text_sink_write(sink, buffer, oci_format_int64(writer->rows, buffer) - buffer, err));
    OC_TRY(oci_text_sink_str(sink, writer->rows == 1 ? " row" : " rows", err));
    if (state->rows_shown < writer->rows) {
        OC_TRY(oci_text_sink_str(sink, ", ", err));
        OC_TRY(oci_text_sink_write(sink, buffer,
                                   oci_format_int64(state->rows_shown, buffer) - buffer, err));
        OC_TRY(oci_text_sink_str(sink, " shown", err));
    }
    if (state->n_hidden > 0) {
        OC_TRY(oci_text_sink_str(sink, "; ", err));
        OC_TRY(oci_text_sink_write(sink, buffer, oci_format_int64(state->n_hidden, buffer) - buffer,
                                   err));
        OC_TRY(oci_text_sink_str(
            sink, state->n_hidden == 1 ? " column not shown" : " columns not shown", err));
    }
    return oci_text_sink_str(sink, ")\n", err);
}

static oc_status table_end(oci_text_writer *writer, oc_error *err)
{
    table_state *state = writer->state;
    if (!state->laid_out) {
        OC_TRY(lay_out(writer, err));
    }
    if (writer->schema->n_fields > 0) {
        OC_TRY(write_rule(writer, "└", "┴", "┘", err));
    }
    return write_last_line(writer, err);
}

static void table_deinit(oci_text_writer *writer)
{
    table_state *state = writer->state;
    if (state == NULL) {
        return;
    }
    oci_text_free(&state->text);
    oci_text_free(&state->nested_text);
    if (state->nested.data != NULL) {
        oci_mem_free(writer->mem, state->nested.data, state->nested.capacity);
    }
    oci_mem_free(writer->mem, state->cells, state->cells_capacity * (int64_t)sizeof(cell));
    if (state->widths != NULL) {
        oci_mem_free(writer->mem, state->widths,
                     writer->schema->n_fields * (int64_t)sizeof *state->widths);
    }
    oci_mem_free(writer->mem, state, (int64_t)sizeof *state);
}

const oci_text_ops oci_table_text_ops = {table_begin, table_add, table_end, table_deinit};
