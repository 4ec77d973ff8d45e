/* See places.h. */
#include "cli/places.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Writes "$VARIABLE/rest", or "$HOME/fallback/rest" when that is not set. */
static bool build_path(char path[OCI_CLI_PATH_BYTES], const char *variable, const char *fallback,
                       const char *rest)
{
    const char *base = variable != NULL ? getenv(variable) : NULL;
    const char *home = getenv("HOME");
    int n = -1;
    if (base != NULL && base[0] == '/') {
        n = snprintf(path, OCI_CLI_PATH_BYTES, "%s/%s", base, rest);
    } else if (home != NULL && home[0] == '/') {
        n = snprintf(path, OCI_CLI_PATH_BYTES, "%s/%s%s", home, fallback, rest);
    }
    return n > 0 && n < OCI_CLI_PATH_BYTES;
}

/* A variable that names the file itself. */
static bool take_variable(char path[OCI_CLI_PATH_BYTES], const char *variable)
{
    const char *value = getenv(variable);
    path[0] = '\0';
    if (value == NULL) {
        return false;
    }
    snprintf(path, OCI_CLI_PATH_BYTES, "%s", value);
    return true;
}

bool oci_cli_find_config(char path[OCI_CLI_PATH_BYTES])
{
    if (take_variable(path, "OUTCORE_CONFIG")) {
        return path[0] != '\0';
    }
    if (build_path(path, "XDG_CONFIG_HOME", ".config/", "outcore/config") &&
        access(path, F_OK) == 0) {
        return true;
    }
    return build_path(path, NULL, "", ".outcorerc") && access(path, F_OK) == 0;
}

/* Makes all folders on the way to a file, for this user alone. Failures show when the file is made. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700);
        *slash = '/';
    }
}

bool oci_cli_find_history(char path[OCI_CLI_PATH_BYTES])
{
    if (take_variable(path, "OUTCORE_HISTORY")) {
        return path[0] != '\0';
    }
    if (!build_path(path, "XDG_STATE_HOME", ".local/state/", "outcore/history")) {
        return false;
    }
    make_folders(path);
    return true;
}
