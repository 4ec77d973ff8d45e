"""Parquet files that outcore writes, read by pyarrow, DuckDB, polars and DataFusion: values, types, statistics, sizes.

Every type that Arrow has is written or refused by name.
"""

import decimal
import math
import random
import struct
import subprocess
import sys
from pathlib import Path

import datafusion
import duckdb
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import ROOT, run, run_measured  # noqa: E402
from type_table import TYPES, make_array  # noqa: E402

CODECS = {"none": "UNCOMPRESSED", "snappy": "SNAPPY", "gzip": "GZIP", "zstd": "ZSTD", "lz4": "LZ4",
          "brotli": "BROTLI"}
# What Parquet has no place for.
REFUSED = {"interval", "decimal256", "struct_0", "dense_union", "sparse_union", "list_of_unions", "struct_of_unions",
           "dictionary_of_lists", "dictionary_of_structs"}


def write(tmp_path, table, *args, batch=1000, name="a"):
    """The table as a Parquet file of ours."""
    source, target = tmp_path / f"{name}.arrow", tmp_path / f"{name}.parquet"
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch)
    outcome = run("convert", source, target, *args)
    assert outcome.code == 0, outcome.stderr
    return target


def copy(tmp_path, table, options):
    source, target = tmp_path / "a.arrow", tmp_path / "a.parquet"
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return run("-c", f"COPY (SELECT * FROM '{source}') TO '{target}' ({options})", check=False), target


def statistics(path, column, group=0):
    return pq.ParquetFile(path).metadata.row_group(group).column(column).statistics


def expect_equal(got, expected):
    """Columns of the same values; nanoseconds are none that Python can show."""
    if str(expected.type).endswith("[ns]"):
        assert got.equals(expected)
    else:
        assert repr(got.to_pylist()) == repr(expected.to_pylist())


# ---- types -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", [n for n in TYPES if n not in REFUSED])
def test_every_type_is_read_back_by_pyarrow(tmp_path, name):
    rng = random.Random(name)
    array = make_array(TYPES[name], 3000, rng)
    table = pa.table({"a": array, "id": pa.array(range(3000))})
    got = pq.read_table(write(tmp_path, table))
    expect_equal(got["a"], table["a"])
    assert got["id"].to_pylist() == list(range(3000))
    text = str(TYPES[name])
    if not any(word in text for word in ("run_end", "view", "date64", "[s]", "decimal32", "decimal64", "dictionary")):
        assert got.schema.field("a").type == TYPES[name]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_types_that_parquet_lacks_are_refused_by_name(tmp_path, name):
    table = pa.table({"odd one": make_array(TYPES[name], 10, random.Random(1))})
    source = tmp_path / "a.arrow"
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    outcome = run("convert", source, tmp_path / "a.parquet", check=False)
    assert outcome.code != 0 and "could not write column" in outcome.stderr
    assert any(text in outcome.stderr for text in ("has no type for", "has no structs without fields", "scale of -4"))
    assert not (tmp_path / "a.parquet").exists()


def random_type(rng, depth):
    kinds = ["int", "text", "list", "struct", "map", "fixed"] if depth > 0 else ["int", "text", "bool", "double"]
    kind = rng.choice(kinds)
    if kind == "list":
        return pa.list_(random_type(rng, depth - 1))
    if kind == "fixed":
        return pa.list_(random_type(rng, depth - 1), 2)
    if kind == "map":
        return pa.map_(pa.utf8(), random_type(rng, depth - 1))
    if kind == "struct":
        return pa.struct([(f"f{i}", random_type(rng, depth - 1)) for i in range(rng.randrange(1, 4))])
    return {"int": pa.int32(), "text": pa.utf8(), "bool": pa.bool_(), "double": pa.float64()}[kind]


@pytest.mark.parametrize("seed", range(30))
def test_nesting_of_any_depth_is_read_back(tmp_path, seed):
    rng = random.Random(seed)
    kind = random_type(rng, 1 + seed % 5)
    n = 400
    table = pa.table({"a": make_array(kind, n, rng), "b": make_array(pa.list_(kind), n, rng)})
    path = write(tmp_path, table, batch=rng.choice([1, 7, 150, n]))
    got = pq.read_table(path)
    assert repr(got.to_pylist()) == repr(table.to_pylist())
    assert got.schema.types == table.schema.types


def test_fields_that_cannot_be_null_are_required(tmp_path):
    schema = pa.schema([pa.field("a", pa.int32(), nullable=False),
                        pa.field("l", pa.list_(pa.field("item", pa.int8(), nullable=False)), nullable=False)],
                       metadata={"who": "me"})
    table = pa.table({"a": [1, 2, 3], "l": [[], [1, 2], [3]]}, schema=schema)
    path = write(tmp_path, table)
    got = pq.read_table(path)
    assert got.equals(table) and got.schema.metadata == {b"who": b"me"}
    columns = pq.ParquetFile(path).schema
    assert columns.column(0).max_definition_level == 0
    assert (columns.column(1).max_definition_level, columns.column(1).max_repetition_level) == (1, 1)


# ---- readers ---------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def mixed():
    rng = random.Random(5)
    n = 20000
    words = ["alpha", "beta", "", "γάμμα", "a longer word than the others"]
    return pa.table({
        "sorted": pa.array(range(n), pa.int64()),
        "few": pa.array([rng.choice(words) for _ in range(n)]),
        "many": pa.array([None if rng.random() < 0.1 else f"{rng.randrange(10**9)} text" for _ in range(n)]),
        "path": pa.array([f"/usr/share/doc/{i // 100:05}/file{i % 100}" for i in range(n)]),
        "number": pa.array([None if rng.random() < 0.2 else rng.randrange(-2**31, 2**31) for _ in range(n)], pa.int32()),
        "float": pa.array([rng.gauss(0, 1) for _ in range(n)], pa.float32()),
        "double": pa.array([None if rng.random() < 0.2 else rng.random() for _ in range(n)], pa.float64()),
        "yes": pa.array([None if rng.random() < 0.2 else rng.random() < 0.1 for _ in range(n)]),
        "money": pa.array([decimal.Decimal(rng.randrange(10**7)) / 100 for _ in range(n)], pa.decimal128(15, 2)),
        "wide": pa.array([decimal.Decimal(rng.randrange(-10**25, 10**25)) for _ in range(n)], pa.decimal128(30, 0)),
        "day": pa.array([rng.randrange(20000) for _ in range(n)], pa.int32()).cast(pa.date32()),
        "at": pa.array([rng.randrange(2**50) for _ in range(n)], pa.int64()).cast(pa.timestamp("us")),
        "nothing": pa.array([None] * n, pa.int32()),
        "list": pa.array([None if rng.random() < 0.1 else [rng.randrange(9) for _ in range(rng.randrange(4))]
                          for _ in range(n)], pa.list_(pa.int64())),
        "struct": pa.array([None if rng.random() < 0.1 else {"x": rng.randrange(99), "y": rng.choice(words)}
                            for _ in range(n)]),
    })


@pytest.mark.parametrize("codec", CODECS)
def test_four_readers_read_equal_values(tmp_path, mixed, codec):
    path = write(tmp_path, mixed, "--compression", codec)
    theirs = tmp_path / "theirs.parquet"
    pq.write_table(mixed, theirs)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(2)
    assert chunk.compression == CODECS[codec]
    assert pq.read_table(path).equals(mixed)
    assert duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_table().to_pylist() == mixed.to_pylist()
    assert polars.read_parquet(path).equals(polars.read_parquet(theirs))
    context = datafusion.SessionContext()
    context.register_parquet("ours", str(path))
    context.register_parquet("theirs", str(theirs))
    ours = context.sql("SELECT * FROM ours ORDER BY sorted").to_arrow_table()
    assert ours.to_pylist() == context.sql("SELECT * FROM theirs ORDER BY sorted").to_arrow_table().to_pylist()


def test_readers_that_prune_find_all_rows(tmp_path, mixed):
    path = write(tmp_path, mixed.sort_by("many"), "-m", "8m")
    context = datafusion.SessionContext()
    context.register_parquet("ours", str(path))
    rng = random.Random(2)
    for _ in range(30):
        low = rng.randrange(19000)
        for where in (f"sorted BETWEEN {low} AND {low + 7}", f"many >= '{low}' AND many < '{low}9'",
                      f"number > {low * 100000}", f"money = {low}.25", "few = 'γάμμα' AND yes", "wide < CAST('-9000000000000000000000000' AS DECIMAL(30, 0))"):
            query = f"SELECT count(*) FROM {{}} WHERE {where}"
            expected = duckdb.sql(query.format("mixed")).fetchall()[0][0]
            assert duckdb.sql(query.format(f"'{path}'")).fetchall()[0][0] == expected
            assert context.sql(query.format("ours")).to_pylist()[0].popitem()[1] == expected


def test_first_rows_without_values_and_columns_of_nulls(tmp_path):
    n = 100000
    table = pa.table({"late": pa.array([None] * 70000 + ["x", "y"] * 15000),
                      "never": pa.array([None] * n, pa.utf8()), "none": pa.nulls(n),
                      "flag": pa.array([None] * n, pa.bool_())})
    got = pq.read_table(write(tmp_path, table))
    assert got.equals(table)


def test_no_rows_and_empty_batches(tmp_path):
    empty = pa.table({"a": pa.array([], pa.int32()), "b": pa.array([], pa.list_(pa.utf8()))})
    path = write(tmp_path, empty)
    assert pq.read_table(path).equals(empty)
    assert pq.ParquetFile(path).metadata.num_row_groups == 0


def test_values_larger_than_pages_and_batches(tmp_path):
    table = pa.table({"t": ["x" * n for n in (0, 1, 3_000_000, 5, 2_000_000)],
                      "l": [list(range(n)) for n in (500_000, 0, 3, 0, 100_000)]})
    assert pq.read_table(write(tmp_path, table, "-m", "64m")).equals(table)


# ---- dictionaries and encodings --------------------------------------------------------------------------------------

def test_encodings_follow_the_values(tmp_path, mixed):
    group = pq.ParquetFile(write(tmp_path, mixed)).metadata.row_group(0)
    used = {group.column(i).path_in_schema: group.column(i).encodings for i in range(group.num_columns)}
    assert "DELTA_BINARY_PACKED" in used["sorted"]
    assert "RLE_DICTIONARY" in used["few"]
    assert "DELTA_BYTE_ARRAY" in used["path"]
    assert "BYTE_STREAM_SPLIT" in used["double"]
    assert used["yes"] == ("RLE",)


def test_dictionaries_that_outgrow_their_share_are_left(tmp_path):
    rng = random.Random(3)
    n = 150000
    words = [f"{i} {rng.randbytes(20).hex()}" for i in range(60000)]
    few_first = [rng.choice(words[:100]) for _ in range(n // 3)] + [rng.choice(words) for _ in range(2 * n // 3)]
    table = pa.table({"t": few_first})
    path = write(tmp_path, table)
    chunk = pq.ParquetFile(path).metadata.row_group(0).column(0)
    assert "RLE_DICTIONARY" in chunk.encodings
    assert chunk.data_page_offset - chunk.dictionary_page_offset < 1.5 * 2**20
    assert pq.read_table(path).equals(table)


def test_files_are_no_larger_than_those_of_pyarrow(tmp_path):
    subprocess.run([Path(sys.executable).parent / "tpchgen-cli", "parquet", "-s", "0.05", "--tables=lineitem,orders,part",
                    f"--output-dir={tmp_path}"], check=True, capture_output=True)
    for name in ("lineitem", "orders", "part"):
        table = pq.read_table(tmp_path / f"{name}.parquet")
        theirs = tmp_path / "theirs.parquet"
        pq.write_table(table, theirs, compression="zstd")
        ours = write(tmp_path, table, name=f"{name}_ours", batch=65536)
        assert ours.stat().st_size <= theirs.stat().st_size * 1.02
        assert pq.read_table(ours).to_pylist() == table.to_pylist()


# ---- statistics ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ["int8", "int64", "uint8", "uint32", "uint64", "date32", "decimal128", "decimal64",
                                  "timestamp_us", "binary", "utf8", "fixed_binary"])
def test_statistics_are_the_smallest_and_largest_value(tmp_path, kind):
    array = make_array(TYPES[kind], 2000, random.Random(kind))
    found = statistics(write(tmp_path, pa.table({"a": array})), 0)
    theirs = tmp_path / "theirs.parquet"
    pq.write_table(pa.table({"a": array}), theirs)
    values = [v for v in array.to_pylist() if v is not None]
    assert found.null_count == array.null_count
    if kind.startswith("decimal"):
        assert (decimal.Decimal(found.min), decimal.Decimal(found.max)) == (min(values), max(values))
    else:
        expected = statistics(theirs, 0)
        assert (found.min, found.max) == (expected.min, expected.max)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float64(), pa.float16()])
def test_statistics_of_floats_leave_out_nan_and_know_both_zeros(tmp_path, kind):
    nan = float("nan")
    size = "<" + {16: "e", 32: "f", 64: "d"}[kind.bit_width]

    def bounds(*values):
        path = write(tmp_path, pa.table({"a": pa.array(values, kind)}))
        got = statistics(path, 0)
        if got is None or not got.has_min_max:
            return None
        return tuple(struct.unpack("<e", v)[0] if isinstance(v, bytes) else v for v in (got.min, got.max))

    assert bounds(1.0, nan, -2.0) == (-2.0, 1.0)
    assert bounds(nan, nan) is None
    low, high = bounds(0.0, -0.0)
    assert struct.pack(size, low) == struct.pack(size, -0.0) and struct.pack(size, high) == struct.pack(size, 0.0)
    assert math.copysign(1, bounds(0.0, 5.0)[0]) == -1
    assert math.copysign(1, bounds(-0.0, -5.0)[1]) == 1


def test_statistics_of_long_texts_are_cut_and_still_bounds(tmp_path):
    texts = {"ascii": ["b" * 300, "c" * 300], "euro": ["€" * 100, "€" * 99 + "x"], "end": ["a" + "\U0010ffff" * 50],
             "dots": ["x" * 63 + "é" * 20, "x" * 63 + "€" * 20], "none": ["\U0010ffff" * 50, "a"]}
    for name, values in texts.items():
        found = statistics(write(tmp_path, pa.table({"a": values})), 0)
        if name == "none":
            assert found is None or not found.has_min_max  # nothing cut is above it
        else:
            assert len(found.min.encode()) <= 64 and len(found.max.encode()) <= 64
            assert found.min <= min(values) and found.max >= max(values)
    binary = [b"\xff" * 100, b"\xfe" + b"\xff" * 99]
    found = statistics(write(tmp_path, pa.table({"a": pa.array(binary[1:])})), 0)
    assert found.min == binary[1][:64] and found.max == b"\xff"
    found = statistics(write(tmp_path, pa.table({"a": pa.array(binary)})), 0)
    assert found is None or not found.has_min_max


def test_chunks_have_page_indexes(tmp_path, mixed):
    group = pq.ParquetFile(write(tmp_path, mixed)).metadata.row_group(0)
    for i in range(group.num_columns):
        assert group.column(i).has_offset_index and group.column(i).has_column_index


# ---- options, memory -------------------------------------------------------------------------------------------------

def test_copy_takes_codec_level_and_row_group_size(tmp_path, mixed):
    outcome, path = copy(tmp_path, mixed, "FORMAT parquet, COMPRESSION gzip, COMPRESSION_LEVEL 9, ROW_GROUP_SIZE 6000")
    assert outcome.code == 0, outcome.stderr
    metadata = pq.ParquetFile(path).metadata
    assert [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)] == [6000, 6000, 6000, 2000]
    assert metadata.row_group(0).column(0).compression == "GZIP"
    assert pq.read_table(path).equals(mixed)
    outcome, path = copy(tmp_path, mixed, "COMPRESSION 'zstd(3)', ROW_GROUP_SIZE_BYTES '100k'")
    assert outcome.code == 0, outcome.stderr
    assert pq.ParquetFile(path).metadata.num_row_groups > 2
    assert pq.read_table(path).equals(mixed)


@pytest.mark.parametrize("options, message", [
    ("COMPRESSION lzo", "lzo"), ("COMPRESSION_LEVEL 99", "99"), ("ROW_GROUP_SIZE '-1'", "negative"),
    ("ROW_GROUP_SIZE x", "whole number"), ("FORMAT arrow, COMPRESSION snappy", "Arrow has no such compression")])
def test_options_that_make_no_sense_are_refused(tmp_path, mixed, options, message):
    outcome, path = copy(tmp_path, mixed.slice(0, 10), options)
    assert outcome.code != 0 and message in outcome.stderr
    assert not path.exists()


def test_small_limits_make_small_row_groups(tmp_path):
    rng = random.Random(1)
    n = 200000
    table = pa.table({f"c{i}": pa.array([rng.getrandbits(60) for _ in range(n // 10)] * 10) for i in range(12)})
    path = write(tmp_path, table, batch=50000)
    assert pq.ParquetFile(path).metadata.num_row_groups == 1
    small = tmp_path / "small.parquet"
    outcome = run_measured(tmp_path, "convert", tmp_path / "a.arrow", small, "-m", "8m")
    assert outcome.code == 0, outcome.stderr
    groups = pq.ParquetFile(small).metadata.num_row_groups
    assert groups > 3
    assert pq.read_table(small).equals(table)


def test_columns_are_many_under_a_small_limit(tmp_path):
    table = pa.table({f"c{i}": [f"{i} {k}" for k in range(300)] for i in range(400)})
    path = write(tmp_path, table, "-m", "16m", batch=100)
    assert pq.read_table(path).equals(table)


def test_sorted_rows_are_copied_to_parquet_under_a_limit(tmp_path, mixed):
    source, target = tmp_path / "a.arrow", tmp_path / "sorted.parquet"
    with pa.OSFile(str(source), "wb") as file, pa.ipc.new_file(file, mixed.schema) as writer:
        writer.write_table(mixed, max_chunksize=1000)
    outcome = run("-m", "8m", "-c", f"COPY (SELECT * FROM '{source}' ORDER BY many, sorted DESC) TO '{target}'")
    assert outcome.code == 0, outcome.stderr
    expected = mixed.sort_by([("many", "ascending"), ("sorted", "descending")])
    assert pq.read_table(target).to_pylist() == expected.to_pylist()
