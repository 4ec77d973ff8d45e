"""Signals at random moments while SQL groups and spills: the right exit code in bounded time, no file in
the spill folder, and an output under its name only when it is complete."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, describe_exit, is_sanitized  # noqa: E402

SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ROUNDS = int(os.environ.get("OUTCORE_ROUNDS", "3" if is_sanitized() else "8"))
ROWS = 100_000 if is_sanitized() else 400_000
SQL = (f"SELECT (v * 7919) % {ROWS // 2} AS k, count(*) AS n, sum(v) AS total "
       f"FROM generate_series(1, {ROWS}) AS t(v) GROUP BY 1 ORDER BY 1")


def start(spill, output):
    return subprocess.Popen([BINARY, "-m", "1m", "-T", str(spill), "-o", str(output), SQL],
                            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process):
    _, stderr = process.communicate(timeout=120)
    return process.returncode, stderr.decode(errors="replace")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_signal_at_any_moment_leaves_nothing_behind(name, tmp_path):
    rng = random.Random(f"{SEED} {name}")
    spill, folder = tmp_path / "spill", tmp_path / "output"
    spill.mkdir()
    folder.mkdir()
    began = time.monotonic()
    assert finish(start(spill, folder / "whole.csv")) == (0, "")
    takes, whole = time.monotonic() - began, (folder / "whole.csv").read_bytes()
    assert whole.count(b"\n") == ROWS // 2 + 1
    (folder / "whole.csv").unlink()
    for turn in range(ROUNDS):
        process = start(spill, folder / "out.csv")
        time.sleep(rng.random() * takes * 1.1)
        process.send_signal(signal.Signals[name])
        code, stderr = finish(process)
        what = f"seed {SEED}, turn {turn}, {name}: {describe_exit(code)}: {stderr}"
        assert code in (0, -signal.Signals[name]) and stderr == "", what
        assert list(spill.iterdir()) == [], what
        if code == 0:
            assert (folder / "out.csv").read_bytes() == whole, what
        else:
            assert not (folder / "out.csv").exists(), what
        for path in folder.iterdir():  # a killed process leaves the unfinished file, by another name
            assert name == "SIGKILL" or path.name == "out.csv", what
            path.unlink()


def test_closed_pipe_ends_quietly(tmp_path):
    command = f"'{BINARY}' -m 4m '{SQL}' | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True,
                          timeout=120, check=False)
    assert done.stdout.splitlines()[:2] == ["k,n,total", "0,2," + done.stdout.splitlines()[1][4:]]
    assert done.stdout.splitlines()[2] in {"141", "0"} and done.stderr == ""
