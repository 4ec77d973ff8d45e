/* See pager.h.
 *
 * A pager that is left early closes the pipe; the write that notices must fail instead of ending the
 * shell, so SIGPIPE is ignored for that time, and only then. */
#include "cli/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/sql.h"

/* less: short texts are not paged, long lines not folded, and the text stays on the screen. */
#define PAGER_DEFAULT "less -FSRX"

static const char *pager_command(void)
{
    const char *command = getenv("OUTCORE_PAGER");
    if (command == NULL) {
        command = getenv("PAGER");
    }
    return command != NULL ? command : PAGER_DEFAULT;
}

static bool spawn(const char *command, int input, pid_t *process)
{
    char shell[] = "sh";
    char flag[] = "-c";
    char *text = strdup(command);
    char *arguments[] = {shell, flag, text, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t restored;
    if (text == NULL || posix_spawn_file_actions_init(&actions) != 0) {
        free(text);
        return false;
    }
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    sigemptyset(&restored);
    sigaddset(&restored, SIGPIPE);
    posix_spawnattr_setsigdefault(&attributes, &restored);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    int failed = posix_spawn(process, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    free(text);
    return failed == 0;
}

bool oci_cli_start_pager(oci_cli_pager *pager)
{
    const char *command = pager_command();
    int ends[2];
    if (command[0] == '\0' || pipe2(ends, O_CLOEXEC) != 0) {
        return false;
    }
    bool started = spawn(command, ends[0], &pager->process);
    close(ends[0]);
    if (started) {
        signal(SIGPIPE, SIG_IGN);
        pager->saved_output = oci_cli_redirect_output(ends[1]);
    }
    close(ends[1]);
    return started;
}

void oci_cli_end_pager(oci_cli_pager *pager)
{
    int status = 0;
    if (pager->saved_output >= 0) {
        oci_cli_restore_output(pager->saved_output);
    }
    while (waitpid(pager->process, &status, 0) < 0 && errno == EINTR) {
    }
    signal(SIGPIPE, SIG_DFL);
}

int oci_cli_terminal_height(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}
