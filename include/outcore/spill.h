/* The spill layer by itself, for engines that have their own operators and want only this: put Arrow
 * batches on disk now, small and fast, and read them back later.
 *
 * This header is the manual. It goes in the order in which things are used:
 *
 *   1. managers   folders, limits and settings shared by some files; counters
 *   2. writers    record batches in
 *   3. files      what a writer leaves: a handle, to be read once or often
 *   4. readers    an Arrow C stream out
 *   5. by name    files and objects that some other process wrote
 *
 * The shortest useful program:
 *
 *     oc_spill_manager *manager;
 *     oc_spill_writer *writer;
 *     oc_spill_file *file;
 *     struct ArrowArrayStream rows;
 *     oc_spill_manager_create(NULL, &manager, &error);
 *     oc_spill_writer_create(manager, &schema, NULL, &writer, &error);
 *     oc_spill_writer_append(writer, &batch, &error);          as often as there are batches
 *     oc_spill_writer_finish(writer, &file, &error);
 *     oc_spill_file_read(file, NULL, NULL, &rows, &error);     rows.get_next(...)
 *
 * How rows lie on disk is docs/spill-format.md: Arrow IPC streams that other Arrow libraries open.
 *
 * Rules that hold for every call, beside those of outcore.h:
 * - Sizes are in bytes, times in nanoseconds, lengths in rows.
 * - Types: all that docs/types.md lists. Rows come back bit for bit and in their order, but for the
 *   slots of nulls, which may come back as zeros. Where batches end may differ, see keep_batches.
 * - Objects may be destroyed in any order: a file keeps its manager, a reader its file, an array what
 *   it shows.
 * - A manager may be used by several threads at once, and so may a file; a writer or a stream by one
 *   thread at a time. Work is done in the thread that calls; nothing runs in the background.
 * - Files without a name leave nothing behind, whatever happens to the process. Those with a name
 *   appear under it when they are complete.
 *
 * Every call is there since 0.1. */
#ifndef OUTCORE_SPILL_H
#define OUTCORE_SPILL_H

#include "outcore/outcore.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- 1. managers ----------------------------------------------------------------------------- */

typedef struct oc_spill_options {
    size_t struct_size;
    /* Memory that the manager's writers and readers may hold together: rows that are collected,
     * buffers, arrays read back until they are released. 0 = default, as for oc_options. A writer
     * holds up to block_bytes of rows between calls, and some three blocks more during one. What
     * it does not cover: arrays of the caller, and codec contexts (about 1 MiB for each writer with
     * zstd). */
    int64_t memory_limit;
    /* Bytes of spill files that may exist at one moment. 0 = no quota. */
    int64_t disk_limit;
    /* Folders for files without a name, used in turn; NULL / 0 = $OUTCORE_TEMP_DIR, else $TMPDIR,
     * else /tmp. Copied. */
    const char *const *temp_dirs;
    size_t n_temp_dirs;
    oc_codec codec; /* AUTO: measured while writing, see outcore.h */
    int32_t level;  /* zstd level -10..9; 0 = default */
    oc_spill_encoding encoding;
    bool without_checksums; /* neither written nor verified */
    /* Sealed with a random key that lives as long as the manager: such files are read through the
     * handles that their writers gave, and in no other way. OC_EUNSUPPORTED when the library was
     * built without libsodium. */
    bool encrypt;
    /* Bytes of rows, as they lie in memory, that are written and read as one block; 0 = 1 MiB.
     * Smaller batches are collected until there are so many, larger ones are cut. With many writers
     * at once blocks become smaller, so that all of them fit into memory_limit. */
    int64_t block_bytes;
    /* Every batch appended becomes one block and comes back as one batch of the same rows, with its
     * own dictionaries. Costs time and space when batches are small. */
    bool keep_batches;
} oc_spill_options;

#define OC_SPILL_OPTIONS_INIT OC_STRUCT_INIT(oc_spill_options)

typedef struct oc_spill_manager oc_spill_manager;

/* options NULL = all defaults. OC_EINVAL: an option is out of range. OC_EIO, OC_ENOSPC: a folder is
 * missing, not writable or full (the message says which). OC_EBUDGET: memory_limit is below 1 MiB.
 * OC_EUNSUPPORTED: encryption is wanted and not built in. */
OC_API OC_NODISCARD oc_status oc_spill_manager_create(const oc_spill_options *options,
                                                      oc_spill_manager **out, oc_error *error);

/* Writers, files, streams and arrays that are still out keep what they need. NULL is fine. */
OC_API void oc_spill_manager_destroy(oc_spill_manager *manager);

/* Totals over everything a manager did so far; exact after every call of this header. */
typedef struct oc_spill_metrics {
    int64_t spill_count;     /* writers that were finished */
    int64_t rows;            /* appended ... */
    int64_t batches;         /* ... in so many batches */
    int64_t rows_written;    /* of them on disk; the rest is collected for the next block */
    int64_t memory_bytes;    /* what the rows on disk took in memory */
    int64_t disk_bytes;      /* written, in ... */
    int64_t writes;          /* ... so many calls */
    int64_t read_back_bytes; /* of files, as often as they were read */
    int64_t disk_now;        /* bytes of files that exist now ... */
    int64_t disk_peak;       /* ... and at most at one moment */
    int64_t memory_used;     /* of memory_limit, now ... */
    int64_t memory_peak;     /* ... and at most */
    /* Work, summed over threads. */
    int64_t encode_ns; /* packing and compressing */
    int64_t write_ns;
    int64_t read_ns;
    int64_t decode_ns;
    double ratio; /* memory_bytes / disk_bytes; 0 when nothing was written */
} oc_spill_metrics;

OC_API void oc_spill_manager_metrics(const oc_spill_manager *manager, oc_spill_metrics *out);

/* ---- 2. writers ------------------------------------------------------------------------------ */

typedef struct oc_spill_writer oc_spill_writer;
typedef struct oc_spill_file oc_spill_file;

/* What a writer wrote so far, or a file holds; exact after every call. */
typedef struct oc_spill_info {
    int64_t rows;         /* appended; of a file opened by name -1 */
    int64_t batches;      /* appended; of a file opened by name -1 */
    int64_t blocks;       /* on disk; of a file opened by name -1 */
    int64_t rows_written; /* on disk; of a file opened by name -1 */
    int64_t disk_bytes;
} oc_spill_info;

/* `declared` (borrowed; a struct of the columns) is the schema of all batches and the one a reader
 * announces. Only the types of a batch have to agree with it: whether a column may have nulls is up
 * to each batch. path NULL: a private file without a name in the next folder. Else a regular file that
 * gets this name, replacing what has it, when the writer is finished; until then nothing is there.
 * OC_EUNSUPPORTED: a type that is not supported. OC_EDATA: `declared` is malformed. OC_EIO,
 * OC_ENOSPC: the file could not be created. */
OC_API OC_NODISCARD oc_status oc_spill_writer_create(oc_spill_manager *manager,
                                                     const struct ArrowSchema *declared,
                                                     const char *path, oc_spill_writer **out,
                                                     oc_error *error);

/* Appends a struct array of the declared columns. Moves `batch`: its `release` is NULL afterwards,
 * also on failure. Sliced arrays (any offset, at any depth) are fine, and only what the rows show is
 * written. A small batch is kept as it is until there are enough for a block, or released when its
 * rows have been copied or written.
 * OC_EDATA, OC_EINVAL: the array does not fit the schema. OC_ENOSPC: disk full or over quota; what was
 * written stays counted, what was not is not. OC_EBUDGET, OC_ENOMEM, OC_EIO. An error is sticky:
 * later calls report it again, and only oc_spill_writer_destroy() is useful. */
OC_API OC_NODISCARD oc_status oc_spill_writer_append(oc_spill_writer *writer,
                                                     struct ArrowArray *batch, oc_error *error);

/* Writes what is still collected, so that rows_written = rows. Costs space when done often. */
OC_API OC_NODISCARD oc_status oc_spill_writer_flush(oc_spill_writer *writer, oc_error *error);

/* Writes the rest and gives the file its name if it gets one. *out is a handle with one reference.
 * The writer is used up, whatever the result: destroy it. */
OC_API OC_NODISCARD oc_status oc_spill_writer_finish(oc_spill_writer *writer, oc_spill_file **out,
                                                     oc_error *error);

/* Without finish() the file is gone, and its disk space with it. NULL is fine. */
OC_API void oc_spill_writer_destroy(oc_spill_writer *writer);

OC_API void oc_spill_writer_info(const oc_spill_writer *writer, oc_spill_info *out);

/* ---- 3. files -------------------------------------------------------------------------------- */

/* A handle, reference-counted. A file without a name takes disk space as long as a handle or a stream
 * of it is there; one with a name counts for disk_limit until it is finished. */
OC_API oc_spill_file *oc_spill_file_retain(oc_spill_file *file);
OC_API void oc_spill_file_release(oc_spill_file *file); /* NULL is fine */
OC_API void oc_spill_file_info(const oc_spill_file *file, oc_spill_info *out);

/* ---- 4. readers ------------------------------------------------------------------------------ */

typedef struct oc_spill_read_options {
    size_t struct_size;
    /* The disk space of what was read is given back while reading goes on. The file can be read
     * no second time then, nor by two streams at once. Only files without a name. */
    bool consume;
} oc_spill_read_options;

#define OC_SPILL_READ_OPTIONS_INIT OC_STRUCT_INIT(oc_spill_read_options)

/* A stream over all rows, block by block. `expected` (borrowed; NULL = take what is there) is the
 * schema that the caller wants: OC_EDATA names the first column that differs in name, type or place;
 * nullability and metadata of `expected` are announced. options may be NULL. A file may be read as
 * often as wanted, by several streams at once, unless it is consumed.
 *
 * Values of files without a name are not validated again: text that is not UTF-8 comes back as it was.
 * Of files with a name every offset and index is validated, since others could have changed them. The
 * structure and, unless they are off, checksums are checked always.
 * Errors of the stream: errno values as of outcore.h. EINVAL with a message that names file, message
 * and byte: damaged or cut. */
OC_API OC_NODISCARD oc_status oc_spill_file_read(oc_spill_file *file,
                                                 const struct ArrowSchema *expected,
                                                 const oc_spill_read_options *options,
                                                 struct ArrowArrayStream *out, oc_error *error);

/* ---- 5. by name ------------------------------------------------------------------------------ */

/* A file that oc_spill_writer_finish() named, in this or another process. Nothing is read before
 * oc_spill_file_read(). OC_EIO: it could not be opened. */
OC_API OC_NODISCARD oc_status oc_spill_file_open(oc_spill_manager *manager, const char *path,
                                                 oc_spill_file **out, oc_error *error);

/* Bytes of a spill file from anywhere else, such as an object store. */
typedef struct oc_spill_source {
    const char *name; /* for messages; copied */
    int64_t size;     /* of all bytes */
    /* Up to `size` > 0 next bytes into `buffer`, in pieces as they come. Returns how many, 0 at the
     * end, or the negative of an errno value. Called by the thread that pulls the stream. */
    int64_t (*read)(void *self, void *buffer, int64_t size);
    void (*release)(void *self); /* called once, when no more is read; may be NULL */
    void *self;
} oc_spill_source;

/* The bytes come once, in order, so that the handle gives one stream, once. Calls source->release()
 * also on failure. OC_EINVAL: no read function, or a negative size. */
OC_API OC_NODISCARD oc_status oc_spill_file_open_source(oc_spill_manager *manager,
                                                        const oc_spill_source *source,
                                                        oc_spill_file **out, oc_error *error);

#ifdef __cplusplus
}
#endif

#endif /* OUTCORE_SPILL_H */
