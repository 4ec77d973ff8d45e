"""The interactive shell on a terminal: prompts, many lines, Ctrl-C, completion, history, the pager."""

import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from fcntl import ioctl
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
SANITIZED = "asan" in PROGRAM or "tsan" in PROGRAM
PROMPT = "outcore> "
MORE = "    ...> "


class Shell:
    """The program on a terminal of its own; `text` is all that it printed, without colours."""

    def __init__(self, folder, *arguments, rows=24, columns=100, environment=None):
        ours, theirs = pty.openpty()
        ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("OUTCORE_", "XDG_", "PAGER", "COLUMNS"))}
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs,
            start_new_session=True, preexec_fn=lambda: ioctl(0, termios.TIOCSCTTY, 0),
            env={**kept, "TERM": "xterm", "LC_ALL": "C.UTF-8", "HOME": str(folder),
                 **(environment or {})})
        os.close(theirs)
        self.ours, self.raw, self.seen = ours, b"", 0

    @property
    def text(self):
        plain = re.sub(rb"\033\[[0-9;?]*[A-Za-z]|\033[()][A-Z0-9]|\x07", b"", self.raw)
        return plain.decode(errors="replace").replace("\r", "")

    def read(self, seconds=0.1):
        ready, _, _ = select.select([self.ours], [], [], seconds)
        if ready:
            try:
                piece = os.read(self.ours, 65536)
            except OSError:
                return False
            self.raw += piece
            return piece != b""
        return False

    def expect(self, wanted, seconds=20):
        """Waits for text behind what was expected before. Returns what came up to its end."""
        end = time.monotonic() + seconds
        while wanted not in self.text[self.seen:]:
            assert time.monotonic() < end, f"no {wanted!r} in {self.text[self.seen:]!r}"
            self.read()
        at = self.text.index(wanted, self.seen) + len(wanted)
        came, self.seen = self.text[self.seen:at], at
        return came

    def send(self, keys):
        os.write(self.ours, keys.encode())

    def ask(self, line, prompt=PROMPT):
        """Types a line; what was printed up to the next prompt."""
        self.send(line + "\r")
        self.expect("\n")
        return self.expect(prompt).removesuffix(prompt)

    def end(self):
        """Waits for the end; the exit code."""
        end = time.monotonic() + 20
        while self.process.poll() is None or self.read(0.1):
            assert time.monotonic() < end, f"the shell does not end after {self.text[self.seen:]!r}"
            self.read(0.1)
        code = self.process.wait(timeout=20)
        os.close(self.ours)
        return code


@pytest.fixture(name="start")
def fixture_start(tmp_path):
    """start(...) begins a shell in an empty folder, which is its home too."""
    shells = []
    (tmp_path / "t.csv").write_text("id,name\n" + "".join(f"{n},n{n}\n" for n in range(60)))

    def start(*arguments, **more):
        shell = Shell(tmp_path, *arguments, **more)
        shells.append(shell)
        shell.expect(PROMPT)
        return shell

    yield start
    for shell in shells:
        if shell.process.poll() is None:
            shell.process.kill()
            shell.process.wait()


def test_statement_over_many_lines(start):
    shell = start()
    shell.ask("SELECT 1 +", MORE)
    shell.ask("  -- a comment; with a semicolon", MORE)
    assert "42" in shell.ask("41 AS answer;")
    shell.send("\x04")
    assert shell.end() == 0


def test_error_does_not_end_the_shell(start):
    shell = start()
    text = shell.ask("SELECT nothing_of_the_kind;")
    assert "outcore: " in text and "LINE 1:" in text and "^" in text
    assert "3" in shell.ask("SELECT 3;")


def test_dot_commands(start):
    shell = start()
    shell.ask("CREATE VIEW some_view AS SELECT 1 AS only_column;")
    assert "some_view" in shell.ask(".tables")
    assert "some_view" in shell.ask("\\dt")
    assert "only_column" in shell.ask("\\d some_view")
    assert "name" in shell.ask(".schema t.csv")
    assert ".maxrows" in shell.ask(".help")
    assert "timing is on" in shell.ask("\\timing on")
    assert "time: " in shell.ask("SELECT 1;")
    assert "unknown command" in shell.ask(".frobnicate")
    shell.ask(".mode csv")
    assert "\na,b\n1,2\n" in "\n" + shell.ask("SELECT 1 AS a, 2 AS b;")
    shell.send("\\q\r")
    assert shell.end() == 0


def test_answers_go_to_files(start, tmp_path):
    shell = start()
    shell.ask(".output all.csv")
    shell.ask("SELECT 1 AS a; SELECT 2 AS b;")
    shell.ask(".output")
    shell.ask(".once one.ndjson")
    shell.ask("SELECT 3 AS c;")
    assert "4" in shell.ask("SELECT 4;")
    assert (tmp_path / "all.csv").read_text() == "a\n1\nb\n2\n"
    assert (tmp_path / "one.ndjson").read_text() == '{"c":3}\n'


def test_interrupt_drops_what_was_typed(start):
    shell = start()
    shell.ask("SELECT 1 +", MORE)
    shell.send("what is this")
    time.sleep(0.1)
    shell.send("\x03")
    shell.expect(PROMPT)
    assert "5" in shell.ask("SELECT 5;")


LONG = ("SELECT count(*) FROM (SELECT v % 1000003 AS k, sum(v) AS s FROM "
        "generate_series(1, 20000000000) AS t(v) GROUP BY 1) q;")


def test_interrupt_ends_the_query_at_once(start):
    shell = start("-m", "64m")
    shell.send(LONG + "\r")
    time.sleep(1.0)
    began = time.monotonic()
    shell.send("\x03")
    shell.expect(PROMPT)
    assert time.monotonic() - began < (1.0 if SANITIZED else 0.3)
    assert "6" in shell.ask("SELECT 6;")


def test_progress_comes_while_a_query_runs(start):
    shell = start("-m", "64m")
    shell.send(LONG + "\r")
    shell.expect("rows", seconds=10)
    shell.send("\x03")
    shell.expect(PROMPT)


def test_terminate_ends_the_shell(start):
    shell = start()
    shell.process.send_signal(signal.SIGTERM)
    assert shell.end() == -signal.SIGTERM


def test_completion(start):
    shell = start()
    shell.ask("CREATE VIEW some_view AS SELECT 1 AS only_column;")
    shell.send("SELECT * FROM some_v\t;\r")
    assert "only_column" in shell.expect(PROMPT)
    shell.send("sele\t* from 't.c\tlimi\t1;\r")
    text = shell.expect(PROMPT)
    assert "n0" in text
    assert "select" in text  # in the letters it was begun in
    shell.send(".tim\ton\r")
    assert "timer is on" in shell.expect(PROMPT)


def test_history_is_kept(start, tmp_path):
    shell = start()
    shell.ask("SELECT 12345;")
    shell.send("\x04")
    assert shell.end() == 0
    assert "12345" in (tmp_path / ".local/state/outcore/history").read_text()
    again = start()
    again.send("\x1b[A\r")  # up
    assert "12345" in again.expect(PROMPT)
    again.expect("", seconds=1)


def test_pager_gets_long_answers_only(start):
    shell = start(environment={"OUTCORE_PAGER": "sed s/^/paged:/"}, rows=20)
    assert "paged:" not in shell.ask("SELECT * FROM 't.csv' LIMIT 3;")
    assert "paged:" in shell.ask("SELECT * FROM 't.csv';")
    shell.ask(".pager off")
    assert "paged:" not in shell.ask("SELECT * FROM 't.csv';")


def test_pager_may_leave_early(start):
    shell = start(environment={"OUTCORE_PAGER": "head -n 2"}, rows=20)
    shell.ask(".maxrows all")
    text = shell.ask("SELECT v FROM generate_series(1, 200000) AS t(v);")
    assert "outcore:" not in text
    assert "7" in shell.ask("SELECT 7;")


def test_configuration(start, tmp_path):
    (tmp_path / ".config/outcore").mkdir(parents=True)
    (tmp_path / ".config/outcore/config").write_text("SET batch_size = 77;\n.timer on\n")
    shell = start()
    text = shell.ask("SHOW batch_size;")
    assert "77" in text and "time:" in text
    other = start("--no-config")
    assert "time:" not in other.ask("SELECT 1;")
