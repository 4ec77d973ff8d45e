/* Raising and forwarding errors.
 *
 * OC_FAIL(err, status, fmt, ...) creates an error, records where, and returns its status from the
 * enclosing function. OC_SET does the same without returning. OC_TRY(call) forwards a failure.
 * OC_GOTO(call) stores the status in a local `oc_status status` and jumps to `done`.
 * Every error is born in oci_error_set(), which is the one place for a breakpoint. */
#ifndef OUTCORE_BASE_ERROR_H
#define OUTCORE_BASE_ERROR_H

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcore/status.h"

/* Fills `err` (NULL allowed) and returns `status`. `sys_errno` 0 when there is none. The message is
 * cut at the size of the buffer, never at the middle of a UTF-8 character. */
oc_status oci_error_set(oc_error *err, oc_status status, int sys_errno, const char *file, int line,
                        const char *fmt, ...) __attribute__((format(printf, 6, 7)));

/* Puts "context: " in front of the message of an error that is already set. NULL err is fine. */
void oci_error_prefix(oc_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Clears a caller's error record. */
void oci_error_clear(oc_error *err);

/* The system's text for an errno value, thread-safe; may or may not use `buffer`. Never NULL. */
const char *oci_strerror(int errnum, char *buffer, size_t size);

/* Gives its second argument: what an error is set to is seen by a reader of one file, person or analyser. */
static inline oc_status oci_status_set(oc_status set, oc_status status)
{
    (void)set;
    return status;
}

#define OC_SET(err, status_, ...) \
    oci_status_set(oci_error_set((err), (status_), 0, __FILE__, __LINE__, __VA_ARGS__), (status_))
#define OC_SET_ERRNO(err, status_, errno_, ...)                                                \
    oci_status_set(oci_error_set((err), (status_), (errno_), __FILE__, __LINE__, __VA_ARGS__), \
                   (status_))
/* The status is named once more for the return, so that a reader of one file, person or analyser,
 * sees that it is never OC_OK. */
#define OC_FAIL(err, status_, ...)         \
    do {                                   \
        OC_SET(err, status_, __VA_ARGS__); \
        return status_;                    \
    } while (0)
#define OC_FAIL_ERRNO(err, status_, errno_, ...)         \
    do {                                                 \
        OC_SET_ERRNO(err, status_, errno_, __VA_ARGS__); \
        return status_;                                  \
    } while (0)

#define OC_TRY(call)                       \
    do {                                   \
        oc_status oc_try_status_ = (call); \
        if (oc_try_status_ != OC_OK) {     \
            return oc_try_status_;         \
        }                                  \
    } while (0)

/* For functions with one clean-up label: `oc_status status = OC_OK; ... done: ... return
 * status;` */
#define OC_GOTO(call)          \
    do {                       \
        status = (call);       \
        if (status != OC_OK) { \
            goto done;         \
        }                      \
    } while (0)

#endif /* OUTCORE_BASE_ERROR_H */
