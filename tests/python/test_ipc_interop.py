"""Arrow IPC against pyarrow: what pyarrow writes is read right, at any limit, and what is written pyarrow reads.

The program under test is build/<preset>/ipc_tool (tests/tools/ipc_tool.c): it reads an IPC input and writes it again.
"""

import datetime
import decimal
import functools
import os
import random
import re
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_values import columns_of, read_stream  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("OUTCORE_BIN", ROOT / "build/release/outcore"))
TOOL = Path(os.environ.get("OUTCORE_IPC_TOOL", BINARY.parent / "ipc_tool"))
TESTING_DATA = os.environ.get("OUTCORE_TESTING_DATA")
MIB = 1024 * 1024

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")
needs_data = pytest.mark.skipif(not TESTING_DATA, reason="OUTCORE_TESTING_DATA is not set")


# ---- data ------------------------------------------------------------------------------------------

def text_of(rng, longest=40):
    return "".join(rng.choice("abcäöü€𝄞xyz ") for _ in range(rng.randrange(longest)))


def bytes_of(rng, longest=40):
    return rng.randbytes(rng.randrange(longest))


UTC_ZERO = datetime.datetime(2020, 1, 1)
# name -> (type, one value)
KINDS = {
    "null": (pa.null(), lambda r: None),
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "int8": (pa.int8(), lambda r: r.randrange(-128, 128)),
    "int16": (pa.int16(), lambda r: r.randrange(-2**15, 2**15)),
    "int32": (pa.int32(), lambda r: r.randrange(-2**31, 2**31)),
    "int64": (pa.int64(), lambda r: r.randrange(-2**63, 2**63)),
    "uint8": (pa.uint8(), lambda r: r.randrange(2**8)),
    "uint16": (pa.uint16(), lambda r: r.randrange(2**16)),
    "uint32": (pa.uint32(), lambda r: r.randrange(2**32)),
    "uint64": (pa.uint64(), lambda r: r.randrange(2**64)),
    "float32": (pa.float32(), lambda r: float(r.randrange(2**20)) / 8),
    "float64": (pa.float64(), lambda r: r.random() - 0.5),
    "decimal32": (pa.decimal32(7, 2), lambda r: decimal.Decimal(r.randrange(10**7)).scaleb(-2)),
    "decimal64": (pa.decimal64(15, 3), lambda r: decimal.Decimal(r.randrange(10**15)).scaleb(-3)),
    "decimal128": (pa.decimal128(30, 5), lambda r: decimal.Decimal(-r.randrange(10**20)).scaleb(-5)),
    "decimal256": (pa.decimal256(60, 5), lambda r: decimal.Decimal(r.randrange(10**20)).scaleb(-5)),
    "date32": (pa.date32(), lambda r: r.randrange(20000)),
    "date64": (pa.date64(), lambda r: r.randrange(20000) * 86400000),
    "time32": (pa.time32("ms"), lambda r: r.randrange(86400000)),
    "time64": (pa.time64("ns"), lambda r: r.randrange(86400 * 10**9)),
    "timestamp": (pa.timestamp("us", "Europe/Berlin"), lambda r: r.randrange(2**50)),
    "timestamp_s": (pa.timestamp("s"), lambda r: r.randrange(2**31)),
    "duration": (pa.duration("ms"), lambda r: r.randrange(-2**40, 2**40)),
    "interval": (pa.month_day_nano_interval(),
                 lambda r: pa.MonthDayNano([r.randrange(-9, 9), r.randrange(99), r.randrange(2**40)])),
    "fixed": (pa.binary(5), lambda r: r.randbytes(5)),
    "utf8": (pa.utf8(), text_of),
    "large_utf8": (pa.large_utf8(), text_of),
    "utf8_view": (pa.string_view(), text_of),
    "binary": (pa.binary(), bytes_of),
    "large_binary": (pa.large_binary(), bytes_of),
    "binary_view": (pa.binary_view(), bytes_of),
}
INTEGER_LIKE = re.compile("date|time|duration")


def make_array(kind, rows, seed, nulls=0.2):
    rng = random.Random(f"{kind} {seed}")
    data_type, value = KINDS[kind]
    values = [None if rng.random() < nulls else value(rng) for _ in range(rows)]
    if INTEGER_LIKE.match(kind):
        width = pa.int32() if data_type.bit_width == 32 else pa.int64()
        return pa.array(values, width).cast(data_type)
    if kind.endswith("_view"):
        # Several data buffers, as a concatenation has.
        parts = [values[:rows // 3], values[rows // 3:]]
        return pa.concat_arrays([pa.array(p, data_type) for p in parts])
    return pa.array(values, data_type)


def make_dictionary(rows, seed, index_type, value_type, distinct=50):
    rng = random.Random(seed)
    values = [f"value number {i} {'long' * (i % 5)}" for i in range(distinct)]
    rng.shuffle(values)
    if pa.types.is_integer(value_type):
        values = [rng.randrange(10**6) for _ in range(distinct)]
    indices = [None if rng.random() < 0.1 else rng.randrange(distinct) for _ in range(rows)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, index_type), pa.array(values, value_type))


def make_batch(rows, seed, dictionaries=True, kinds=KINDS, nulls=0.2):
    columns = {kind: make_array(kind, rows, seed, nulls) for kind in kinds}
    if dictionaries:
        # One dictionary for all batches: pyarrow can write that in either format.
        columns["dict_utf8"] = make_dictionary(rows, 1, pa.int8(), pa.utf8())
        columns["dict_int"] = make_dictionary(rows, 2, pa.uint32(), pa.int64())
    return pa.RecordBatch.from_pydict(columns)


def write(path, batches, file_format=False, codec=None, schema=None, **options):
    options = ipc.IpcWriteOptions(compression=codec, **options)
    schema = schema or batches[0].schema
    new = ipc.new_file if file_format else ipc.new_stream
    with pa.OSFile(str(path), "wb") as sink, new(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def read(path):
    """The batches of a file or stream as (schema, list)."""
    data = Path(path).read_bytes()
    if data[:6] == b"ARROW1":
        reader = ipc.open_file(data)
        return reader.schema, [reader.get_batch(i) for i in range(reader.num_record_batches)]
    reader = ipc.open_stream(data)
    return reader.schema, list(reader)


def values_of(column):
    """A chunked array as comparable Python values; dictionaries by what they stand for."""
    out = []
    for chunk in column.chunks:
        if isinstance(chunk, pa.DictionaryArray):
            chunk = chunk.dictionary_decode()
        if pa.types.is_float16(chunk.type):
            chunk = chunk.view(pa.int16())
        elif pa.types.is_float32(chunk.type):
            chunk = chunk.view(pa.int32())
        elif pa.types.is_float64(chunk.type):
            chunk = chunk.view(pa.int64())
        elif pa.types.is_timestamp(chunk.type) or pa.types.is_duration(chunk.type) or \
                pa.types.is_time64(chunk.type) or pa.types.is_date64(chunk.type):
            chunk = chunk.view(pa.int64())
        elif pa.types.is_time32(chunk.type) or pa.types.is_date32(chunk.type):
            chunk = chunk.view(pa.int32())
        elif pa.types.is_string(chunk.type):
            chunk = chunk.cast(pa.binary())
        elif pa.types.is_large_string(chunk.type):
            chunk = chunk.cast(pa.large_binary())
        elif pa.types.is_string_view(chunk.type):
            chunk = chunk.cast(pa.binary_view())
        out += chunk.to_pylist()
    return out


def assert_same(expected_batches, schema, actual_batches, sound=True):
    """The same rows. With `sound` the values were valid ones, and still are."""
    assert sum(b.num_rows for b in expected_batches) == sum(b.num_rows for b in actual_batches)
    for batch in actual_batches:
        batch.validate(full=sound)
    expected = pa.Table.from_batches(expected_batches) if expected_batches else None
    if expected is None:
        assert not actual_batches
        return
    assert [f.name for f in schema] == [f.name for f in expected.schema]
    assert [f.type for f in schema] == [f.type for f in expected.schema]
    actual = pa.Table.from_batches(actual_batches, schema)
    for i, field in enumerate(schema):
        # Equal at once, or equal but for NaN, dictionaries and what else pyarrow tells apart.
        if not expected.column(i).equals(actual.column(i)):
            assert values_of(expected.column(i)) == values_of(actual.column(i)), field


# ---- the program -----------------------------------------------------------------------------------

class Result:
    def __init__(self, done):
        self.code = done.returncode
        self.error = done.stderr
        self.numbers = dict(pair.split("=") for pair in done.stdout.split() if "=" in pair)

    def __getitem__(self, name):
        return int(self.numbers[name])


def run(path, out=None, pipe=False, check=True, timeout=120, **options):
    command = [str(TOOL)]
    for name, value in options.items():
        command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    command += ["-" if pipe else str(path)] + ([str(out)] if out else [])
    if pipe:
        # A real pipe, not the file as standard input.
        with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as cat:
            done = subprocess.run(command, stdin=cat.stdout, capture_output=True, text=True, timeout=timeout,
                                  check=False)
            cat.stdout.close()
    else:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False,
                              stdin=subprocess.DEVNULL)
    result = Result(done)
    if check:
        assert result.code == 0, (command, result.error)
    return result


# ---- tests -----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def batches():
    return [make_batch(rows, seed) for seed, rows in enumerate([300, 0, 1, 77])]


@pytest.mark.parametrize("out_codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("file_out", [False, True], ids=["to_stream", "to_file"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("file_in", [False, True], ids=["from_stream", "from_file"])
def test_all_types_survive(tmp_path, batches, file_in, codec, file_out, out_codec):
    source = write(tmp_path / "in", batches, file_in, codec)
    options = {"file": True} if file_out else {}
    run(source, tmp_path / "out", codec=out_codec, rows=100, **options)
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)
    assert max(b.num_rows for b in actual) <= 100


@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("rows", [1, 7, 64])
def test_batch_sizes(tmp_path, batches, codec, rows):
    source = write(tmp_path / "in", batches, False, codec)
    run(source, tmp_path / "out", rows=rows, pipe=True)
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)


@functools.cache
def forty_thousand_rows():
    return make_batch(40_000, 5)


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
@pytest.mark.parametrize("file_in", [False, True], ids=["from_stream", "from_file"])
def test_a_large_batch_is_read_in_slices(tmp_path, file_in, codec, pipe):
    batch = forty_thousand_rows()
    source = write(tmp_path / "in", [batch, batch.slice(3, 1000)], file_in, codec)
    result = run(source, tmp_path / "out", pipe=pipe, limit=1 * MIB, rows=5000, temp=tmp_path)
    schema, actual = read(tmp_path / "out")
    assert_same([batch, batch.slice(3, 1000)], schema, actual)
    assert result["largest"] <= 40 * 1024, "a slice is about one block, 32 KiB at this limit"
    assert result["peak"] <= 1 * MIB
    assert result["read"] == source.stat().st_size
    assert sorted(os.listdir(tmp_path)) == ["in", "out"]


@functools.cache
def million_rows():
    rows = 1_000_000
    rng = random.Random(1)
    pool = [text_of(rng, 60) for _ in range(1000)]
    texts = pa.array([rng.choice(pool) for _ in range(rows)])
    return pa.RecordBatch.from_pydict({
        "number": pa.array(range(rows)), "text": texts, "view": texts.cast(pa.string_view()),
        "random": pa.array([rng.getrandbits(62) for _ in range(rows)])})


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_memory_stays_at_the_limit(tmp_path, codec, pipe):
    batch = million_rows()
    rows = batch.num_rows
    source = write(tmp_path / "in", [batch], True, codec)
    result = run(source, pipe=pipe, limit=4 * MIB, temp=tmp_path)
    assert result["rows"] == rows
    assert result["peak"] <= 4 * MIB
    if "OUTCORE_IPC_TOOL" not in os.environ:
        assert result["rss"] <= (4 + 16) * 1024
    run(source, tmp_path / "out", pipe=pipe, limit=4 * MIB, temp=tmp_path, codec="lz4")
    schema, actual = read(tmp_path / "out")
    actual = pa.Table.from_batches(actual, schema)
    expected = pa.Table.from_batches([batch])
    for name in ["number", "text", "random"]:
        assert actual.column(name).equals(expected.column(name))
    assert actual.column("view").cast(pa.utf8()).equals(expected.column("text"))


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("codec", [None, "zstd"])
@pytest.mark.parametrize("limit", [1 * MIB, 64 * MIB], ids=["slices", "whole"])
@pytest.mark.parametrize("columns", ["", "0", "2,1", "25,25,0", "31,26,32"])
def test_projection(tmp_path, columns, limit, codec, pipe):
    batch = make_batch(6000, 9)
    source = write(tmp_path / "in", [batch, batch.slice(0, 10)], True, codec)
    run(source, tmp_path / "out", columns=columns, limit=limit, pipe=pipe, temp=tmp_path)
    schema, actual = read(tmp_path / "out")
    wanted = [int(i) for i in columns.split(",")] if columns else []
    expected = [pa.RecordBatch.from_arrays([b.column(i) for i in wanted],
                                           names=[b.schema.names[i] for i in wanted])
                for b in (batch, batch.slice(0, 10))]
    if wanted:
        assert_same(expected, schema, actual)
    else:
        assert len(schema) == 0
        assert sum(b.num_rows for b in actual) == 6010


def test_projection_reads_only_what_is_wanted(tmp_path):
    big = pa.array([os.urandom(1000) for _ in range(20_000)])
    batch = pa.RecordBatch.from_pydict({"big": big, "small": pa.array(range(20_000))})
    source = write(tmp_path / "in", [batch], True)
    trace = tmp_path / "trace"
    if subprocess.run(["strace", "-V"], capture_output=True, check=False).returncode != 0:
        pytest.skip("strace is not there")
    # A leak checker cannot work beside strace.
    subprocess.run(["strace", "-o", str(trace), "-e", "trace=pread64,read", str(TOOL), "--columns", "1",
                    "--limit", str(4 * MIB), str(source)], check=True, capture_output=True,
                   env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
    total = sum(int(n) for n in re.findall(r"= (\d+)$", trace.read_text(), re.M))
    assert total < 400_000


def test_a_row_larger_than_the_block(tmp_path):
    texts = ["a" * 300_000, "", None, "b" * 200_000] + ["c" * 10] * 100
    batch = pa.RecordBatch.from_pydict({
        "t": pa.array(texts), "v": pa.array(texts, pa.string_view()), "l": pa.array(texts, pa.large_utf8())})
    source = write(tmp_path / "in", [batch])
    for pipe in (False, True):
        run(source, tmp_path / "out", limit=4 * MIB, pipe=pipe, temp=tmp_path)
        schema, actual = read(tmp_path / "out")
        assert_same([batch], schema, actual)


def test_a_row_larger_than_the_limit_says_so(tmp_path):
    source = write(tmp_path / "in", [pa.RecordBatch.from_pydict({"t": ["a" * 3_000_000]})])
    result = run(source, limit=1 * MIB, check=False)
    assert result.code == 1
    assert result.error.startswith("OC_EBUDGET: file \"")
    assert "record batch 0" in result.error


def shared_views(rows, seed):
    """Views in any order into two buffers, overlapping, equal, inlined, null ones with rubbish in their place."""
    rng = random.Random(seed)
    buffers = [("all the bytes of buffer %d, " % i * 3000).encode() for i in range(2)]
    views, valid, values = b"", bytearray((rows + 7) // 8), []
    for row in range(rows):
        buffer, start, length = rng.randrange(2), rng.randrange(60_000), rng.randrange(13, 200)
        value = buffers[buffer][start:start + length]
        if rng.random() < 0.1:
            views += rng.randbytes(16)
            values.append(None)
            continue
        valid[row // 8] |= 1 << row % 8
        if rng.random() < 0.3:
            value = value[:rng.randrange(13)]
            views += len(value).to_bytes(4, "little") + value.ljust(12, b"\0")
        else:
            views += struct.pack("<i4sii", length, value[:4], buffer, start)
        values.append(value.decode())
    parts = [pa.py_buffer(part) for part in (bytes(valid), views, *buffers)]
    return pa.Array.from_buffers(pa.string_view(), rows, parts), values


def test_views_that_share_and_skip_bytes(tmp_path):
    array, values = shared_views(20_000, 3)
    batch = pa.RecordBatch.from_pydict({"v": array, "w": array})
    source = write(tmp_path / "in", [batch, batch.slice(17, 5)])
    for limit in (1 * MIB, 256 * MIB):
        run(source, tmp_path / "out", limit=limit, rows=1000)
        _, actual = read(tmp_path / "out")
        for name in "vw":
            assert [v for b in actual for v in b.column(name).to_pylist()] == values + values[17:22]


def test_views_that_share_a_lot_beside_wasteful_ones(tmp_path):
    """A copy of the shared ones is far larger than the batch; it has to come in parts."""
    long = b"x" * 20_000
    shared = pa.Array.from_buffers(pa.string_view(), 3000, [None, pa.py_buffer(
        struct.pack("<i4sii", len(long), long[:4], 0, 0) * 3000), pa.py_buffer(long)])
    wasteful = pa.array([f"row number {i} of many others" for i in range(100_000)],
                        pa.string_view()).slice(50_000, 3000)
    batch = pa.RecordBatch.from_pydict({"shared": shared, "wasteful": wasteful})
    source = write(tmp_path / "in", [batch])
    run(source, tmp_path / "out", limit=64 * MIB, temp=tmp_path)
    schema, actual = read(tmp_path / "out")
    assert_same([batch], schema, actual)


@pytest.mark.parametrize("file_format", [False, True], ids=["stream", "file"])
def test_dictionaries_without_rows_or_with_nulls(tmp_path, file_format):
    batches = [pa.RecordBatch.from_pydict({"d": pa.DictionaryArray.from_arrays(
        pa.array(indices, pa.int8()), pa.array(values, pa.utf8()))})
        for indices, values in [([], []), ([None, None], ["q"]), ([0, 1, 0], ["a", "b"]), ([1, 0], ["a", None])]]
    source = write(tmp_path / "in", batches)
    run(source, tmp_path / "out", **({"file": True} if file_format else {}))
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)


def test_slices_of_views_do_not_take_everything_along(tmp_path):
    batch = pa.RecordBatch.from_pydict({"v": pa.array([f"row number {i} of many" for i in range(50_000)],
                                                      pa.string_view())})
    source = write(tmp_path / "in", [batch])
    run(source, tmp_path / "out", rows=100)
    assert (tmp_path / "out").stat().st_size < 2 * source.stat().st_size
    schema, actual = read(tmp_path / "out")
    assert len(actual) == 500
    assert_same([batch], schema, actual)


@pytest.mark.parametrize("file_out", [False, True], ids=["to_stream", "to_file"])
@pytest.mark.parametrize("value_type", [pa.utf8(), pa.large_utf8(), pa.int64()])
def test_dictionaries_that_change(tmp_path, file_out, value_type):
    batches = [pa.RecordBatch.from_pydict({"d": make_dictionary(100, seed, pa.int16(), value_type, 20 + seed)})
               for seed in range(10)]
    source = write(tmp_path / "in", batches)
    options = {"file": True} if file_out else {}
    run(source, tmp_path / "out", codec="zstd", **options)
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)
    # The same through our own reader, deltas included.
    run(tmp_path / "out", tmp_path / "again")
    schema, actual = read(tmp_path / "again")
    assert_same(batches, schema, actual)


@pytest.mark.parametrize("file_format", [False, True], ids=["stream", "file"])
def test_dictionary_deltas(tmp_path, file_format):
    batches = []
    values = []
    for step in range(5):
        values += [f"value {step} {i}" for i in range(7)]
        indices = pa.array([random.Random(step).randrange(len(values)) for _ in range(50)], pa.int32())
        batches.append(pa.RecordBatch.from_pydict(
            {"d": pa.DictionaryArray.from_arrays(indices, pa.array(values))}))
    source = write(tmp_path / "in", batches, file_format, emit_dictionary_deltas=True)
    run(source, tmp_path / "out", **({"file": True} if file_format else {}))
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)


def test_a_dictionary_that_outgrows_its_indices_in_a_file(tmp_path):
    batches = [pa.RecordBatch.from_pydict({"d": pa.DictionaryArray.from_arrays(
        pa.array(range(100), pa.int8()), pa.array([f"{n} {i}" for i in range(100)]))}) for n in range(2)]
    source = write(tmp_path / "in", batches)
    result = run(source, tmp_path / "out", file=True, check=False)
    assert result.code == 1
    assert result.error.startswith("OC_EUNSUPPORTED") and "stream format" in result.error
    run(source, tmp_path / "out")
    schema, actual = read(tmp_path / "out")
    assert_same(batches, schema, actual)


@pytest.mark.parametrize("file_format", [False, True], ids=["stream", "file"])
def test_schema_only_and_no_columns(tmp_path, file_format):
    options = {"file": True} if file_format else {}
    schema = make_batch(0, 1).schema
    source = write(tmp_path / "in", [], file_format, schema=schema)
    assert run(source, tmp_path / "out", **options)["batches"] == 0
    assert read(tmp_path / "out")[0].equals(schema)
    assert run(source, schema=True)["columns"] == len(schema)
    assert run(source, schema=True, pipe=True)["columns"] == len(schema)

    nothing = pa.RecordBatch.from_struct_array(pa.array([{}] * 100, pa.struct([])))
    source = write(tmp_path / "in2", [nothing], file_format)
    assert run(source, tmp_path / "out2", rows=30, **options)["rows"] == 100
    assert sum(b.num_rows for b in read(tmp_path / "out2")[1]) == 100


def test_metadata_is_kept(tmp_path):
    schema = pa.schema([pa.field("a", pa.int64(), nullable=False, metadata={"key": "value"}),
                        pa.field("ü", pa.timestamp("ns", "UTC"))], metadata={"whole": "schema"})
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([1]).cast(pa.timestamp("ns", "UTC"))],
                                       schema=schema)
    source = write(tmp_path / "in", [batch])
    for options in ({}, {"file": True}):
        run(source, tmp_path / "out", **options)
        assert read(tmp_path / "out")[0].equals(schema, check_metadata=True)


def test_streams_end_to_end(tmp_path, batches):
    one = write(tmp_path / "one", batches[:1]).read_bytes()
    two = write(tmp_path / "two", batches[1:]).read_bytes()
    (tmp_path / "both").write_bytes(one + two)
    for pipe in (False, True):
        run(tmp_path / "both", tmp_path / "out", pipe=pipe)
        schema, actual = read(tmp_path / "out")
        assert_same(batches, schema, actual)
    other = write(tmp_path / "other", [pa.RecordBatch.from_pydict({"x": [1]})]).read_bytes()
    (tmp_path / "both").write_bytes(one + other)
    result = run(tmp_path / "both", check=False)
    assert result.code == 1 and "different schema" in result.error
    (tmp_path / "both").write_bytes(one + b"rubbish!")
    assert run(tmp_path / "both", check=False).code == 1
    # No end marker: fine between two messages.
    (tmp_path / "open").write_bytes(one[:-8])
    assert run(tmp_path / "open")["rows"] == 300


@pytest.mark.parametrize("content, message", [
    (b"", "empty"), (b"ARROW1", "truncated"), (b"ARROW1\0\0", "truncated"), (b"FEA1" + b"x" * 32, "Feather"),
    (b"\0" * 100, "not an Arrow"), (b"\xff\xff\xff\xff\xff\xff\xff\x7f", "metadata"), (b"PAR1" * 9, "")])
def test_what_is_no_arrow_input(tmp_path, content, message):
    (tmp_path / "in").write_bytes(content)
    for pipe in (False, True):
        result = run(tmp_path / "in", pipe=pipe, check=False, timeout=5)
        assert result.code == 1
        assert result.error.startswith(("OC_EDATA: file \"", "OC_EUNSUPPORTED: file \"")), result.error
        assert message in result.error
        assert result["peak"] < 1 * MIB


def test_a_file_that_was_cut_is_not_read_as_a_stream(tmp_path, batches):
    data = write(tmp_path / "in", batches, True).read_bytes()
    (tmp_path / "cut").write_bytes(data[:-20])
    for pipe in (False, True):
        result = run(tmp_path / "cut", pipe=pipe, check=False)
        assert result.code == 1 and "truncated" in result.error and result["rows"] == 0


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_a_forged_body_size_takes_no_memory(tmp_path, pipe):
    batch = pa.RecordBatch.from_pydict({"a": pa.array(range(1000))})
    source = write(tmp_path / "in", [batch])
    messages = list(ipc.MessageReader.open_stream(str(source)))
    data = source.read_bytes()
    # The length of the body and of its buffer in the header of the record batch; the column is not as long.
    size = messages[1].body.size.to_bytes(8, "little")
    head, tail = data[:-messages[1].body.size - 8], data[-messages[1].body.size - 8:]
    assert head.count(size) == 2
    data = head.replace(size, (100 * 2**30).to_bytes(8, "little")) + tail
    (tmp_path / "forged").write_bytes(data)
    result = run(tmp_path / "forged", pipe=pipe, check=False, limit=1024 * MIB, temp=tmp_path)
    assert result.code == 1 and "early" in result.error and "record batch 0" in result.error
    assert result["peak"] < 4 * MIB


# ---- files of the Arrow project ----------------------------------------------------------------------

def plain(schema, batches):
    """Schema and columns in plain Python, bit for bit."""
    schema, values = read_stream(pa.RecordBatchReader.from_batches(schema, batches))
    return schema, columns_of(values, len(schema.fields))


def golden_files():
    if not TESTING_DATA:
        return []
    root = Path(TESTING_DATA) / "arrow" / "golden"
    return sorted(p for p in root.rglob("*") if p.suffix in (".stream", ".arrow_file"))


@needs_data
@pytest.mark.parametrize("path", golden_files(), ids=lambda p: f"{p.parent.name}-{p.stem[10:]}{p.suffix}")
def test_golden_files(tmp_path, path):
    expected_schema, expected = read(path)
    expected = plain(expected_schema, expected)
    for options in ({}, {"file": True, "codec": "zstd"}, {"limit": MIB, "rows": 3}):
        for pipe in (False, True):
            run(path, tmp_path / "out", pipe=pipe, temp=tmp_path, **options)
            assert plain(*read(tmp_path / "out")) == expected


def damaged_files():
    if not TESTING_DATA:
        return []
    return sorted((Path(TESTING_DATA) / "arrow" / "damaged").iterdir())


@needs_data
@pytest.mark.parametrize("path", damaged_files(), ids=lambda p: p.name[-24:])
def test_damaged_files(tmp_path, path):
    for limit in (MIB, 256 * MIB):
        for pipe in (False, True):
            result = run(path, tmp_path / "out", pipe=pipe, check=False, timeout=20, limit=limit, temp=tmp_path)
            assert result.code in (0, 1), result.error
            if "OUTCORE_IPC_TOOL" not in os.environ:
                assert result["rss"] <= 64 * 1024
