"""Tables of every Arrow type that pyarrow can make, for tests of files and sorts.

    TYPES                     name -> pyarrow type
    make_array(type, n, rng)  n random rows with nulls, at an offset into longer buffers
    make_batches((30, 0, 7))  batches of so many rows: one column a type, and "id": 0, 1, 2, ... in any order

Nested arrays are built from their parts, so that they look like what other producers make: lists whose first offset
is not 0, garbage below nulls, list views that overlap and go backwards, union children with rows that nobody refers to,
dictionaries with nulls, duplicates and unused values.
"""

import decimal
import random

import numpy as np
import pyarrow as pa

NULLS = 0.2  # share of the slots

PLAIN_TYPES = {
    "null": pa.null(), "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(),
    "int64": pa.int64(), "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
    "float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64(),
    "decimal32": pa.decimal32(7, 2), "decimal64": pa.decimal64(15, 3), "decimal128": pa.decimal128(30, 5),
    "decimal256": pa.decimal256(60, -4), "date32": pa.date32(), "date64": pa.date64(), "time32_s": pa.time32("s"),
    "time32_ms": pa.time32("ms"), "time64_us": pa.time64("us"), "time64_ns": pa.time64("ns"),
    "timestamp_s": pa.timestamp("s"), "timestamp_ms": pa.timestamp("ms", "UTC"),
    "timestamp_us": pa.timestamp("us", "Europe/Berlin"), "timestamp_ns": pa.timestamp("ns"),
    "duration_s": pa.duration("s"), "duration_ms": pa.duration("ms"), "duration_us": pa.duration("us"),
    "duration_ns": pa.duration("ns"), "interval": pa.month_day_nano_interval(), "fixed_binary": pa.binary(5),
    "utf8": pa.utf8(), "large_utf8": pa.large_utf8(), "utf8_view": pa.string_view(), "binary": pa.binary(),
    "large_binary": pa.large_binary(), "binary_view": pa.binary_view(),
}
_PAIR = pa.struct([pa.field("a", pa.int32()), pa.field("b c", pa.utf8())])
_UNION_FIELDS = [pa.field("n", pa.int64()), pa.field("t", pa.utf8()), pa.field("l", pa.list_(pa.bool_()))]
_DICTIONARY = pa.dictionary(pa.int16(), pa.utf8())
NESTED_TYPES = {
    "list": pa.list_(pa.int32()), "large_list": pa.large_list(pa.utf8()), "list_view": pa.list_view(pa.int16()),
    "large_list_view": pa.large_list_view(pa.large_utf8()), "fixed_list": pa.list_(pa.float32(), 3),
    "fixed_list_0": pa.list_(pa.int8(), 0), "struct": _PAIR, "struct_0": pa.struct([]),
    "map": pa.map_(pa.utf8(), pa.int64()), "map_int": pa.map_(pa.int32(), pa.list_(pa.utf8())),
    "dense_union": pa.dense_union(_UNION_FIELDS, [3, 0, 7]), "sparse_union": pa.sparse_union(_UNION_FIELDS, [5, 1, 2]),
    "runs_16": pa.run_end_encoded(pa.int16(), pa.utf8()), "runs_32": pa.run_end_encoded(pa.int32(), pa.float64()),
    "runs_64": pa.run_end_encoded(pa.int64(), _PAIR), "dictionary_8": pa.dictionary(pa.int8(), pa.utf8()),
    "dictionary_u8": pa.dictionary(pa.uint8(), pa.int64()), "dictionary_16": _DICTIONARY,
    "dictionary_u16": pa.dictionary(pa.uint16(), pa.string_view()),
    "dictionary_32": pa.dictionary(pa.int32(), pa.decimal128(9, 2)),
    "dictionary_u32": pa.dictionary(pa.uint32(), pa.large_utf8(), True),
    "dictionary_64": pa.dictionary(pa.int64(), pa.binary()),
    "dictionary_u64": pa.dictionary(pa.uint64(), pa.date32()),
    "dictionary_of_lists": pa.dictionary(pa.int8(), pa.list_(pa.int32())),
    "dictionary_of_structs": pa.dictionary(pa.int32(), _PAIR),
    "list_of_dictionaries": pa.list_(_DICTIONARY), "struct_of_dictionaries": pa.struct([("x", _DICTIONARY)]),
    "list_of_lists": pa.list_(pa.list_(pa.utf8())), "list_of_structs": pa.list_(_PAIR),
    "struct_of_lists": pa.struct([("l", pa.list_(pa.int8())), ("s", _PAIR), ("v", pa.string_view())]),
    "list_of_bools": pa.list_(pa.bool_()), "list_of_nulls": pa.list_(pa.null()),
    "list_of_views": pa.list_(pa.string_view()), "list_of_unions": pa.list_(pa.dense_union(_UNION_FIELDS)),
    "list_of_runs": pa.list_(pa.run_end_encoded(pa.int32(), pa.int64())),
    "list_of_maps": pa.large_list(pa.map_(pa.utf8(), pa.utf8())), "fixed_list_of_lists": pa.list_(pa.list_(pa.int8()), 2),
    "view_of_views": pa.list_view(pa.list_view(pa.int32())), "struct_of_unions": pa.struct([
        ("u", pa.sparse_union([pa.field("a", pa.int8()), pa.field("b", pa.struct([("c", pa.float64())]))]))]),
    "deep": pa.list_(pa.struct([("a", pa.list_(pa.struct([("b", pa.map_(pa.utf8(), pa.list_(pa.int32())))])))])),
}
TYPES = {**PLAIN_TYPES, **NESTED_TYPES}


# ---- values --------------------------------------------------------------------------------------------------------

def _text(rng):
    return "".join(rng.choice("abcäöü€𝄞xyz ") for _ in range(rng.randrange(30)))


def _plain_value(kind, rng):
    if pa.types.is_boolean(kind):
        return rng.random() < 0.5
    if pa.types.is_integer(kind):
        low = -(1 << kind.bit_width - 1) if pa.types.is_signed_integer(kind) else 0
        return rng.randrange(low, low + (1 << kind.bit_width))
    if pa.types.is_float16(kind):
        return np.float16(rng.randrange(-2048, 2048) / 8)
    if pa.types.is_floating(kind):
        return rng.choice([float(rng.randrange(-2**20, 2**20)) / 8, float("inf"), -0.0])
    if pa.types.is_decimal(kind):
        limit = 10 ** kind.precision
        with decimal.localcontext(prec=80):
            return decimal.Decimal(rng.randrange(1 - limit, limit)).scaleb(-kind.scale)
    if kind == pa.month_day_nano_interval():
        return pa.MonthDayNano([rng.randrange(-9, 9), rng.randrange(-99, 99), rng.randrange(-2**40, 2**40)])
    if pa.types.is_fixed_size_binary(kind):
        return rng.randbytes(kind.byte_width)
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return rng.randbytes(rng.randrange(30))
    return _text(rng)


# Temporal types are made of integers in a range that others can show.
def _temporal_integer(kind, rng):
    if pa.types.is_date32(kind):
        return rng.randrange(-10000, 20000)
    if pa.types.is_date64(kind):
        return rng.randrange(-10000, 20000) * 86400000
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    if pa.types.is_time(kind):
        return rng.randrange(86400 * per_second)
    return rng.randrange(-2**31, 2**31) * per_second + rng.randrange(per_second)


def _plain_array(kind, n, rng):
    if pa.types.is_null(kind):
        return pa.nulls(n)
    if pa.types.is_temporal(kind) and kind != pa.month_day_nano_interval():
        values = [None if rng.random() < NULLS else _temporal_integer(kind, rng) for _ in range(n)]
        return pa.array(values, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)
    return pa.array([None if rng.random() < NULLS else _plain_value(kind, rng) for _ in range(n)], kind)


# ---- arrays of parts -----------------------------------------------------------------------------------------------

def _mask(n, rng):
    return pa.array([rng.random() < NULLS for _ in range(n)], pa.bool_())


def _offsets(n, rng, kind):
    """Where n lists of 0 to 3 rows begin, and how many rows they take. The first offset is not 0."""
    offsets = [2]
    for _ in range(n):
        offsets.append(offsets[-1] + rng.choice([0, 0, 1, 2, 3]))
    return pa.array(offsets, kind), offsets[-1] + 1


def _list_array(kind, n, rng):
    large = pa.types.is_large_list(kind)
    offsets, rows = _offsets(n, rng, pa.int64() if large else pa.int32())
    make = pa.LargeListArray if large else pa.ListArray
    return make.from_arrays(offsets, _rows(kind.value_type, rows, rng), type=kind, mask=_mask(n, rng))


def _list_view_array(kind, n, rng):
    large = pa.types.is_large_list_view(kind)
    offset_type = pa.int64() if large else pa.int32()
    rows = n + 3
    starts = [rng.randrange(rows) for _ in range(n)]
    sizes = [rng.randrange(min(4, rows - start + 1)) for start in starts]
    make = pa.LargeListViewArray if large else pa.ListViewArray
    return make.from_arrays(pa.array(starts, offset_type), pa.array(sizes, offset_type),
                            _rows(kind.value_type, rows, rng), type=kind, mask=_mask(n, rng))


def _struct_array(kind, n, rng):
    if kind.num_fields == 0:
        return pa.array([None if rng.random() < NULLS else {} for _ in range(n)], kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    return pa.StructArray.from_arrays([_rows(f.type, n, rng) for f in fields], fields=fields, mask=_mask(n, rng))


def _map_array(kind, n, rng):
    offsets, rows = _offsets(n, rng, pa.int32())
    keys = [_plain_value(kind.key_type, rng) for _ in range(rows)]
    return pa.MapArray.from_arrays(offsets, pa.array(keys, kind.key_type), _rows(kind.item_type, rows, rng), kind,
                                   mask=_mask(n, rng))


def _union_array(kind, n, rng):
    fields = [kind.field(i) for i in range(kind.num_fields)]
    names = [f.name for f in fields]
    types = [rng.randrange(len(fields)) for _ in range(n)]
    codes = pa.array([kind.type_codes[i] for i in types], pa.int8())
    if kind.mode == "sparse":
        children = [_rows(f.type, n, rng) for f in fields]
        return pa.UnionArray.from_sparse(codes, children, names, kind.type_codes)
    rows, used = [], [1] * len(fields)  # row 0 of every child is not referred to
    for i in types:
        rows.append(used[i])
        used[i] += 1
    children = [_rows(f.type, used[i], rng) for i, f in enumerate(fields)]
    return pa.UnionArray.from_dense(codes, pa.array(rows, pa.int32()), children, names, kind.type_codes)


def _run_array(kind, n, rng):
    ends = []
    while not ends or ends[-1] < n:
        ends.append((ends[-1] if ends else 0) + rng.randrange(1, 6))
    return pa.RunEndEncodedArray.from_arrays(pa.array(ends, kind.run_end_type),
                                             _rows(kind.value_type, len(ends), rng), kind).slice(0, n)


def _dictionary_array(kind, n, rng):
    values = _rows(kind.value_type, 20, rng)
    indices = [None if rng.random() < NULLS else rng.randrange(20) for _ in range(n)]
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind.index_type), values, ordered=kind.ordered)


_MAKERS = [
    (pa.types.is_list_view, _list_view_array), (pa.types.is_large_list_view, _list_view_array),
    (pa.types.is_list, _list_array), (pa.types.is_large_list, _list_array), (pa.types.is_struct, _struct_array),
    (pa.types.is_map, _map_array), (pa.types.is_union, _union_array), (pa.types.is_run_end_encoded, _run_array),
    (pa.types.is_dictionary, _dictionary_array),
    (pa.types.is_fixed_size_list, lambda kind, n, rng: pa.FixedSizeListArray.from_arrays(
        _rows(kind.value_type, n * kind.list_size, rng), type=kind, mask=_mask(n, rng)) if kind.list_size > 0
     else pa.array([None if rng.random() < NULLS else [] for _ in range(n)], kind)),
]


def _rows(kind, n, rng):
    for is_kind, make in _MAKERS:
        if is_kind(kind):
            return make(kind, n, rng)
    return _plain_array(kind, n, rng)


def make_array(kind, n, rng):
    return _rows(kind, n + 5, rng).slice(3, n)


def make_batch(ids, seed, names=tuple(TYPES)):
    """A row for each of ids, in any order, with these columns of TYPES."""
    rng = random.Random(f"{seed} {len(ids)}")
    columns = {"id": pa.array(rng.sample(ids, len(ids)), pa.int64())}
    for name in names:
        columns[name] = make_array(TYPES[name], len(ids), rng)
        columns[name].validate(full=True)
    fields = [pa.field(name, column.type, metadata={"of": name}) for name, column in columns.items()]
    return pa.RecordBatch.from_arrays(list(columns.values()), schema=pa.schema(fields, metadata={"made": "here"}))


def make_batches(lengths, names=tuple(TYPES)):
    """The ids of a table are distinct, and those of a batch above those of the one before."""
    batches, first = [], 0
    for seed, n in enumerate(lengths):
        batches.append(make_batch(range(first, first + n), seed, names))
        first += n
    return batches
