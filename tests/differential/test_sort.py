"""Sorting against an independent reference: random tables of all flat types, any resource setting.

The order is computed in plain Python (tests/support/random_tables.py), and the whole result is compared
with the input rows in that order, bit for bit. As the expected order is stable, one comparison covers
order, stability and content. The result has to be the same for every memory limit, codec, batch size and
thread count. Nested types: test_sort_nested.py.

OUTCORE_SEED starts elsewhere, OUTCORE_ROUNDS makes it longer; a failure prints the seed of its table:
`OUTCORE_SEED=<seed> OUTCORE_ROUNDS=1` repeats it.
"""

import decimal
import os
import random
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import is_sanitized, run  # noqa: E402
from random_tables import (  # noqa: E402
    mask_of, int_column, float_column, decimal_column, ranged_column, bool_column, TYPES, INDEX_TYPES,
    dictionary_column, Column, decoded, decoded_column, key_values, expected_order, Key, make_batches,
    write, read, check_result, settings)

SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ROUNDS = int(os.environ.get("OUTCORE_ROUNDS", "6" if is_sanitized() else "25"))


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_random_tables_sort_as_the_reference_says(seed, tmp_path):
    rng = random.Random(seed)
    is_stream = rng.random() < 0.7
    rows = rng.choice([0, 1, 2, 100, 3000, 5000, 8000, 12000])
    columns = [Column(rng) for _ in range(rng.randint(1, 8))]
    batches = make_batches(rng, columns, rows, may_change=is_stream)
    schema = batches[0].schema if batches else pa.record_batch(
        [c.array(0, True) for c in columns], names=[f"c{i}" for i in range(len(columns))]).schema
    source = tmp_path / ("in.arrows" if is_stream else "in.arrow")
    write(source, schema, batches, rng.choice([None, None, "lz4", "zstd"]), deltas=rng.random() < 0.3)

    content = [decoded_column(batches, i, field.type) for i, field in enumerate(schema)]
    keys = [Key(rng, k) for k in rng.sample(range(len(columns)), min(len(columns), rng.randint(1, 3)))]
    values = {k.column: key_values(content[k.column], schema.field(k.column).type) for k in keys}
    order = pa.array(expected_order(values, keys, rows), pa.int64())
    expected = [column.take(order) for column in content]
    by = ", ".join(key.text() for key in keys)

    for _ in range(4):
        args, batch_rows = settings(rng)
        # The file format has one dictionary per column, for which a narrow index may be too narrow, and
        # a list of all batches in memory, for which tiny ones are too many.
        one_dictionary = not is_stream or not any(pa.types.is_dictionary(field.type) for field in schema)
        may_be_file = one_dictionary and batch_rows >= 64
        target = tmp_path / (rng.choice(["out.arrows", "out.arrow"]) if may_be_file else "out.arrows")
        what = f"seed {seed}: {rows} rows of {[str(f.type) for f in schema]} --by '{by}' {args}"
        try:
            run("sort", source, "--by", by, *args, "-o", target)
        except AssertionError as failure:
            raise AssertionError(f"{what}\n{failure}") from None
        check_result(target, expected, batch_rows, what)


@pytest.mark.parametrize("data_type, make", TYPES, ids=lambda v: str(v) if isinstance(v, pa.DataType) else "")
def test_each_type_as_key_and_payload_when_spilled(data_type, make, tmp_path):
    rows = 2000 if is_sanitized() else 12000
    rng = random.Random(f"{SEED} {data_type}")
    mask = np.array([rng.random() < 0.1 for _ in range(rows)], dtype=bool)
    wide = pa.array([rng.randbytes(200) for _ in range(rows)], pa.binary())  # makes it spill
    table = pa.record_batch([make(rng, data_type, rows, mask), wide], names=["c0", "c1"])
    write(tmp_path / "in.arrows", table.schema, [table.slice(i, 1000) for i in range(0, rows, 1000)])
    content = [decoded(column) for column in table.columns]
    for suffix in ("asc nulls first", "asc nulls last", "desc nulls first", "desc nulls last"):
        key = Key(rng, 0)
        key.descending, key.nulls_first = suffix.startswith("desc"), suffix.endswith("first")
        order = pa.array(expected_order([key_values(content[0], data_type)], [key], rows), pa.int64())
        done = run("sort", tmp_path / "in.arrows", "--by", f"c0 {suffix}", "-m", "1m", "--stats",
                   "-o", tmp_path / "out.arrows")
        assert rows < 12000 or done.stats["spill_count"] > 1
        check_result(tmp_path / "out.arrows", [c.take(order) for c in content], 8192, f"seed {SEED}: {suffix}")


@pytest.mark.parametrize("index_type", INDEX_TYPES, ids=str)
def test_dictionaries_that_change_with_each_batch(index_type, tmp_path):
    """More distinct values in all than the index type can name: output batches end earlier."""
    rng = random.Random(f"{SEED} {index_type}")
    batches = []
    for n in range(40):
        values = pa.array([f"{rng.randrange(5000):05} of batch {n}" + "x" * 30 for _ in range(120)] + [None])
        wide = pa.array([rng.randbytes(100) for _ in range(600)], pa.binary())
        batches.append(pa.record_batch([dictionary_column(rng, values, index_type, 600), wide], names=["c0", "c1"]))
    write(tmp_path / "in.arrows", batches[0].schema, batches)
    content = [decoded_column(batches, i, None) for i in range(2)]
    key = Key(rng, 0)
    order = pa.array(expected_order([key_values(content[0], batches[0].schema.field(0).type)], [key], 24000), pa.int64())
    for limit in ("1m", "8m", "1g"):
        run("sort", tmp_path / "in.arrows", "--by", key.text(), "-m", limit, "-o", tmp_path / "out.arrows")
        check_result(tmp_path / "out.arrows", [c.take(order) for c in content], 8192, f"limit {limit}")


def test_equal_keys_keep_the_order_of_the_input_through_many_passes(tmp_path):
    rows = 20000 if is_sanitized() else 150000
    rng = random.Random(SEED)
    keys = pa.array([rng.randrange(3) for _ in range(rows)], pa.int8())
    payload = pa.array([rng.randbytes(40) for _ in range(rows)], pa.binary())
    table = pa.record_batch([keys, pa.array(range(rows)), payload], names=["k", "n", "p"])
    write(tmp_path / "in.arrows", table.schema, [table.slice(i, 3000) for i in range(0, rows, 3000)])
    for by, reverse in (("k", False), ("k desc", True)):
        for codec in ("none", "lz4", "zstd"):
            done = run("sort", tmp_path / "in.arrows", "--by", by, "-m", "1m", "--spill-compression", codec,
                       "--stats", "-o", tmp_path / "out.arrows")
            order = sorted(range(rows), key=keys.to_pylist().__getitem__, reverse=reverse)
            got = pa.Table.from_batches(read(tmp_path / "out.arrows"))
            assert got["n"].to_pylist() == order, f"seed {SEED}: not stable by {by} with {codec}: {done.stats}"
            assert got["p"].combine_chunks().equals(payload.take(pa.array(order)))


def test_csv_output_is_the_same_for_every_setting(tmp_path):
    rng = random.Random(SEED)
    rows = 4000 if is_sanitized() else 30000
    table = pa.record_batch({
        "a": pa.array([rng.choice(["", "x", 'q"uote', "comma,", "line\nbreak", None]) for _ in range(rows)]),
        "b": pa.array([rng.randrange(100) for _ in range(rows)], pa.int16()),
        "c": pa.array([decimal.Decimal(rng.randrange(10**6)).scaleb(-2) for _ in range(rows)], pa.decimal128(15, 2)),
        "d": pa.array(["text " * rng.randrange(12) for _ in range(rows)]),
    })
    write(tmp_path / "in.arrow", table.schema, [table])
    outputs = set()
    for limit in ("1m", "3m", "64m"):
        for codec in ("none", "lz4", "zstd"):
            for batch_rows, threads in ((1, 1), (1000, 2)):
                done = run("sort", tmp_path / "in.arrow", "--by", "a desc, b", "-m", limit, "-b", batch_rows,
                           "-t", threads, "--spill-compression", codec, "--format", "csv")
                outputs.add(done.stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("seed", range(SEED, SEED + 3))
def test_duckdb_agrees(seed, tmp_path):
    rng = random.Random(seed)
    rows = 2000 if is_sanitized() else 20000
    kinds = [(pa.int32(), int_column(4, True)), (pa.uint64(), int_column(8, False)), (pa.float64(), float_column(8)),
             (pa.decimal128(38, 10), decimal_column), (pa.date32(), ranged_column(-100000, 100000)),
             (pa.timestamp("us"), ranged_column(-10**15, 10**15)), (pa.bool_(), bool_column)]
    arrays = [make(rng, data_type, rows, mask_of(rng, rows)) for data_type, make in kinds]
    arrays.append(pa.array(["w" * rng.randrange(4) + str(rng.randrange(30)) for _ in range(rows)]))
    table = pa.table([*arrays, pa.array(range(rows))], names=[f"c{i}" for i in range(len(arrays))] + ["n"])
    write(tmp_path / "in.arrows", table.schema, table.to_batches(max_chunksize=1500))
    connection = duckdb.connect()
    connection.register("t", table)
    for _ in range(4):
        keys = [Key(rng, k) for k in rng.sample(range(len(arrays)), rng.randint(1, 3))]
        by = ", ".join(f"{k.text()} nulls {'first' if k.nulls_first else 'last'}" if k.nulls is None else k.text()
                       for k in keys)
        run("sort", tmp_path / "in.arrows", "--by", by, "-m", "1m", "-o", tmp_path / "out.arrows")
        ours = pa.Table.from_batches(read(tmp_path / "out.arrows"))["n"].to_pylist()
        # DuckDB is told the row number as the last key: its sort is not stable.
        theirs = [n for n, in connection.execute(f"SELECT n FROM t ORDER BY {by}, n").fetchall()]
        assert ours == theirs, f"seed {seed}: order by {by}"
