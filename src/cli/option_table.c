/* See option_table.h. First the functions that read values, then the table. */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option_table.h"

#define CODEC_BYTES   32 /* longer than the name of any codec */
#define READS_FILES   (OCI_CLI_BIT(OCI_CLI_SORT) | OCI_CLI_BIT(OCI_CLI_CONVERT))
#define TAKES_FILES   (READS_FILES | OCI_CLI_BIT(OCI_CLI_INSPECT))
#define TAKES_SQL     OCI_CLI_BIT(OCI_CLI_NONE)
#define GIVES_ROWS    (READS_FILES | TAKES_SQL)
#define WORKS         (TAKES_FILES | TAKES_SQL)
#define ANY_COMMAND   (~0u)
#define FIELD(member) offsetof(oci_cli_options, member)

/* ---- values ---------------------------------------------------------------------------------- */

static bool take_flag(const oci_cli_option *option, void *field, const char *value,
                      char why[OCI_CLI_WHY_BYTES])
{
    (void)option, (void)value, (void)why;
    *(bool *)field = true;
    return true;
}

static bool take_text(const oci_cli_option *option, void *field, const char *value,
                      char why[OCI_CLI_WHY_BYTES])
{
    (void)option, (void)why;
    *(const char **)field = value;
    return true;
}

bool oci_cli_append(oci_cli_list *list, const char *item)
{
    /* Room is doubled whenever the number of items is a power of two. */
    if ((list->n & (list->n - 1)) == 0) {
        size_t room = list->n == 0 ? 1 : 2 * list->n;
        const char **items = realloc(list->items, room * sizeof *items);
        if (items == NULL) {
            return false;
        }
        list->items = items;
    }
    list->items[list->n++] = item;
    return true;
}

static bool take_item(const oci_cli_option *option, void *field, const char *value,
                      char why[OCI_CLI_WHY_BYTES])
{
    (void)option;
    if (oci_cli_append(field, value)) {
        return true;
    }
    snprintf(why, OCI_CLI_WHY_BYTES, "out of memory");
    return false;
}

/* A source of SQL; its kind is what help calls the value. */
static bool take_source(const oci_cli_option *option, void *field, const char *value,
                        char why[OCI_CLI_WHY_BYTES])
{
    return take_item(option, field, option->value, why) && take_item(option, field, value, why);
}

static bool take_size(const oci_cli_option *option, void *field, const char *value,
                      char why[OCI_CLI_WHY_BYTES])
{
    (void)option;
    int64_t bytes;
    oc_error error;
    if (oc_parse_size(value, &bytes, &error) != OC_OK) {
        snprintf(why, OCI_CLI_WHY_BYTES, "%.*s", OCI_CLI_WHY_BYTES - 1, error.message);
        return false;
    }
    if (bytes < 1) {
        /* 0 would mean "not given" to the library, the opposite of what it says. */
        snprintf(why, OCI_CLI_WHY_BYTES,
                 "a limit is at least 1 byte; leave the option out for the default");
        return false;
    }
    *(int64_t *)field = bytes;
    return true;
}

static bool take_count(const oci_cli_option *option, void *field, const char *value,
                       char why[OCI_CLI_WHY_BYTES])
{
    char *end;
    errno = 0;
    long long number = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || errno != 0 || number < option->min ||
        number > option->max) {
        snprintf(why, OCI_CLI_WHY_BYTES, "it takes a whole number from %" PRId64 " to %" PRId64,
                 option->min, option->max);
        return false;
    }
    *(int64_t *)field = number;
    return true;
}

/* A count, or a word for "all", which is -1. */
static bool take_max_rows(const oci_cli_option *option, void *field, const char *value,
                          char why[OCI_CLI_WHY_BYTES])
{
    if (strcmp(value, "all") == 0 || strcmp(value, "inf") == 0) {
        *(int64_t *)field = -1;
        return true;
    }
    if (take_count(option, field, value, why)) {
        return true;
    }
    snprintf(why, OCI_CLI_WHY_BYTES, "it takes a whole number from 1, or \"all\"");
    return false;
}

static bool take_choice(const oci_cli_option *option, void *field, const char *value,
                        char why[OCI_CLI_WHY_BYTES])
{
    for (const oci_cli_choice *c = option->choices; c->name != NULL; c++) {
        if (strcmp(c->name, value) == 0) {
            *(int *)field = c->value;
            return true;
        }
    }
    if (strcmp(value, "parquet") == 0) {
        snprintf(why, OCI_CLI_WHY_BYTES, "Parquet is not supported yet");
        return false;
    }
    int used = snprintf(why, OCI_CLI_WHY_BYTES, "it takes one of ");
    for (const oci_cli_choice *c = option->choices; c->name != NULL && used < OCI_CLI_WHY_BYTES;
         c++) {
        used += snprintf(why + used, (size_t)(OCI_CLI_WHY_BYTES - used), "%s%s",
                         c == option->choices ? "" : ", ", c->name);
    }
    return false;
}

static bool take_delimiter(const oci_cli_option *option, void *field, const char *value,
                           char why[OCI_CLI_WHY_BYTES])
{
    (void)option;
    char c = strcmp(value, "\\t") == 0 || strcmp(value, "tab") == 0 ? '\t' : value[0];
    bool single = c == '\t' || (c != '\0' && value[1] == '\0');
    if (!single || (unsigned char)c > 127 || strchr("\"\r\n", c) != NULL) {
        snprintf(why, OCI_CLI_WHY_BYTES, "it takes one ASCII character other than a quote, or \\t");
        return false;
    }
    *(char *)field = c;
    return true;
}

static const oci_cli_choice spill_codecs[] = {
    {"auto", OC_CODEC_AUTO},
    {"none", OC_CODEC_NONE},
    {"uncompressed", OC_CODEC_NONE},
    {"lz4", OC_CODEC_LZ4},
    {"lz4_frame", OC_CODEC_LZ4},
    {"zstd", OC_CODEC_ZSTD},
    {NULL, 0},
};

/* A codec, for zstd with a level behind a colon, as in "zstd:3"; see oc_options.spill_level. */
static bool take_spill_codec(const oci_cli_option *option, void *field, const char *value,
                             char why[OCI_CLI_WHY_BYTES])
{
    static const oci_cli_option level_spec = {.min = -10, .max = 9};
    char name[CODEC_BYTES];
    size_t length = strcspn(value, ":");
    snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name - 1),
             value);

    int codec;
    int64_t level = 0;
    if (!take_choice(option, &codec, name, why)) {
        return false;
    }
    if (value[length] == ':') {
        if (codec != OC_CODEC_ZSTD) {
            snprintf(why, OCI_CLI_WHY_BYTES, "only zstd has levels");
            return false;
        }
        if (!take_count(&level_spec, &level, value + length + 1, why)) {
            snprintf(why, OCI_CLI_WHY_BYTES, "levels of zstd go from -10 to 9");
            return false;
        }
    }
    *(oci_cli_spill *)field = (oci_cli_spill){.codec = (oc_codec)codec, .level = (int32_t)level};
    return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static const oci_cli_choice input_formats[] = {
    {"auto", OC_FORMAT_AUTO},       {"csv", OC_FORMAT_CSV},
    {"tsv", OC_FORMAT_TSV},         {"tbl", OC_FORMAT_TBL},
    {"arrow", OC_FORMAT_ARROW},     {"arrows", OC_FORMAT_ARROWS},
    {"parquet", OC_FORMAT_PARQUET}, {NULL, 0},
};
static const oci_cli_choice output_formats[] = {
    {"auto", OC_FORMAT_AUTO},       {"table", OC_FORMAT_TABLE}, {"csv", OC_FORMAT_CSV},
    {"tsv", OC_FORMAT_TSV},         {"json", OC_FORMAT_JSON},   {"ndjson", OC_FORMAT_NDJSON},
    {"jsonl", OC_FORMAT_NDJSON},    {"arrow", OC_FORMAT_ARROW}, {"arrows", OC_FORMAT_ARROWS},
    {"parquet", OC_FORMAT_PARQUET}, {"null", OC_FORMAT_NULL},   {NULL, 0},
};
static const oci_cli_choice body_codecs[] = {
    {"none", OC_CODEC_NONE},
    {"lz4", OC_CODEC_LZ4},
    {"zstd", OC_CODEC_ZSTD},
    {"snappy", OC_CODEC_SNAPPY},
    {"gzip", OC_CODEC_GZIP},
    {"brotli", OC_CODEC_BROTLI},
    {NULL, 0},
};
static const oci_cli_choice spill_encodings[] = {
    {"auto", OC_SPILL_ENCODING_AUTO},
    {"plain", OC_SPILL_ENCODING_PLAIN},
    {"lengths", OC_SPILL_ENCODING_LENGTHS},
    {NULL, 0},
};
static const oci_cli_choice headers[] = {
    {"auto", OCI_CLI_HEADER_AUTO},
    {"yes", OCI_CLI_HEADER_YES},
    {"no", OCI_CLI_HEADER_NO},
    {NULL, 0},
};
static const oci_cli_choice progress_modes[] = {
    {"auto", OCI_CLI_PROGRESS_AUTO},
    {"on", OCI_CLI_PROGRESS_ON},
    {"off", OCI_CLI_PROGRESS_OFF},
    {NULL, 0},
};

static const char group_sql[] = "SQL";
static const char group_work[] = "Sorting";
static const char group_input[] = "Input";
static const char group_output[] = "Output";
static const char group_resources[] = "Resources";
static const char group_reports[] = "Reports";

/* An entry is a few lines, not one for each field. */
/* clang-format off */
const oci_cli_option oci_cli_option_table[] = {
    {.letter = 'c', .name = "command", .value = OCI_CLI_TEXT, .group = group_sql,
     .commands = TAKES_SQL,
     .take = take_source, .offset = FIELD(sources),
     .help = "run SQL, or a dot command, and exit; repeated, in order. Words that are no command are "
             "SQL too"},
    {.letter = 'f', .name = "file", .value = OCI_CLI_SCRIPT, .group = group_sql,
     .commands = TAKES_SQL,
     .take = take_source, .offset = FIELD(sources),
     .help = "run the statements of FILE and exit; - is standard input"},
    {.name = "continue", .group = group_sql, .commands = TAKES_SQL,
     .take = take_flag, .offset = FIELD(go_on),
     .help = "go on after a statement that failed; the exit code is that of the first one"},
    {.name = "no-config", .group = group_sql, .commands = TAKES_SQL,
     .take = take_flag, .offset = FIELD(no_config),
     .help = "interactive: do not read the configuration file"},

    {.letter = 'k', .name = "by", .value = "KEYS", .group = group_work,
     .commands = OCI_CLI_BIT(OCI_CLI_SORT),
     .take = take_item, .offset = FIELD(by),
     .help = "sort keys: columns by name or by position from 1, each with asc or desc and nulls "
             "first or nulls last; as in SQL, nulls come last when ascending and first when "
             "descending; repeated, the keys add up"},
    {.name = "select", .value = "COLUMNS", .group = group_work, .commands = READS_FILES,
     .take = take_text, .offset = FIELD(select),
     .help = "write only these columns, in this order; keys need not be among them"},
    {.name = "limit", .value = "N", .group = group_work, .commands = READS_FILES,
     .take = take_count, .offset = FIELD(limit), .min = 0, .max = INT64_MAX,
     .help = "write only the first N rows"},

    {.name = "input-format", .value = "FORMAT", .group = group_input, .commands = TAKES_FILES,
     .take = take_choice, .offset = FIELD(input_format), .choices = input_formats,
     .help = "auto, csv, tsv, tbl, arrow, arrows; auto goes by the name of the file, for a pipe "
             "by its first bytes"},
    {.name = "delimiter", .value = "C", .group = group_input, .commands = TAKES_FILES,
     .take = take_delimiter, .offset = FIELD(delimiter),
     .help = "what separates CSV fields, \\t for a tab; default: found out. CSV output uses the "
             "same one"},
    {.name = "header", .value = "yes|no|auto", .group = group_input, .commands = TAKES_FILES,
     .take = take_choice, .offset = FIELD(header), .choices = headers,
     .help = "whether CSV begins with column names; default: auto. With no, CSV output has none "
             "either"},
    {.name = "columns", .value = "LIST", .group = group_input, .commands = TAKES_FILES,
     .take = take_text, .offset = FIELD(columns),
     .help = "names and types of CSV columns, such as 'a int64, b decimal(15,2), c utf8'; "
             "default: names from the header, types found out"},
    {.name = "null", .value = "TEXT", .group = group_input, .commands = TAKES_FILES,
     .take = take_text, .offset = FIELD(null_text),
     .help = "what stands for null in CSV, in and out; default: the empty field"},
    {.name = "physical", .group = group_input, .commands = OCI_CLI_BIT(OCI_CLI_INSPECT),
     .take = take_flag, .offset = FIELD(physical),
     .help = "of a spill file, show the columns as they lie in it, as other readers of Arrow see "
             "them; of a Parquet file, show every column of every row group"},

    {.letter = 'o', .name = "output", .value = "FILE", .group = group_output,
     .commands = GIVES_ROWS,
     .take = take_text, .offset = FIELD(output),
     .help = "write to FILE, which appears when it is complete and may be one of the inputs; "
             "default: -, standard output"},
    {.name = "format", .value = "FORMAT", .group = group_output, .commands = GIVES_ROWS,
     .take = take_choice, .offset = FIELD(format), .choices = output_formats,
     .help = "auto, table, csv, tsv, json, ndjson, arrow, arrows, parquet, null; auto goes by the name of "
             "FILE; a terminal gets a table, a pipe CSV"},
    {.name = "compression", .value = "CODEC", .group = group_output,
     .commands = GIVES_ROWS,
     .take = take_choice, .offset = FIELD(compression), .choices = body_codecs,
     .help = "of Arrow output: none, lz4, zstd; default: none; of Parquet output also snappy, gzip, brotli; "
             "default: zstd"},
    {.name = "output-delimiter", .value = "C", .group = group_output, .commands = GIVES_ROWS,
     .take = take_delimiter, .offset = FIELD(output_delimiter),
     .help = "as --delimiter, for the output alone"},
    {.name = "output-header", .value = "yes|no", .group = group_output, .commands = GIVES_ROWS,
     .take = take_choice, .offset = FIELD(output_header), .choices = headers + 1,
     .help = "as --header, for the output alone"},
    {.name = "output-null", .value = "TEXT", .group = group_output, .commands = GIVES_ROWS,
     .take = take_text, .offset = FIELD(output_null),
     .help = "as --null, for the output alone"},
    {.name = "maxrows", .value = "N|all", .group = group_output, .commands = GIVES_ROWS,
     .take = take_max_rows, .offset = FIELD(max_rows), .min = 1, .max = INT64_MAX,
     .help = "rows of a table that are shown, the rest is counted; default: 40"},

    {.letter = 'm', .name = "memory-limit", .value = "SIZE", .group = group_resources,
     .commands = WORKS,
     .take = take_size, .offset = FIELD(memory_limit),
     .help = "memory for the data, with k, m, g or t for powers of 1024; default: the smaller of "
             "80% of the RAM and the cgroup's limit"},
    {.letter = 'd', .name = "disk-limit", .value = "SIZE", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_size, .offset = FIELD(disk_limit),
     .help = "spill files may take this much at one time; default: no limit"},
    {.letter = 'T', .name = "temp-dir", .value = "DIR", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_item, .offset = FIELD(temp_dirs),
     .help = "folder for spill files; several take turns; default: $OUTCORE_TEMP_DIR, $TMPDIR, "
             "/tmp"},
    {.letter = 't', .name = "threads", .alias = "parallel", .value = "N", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_count, .offset = FIELD(threads), .min = 1, .max = 1024,
     .help = "worker threads; default: one per core. The result does not depend on it"},
    {.letter = 'b', .name = "batch-size", .value = "N", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_count, .offset = FIELD(batch_rows), .min = 1, .max = INT32_MAX,
     .help = "rows of an output batch at most; default: 8192"},
    {.name = "spill-compression", .value = "CODEC", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_spill_codec, .offset = FIELD(spill), .choices = spill_codecs,
     .help = "of spill files: auto, none, lz4, zstd, or zstd with a level as in zstd:3; default: "
             "auto, which measures what takes least time"},
    {.name = "spill-encoding", .value = "ENCODING", .group = group_resources,
     .commands = GIVES_ROWS,
     .take = take_choice, .offset = FIELD(spill_encoding), .choices = spill_encodings,
     .help = "how columns lie in spill files: auto (each as is smallest), plain, lengths (strings "
             "as lengths and bytes); default: auto"},
    {.name = "no-spill-checksums", .group = group_resources, .commands = GIVES_ROWS,
     .take = take_flag, .offset = FIELD(no_spill_checksums),
     .help = "spill files without checksums"},
    {.name = "encrypt-spill", .group = group_resources, .commands = GIVES_ROWS,
     .take = take_flag, .offset = FIELD(encrypt_spill),
     .help = "encrypt spill files with a random key that is kept in memory only"},

    {.letter = 'q', .name = "quiet", .group = group_reports, .commands = WORKS,
     .take = take_flag, .offset = FIELD(quiet),
     .help = "no progress line; errors are still told"},
    {.name = "progress", .value = "auto|on|off", .group = group_reports, .commands = GIVES_ROWS,
     .take = take_choice, .offset = FIELD(progress), .choices = progress_modes,
     .help = "a progress line on standard error after 2 seconds; auto: when that is a terminal"},
    {.name = "timer", .group = group_reports, .commands = WORKS,
     .take = take_flag, .offset = FIELD(timer),
     .help = "print the time taken on standard error"},
    {.name = "stats", .group = group_reports, .commands = GIVES_ROWS,
     .take = take_flag, .offset = FIELD(stats),
     .help = "after success, print a line of JSON with rows, time, memory and spilling on "
             "standard error, as its last line"},
    {.letter = 'h', .name = "help", .group = group_reports, .commands = ANY_COMMAND,
     .take = take_flag, .offset = FIELD(help),
     .help = "print this text and exit"},
    {.letter = 'V', .name = "version", .group = group_reports, .commands = ANY_COMMAND,
     .take = take_flag, .offset = FIELD(version),
     .help = "print the version and exit"},
};
/* clang-format on */

static_assert(sizeof oci_cli_option_table / sizeof oci_cli_option_table[0] == OCI_CLI_N_OPTIONS,
              "the table has as many entries as the header says");
