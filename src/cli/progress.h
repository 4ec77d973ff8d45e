/* The progress line: one line on standard error, written again and again, and wiped at the end.
 *
 *     merging pass 1 of 2, 45% (5.4M of 12.0M rows), 512 MiB spilled, 0:42 left
 *
 * It comes after two seconds. On a terminal the line is rewritten in place. Elsewhere (--progress
 * on with standard error in a file) every line is a line of its own, at most one a second. "left"
 * is the time that the phase shown will take, not all phases.
 *
 * Threads: the library calls back on whichever thread works; stop() may be called on any thread,
 * and when it has returned nothing is printed any more. */
#ifndef OUTCORE_CLI_PROGRESS_H
#define OUTCORE_CLI_PROGRESS_H

#include <stdatomic.h>
#include <stdbool.h>

#include "cli/options.h"

typedef struct oci_cli_progress {
    bool enabled;
    bool in_place;     /* standard error is a terminal */
    int64_t row_limit; /* rows that come out at most; -1 = all */
    atomic_flag busy;  /* held while a line is printed; guards what follows */
    bool stopped;
    bool shown;         /* a line stands on the terminal */
    double next_time;   /* seconds of oc_progress at which the next line may come */
    double phase_began; /* same clock */
    const char *phase;
    /* A session does one statement after the other, on counters that go on: */
    double statement_began; /* monotonic clock; < 0 once `shift` is known, or when there is none */
    double shift;           /* seconds of oc_progress when the statement began */
    oc_progress last;       /* as the library told it */
    oc_progress base;       /* `last` of the statement before */
} oci_cli_progress;

void oci_cli_init_progress(oci_cli_progress *progress, const oci_cli_options *options);

/* An oc_progress_callback; `arg` is the oci_cli_progress. */
void oci_cli_show_progress(const oc_progress *now, void *arg);

/* Begins the line of another statement of the same session. */
void oci_cli_restart_progress(oci_cli_progress *progress);

/* Wipes the line. May be called more than once. */
void oci_cli_stop_progress(oci_cli_progress *progress);

/* Columns of the terminal behind `fd`, else what the variable COLUMNS says, else 0. */
int oci_cli_terminal_width(int fd);

#endif /* OUTCORE_CLI_PROGRESS_H */
