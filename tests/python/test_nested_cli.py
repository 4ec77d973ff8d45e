"""The program with nested columns: text formats, sorting, --select, inspect, and what is refused."""

import csv
import io
import json
import struct
import sys
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_values import columns_of, read_stream  # noqa: E402
from outcore_process import run  # noqa: E402
from type_table import NESTED_TYPES, PLAIN_TYPES, make_batches  # noqa: E402

# Texts of times are a matter of format_value.h and its tests.
TEXT_TYPES = [name for name, kind in {**PLAIN_TYPES, **NESTED_TYPES}.items()
              if not pa.types.is_temporal(kind) and name != "dictionary_u64"]


def write(path, *batches):
    with ipc.new_stream(str(path), batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def rows_of(path):
    with ipc.open_stream(str(path)) as reader:
        return reader.read_all().to_pylist()


def table_of(**columns):
    return pa.RecordBatch.from_pydict(columns)


# ---- text ----------------------------------------------------------------------------------------------------------

class Pairs(list):
    """A JSON object with everything that is in it, also what is there twice."""


def parse(text):
    return json.loads(text, object_pairs_hook=Pairs, parse_float=Decimal)


def is_same(field, value, found):
    """Whether `found`, from JSON, is what `value`, from arrow_values.py, should be written as."""
    kind = field.type
    if field.dictionary is not None:
        return is_same(field.dictionary, value, found)
    if kind == "+r":
        return is_same(field.children[1], value, found)
    if value is None:
        return found is None
    if kind.startswith("+u"):
        ids = [int(text) for text in kind.split(":")[1].split(",")]
        return is_same(field.children[ids.index(value[0])], value[1], found)
    if kind in "efg":
        number, = struct.unpack("<" + {"e": "e", "f": "f", "g": "d"}[kind], value)
        if number in (float("inf"), float("-inf")):
            return found is None
        return value == struct.pack("<" + {"e": "e", "f": "f", "g": "d"}[kind], float(found))
    if kind.startswith("d:"):
        scale = int(kind[2:].split(",")[1])
        return found == Decimal(f"{value}e{-scale}")
    if kind in ("u", "U", "vu"):
        return found == value.decode()
    if kind in ("z", "Z", "vz") or kind.startswith("w:"):
        return found == value.hex()
    if kind == "+s":
        return (isinstance(found, Pairs) and [name for name, _ in found] == [child.name for child in field.children]
                and all(map(is_same, field.children, value, (part for _, part in found))))
    if kind == "+m":
        return is_same_map(field.children[0], value, found)
    if kind.startswith("+"):
        return (type(found) is list and len(found) == len(value)
                and all(is_same(field.children[0], *pair) for pair in zip(value, found)))
    return type(found) is type(value) and found == value


def is_same_map(entries, value, found):
    key, item = entries.children
    if key.type in ("u", "U", "vu"):
        pairs = found if isinstance(found, Pairs) else [(None, None)]
    else:
        pairs = [tuple(part for _, part in entry) for entry in found]
        if any([name for name, _ in entry] != ["key", "value"] for entry in found):
            return False
    return len(pairs) == len(value) and all(
        is_same(key, wanted[0], pair[0]) and is_same(item, wanted[1], pair[1]) for wanted, pair in zip(value, pairs))


@pytest.fixture(scope="module")
def text_table(tmp_path_factory):
    """A file of TEXT_TYPES, its schema and its columns."""
    batches = make_batches([40, 0, 25], TEXT_TYPES)
    schema, values = read_stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    path = write(tmp_path_factory.mktemp("text") / "in.arrows", *batches)
    return path, schema, columns_of(values, len(schema.fields))


@pytest.mark.parametrize("form", ["json", "ndjson"])
def test_json_of_every_type_reads_back(text_table, form):
    path, schema, columns = text_table
    text = run("convert", path, "-o", "-", "--format", form).stdout.decode()
    rows = parse(text) if form == "json" else [parse(line) for line in text.splitlines()]
    assert len(rows) == 65
    for i, field in enumerate(schema.fields):
        for row, found in enumerate(rows):
            assert found[i][0] == field.name
            assert is_same(field, columns[i][row], found[i][1]), (field, columns[i][row], found[i][1])


def test_csv_has_json_in_fields_of_nested_types(text_table):
    path, schema, columns = text_table
    text = run("convert", path, "-o", "-", "--format", "csv", "--output-null", "~").stdout.decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == [field.name for field in schema.fields]
    assert len(rows) == 65
    nested = [i for i, field in enumerate(schema.fields)
              if field.type in ("+s", "+l", "+L", "+vl", "+vL", "+m") or field.type.startswith("+w")]
    assert len(nested) > 20
    for i in nested:
        for row, fields in enumerate(rows):
            found = None if fields[i] == "~" else parse(fields[i])
            assert is_same(schema.fields[i], columns[i][row], found), (schema.fields[i], columns[i][row], fields[i])


def test_csv_of_unions_and_runs_has_their_values(tmp_path):
    union = pa.UnionArray.from_sparse(pa.array([0, 1, 1, 0], pa.int8()),
                                      [pa.array([1, 2, 3, None]), pa.array(["a", "b,c", '"', "d"])])
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([1, 4], pa.int32()), pa.array(["x", None]))
    source = write(tmp_path / "in.arrows", table_of(u=union, r=runs))
    text = run("convert", source, "-o", "-", "--format", "csv").stdout.decode()
    assert text == 'u,r\n1,x\n"b,c",\n"""",\n,\n'


def test_a_table_shows_nested_values(tmp_path):
    source = write(tmp_path / "in.arrows", table_of(
        l=pa.array([[1, None], []], pa.list_(pa.int8())), s=pa.array([{"a": "x\x1b[31m"}, None])))
    text = run("convert", source, "-o", "-", "--format", "table").stdout.decode()
    assert text == ("┌──────────┬─────────────────────┐\n"
                    "│ l        │ s                   │\n"
                    "├──────────┼─────────────────────┤\n"
                    '│ [1,null] │ {"a":"x\\u001b[31m"} │\n'
                    "│ []       │ NULL                │\n"
                    "└──────────┴─────────────────────┘\n"
                    "(2 rows)\n")


def test_nested_values_survive_csv_as_text(tmp_path):
    source = write(tmp_path / "in.arrows", table_of(l=[["a", None, 'q"'], [], None]))
    run("convert", source, tmp_path / "a.csv")
    run("convert", tmp_path / "a.csv", tmp_path / "b.arrows", "--columns", "l utf8")
    assert [row["l"] and json.loads(row["l"]) for row in rows_of(tmp_path / "b.arrows")] == [["a", None, 'q"'], [], None]


def test_nested_types_are_not_read_from_csv(tmp_path):
    (tmp_path / "a.csv").write_text("a\n[1]\n")
    for kind in ("list<int32>", "struct<a: int8>", "int64[]"):
        outcome = run("convert", tmp_path / "a.csv", "-o", "-", "--columns", f"a {kind}", check=False)
        assert outcome.code == 1
        assert "nested types" in outcome.stderr and "declare the column as utf8" in outcome.stderr


# ---- sort ----------------------------------------------------------------------------------------------------------

def test_flat_key_with_nested_payload(tmp_path):
    rows = [{"k": key, "l": [key, None], "s": {"a": str(key), "b": [{"c": key}]}} for key in (3, 1, 2)]
    batch = pa.RecordBatch.from_pylist(rows)
    source = write(tmp_path / "in.arrows", batch, batch.slice(1))
    run("sort", source, "--by", "k", "-o", tmp_path / "out.arrows")
    assert rows_of(tmp_path / "out.arrows") == [rows[1], rows[1], rows[2], rows[2], rows[0]]
    run("sort", source, "--by", "k", "--limit", "2", "-o", tmp_path / "top.arrows")
    assert rows_of(tmp_path / "top.arrows") == [rows[1], rows[1]]


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_nested_payload_is_spilled(tmp_path, codec):
    rows = 40_000
    keys = pa.array([(i * 7919) % rows for i in range(rows)])
    lists = pa.ListArray.from_arrays(pa.array(range(0, 3 * rows + 1, 3), pa.int32()), pa.array(range(3 * rows)))
    batch = table_of(k=keys, l=lists, s=pa.StructArray.from_arrays([lists, keys], ["l", "k"]))
    source = write(tmp_path / "in.arrows", batch)
    outcome = run("sort", source, "--by", "k", "-o", tmp_path / "out.arrows", "-m", "1m", "-T", tmp_path, "--stats",
                  "--spill-compression", codec)
    assert outcome.stats["spilled_bytes"] > 0
    with ipc.open_stream(str(tmp_path / "out.arrows")) as reader:
        assert reader.read_all() == pa.Table.from_batches([batch]).sort_by("k")


@pytest.mark.parametrize("order, wanted", [
    ("l", [[], [1], [1, 2], [2], [None, 1], None]),
    ("l desc", [None, [None, 1], [2], [1, 2], [1], []]),
    ("l nulls first", [None, [], [1], [1, 2], [2], [None, 1]]),
    ("l desc nulls last", [[None, 1], [2], [1, 2], [1], [], None]),
])
def test_sort_by_a_list(tmp_path, order, wanted):
    rows = [[1, 2], None, [2], [], [None, 1], [1]]
    batch = table_of(l=pa.array(rows, pa.list_(pa.int32())), at=list(range(len(rows))))
    run("sort", write(tmp_path / "in.arrows", batch), "--by", order, "-o", tmp_path / "out.arrows")
    found = rows_of(tmp_path / "out.arrows")
    assert [row["l"] for row in found] == wanted
    assert all(rows[row["at"]] == row["l"] for row in found)


def test_sort_by_a_struct(tmp_path):
    rows = [{"s": {"a": a, "b": b}} for a, b in ((2, "x"), (1, "y"), (1, "x"))]
    source = write(tmp_path / "in.arrows", pa.RecordBatch.from_pylist(rows))
    run("sort", source, "--by", "s desc", "-o", tmp_path / "out.arrows")
    assert rows_of(tmp_path / "out.arrows") == rows


def test_sort_by_runs(tmp_path):
    runs = pa.RunEndEncodedArray.from_arrays(pa.array([2, 3, 5], pa.int32()), pa.array(["b", None, "a"]))
    source = write(tmp_path / "in.arrows", table_of(r=runs))
    run("sort", source, "--by", "r", "-o", tmp_path / "out.arrows")
    assert [row["r"] for row in rows_of(tmp_path / "out.arrows")] == ["a", "a", "b", "b", None]


@pytest.mark.parametrize("name", ["map", "dense_union", "sparse_union", "list_of_maps", "struct_of_unions"])
def test_maps_and_unions_are_no_sort_keys(tmp_path, name):
    source = write(tmp_path / "in.arrows", *make_batches([5], [name]))
    outcome = run("sort", source, "--by", name, "-o", tmp_path / "out.arrows", check=False)
    assert outcome.code == 1
    part = "map" if "map" in name else name.removeprefix("struct_of_").removesuffix("s")
    assert f'"{name}"' in outcome.stderr and part in outcome.stderr, outcome.stderr
    assert not (tmp_path / "out.arrows").exists()


# ---- the rest ------------------------------------------------------------------------------------------------------

def test_select_takes_nested_columns(tmp_path):
    source = write(tmp_path / "in.arrows", *make_batches([5, 3], ["map", "struct", "list_view", "runs_16"]))
    run("convert", source, tmp_path / "out.arrows", "--select", "runs_16, map")
    with ipc.open_stream(str(source)) as reader:
        wanted = reader.read_all().select(["runs_16", "map"])
    with ipc.open_stream(str(tmp_path / "out.arrows")) as reader:
        assert reader.read_all() == wanted
    run("sort", source, "--by", "id desc", "--select", "map, list_view", "-o", tmp_path / "out.arrows")
    with ipc.open_stream(str(tmp_path / "out.arrows")) as reader:
        assert reader.schema.names == ["map", "list_view"]
        assert reader.read_all().num_rows == 8


def test_inspect_names_nested_types(tmp_path):
    deep = pa.int8()
    for _ in range(40):
        deep = pa.list_(deep)
    schema = pa.schema([
        ("s", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.utf8()))])), ("m", pa.map_(pa.utf8(), pa.float64())),
        ("u", pa.dense_union([pa.field("x", pa.int8()), pa.field("y", pa.bool_())])),
        ("r", pa.run_end_encoded(pa.int16(), pa.utf8())), ("d", pa.dictionary(pa.int8(), pa.list_(pa.int32()))),
        ("f", pa.list_(pa.int64(), 3)), ("deep", deep)])
    with ipc.new_stream(str(tmp_path / "in.arrows"), schema):
        pass
    shown = run("inspect", tmp_path / "in.arrows").stdout.decode()
    types = dict(line.split(maxsplit=2)[1:] for line in shown.splitlines() if line.startswith("  "))
    assert types == {
        "s": "struct<a: int32, b: list<utf8>>", "m": "map<key: utf8, value: float64>", "u": "dense_union<x: int8, y: bool>",
        "r": "run_end_encoded<int16, utf8>", "d": "dictionary<int8, list<int32>>", "f": "fixed_size_list<int64, 3>",
        "deep": "list<" * 40 + "int8" + ">" * 40}


def test_types_deeper_than_the_limit_are_refused(tmp_path):
    for depth, code in ((60, 0), (70, 1)):
        kind = pa.int8()
        for _ in range(depth):
            kind = pa.list_(kind)
        with ipc.new_stream(str(tmp_path / "in.arrows"), pa.schema([("a", kind)])):
            pass
        outcome = run("convert", tmp_path / "in.arrows", "-o", "-", "--format", "ndjson", check=False)
        assert outcome.code == code, outcome.stderr
        assert code == 0 or "64" in outcome.stderr
