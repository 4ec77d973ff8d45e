/* Signals: Ctrl-C and friends end the work, clean up, and then end the program as the signal would
 * have.
 *
 * SIGINT, SIGTERM and SIGHUP ask the context to stop; the command sees OC_ECANCELED, releases what
 * it has, and raises the signal again, so that the shell knows (130, 143, 129). A second signal
 * leaves at once. A signal that was ignored when the program began (nohup) stays ignored. SIGPIPE
 * keeps its default: `outcore ... | head` ends quietly. */
#ifndef OUTCORE_CLI_SIGNALS_H
#define OUTCORE_CLI_SIGNALS_H

#include <stdbool.h>

#include "outcore/outcore.h"

/* Installs the handlers. From now on a signal cancels `context`. `reads_stdin` and `writes_stdout`
 * say which of them the work may wait for. */
void oci_cli_watch_signals(oc_context *context, bool reads_stdin, bool writes_stdout);

/* Call before the context is destroyed. */
void oci_cli_forget_context(void);

/* Ends the program by the signal that came, if one came; else returns. Call when all is
 * released. */
void oci_cli_raise_again(void);

#endif /* OUTCORE_CLI_SIGNALS_H */
