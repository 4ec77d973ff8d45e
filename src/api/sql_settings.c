/* See sql_settings.h. The text of a folder comes from malloc. */
#include "api/sql_settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "api/limits.h"
#include "base/text.h"

typedef enum setting {
    SET_MEMORY_LIMIT,
    SET_TEMP_DIRECTORY,
    SET_DISK_LIMIT,
    SET_THREADS,
    SET_BATCH_SIZE,
    SET_SPILL_COMPRESSION,
    SET_SPILL_ENCODING,
    SET_SPILL_CHECKSUMS,
    SET_ENCRYPT_SPILL,
    SETTINGS
} setting;

static const struct {
    const char *name;
    const char *description;
} known[SETTINGS] = {
    {"memory_limit", "Memory that a session may hold, such as 200M; the rest is spilled"},
    {"temp_directory", "Folder for spill files"},
    {"max_temp_directory_size", "Bytes of spill files that may exist at one moment; 0 = no limit"},
    {"threads", "Worker threads; 0 = number of cores"},
    {"batch_size", "Rows of a batch at most"},
    {"spill_compression", "Codec of spill files: auto, uncompressed, lz4_frame, zstd, zstd(level)"},
    {"spill_encoding", "Layout of spill files: auto, plain, lengths"},
    {"spill_checksums", "Checksums in spill files"},
    {"encrypt_spill", "Spill files are encrypted with a key of this session"},
};

static const struct {
    const char *name;
    setting means;
} synonyms[] = {
    {"datafusion.runtime.memory_limit", SET_MEMORY_LIMIT},
    {"datafusion.runtime.temp_directory", SET_TEMP_DIRECTORY},
    {"datafusion.runtime.max_temp_directory_size", SET_DISK_LIMIT},
    {"datafusion.execution.target_partitions", SET_THREADS},
    {"datafusion.execution.batch_size", SET_BATCH_SIZE},
    {"datafusion.execution.spill_compression", SET_SPILL_COMPRESSION},
    {"max_memory", SET_MEMORY_LIMIT},
    {"worker_threads", SET_THREADS},
};

/* Accepted, for scripts written for others; there is nothing here that they would change. */
static const char *const without_effect[] = {
    "datafusion.execution.parquet.schema_force_view_types",
    "datafusion.execution.sort_spill_reservation_bytes",
    "datafusion.execution.sort_in_place_threshold_bytes",
    "datafusion.execution.max_spill_file_size_bytes",
    "datafusion.execution.enable_migration_aggregate",
    "datafusion.execution.skip_partial_aggregation_probe_ratio_threshold",
    "datafusion.execution.skip_partial_aggregation_probe_rows_threshold",
    "datafusion.execution.sort_pushdown_buffer_capacity",
    "datafusion.execution.collect_statistics",
    "datafusion.execution.coalesce_batches",
    "datafusion.execution.time_zone",
    "datafusion.runtime.max_spill_merge_fan_in",
    "datafusion.optimizer.prefer_hash_join",
    "datafusion.optimizer.prefer_existing_sort",
    "datafusion.optimizer.repartition_aggregations",
    "datafusion.optimizer.repartition_sorts",
    "datafusion.optimizer.repartition_joins",
    "datafusion.optimizer.enable_round_robin_repartition",
    "datafusion.explain.logical_plan_only",
    "datafusion.explain.physical_plan_only",
    "datafusion.explain.format",
    "datafusion.sql_parser.dialect",
    "datafusion.catalog.information_schema",
};

int32_t oci_settings_find(const char *name)
{
    for (int32_t i = 0; i < SETTINGS; i++) {
        if (strcasecmp(known[i].name, name) == 0) {
            return i;
        }
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        if (strcasecmp(synonyms[i].name, name) == 0) {
            return (int32_t)synonyms[i].means;
        }
    }
    return -1;
}

static bool has_no_effect(const char *name)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof without_effect[0]; i++) {
        if (strcasecmp(without_effect[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Steps from one word to another: letters put in, left out, changed. */
static int distance(const char *a, const char *b)
{
    enum { LONGEST = 80 };
    int row[LONGEST + 1];
    int n = (int)strlen(b);
    if (n > LONGEST) {
        return LONGEST;
    }
    for (int k = 0; k <= n; k++) {
        row[k] = k;
    }
    for (int i = 1; a[i - 1] != '\0'; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int k = 1; k <= n; k++) {
            int changed = diagonal + (a[i - 1] != b[k - 1]);
            int other = 1 + (row[k] < row[k - 1] ? row[k] : row[k - 1]);
            diagonal = row[k];
            row[k] = changed < other ? changed : other;
        }
    }
    return row[n];
}

const char *oci_settings_near(const char *name)
{
    const char *nearest = known[0].name;
    int least = distance(name, nearest);
    for (int32_t i = 1; i < SETTINGS; i++) {
        int steps = distance(name, known[i].name);
        if (steps < least) {
            least = steps;
            nearest = known[i].name;
        }
    }
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++) {
        int steps = distance(name, synonyms[i].name);
        if (steps < least) {
            least = steps;
            nearest = synonyms[i].name;
        }
    }
    return nearest;
}

/* ---- values ---------------------------------------------------------------------------------- */

static oc_status bad_value(const char *name, const char *value, const char *wanted, oc_error *err)
{
    OC_FAIL(err, OC_EINVAL, "\"%s\" is no value for %s: %s", value, name, wanted);
}

static oc_status parse_bool(const char *name, const char *value, bool *out, oc_error *err)
{
    static const char *const yes[] = {"true", "on", "yes", "1"};
    static const char *const no[] = {"false", "off", "no", "0"};
    for (int i = 0; i < 4; i++) {
        if (strcasecmp(value, yes[i]) == 0 || strcasecmp(value, no[i]) == 0) {
            *out = strcasecmp(value, yes[i]) == 0;
            return OC_OK;
        }
    }
    return bad_value(name, value, "it is true or false", err);
}

static oc_status parse_count(const char *name, const char *value, int64_t least, int64_t most,
                             int64_t *out, oc_error *err)
{
    char *end;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || number < least || number > most) {
        OC_FAIL(err, OC_EINVAL, "\"%s\" is no value for %s: it is a number from %lld to %lld",
                value, name, (long long)least, (long long)most);
    }
    *out = number;
    return OC_OK;
}

static oc_status parse_bytes(const char *name, const char *value, int64_t *out, oc_error *err)
{
    if (oc_parse_size(value, out, NULL) != OC_OK) {
        return bad_value(name, value, "it is a size such as 200M, 1.5G or 1048576", err);
    }
    return OC_OK;
}

/* zstd, zstd(3), zstd:3 */
static oc_status parse_codec(const char *name, const char *value, oc_codec *codec, int32_t *level,
                             oc_error *err)
{
    *level = 0;
    if (strcasecmp(value, "auto") == 0) {
        *codec = OC_CODEC_AUTO;
    } else if (strcasecmp(value, "none") == 0 || strcasecmp(value, "uncompressed") == 0) {
        *codec = OC_CODEC_NONE;
    } else if (strcasecmp(value, "lz4") == 0 || strcasecmp(value, "lz4_frame") == 0) {
        *codec = OC_CODEC_LZ4;
    } else if (strncasecmp(value, "zstd", 4) == 0) {
        *codec = OC_CODEC_ZSTD;
        char *end = NULL;
        long number = value[4] == '\0' ? 0 : strtol(value + 5, &end, 10);
        bool is_level = value[4] == '\0' ||
                        ((value[4] == '(' || value[4] == ':') && end != value + 5 &&
                         (*end == '\0' || strcmp(end, ")") == 0));
        if (!is_level || number < -10 || number > 9) {
            return bad_value(name, value, "levels of zstd go from -10 to 9, as in zstd(3)", err);
        }
        *level = (int32_t)number;
    } else {
        return bad_value(name, value, "there are auto, uncompressed, lz4_frame, zstd", err);
    }
    return OC_OK;
}

static oc_status parse_encoding(const char *name, const char *value, oc_spill_encoding *out,
                                oc_error *err)
{
    static const char *const encodings[] = {"auto", "plain", "lengths"};
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(value, encodings[i]) == 0) {
            *out = (oc_spill_encoding)i;
            return OC_OK;
        }
    }
    return bad_value(name, value, "there are auto, plain, lengths", err);
}

static oc_status set_folder(oci_settings *settings, const char *value, oc_error *err)
{
    char *copy = strdup(value);
    if (copy == NULL) {
        OC_FAIL(err, OC_ENOMEM, "could not set temp_directory: out of memory");
    }
    free(settings->folder);
    settings->folder = copy;
    settings->folders[0] = copy;
    settings->now.temp_dirs = settings->folders;
    settings->now.n_temp_dirs = 1;
    return OC_OK;
}

static oc_status set_memory(oc_options *now, const char *name, const char *value, oc_error *err)
{
    int64_t bytes = 0;
    bool is_none = strcasecmp(value, "none") == 0 || strcasecmp(value, "unlimited") == 0 ||
                   strcmp(value, "0") == 0;
    if (!is_none) {
        OC_TRY(parse_bytes(name, value, &bytes, err));
        OC_TRY(oci_check_memory_limit(bytes, err));
    }
    now->memory_limit = bytes;
    return OC_OK;
}

static oc_status set_known(oci_settings *settings, setting which, const char *value, oc_error *err)
{
    oc_options *now = &settings->now;
    const char *name = known[which].name;
    int64_t number = 0;
    bool flag = false;
    switch (which) {
    case SET_MEMORY_LIMIT: return set_memory(now, name, value, err);
    case SET_TEMP_DIRECTORY: return set_folder(settings, value, err);
    case SET_DISK_LIMIT: return parse_bytes(name, value, &now->disk_limit, err);
    case SET_THREADS:
        OC_TRY(parse_count(name, value, 0, 1024, &number, err));
        now->threads = (int32_t)number;
        return OC_OK;
    case SET_BATCH_SIZE: return parse_count(name, value, 1, 1 << 20, &now->batch_rows, err);
    case SET_SPILL_COMPRESSION:
        return parse_codec(name, value, &now->spill_codec, &now->spill_level, err);
    case SET_SPILL_ENCODING: return parse_encoding(name, value, &now->spill_encoding, err);
    case SET_SPILL_CHECKSUMS:
        OC_TRY(parse_bool(name, value, &flag, err));
        now->spill_without_checksums = !flag;
        return OC_OK;
    default: return parse_bool(name, value, &now->spill_encrypt, err);
    }
}

static void reset(oci_settings *settings, setting which)
{
    oc_options *now = &settings->now;
    const oc_options *first = &settings->first;
    switch (which) {
    case SET_MEMORY_LIMIT: now->memory_limit = first->memory_limit; break;
    case SET_TEMP_DIRECTORY:
        now->temp_dirs = first->temp_dirs;
        now->n_temp_dirs = first->n_temp_dirs;
        break;
    case SET_DISK_LIMIT: now->disk_limit = first->disk_limit; break;
    case SET_THREADS: now->threads = first->threads; break;
    case SET_BATCH_SIZE: now->batch_rows = first->batch_rows; break;
    case SET_SPILL_COMPRESSION:
        now->spill_codec = first->spill_codec;
        now->spill_level = first->spill_level;
        break;
    case SET_SPILL_ENCODING: now->spill_encoding = first->spill_encoding; break;
    case SET_SPILL_CHECKSUMS: now->spill_without_checksums = first->spill_without_checksums; break;
    default: now->spill_encrypt = first->spill_encrypt; break;
    }
}

oc_status oci_settings_set(oci_settings *settings, const char *name, const char *value,
                           bool *changes, char *notice, size_t size, oc_error *err)
{
    int32_t which = oci_settings_find(name);
    *changes = which >= 0;
    notice[0] = '\0';
    if (which < 0 && has_no_effect(name)) {
        snprintf(notice, size, "%s has no effect here", name);
        return OC_OK;
    }
    if (which < 0) {
        OC_FAIL(err, OC_EINVAL, "there is no setting \"%s\"; did you mean \"%s\"?", name,
                oci_settings_near(name));
    }
    if (value == NULL) {
        reset(settings, (setting)which);
        return OC_OK;
    }
    int64_t bytes;
    if (strcasecmp(name, "datafusion.runtime.memory_limit") == 0 &&
        oc_parse_size(value, &bytes, NULL) == OC_OK && bytes > 0 && bytes < OCI_MEMORY_LIMIT_MIN) {
        /* Scripts written for it go lower than we do. */
        settings->now.memory_limit = OCI_MEMORY_LIMIT_MIN;
        snprintf(notice, size, "the memory limit is 1 MiB, the smallest there is");
        return OC_OK;
    }
    return set_known(settings, (setting)which, value, err);
}

void oci_settings_reset_all(oci_settings *settings)
{
    for (int32_t i = 0; i < SETTINGS; i++) {
        reset(settings, (setting)i);
    }
}

bool oci_settings_at(const oci_settings *settings, int32_t i, const char **name, char *value,
                     size_t size, const char **description)
{
    static const char *const codecs[] = {"auto", "uncompressed", "lz4_frame", "zstd"};
    static const char *const encodings[] = {"auto", "plain", "lengths"};
    const oc_options *now = &settings->now;
    char bytes[OCI_BYTES_TEXT];
    if (i < 0 || i >= SETTINGS) {
        return false;
    }
    *name = known[i].name;
    *description = known[i].description;
    switch ((setting)i) {
    case SET_MEMORY_LIMIT:
        snprintf(value, size, "%s",
                 now->memory_limit == 0 ? "default" : oci_format_bytes(now->memory_limit, bytes));
        break;
    case SET_TEMP_DIRECTORY:
        snprintf(value, size, "%s", now->n_temp_dirs > 0 ? now->temp_dirs[0] : "default");
        break;
    case SET_DISK_LIMIT:
        snprintf(value, size, "%s",
                 now->disk_limit == 0 ? "0" : oci_format_bytes(now->disk_limit, bytes));
        break;
    case SET_THREADS: snprintf(value, size, "%d", now->threads); break;
    case SET_BATCH_SIZE:
        snprintf(value, size, "%lld", (long long)(now->batch_rows == 0 ? 8192 : now->batch_rows));
        break;
    case SET_SPILL_COMPRESSION:
        if (now->spill_codec == OC_CODEC_ZSTD && now->spill_level != 0) {
            snprintf(value, size, "zstd(%d)", now->spill_level);
        } else {
            snprintf(value, size, "%s", codecs[now->spill_codec]);
        }
        break;
    case SET_SPILL_ENCODING: snprintf(value, size, "%s", encodings[now->spill_encoding]); break;
    case SET_SPILL_CHECKSUMS:
        snprintf(value, size, "%s", now->spill_without_checksums ? "false" : "true");
        break;
    default: snprintf(value, size, "%s", now->spill_encrypt ? "true" : "false"); break;
    }
    return true;
}
