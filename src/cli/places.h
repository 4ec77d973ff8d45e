/* Where the shell keeps things: the configuration and the history. */
#ifndef OUTCORE_CLI_PLACES_H
#define OUTCORE_CLI_PLACES_H

#include <stdbool.h>

#define OCI_CLI_PATH_BYTES 4096

/* $OUTCORE_CONFIG, else outcore/config in $XDG_CONFIG_HOME or ~/.config, else ~/.outcorerc. false: there
 * is no such file. */
bool oci_cli_find_config(char path[OCI_CLI_PATH_BYTES]);

/* $OUTCORE_HISTORY, else outcore/history in $XDG_STATE_HOME or ~/.local/state, whose folders are made.
 * false: there is no place for it, or the variable is empty. */
bool oci_cli_find_history(char path[OCI_CLI_PATH_BYTES]);

#endif /* OUTCORE_CLI_PLACES_H */
