"""System calls that fail, on the program that users get: strace makes one of them return an error.

Every system call of reading, spilling, writing and publishing is hit, at the first, the last and some
calls between (OUTCORE_SLOW=1: up to 60 of each), in a sort in memory, a sort that spills and a
conversion. Accepted is the right answer, or a message and the exit code of an I/O or memory error; then
no output and no other file may be there. Short and interrupted transfers, which are no errors, come
from a preloaded library.
"""

import collections
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, can_encrypt, describe_exit, is_sanitized, run  # noqa: E402

HERE = Path(__file__).resolve().parent
SLOW = "OUTCORE_SLOW" in os.environ
MOMENTS = 60 if SLOW else 4  # of each system call
TIMEOUT = 60
ROWS = 40_000

# What each call may fail with, and whether the program may then end without an answer.
ERRORS = {
    "read": ["EIO", "EINTR"],
    "pread64": ["EIO", "EINTR"],
    "write": ["ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "openat": ["EMFILE", "ENOSPC", "EINTR"],
    "linkat": ["EIO", "ENOSPC"],
    "rename": ["EIO", "ENOSPC"],
    "renameat": ["EIO"],
    "close": ["EIO", "EINTR"],
    "newfstatat": ["EIO", "ENOMEM"],
    "fallocate": ["EOPNOTSUPP", "EIO"],
    "getrandom": ["EAGAIN"],
    "clone3": ["EAGAIN"],
    "mmap": ["ENOMEM"],
    "madvise": ["ENOMEM", "EINVAL"],
    "fcntl": ["EMFILE"],
}
HARMLESS = {"EINTR", "EOPNOTSUPP", "EAGAIN"}
# Names of files can do without random numbers, keys cannot; SQL is parsed in a thread with a large stack.
NEEDED = {("sort_sealed", "getrandom"), ("group_spilled", "clone3")}
CODE_BUDGET, CODE_SYSTEM = 3, 4


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """A stream of the numbers and texts that all jobs work on, and the same as CSV."""
    folder = tmp_path_factory.mktemp("injection")
    generator = np.random.default_rng(5)
    keys = generator.integers(-2**62, 2**62, ROWS)
    table = pa.table({"k": keys, "t": pa.array(keys.astype(str)), "n": np.arange(ROWS)})
    with pa.ipc.new_stream(str(folder / "in.arrows"), table.schema) as writer:
        writer.write_table(table, max_chunksize=5000)
    run("convert", folder / "in.arrows", "-o", folder / "in.csv")
    run("convert", folder / "in.arrows", "-o", folder / "in.parquet")
    return folder


JOBS = {
    "sort_in_memory": (["sort", "{inputs}/in.arrows", "--by", "k", "-m", "64m"], "out.arrows"),
    "sort_spilled": (["sort", "{inputs}/in.arrows", "--by", "k", "-m", "1m"], "out.csv"),
    "sort_sealed": (["sort", "{inputs}/in.arrows", "--by", "k", "-m", "1m", "--encrypt-spill"], "out.csv"),
    "group_spilled": (["-m", "1m", "-c", "SELECT k, sum(n) AS total, max(t) FROM '{inputs}/in.arrows' "
                       "WHERE n < 15000 GROUP BY k ORDER BY k"], "out.csv"),
    "to_parquet": (["convert", "{inputs}/in.csv", "-m", "8m"], "out.parquet"),
    "from_parquet": (["sort", "{inputs}/in.parquet", "--by", "t", "-m", "2m"], "out.csv"),
    "convert": (["convert", "{inputs}/in.csv", "-m", "8m"], "out.arrow"),
}


class Job:
    def __init__(self, name, inputs, folder):
        self.name = name
        arguments, self.output_name = JOBS[name]
        self.spill = folder / "spill"
        self.results = folder / "results"
        self.spill.mkdir()
        self.results.mkdir()
        self.output = self.results / self.output_name
        self.command = [BINARY, *(text.format(inputs=inputs) for text in arguments),
                        "-T", str(self.spill), "-o", str(self.output)]
        self.log = folder / "calls.log"

    def digest(self):
        return hashlib.sha256(self.output.read_bytes()).hexdigest()

    def check(self, done, expected, harmless, what):
        """Right answer, or an error that is told; nothing else left."""
        stderr = done.stderr.decode(errors="replace")
        what = f"{what}: {describe_exit(done.returncode)}: {stderr}"
        assert list(self.spill.iterdir()) == [], what
        if done.returncode == 0:
            assert [path.name for path in self.results.iterdir()] == [self.output_name], what
            assert self.digest() == expected, what
            self.output.unlink()
        else:
            assert not harmless, what
            assert done.returncode in (CODE_BUDGET, CODE_SYSTEM), what
            assert stderr.startswith("outcore") and len(stderr.splitlines()) < 5, what
            assert list(self.results.iterdir()) == [], what


@pytest.fixture(params=list(JOBS))
def job(request, inputs, tmp_path):
    if "--encrypt-spill" in JOBS[request.param][0] and not can_encrypt():
        pytest.skip("built without encryption")
    return Job(request.param, inputs, tmp_path)


def strace(job, *options):
    return subprocess.run(["strace", "-f", "-o", str(job.log), *options, *job.command],
                          capture_output=True, timeout=TIMEOUT)


def needs_strace(job):
    if is_sanitized():
        pytest.skip("a sanitizer's own calls would be hit")
    if not shutil.which("strace"):
        pytest.skip("no strace")
    done = strace(job, "-e", "trace=none")
    if done.returncode != 0 and b"ptrace" in done.stderr:
        pytest.skip("tracing is not permitted here")
    job.output.unlink()


def count_calls(job):
    """(system call, first of ours, last) per call, as strace counts them: in each thread. Those of the
    loader, before main, are not ours."""
    calls, loader, ours, started = collections.Counter(), collections.Counter(), {}, set()
    for line in job.log.read_text(errors="replace").splitlines():
        match = re.match(r"(\d+) +(\w+)\(", line)
        if not match:
            continue
        thread, name = match.groups()
        calls[thread, name] += 1
        # The loader is done when the program asks where it may put spill files, or opens something.
        if "O_TMPFILE" in line or f"{job.spill}" in line:
            started.add("main")
        if not started:
            loader[name] += 1
        elif name in ERRORS and calls[thread, name] > loader[name]:
            first, last = ours.get(name, (calls[thread, name], 0))
            ours[name] = (min(first, calls[thread, name]), max(last, calls[thread, name]))
    return ours


def moments(first, last):
    """The first, the last, and some between."""
    if last - first < MOMENTS:
        return list(range(first, last + 1))
    return sorted({first + (last - first) * i // (MOMENTS - 1) for i in range(MOMENTS)})


def test_system_calls_that_fail(job):
    needs_strace(job)
    done = strace(job, "-e", "trace=" + ",".join(ERRORS))
    assert done.returncode == 0, done.stderr
    expected = job.digest()
    job.output.unlink()
    ours = count_calls(job)
    assert {"openat", "linkat", "rename"} <= set(ours)
    tried = 0
    for name, (first, last) in ours.items():
        for error in ERRORS[name]:
            for moment in moments(first, last):
                inject = f"inject={name}:error={error}:when={moment}"
                done = strace(job, "-e", f"trace={name}", "-e", inject)
                job.check(done, expected, error in HARMLESS and (job.name, name) not in NEEDED, inject)
                tried += 1
    assert tried > 30


@pytest.mark.parametrize("error", ["ENOSPC", "EIO"])
def test_disk_that_stays_broken(job, error):
    """From some write on, every one fails: what cleans up fails as well."""
    needs_strace(job)
    strace(job, "-e", "trace=write,pwrite64")
    expected = job.digest()
    job.output.unlink()
    for name, (first, last) in count_calls(job).items():
        for moment in moments(first, last)[:3]:
            inject = f"inject={name}:error={error}:when={moment}+"
            # Messages go out by write() as well, so there may be none.
            done = strace(job, "-e", f"trace={name}", "-e", inject)
            assert done.returncode in (0, CODE_SYSTEM), f"{inject}: {describe_exit(done.returncode)}"
            assert done.returncode != 0 or job.digest() == expected
            assert list(job.spill.iterdir()) == []
            assert done.returncode == 0 or list(job.results.iterdir()) == []
            job.output.unlink(missing_ok=True)


def test_signal_that_comes_when_the_output_is_complete_came_too_late(job):
    needs_strace(job)
    strace(job, "-e", "trace=none")
    expected = job.digest()
    job.output.unlink()
    done = strace(job, "-e", "trace=rename", "-e", "inject=rename:signal=SIGINT:when=1")
    job.check(done, expected, True, "SIGINT while the output gets its name")


@pytest.fixture(scope="module")
def short_io(tmp_path_factory):
    compiler = shutil.which("cc")
    if is_sanitized() or not compiler:
        pytest.skip("needs a compiler, and a program without a sanitizer")
    library = tmp_path_factory.mktemp("short_io") / "short_io.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(HERE / "short_io.c"), "-ldl"],
                   check=True)
    return library


def test_short_and_interrupted_transfers_change_nothing(job, short_io, inputs, tmp_path):
    subprocess.run(job.command, check=True)
    expected = job.digest()
    job.output.unlink()
    counted = tmp_path / "calls.txt"
    environment = dict(os.environ, LD_PRELOAD=str(short_io), SHORT_IO_CALLS=str(counted))
    done = subprocess.run(job.command, capture_output=True, env=environment, timeout=TIMEOUT)
    job.check(done, expected, True, "short transfers")
    assert int(counted.read_text()) > 10
    if job.name == "group_spilled" or "parquet" in job.name:
        return
    # Pipes at both ends.
    source = inputs / ("in.csv" if "convert" in job.command[1] else "in.arrows")
    form = job.output_name.rsplit(".", 1)[1]
    command = [BINARY, job.command[1], "-", *job.command[3:-2], "--input-format", source.suffix[1:],
               "--format", form, "-o", "-"]
    plain = subprocess.run(command, input=source.read_bytes(), capture_output=True, timeout=TIMEOUT)
    short = subprocess.run(command, input=source.read_bytes(), capture_output=True, timeout=TIMEOUT, env=environment)
    assert plain.returncode == 0 and short.returncode == 0, short.stderr
    assert plain.stdout == short.stdout
