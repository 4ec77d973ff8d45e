/* Failures for everything the library asks of others, put in at the linker's hand.
 *
 * The program of the fault tests is linked with --wrap for each function below, so that every call
 * of it from anywhere in the library goes through here first: malloc and its kin, the system calls
 * of file I/O, starting threads, making codec contexts, and our own memory and file calls (so that
 * each of *their* callers can be refused, not only the few lines that call malloc or read). The
 * library itself is not compiled differently.
 *
 *     library ── malloc, pread, oci_mem_alloc, ... ──> [this file: fails?] ──> the real one
 *
 * A call site is a place in the code, by return address. A site is *seen* when a run without
 * failures passes it and *hit* when a call from it was made to fail. Calls while the thread is
 * suspended (the tests' own) are let through and not counted.
 *
 * Also kept: which blocks of memory the library has not freed, and which descriptors it has not
 * closed. Thread-safe. */
#ifndef OUTCORE_TESTS_FAULT_SEAMS_H
#define OUTCORE_TESTS_FAULT_SEAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum fault_kind {
    FAULT_MEMORY, /* malloc and kin give NULL, oci_mem_*: OC_ENOMEM */
    FAULT_BUDGET, /* oci_mem_*: OC_EBUDGET */
    FAULT_OPEN,   /* EMFILE */
    FAULT_READ,   /* EIO */
    FAULT_WRITE,  /* ENOSPC */
    FAULT_CLOSE,  /* closes, and reports EIO */
    FAULT_NAME,   /* linkat, rename, unlink, fchmod: EIO */
    FAULT_STAT,   /* fstat, sizes of files: EIO */
    FAULT_RANDOM, /* getrandom: ENOSYS; keys need it, names can do without */
    /* From here on the answer must be right all the same. */
    FAULT_THREAD, /* EAGAIN */
    FAULT_EINTR,  /* open, read, write are interrupted */
    FAULT_SHORT,  /* read and write transfer half */
    FAULT_ADVICE, /* fallocate, fchown, madvise: what there is another way for */
    FAULT_KINDS
} fault_kind;

const char *fault_kind_name(fault_kind kind);
bool fault_is_harmless(fault_kind kind);

/* ---- what fails -------------------------------------------------------------------------------- */

/* Which call is to fail: the nth (from 1) of its kind, or of its kind at one site. */
typedef struct fault_plan {
    fault_kind kind;
    const void *site; /* NULL: any */
    int64_t nth;
    bool for_ever; /* all later calls of the kind, from any site, as well */
} fault_plan;

/* From now on calls are counted and fail by the plan; NULL: none fails. With `recording` the sites
 * passed are noted as seen. */
void fault_arm(const fault_plan *plan, bool recording);
/* No failure any more; what is live is still watched. */
void fault_arm_again(void);
void fault_disarm(void);
/* Calls made to fail since fault_arm(). */
int64_t fault_injected(void);
/* Calls of all kinds since fault_arm(). */
int64_t fault_calls(void);
/* Calls action(arg) just before call number nth of any kind goes on; nth 0: never. */
void fault_at_call(int64_t nth, void (*action)(void *arg), void *arg);

/* The calling thread's own work: not counted, never fails. Nests. */
void fault_suspend(void);
void fault_resume(void);

/* open() says that the file system has no O_TMPFILE, until set to false. */
void fault_set_no_tmpfile(bool on);

/* ---- sites ------------------------------------------------------------------------------------- */

typedef struct fault_site {
    fault_kind kind;
    const void *address;
    int64_t seen;     /* calls in the last recording */
    bool seen_ever;   /* in any recording */
    int64_t hit;      /* times it was the failing one */
    int64_t hit_ever; /* as the first of those that failed for ever after */
} fault_site;

/* All sites, in the order in which they were found. Stays valid; grows. */
int32_t fault_n_sites(void);
fault_site *fault_site_at(int32_t i);
/* The place of the last failure. */
void fault_report_last(FILE *out);
/* Lines with numbers per kind, and the name of each site that was seen and never hit. Returns the
 * number of the latter. */
int64_t fault_report(FILE *out, int64_t *n_seen);

/* ---- what is left ------------------------------------------------------------------------------ */

int64_t fault_live_blocks(void); /* allocated by the library and not freed */
int64_t fault_live_files(void);  /* opened and not closed */
/* Shows where the blocks were allocated, and forgets blocks and files. */
void fault_forget_live(FILE *out);

#endif /* OUTCORE_TESTS_FAULT_SEAMS_H */
