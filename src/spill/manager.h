/* Spill files: where they live, how much disk they may take, and what was written and read.
 *
 * One manager per context. It hands out `oci_spill_file`s: private files without a name (see
 * OCI_OPEN_SCRATCH), each of which holds any number of runs one behind the other. One file per
 * operator instead of one per run keeps the number of open files constant, whatever the number of
 * runs; disk space of what has been read is given back by punching holes.
 *
 * Quota: bytes that exist at one moment in all files of the manager; checked before each write.
 * Counters are exact after every write and may be read by any thread. Reference-counted: streams
 * may outlive the context. */
#ifndef OUTCORE_SPILL_MANAGER_H
#define OUTCORE_SPILL_MANAGER_H

#include <stdatomic.h>

#include "base/env.h"
#include "base/random.h"
#include "base/thread.h"
#include "codec/codec.h"
#include "spill/codec_choice.h"
#include "spill/seal.h"

typedef struct oci_spill_counters {
    _Atomic int64_t spill_count;   /* runs written */
    _Atomic int64_t spilled_bytes; /* written, ever */
    _Atomic int64_t spilled_rows;
    _Atomic int64_t memory_bytes; /* what was spilled took in memory: memory / spilled = ratio */
    _Atomic int64_t read_back_bytes;
    _Atomic int64_t writes;   /* calls */
    _Atomic int64_t disk_now; /* written and not yet given back */
    _Atomic int64_t disk_peak;
    /* Nanoseconds of work, summed over threads. */
    _Atomic int64_t encode_ns; /* packing and compressing */
    _Atomic int64_t write_ns;
    _Atomic int64_t read_ns;
    _Atomic int64_t decode_ns;
} oci_spill_counters;

typedef enum oci_spill_encoding {
    OCI_SPILL_ENCODING_AUTO,    /* per column what is smallest */
    OCI_SPILL_ENCODING_PLAIN,   /* as Arrow lays it out */
    OCI_SPILL_ENCODING_LENGTHS, /* strings as lengths and bytes, when a codec is on */
} oci_spill_encoding;

/* How spill files are written. */
typedef struct oci_spill_settings {
    const char *const *folders; /* copied */
    int32_t n_folders;
    int64_t disk_limit; /* bytes that exist at one moment, 0 = none */
    bool is_codec_auto; /* measured; `codec` and `level` do not count then */
    oci_codec_id codec;
    int level; /* of zstd, 0 = default */
    oci_spill_encoding encoding;
    bool no_checksums;        /* neither written nor verified */
    bool is_sealed;           /* encrypted, instead of checksums */
    const oci_clock *clock;   /* NULL = the system's; must outlive the manager, like ... */
    const oci_random *random; /* ... this, which is asked only when files are sealed */
} oci_spill_settings;

typedef struct oci_spill_manager {
    oci_spill_counters counters;
    /* private */
    const oci_io *io;
    char **folders; /* n_folders names */
    int32_t n_folders;
    oci_spill_settings settings;      /* without the folders */
    struct oci_spill_manager *parent; /* of a part; see oci_spill_manager_part */
    oci_codec_choice *choice;         /* NULL unless is_codec_auto */
    oci_seal *seal;                   /* NULL unless is_sealed */
    _Atomic uint32_t next_folder;
    _Atomic int32_t operators; /* operators of the context that are at work ... */
    _Atomic int32_t queries;   /* ... of them, those whose rows no other operator waits for ... */
    _Atomic int32_t waiting;   /* ... and those that wait for memory the others hold */
    _Atomic int32_t references;
} oci_spill_manager;

/* OC_EUNSUPPORTED: encryption is wanted and not built in. */
OC_NODISCARD oc_status oci_spill_manager_create(const oci_io *io,
                                                const oci_spill_settings *settings,
                                                oci_spill_manager **out, oc_error *err);
/* A manager that counts on its own what is spilled through it, and is its parent in all else: folders, quota,
 * settings, counters of the whole. */
OC_NODISCARD oc_status oci_spill_manager_part(oci_spill_manager *parent, oci_spill_manager **out,
                                              oc_error *err);
/* The whole that a manager is part of; itself, mostly. */
static inline oci_spill_manager *oci_spill_root(const oci_spill_manager *manager)
{
    return manager->parent != NULL ? manager->parent : (oci_spill_manager *)(uintptr_t)manager;
}
/* Adds to one of the counters, of the whole too. */
#define OCI_SPILL_ADD(manager, counter, n)                               \
    do {                                                                 \
        oci_spill_manager *counting_ = (manager);                        \
        atomic_fetch_add(&counting_->counters.counter, (n));             \
        if (counting_->parent != NULL) {                                 \
            atomic_fetch_add(&counting_->parent->counters.counter, (n)); \
        }                                                                \
    } while (0)
oci_spill_manager *oci_spill_manager_retain(oci_spill_manager *manager);
void oci_spill_manager_release(oci_spill_manager *manager); /* NULL is fine */
/* Nanoseconds of the manager's clock. */
int64_t oci_spill_now(const oci_spill_manager *manager);

typedef struct oci_spill_file oci_spill_file;

/* Opens a private file in the next folder; when that one cannot be used, in the others in turn.
 * Retains the manager. */
OC_NODISCARD oc_status oci_spill_file_open(oci_spill_manager *manager, oci_spill_file **out,
                                           oc_error *err);
/* The same for a file with a name, which the caller opened and which is taken, also on failure. */
OC_NODISCARD oc_status oci_spill_file_wrap(oci_spill_manager *manager, oci_file *file, int64_t size,
                                           oci_spill_file **out, oc_error *err);
/* Closes it; its disk space is free with that. NULL is fine. */
void oci_spill_file_close(oci_spill_file *file);

/* Appends with one write; *offset gets where. OC_ENOSPC: disk full or over quota. One appending
 * thread at a time. */
OC_NODISCARD oc_status oci_spill_append(oci_spill_file *file, const void *data, int64_t size,
                                        int64_t *offset, oc_error *err);
/* Reads exactly `size` bytes or fails. Any thread. Readers count read_back_bytes themselves, per
 * message. */
OC_NODISCARD oc_status oci_spill_read(oci_spill_file *file, void *data, int64_t size,
                                      int64_t offset, oc_error *err);
/* File systems free whole blocks only, and zero the parts of blocks at the ends of a hole, which costs
 * a write: so only whole blocks are given back. 4 KiB is the block size of every common Linux file
 * system. */
#define OCI_SPILL_DISK_BLOCK_BYTES 4096
/* Gives the disk space of a range back; it must not be read again. Any thread. */
void oci_spill_discard(oci_spill_file *file, int64_t offset, int64_t size);
int64_t oci_spill_file_end(const oci_spill_file *file);
/* What errors call it: "spill file in /tmp", or the name of a file that was wrapped. */
const char *oci_spill_file_name(const oci_spill_file *file);
oci_spill_manager *oci_spill_file_manager(const oci_spill_file *file);

#endif /* OUTCORE_SPILL_MANAGER_H */
