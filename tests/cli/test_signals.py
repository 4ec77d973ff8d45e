"""Signals: the work ends soon, nothing stays behind, and the shell learns which signal it was."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.fixture(name="start")
def fixture_start(tmp_path):
    """start(arguments, ...) runs the program in an empty folder; what is left over is ended."""
    started = []
    (tmp_path / "tmp").mkdir()

    def start(*arguments, **more):
        more = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
                "env": {**os.environ, "TMPDIR": str(tmp_path / "tmp")}, **more}
        process = subprocess.Popen([PROGRAM, *arguments], cwd=tmp_path, **more)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


def feed(process, seconds):
    """Gives the program numbers to sort for some time. Returns how many bytes it took."""
    os.set_blocking(process.stdin.fileno(), False)
    lines = b"".join(b"%d,some text\n" % (number * 7919 % 10007) for number in range(4000))
    end, taken = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        try:
            taken += os.write(process.stdin.fileno(), lines[taken % len(lines):])
        except BlockingIOError:
            time.sleep(0.001)
    return taken


def check_end(process, number, tmp_path, began):
    assert process.wait(timeout=10) == -number
    assert time.monotonic() - began < 1
    assert process.stderr.read() == b""
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signal_while_sorting(start, tmp_path, number):
    process = start("sort", "--header", "no", "--by", "1", "-m", "8m", "-o", "out.csv")
    assert feed(process, 1.0) > 0
    began = time.monotonic()
    process.send_signal(number)
    check_end(process, number, tmp_path, began)
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


@pytest.mark.parametrize("number", SIGNALS, ids=lambda number: number.name)
def test_signal_while_input_is_silent(start, tmp_path, number):
    process = start("sort", "--by", "1", "-o", "out.csv")
    time.sleep(0.5)
    began = time.monotonic()
    process.send_signal(number)
    check_end(process, number, tmp_path, began)
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_signal_while_nobody_reads_the_output(start, tmp_path):
    (tmp_path / "n.csv").write_text("\n".join(map(str, range(200000))) + "\n", encoding="utf-8")
    process = start("convert", "n.csv", "-", "--header", "no")
    time.sleep(0.5)  # the pipe is full now
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    check_end(process, signal.SIGINT, tmp_path, began)


def test_two_signals_in_a_row_still_clean_up(start, tmp_path):
    """timeout(1) sends its signal to the process and to the group."""
    process = start("sort", "--header", "no", "--by", "1", "-m", "8m", "-o", "out.csv")
    feed(process, 1.0)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGTERM)
    check_end(process, signal.SIGTERM, tmp_path, began)
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]


def test_signal_while_a_fifo_has_no_writer(start, tmp_path):
    """The library waits in open(); the program gives it some time and leaves then."""
    os.mkfifo(tmp_path / "fifo")
    process = start("sort", "fifo", "--by", "1", "-o", "out.csv")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "tmp"]


def test_second_signal_leaves_at_once(start, tmp_path):
    os.mkfifo(tmp_path / "fifo")
    process = start("sort", "fifo", "--by", "1")
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.4)
    assert process.poll() is None
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == -signal.SIGINT
    assert time.monotonic() - began < 1


def test_ignored_signal_stays_ignored(start, tmp_path):
    process = start("sort", "--header", "no", "--by", "1",
                    preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    time.sleep(0.3)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate(b"2\n1\n", timeout=10)
    assert (process.returncode, out, err) == (0, b"1\n2\n", b"")
    assert tmp_path.exists()


def test_killed_program_leaves_no_file(start, tmp_path):
    process = start("sort", "--header", "no", "--by", "1", "-m", "4m", "-o", "out.csv")
    feed(process, 1.0)
    process.kill()
    process.wait(timeout=10)
    assert list((tmp_path / "tmp").iterdir()) == []
    assert [path.name for path in tmp_path.iterdir()] == ["tmp"]
