/* The stretch of a CSV file that is in memory. See csv_window.h.
 *
 * Growing doubles the room, or adds a quarter when the budget refuses that. A record that the
 * budget cannot hold is an error that must name a limit that works, so the rest of the record is
 * read through the window and only counted, up to the largest size that can be handled at all. */
#include "formats/csv_window.h"

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#include "base/bits.h"
#include "base/text.h"

/* Copies of a long record that exist at the same time at worst: a window of up to twice its length
 * beside the one of half that, then the batch in the place of the latter; and one for whoever takes
 * the batch. An operator that needs more says so itself. */
enum { RECORD_COPIES = 4 };
/* What everything else may need meanwhile. */
#define NEEDED_BASE (INT64_C(2) << 20)
/* Below this, a window without LF says nothing about the line ends of the file. */
enum { CR_EVIDENCE_BYTES = 4096 };

static int64_t allocation_of(int64_t room)
{
    return OCI_CSV_WINDOW_FRONT + room + 1 + OCI_CSV_SCAN_PAD; /* 1: the LF behind the last line */
}

static oc_status allocate(oci_csv_window *window, int64_t room, uint8_t **out, oc_error *err)
{
    void *data;
    OC_TRY(oci_mem_alloc(window->mem, allocation_of(room), &data, err));
    *out = data;
    memset(*out, 0, OCI_CSV_WINDOW_FRONT);
    return OC_OK;
}

/* Puts the text ahead into another block of memory. */
static void move_to(oci_csv_window *window, uint8_t *data, int64_t room)
{
    int64_t ahead = window->size - window->start;
    assert(ahead <= room);
    if (ahead > 0) {
        memcpy(data + OCI_CSV_WINDOW_FRONT, window->data + window->start, (size_t)ahead);
    }
    oci_mem_free(window->mem, window->data, allocation_of(window->room));
    window->data = data;
    window->room = room;
    window->start = OCI_CSV_WINDOW_FRONT;
    window->size = OCI_CSV_WINDOW_FRONT + ahead;
}

/* Reads until the window is full or the file ends. */
static oc_status read_on(oci_csv_window *window, oc_error *err)
{
    int64_t ahead = window->size - window->start;
    if (window->start > OCI_CSV_WINDOW_FRONT) {
        memmove(window->data + OCI_CSV_WINDOW_FRONT, window->data + window->start, (size_t)ahead);
        window->start = OCI_CSV_WINDOW_FRONT;
        window->size = window->start + ahead;
    }
    int64_t wanted = window->room - ahead;
    int64_t n_read = 0;
    OC_TRY(oci_read_full(window->file, window->data + window->size, wanted, &n_read, err));
    window->size += n_read;
    if (window->bytes_read != NULL) {
        atomic_fetch_add_explicit(window->bytes_read, n_read, memory_order_relaxed);
    }
    if (n_read < wanted) {
        window->at_end = true;
        if (window->size > window->start && window->data[window->size - 1] != '\n') {
            window->data[window->size++] = '\n';
            window->lf_added = true;
        }
    }
    return OC_OK;
}

/* Byte order marks and magic numbers of what is no CSV text, to say so instead of showing
 * garbage. */
static oc_status check_first_bytes(oci_csv_window *window, oc_error *err)
{
    const uint8_t *text = window->data + window->start;
    int64_t size = window->size - window->start;
    if (size >= 3 && memcmp(text, "\xEF\xBB\xBF", 3) == 0) {
        window->start += 3;
    } else if (size >= 2 &&
               (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0)) {
        OC_FAIL(err, OC_EUNSUPPORTED, "file \"%s\" is UTF-16 text; convert it to UTF-8",
                window->file->name);
    } else if (size >= 4 &&
               (memcmp(text, "\x1F\x8B", 2) == 0 || memcmp(text, "\x28\xB5\x2F\xFD", 4) == 0)) {
        OC_FAIL(err, OC_EUNSUPPORTED,
                "file \"%s\" is compressed; decompress it first, for example through a pipe",
                window->file->name);
    } else if (size >= 4 && memcmp(text, "PAR1", 4) == 0) {
        OC_FAIL(err, OC_EUNSUPPORTED, "file \"%s\" is a Parquet file, which is not supported yet",
                window->file->name);
    }
    return OC_OK;
}

oc_status oci_csv_window_init(oci_csv_window *window, const oci_env *env, oci_file *file,
                              int64_t room, oci_mem *mem, _Atomic int64_t *bytes_read,
                              oc_error *err)
{
    *window = (oci_csv_window){.env = env,
                               .mem = mem,
                               .file = file,
                               .bytes_read = bytes_read,
                               .room_base = room,
                               .start = OCI_CSV_WINDOW_FRONT,
                               .size = OCI_CSV_WINDOW_FRONT,
                               .line = 1};
    OC_TRY(allocate(window, room, &window->data, err));
    window->room = room;
    do { /* the loop is for windows of a few bytes, in tests */
        OC_TRY(read_on(window, err));
        if (window->size - window->start >= 4 || window->at_end) {
            break;
        }
        uint8_t *data;
        OC_TRY(allocate(window, window->room * 2, &data, err));
        move_to(window, data, window->room * 2);
    } while (true);
    return check_first_bytes(window, err);
}

void oci_csv_window_deinit(oci_csv_window *window)
{
    if (window->data != NULL) {
        oci_mem_free(window->mem, window->data, allocation_of(window->room));
    }
    if (window->file != NULL) {
        (void)oci_close(window->file, NULL); /* it was only read */
    }
    *window = (oci_csv_window){0};
}

void oci_csv_window_consume(oci_csv_window *window, int64_t start)
{
    assert(start >= window->start && start <= window->size);
    window->line += oci_csv_count_byte(window->data + window->start, start - window->start, '\n');
    window->start = start;
}

oc_status oci_csv_window_refill(oci_csv_window *window, oc_error *err)
{
    int64_t ahead = window->size - window->start;
    if (window->at_end || ahead >= window->room / 2) {
        return OC_OK;
    }
    if (window->room > window->room_base && ahead <= window->room_base / 2) {
        uint8_t *data;
        OC_TRY(allocate(window, window->room_base, &data, err));
        move_to(window, data, window->room_base);
    }
    return read_on(window, err);
}

/* ---- records that do not fit ----------------------------------------------------------------- */

int64_t oci_csv_window_needed(const oci_csv_window *window, int64_t length)
{
    oci_budget *budget = oci_mem_budget(window->mem);
    int64_t others = oci_budget_used(budget) - oci_mem_held(window->mem);
    int64_t needed = oci_max64(others, 0) + NEEDED_BASE + length * RECORD_COPIES;
    return oci_max64(needed, oci_budget_limit(budget) + NEEDED_BASE);
}

bool oci_csv_window_has_only_cr(const oci_csv_window *window)
{
    const uint8_t *text = window->data + window->start;
    int64_t size = window->size - window->start;
    const uint8_t *cr = memchr(text, '\r', (size_t)size);
    const uint8_t *lf = memchr(text, '\n', (size_t)size);
    if (cr == NULL || lf == NULL) {
        return cr != NULL;
    }
    return window->lf_added && lf == text + size - 1 && cr < lf - 1;
}

oc_status oci_csv_window_fail_cr(const oci_csv_window *window, oc_error *err)
{
    OC_FAIL(
        err, OC_EDATA,
        "file \"%s\" has no line feed: its lines end with CR alone; convert them, for example with "
        "tr '\\r' '\\n'",
        window->file->name);
}

oc_status oci_csv_window_fail_open_quote(const oci_csv_window *window,
                                         const oci_csv_dialect *dialect, oc_error *err)
{
    int64_t n_fields = 0;
    int64_t quote_at = window->start;
    (void)oci_csv_scan_one(window->data, window->size, window->start, dialect, NULL, NULL,
                           &n_fields, &quote_at);
    quote_at = oci_max64(quote_at, window->start);
    int64_t line = window->line +
                   oci_csv_count_byte(window->data + window->start, quote_at - window->start, '\n');
    OC_FAIL(err, OC_EDATA,
            "file \"%s\", line %" PRId64 ", column %" PRId64
            ": a quoted field begins here and does not end before the end of the file; add the "
            "closing quote",
            window->file->name, line, n_fields + 1);
}

/* Reads the rest of the record away to learn its length. What is in the window is lost. */
static oc_status measure_record(oci_csv_window *window, const oci_csv_dialect *dialect,
                                oci_csv_measure *measure, oc_error *err)
{
    *measure = (oci_csv_measure){0};
    int64_t from = window->start;
    int64_t size = window->size - window->start;
    while (!oci_csv_measure_feed(measure, dialect, window->data + from, size)) {
        OC_TRY(oci_env_check_cancel(window->env, err));
        from = OCI_CSV_WINDOW_FRONT;
        OC_TRY(oci_read_full(window->file, window->data + from, window->room, &size, err));
        if (size == 0) {
            window->at_end = true;
            break;
        }
        if (measure->length > OCI_CSV_SCAN_MAX) {
            break;
        }
    }
    return OC_OK;
}

static oc_status fail_too_long(const oci_csv_window *window, oc_error *err)
{
    OC_FAIL(err, OC_EUNSUPPORTED,
            "file \"%s\", line %" PRId64 ": a record is longer than 2 GiB, which is not supported; "
            "look for a quote that is not closed",
            window->file->name, window->line);
}

static oc_status fail_record_over_budget(oci_csv_window *window, const oci_csv_dialect *dialect,
                                         oc_error *err)
{
    /* Where the last quote opens has to be found while the text is there. */
    oc_error open_quote;
    (void)oci_csv_window_fail_open_quote(window, dialect, &open_quote);
    oci_csv_measure measure;
    OC_TRY(measure_record(window, dialect, &measure, err));
    if (window->at_end && oci_csv_measure_is_open(&measure)) {
        OC_FAIL(err, OC_EDATA, "%s", open_quote.message);
    }
    if (measure.length > OCI_CSV_SCAN_MAX) {
        return fail_too_long(window, err);
    }
    int64_t needed = oci_csv_window_needed(window, measure.length);
    char length_text[OCI_BYTES_TEXT];
    char limit_text[OCI_BYTES_TEXT];
    char needed_text[OCI_BYTES_TEXT];
    OC_SET(err, OC_EBUDGET,
           "file \"%s\", line %" PRId64
           ": a record of %s does not fit the memory limit of %s; use a limit of at least %s",
           window->file->name, window->line, oci_format_bytes(measure.length, length_text),
           oci_format_bytes(oci_budget_limit(oci_mem_budget(window->mem)), limit_text),
           oci_format_bytes_up(needed, needed_text));
    if (err != NULL) {
        err->needed_bytes = needed;
    }
    return OC_EBUDGET;
}

static oc_status grow(oci_csv_window *window, const oci_csv_dialect *dialect, oc_error *err)
{
    if (window->room >= CR_EVIDENCE_BYTES && oci_csv_window_has_only_cr(window)) {
        int64_t quote_at = -1;
        (void)oci_csv_scan_one(window->data, window->size, window->start, dialect, NULL, NULL, NULL,
                               &quote_at);
        if (quote_at < 0) {
            return oci_csv_window_fail_cr(window, err);
        }
    }
    int64_t room_max = OCI_CSV_SCAN_MAX - OCI_CSV_WINDOW_FRONT - 1;
    if (window->room >= room_max) {
        return fail_too_long(window, err);
    }
    uint8_t *data = NULL;
    int64_t room = oci_min64(window->room * 2, room_max);
    oc_status status = allocate(window, room, &data, NULL);
    if (status == OC_EBUDGET) {
        room = oci_min64(window->room + window->room / 4 + 1, room_max);
        status = allocate(window, room, &data, err);
    } else if (status != OC_OK) {
        status = allocate(window, room, &data, err); /* for its message */
    }
    if (status == OC_EBUDGET) {
        return fail_record_over_budget(window, dialect, err);
    }
    OC_TRY(status);
    move_to(window, data, room);
    return OC_OK;
}

oc_status oci_csv_window_more(oci_csv_window *window, const oci_csv_dialect *dialect, oc_error *err)
{
    assert(!window->at_end);
    if (window->size - window->start >= window->room) {
        OC_TRY(oci_env_check_cancel(window->env, err));
        OC_TRY(grow(window, dialect, err));
    }
    return read_on(window, err);
}
