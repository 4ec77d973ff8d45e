/* Outcore: sort Arrow data larger than memory, under a limit that is real.
 *
 * This header is the manual. It goes from simple to advanced:
 *
 *   1. contexts       a memory limit, spill folders and settings shared by some pieces of work
 *   2. sorting        an Arrow C stream in, an Arrow C stream out
 *   3. files          streams from and to CSV, TSV, JSON and Arrow IPC files and pipes
 *   4. watching       progress, metrics, cancelling
 *   5. small helpers  sizes, sort-key texts, column texts
 *
 * The shortest useful program:
 *
 *     oc_options options = OC_OPTIONS_INIT;
 *     options.memory_limit = 200 << 20;
 *     oc_context *context;
 *     oc_error error;
 *     oc_sort_key key = {.column = "price", .descending = true};
 *     struct ArrowArrayStream sorted;
 *     if (oc_context_create(&options, &context, &error) != OC_OK ||
 *         oc_sort(context, &input, &key, 1, NULL, &sorted, &error) != OC_OK) {
 *         fprintf(stderr, "%s\n", error.message);
 *     }
 *
 * Rules that hold for every call:
 * - Streams and arrays follow the Arrow C Data and C Stream Interface. A stream passed *in* is
 * moved: its `release` is NULL afterwards, also when the call fails. A stream handed *out* is
 * released by the caller, as is every array it gives; arrays may outlive the stream, and both may
 * outlive the context.
 * - Work is lazy: nothing is read before the first get_next() of the stream handed out. Errors that
 * appear then come through the stream: get_next() returns an errno value and get_last_error() the
 * message. errno values: EINVAL, EIO, ENOMEM (memory limit or system), ENOSPC (disk full or quota),
 * ENOTSUP, ECANCELED.
 * - A context may be used by several threads at once; one stream by one thread at a time.
 * - The library never prints, never exits, never touches signals, and leaves no file behind,
 * whatever happens to the process.
 * - Structs that callers fill begin with `struct_size`; use the *_INIT macros, so that later
 * versions can add members.
 *
 * Every call is there since 0.1. */
#ifndef OUTCORE_OUTCORE_H
#define OUTCORE_OUTCORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcore/arrow_abi.h"
#include "outcore/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define OC_VERSION_MAJOR 0
#define OC_VERSION_MINOR 1
#define OC_VERSION_PATCH 0

/* "0.1.0" */
OC_API const char *oc_version(void);

/* ---- 1. contexts ----------------------------------------------------------------------------- */

typedef enum oc_codec {
    /* Outcore chooses. Spill files: for each block what costs least time in all, from what
     * compressing, the disk and reading back are seen to take. Arrow output: none. Parquet: zstd. */
    OC_CODEC_AUTO = 0,
    OC_CODEC_NONE,
    OC_CODEC_LZ4, /* LZ4 frame; in Parquet LZ4_RAW */
    OC_CODEC_ZSTD,
    /* Parquet only. */
    OC_CODEC_SNAPPY,
    OC_CODEC_GZIP,
    OC_CODEC_BROTLI
} oc_codec;

/* How columns lie in spill files, before a codec sees them; see docs/spill-format.md. */
typedef enum oc_spill_encoding {
    OC_SPILL_ENCODING_AUTO = 0, /* packed, each column as is smallest, where that gains anything */
    OC_SPILL_ENCODING_PLAIN,    /* as Arrow lays them out */
    OC_SPILL_ENCODING_LENGTHS   /* plain, but with a codec strings are lengths and bytes */
} oc_spill_encoding;

/* What progress looks like at one moment. Sizes in bytes, -1 where not known. */
typedef struct oc_progress {
    const char *phase;         /* "reading", "spilling", "merging", "writing": static strings */
    int64_t input_bytes;       /* consumed so far, files only */
    int64_t input_bytes_total; /* -1 for pipes and streams */
    int64_t input_rows;
    int64_t output_rows;
    int64_t spilled_bytes;
    int32_t merge_pass;   /* 0 before merging; the current pass from 1 */
    int32_t merge_passes; /* planned */
    double seconds;       /* since the context was made */
} oc_progress;

/* Called on a thread that is working, at most ten times a second. Must return soon; must not call
 * into the context except oc_context_cancel(). */
typedef void (*oc_progress_callback)(const oc_progress *progress, void *arg);

typedef struct oc_options {
    size_t struct_size;
    /* Memory that everything of this context may hold together, in bytes. 0 = default: the smaller
     * of 80% of physical memory and the cgroup limit. What it covers: batches, sort keys, hash
     * tables, read-ahead, compression buffers, output not yet released by the consumer. What it
     * does not: code, stacks and codec contexts (<= 16 MiB together), and arrays of the input while
     * their producer owns them. The floor is 1 MiB for narrow rows; see docs/memory.md. */
    int64_t memory_limit;
    /* Bytes of spill files that may exist at one moment. 0 = no quota. */
    int64_t disk_limit;
    /* Folders for spill files, used in turn; NULL / 0 = $OUTCORE_TEMP_DIR, else $TMPDIR, else /tmp.
     */
    const char *const *temp_dirs;
    size_t n_temp_dirs;
    /* Worker threads; 0 = number of cores. 1 = the calling thread, plus one helper that overlaps
     * disk and CPU. Results do not depend on it. */
    int32_t threads;
    /* Rows of an output batch at most; 0 = 8192. Batches are also cut by bytes. Results do not
     * depend on it. */
    int64_t batch_rows;
    oc_codec spill_codec;
    int32_t spill_level;           /* zstd level -10..9; 0 = default */
    oc_progress_callback progress; /* may be NULL */
    void *progress_arg;
    oc_spill_encoding spill_encoding;
    bool spill_without_checksums; /* neither written nor verified */
    /* Spill files are sealed with a random key of this context: they tell nothing to who reads the
     * disk, and no change to them goes unnoticed. */
    bool spill_encrypt;
} oc_options;

#define OC_OPTIONS_INIT OC_STRUCT_INIT(oc_options)

typedef struct oc_context oc_context;

/* options NULL = all defaults. OC_EINVAL: an option is out of range. OC_EIO, OC_ENOSPC: a folder is
 * missing, not writable or full (the message says which). OC_EBUDGET: memory_limit is below the
 * floor. OC_EUNSUPPORTED: spill_encrypt, and the library was built without libsodium. */
OC_API OC_NODISCARD oc_status oc_context_create(const oc_options *options, oc_context **out,
                                                oc_error *error);

/* Streams and arrays that are still out keep what they need and stay valid. NULL is fine. */
OC_API void oc_context_destroy(oc_context *context);

/* ---- 2. sorting ------------------------------------------------------------------------------ */

typedef enum oc_nulls {
    OC_NULLS_DEFAULT = 0, /* as in PostgreSQL: last when ascending, first when descending */
    OC_NULLS_FIRST,
    OC_NULLS_LAST
} oc_nulls;

/* One sort key. Order of values: docs/ordering.md (numbers by value, -0.0 = 0.0, NaN largest;
 * strings by bytes). */
typedef struct oc_sort_key {
    const char *column;   /* name; NULL = use column_index */
    int32_t column_index; /* from 0; used only when column is NULL */
    bool descending;
    oc_nulls nulls;
} oc_sort_key;

typedef struct oc_sort_options {
    size_t struct_size;
    bool has_limit;
    int64_t limit; /* the first `limit` rows of the sorted result; needs has_limit */
} oc_sort_options;

#define OC_SORT_OPTIONS_INIT OC_STRUCT_INIT(oc_sort_options)

/* Sorts `input` by `keys`. Stable: rows with equal keys come out in input order. Payload bits are
 * never changed. The result is the same for every memory limit, codec, batch size and thread count;
 * only where batches end may differ. No keys: input order.
 *
 * Types: see docs/types.md; an unsupported one is OC_EUNSUPPORTED and is named. A row that does not
 * fit the memory limit is the one case that fails for lack of memory: the message names the
 * smallest limit that works.
 *
 * OC_EINVAL: unknown or ambiguous column, bad key. OC_ESTREAM: the input's get_schema failed. */
OC_API OC_NODISCARD oc_status oc_sort(oc_context *context, struct ArrowArrayStream *input,
                                      const oc_sort_key *keys, size_t n_keys,
                                      const oc_sort_options *options,
                                      struct ArrowArrayStream *output, oc_error *error);

/* Some columns of a stream, in the order given, without copying. */
OC_API OC_NODISCARD oc_status oc_select(oc_context *context, struct ArrowArrayStream *input,
                                        const char *const *columns, size_t n_columns,
                                        struct ArrowArrayStream *output, oc_error *error);

/* ---- grouping -------------------------------------------------------------------------------- */

/* One aggregate of oc_group(). Start from OC_AGGREGATE_INIT. */
typedef struct oc_aggregate {
    size_t struct_size;
    /* "count" (no column: of all rows), "sum", "avg", "min", "max", "bool_and", "bool_or", "bit_and", "bit_or",
     * "bit_xor", "var_samp", "var_pop", "stddev_samp", "stddev_pop", "covar_samp", "covar_pop", "corr",
     * "approx_count_distinct", "any_value", "first_value", "last_value", "array_agg", "string_agg", "median",
     * "percentile_cont", "percentile_disc", "mode". */
    const char *function;
    const char *column;        /* argument; NULL = none, for count */
    const char *second_column; /* of covar_* and corr */
    const char *filter;        /* a bool column: only rows where it is true count; NULL = all */
    bool distinct;             /* equal values count once */
    const oc_sort_key *order;  /* order of values: array_agg, string_agg, first_value, last_value */
    size_t n_order;
    double fraction;       /* percentile_*: 0..1 */
    const char *separator; /* string_agg; NULL = none */
    const char *name;      /* of the result's column; NULL = the function */
} oc_aggregate;

#define OC_AGGREGATE_INIT OC_STRUCT_INIT(oc_aggregate)

/* Groups `input` by the columns keys[n_keys] (names); larger than memory. The result has the keys, then the aggregates.
 * No keys: one row, also of no input. Nulls are one group, -0.0 and 0.0 one, all NaNs one; keys come out as values:
 * dictionaries as what they stand for, views as strings, intervals justified. Which order rows come in depends on the
 * aggregates and on nothing else: that of a hash of the keys, or of the keys themselves (docs/group.md).
 *
 * Sums are exact and never wrap: one that does not fit its type is an error of the stream (EINVAL). Types of results:
 * docs/group.md. OC_EINVAL: unknown column or function, types it does not take. Everything else as oc_sort. */
OC_API OC_NODISCARD oc_status oc_group(oc_context *context, struct ArrowArrayStream *input,
                                       const char *const *keys, size_t n_keys,
                                       const oc_aggregate *aggregates, size_t n_aggregates,
                                       struct ArrowArrayStream *output, oc_error *error);

/* The different rows of some columns (n_columns 0: of all), in the order of a hash. */
OC_API OC_NODISCARD oc_status oc_distinct(oc_context *context, struct ArrowArrayStream *input,
                                          const char *const *columns, size_t n_columns,
                                          struct ArrowArrayStream *output, oc_error *error);

/* ---- 3. files -------------------------------------------------------------------------------- */

typedef enum oc_format {
    OC_FORMAT_AUTO =
        0, /* by file name; a pipe: by its first bytes when reading, CSV when writing */
    OC_FORMAT_CSV,
    OC_FORMAT_TSV,
    OC_FORMAT_TBL,  /* '|' with a trailing delimiter, no header, as TPC-H tools write; reading only
                     */
    OC_FORMAT_JSON, /* one array of objects; writing only */
    OC_FORMAT_NDJSON, /* one object a line; writing only */
    OC_FORMAT_ARROW,  /* IPC file format */
    OC_FORMAT_ARROWS, /* IPC stream format */
    OC_FORMAT_TABLE,  /* for people; writing only */
    OC_FORMAT_NULL,   /* drain and count; writing only */
    OC_FORMAT_PARQUET
} oc_format;

/* Format for a name such as "csv", "ndjson", "arrows"; false when unknown. */
OC_API bool oc_format_parse(const char *text, oc_format *out);

typedef struct oc_read_options {
    size_t struct_size;
    oc_format format;
    char delimiter;      /* CSV: 0 = guess among , tab ; | */
    int32_t header;      /* CSV: -1 = guess (with 0 meaning unset -> guess), 1 = yes, 2 = no */
    const char *columns; /* CSV: declared columns, "a int64, b decimal(15,2), c utf8"; NULL = names
                            from the header, types inferred */
    const char
        *null_text; /* CSV: a field of this text, unquoted, is null; NULL = the empty field */
    const char *const *select; /* read only these columns, in this order; NULL = all */
    size_t n_select;
    /* oc_inspect() of a spill file: its columns as they lie in the file, which is what other Arrow
     * readers see, instead of those that they stand for. Of a Parquet file: every column chunk too. */
    bool physical;
} oc_read_options;

#define OC_READ_OPTIONS_INIT OC_STRUCT_INIT(oc_read_options)

/* One stream over some files, one after the other; they must have the same column names and types.
 * "-" is standard input. Large record batches are read in slices, so a file may hold batches far
 * over the memory limit. Spill files that were kept by name (outcore/spill.h) are read as the rows that
 * they stand for. Errors name file and position. */
OC_API OC_NODISCARD oc_status oc_read_files(oc_context *context, const char *const *paths,
                                            size_t n_paths, const oc_read_options *options,
                                            struct ArrowArrayStream *output, oc_error *error);

typedef struct oc_write_options {
    size_t struct_size;
    oc_format format;
    oc_codec codec;        /* Arrow formats: body compression, AUTO = none; Parquet: AUTO = zstd */
    char delimiter;        /* CSV: 0 = , (or tab for TSV) */
    int32_t header;        /* CSV: 0 or 1 = yes, 2 = no */
    const char *null_text; /* CSV and table; NULL = empty (table: NULL) */
    int32_t table_width;   /* TABLE: characters a line; 0 = 80 */
    int64_t max_rows;      /* TABLE: rows shown, the rest is counted; 0 = 40, -1 = all */
    int32_t codec_level;   /* Parquet: of zstd, gzip, brotli; 0 = the codec's default */
    /* Parquet: most rows of a row group (0 = 1,048,576), and its bytes (0 = 128 MiB); it is smaller when the
     * memory limit wants it so. */
    int64_t row_group_rows;
    int64_t row_group_bytes;
} oc_write_options;

#define OC_WRITE_OPTIONS_INIT OC_STRUCT_INIT(oc_write_options)

/* Runs `input` to its end and writes it. A path appears under its name only when the result is
 * complete (written to a temporary name beside it, then renamed); a failed or cancelled write
 * leaves no file. "-" is standard output; devices and pipes are written directly. *rows (may be
 * NULL) is the number of rows written. */
OC_API OC_NODISCARD oc_status oc_write_file(oc_context *context, struct ArrowArrayStream *input,
                                            const char *path, const oc_write_options *options,
                                            int64_t *rows, oc_error *error);

/* Describes a file for people: format, schema, batches, sizes, compression. Of a spill file it is told
 * how each column lies; all of it is read and checked, unless options->physical asks for what it is as
 * an Arrow file. Of Parquet the metadata are read. `print` gets pieces of text. */
OC_API OC_NODISCARD oc_status oc_inspect(oc_context *context, const char *path,
                                         const oc_read_options *options,
                                         void (*print)(const char *text, size_t size, void *arg),
                                         void *arg, oc_error *error);

/* ---- 4. watching ----------------------------------------------------------------------------- */

/* Asks all work of the context to stop; it ends with OC_ECANCELED within about 50 ms.
 * Async-signal-safe. Sticky until oc_context_reset_cancel(). */
OC_API void oc_context_cancel(oc_context *context);
OC_API void oc_context_reset_cancel(oc_context *context);

/* Totals over all work of the context so far. */
typedef struct oc_metrics {
    int64_t memory_limit;
    int64_t memory_used; /* now */
    int64_t memory_peak; /* highest */
    int64_t rows_in;     /* into operators */
    int64_t rows_out;
    int64_t spill_count; /* runs written, those of merge passes included */
    int64_t runs;        /* sorted runs at the start of merging, the one kept in memory included */
    int64_t spilled_bytes; /* written to spill files */
    int64_t spilled_rows;  /* rows written to spill files (a row counts once per pass) */
    int64_t read_back_bytes;
    int64_t merge_passes; /* times the data went through a merge; 0 = all in memory */
    int64_t disk_now;     /* bytes of spill files that exist now ... */
    int64_t disk_peak;    /* ... and at most at one moment */
    int32_t threads;
    const char *codec;            /* of spill files: "auto", "none", "lz4_frame", "zstd" */
    int64_t spilled_memory_bytes; /* what spilled_bytes were in memory */
    int64_t spill_writes;         /* calls that wrote them */
    /* Nanoseconds of work on spill files, summed over threads. */
    int64_t spill_encode_ns; /* packing and compressing */
    int64_t spill_write_ns;
    int64_t spill_read_ns;
    int64_t spill_decode_ns;
    const char *spill_encoding; /* "auto", "plain", "lengths" */
} oc_metrics;

OC_API void oc_context_metrics(oc_context *context, oc_metrics *out);

/* ---- 5. small helpers ------------------------------------------------------------------------ */

/* "64m", "1.5g", "2GiB", "4096": k, m, g, t are powers of 1024; case does not matter. */
OC_API OC_NODISCARD oc_status oc_parse_size(const char *text, int64_t *bytes, oc_error *error);

/* "l_shipmode, l_comment desc nulls last, \"odd name\" asc": fills a malloc'ed array (free it with
 * oc_free_sort_keys). A column may be given by position, from 1, as in SQL. */
OC_API OC_NODISCARD oc_status oc_parse_sort_keys(const char *text, oc_sort_key **keys,
                                                 size_t *n_keys, oc_error *error);
OC_API void oc_free_sort_keys(oc_sort_key *keys, size_t n_keys);

/* "a, \"b c\", d": column names; free with oc_free_names. */
OC_API OC_NODISCARD oc_status oc_parse_names(const char *text, char ***names, size_t *n_names,
                                             oc_error *error);
OC_API void oc_free_names(char **names, size_t n_names);

#ifdef __cplusplus
}
#endif

#endif /* OUTCORE_OUTCORE_H */
