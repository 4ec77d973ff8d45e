"""What people see: tables cut to the terminal, the progress line, refusals."""

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
CSV = "id,name\n" + "".join(f"{number},{'x' * 30} {number}\n" for number in range(100))


def open_terminal(columns):
    """(our end, the program's end) of a terminal of that many columns, which changes no bytes."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    mode = termios.tcgetattr(theirs)
    mode[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, mode)
    return ours, theirs


def read_terminal(ours, process, seconds=60):
    """All that the program prints there until it ends."""
    text, end = b"", time.monotonic() + seconds
    while time.monotonic() < end:
        ready, _, _ = select.select([ours], [], [], 0.1)
        if ready:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if piece == b"":
                break
            text += piece
        elif process.poll() is not None:
            break
    return text.decode(errors="replace")


@pytest.fixture(name="on_terminal")
def fixture_on_terminal(tmp_path):
    """on_terminal(arguments, stream, columns): (text on that stream, exit code, other text)."""
    (tmp_path / "in.csv").write_text(CSV, encoding="utf-8")

    def run(*arguments, stream="stdout", columns=40, feed=None):
        ours, theirs = open_terminal(columns)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, stream: theirs}
        process = subprocess.Popen([PROGRAM, *arguments], cwd=tmp_path, stdin=subprocess.PIPE,
                                   env={**os.environ, "TERM": "xterm"}, **streams)
        os.close(theirs)
        if feed:
            feed(process.stdin)
        process.stdin.close()
        text = read_terminal(ours, process)
        other = (process.stdout or process.stderr).read().decode()
        process.wait(timeout=30)
        os.close(ours)
        return text, process.returncode, other

    return run


def feed_for(seconds):
    def feed(pipe):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            pipe.write(b"3,c\n1,a\n2,b\n")
            pipe.flush()
            time.sleep(0.01)
    return feed


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_table_is_cut_to_the_terminal(on_terminal, columns):
    text, code, errors = on_terminal("sort", "in.csv", "--by", "id", columns=columns)
    assert (code, errors) == (0, "")
    lines = text.splitlines()
    assert lines and max(map(len, lines)) <= columns
    assert ("x" * 30 + " 5 " in text) == (columns == 200)
    assert "100" in lines[-1]  # rows there are; 40 are shown
    assert len(lines) < 60


def test_maxrows_all_shows_all(on_terminal):
    text, code, _ = on_terminal("sort", "in.csv", "--by", "id", "--maxrows", "all", columns=100)
    assert code == 0
    assert len(re.findall(r"x{30} \d+", text)) == 100


def test_arrow_is_not_written_to_a_terminal(on_terminal):
    text, code, errors = on_terminal("sort", "in.csv", "--by", "id", "--format", "arrows")
    assert (text, code) == ("", 2)
    assert "terminal" in errors and "-o -" in errors
    text, code, errors = on_terminal("convert", "in.csv", "-", "--format", "arrows", "--limit", "1")
    assert (code, errors) == (0, "") and text != ""


def test_progress_line_comes_and_goes(on_terminal):
    text, code, output = on_terminal("sort", "--header", "no", "--by", "1", "--limit", "1",
                                     stream="stderr", columns=60, feed=feed_for(3.0))
    assert (code, output) == (0, "1,a\n")
    lines = re.findall(r"\r([^\r\033]*)\033\[K", text)
    assert lines and all(len(line) < 60 for line in lines)
    assert "reading" in lines[0]
    assert lines[-1] == ""  # wiped
    assert "\n" not in text


def test_no_progress_line_in_the_first_two_seconds(on_terminal):
    text, code, _ = on_terminal("sort", "in.csv", "--by", "id", stream="stderr")
    assert (code, text) == (0, "")


@pytest.mark.parametrize("option", [["--quiet"], ["--progress", "off"]])
def test_progress_can_be_turned_off(on_terminal, option):
    text, code, _ = on_terminal("sort", "--header", "no", "--by", "1", *option, stream="stderr",
                                feed=feed_for(2.5))
    assert (code, text) == (0, "")


def test_progress_in_a_file_is_in_lines(tmp_path):
    process = subprocess.Popen([PROGRAM, "sort", "--header", "no", "--by", "1", "--progress", "on"],
                               cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    feed_for(3.5)(process.stdin)
    _, errors = process.communicate(timeout=30)
    lines = errors.decode().splitlines()
    assert process.returncode == 0
    assert 1 <= len(lines) <= 3 and all(line.startswith("reading") for line in lines)
    assert b"\r" not in errors and b"\033" not in errors


def test_sort_without_files_does_not_wait_for_a_keyboard(tmp_path):
    ours, theirs = open_terminal(80)
    done = subprocess.run([PROGRAM, "sort", "--by", "a"], cwd=tmp_path, stdin=theirs, timeout=30,
                          capture_output=True, check=False)
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 2 and b"no input" in done.stderr
