/* The stretch of a CSV file that is in memory.
 *
 *      | pad | done | record record record rec... | free | pad |
 *                   ^ start                       ^ size
 *
 * Text before `start` was consumed. To get more, the rest is moved to the front and the free end is
 * read full; a record that fills the window on its own makes it grow. After the end of the file the
 * last line ends with LF in any case, so that everything behind `start` is complete records (or an
 * open quote). `line` is the line number of `start`. */
#ifndef OUTCORE_FORMATS_CSV_WINDOW_H
#define OUTCORE_FORMATS_CSV_WINDOW_H

#include "base/env.h"
#include "formats/csv_scan.h"

/* Bytes before the text: positions count from 1 (see csv_scan.h). */
#define OCI_CSV_WINDOW_FRONT 16

typedef struct oci_csv_window {
    const oci_env *env;
    oci_mem *mem;
    oci_file *file;              /* owned */
    _Atomic int64_t *bytes_read; /* progress, or NULL */
    uint8_t *data;
    int64_t room;      /* bytes of text that fit */
    int64_t room_base; /* what it is when no record needs more */
    int64_t start;
    int64_t size;
    int64_t line;
    bool at_end;   /* the file was read to its end */
    bool lf_added; /* ... and the LF behind the last line is not the file's */
} oci_csv_window;

/* Takes the file, also on failure; reads the first stretch. */
OC_NODISCARD oc_status oci_csv_window_init(oci_csv_window *window, const oci_env *env,
                                           oci_file *file, int64_t room, oci_mem *mem,
                                           _Atomic int64_t *bytes_read, oc_error *err);
void oci_csv_window_deinit(oci_csv_window *window); /* zeroed struct is fine */

/* Moves `start` forward and counts lines. */
void oci_csv_window_consume(oci_csv_window *window, int64_t start);

/* Reads more when less than half of the window is ahead. */
OC_NODISCARD oc_status oci_csv_window_refill(oci_csv_window *window, oc_error *err);

/* Gets more text for the record at `start`, which is not complete: reads, or grows and reads. Not
 * after the end of the file. OC_EBUDGET: the record does not fit the memory limit; the rest of it
 * was read away to find a limit that does. OC_EDATA: an open quote up to the end of the file, or
 * lines that end with CR alone. */
OC_NODISCARD oc_status oci_csv_window_more(oci_csv_window *window, const oci_csv_dialect *dialect,
                                           oc_error *err);

/* The error for a record at `start` with a quote that the file does not close. */
oc_status oci_csv_window_fail_open_quote(const oci_csv_window *window,
                                         const oci_csv_dialect *dialect, oc_error *err);
/* The error for a file whose only line ends are CR. */
oc_status oci_csv_window_fail_cr(const oci_csv_window *window, oc_error *err);

/* Whether the text ahead has CR and no LF of its own. */
bool oci_csv_window_has_only_cr(const oci_csv_window *window);

/* A memory limit with which a record of `length` bytes can be read and handled. */
int64_t oci_csv_window_needed(const oci_csv_window *window, int64_t length);

#endif /* OUTCORE_FORMATS_CSV_WINDOW_H */
