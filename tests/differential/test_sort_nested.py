"""Sorting nested columns against an independent reference: lists, structs, runs and dictionaries of any
depth as keys, maps and unions beside them.

A row becomes a tree of Python values with the raw bits at its leaves; the order of trees is that of Python's
lists and tuples, with a null behind every value. The whole result is compared with the input rows in that
order, so one comparison covers order, stability and content, for every limit, codec and batch size. DuckDB
and pyarrow are asked as well for what they can sort.

OUTCORE_SEED and OUTCORE_ROUNDS as in test_sort.py.
"""

import os
import random
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import is_sanitized, run  # noqa: E402
from random_tables import (  # noqa: E402
    INDEX_TYPES, TYPES, Key, decimal_column, expected_order, fixed_column, float_rank, from_raw, int_column,
    make_batches, mask_of, ranged_column, read, settings, string_column, write)

SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ROUNDS = int(os.environ.get("OUTCORE_ROUNDS", "6" if is_sanitized() else "25"))
MAKERS = dict(TYPES)

# ---- random types ----------------------------------------------------------------------------------


def choose_type(rng, depth, ordered, dictionaries=True):
    """A type of at most `depth` levels; `ordered`: without maps and unions."""
    if depth == 0 or rng.random() < 0.15:
        return rng.choice(TYPES)[0]

    def child():
        return choose_type(rng, depth - 1, ordered, dictionaries)
    kinds = ["list", "large_list", "list_view", "large_list_view", "fixed_list", "struct", "struct", "runs"]
    kinds += [] if ordered else ["map", "dense_union", "sparse_union"]
    kinds += ["dictionary"] if dictionaries else []
    kind = rng.choice(kinds)
    if kind == "fixed_list":
        return pa.list_(child(), rng.randint(1, 3))
    if kind == "struct":
        return pa.struct([(f"f{i}", child()) for i in range(rng.randint(1, 3))])
    if kind == "runs":
        return pa.run_end_encoded(rng.choice([pa.int16(), pa.int32(), pa.int64()]), without_runs(child()))
    if kind == "map":
        return pa.map_(choose_type(rng, 0, True), child())
    if kind.endswith("union"):
        return pa.union([pa.field(f"u{i}", child()) for i in range(rng.randint(1, 3))],
                        mode=kind.removesuffix("_union"), type_codes=None)
    if kind == "dictionary":
        return pa.dictionary(rng.choice(INDEX_TYPES), without_runs(choose_type(rng, depth - 1, ordered, False)))
    makers = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view,
              "large_list_view": pa.large_list_view}
    return makers[kind](child())


def without_runs(data_type):
    """Runs of runs are legal, but pyarrow makes none."""
    while pa.types.is_run_end_encoded(data_type):
        data_type = data_type.value_type
    return data_type


def children_of(data_type):
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return [data_type.value_type]
    return [data_type.field(i).type for i in range(data_type.num_fields)]


def has_order(data_type):
    return not (pa.types.is_map(data_type) or pa.types.is_union(data_type)) and \
        all(has_order(child) for child in children_of(data_type))


def has_dictionary(data_type):
    return pa.types.is_dictionary(data_type) or any(has_dictionary(child) for child in children_of(data_type))


# ---- random columns --------------------------------------------------------------------------------


def is_any_list(data_type):
    return pa.types.is_list(data_type) or pa.types.is_large_list(data_type)


def is_any_list_view(data_type):
    return pa.types.is_list_view(data_type) or pa.types.is_large_list_view(data_type)


def validity_of(mask):
    return None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little").tobytes())


def make(rng, data_type, rows):
    """A column of a type; every level has nulls of its own, with values under them."""
    if data_type in MAKERS:
        return MAKERS[data_type](rng, data_type, rows, mask_of(rng, rows))
    if pa.types.is_dictionary(data_type):
        n = rng.randint(1, 20)
        indices = pa.array([rng.randrange(n) for _ in range(rows)], data_type.index_type, mask=mask_of(rng, rows))
        return pa.DictionaryArray.from_arrays(indices, make(rng, data_type.value_type, n), safe=False)
    if pa.types.is_run_end_encoded(data_type):
        return make_runs(rng, data_type, rows)
    if pa.types.is_struct(data_type):
        children = [make(rng, field.type, rows) for field in data_type]
        return pa.StructArray.from_buffers(data_type, rows, [validity_of(mask_of(rng, rows))], children=children)
    if pa.types.is_union(data_type):
        return make_union(rng, data_type, rows)
    return make_lists(rng, data_type, rows)


def make_runs(rng, data_type, rows):
    ends = []
    while rows > (ends[-1] if ends else 0):
        ends.append(min(rows, (ends[-1] if ends else 0) + rng.choice([1, 1, 2, 5, 40])))
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, data_type.run_end_type),
                                             make(rng, data_type.value_type, len(ends)), data_type)


def make_union(rng, data_type, rows):
    n = data_type.num_fields
    ids = [rng.randrange(n) for _ in range(rows)]
    codes = pa.array(ids, pa.int8())
    names = [data_type.field(i).name for i in range(n)]
    if data_type.mode == "sparse":
        return pa.UnionArray.from_sparse(codes, [make(rng, data_type.field(i).type, rows) for i in range(n)], names)
    counts, offsets = [0] * n, []
    for i in ids:
        offsets.append(counts[i])
        counts[i] += 1
    children = [make(rng, data_type.field(i).type, counts[i]) for i in range(n)]
    return pa.UnionArray.from_dense(codes, pa.array(offsets, pa.int32()), children, names)


def make_lists(rng, data_type, rows):
    validity = validity_of(mask_of(rng, rows))
    if pa.types.is_fixed_size_list(data_type):
        child = make(rng, data_type.value_type, rows * data_type.list_size)
        return pa.Array.from_buffers(data_type, rows, [validity], children=[child])
    sizes = np.array([rng.choice([0, 0, 1, 1, 2, 3]) for _ in range(rows)], dtype=np.int64)
    is_wide = pa.types.is_large_list(data_type) or pa.types.is_large_list_view(data_type)
    width = np.int64 if is_wide else np.int32
    starts = np.concatenate([[0], np.cumsum(sizes)]) + rng.choice([0, 0, 2])
    total = int(starts[-1]) + rng.choice([0, 1])
    if pa.types.is_map(data_type):
        # Keys are never null.
        entries = pa.StructArray.from_arrays(
            [MAKERS[data_type.key_type](rng, data_type.key_type, total, None), make(rng, data_type.item_type, total)],
            fields=[data_type.key_field, data_type.item_field])
        return pa.Array.from_buffers(data_type, rows, [validity, pa.py_buffer(starts.astype(width).tobytes())],
                                     children=[entries])
    child = make(rng, data_type.value_type, total)
    if is_any_list_view(data_type):
        order = rng.sample(range(rows), rows)  # views lie in any order, and some lie in others
        firsts = np.array([starts[i] for i in order], dtype=width)
        lengths = np.array([rng.randint(0, sizes[i]) for i in order], dtype=width)
        return pa.Array.from_buffers(data_type, rows, [validity, pa.py_buffer(firsts.tobytes()),
                                                       pa.py_buffer(lengths.tobytes())], children=[child])
    return pa.Array.from_buffers(data_type, rows, [validity, pa.py_buffer(starts.astype(width).tobytes())],
                                 children=[child])


class Column:
    """What make_batches asks for the array of each batch."""

    def __init__(self, rng, data_type):
        self.rng, self.data_type = rng, data_type

    def array(self, rows, may_change):
        return make(self.rng, self.data_type, rows)


# ---- trees -----------------------------------------------------------------------------------------


def leaf_trees(array):
    data_type = array.type
    if "view" in str(data_type) or pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        is_text = pa.types.is_string(data_type) or pa.types.is_string_view(data_type)
        array = array.cast(pa.large_utf8() if is_text else pa.large_binary())
    if pa.types.is_large_string(array.type):
        array = array.cast(pa.large_binary())
    if pa.types.is_null(data_type) or pa.types.is_boolean(data_type) or pa.types.is_large_binary(array.type):
        return array.to_pylist()
    width = data_type.bit_width // 8
    raw = array.buffers()[1].to_pybytes()
    at = array.offset * width
    return [raw[at + i * width:at + (i + 1) * width] if valid else None
            for i, valid in enumerate(array.is_valid().to_pylist())]


def spans(array):
    """First element and number of elements of each row of a list."""
    data_type = array.type
    if pa.types.is_fixed_size_list(data_type):
        return [((array.offset + i) * data_type.list_size, data_type.list_size) for i in range(len(array))]
    starts = array.offsets.to_pylist()
    if is_any_list_view(data_type):
        return list(zip(starts, array.sizes.to_pylist()))
    return [(first, end - first) for first, end in zip(starts, starts[1:])]


def trees(array):
    """The rows of any array as Python values: None, bytes or bool at the leaves, lists and tuples above."""
    data_type = array.type
    if len(array) == 0:
        return []
    if pa.types.is_dictionary(data_type):
        values = trees(array.dictionary)
        return [None if i is None else values[i] for i in array.indices.to_pylist()]
    if pa.types.is_run_end_encoded(data_type):
        values, run, ends = trees(array.values), 0, array.run_ends.to_pylist()
        rows = []
        for slot in range(array.offset, array.offset + len(array)):
            while ends[run] <= slot:
                run += 1
            rows.append(values[run])
        return rows
    if pa.types.is_union(data_type):
        # Codes and offsets of slices come out wrong in pyarrow, so they are taken from the buffers.
        children = [trees(array.field(i)) for i in range(data_type.num_fields)]
        codes, offsets = array.buffers()[1], array.buffers()[2] if data_type.mode == "dense" else None
        here = slice(array.offset, array.offset + len(array))
        at = range(len(array)) if offsets is None else np.frombuffer(offsets, np.int32)[here].tolist()
        return [(code, children[code][row]) for code, row in zip(np.frombuffer(codes, np.int8)[here].tolist(), at)]
    if data_type.num_fields == 0:
        return leaf_trees(array)
    valid = array.is_valid().to_pylist()
    if pa.types.is_struct(data_type):
        rows = zip(*[trees(array.field(i)) for i in range(data_type.num_fields)])
        return [row if is_valid else None for row, is_valid in zip(rows, valid)]
    elements = list(zip(trees(array.keys), trees(array.items))) if pa.types.is_map(data_type) else trees(array.values)
    return [elements[first:first + n] if is_valid else None for (first, n), is_valid in zip(spans(array), valid)]


def rank(tree, data_type):
    """Python's order of these is the order of values; `tree` is not null."""
    if pa.types.is_dictionary(data_type) or pa.types.is_run_end_encoded(data_type):
        return rank(tree, data_type.value_type)
    if pa.types.is_struct(data_type):
        return tuple(inner_rank(part, field.type) for part, field in zip(tree, data_type))
    if data_type.num_fields > 0:
        return [inner_rank(element, data_type.value_type) for element in tree]
    if pa.types.is_floating(data_type):
        return float_rank(int.from_bytes(tree, "little"), data_type.bit_width // 8)
    if pa.types.is_interval(data_type):
        months, days, nanos = (int.from_bytes(tree[a:b], "little", signed=True) for a, b in ((0, 4), (4, 8), (8, 16)))
        return (months * 30 + days) * 86_400_000_000_000 + nanos
    if isinstance(tree, bool) or pa.types.is_fixed_size_binary(data_type) and not pa.types.is_decimal(data_type):
        return tree
    if pa.types.is_integer(data_type) or pa.types.is_decimal(data_type) or pa.types.is_temporal(data_type):
        return int.from_bytes(tree, "little", signed=not pa.types.is_unsigned_integer(data_type))
    return tree  # strings


def inner_rank(tree, data_type):
    return (1, 0) if tree is None else (0, rank(tree, data_type))


def key_ranks(rows, data_type):
    return [None if tree is None else rank(tree, data_type) for tree in rows]


# ---- checks ----------------------------------------------------------------------------------------


def content_of(batches, n_columns):
    return [[tree for batch in batches for tree in trees(batch.column(i))] for i in range(n_columns)]


def check_result(path, schema, content, order, batch_rows, what):
    batches = read(path)
    for batch in batches:
        batch.validate(full=True)
        assert batch.num_rows <= batch_rows, f"{what}: a batch of {batch.num_rows} rows"
        assert batch.schema.equals(schema, check_metadata=True), f"{what}: came out as {batch.schema}"
    for i, got in enumerate(content_of(batches, len(schema))):
        wanted = [content[i][row] for row in order]
        assert len(got) == len(wanted), f"{what}: {len(got)} rows instead of {len(wanted)}"
        at = next((r for r in range(len(wanted)) if got[r] != wanted[r]), None)
        assert at is None, f"{what}: column c{i} differs first at row {at}: {got[at]!r} instead of {wanted[at]!r}"


def orders_of(content, schema, keys):
    values = {k.column: key_ranks(content[k.column], schema.field(k.column).type) for k in keys}
    return expected_order(values, keys, len(content[0]))


# ---- tests -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(SEED, SEED + ROUNDS))
def test_random_nested_tables_sort_as_the_reference_says(seed, tmp_path):
    rng = random.Random(f"nested {seed}")
    rows = rng.choice([0, 1, 2, 100, 1000, 3000])
    types = [choose_type(rng, rng.randint(1, 3), ordered=i == 0 or rng.random() < 0.6) for i in range(rng.randint(1, 5))]
    batches = make_batches(rng, [Column(rng, t) for t in types], rows, True)
    schema = batches[0].schema if batches else pa.schema([(f"c{i}", t) for i, t in enumerate(types)])
    is_stream = any(has_dictionary(t) for t in types) or rng.random() < 0.6
    source = tmp_path / ("in.arrows" if is_stream else "in.arrow")
    write(source, schema, batches, rng.choice([None, None, "lz4", "zstd"]))
    content = content_of(batches, len(types))
    sortable = [i for i, t in enumerate(types) if has_order(t)]
    for _ in range(3):
        keys = [Key(rng, k) for k in rng.sample(sortable, min(len(sortable), rng.randint(1, 3)))]
        by = ", ".join(key.text() for key in keys)
        args, batch_rows = settings(rng)
        first = rng.choice([None, None, 1, 37, rows + 5])
        args += [] if first is None else ["--limit", first]
        target = tmp_path / (rng.choice(["out.arrows", "out.arrow"])
                             if not is_stream and batch_rows >= 64 else "out.arrows")
        what = f"seed {seed}: {rows} rows of {[str(t) for t in types]} --by '{by}' {args}"
        try:
            run("sort", source, "--by", by, *args, "-o", target)
        except AssertionError as failure:
            raise AssertionError(f"{what}\n{failure}") from None
        check_result(target, schema, content, orders_of(content, schema, keys)[:first], batch_rows, what)


FLAT = [pa.int32(), pa.utf8(), pa.float64(), pa.decimal128(38, 10), pa.bool_(), pa.binary_view()]
SHAPES = {
    "list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view, "large_list_view": pa.large_list_view,
    "fixed_list": lambda t: pa.list_(t, 2),
    "struct": lambda t: pa.struct([("a", t), ("b", pa.int8()), ("c", t)]),
    "runs": lambda t: pa.run_end_encoded(pa.int32(), t),
    "dictionary": lambda t: pa.dictionary(pa.int16(), t),
    "dictionary of structs": lambda t: pa.dictionary(pa.int8(), pa.struct([("a", t), ("b", pa.list_(t))])),
    "list of structs": lambda t: pa.list_(pa.struct([("a", t), ("b", pa.utf8())])),
    "struct of runs": lambda t: pa.struct([("a", pa.run_end_encoded(pa.int16(), t)), ("b", pa.list_view(t))]),
    "list of dictionaries": lambda t: pa.list_(pa.dictionary(pa.uint8(), t)),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("flat", FLAT, ids=str)
def test_each_nested_type_as_key_and_payload_when_spilled(shape, flat, tmp_path):
    rows = 1500 if is_sanitized() else 6000
    rng = random.Random(f"{SEED} {shape} {flat}")
    data_type = SHAPES[shape](flat)
    batches = []
    for at in range(0, rows, 1000):
        n = min(1000, rows - at)
        wide = pa.array([rng.randbytes(300) for _ in range(n)], pa.binary())  # makes it spill
        batches.append(pa.record_batch([make(rng, data_type, n), wide], names=["c0", "c1"]))
    write(tmp_path / "in.arrows", batches[0].schema, batches)
    content = content_of(batches, 2)
    for suffix in ("asc nulls first", "asc nulls last", "desc nulls first", "desc nulls last"):
        key = Key(rng, 0)
        key.descending, key.nulls_first = suffix.startswith("desc"), suffix.endswith("first")
        done = run("sort", tmp_path / "in.arrows", "--by", f"c0 {suffix}", "-m", "1m", "--stats",
                   "-o", tmp_path / "out.arrows")
        assert rows < 6000 or done.stats["spill_count"] > 1
        check_result(tmp_path / "out.arrows", batches[0].schema, content,
                     orders_of(content, batches[0].schema, [key]), 8192, f"seed {SEED}: {suffix}")


DUCKDB_LEAVES = [pa.int32(), pa.uint64(), pa.float64(), pa.utf8(), pa.bool_(), pa.decimal128(38, 10), pa.date32()]


def choose_duckdb_type(rng, depth):
    if depth == 0:
        return rng.choice(DUCKDB_LEAVES)
    child = choose_duckdb_type(rng, depth - 1)
    return rng.choice([
        pa.list_(child), pa.large_list(child), pa.list_view(child), pa.list_(child, rng.randint(1, 3)),
        pa.struct([("a", child), ("b", choose_duckdb_type(rng, 0)), ("c", pa.list_(choose_duckdb_type(rng, 0)))])])


def with_default_nulls(key):
    return key.text() if key.nulls is not None else f"{key.text()} nulls {'first' if key.nulls_first else 'last'}"


@pytest.mark.parametrize("seed", range(SEED, SEED + (4 if is_sanitized() else 12)))
def test_duckdb_agrees_on_nested_values(seed, tmp_path):
    rng = random.Random(f"duckdb {seed}")
    rows = 1000 if is_sanitized() else 5000
    arrays = [make(rng, choose_duckdb_type(rng, rng.randint(1, 3)), rows) for _ in range(3)]
    table = pa.record_batch([*arrays, pa.array(range(rows))], names=["c0", "c1", "c2", "n"])
    write(tmp_path / "in.arrows", table.schema, [table.slice(i, 700) for i in range(0, rows, 700)])
    connection = duckdb.connect()
    connection.register("t", pa.table(table))
    for _ in range(4):
        by = ", ".join(with_default_nulls(Key(rng, k)) for k in rng.sample(range(3), rng.randint(1, 2)))
        run("sort", tmp_path / "in.arrows", "--by", by, "-m", "1m", "-o", tmp_path / "out.arrows")
        ours = [n for batch in read(tmp_path / "out.arrows") for n in batch["n"].to_pylist()]
        # DuckDB is told the row number as the last key: its sort is not stable.
        theirs = [n for n, in connection.execute(f"SELECT n FROM t ORDER BY {by}, n").fetchall()]
        assert ours == theirs, f"seed {seed}: order of {[str(a.type) for a in arrays]} by {by}"


# pyarrow keeps NaN beside nulls, so floats come without.
PYARROW_TYPES = [
    (pa.int8(), int_column(1, True)), (pa.uint64(), int_column(8, False)),
    (pa.float64(), lambda rng, t, rows, mask: pa.array([rng.choice([0.0, -1.5, 1e300, -1e-300, 7.0])
                                                        for _ in range(rows)], t, mask=mask)),
    (pa.decimal128(38, 10), decimal_column), (pa.decimal256(76, 20), decimal_column),
    (pa.date64(), ranged_column(-1000, 1000, 86400000)), (pa.time32("ms"), ranged_column(0, 86399999)),
    (pa.timestamp("ns", "UTC"), int_column(8, True)), (pa.duration("ms"), ranged_column(-9, 9)),
    (pa.binary(5), fixed_column), (pa.utf8(), string_column), (pa.large_binary(), string_column),
]


@pytest.mark.parametrize("seed", range(SEED, SEED + 4))
def test_pyarrow_agrees_on_flat_values(seed, tmp_path):
    rng = random.Random(f"pyarrow {seed}")
    rows = 1000 if is_sanitized() else 8000
    arrays = [maker(rng, data_type, rows, mask_of(rng, rows)) for data_type, maker in PYARROW_TYPES]
    names = [f"c{i}" for i in range(len(arrays))]
    table = pa.record_batch([*arrays, pa.array(range(rows))], names=[*names, "n"])
    write(tmp_path / "in.arrows", table.schema, [table.slice(i, 700) for i in range(0, rows, 700)])
    for column in range(len(arrays)):
        key = Key(rng, column)
        run("sort", tmp_path / "in.arrows", "--by", with_default_nulls(key), "-m", "1m", "-o", tmp_path / "out.arrows")
        ours = [n for batch in read(tmp_path / "out.arrows") for n in batch["n"].to_pylist()]
        order = (names[column], "descending" if key.descending else "ascending",
                 "at_start" if key.nulls_first else "at_end")
        theirs = pc.sort_indices(table, sort_keys=[order]).to_pylist()
        assert ours == theirs, f"seed {seed}: order of {arrays[column].type} by {key.text()}"


@pytest.mark.parametrize("data_type, kind", [
    (pa.map_(pa.utf8(), pa.int32()), "map"),
    (pa.struct([("a", pa.int8()), ("b", pa.list_(pa.map_(pa.utf8(), pa.int32())))]), "map"),
    (pa.dense_union([pa.field("x", pa.int8())]), "dense_union"),
    (pa.list_(pa.sparse_union([pa.field("x", pa.int8())])), "sparse_union"),
], ids=str)
def test_types_without_an_order_are_refused_by_name(data_type, kind, tmp_path):
    table = pa.record_batch([make(random.Random(SEED), data_type, 5), pa.array(range(5))], names=["c0", "n"])
    write(tmp_path / "in.arrows", table.schema, [table])
    done = run("sort", tmp_path / "in.arrows", "--by", "c0", "-o", tmp_path / "out.arrows", check=False)
    assert done.code != 0
    assert 'could not sort by column "c0"' in done.stderr and "has no order" in done.stderr and kind in done.stderr
    assert not (tmp_path / "out.arrows").exists()
