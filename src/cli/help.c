/* outcore help: the texts. What options there are comes from option_table.c. */
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"

typedef struct command_help {
    const char *usage;   /* lines without the leading "outcore" */
    const char *summary; /* one line for the overview */
    const char *about;
    const char *examples;
} command_help;

/* clang-format off */
static const command_help helps[OCI_CLI_COMMANDS] = {
    [OCI_CLI_SORT] = {
        .usage = "sort [FILE...] --by KEYS [-o FILE] [options]",
        .summary = "sort files of any size within a memory limit",
        .about =
            "Sorts the rows of all files together. Rows with equal keys stay in input order.\n"
            "What does not fit the memory limit is spilled to temporary files. No FILE, or\n"
            "-, is standard input.\n",
        .examples =
            "  outcore sort sales.csv --by 'region, amount desc' -m 64m -o sorted.arrow\n"
            "  zcat big.csv.gz | outcore sort --by 2 --limit 10\n"
            "  outcore sort part-*.arrow --by id --select 'name, city' >names.csv\n",
    },
    [OCI_CLI_CONVERT] = {
        .usage = "convert FILE [OUTPUT] [options]\n"
                 "       outcore convert FILE... -o OUTPUT [options]",
        .summary = "turn files into another format",
        .about =
            "Writes the rows of the files, in their order, in the format that OUTPUT is\n"
            "named after. Several files must have the same columns. - is standard input or\n"
            "output.\n",
        .examples =
            "  outcore convert lineitem.csv lineitem.arrow --compression zstd\n"
            "  outcore convert data.arrow - --format ndjson --limit 5\n"
            "  outcore convert --delimiter ';' --output-delimiter , in.csv out.csv\n",
    },
    [OCI_CLI_INSPECT] = {
        .usage = "inspect FILE [options]",
        .summary = "show format, columns, batches and sizes of a file",
        .about = "Describes a file without showing its rows. A spill file is read and checked.\n",
        .examples = "  outcore inspect sorted.arrow\n"
                    "  outcore inspect lineitem.parquet\n"
                    "  outcore inspect partition-7.spill --physical\n",
    },
    [OCI_CLI_HELP] = {
        .usage = "help [COMMAND]",
        .summary = "this text, or that of a command",
        .about = "Prints the overview, or all about one command.\n",
    },
    [OCI_CLI_VERSION] = {
        .usage = "version",
        .summary = "the version",
        .about = "Prints the version.\n",
    },
};
/* clang-format on */

static const char sql_examples[] =
    "\nExamples:\n"
    "  outcore \"SELECT city, sum(fare) FROM 'trips.csv' GROUP BY city ORDER BY 2\"\n"
    "  outcore -m 64m -o top.arrow -f report.sql\n"
    "  outcore -c \"EXPLAIN ANALYZE SELECT DISTINCT user_id FROM 'log-*.arrow'\"\n"
    "  outcore sort trips.csv --by 'fare desc' --limit 10\n";

static const char exit_codes[] =
    "Exit codes:\n"
    "  0    done\n"
    "  1    wrong data or request: SQL, damaged file, unknown column, no such file\n"
    "  2    wrong command line\n"
    "  3    the memory limit is too small; the message names one that works\n"
    "  4    disk full, spill quota used up, I/O error\n"
    "  130  interrupted (SIGINT), 143 terminated (SIGTERM)\n";

/* Texts begin in this column; an option that is wider has its text on the next line. No line is
 * longer than 79 characters. */
#define TEXT_COLUMN 30
#define LINE_END    79

/* Prints words up to LINE_END; further lines begin at TEXT_COLUMN. The cursor is at TEXT_COLUMN
 * before. */
static void print_wrapped(const char *text)
{
    size_t column = TEXT_COLUMN;
    while (*text != '\0') {
        size_t length = strcspn(text, " ");
        if (column == TEXT_COLUMN) {
            printf("%.*s", (int)length, text);
        } else if (column + 1 + length <= LINE_END) {
            printf(" %.*s", (int)length, text);
            column++;
        } else {
            printf("\n%*s%.*s", TEXT_COLUMN, "", (int)length, text);
            column = TEXT_COLUMN;
        }
        column += length;
        text += length + (text[length] == ' ');
    }
}

static void print_option(const char *group, const char *left, const char *text)
{
    static const char *last_group;
    if (last_group != group) {
        printf("\n%s:\n", group);
        last_group = group;
    }
    if (strlen(left) + 2 < TEXT_COLUMN) {
        printf("  %-*s", TEXT_COLUMN - 2, left);
    } else {
        printf("  %s\n%*s", left, TEXT_COLUMN, "");
    }
    print_wrapped(text);
    putchar('\n');
}

static void print_overview(void)
{
    printf("Outcore %s: SQL over Arrow and CSV data of any size, within a memory limit.\n\n"
           "Usage: outcore [options] [SQL...]      statements, separated by ';'\n"
           "       outcore [options]               a shell; SQL from a pipe\n"
           "       outcore COMMAND [options]\n\nCommands:\n",
           oc_version());
    for (int i = OCI_CLI_NONE + 1; i < OCI_CLI_COMMANDS; i++) {
        printf("  %-9s %s\n", oci_cli_command_name((oci_cli_command)i), helps[i].summary);
    }
    fputs(sql_examples, stdout);
    puts("\nOptions (\"outcore help COMMAND\" lists those of one command):");
    oci_cli_each_option(OCI_CLI_NONE, print_option);
    printf("\nData goes to standard output, everything else to standard error.\n\n%s", exit_codes);
}

int oci_cli_help(oci_cli_command command)
{
    if (command == OCI_CLI_NONE) {
        print_overview();
        return OCI_CLI_EXIT_OK;
    }
    const command_help *help = &helps[command];
    printf("Usage: outcore %s\n\n%s", help->usage, help->about);
    oci_cli_each_option(command, print_option);
    if (help->examples != NULL) {
        printf("\nExamples:\n%s\n%s", help->examples, exit_codes);
    }
    return OCI_CLI_EXIT_OK;
}
