/* The program `outcore`: reads the command line and calls the command.
 *
 * It sees only the public header. Data goes to standard output, all else to standard error. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"

/* A closed standard descriptor would be given to the next file that is opened, which would then be
 * mistaken for it: spill data on "standard output". So gaps are filled, with something that refuses
 * to be used the way the descriptor is. */
static void fill_standard_descriptors(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) == -1 && errno == EBADF) {
            int flags = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;
            if (open("/dev/null", flags) != fd) {
                return;
            }
        }
    }
}

/* Text that stdio still holds may fail to come out. */
static int close_standard_output(int code)
{
    bool failed = ferror(stdout) != 0;
    if ((fflush(stdout) != 0 || failed) && code == OCI_CLI_EXIT_OK) {
        fprintf(stderr, "outcore: could not write to standard output: %s\n", strerror(errno));
        return OCI_CLI_EXIT_SYSTEM;
    }
    return code;
}

static int run_help(const oci_cli_options *options)
{
    if (options->words.n > 1) {
        return oci_cli_usage_error(options, "it takes one command, not %zu", options->words.n);
    }
    oci_cli_command about = OCI_CLI_NONE;
    if (options->words.n == 1) {
        about = oci_cli_find_command(options->words.items[0]);
        if (about == OCI_CLI_NONE) {
            return oci_cli_usage_error(options, "there is no command \"%s\"",
                                       options->words.items[0]);
        }
    }
    return oci_cli_help(about);
}

static int run_version(const oci_cli_options *options)
{
    if (options->words.n > 0 && !options->version) {
        return oci_cli_usage_error(options, "it takes no file");
    }
    printf("outcore %s\n", oc_version());
    return OCI_CLI_EXIT_OK;
}

static int run_command(const oci_cli_options *options)
{
    if (options->help) {
        return oci_cli_help(options->command);
    }
    if (options->version) {
        return run_version(options);
    }
    switch (options->command) {
    case OCI_CLI_SORT: return oci_cli_sort(options);
    case OCI_CLI_CONVERT: return oci_cli_convert(options);
    case OCI_CLI_INSPECT: return oci_cli_inspect(options);
    case OCI_CLI_HELP: return run_help(options);
    case OCI_CLI_VERSION: return run_version(options);
    case OCI_CLI_NONE:
    case OCI_CLI_COMMANDS: break;
    }
    return oci_cli_run_sql(options);
}

int main(int argc, char **argv)
{
    fill_standard_descriptors();
    /* A file size limit of the shell then shows as an error of the write, with a message. */
    signal(SIGXFSZ, SIG_IGN);

    oci_cli_options options;
    int code = oci_cli_parse_options(argc, argv, &options);
    if (code == OCI_CLI_EXIT_OK) {
        code = run_command(&options);
    }
    oci_cli_free_options(&options);
    return close_standard_output(code);
}
