"""Arrow IPC of nested types against pyarrow, through the reader and writer alone.

The program under test is build/<preset>/ipc_tool (tests/tools/ipc_tool.c): it reads an IPC input and writes it again.
Values are compared bit for bit, schemas with the metadata of every field.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_values import columns_of, read_stream  # noqa: E402
from type_table import TYPES, make_batches  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
BINARY = Path(os.environ.get("OUTCORE_BIN", ROOT / "build/release/outcore"))
TOOL = Path(os.environ.get("OUTCORE_IPC_TOOL", BINARY.parent / "ipc_tool"))
MIB = 1024 * 1024

pytestmark = pytest.mark.skipif(not TOOL.exists(), reason=f"{TOOL} is not built")


def write(path, batches, file_format=False, **options):
    new = ipc.new_file if file_format else ipc.new_stream
    with new(str(path), batches[0].schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def contents(schema, batches):
    """Schema and columns in plain Python."""
    schema, values = read_stream(pa.RecordBatchReader.from_batches(schema, batches))
    return schema, columns_of(values, len(schema.fields))


def read(path):
    data = Path(path).read_bytes()
    if data[:6] == b"ARROW1":
        reader = ipc.open_file(data)
        batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
    else:
        reader = ipc.open_stream(data)
        batches = list(reader)
    for batch in batches:
        batch.validate(full=True)
    return contents(reader.schema, batches)


def run(source, out, pipe=False, **options):
    command = [str(TOOL)]
    for name, value in options.items():
        if value:
            command += [f"--{name}"] if value is True else [f"--{name}", str(value)]
    with open(source, "rb") as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE) if pipe else None
        done = subprocess.run(command + ["-" if pipe else str(source), str(out)], capture_output=True, text=True,
                              timeout=300, check=False, stdin=cat.stdout if cat else subprocess.DEVNULL)
        if cat:
            cat.stdout.close()
            cat.wait()
    assert done.returncode == 0, done.stderr


def check(tmp_path, batches, source, **options):
    run(source, tmp_path / "out", temp=tmp_path, **options)
    expected_schema, expected = contents(batches[0].schema, batches)
    schema, columns = read(tmp_path / "out")
    assert schema == expected_schema
    for field, got, wanted in zip(schema.fields, columns, expected):
        assert got == wanted, field.name


# ---- every type ----------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def batches():
    return make_batches([300, 0, 1, 77])


@pytest.mark.parametrize("limit", [0, 1 * MIB], ids=["whole", "slices"])
@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
@pytest.mark.parametrize("to_file", [False, True], ids=["to_stream", "to_file"])
@pytest.mark.parametrize("codec", [None, "lz4", "zstd"])
def test_every_type_survives(tmp_path, batches, codec, to_file, pipe, limit):
    source = write(tmp_path / "in", batches, compression=codec)
    check(tmp_path, batches, source, pipe=pipe, file=to_file, codec=codec or "none", limit=limit)


@pytest.mark.parametrize("pipe", [False, True], ids=["file", "pipe"])
def test_every_type_survives_from_a_file(tmp_path, batches, pipe):
    # pyarrow cannot replace dictionaries in files.
    source = write(tmp_path / "in", batches[:1], True)
    check(tmp_path, batches[:1], source, pipe=pipe, file=True, rows=50)


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_every_type_survives_from_metadata_v4(tmp_path, batches, codec):
    source = write(tmp_path / "in", batches, compression=codec, metadata_version=ipc.MetadataVersion.V4)
    check(tmp_path, batches, source)
    check(tmp_path, batches, source, limit=1 * MIB, rows=10)


@pytest.mark.parametrize("name", TYPES)
def test_slices_of_one_type(tmp_path, name):
    """Slices as pyarrow writes them, and as we cut them."""
    whole = make_batches([400], [name])[0]
    pieces = [whole.slice(start, length) for start, length in [(3, 50), (61, 0), (64, 129), (399, 1)]]
    source = write(tmp_path / "in", pieces)
    for to_file in (False, True):
        check(tmp_path, pieces, source, rows=13, file=to_file)


# ---- dictionaries --------------------------------------------------------------------------------------------------

def dictionary(values, rows, rng, index_type=pa.int16()):
    indices = [None if rng.random() < 0.1 else rng.randrange(len(values)) for _ in range(rows)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, index_type), values)


def nested_dictionaries(seed, rows=60):
    """Dictionaries in lists, of lists, of structs with dictionaries; other values for each seed."""
    rng = random.Random(seed)
    words = pa.array([f"word {seed} {i}" for i in range(20)] + [None])
    numbers = pa.array([rng.randrange(10**9) for _ in range(10)])
    inner = pa.StructArray.from_arrays([dictionary(words, 30, rng), dictionary(numbers, 30, rng, pa.uint8())],
                                       ["w", "n"])
    in_list = pa.ListArray.from_arrays(pa.array([i * 2 for i in range(rows + 1)], pa.int32()),
                                       dictionary(inner, 2 * rows, rng))
    of_lists = dictionary(pa.ListArray.from_arrays(pa.array([0, 2, 2, 9], pa.int32()), dictionary(words, 9, rng)),
                          rows, rng, pa.int32())
    of_views = dictionary(pa.array([f"a view longer than twelve {seed} {i}" for i in range(5)], pa.string_view()),
                          rows, rng)
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([rows // 2, rows], pa.int32()), dictionary(words, 2, rng))
    return pa.RecordBatch.from_arrays([in_list, of_lists, of_views, runs], ["in_list", "of_lists", "of_views", "runs"])


@pytest.mark.parametrize("limit", [0, 1 * MIB], ids=["whole", "slices"])
@pytest.mark.parametrize("to_file", [False, True], ids=["to_stream", "to_file"])
@pytest.mark.parametrize("deltas", [False, True], ids=["replaced", "deltas"])
def test_nested_dictionaries_that_change(tmp_path, deltas, to_file, limit):
    batches = [nested_dictionaries(seed) for seed in range(6)]
    source = write(tmp_path / "in", batches, emit_dictionary_deltas=deltas)
    check(tmp_path, batches, source, file=to_file, limit=limit, codec="lz4")
    # The same through our own reader, deltas included.
    (tmp_path / "out").rename(tmp_path / "again")
    check(tmp_path, batches, tmp_path / "again", pipe=True)


@pytest.mark.parametrize("to_file", [False, True], ids=["to_stream", "to_file"])
def test_nested_dictionaries_of_a_large_batch(tmp_path, to_file):
    batch = nested_dictionaries(1, 50_000)
    source = write(tmp_path / "in", [batch])
    check(tmp_path, [batch], source, file=to_file, limit=1 * MIB, rows=4000)


def test_deltas_of_nested_values(tmp_path):
    batches, values = [], []
    for step in range(4):
        values += [[step, None, i] for i in range(5)] + [None]
        kind = pa.list_view(pa.int32())
        batches.append(pa.RecordBatch.from_arrays(
            [dictionary(pa.array(values, kind), 40, random.Random(step))], ["d"]))
    source = write(tmp_path / "in", batches, emit_dictionary_deltas=True)
    for to_file in (False, True):
        check(tmp_path, batches, source, file=to_file)


# ---- metadata ------------------------------------------------------------------------------------------------------

def test_metadata_of_every_field_is_kept(tmp_path):
    def field(name, kind, nullable=True):
        return pa.field(name, kind, nullable, {"of": name, "ARROW:extension:name": f"test.{name}", "empty": ""})

    item = field("item", pa.int32(), False)
    entry = pa.map_(field("key", pa.utf8(), False), field("value", pa.list_(item)))
    schema = pa.schema([
        field("list", pa.list_(field("renamed", pa.list_view(item)))),
        field("struct", pa.struct([field("a", pa.int8()), field("b", pa.list_(item, 2))])),
        field("map", entry),
        field("union", pa.dense_union([field("x", pa.int32()), field("y", pa.struct([item]))], [9, 1])),
        field("dictionary", pa.dictionary(pa.int8(), pa.struct([field("x", pa.dictionary(pa.int8(), pa.utf8()))]))),
    ], {"whole": "schema"})
    with ipc.new_stream(str(tmp_path / "in"), schema):
        pass
    for to_file in (False, True):
        run(tmp_path / "in", tmp_path / "out", file=to_file)
        assert read(tmp_path / "out")[0] == contents(schema, [])[0]
