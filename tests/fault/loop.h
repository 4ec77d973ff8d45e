/* Runs a piece of work again and again, each time with another call failing.
 *
 *     run without failures ──> the right answer, and the call sites passed
 *     for each kind, site and moment: run with that failure ──> right answer or the right error
 *
 * After every run: nothing allocated and no descriptor open, the memory budget and the spill folder
 * empty, no half-written output, and the same context does the work rightly once the fault is gone.
 *
 * By default every site fails at least once in some body, and as many further moments are tried as
 * fit into a fixed time. OUTCORE_SLOW=1 tries every moment of every kind in every body, once and
 * for ever after. */
#ifndef OUTCORE_TESTS_FAULT_LOOP_H
#define OUTCORE_TESTS_FAULT_LOOP_H

#include "fault/seams.h"
#include "outcore/outcore.h"

typedef struct fault_run {
    oc_context *context;
    oc_error error;      /* of what failed */
    uint64_t digest;     /* of the result; order and values count */
    const char *outputs; /* a folder for results: empty at first, and again after a failure */
    const void *arg;     /* of the body */
} fault_run;

/* One piece of work. Returns its outcome, with run->error set when it failed. What a body does
 * beside calls of the library stands between fault_suspend() and fault_resume(). */
typedef struct fault_body {
    const char *name;
    oc_status (*run)(fault_run *run);
    const void *arg;
    int64_t memory_limit; /* 0: 1 MiB */
    oc_codec codec;
    oc_spill_encoding encoding;
    bool no_checksums;
    bool encrypt;         /* no loop where that is not built in */
    int32_t threads;      /* 0: 1 */
    bool no_tmpfile;      /* file systems without nameless files */
    bool needs_thread;    /* without one it may say that memory is out */
    bool own_threads;     /* the body starts threads: which call is the nth differs */
    bool is_heavy;        /* takes long: only with OUTCORE_SLOW in builds with sanitizers */
    int32_t merge_passes; /* this many at least; 0: any number */
    bool must_spill;      /* else the body does not test what it is meant to */
} fault_body;

bool fault_is_slow(void); /* OUTCORE_SLOW is set */

/* The loops; the answer of the first run is the one expected of all. What goes wrong is printed
 * and counted. */
void fault_loop(const fault_body *body);
/* Cancels at the nth call of anything, and in the nth progress callback. */
void fault_cancel_loop(const fault_body *body);
/* Fails the case of cmocka when something went wrong since the last call. */
void fault_check_none_wrong(void);

/* ---- for bodies -------------------------------------------------------------------------------- */

struct arrow_stream_maker;
/* arrow_make_stream() whose callbacks never fail. */
void fault_make_stream(const struct arrow_stream_maker *maker, struct ArrowArrayStream *out);
/* Reads a stream to its end into run->digest and releases it. */
oc_status fault_drain(fault_run *run, struct ArrowArrayStream *stream);
/* The digest of what a file holds, read in a context without limits. */
uint64_t fault_digest_of_file(const char *path, oc_format format);
/* Adds bytes to run->digest. */
void fault_add(fault_run *run, const void *bytes, size_t size);

/* ---- around all -------------------------------------------------------------------------------- */

extern char fault_folder[64]; /* with the folders "inputs", "outputs" and "spill" */
void fault_set_up_folders(void);
void fault_remove_folders(void);

#endif /* OUTCORE_TESTS_FAULT_LOOP_H */
