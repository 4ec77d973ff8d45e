/* See signals.h. What is left to explain is waiting: a read of a pipe that nobody writes to, or a
 * write to one that nobody reads, does not return for a cancel flag. So the handler puts /dev/null
 * under the descriptor. The signal has interrupted the call, the library makes it again, and now it
 * ends at once: an empty input, or an output that takes everything. Neither is ever taken for the
 * real thing, since the context is cancelled before.
 *
 * That does not help where the library has opened the pipe itself, a FIFO by its name. So there is
 * an alarm too: who does not end in time is ended, as by a second signal. That is safe, since the
 * library leaves no file behind whatever happens to the process; it is just not as tidy. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

#include "cli/signals.h"

/* A second signal counts when it comes this much later. Programs such as timeout(1) send theirs
 * twice in a row, to the process and to its group, and that must not skip the cleaning up. */
#define SECOND_SIGNAL_MS 200

/* Cleaning up takes milliseconds; the rest is for slow machines. */
#define GRACE_SECONDS 3

static const int watched_signals[] = {SIGINT, SIGTERM, SIGHUP};
#define N_WATCHED (sizeof watched_signals / sizeof watched_signals[0])

static oci_cli_cancel cancel_work; /* set before the handlers are */
static _Atomic(void *) watched_work;
static volatile sig_atomic_t first_signal; /* 0 = none yet */
static volatile sig_atomic_t is_shell;
static volatile sig_atomic_t is_running; /* shell: a statement */
static volatile sig_atomic_t interrupted;
static volatile sig_atomic_t may_wait_for_stdin;
static volatile sig_atomic_t may_wait_for_stdout;
static struct timespec first_time;

static bool is_second_signal(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long long ms = (long long)(now.tv_sec - first_time.tv_sec) * 1000 +
                   (now.tv_nsec - first_time.tv_nsec) / 1000000;
    return ms >= SECOND_SIGNAL_MS;
}

static void end_waiting(int fd, int flags)
{
    int nothing = open("/dev/null", flags | O_CLOEXEC);
    if (nothing >= 0) {
        dup2(nothing, fd);
        close(nothing);
    }
}

static void on_alarm(int number)
{
    (void)number;
    signal(first_signal, SIG_DFL);
    raise(first_signal);
}

static void cancel_watched_work(void)
{
    void *work = atomic_load(&watched_work);
    if (work != NULL) {
        cancel_work(work);
    }
}

static void leave_if_second(int number)
{
    if (is_second_signal()) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static void interrupt_statement(void)
{
    if (is_running && interrupted) {
        leave_if_second(SIGINT);
        return;
    }
    interrupted = 1;
    clock_gettime(CLOCK_MONOTONIC, &first_time);
    if (is_running) {
        cancel_watched_work();
    }
}

static void end_program(int number)
{
    if (first_signal != 0) {
        leave_if_second(number);
        return;
    }
    first_signal = number;
    alarm(GRACE_SECONDS);
    clock_gettime(CLOCK_MONOTONIC, &first_time);
    cancel_watched_work();
    if (may_wait_for_stdin) {
        end_waiting(STDIN_FILENO, O_RDONLY);
    }
    if (may_wait_for_stdout) {
        end_waiting(STDOUT_FILENO, O_WRONLY);
    }
}

/* Only async-signal-safe calls; the watched signals are blocked while it runs. */
static void on_signal(int number)
{
    int saved_errno = errno;
    if (is_shell && number == SIGINT) {
        interrupt_statement();
    } else {
        end_program(number);
    }
    errno = saved_errno;
}

static void install_handlers(oci_cli_cancel cancel, void *work)
{
    struct sigaction action = {.sa_handler = on_signal}; /* no SA_RESTART: see above */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < N_WATCHED; i++) {
        sigaddset(&action.sa_mask, watched_signals[i]);
    }
    cancel_work = cancel;
    atomic_store(&watched_work, work);
    signal(SIGALRM, on_alarm);
    for (size_t i = 0; i < N_WATCHED; i++) {
        struct sigaction before;
        if (sigaction(watched_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN) {
            sigaction(watched_signals[i], &action, NULL);
        }
    }
}

void oci_cli_watch_signals(oci_cli_cancel cancel, void *work, bool reads_stdin, bool writes_stdout)
{
    may_wait_for_stdin = reads_stdin;
    may_wait_for_stdout = writes_stdout;
    install_handlers(cancel, work);
}

void oci_cli_watch_shell_signals(oci_cli_cancel cancel, void *work)
{
    is_shell = 1;
    install_handlers(cancel, work);
}

void oci_cli_set_running(bool running)
{
    interrupted = 0;
    is_running = running;
}

bool oci_cli_take_interrupt(void)
{
    bool came = interrupted != 0;
    interrupted = 0;
    return came;
}

bool oci_cli_must_leave(void)
{
    return first_signal != 0;
}

void oci_cli_forget_work(void)
{
    atomic_store(&watched_work, NULL);
}

void oci_cli_raise_again(void)
{
    int number = first_signal;
    if (number != 0) {
        signal(number, SIG_DFL);
        raise(number);
    }
}
