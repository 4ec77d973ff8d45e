"""Ends of a run that nobody plans: signals at random moments, no descriptors, no disk, no permission.

After each of them: the right exit code in bounded time, no file in the spill folder, and an output
under its name only when it is complete.
"""

import hashlib
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, can_encrypt, describe_exit, is_sanitized, run  # noqa: E402

SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ROUNDS = int(os.environ.get("OUTCORE_ROUNDS", "5" if is_sanitized() else "12"))
ROWS = 120_000 if is_sanitized() else 400_000
HANG = 120  # seconds after which a process that was told to end counts as hanging
NOBODY = 65534


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A table that spills for some hundred milliseconds at 1 MiB."""
    path = tmp_path_factory.mktemp("kill") / "in.arrows"
    generator = np.random.default_rng(SEED)
    keys = generator.integers(-2**62, 2**62, ROWS)
    table = pa.table({"k": pa.array(keys), "t": pa.array(keys.astype(str)), "n": pa.array(np.arange(ROWS))})
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=5000)
    return path


@pytest.fixture
def spill(tmp_path):
    folder = tmp_path / "spill"
    folder.mkdir()
    return folder


def command(source, spill, output, *args):
    if "--encrypt-spill" in args and not can_encrypt():
        pytest.skip("built without encryption")
    return [BINARY, "sort", str(source), "--by", "k", "-m", "1m", "-T", str(spill), "-o", str(output),
            *map(str, args)]


def digest(path):
    """Of the rows: where batches end depends on how blocks were compressed."""
    text = pa.BufferOutputStream()
    with pa.OSFile(str(path)) as file:
        csv.write_csv(pa.ipc.open_stream(file).read_all(), text)
    return hashlib.sha256(text.getvalue()).hexdigest()


@pytest.fixture(scope="module")
def expected(source, tmp_path_factory):
    """(seconds, digest of the result) of an undisturbed run."""
    folder = tmp_path_factory.mktemp("expected")
    started = time.monotonic()
    done = run(*command(source, folder, folder / "out.arrows", "--stats")[1:])
    assert done.stats["spill_count"] > 5
    return time.monotonic() - started, digest(folder / "out.arrows")


def left_over(folder):
    """Names in a folder; what other tests may have put beside them does not count."""
    return sorted(path.name for path in Path(folder).iterdir())


def finish(process):
    try:
        _, stderr = process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        raise AssertionError("hangs") from None
    return process.returncode, stderr.decode(errors="replace")


# ---- signals ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("name, settings", [
    ("SIGINT", []), ("SIGTERM", []), ("SIGHUP", []), ("SIGKILL", []),
    ("SIGTERM", ["--encrypt-spill"]), ("SIGKILL", ["--encrypt-spill"]),
    ("SIGKILL", ["--spill-encoding", "plain", "--no-spill-checksums", "--spill-compression", "none"]),
])
def test_signal_at_any_moment_leaves_nothing_behind(name, settings, source, spill, expected, tmp_path):
    rng = random.Random(f"{SEED} {name}")
    number = signal.Signals[name]
    folder = tmp_path / "output"
    folder.mkdir()
    output = folder / "out.arrows"
    for turn in range(ROUNDS):
        wait = rng.random() * expected[0] * 1.1
        process = subprocess.Popen(command(source, spill, output, *settings), stderr=subprocess.PIPE)
        time.sleep(wait)
        told = time.monotonic()
        process.send_signal(number)
        code, stderr = finish(process)
        what = f"seed {SEED}, turn {turn}, {name} after {wait:.3f} s: {describe_exit(code)}: {stderr}"
        assert code in (0, -number), what
        # An idle machine answers within 50 ms; this bound only tells working on from ending.
        assert time.monotonic() - told < 20, what
        assert left_over(spill) == [], what
        assert "Sanitizer" not in stderr, what
        if code == 0:
            assert digest(output) == expected[1], what
            output.unlink()
        elif name == "SIGKILL":
            # The rest of a killed process may be there, but never under the name of the output.
            for path in folder.iterdir():
                assert path.name != output.name, what
                path.unlink()
        assert left_over(folder) == [], what


def test_a_failed_run_keeps_the_file_that_was_there(source, spill, tmp_path):
    output = tmp_path / "out.arrows"
    output.write_text("precious")
    process = subprocess.Popen(command(source, spill, output), stderr=subprocess.PIPE)
    time.sleep(0.1)
    process.terminate()
    code, stderr = finish(process)
    assert code == -signal.SIGTERM, stderr
    assert output.read_text() == "precious"
    assert left_over(tmp_path) == ["out.arrows", "spill"]


@pytest.mark.parametrize("taken", [0, 1, 100_000])
def test_reader_that_goes_away_ends_the_run(taken, source, spill):
    """`outcore ... | head`: SIGPIPE, quietly."""
    process = subprocess.Popen(command(source, spill, "-", "--format", "csv"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, restore_signals=True)
    if taken:
        process.stdout.read(taken)
    process.stdout.close()
    stderr = process.stderr.read().decode()
    assert process.wait(timeout=HANG) == -signal.SIGPIPE, stderr
    assert stderr == ""
    assert left_over(spill) == []


def test_stopped_writer_can_be_interrupted(spill):
    """A pipe that gives nothing: the wait for input ends as well."""
    process = subprocess.Popen([BINARY, "sort", "-", "--input-format", "csv", "--by", "1", "-T", str(spill)],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=HANG) == -signal.SIGINT
    process.stdin.close()


# ---- descriptors and processes ---------------------------------------------------------------------

def test_few_descriptors_are_enough_for_hundreds_of_runs(source, spill, expected, tmp_path):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))
    output = tmp_path / "out.arrows"
    done = run(*command(source, spill, output, "--stats")[1:], preexec_fn=few)
    assert done.stats["spill_count"] > 5
    assert digest(output) == expected[1]


def test_no_descriptors_at_all_is_an_error(source, spill, tmp_path):
    for most in range(3, 10):
        def few(most=most):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        done = run(*command(source, spill, tmp_path / "out.arrows")[1:], check=False, preexec_fn=few)
        # 127: the loader of the program itself found no descriptor for a library.
        assert done.code in (0, 1, 4, 127), f"{most} descriptors: {describe_exit(done.code)}: {done.stderr}"
        assert done.code == 0 or done.stderr
        assert left_over(tmp_path) == (["out.arrows", "spill"] if done.code == 0 else ["spill"])
        (tmp_path / "out.arrows").unlink(missing_ok=True)


def test_eight_processes_share_a_folder(source, spill, expected, tmp_path):
    processes = [subprocess.Popen(command(source, spill, tmp_path / f"out{i}.arrows"), stderr=subprocess.PIPE)
                 for i in range(8)]
    for i, process in enumerate(processes):
        code, stderr = finish(process)
        assert code == 0, stderr
        assert digest(tmp_path / f"out{i}.arrows") == expected[1]
    assert left_over(spill) == []


def test_processes_that_write_the_same_output_leave_one_whole_file(source, spill, expected, tmp_path):
    folder = tmp_path / "output"
    folder.mkdir()
    processes = [subprocess.Popen(command(source, spill, folder / "out.arrows"), stderr=subprocess.PIPE)
                 for _ in range(3)]
    for process in processes:
        code, stderr = finish(process)
        assert code == 0, stderr
    assert left_over(folder) == ["out.arrows"] and digest(folder / "out.arrows") == expected[1]


# ---- disk ------------------------------------------------------------------------------------------

@pytest.mark.parametrize("codec, settings", [
    ("none", []), ("lz4", []), ("zstd", []),
    ("none", ["--spill-encoding", "plain"]), ("zstd", ["--spill-encoding", "lengths"]), ("lz4", ["--encrypt-spill"]),
])
def test_quota_is_kept_and_named(codec, settings, source, spill, tmp_path):
    output = tmp_path / "out.arrows"
    settings = ["--spill-compression", codec, *settings]
    free = run(*command(source, spill, output, "--stats", *settings)[1:])
    peak, whole = free.stats["disk_peak_bytes"], digest(output)
    output.unlink()
    for share in (0.01, 0.3, 0.9, 0.99):
        done = run(*command(source, spill, output, "-d", int(peak * share), *settings)[1:], check=False)
        assert done.code == 4, f"{share} of {peak}: {describe_exit(done.code)}: {done.stderr}"
        assert "--disk-limit" in done.stderr
        assert left_over(spill) == [] and not output.exists()
    done = run(*command(source, spill, output, "-d", peak, "--stats", *settings)[1:])
    assert done.stats["disk_peak_bytes"] <= peak and digest(output) == whole


@pytest.fixture
def tiny_disk(tmp_path):
    """A file system of 2 MiB."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    if os.geteuid() != 0 or not shutil.which("mount") or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=2m", "none", str(folder)], capture_output=True).returncode:
        pytest.skip("mounting a file system is not possible here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_full_disk_for_spilling(tiny_disk, source, tmp_path):
    done = run(*command(source, tiny_disk, tmp_path / "out.arrows")[1:], check=False)
    assert done.code == 4, f"{describe_exit(done.code)}: {done.stderr}"
    assert "No space left" in done.stderr and "--temp-dir" in done.stderr
    assert left_over(tiny_disk) == [] and not (tmp_path / "out.arrows").exists()
    assert shutil.disk_usage(tiny_disk).used == 0


@pytest.mark.parametrize("name", ["out.arrows", "out.arrow", "out.csv", "out.ndjson"])
def test_full_disk_for_the_output(name, tiny_disk, source, spill):
    done = run(*command(source, spill, tiny_disk / name)[1:], check=False)
    assert done.code == 4, f"{describe_exit(done.code)}: {done.stderr}"
    assert name in done.stderr and "No space left" in done.stderr
    assert left_over(tiny_disk) == []


def test_device_that_is_full(source, spill):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    for form in ("csv", "arrows", "ndjson", "tsv"):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command(source, spill, "-", "--format", form), stdout=full, stderr=subprocess.PIPE)
        assert done.returncode == 4, f"{form}: {describe_exit(done.returncode)}: {done.stderr}"
        assert b"No space left" in done.stderr


def test_folder_that_is_missing_is_named(source, tmp_path):
    gone = tmp_path / "gone"
    done = run(*command(source, gone, tmp_path / "out.arrows")[1:], check=False)
    assert done.code in (1, 2, 4) and str(gone) in done.stderr, f"{describe_exit(done.code)}: {done.stderr}"
    assert not (tmp_path / "out.arrows").exists()


def as_nobody():
    os.setgid(NOBODY)
    os.setuid(NOBODY)


@pytest.fixture
def open_folder():
    """A folder that another user can reach, unlike pytest's own."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    folder = Path("/tmp") / f"outcore-test-{os.getpid()}"
    folder.mkdir(mode=0o755)
    yield folder
    shutil.rmtree(folder)


def test_folders_that_may_not_be_written(source, open_folder):
    shutil.copy(source, open_folder / "in.arrows")
    shutil.copy(BINARY, open_folder / "outcore")
    os.chmod(open_folder / "in.arrows", 0o644)
    locked, mine = open_folder / "locked", open_folder / "mine"
    locked.mkdir(mode=0o755)
    mine.mkdir()
    os.chown(mine, NOBODY, NOBODY)

    def sort(spill, output):
        done = subprocess.run([str(open_folder / "outcore"), *command(
            open_folder / "in.arrows", spill, output)[1:]], capture_output=True, preexec_fn=as_nobody)
        return done.returncode, done.stderr.decode()
    code, stderr = sort(locked, mine / "out.arrows")
    assert code in (1, 2, 4) and str(locked) in stderr and "ermission denied" in stderr, (code, stderr)
    code, stderr = sort(mine, locked / "out.arrows")
    assert code in (1, 4) and "out.arrows" in stderr and "ermission denied" in stderr, (code, stderr)
    assert left_over(mine) == [] and left_over(locked) == []
    code, stderr = sort(mine, mine / "out.arrows")
    assert code == 0, stderr
    assert left_over(mine) == ["out.arrows"]
