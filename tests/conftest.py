"""Settings of all Python tests.

A shell that starts a command in the background makes it ignore SIGINT and SIGQUIT, and so do all of its
children. The tests that interrupt the program need the ordinary disposition, so it is put back here;
programs started from here get the default.
"""

import signal

for number, handler in ((signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL),
                        (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, handler)
