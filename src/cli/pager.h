/* A pager: a program that shows long texts, $OUTCORE_PAGER, else $PAGER, else less. */
#ifndef OUTCORE_CLI_PAGER_H
#define OUTCORE_CLI_PAGER_H

#include <stdbool.h>
#include <sys/types.h>

typedef struct oci_cli_pager {
    pid_t process;
    int saved_output;
} oci_cli_pager;

/* Starts it; what is written to standard output goes to it. false: there is none. */
bool oci_cli_start_pager(oci_cli_pager *pager);

/* Waits until the user has left it. Writes to it that failed with OC_EIO are no error. */
void oci_cli_end_pager(oci_cli_pager *pager);

/* Lines of the terminal behind `fd`, 0 = not known. */
int oci_cli_terminal_height(int fd);

#endif /* OUTCORE_CLI_PAGER_H */
