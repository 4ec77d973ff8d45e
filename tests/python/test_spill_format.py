"""Spill files against pyarrow, and against a reader written from docs/spill-format.md alone.

The program under test is build/<preset>/spill_tool (tests/tools/spill_tool.c), which writes and reads spill files
through outcore/spill.h.
"""

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_values import columns_of, read_stream  # noqa: E402
from outcore_process import is_sanitized, run  # noqa: E402
from spill_reader import read_spill  # noqa: E402
from type_table import TYPES, make_batches  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("OUTCORE_BIN", ROOT / "build/release/outcore"))
TOOL = BINARY.parent / "spill_tool"
EXAMPLE = BINARY.parent / "examples/spill_engine"

ENCODINGS = ["auto", "plain", "lengths"]
CODECS = ["auto", "none", "lz4", "zstd"]

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")


# ---- helpers -------------------------------------------------------------------------------------------------------

def tool(*arguments):
    """Runs spill_tool; returns its numbers as a dict."""
    done = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return {name: int(value) for name, value in re.findall(r"(\w+)=(-?\d+)", done.stdout)}


def write_stream(path, schema, batches):
    with ipc.new_stream(str(path), schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def write_table(path, table, rows=8192):
    return write_stream(path, table.schema, table.to_batches(max_chunksize=rows))


def read_values(path):
    """(fields, columns of plain Python values) of an Arrow stream."""
    with ipc.open_stream(str(path)) as reader:
        schema, batches = read_stream(reader)
    return schema.fields, columns_of(batches, len(schema.fields))


def physical_of(path):
    """The first stream of a spill file as pyarrow sees it."""
    with ipc.open_stream(str(path)) as reader:
        return reader.schema, reader.read_all()


def spill(tmp_path, source, *options):
    numbers = tool("write", *options, source, tmp_path / "x.spill")
    return tmp_path / "x.spill", numbers


# ---- every type ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def typed(tmp_path_factory):
    """One file per type, of 400 rows in batches of odd sizes."""
    folder = tmp_path_factory.mktemp("typed")
    paths = {}
    for name in TYPES:
        batches = [pa.record_batch({name: batch.column(name)}) for batch in make_batches((200, 1, 0, 150, 49), (name,))]
        paths[name] = write_stream(folder / f"{name}.arrows", batches[0].schema, batches)
    return paths


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("name", TYPES)
def test_every_type_opens_in_pyarrow_and_comes_back(name, encoding, typed, tmp_path):
    fields, columns = read_values(typed[name])
    for codec in CODECS:
        path, numbers = spill(tmp_path, typed[name], "--encoding", encoding, "--codec", codec)
        assert numbers["rows"] == 400
        schema, table = physical_of(path)
        assert schema.metadata[b"outcore:spill"] == b"1"
        assert table.num_columns == 1
        tool("read", path, tmp_path / "back.arrows")
        assert read_values(tmp_path / "back.arrows") == (fields, columns)


@pytest.mark.parametrize("name", ["utf8", "int64", "utf8_view", "list", "dense_union", "runs_32"])
def test_the_command_line_reads_the_rows(name, typed, tmp_path):
    path, _ = spill(tmp_path, typed[name])
    run("convert", path, "-o", tmp_path / "logical.arrows", "--input-format", "arrows")
    assert read_values(tmp_path / "logical.arrows") == read_values(typed[name])


# ---- the document --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", TYPES)
def test_a_reader_made_from_the_document_reads_every_type(name, typed, tmp_path):
    for encoding in ENCODINGS:
        path, _ = spill(tmp_path, typed[name], "--encoding", encoding, "--codec", "zstd")
        assert read_spill(path) == read_values(typed[name])


def numbers_of_every_kind(n):
    rng = np.random.default_rng(11)
    steps = np.cumsum(rng.integers(0, 2, n) + 1)
    few = rng.choice(rng.integers(-2**40, 2**40, 20), n)
    wild = rng.integers(0, 100, n)
    wild[rng.integers(0, n, n // 50)] = rng.integers(2**40, 2**50, n // 50)
    return {
        "constant": np.full(n, -7), "steps": steps, "few": few, "runs": np.sort(rng.integers(0, 40, n)), "wild": wild,
        "random": rng.integers(-2**63, 2**63 - 1, n), "scaled": rng.integers(0, 1000, n) * 86_400_000 + 5,
        "small": rng.integers(-100, 100, n).astype(np.int8), "prices": np.round(rng.random(n) * 1000, 2),
        "floats": rng.random(n), "singles": rng.random(n).astype(np.float32),
        "decimals": pa.array(rng.integers(0, 10**9, n)).cast(pa.decimal128(20, 0)),
        "wide": pa.array([int(x) * 10**25 for x in rng.integers(-10**6, 10**6, n)], pa.decimal128(38, 0)),
        "sparse": pa.array(np.arange(n), mask=rng.random(n) < 0.8), "round": np.arange(n) * 3049 % 5000,
    }


def texts_of_every_kind(n):
    rng = np.random.default_rng(12)
    numbers = rng.integers(0, 10**9, n)
    word = [f"word {i}" for i in range(90)]
    paths = sorted(f"/usr/share/doc/package-{i % 911:04}/file-{i}" for i in numbers)
    long = [f"{'a long string that is shown by many views ' * 3}{i}" for i in range(30)]
    return {
        "random": [f"{i:x}" for i in numbers], "words": [word[i % 90] for i in numbers], "paths": paths,
        "nulls": [None if i % 3 == 0 else f"text {i % 1000}" for i in numbers],
        "views": pa.array([long[i % 30] for i in numbers], pa.string_view()),
        "fixed": pa.array([int(i).to_bytes(5, "big") for i in numbers], pa.binary(5)),
        "numbered": [f"user-{i * 679 % 1000}" for i in range(n)],
        "padded": [f"Customer#{i:09}" for i in numbers],
    }


@pytest.mark.parametrize("rows", [1, 100, 1024, 5000])
@pytest.mark.parametrize("make", [numbers_of_every_kind, texts_of_every_kind])
def test_a_reader_made_from_the_document_reads_every_kind_of_vector(make, rows, tmp_path):
    source = write_table(tmp_path / "in.arrows", pa.table(make(rows)))
    path, _ = spill(tmp_path, source)
    assert read_spill(path) == read_values(source)


# ---- strings as lengths and bytes ----------------------------------------------------------------------------------

def strings(n, seed=1):
    rng = random.Random(seed)
    return [None if rng.random() < 0.1 else "".join(rng.choice("abcdé ") for _ in range(rng.randrange(30)))
            for _ in range(n)]


STRING_TYPES = {"utf8": pa.utf8(), "large_utf8": pa.large_utf8(), "binary": pa.binary(),
                "large_binary": pa.large_binary()}


@pytest.mark.parametrize("codec", ["lz4", "zstd"])
@pytest.mark.parametrize("name", STRING_TYPES)
def test_lengths_are_a_struct_of_lengths_and_one_run_of_bytes(name, codec, tmp_path):
    kind = STRING_TYPES[name]
    table = pa.table({"s": pa.array(strings(1000), pa.utf8()).cast(kind), "n": pa.array(range(1000))})
    source = write_table(tmp_path / "in.arrows", table, 250)
    path, _ = spill(tmp_path, source, "--encoding", "lengths", "--codec", codec, "--keep")
    schema, physical = physical_of(path)
    assert schema.field("n").type == pa.int64()
    assert pa.types.is_struct(schema.field("s").type)
    assert [field.name for field in schema.field("s").type] == ["lengths", "bytes"]
    lengths_type = pa.int64() if name.startswith("large") else pa.int32()
    assert schema.field("s").type.field("lengths").type == lengths_type
    runs = schema.field("s").type.field("bytes").type
    assert isinstance(runs, pa.RunEndEncodedType) and runs.run_end_type == pa.int32()

    rebuilt = []
    for chunk in physical.column("s").chunks:
        lengths = chunk.field(0).to_pylist()
        values = chunk.field(1).values
        assert len(values) == 1
        data = values[0].as_py()
        assert sum(lengths) == len(data)
        at = 0
        for valid, length in zip(chunk.is_valid().to_pylist(), lengths):
            rebuilt.append(data[at:at + length] if valid else None)
            assert valid or length == 0
            at += length
    assert [None if value is None else bytes(value) for value in rebuilt] == \
        [None if value is None else (value.encode() if isinstance(value, str) else value)
         for value in table.column("s").to_pylist()]


@pytest.mark.parametrize("rows, layout", [(127, "plain"), (128, "lengths")])
def test_a_first_batch_below_128_rows_keeps_offsets(rows, layout, tmp_path):
    table = pa.table({"s": pa.array(strings(rows))})
    source = write_table(tmp_path / "in.arrows", table)
    path, _ = spill(tmp_path, source, "--encoding", "lengths", "--codec", "zstd", "--keep")
    schema, _ = physical_of(path)
    assert pa.types.is_struct(schema.field("s").type) == (layout == "lengths")


def test_without_a_codec_offsets_stay(tmp_path):
    source = write_table(tmp_path / "in.arrows", pa.table({"s": pa.array(strings(1000))}))
    path, _ = spill(tmp_path, source, "--encoding", "lengths", "--codec", "none")
    assert physical_of(path)[0].field("s").type == pa.utf8()


def test_similar_strings_take_a_quarter_of_plain_zstd(tmp_path):
    table = pa.table({"s": pa.array([f"similar string {i // 100:010}" for i in range(100_000)])})
    source = write_table(tmp_path / "in.arrows", table)
    options = ipc.IpcWriteOptions(compression="zstd")
    with ipc.new_stream(str(tmp_path / "plain.arrows"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=8192)
    plain = (tmp_path / "plain.arrows").stat().st_size
    for encoding in ["lengths", "auto"]:
        path, _ = spill(tmp_path, source, "--encoding", encoding, "--codec", "zstd")
        assert path.stat().st_size < plain / 4


# ---- what is written -----------------------------------------------------------------------------------------------

def test_text_that_is_not_utf8_comes_back_bit_for_bit(tmp_path):
    raw = [b"\xff\xfe", b"ok", b"\xc3", b"\x80" * 20] * 100
    offsets = np.cumsum([0] + [len(value) for value in raw]).astype(np.int32)
    array = pa.Array.from_buffers(pa.utf8(), len(raw), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(raw))])
    source = write_table(tmp_path / "in.arrows", pa.table({"s": array}))
    for encoding in ENCODINGS:
        path, _ = spill(tmp_path, source, "--encoding", encoding, "--codec", "zstd")
        tool("read", path, tmp_path / "back.arrows")
        assert read_values(tmp_path / "back.arrows")[1][0] == raw


def test_batches_of_64_rows_are_as_small_as_large_ones(tmp_path):
    rng = np.random.default_rng(3)
    table = pa.table({"k": np.sort(rng.integers(0, 10**6, 200_000)), "n": rng.integers(0, 50, 200_000),
                      "s": pa.array([f"word {i % 97}" for i in range(200_000)])})
    source = write_table(tmp_path / "in.arrows", table)
    for codec in ["lz4", "zstd", "none"]:
        _, large = spill(tmp_path, source, "--codec", codec, "--batch-rows", 8192)
        _, small = spill(tmp_path, source, "--codec", codec, "--batch-rows", 64)
        assert small["batches"] > 100 * large["batches"]
        assert small["disk"] <= 1.3 * large["disk"]


@pytest.mark.skipif(not shutil.which("strace"), reason="no strace")
@pytest.mark.skipif(is_sanitized(), reason="a sanitizer does not let itself be traced")
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("codec", ["none", "zstd"])
def test_a_batch_is_one_write(codec, encoding, tmp_path):
    """100 batches of 16 columns: about 100 calls, and they are what the counter says."""
    rng = np.random.default_rng(5)
    columns = {f"c{i}": rng.integers(0, 2**40, 100 * 8192) for i in range(14)}
    columns["s"] = pa.array(np.char.add("text ", rng.integers(0, 10**6, 100 * 8192).astype(str)))
    columns["t"] = pa.array(rng.integers(0, 3, 100 * 8192).astype(str))
    source = write_table(tmp_path / "in.arrows", pa.table(columns))
    log = tmp_path / "strace.log"
    done = subprocess.run(["strace", "-f", "-y", "-o", log, "-e", "trace=write,pwrite64,writev,pwritev", TOOL, "write",
                           "--encoding", encoding, "--codec", codec, "--nameless", source, tmp_path],
                          capture_output=True, text=True, timeout=300)
    if "ptrace" in done.stderr:
        pytest.skip("strace is not allowed here")
    assert done.returncode == 0, done.stdout + done.stderr
    numbers = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", done.stdout)}
    calls = [line for line in log.read_text(encoding="utf-8").splitlines() if f"<{tmp_path}" in line]
    assert len(calls) == numbers["writes"]
    assert numbers["batches"] == 100
    assert 100 <= len(calls) <= 110


# ---- inspect -------------------------------------------------------------------------------------------------------

@pytest.fixture
def mixed(tmp_path):
    table = pa.table({"id": np.arange(20_000), "text": pa.array([f"text {i % 40}" for i in range(20_000)])})
    return write_table(tmp_path / "in.arrows", table)


def inspect(path, *options, **more):
    done = run("inspect", path, *options, **more)
    return done.stdout.decode() if done.code == 0 else done.stderr


def test_inspect_tells_how_columns_lie(mixed, tmp_path):
    path, numbers = spill(tmp_path, mixed, "--codec", "zstd", "--block-bytes", 100_000)
    text = inspect(path)
    assert "format: spill file of Outcore, version 1\nrows: 20000\n" in text
    assert f"blocks: {numbers['blocks']} (up to " in text
    assert "compression: zstd\nchecksums: verified\n" in text
    assert re.search(r"1    id +int64, packed, \d", text) and re.search(r"2    text +utf8, packed, \d", text)
    path, _ = spill(tmp_path, mixed, "--codec", "lz4", "--encoding", "lengths", "--no-checksums")
    text = inspect(path)
    assert "compression: lz4_frame\nchecksums: none\n" in text
    assert re.search(r"1    id +int64, plain, \d", text) and re.search(r"2    text +utf8, lengths, \d", text)


def test_inspect_shows_the_physical_columns(mixed, tmp_path):
    path, _ = spill(tmp_path, mixed)
    text = inspect(path, "--physical")
    assert text.startswith("format: Arrow IPC stream\n") and "run_end_encoded<int32, binary>" in text


def test_damage_is_told_with_its_message(mixed, tmp_path):
    path, _ = spill(tmp_path, mixed, "--codec", "zstd", "--block-bytes", 100_000)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 16
    path.write_bytes(data)
    for command in ["inspect", "convert"]:
        done = run(command, path, *(["-o", "-", "--format", "null"] if command == "convert" else []), check=False)
        assert done.code == 1
        assert re.search(rf"could not read message \d+ at byte \d+ of {re.escape(str(path))}: its checksum",
                         done.stderr)
    path.write_bytes(data[:len(data) // 3])
    assert "could not read message" in inspect(path, check=False)


def test_a_pipe_is_refused(mixed, tmp_path):
    path, _ = spill(tmp_path, mixed)
    done = run("convert", "-", tmp_path / "out.csv", check=False, input=path.read_bytes())
    assert done.code == 1 and "it is a spill file, which is read by name" in done.stderr
    assert not (tmp_path / "out.csv").exists()


def test_an_encrypted_file_is_for_its_process_only(mixed, tmp_path):
    done = subprocess.run([TOOL, "write", "--encrypt", mixed, tmp_path / "x.spill"], capture_output=True, text=True)
    if "built without" in done.stdout:
        pytest.skip("built without encryption")
    assert done.returncode == 0, done.stdout
    data = (tmp_path / "x.spill").read_bytes()
    assert data.startswith(b"OCSEAL") and b"text 1" not in data
    for command in ["inspect", "convert"]:
        done = run(command, tmp_path / "x.spill", check=False)
        assert done.code == 1 and "encrypted spill file" in done.stderr


# ---- the example ---------------------------------------------------------------------------------------------------

@pytest.mark.skipif(not EXAMPLE.exists(), reason=f"{EXAMPLE} is not built")
def test_the_example_engine_aggregates_a_million_rows(tmp_path):
    done = subprocess.run([EXAMPLE, tmp_path], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1000000 rows, 50000 groups, sum ")
    assert done.stdout.endswith("(as expected)\n")
    numbers = re.match(r"(\d+) bytes spilled as (\d+), in \d+ writes; (\d+) left", done.stderr)
    memory, disk, left = map(int, numbers.groups())
    assert memory >= 16_000_000 and disk < memory / 2 and left == 0
    assert list(tmp_path.iterdir()) == []
