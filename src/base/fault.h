/* Fault injection: wraps the seams so that the Nth operation of a kind fails, once or for ever
 * after. Used by tests (and by the OUTCORE_FAULT environment variable of the tiny build only).
 * Production code never includes this header except where the seams are chosen. Thread-safe. */
#ifndef OUTCORE_BASE_FAULT_H
#define OUTCORE_BASE_FAULT_H

#include "base/io.h"
#include "base/memory.h"
#include "base/thread.h"

typedef enum oci_fault_kind {
    OCI_FAULT_ALLOC, /* allocate, map, commit */
    OCI_FAULT_OPEN,
    OCI_FAULT_READ,  /* read and pread: EIO */
    OCI_FAULT_WRITE, /* write and pwrite: ENOSPC */
    OCI_FAULT_CLOSE,
    OCI_FAULT_UNLINK, /* unlink, rename and publish */
    OCI_FAULT_THREAD,
    OCI_FAULT_KINDS
} oci_fault_kind;

typedef struct oci_fault_plan oci_fault_plan;

/* No fault is armed at first; every operation is counted. */
oci_fault_plan *oci_fault_plan_create(void); /* NULL when out of memory */
void oci_fault_plan_destroy(oci_fault_plan *plan);
/* The Nth (from 1) operation of `kind` from now on fails; with `for_ever` every later one too. n
 * 0 disarms. */
void oci_fault_arm(oci_fault_plan *plan, oci_fault_kind kind, int64_t n, bool for_ever);
/* How many times a fault was injected since it was armed. */
int64_t oci_fault_injected(oci_fault_plan *plan);
int64_t oci_fault_count(oci_fault_plan *plan, oci_fault_kind kind); /* operations seen since arm */

/* The wrapped seams; they live as long as the plan. */
const oci_allocator *oci_fault_allocator(oci_fault_plan *plan);
const oci_io *oci_fault_io(oci_fault_plan *plan);
const oci_threads *oci_fault_threads(oci_fault_plan *plan);
/* Outstanding allocations through the wrapped allocator (bytes): 0 when everything was given
 * back. */
int64_t oci_fault_live_bytes(oci_fault_plan *plan);

#endif /* OUTCORE_BASE_FAULT_H */
