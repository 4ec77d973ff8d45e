/* The table of all options: one entry says everything about one option.
 *
 * Parsing (options.c), the help texts and the nearest-name hint all walk this table, so that an
 * option cannot exist without its help, or its help without the option. */
#ifndef OUTCORE_CLI_OPTION_TABLE_H
#define OUTCORE_CLI_OPTION_TABLE_H

#include "cli/options.h"

#define OCI_CLI_N_OPTIONS 35
#define OCI_CLI_WHY_BYTES 256

/* Commands as bits, so that an option can name those that take it. */
#define OCI_CLI_BIT(command) (1u << (unsigned)(command))

/* A word that an option may have as its value; a list of them ends with name NULL. */
typedef struct oci_cli_choice {
    const char *name;
    int value;
} oci_cli_choice;

typedef struct oci_cli_option oci_cli_option;

/* Reads `value` into `field`; false with the reason in `why`. */
typedef bool (*oci_cli_take)(const oci_cli_option *option, void *field, const char *value,
                             char why[OCI_CLI_WHY_BYTES]);

struct oci_cli_option {
    char letter;       /* 0 = none */
    const char *name;  /* NULL = only the letter */
    const char *alias; /* another long name, or NULL */
    const char *value; /* what help calls the value; NULL = a flag, which is given "" */
    const char *group; /* heading in help; NULL = not listed */
    unsigned commands; /* OCI_CLI_BIT() of those that take it */
    oci_cli_take take;
    size_t offset; /* of the field in oci_cli_options */
    const oci_cli_choice *choices;
    int64_t min, max; /* of a count */
    const char *help; /* one paragraph */
};

extern const oci_cli_option oci_cli_option_table[OCI_CLI_N_OPTIONS];

/* Adds an item; false when out of memory. */
bool oci_cli_append(oci_cli_list *list, const char *item);

#endif /* OUTCORE_CLI_OPTION_TABLE_H */
