/* Status codes and the error record of Outcore.
 *
 * Every fallible call returns an `oc_status` and takes an `oc_error *` as its last argument.
 * The error may be NULL when the caller wants the code alone. On OC_OK the error is not
 * touched; on failure it holds the first cause. */
#ifndef OUTCORE_STATUS_H
#define OUTCORE_STATUS_H

#include <stdint.h>

/* For the *_INIT macros of structs that callers fill: zeros, and struct_size. C++ before C++20 has no
 * designated initialisers, and warns of members that are left out. */
#ifdef __cplusplus
#define OC_STRUCT_INIT(type)               \
    [] {                                   \
        type filled = {};                  \
        filled.struct_size = sizeof(type); \
        return filled;                     \
    }()
#else
#define OC_STRUCT_INIT(type)        \
    {                               \
        .struct_size = sizeof(type) \
    }
#endif

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define OC_NODISCARD __attribute__((warn_unused_result))
#define OC_API       __attribute__((visibility("default")))
#else
#define OC_NODISCARD
#define OC_API
#endif

typedef enum oc_status {
    OC_OK = 0,
    OC_EINVAL,       /* the caller's argument is wrong (unknown column, bad size, ...) */
    OC_EDATA,        /* the input is damaged, truncated or malformed */
    OC_EUNSUPPORTED, /* valid, but of a type or feature that is not supported; named in the message
                      */
    OC_EBUDGET,      /* the memory limit is too small; `needed_bytes` is a limit that works */
    OC_ENOMEM,       /* the system refused memory although the limit allowed it */
    OC_ENOSPC,       /* disk full, or the spill quota is used up */
    OC_EIO,          /* an input or output operation failed; `sys_errno` has the cause */
    OC_ESTREAM,      /* the input stream handed in by the caller reported an error */
    OC_ECANCELED,    /* oc_context_cancel() was called */
    OC_EINTERNAL     /* a defect of Outcore: please report it */
} oc_status;

/* Filled by a failing call. Plain data: copy it freely. */
typedef struct oc_error {
    oc_status status;
    int sys_errno;        /* errno value of the cause, or 0 */
    int line;             /* where the error was born: line and ... */
    const char *file;     /* ... static string with the source file */
    int64_t needed_bytes; /* for OC_EBUDGET: a memory limit that is large enough, else 0 */
    char message[1024];   /* one line, no full stop: what failed, on what, why, what to do */
} oc_error;

/* A constant name such as "OC_EDATA"; never NULL. */
OC_API const char *oc_status_name(oc_status status);

/* The errno value that stands for a status at the edge of a C stream: OC_OK 0, EINVAL, EIO,
 * ENOMEM (budget and system memory), ENOSPC, ENOTSUP, ECANCELED. */
OC_API int oc_status_errno(oc_status status);

#ifdef __cplusplus
}
#endif

#endif /* OUTCORE_STATUS_H */
