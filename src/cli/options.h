/* What the user asked for: the command line as a struct.
 *
 * Texts are borrowed from argv. Wrong usage is reported on stderr where it is found, with the exit
 * code as the result. */
#ifndef OUTCORE_CLI_OPTIONS_H
#define OUTCORE_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "outcore/outcore.h"

/* What the shell sees. A signal is raised again instead, which gives 130 and 143. */
enum {
    OCI_CLI_EXIT_OK = 0,
    OCI_CLI_EXIT_QUERY = 1,  /* wrong data, unknown column, missing input */
    OCI_CLI_EXIT_USAGE = 2,  /* wrong command line */
    OCI_CLI_EXIT_MEMORY = 3, /* memory limit too small; the message names one that works */
    OCI_CLI_EXIT_SYSTEM = 4, /* disk full, quota, I/O error, no memory from the system */
};

typedef enum oci_cli_command {
    OCI_CLI_NONE, /* no word for a command: SQL */
    OCI_CLI_SORT,
    OCI_CLI_CONVERT,
    OCI_CLI_INSPECT,
    OCI_CLI_HELP,
    OCI_CLI_VERSION,
    OCI_CLI_COMMANDS /* how many */
} oci_cli_command;

typedef enum oci_cli_progress_mode {
    OCI_CLI_PROGRESS_AUTO,
    OCI_CLI_PROGRESS_ON,
    OCI_CLI_PROGRESS_OFF
} oci_cli_progress_mode;

/* Values of --header and --output-header; the numbers are those of oc_read_options.header. */
typedef enum oci_cli_header {
    OCI_CLI_HEADER_AUTO,
    OCI_CLI_HEADER_YES,
    OCI_CLI_HEADER_NO
} oci_cli_header;

/* The values of an option that may be repeated. */
typedef struct oci_cli_list {
    const char **items;
    size_t n;
} oci_cli_list;

#define OCI_CLI_TEXT   "SQL"
#define OCI_CLI_SCRIPT "FILE"

/* The value of --spill-compression. */
typedef struct oci_cli_spill {
    oc_codec codec;
    int32_t level; /* 0 = default */
} oci_cli_spill;

typedef struct oci_cli_options {
    oci_cli_command command;
    bool help; /* --help came up; what stands behind it was not looked at */
    bool version;
    oci_cli_list words; /* what is no option, without the command */

    /* SQL: what to run, in order. Of each source two items: OCI_CLI_TEXT or OCI_CLI_SCRIPT, and the
     * text or the name of the file. */
    oci_cli_list sources;
    bool go_on; /* after errors */
    bool no_config;

    /* input */
    int input_format; /* oc_format */
    char delimiter;   /* 0 = not given, as in oc_read_options */
    int header;       /* oci_cli_header */
    const char *columns;
    const char *null_text;
    bool physical;

    /* work */
    oci_cli_list by; /* texts for oc_parse_sort_keys() */
    const char *select;
    int64_t limit; /* -1 = none */

    /* output */
    const char *output; /* NULL = not given */
    int format;         /* oc_format */
    char output_delimiter;
    int output_header; /* oci_cli_header; AUTO = not given */
    const char *output_null;
    int compression;  /* oc_codec; AUTO = not given */
    int64_t max_rows; /* 0 = not given, -1 = all */

    /* resources, in the units of oc_options; 0 = not given */
    int64_t memory_limit;
    int64_t disk_limit;
    oci_cli_list temp_dirs;
    int64_t threads;
    int64_t batch_rows;
    oci_cli_spill spill;
    int spill_encoding; /* oc_spill_encoding */
    bool no_spill_checksums;
    bool encrypt_spill;

    /* reporting */
    bool quiet;
    bool timer;
    bool stats;
    int progress; /* oci_cli_progress_mode */
} oci_cli_options;

/* Reads the command line. Returns OCI_CLI_EXIT_OK, or the code to exit with after having said why.
 * Call oci_cli_free_options() in either case. */
int oci_cli_parse_options(int argc, char **argv, oci_cli_options *options);
void oci_cli_free_options(oci_cli_options *options);

/* Says what is wrong with the command line and where to read on. Returns OCI_CLI_EXIT_USAGE. */
int oci_cli_usage_error(const oci_cli_options *options, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The word for a command, and the command for a word; OCI_CLI_NONE when there is no such word. */
const char *oci_cli_command_name(oci_cli_command command);
oci_cli_command oci_cli_find_command(const char *word);

/* Calls `print` for every option that `command` takes (OCI_CLI_NONE: for all), in the order of the
 * table. `left` is what is typed ("-m, --memory-limit SIZE"), `text` says what it means, `group`
 * what it belongs to. */
void oci_cli_each_option(oci_cli_command command,
                         void (*print)(const char *group, const char *left, const char *text));

#endif /* OUTCORE_CLI_OPTIONS_H */
