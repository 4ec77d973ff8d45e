"""Files of every type: what others read from ours is what they read from pyarrow's.

pyarrow knows all types, so its reading of our files is compared with the table itself. polars, DuckDB and flechette (a
JavaScript reader) turn some types into their own, so a file of ours is compared with a file of pyarrow's that holds the
same rows; types that they cannot read are listed, and a type that leaves a list is noticed.
"""

import functools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_values import columns_of, read_stream  # noqa: E402
from outcore_process import run  # noqa: E402
from type_table import TYPES, make_batches  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent.parent
FLECHETTE = ROOT / "build/node_modules/@uwdata/flechette"

POLARS_CANNOT = {"decimal256", "interval", "list_view", "large_list_view", "view_of_views", "fixed_list_0",
                 "dense_union", "sparse_union", "list_of_unions", "struct_of_unions", "runs_16", "runs_32", "runs_64",
                 "list_of_runs"}
DUCKDB_CANNOT = {"float16", "decimal256", "dense_union", "sparse_union", "list_of_unions", "runs_64"}
FLECHETTE_CANNOT = {"decimal256"}  # with a negative scale


@functools.cache
def all_types():
    """(batches, Schema, columns) of a table of all types."""
    batches = make_batches([300, 0, 1, 77])
    schema, values = read_stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    return batches, schema, columns_of(values, len(schema.fields))


def write(path, batches, file_format=False, **options):
    new = ipc.new_file if file_format else ipc.new_stream
    with new(str(path), batches[0].schema, options=ipc.IpcWriteOptions(**options)) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return path


def read_with_pyarrow(path):
    data = path.read_bytes()
    if data[:6] == b"ARROW1":
        file = ipc.open_file(data)
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
    else:
        file = ipc.open_stream(data)
        batches = list(file)
    for batch in batches:
        batch.validate(full=True)
    schema, values = read_stream(pa.RecordBatchReader.from_batches(file.schema, batches))
    return schema, columns_of(values, len(schema.fields))


def in_order_of_first(columns):
    order = sorted(range(len(columns[0])), key=columns[0].__getitem__)
    return [[column[row] for row in order] for column in columns]


def assert_same(actual, schema, columns):
    assert actual[0] == schema
    for field, got, expected in zip(schema.fields, actual[1], columns):
        assert got == expected, field.name


# ---- pyarrow -------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
@pytest.mark.parametrize("out", ["arrows", "arrow"])
@pytest.mark.parametrize("source_codec", [None, "lz4", "zstd"])
def test_every_type_is_converted(tmp_path, source_codec, out, codec):
    batches, schema, columns = all_types()
    source = write(tmp_path / "in.arrows", batches, compression=source_codec)
    run("convert", source, tmp_path / f"out.{out}", "--compression", codec)
    assert_same(read_with_pyarrow(tmp_path / f"out.{out}"), schema, columns)


@pytest.mark.parametrize("batch_rows", [1, 7, 100])
def test_every_type_is_converted_in_small_batches(tmp_path, batch_rows):
    batches, schema, columns = all_types()
    source = write(tmp_path / "in.arrows", batches)
    run("convert", source, tmp_path / "out.arrows", "--batch-size", batch_rows)
    assert_same(read_with_pyarrow(tmp_path / "out.arrows"), schema, columns)


@pytest.mark.parametrize("out", ["arrows", "arrow"])
@pytest.mark.parametrize("file_format", [False, True], ids=["from_stream", "from_file"])
def test_every_type_is_payload_of_a_sort(tmp_path, file_format, out):
    # pyarrow cannot replace dictionaries in files.
    batches = all_types()[0][:1] if file_format else all_types()[0]
    schema, values = read_stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    columns = columns_of(values, len(schema.fields))
    source = write(tmp_path / "in", batches, file_format)
    run("sort", source, "--by", "id", "-o", tmp_path / f"out.{out}", "--input-format", "arrow")
    assert_same(read_with_pyarrow(tmp_path / f"out.{out}"), schema, in_order_of_first(columns))


def test_every_type_is_spilled(tmp_path):
    batches = make_batches([600, 0, 200])
    schema, values = read_stream(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    source = write(tmp_path / "in.arrows", batches)
    outcome = run("sort", source, "--by", "id desc", "-o", tmp_path / "out.arrow", "-m", "1m", "--stats",
                  "-T", tmp_path)
    assert outcome.stats["spilled_bytes"] > 0
    columns = columns_of(values, len(schema.fields))
    order = sorted(range(len(columns[0])), key=lambda row: -columns[0][row])
    assert_same(read_with_pyarrow(tmp_path / "out.arrow"), schema,
                [[column[row] for row in order] for column in columns])


@pytest.mark.parametrize("out", ["arrows", "arrow"])
def test_every_type_is_converted_without_rows(tmp_path, out):
    batches = make_batches([0, 0])
    source = write(tmp_path / "in.arrows", batches)
    run("convert", source, tmp_path / f"out.{out}")
    schema, columns = read_with_pyarrow(tmp_path / f"out.{out}")
    assert schema == all_types()[1]
    assert columns == [[] for _ in schema.fields]


# ---- others --------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def single_columns(tmp_path_factory):
    """name -> {form: (a file of ours, one of pyarrow with the same rows)}; one column of TYPES each."""
    folder = tmp_path_factory.mktemp("columns")
    pairs = {}
    for name in TYPES:
        batches = make_batches([50, 0, 7], [name])
        source = write(folder / f"{name}.source", batches)
        # Without the empty batch: there polars trips over the offsets of lists that pyarrow writes.
        all_rows = write(folder / f"{name}.arrows", [batches[0], batches[2]])
        one_batch = write(folder / f"{name}.one.arrows", batches[:1])
        ours = {form: folder / f"{name}.{form}.ours.{form.split('.')[-1]}" for form in ("arrows", "arrow", "one.arrow")}
        run("convert", source, ours["arrows"], "--input-format", "arrow")
        run("convert", source, ours["arrow"], "--input-format", "arrow")
        run("convert", one_batch, ours["one.arrow"])
        pairs[name] = {"arrows": (ours["arrows"], all_rows), "arrow": (ours["arrow"], all_rows),
                       "one.arrow": (ours["one.arrow"], one_batch)}
    return pairs


def values_by(reader, path):
    schema, values = read_stream(reader(path))
    return columns_of(values, len(schema.fields))


def check_reader(reader, pairs, cannot, forms=("arrows", "arrow", "one.arrow")):
    for name in TYPES:
        for ours, theirs in (pairs[name][form] for form in forms):
            if name in cannot:
                with pytest.raises(BaseException):  # polars panics, which is no Exception
                    values_by(reader, theirs)
            else:
                assert values_by(reader, ours) == values_by(reader, theirs), (name, ours)


def test_polars_reads_our_files(single_columns):
    pl = pytest.importorskip("polars", reason="polars is not installed")

    def read(path):
        return pl.read_ipc_stream(path) if path.suffix == ".arrows" else pl.read_ipc(path)

    check_reader(read, single_columns, POLARS_CANNOT)


def test_duckdb_reads_our_files(single_columns):
    def read(path):
        data = path.read_bytes()
        if data[:6] == b"ARROW1":
            file = ipc.open_file(data)
            rows = pa.RecordBatchReader.from_batches(file.schema,
                                                     [file.get_batch(i) for i in range(file.num_record_batches)])
        else:
            rows = ipc.open_stream(data)
        assert rows is not None
        return duckdb.sql("SELECT * FROM rows").to_arrow_table()

    check_reader(read, single_columns, DUCKDB_CANNOT)


def test_a_javascript_reader_reads_our_files(single_columns):
    if shutil.which("node") is None or not FLECHETTE.exists():
        pytest.skip("node or build/node_modules/@uwdata/flechette is not there; tools/make_node_modules.sh installs it")
    pairs = [(name, *pair) for name in TYPES for pair in single_columns[name].values()]
    paths = [path for _, ours, theirs in pairs for path in (ours, theirs)]
    done = subprocess.run(["node", str(ROOT / "tests/javascript/read_arrow.mjs"), *map(str, paths)], check=True,
                          env={**os.environ, "FLECHETTE": str(FLECHETTE)}, capture_output=True, text=True, timeout=120)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(paths)
    for (name, ours, _), got, expected in zip(pairs, answers[::2], answers[1::2]):
        assert ("error" in expected) == (name in FLECHETTE_CANNOT), (name, expected)
        if name not in FLECHETTE_CANNOT:
            assert got == expected, (name, ours)
