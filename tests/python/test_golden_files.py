"""The golden files of the Arrow project: each is read to the values in its JSON twin, and written again to the same.

Needs OUTCORE_TESTING_DATA, a folder with arrow/golden/<version>/<case>.{stream,arrow_file,json.gz}.
"""

import dataclasses
import functools
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc as ipc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from arrow_json import Document  # noqa: E402
from arrow_values import Schema, columns_of, read_stream  # noqa: E402
from outcore_process import BINARY, run  # noqa: E402

TESTING_DATA = os.environ.get("OUTCORE_TESTING_DATA")
pytestmark = pytest.mark.skipif(not TESTING_DATA, reason="OUTCORE_TESTING_DATA is not set")


def golden_cases():
    """The JSON twins."""
    return sorted((Path(TESTING_DATA) / "arrow/golden").glob("*/*.json.gz")) if TESTING_DATA else []


def golden_files():
    return [twin.with_name(twin.name.removesuffix(".json.gz") + suffix)
            for twin in golden_cases() for suffix in (".stream", ".arrow_file")]


def name_of(path):
    return f"{path.parent.name}-{path.name.removeprefix('generated_')}"


@functools.cache
def twin_of(path):
    return Document(path.with_name(path.name.rsplit(".", 1)[0] + ".json.gz"))


def open_with_pyarrow(data):
    if data[:6] == b"ARROW1":
        file = ipc.open_file(data)
        batches = [file.get_batch(i) for i in range(file.num_record_batches)]
        return pa.RecordBatchReader.from_batches(file.schema, batches)
    return ipc.open_stream(data)


def with_usual_map_names(field):
    """Arrow C++ calls the parts of a map entries, key and value, whatever the file says."""
    children = [with_usual_map_names(child) for child in field.children]
    if field.type == "+m":
        entries = children[0]
        pair = [dataclasses.replace(part, name=name) for part, name in zip(entries.children, ("key", "value"))]
        children = [dataclasses.replace(entries, name="entries", children=tuple(pair))]
    dictionary = with_usual_map_names(field.dictionary) if field.dictionary else None
    return dataclasses.replace(field, children=tuple(children), dictionary=dictionary)


def check_against_twin(data, twin, one_by_one=False):
    """What pyarrow reads is what the JSON says; with one_by_one, in the same batches."""
    schema, batches = read_stream(open_with_pyarrow(data))
    assert schema == Schema(tuple(map(with_usual_map_names, twin.schema.fields)), twin.schema.metadata)
    if one_by_one:
        assert batches == twin.batches
    assert columns_of(batches, len(schema.fields)) == columns_of(twin.batches, len(schema.fields))


# ---- tests ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("path", golden_files(), ids=name_of)
def test_pyarrow_agrees_with_the_twin(path):
    """Of the comparer: two readers that have nothing in common see the same."""
    check_against_twin(path.read_bytes(), twin_of(path), one_by_one=True)


WAYS = {
    "stream": ["--format", "arrows"],
    "file": ["--format", "arrow"],
    "lz4_stream": ["--format", "arrows", "--compression", "lz4"],
    "zstd_file": ["--format", "arrow", "--compression", "zstd"],
    "small_batches": ["--format", "arrows", "--batch-size", "3"],
}


@pytest.mark.parametrize("path", golden_files(), ids=name_of)
def test_golden_file_is_read_and_written(tmp_path, path):
    original = open_with_pyarrow(path.read_bytes())
    expected_schema, expected = read_stream(original)
    n_columns = len(expected_schema.fields)
    for way, options in WAYS.items():
        run("convert", path, "-o", tmp_path / way, *options)
        data = (tmp_path / way).read_bytes()
        check_against_twin(data, twin_of(path))
        schema, batches = read_stream(open_with_pyarrow(data))
        assert schema == expected_schema
        assert columns_of(batches, n_columns) == columns_of(expected, n_columns)
        for name in names_in_maps(twin_of(path).schema.fields):
            # pyarrow does not keep them, nor did the writer of some golden files.
            assert name.encode() in data or name.encode() not in path.read_bytes()


def names_in_maps(fields):
    for field in fields:
        if field.type == "+m":
            yield field.children[0].name
            yield from (part.name for part in field.children[0].children)
        yield from names_in_maps(field.children)


@pytest.mark.parametrize("path", golden_files(), ids=name_of)
def test_golden_file_comes_through_a_pipe(path):
    with subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE) as cat:
        done = subprocess.run([BINARY, "convert", "-", "-o", "-", "--input-format", "arrow", "--format", "arrows"],
                              stdin=cat.stdout, capture_output=True, timeout=60, check=False)
        cat.stdout.close()
    assert done.returncode == 0, done.stderr.decode()
    check_against_twin(done.stdout, twin_of(path))


def can_be_a_key(field):
    below = field.children + ((field.dictionary,) if field.dictionary else ())
    return field.type != "+m" and not field.type.startswith("+u") and all(map(can_be_a_key, below))


@pytest.mark.parametrize("path", golden_files(), ids=name_of)
def test_golden_file_is_sorted_by_each_column(tmp_path, path):
    schema, batches = read_stream(open_with_pyarrow(path.read_bytes()))
    rows = Counter(map(repr, zip(*columns_of(batches, len(schema.fields)))))
    keys = [i for i, field in enumerate(schema.fields, 1) if can_be_a_key(field)]
    for key in keys[:4]:
        run("sort", path, "--by", f"{key} desc", "-o", tmp_path / "out.arrows", "-m", "1m")
        found_schema, found = read_stream(open_with_pyarrow((tmp_path / "out.arrows").read_bytes()))
        assert found_schema == schema
        assert Counter(map(repr, zip(*columns_of(found, len(schema.fields))))) == rows


@pytest.mark.parametrize("path", golden_files(), ids=name_of)
def test_inspect_counts_rows_and_names_types(path):
    shown = run("inspect", path).stdout.decode()
    twin = twin_of(path)
    assert f"\nrows: {sum(twin.rows)}\n" in shown
    assert f"\ncolumns: {len(twin.schema.fields)}\n" in shown
    assert "unknown" not in shown
