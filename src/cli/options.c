/* Command line -> oci_cli_options.
 *
 *     outcore sort -m64m a.csv --by 'x desc' -o b.arrow
 *             |    |     |       |
 *             |    |     |       looked up in oci_cli_option_table; its take function reads the
 *             |    |     |       value into the field at `offset`
 *             |    |     word: an input file
 *             |    letter with its value attached
 *             the first word is the command; when it is none, all words are SQL
 *
 * Options and words may come in any order; `--` ends options; a single `-` is a word. Which options
 * a command takes is checked at the end, when the command is known. After --help nothing is an
 * error any more: who asks for help gets it. */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/option_table.h"

#define NEAR_BYTES 32 /* longer words are not looked up: no name is that long */
#define LEFT_BYTES 64

static const char *const command_names[OCI_CLI_COMMANDS] = {
    [OCI_CLI_SORT] = "sort", [OCI_CLI_CONVERT] = "convert", [OCI_CLI_INSPECT] = "inspect",
    [OCI_CLI_HELP] = "help", [OCI_CLI_VERSION] = "version",
};

const char *oci_cli_command_name(oci_cli_command command)
{
    return command_names[command];
}

oci_cli_command oci_cli_find_command(const char *word)
{
    for (int i = OCI_CLI_NONE + 1; i < OCI_CLI_COMMANDS; i++) {
        if (strcmp(command_names[i], word) == 0) {
            return (oci_cli_command)i;
        }
    }
    return OCI_CLI_NONE;
}

void oci_cli_each_option(oci_cli_command command,
                         void (*print)(const char *group, const char *left, const char *text))
{
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        const oci_cli_option *option = &oci_cli_option_table[i];
        if (option->group == NULL ||
            (command != OCI_CLI_NONE && (option->commands & OCI_CLI_BIT(command)) == 0)) {
            continue;
        }
        char letter[] = {'-', option->letter, ',', ' ', '\0'};
        char left[LEFT_BYTES];
        snprintf(left, sizeof left, "%s--%s%s%s%s%s", option->letter ? letter : "    ",
                 option->name, option->alias ? ", --" : "", option->alias ? option->alias : "",
                 option->value ? " " : "", option->value ? option->value : "");
        print(option->group, left, option->help);
    }
}

/* ---- names that are nearly right ------------------------------------------------------------- */

static size_t min_of_three(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* Edits (insert, drop, replace one character) that turn `a` into `b`: the usual table, row by
 * row. */
static size_t edit_distance(const char *a, const char *b)
{
    size_t width = strlen(b);
    size_t row[NEAR_BYTES + 1];
    if (width > NEAR_BYTES || strlen(a) > NEAR_BYTES) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= width; j++) {
        row[j] = j;
    }
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t above = row[j];
            row[j] = min_of_three(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
            diagonal = above;
        }
    }
    return row[width];
}

/* Keeps the better of *best and `name` as what was meant by `typed`. A name that begins with what
 * was typed is near; otherwise a third of the characters may be wrong. */
static void keep_nearer(const char *typed, const char *name, const char **best,
                        size_t *best_distance)
{
    size_t length = strlen(typed);
    bool begins = length >= 2 && strncmp(typed, name, length) == 0;
    size_t distance = begins ? 1 : edit_distance(typed, name);
    size_t allowed = length < 6 ? 1 : length / 3;
    if (distance <= allowed + 1 && distance < length && distance < *best_distance) {
        *best = name;
        *best_distance = distance;
    }
}

static const char *nearest_option(const char *typed)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        if (oci_cli_option_table[i].name != NULL) {
            keep_nearer(typed, oci_cli_option_table[i].name, &best, &distance);
        }
        if (oci_cli_option_table[i].alias != NULL) {
            keep_nearer(typed, oci_cli_option_table[i].alias, &best, &distance);
        }
    }
    return best;
}

static const char *nearest_command(const char *typed)
{
    const char *best = NULL;
    size_t distance = SIZE_MAX;
    for (int i = OCI_CLI_NONE + 1; i < OCI_CLI_COMMANDS; i++) {
        keep_nearer(typed, command_names[i], &best, &distance);
    }
    return best;
}

/* ---- parsing --------------------------------------------------------------------------------- */

typedef struct arguments {
    oci_cli_options *options;
    char **next;   /* the argument to look at next; NULL at the end */
    uint64_t seen; /* bit i: oci_cli_option_table[i] was given */
    bool has_command;
} arguments;

static_assert(OCI_CLI_N_OPTIONS <= 64, "arguments.seen has a bit for each option");

int oci_cli_usage_error(const oci_cli_options *options, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    fputs("outcore: ", stderr);
    vfprintf(stderr, format, values);
    va_end(values);
    const char *command = oci_cli_command_name(options->command);
    fprintf(stderr, "\nsee \"outcore help%s%s\"\n", command ? " " : "", command ? command : "");
    return OCI_CLI_EXIT_USAGE;
}

/* Stores the value. `typed` is the option as the user wrote it, for messages. */
static int store_option(arguments *args, const oci_cli_option *option, const char *typed,
                        const char *value)
{
    char why[OCI_CLI_WHY_BYTES];
    args->seen |= UINT64_C(1) << (option - oci_cli_option_table);
    if (!option->take(option, (char *)args->options + option->offset, value, why)) {
        return oci_cli_usage_error(args->options, "invalid value \"%s\" for option \"%s\": %s",
                                   value, typed, why);
    }
    return OCI_CLI_EXIT_OK;
}

/* Stores the value of an option that needs one: `attached`, or else the next argument. */
static int store_with_value(arguments *args, const oci_cli_option *option, const char *typed,
                            const char *attached)
{
    const char *value = attached;
    if (value == NULL) {
        value = *args->next;
        if (value == NULL) {
            return oci_cli_usage_error(args->options, "option \"%s\" needs a value: %s", typed,
                                       option->value);
        }
        args->next++;
    }
    return store_option(args, option, typed, value);
}

static const oci_cli_option *find_long(const char *name)
{
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        const oci_cli_option *option = &oci_cli_option_table[i];
        if ((option->name != NULL && strcmp(option->name, name) == 0) ||
            (option->alias != NULL && strcmp(option->alias, name) == 0)) {
            return option;
        }
    }
    return NULL;
}

static const oci_cli_option *find_letter(char letter)
{
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        if (oci_cli_option_table[i].letter == letter) {
            return &oci_cli_option_table[i];
        }
    }
    return NULL;
}

/* `argument` is "--name" or "--name=value". */
static int parse_long(arguments *args, const char *argument)
{
    char typed[LEFT_BYTES];
    size_t length = strcspn(argument, "=");
    const char *attached = argument[length] == '=' ? argument + length + 1 : NULL;
    snprintf(typed, sizeof typed, "%.*s", (int)(length < LEFT_BYTES ? length : LEFT_BYTES - 1),
             argument);

    const oci_cli_option *option = find_long(typed + 2);
    if (option == NULL) {
        const char *near = nearest_option(typed + 2);
        return oci_cli_usage_error(args->options, "unknown option \"%s\"%s%s%s", typed,
                                   near ? "; did you mean \"--" : "", near ? near : "",
                                   near ? "\"?" : "");
    }
    if (option->value != NULL) {
        return store_with_value(args, option, typed, attached);
    }
    if (attached != NULL) {
        return oci_cli_usage_error(args->options, "option \"%s\" takes no value", typed);
    }
    return store_option(args, option, typed, "");
}

/* `argument` is "-q", several flags as in "-qh", or ends in an option with its value as in
 * "-m64m". */
static int parse_letters(arguments *args, const char *argument)
{
    for (const char *letter = argument + 1; *letter != '\0'; letter++) {
        char typed[] = {'-', *letter, '\0'};
        const oci_cli_option *option = find_letter(*letter);
        int code;
        if (option == NULL) {
            return oci_cli_usage_error(args->options, "unknown option \"%s\"", typed);
        }
        if (option->value != NULL) {
            return store_with_value(args, option, typed, letter[1] != '\0' ? letter + 1 : NULL);
        }
        if ((code = store_option(args, option, typed, "")) != OCI_CLI_EXIT_OK) {
            return code;
        }
    }
    return OCI_CLI_EXIT_OK;
}

/* More than one word in one, or a dot command: names of commands and files seldom look like this. */
static bool looks_like_sql(const char *word)
{
    return strpbrk(word, " \t\n;(") != NULL || word[0] == '\\' ||
           (word[0] == '.' && word[1] >= 'a' && word[1] <= 'z' && strpbrk(word, "./") == word &&
            strpbrk(word + 1, "./") == NULL);
}

static int refuse_word(const arguments *args, const char *word)
{
    const char *near = nearest_command(word);
    if (near == NULL && strpbrk(word, "./") != NULL) {
        return oci_cli_usage_error(args->options,
                                   "unknown command \"%s\"; to see what is in a file: outcore "
                                   "\"SELECT * FROM '%s'\"",
                                   word, word);
    }
    return oci_cli_usage_error(args->options, "unknown command \"%s\"%s%s%s", word,
                               near ? "; did you mean \"" : "", near ? near : "",
                               near ? "\"?" : "");
}

static int append_word(oci_cli_list *list, const char *word)
{
    if (!oci_cli_append(list, word)) {
        fputs("outcore: out of memory\n", stderr);
        return OCI_CLI_EXIT_SYSTEM;
    }
    return OCI_CLI_EXIT_OK;
}

/* The first word is a command or SQL, and by it all are. */
static int parse_word(arguments *args, const char *word)
{
    oci_cli_options *options = args->options;
    if (!args->has_command) {
        args->has_command = true;
        options->command = oci_cli_find_command(word);
        if (options->command != OCI_CLI_NONE) {
            return OCI_CLI_EXIT_OK;
        }
        if (!looks_like_sql(word) && options->sources.n == 0) {
            return refuse_word(args, word);
        }
    }
    if (options->command != OCI_CLI_NONE) {
        return append_word(&options->words, word);
    }
    int code = append_word(&options->sources, OCI_CLI_TEXT);
    return code == OCI_CLI_EXIT_OK ? append_word(&options->sources, word) : code;
}

static int parse_arguments(arguments *args)
{
    bool options_end = false;
    while (*args->next != NULL) {
        const char *argument = *args->next++;
        int code;
        if (options_end || argument[0] != '-' || argument[1] == '\0') {
            code = parse_word(args, argument);
        } else if (argument[1] != '-') {
            code = parse_letters(args, argument);
        } else if (argument[2] != '\0') {
            code = parse_long(args, argument);
        } else {
            options_end = true;
            continue;
        }
        if (code != OCI_CLI_EXIT_OK) {
            return code;
        }
        if (args->options->help) {
            break;
        }
    }
    return OCI_CLI_EXIT_OK;
}

/* "outcore --help sort" asks for the help of sort; nothing else behind --help counts. */
static void find_command_after_help(arguments *args)
{
    if (!args->has_command && *args->next != NULL) {
        args->options->command = oci_cli_find_command(*args->next);
    }
}

static int check_options_of_command(const arguments *args)
{
    oci_cli_command command = args->options->command;
    for (size_t i = 0; i < OCI_CLI_N_OPTIONS; i++) {
        const oci_cli_option *option = &oci_cli_option_table[i];
        bool fits = (args->seen >> i & 1) == 0 || (option->commands & OCI_CLI_BIT(command)) != 0;
        if (!fits && command == OCI_CLI_NONE) {
            return oci_cli_usage_error(args->options,
                                       "option \"--%s\" belongs to a command, and none is given",
                                       option->name);
        }
        if (!fits) {
            return oci_cli_usage_error(args->options,
                                       "command \"%s\" does not take option \"--%s\"",
                                       oci_cli_command_name(command), option->name);
        }
    }
    return OCI_CLI_EXIT_OK;
}

int oci_cli_parse_options(int argc, char **argv, oci_cli_options *options)
{
    *options = (oci_cli_options){.limit = -1};
    arguments args = {.options = options, .next = argv + (argc > 0)};
    int code = parse_arguments(&args);
    if (code != OCI_CLI_EXIT_OK) {
        return code;
    }
    if (options->help) {
        find_command_after_help(&args);
        return OCI_CLI_EXIT_OK;
    }
    return options->version ? OCI_CLI_EXIT_OK : check_options_of_command(&args);
}

void oci_cli_free_options(oci_cli_options *options)
{
    free(options->words.items);
    free(options->sources.items);
    free(options->by.items);
    free(options->temp_dirs.items);
    *options = (oci_cli_options){0};
}
