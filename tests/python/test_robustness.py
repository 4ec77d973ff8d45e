"""Behaviour that other engines were once reported for getting wrong; docs/bug-reports.md says which
report stands behind which test. Each test is of the whole kind, small enough to run every time.
"""

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
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, MIB, describe_exit, is_sanitized, run, run_measured  # noqa: E402

ALLOWANCE = 16 * MIB  # beside the limit: code, stacks, codec contexts


def write(path, table, batch_rows=5000):
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows)


def read(path):
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_stream(file).read_all()


def sort(folder, table, by, *args, batch_rows=5000):
    """Sorts a table through files; (outcome, sorted table)."""
    write(folder / "in.arrows", table, batch_rows)
    done = run("sort", folder / "in.arrows", "--by", by, "-T", folder, "--stats", "-o", folder / "out.arrows", *args)
    return done, read(folder / "out.arrows")


def random_table(rows, seed=1):
    keys = np.random.default_rng(seed).integers(-2**62, 2**62, rows)
    return pa.table({"k": keys, "t": pa.array(keys.astype(str)), "n": np.arange(rows)})


# ---- values ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("limit", ["64m", "1m"])
@pytest.mark.parametrize("bits, kind", [(np.uint64, np.float64), (np.uint32, np.float32)])
def test_float_keys_keep_every_bit(bits, kind, limit, tmp_path):
    """Zeros of both signs are equal (the next key decides), all NaNs are, and no bit of any changes."""
    width = np.dtype(bits).itemsize * 8
    exponent = {64: 0x7FF << 52, 32: 0xFF << 23}[width]
    sign = 1 << (width - 1)
    special = np.array([0, sign, exponent, sign | exponent, exponent | 1, sign | exponent | 5, exponent | 1 << 9,
                        1, sign | 1], dtype=bits)
    values = special[np.random.default_rng(3).integers(0, len(special), 60_000)]
    order = np.arange(len(values))
    table = pa.table({"f": pa.array(values.view(kind), from_pandas=False), "n": order,
                      "filler": pa.array(["x" * 30] * len(values))})
    _, got = sort(tmp_path, table, "f, n", "-m", limit)
    numbers = got["n"].to_numpy()
    got_bits = got["f"].to_numpy().view(bits)
    assert (got_bits == values[numbers]).all()
    floats = values[numbers].view(kind)
    is_nan = np.isnan(floats)
    assert not (np.diff(is_nan.astype(int)) < 0).any(), "NaNs are the largest"
    numbers_only = floats[~is_nan]
    assert (numbers_only[1:] >= numbers_only[:-1]).all()
    for group in (numbers[is_nan], numbers[floats == 0]):
        assert (np.diff(group) > 0).all(), "equal keys are told apart by the next one"


@pytest.mark.parametrize("limit", ["64m", "1m"])
def test_nulls_lie_where_they_were_asked_for_with_any_number_of_keys(limit, tmp_path):
    rng = np.random.default_rng(4)
    a = [None if v == 0 else int(v) for v in rng.integers(0, 4, 20_000)]
    b = [None if v == 0 else int(v) for v in rng.integers(0, 4, 20_000)]
    table = pa.table({"a": pa.array(a, pa.int32()), "b": pa.array(b, pa.int64()), "t": ["y" * 60] * len(a)})
    for direction_a in ("asc", "desc"):
        for nulls_a in ("first", "last"):
            for keys, nulls_b in (("a", None), ("ab", "first"), ("ab", "last")):
                by = f"a {direction_a} nulls {nulls_a}" + (f", b desc nulls {nulls_b}" if nulls_b else "")
                _, got = sort(tmp_path, table, by, "-m", limit)

                def place(value, descending, nulls):
                    return (0 if nulls == "first" else 2, 0) if value is None else (1, -value if descending else value)
                rows = [(place(x, direction_a == "desc", nulls_a),) + ((place(y, True, nulls_b),) if "b" in keys else ())
                        for x, y in zip(got["a"].to_pylist(), got["b"].to_pylist())]
                assert rows == sorted(rows), by


@pytest.mark.parametrize("as_key", [True, False])
def test_columns_of_nothing_but_null_sort(as_key, tmp_path):
    """The type `null`, as key and as payload, spilled."""
    table = random_table(40_000).append_column("z", pa.nulls(40_000))
    done, got = sort(tmp_path, table, "z, k" if as_key else "k", "-m", "1m")
    assert done.stats["spill_count"] > 1
    assert got.equals(table.sort_by("k"))


@pytest.mark.parametrize("shape", ["no batches", "empty batches", "empty batches between"])
@pytest.mark.parametrize("target", ["out.arrows", "out.arrow", "out.csv", "out.json"])
def test_nothing_to_sort_is_an_empty_result(shape, target, tmp_path):
    schema = pa.schema({"k": pa.int64(), "t": pa.string()})
    empty = pa.record_batch([pa.array([], pa.int64()), pa.array([], pa.string())], schema=schema)
    full = pa.record_batch([pa.array([2, 1]), pa.array(["b", "a"])], schema=schema)
    batches = {"no batches": [], "empty batches": [empty] * 3, "empty batches between": [empty, full, empty, full]}
    with pa.ipc.new_stream(str(tmp_path / "in.arrows"), schema) as writer:
        for batch in batches[shape]:
            writer.write_batch(batch)
    rows = sum(batch.num_rows for batch in batches[shape])
    done = run("sort", tmp_path / "in.arrows", "--by", "k", "-m", "1m", "--stats", "-o", tmp_path / target)
    assert done.stats["rows"] == rows and done.stats["spill_count"] == 0
    if target.endswith("arrows"):
        got = read(tmp_path / target)
        assert got.schema.equals(schema) and got["k"].to_pylist() == sorted([1, 2] * (rows // 2))


# ---- memory ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("n_keys", [1, 2, 10])
def test_keys_as_large_as_the_rows_are_no_reason_to_fail(n_keys, tmp_path):
    rng = np.random.default_rng(6)
    columns = {f"c{i}": pa.array(rng.integers(0, 3 if i < 9 else 2**40, 20_000).astype(str)) for i in range(10)}
    done, got = sort(tmp_path, pa.table(columns), ", ".join(f"c{i}" for i in range(n_keys)), "-m", "1m")
    assert done.stats["spill_count"] > 1
    rows = list(zip(*(got[f"c{i}"].to_pylist() for i in range(n_keys))))
    assert rows == sorted(rows)


def test_columns_that_share_one_buffer_are_counted_once(tmp_path):
    """50 columns in the one message of a batch: 16 MB fit into 64 MB, and nothing is spilled."""
    table = pa.table({f"c{i}": np.random.default_rng(i).integers(0, 2**60, 40_000) for i in range(50)})
    done, got = sort(tmp_path, table, "c0", "-m", "64m", batch_rows=40_000)
    assert done.stats["spilled_bytes"] == 0
    assert got.equals(table.sort_by("c0"))


def test_rows_that_become_much_wider_later_are_sorted(tmp_path):
    """The first rows promise nothing about the later ones."""
    texts = ["abcde"] * 60_000 + ["x" * 50_000] * 100 + ["abcde"] * 10_000
    table = pa.table({"k": np.random.default_rng(7).permutation(len(texts)), "t": texts})
    done, got = sort(tmp_path, table, "k", "-m", "2m", batch_rows=600)
    assert done.stats["spill_count"] > 1
    assert got["k"].to_pylist() == list(range(len(texts)))
    assert sum(len(text) for text in got["t"].to_pylist()) == sum(map(len, texts))


@pytest.mark.skipif(is_sanitized(), reason="sanitizers take memory of their own")
def test_lists_in_the_payload_stay_within_the_limit(tmp_path):
    rows = 60_000
    child = pa.FixedSizeBinaryArray.from_buffers(pa.binary(16), rows * 25, [None, pa.py_buffer(os.urandom(400 * rows))])
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, rows * 25 + 1, 25, dtype=np.int32)), child)
    table = pa.table({"k": np.random.default_rng(9).permutation(rows), "ids": lists})
    write(tmp_path / "in.arrows", table)
    done = run_measured(tmp_path, "sort", tmp_path / "in.arrows", "--by", "k", "-m", "8m", "--stats",
                        "-o", tmp_path / "out.arrows")
    assert done.code == 0, done.stderr
    assert done.rss <= 8 * MIB + ALLOWANCE, f"peak of {done.rss / MIB:.1f} MiB"
    assert done.stats["spill_count"] > 1
    got = read(tmp_path / "out.arrows")
    assert got["ids"].combine_chunks().equals(table.sort_by("k")["ids"].combine_chunks())


def test_ten_thousand_columns_are_read(tmp_path):
    table = pa.table({f"c{i}": pa.array([3, 1, 2], pa.int32()) for i in range(10_000)})
    started = time.monotonic()
    done, got = sort(tmp_path, table, "c9999", "-m", "256m", "--select", "c0, c5000, c9999")
    assert got.to_pydict() == {"c0": [1, 2, 3], "c5000": [1, 2, 3], "c9999": [1, 2, 3]}
    assert time.monotonic() - started < 60


@pytest.mark.parametrize("rows", [0, 1, 100])
def test_any_limit_works_or_names_one_that_does(rows, tmp_path):
    """A small sort under limits from one byte on: never an internal error, and the advice is right."""
    write(tmp_path / "in.arrows", random_table(rows))
    command = ["sort", tmp_path / "in.arrows", "--by", "k", "--format", "csv", "-T", tmp_path]
    expected = run(*command).stdout
    for limit in ("1", "100", "4k", "100k", "1023k", "1m", "1025k", "3m", "10m", "64m"):
        done = run(*command, "-m", limit, check=False)
        if done.code == 0:
            assert done.stdout == expected
            continue
        assert done.code == 3, f"{limit}: {describe_exit(done.code)}: {done.stderr}"
        assert "1 MiB" in done.stderr
        assert run(*command, "-m", "1m").stdout == expected


# ---- folders and files -----------------------------------------------------------------------------

@pytest.mark.parametrize("batch_rows", [1, 128, 8192])
def test_spill_files_take_little_more_than_the_data(batch_rows, tmp_path):
    """Whatever the batch size of the output: one copy of the rows on disk, and no more in merge passes."""
    rows = 4000
    table = pa.table({"k": np.random.default_rng(10).permutation(rows).astype(str),
                      "text": [os.urandom(1500).hex() for _ in range(rows)]})
    done, got = sort(tmp_path, table, "k", "-m", "1m", "--spill-compression", "none", "-b", batch_rows)
    assert done.stats["spill_count"] > 3
    assert done.stats["disk_peak_bytes"] <= 2.2 * table.nbytes
    assert got["k"].to_pylist() == sorted(table["k"].to_pylist())


def test_a_folder_for_spill_files_stays_as_it_was(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir(mode=0o750)
    (folder / "keep").write_text("mine")
    (folder / "outcore-0123456789abcdef.tmp").write_text("looks like ours, is not")
    write(tmp_path / "in.arrows", random_table(60_000))
    done = run("sort", tmp_path / "in.arrows", "--by", "k", "-m", "1m", "-T", folder, "--stats", "--format", "null")
    assert done.stats["spill_count"] > 1
    assert sorted(path.name for path in folder.iterdir()) == ["keep", "outcore-0123456789abcdef.tmp"]
    assert (folder / "keep").read_text() == "mine"
    assert folder.stat().st_mode & 0o777 == 0o750


@pytest.mark.parametrize("name", ["two words", "quo'te\"s", "new\nline", "ümläut", "-dash", "deep/" * 20 + "er", "link"])
def test_folders_for_spill_files_may_have_any_name(name, tmp_path):
    folder = tmp_path / name
    if name == "link":
        (tmp_path / "target").mkdir()
        folder.symlink_to("target")
    else:
        folder.mkdir(parents=True)
    write(tmp_path / "in.arrows", random_table(60_000))
    done = run("sort", tmp_path / "in.arrows", "--by", "k", "-m", "1m", "-T", folder, "--stats", "--format", "null")
    assert done.stats["spill_count"] > 1 and list(folder.iterdir()) == []
    relative = subprocess.run([BINARY, "sort", "in.arrows", "--by", "k", "-m", "1m", f"--temp-dir={name}",
                               "--format", "null"], cwd=tmp_path, capture_output=True)
    assert relative.returncode == 0, relative.stderr


@pytest.mark.parametrize("kind", ["missing", "file", "link to nothing"])
def test_folders_that_cannot_take_spill_files_are_named(kind, tmp_path):
    folder = tmp_path / "spill here"
    if kind == "file":
        folder.write_text("mine")
    elif kind == "link to nothing":
        folder.symlink_to("nothing")
    write(tmp_path / "in.arrows", random_table(10))
    done = run("sort", tmp_path / "in.arrows", "--by", "k", "-T", folder, check=False)
    assert done.code in (1, 4) and str(folder) in done.stderr and "--temp-dir" in done.stderr
    assert kind != "file" or folder.read_text() == "mine"


def test_without_a_folder_of_its_own_it_spills_to_tmp(tmp_path):
    """No TMPDIR, and neither the working folder nor that of the input may be written."""
    write(tmp_path / "in.arrows", random_table(60_000))
    environment = {name: value for name, value in os.environ.items() if name not in ("TMPDIR", "OUTCORE_TEMP_DIR")}
    os.chmod(tmp_path, 0o555)
    try:
        done = run("sort", tmp_path / "in.arrows", "--by", "k", "-m", "1m", "--stats", "--format", "null",
                   env=environment, cwd="/proc")
    finally:
        os.chmod(tmp_path, 0o755)
    assert done.stats["spill_count"] > 1


@pytest.mark.parametrize("name, content", [("a.csv", b""), ("a.arrow", b""), ("a.arrows", b""), ("a.tsv", b""),
                                           ("a.arrow", b"ARROW1"), ("a.arrow", b"ARROW1\0\0"), ("a.arrow", b"FEA1"),
                                           ("a.arrows", b"\0" * 100), ("a.arrow", b"\0" * 100),
                                           ("a.arrow", b"FEA1" + b"\xff" * 28 + b"FEA1")])
def test_empty_and_foreign_files_are_refused_in_one_line(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    for source in (path, "-"):
        done = subprocess.run([BINARY, "sort", str(source), "--by", "1", "--input-format", name.split(".")[1], "-T",
                               str(tmp_path)], input=content, capture_output=True)
        stderr = done.stderr.decode()
        assert done.returncode == 1, f"{describe_exit(done.returncode)}: {stderr}"
        assert len(stderr.splitlines()) == 1 and stderr.startswith("outcore"), stderr
        assert "internal" not in stderr and done.stdout == b""


@pytest.mark.parametrize("second", ["missing", "unreadable", "folder"])
def test_inputs_that_cannot_be_read_are_told_before_any_work(second, tmp_path):
    """Not after the first gigabyte is sorted; and the old output stays."""
    write(tmp_path / "in.arrows", random_table(200_000))
    other = tmp_path / "other.arrows"
    if second == "unreadable":
        if os.geteuid() == 0:
            pytest.skip("root may read anything")
        other.write_bytes(b"")
        other.chmod(0)
    elif second == "folder":
        other.mkdir()
    output = tmp_path / "out.arrows"
    output.write_text("precious")
    done = run("sort", tmp_path / "in.arrows", other, "--by", "k", "-m", "1m", "-T", tmp_path, "--stats",
               "-o", output, check=False)
    assert done.code in (1, 4) and "other.arrows" in done.stderr
    assert output.read_text() == "precious"


@pytest.mark.parametrize("where", ["missing", "file"])
def test_outputs_that_cannot_be_written_are_told_before_any_work(where, tmp_path):
    write(tmp_path / "in.arrows", random_table(400_000), batch_rows=50_000)
    if where == "file":
        (tmp_path / "there").write_text("")
    started = time.monotonic()
    done = run("sort", tmp_path / "in.arrows", "--by", "t, k", "-m", "1m", "-T", tmp_path,
               "-o", tmp_path / "there" / "out.arrows", check=False)
    whole = time.monotonic() - started
    assert done.code in (1, 4) and "out.arrows" in done.stderr
    assert whole < 0.8 or is_sanitized(), "it seems to have sorted first"


ENDING = sorted(set(signal.Signals) & {getattr(signal, name) for name in (
    "SIGHUP", "SIGINT", "SIGQUIT", "SIGALRM", "SIGTERM", "SIGUSR1", "SIGUSR2", "SIGPIPE", "SIGVTALRM", "SIGPROF",
    "SIGXCPU", "SIGXFSZ", "SIGABRT", "SIGSEGV", "SIGBUS", "SIGKILL")})


@pytest.mark.parametrize("number", ENDING, ids=lambda number: number.name)
def test_no_signal_leaves_a_spill_file(number, tmp_path):
    write(tmp_path / "in.arrows", random_table(150_000))
    folder = tmp_path / "spill"
    folder.mkdir()
    process = subprocess.Popen([BINARY, "sort", str(tmp_path / "in.arrows"), "--by", "t", "-m", "1m", "-T", str(folder),
                                "-o", str(folder / "out.arrows")], stderr=subprocess.DEVNULL, cwd=tmp_path,
                               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
    time.sleep(random.Random(number).uniform(0.02, 0.15))
    process.send_signal(number)
    code = process.wait(timeout=60)
    assert code in (0, -number) or is_sanitized(), describe_exit(code)
    assert [path.name for path in folder.iterdir()] == (["out.arrows"] if code == 0 else [])


def test_a_descriptor_table_that_is_almost_full_is_enough(tmp_path):
    """Some descriptors are taken by the caller already."""
    write(tmp_path / "in.arrows", random_table(60_000))
    shell = f"exec 7</dev/null 8<&7 9<&7; ulimit -n 16; exec '{BINARY}' sort in.arrows --by k -m 1m -T . --format null"
    if not shutil.which("bash"):
        pytest.skip("no bash")
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True)
    assert done.returncode == 0, done.stderr
