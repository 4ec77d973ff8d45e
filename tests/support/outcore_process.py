"""Runs the program under test for the Python tests, and measures it from outside.

The binary is OUTCORE_BIN, by default build/release/outcore.
"""

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
MIB = 1 << 20
TIMEOUT = 300  # seconds for one run; sanitizer builds are slow

# The kernel counts the memory of the process that calls exec towards the peak of the program, and a
# Python with pyarrow in it is larger than the limits tested. So a small Python starts the program.
LAUNCHER = """
import json, os, sys
pid = os.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as out:
    json.dump({"code": os.waitstatus_to_exitcode(status), "rss": usage.ru_maxrss * 1024}, out)
"""


def is_built_with(text):
    try:
        return text in Path(BINARY).read_bytes()
    except FileNotFoundError:
        return False  # the tests themselves will say so


def is_sanitized():
    """Whether the program is a sanitizer build: slower, and its memory says nothing."""
    return is_built_with(b"__asan_init")


def can_encrypt():
    """Whether the program has libsodium: else it has a message that says so."""
    return not is_built_with(b"this library was built without libsodium")


@dataclass
class Outcome:
    code: int
    stderr: str
    stdout: bytes
    stats: dict  # of --stats; {} when it was not asked for or the run failed
    rss: int = 0  # peak in bytes, when measured


def _stats_of(stderr):
    last = stderr.rstrip().rsplit("\n", 1)[-1]
    return json.loads(last) if last.startswith("{") else {}


def run(*args, check=True, **options):
    """Runs outcore; with check, anything but success is an assertion that shows the command."""
    command = [BINARY, *map(str, args)]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT, **options)
    stderr = done.stderr.decode(errors="replace")
    if check:
        assert done.returncode == 0, f"exit {done.returncode}: {command}\n{stderr}"
    return Outcome(done.returncode, stderr, done.stdout, _stats_of(stderr))


def run_measured(folder, *args):
    """Runs outcore and takes the peak of its resident memory from the kernel."""
    report = Path(folder) / "measured.json"
    command = [BINARY, *map(str, args)]
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, str(report), *command],
                          capture_output=True, timeout=TIMEOUT)
    stderr = done.stderr.decode(errors="replace")
    measured = json.loads(report.read_text())
    return Outcome(measured["code"], stderr, done.stdout, _stats_of(stderr), measured["rss"])


def describe_exit(code):
    return signal.Signals(-code).name if code < 0 else f"exit {code}"
