/* Signals: Ctrl-C and friends end the work, clean up, and then end the program as the signal would
 * have.
 *
 * SIGINT, SIGTERM and SIGHUP ask the work to stop; the command sees OC_ECANCELED, releases what
 * it has, and raises the signal again, so that the caller knows (130, 143, 129). A second signal
 * leaves at once. A signal that was ignored when the program began (nohup) stays ignored. SIGPIPE
 * keeps its default: `outcore ... | head` ends quietly.
 *
 * In the interactive shell SIGINT ends the statement that runs, and nothing else. */
#ifndef OUTCORE_CLI_SIGNALS_H
#define OUTCORE_CLI_SIGNALS_H

#include <stdbool.h>

/* Asks what runs to stop. Called in the signal handler: async-signal-safe calls only. */
typedef void (*oci_cli_cancel)(void *work);

/* Installs the handlers. From now on a signal calls cancel(work). `reads_stdin` and `writes_stdout`
 * say which of them the work may wait for. */
void oci_cli_watch_signals(oci_cli_cancel cancel, void *work, bool reads_stdin, bool writes_stdout);

/* The same for the interactive shell. Only while something runs does SIGINT call cancel(work), a
 * second one then leaves. */
void oci_cli_watch_shell_signals(oci_cli_cancel cancel, void *work);
void oci_cli_set_running(bool running);
/* Whether SIGINT came since the last call. */
bool oci_cli_take_interrupt(void);
/* Whether a signal came that ends the program. */
bool oci_cli_must_leave(void);

/* Call before what `work` points to is gone. */
void oci_cli_forget_work(void);

/* Ends the program by the signal that came, if one came; else returns. Call when all is
 * released. */
void oci_cli_raise_again(void);

#endif /* OUTCORE_CLI_SIGNALS_H */
