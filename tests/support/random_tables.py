"""Random tables of flat types, and the order that sorting has to give them.

The order is computed in plain Python, from the raw bits that pyarrow hands out. A column comes from a
function `make(rng, data_type, rows, mask)`; TYPES lists the types with theirs.
"""

import struct

import numpy as np
import pyarrow as pa

INDEX_TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(),
               pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]

# ---- random columns --------------------------------------------------------------------------------

FLOAT_BITS = {  # -0.0, 0.0, +-inf, NaNs with payloads and signs, denormals, extremes
    2: [0x8000, 0x0000, 0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7D55, 0x0001, 0x8001, 0x7BFF, 0xFBFF],
    4: [0x80000000, 0, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800123, 1, 0x80000001,
        0x7F7FFFFF, 0xFF7FFFFF],
    8: [1 << 63, 0, 0x7FF0 << 48, 0xFFF0 << 48, 0x7FF8 << 48, (0xFFF8 << 48) | 7, (0x7FF0 << 48) | 99,
        1, (1 << 63) | 1, (0x7FF0 << 48) - 1, (0xFFF0 << 48) - 1],
}


def mask_of(rng, rows):
    """Which rows are null, or None for no bitmap at all."""
    share = rng.choice([0, 0, 0.1, 0.5, 1.0 if rng.random() < 0.2 else 0.02])
    return None if share == 0 else np.array([rng.random() < share for _ in range(rows)], dtype=bool)


def from_raw(data_type, raw, mask):
    """An array of a fixed-width type over raw bytes; values lie under null slots as well."""
    rows = len(raw) // (data_type.bit_width // 8)
    validity = None
    if mask is not None:
        validity = pa.py_buffer(np.packbits(~mask, bitorder="little").tobytes())
    return pa.Array.from_buffers(data_type, rows, [validity, pa.py_buffer(raw)])


def int_column(width, signed):
    def make(rng, data_type, rows, mask):
        low, high = (-(1 << 8 * width - 1), (1 << 8 * width - 1) - 1) if signed else (0, (1 << 8 * width) - 1)
        few = [rng.randint(low, high) for _ in range(5)] + [low, high, 0, 1]
        wide = rng.random() < 0.5
        values = [rng.randint(low, high) if wide else rng.choice(few) for _ in range(rows)]
        return from_raw(data_type, b"".join(v.to_bytes(width, "little", signed=signed) for v in values), mask)
    return make


def float_column(width):
    def make(rng, data_type, rows, mask):
        special = FLOAT_BITS[width]
        values = [rng.choice(special) if rng.random() < 0.3 else rng.getrandbits(8 * width) for _ in range(rows)]
        return from_raw(data_type, b"".join(v.to_bytes(width, "little") for v in values), mask)
    return make


def decimal_column(rng, data_type, rows, mask):
    most = 10 ** data_type.precision - 1
    width = data_type.bit_width // 8
    few = [0, 1, -1, most, -most]
    values = [rng.choice(few) if rng.random() < 0.2 else rng.randint(-most, most) // 10 ** rng.randrange(data_type.precision)
              for _ in range(rows)]
    return from_raw(data_type, b"".join(v.to_bytes(width, "little", signed=True) for v in values), mask)


def ranged_column(low, high, step=1):
    def make(rng, data_type, rows, mask):
        width = data_type.bit_width // 8
        values = [rng.randint(low, high) * step for _ in range(rows)]
        return from_raw(data_type, b"".join(v.to_bytes(width, "little", signed=True) for v in values), mask)
    return make


def bool_column(rng, data_type, rows, mask):
    return pa.array([rng.random() < 0.5 for _ in range(rows)], data_type, mask=mask)


def null_column(rng, data_type, rows, mask):
    return pa.nulls(rows)


def words(rng, text):
    """A source of strings: few or many distinct, shared prefixes, bytes that escaping has to watch."""
    alphabet = "ab\0\x01ÿ€𝄞" if text else None
    prefix = "x" * rng.choice([0, 0, 3, 11, 12, 13, 70])
    longest = rng.choice([1, 4, 13, 40, 300 if rng.random() < 0.3 else 20])

    def word():
        if text:
            return prefix + "".join(rng.choice(alphabet) for _ in range(rng.randint(0, longest)))
        return prefix.encode() + bytes(rng.choice((0, 1, 254, 255, 97)) for _ in range(rng.randint(0, longest)))
    few = [word() for _ in range(rng.choice([1, 3, 50]))]
    return (lambda: rng.choice(few)) if rng.random() < 0.4 else word


def string_column(rng, data_type, rows, mask):
    text = pa.types.is_string(data_type) or pa.types.is_large_string(data_type) or pa.types.is_string_view(data_type)
    word = words(rng, text)
    return pa.array([word() for _ in range(rows)], data_type, mask=mask)


def fixed_column(rng, data_type, rows, mask):
    width = data_type.byte_width
    few = [bytes(rng.choice((0, 255, 7)) for _ in range(width)) for _ in range(40)]
    return pa.array([rng.choice(few) for _ in range(rows)], data_type, mask=mask)


def interval_column(rng, data_type, rows, mask):
    raw = b"".join(struct.pack("<iiq", rng.randint(-5, 5), rng.randint(-40, 40), rng.randint(-10**15, 10**15))
                   for _ in range(rows))
    return pa.Array.from_buffers(data_type, rows, [
        None if mask is None else pa.py_buffer(np.packbits(~mask, bitorder="little").tobytes()), pa.py_buffer(raw)])


FIXED_TYPES = [
    (pa.null(), null_column), (pa.bool_(), bool_column),
    (pa.int8(), int_column(1, True)), (pa.int16(), int_column(2, True)),
    (pa.int32(), int_column(4, True)), (pa.int64(), int_column(8, True)),
    (pa.uint8(), int_column(1, False)), (pa.uint16(), int_column(2, False)),
    (pa.uint32(), int_column(4, False)), (pa.uint64(), int_column(8, False)),
    (pa.float16(), float_column(2)), (pa.float32(), float_column(4)), (pa.float64(), float_column(8)),
    (pa.decimal32(9, 2), decimal_column), (pa.decimal64(18, 4), decimal_column),
    (pa.decimal128(38, 10), decimal_column), (pa.decimal256(76, 20), decimal_column),
    (pa.date32(), ranged_column(-100000, 100000)), (pa.date64(), ranged_column(-1000, 1000, 86400000)),
    (pa.time32("s"), ranged_column(0, 86399)), (pa.time32("ms"), ranged_column(0, 86399999)),
    (pa.time64("us"), ranged_column(0, 86399999999)), (pa.time64("ns"), ranged_column(0, 86399999999999)),
    (pa.timestamp("s"), ranged_column(-10**9, 10**9)), (pa.timestamp("us"), int_column(8, True)),
    (pa.timestamp("ms", "Europe/Berlin"), ranged_column(-10**12, 10**12)),
    (pa.timestamp("ns", "UTC"), int_column(8, True)),
    (pa.duration("ms"), int_column(8, True)), (pa.duration("ns"), ranged_column(-9, 9)),
    (pa.binary(1), fixed_column), (pa.binary(5), fixed_column), (pa.binary(16), fixed_column),
    (pa.month_day_nano_interval(), interval_column),
]
STRING_TYPES = [(t, string_column) for t in (pa.utf8(), pa.large_utf8(), pa.string_view(),
                                              pa.binary(), pa.large_binary(), pa.binary_view())]
TYPES = FIXED_TYPES + STRING_TYPES
DICTIONARY_VALUES = [entry for entry in TYPES if not (
    pa.types.is_null(entry[0]) or pa.types.is_interval(entry[0]) or "view" in str(entry[0]))]


def make_dictionary(rng, values_type, index_type):
    """The values of one dictionary: sometimes a null and unused ones among them, never more than the index can name."""
    data_type, make = values_type
    most = min(300, (1 << min(index_type.bit_width, 16) - (0 if "uint" in str(index_type) else 1)) - 1)
    n = rng.randint(1, most)
    mask = np.array([rng.random() < 0.05 for _ in range(n)], dtype=bool) if rng.random() < 0.3 else None
    return make(rng, data_type, n, mask)


def dictionary_column(rng, dictionary, index_type, rows):
    indices = [rng.randrange(len(dictionary)) for _ in range(rows)]
    mask = mask_of(rng, rows)
    return pa.DictionaryArray.from_arrays(pa.array(indices, index_type, mask=mask), dictionary, safe=False)


class Column:
    """One column of a random table; makes the array of each batch."""

    def __init__(self, rng):
        self.rng = rng
        self.index_type = rng.choice(INDEX_TYPES) if rng.random() < 0.25 else None
        self.kind = rng.choice(DICTIONARY_VALUES if self.index_type is not None else TYPES)
        self.changes = rng.random() < 0.5
        self.dictionary = None

    def array(self, rows, may_change):
        if self.index_type is None:
            return self.kind[1](self.rng, self.kind[0], rows, mask_of(self.rng, rows))
        if self.dictionary is None or (self.changes and may_change):
            self.dictionary = make_dictionary(self.rng, self.kind, self.index_type)
        return dictionary_column(self.rng, self.dictionary, self.index_type, rows)


# ---- the reference ---------------------------------------------------------------------------------

def decoded(array):
    """An array without dictionary or views, floats as the integers of their bits: equal means equal bits."""
    data_type = array.type
    if pa.types.is_dictionary(data_type):
        # By hand, not by a cast: casts of odd types are missing here and there.
        return decoded(array.dictionary).take(array.indices.cast(pa.int64()))
    if "view" in str(data_type):
        return array.cast(pa.large_utf8() if pa.types.is_string_view(data_type) else pa.large_binary())
    if pa.types.is_floating(data_type):
        return array.view({16: pa.uint16(), 32: pa.uint32(), 64: pa.uint64()}[data_type.bit_width])
    if pa.types.is_interval(data_type):
        return array.view(pa.binary(16))
    if pa.types.is_string(data_type):
        return array.cast(pa.large_utf8())
    if pa.types.is_binary(data_type):
        return array.cast(pa.large_binary())
    return array


def decoded_column(batches, index, empty_type):
    arrays = [decoded(batch.column(index)) for batch in batches]
    return pa.concat_arrays(arrays) if arrays else decoded(pa.nulls(0, empty_type))


def float_rank(bits, width):
    """An integer in the order of float values: -0.0 = 0.0, all NaNs equal and last."""
    sign = 1 << (8 * width - 1)
    exponent = {2: 0x7C00, 4: 0x7F800000, 8: 0x7FF0 << 48}[width]
    magnitude = bits & (sign - 1)
    if magnitude > exponent:
        return sign  # NaN: above +infinity
    return -magnitude if bits & sign else magnitude


def key_values(array, data_type):
    """Python values of a decoded column whose order is the order wanted; None is null."""
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    if pa.types.is_floating(data_type):
        width = data_type.bit_width // 8
        return [None if v is None else float_rank(v, width) for v in array.to_pylist()]
    if pa.types.is_decimal(data_type):
        width = data_type.bit_width // 8
        raw = array.view(pa.binary(width)).to_pylist()
        return [None if v is None else int.from_bytes(v, "little", signed=True) for v in raw]
    if pa.types.is_interval(data_type):
        def length(v):
            months, days, nanoseconds = struct.unpack("<iiq", v)
            return (months * 30 + days) * 86_400_000_000_000 + nanoseconds
        return [None if v is None else length(v) for v in array.to_pylist()]
    if pa.types.is_temporal(data_type):
        return array.view(pa.int32() if data_type.bit_width == 32 else pa.int64()).to_pylist()
    if pa.types.is_large_string(array.type):
        return array.cast(pa.large_binary()).to_pylist()
    return array.to_pylist()


def expected_order(columns, keys, rows):
    """Row numbers in sorted order. keys: (column values, descending, nulls first)."""
    order = list(range(rows))
    for values, descending, nulls_first in reversed([(columns[k.column], k.descending, k.nulls_first) for k in keys]):
        null_rank = 1 if nulls_first == descending else -1  # reverse=True turns ranks around as well
        ranked = [(null_rank, 0) if v is None else (0, v) for v in values]
        order.sort(key=ranked.__getitem__, reverse=descending)  # stable, also in reverse
    return order


class Key:
    def __init__(self, rng, column):
        self.column = column
        self.descending = rng.random() < 0.5
        self.nulls = rng.choice([None, "first", "last"])
        self.nulls_first = self.descending if self.nulls is None else self.nulls == "first"

    def text(self):
        text = f"c{self.column} {'desc' if self.descending else 'asc'}"
        return text if self.nulls is None else f"{text} nulls {self.nulls}"


# ---- writing and running ---------------------------------------------------------------------------

def batch_sizes(rng, rows):
    """Sizes that add up to `rows`: one huge batch, many small ones, empty ones in between."""
    shape = rng.choice(["one", "even", "ragged", "tiny"])
    if shape == "one":
        return [rows]
    if shape == "even":
        size = rng.choice([511, 512, 513, 1000, 4096, 8192])
    elif shape == "tiny":
        size = rng.choice([7, 64])
    sizes = []
    while rows > 0:
        n = min(rows, rng.choice([0, 1, 63, 65, 700, 5000]) if shape == "ragged" else size)
        sizes.append(n)
        rows -= n
    return [0, *sizes, 0] if rng.random() < 0.3 else sizes


def make_batches(rng, schema_columns, rows, may_change):
    batches = []
    for n in batch_sizes(rng, rows):
        margin = rng.choice([0, 0, 3])  # a slice at an odd offset of a longer batch
        arrays = [column.array(n + 2 * margin, may_change) for column in schema_columns]
        batch = pa.record_batch(arrays, names=[f"c{i}" for i in range(len(arrays))])
        batches.append(batch.slice(margin, n))
    return batches


def write(path, schema, batches, codec=None, deltas=False):
    options = pa.ipc.IpcWriteOptions(compression=codec, emit_dictionary_deltas=deltas)
    opener = pa.ipc.new_stream if str(path).endswith(".arrows") else pa.ipc.new_file
    with opener(str(path), schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)


def read(path):
    with pa.OSFile(str(path)) as file:
        if str(path).endswith(".arrows"):
            return list(pa.ipc.open_stream(file))
        reader = pa.ipc.open_file(file)
        return [reader.get_batch(i) for i in range(reader.num_record_batches)]


def check_result(path, expected, batch_rows, what):
    batches = read(path)
    for batch in batches:
        batch.validate(full=True)
        assert batch.num_rows <= batch_rows, f"{what}: a batch of {batch.num_rows} rows"
    for i, want in enumerate(expected):
        got = decoded_column(batches, i, want.type)
        assert len(got) == len(want), f"{what}: {len(got)} rows instead of {len(want)}"
        if not got.equals(want):
            at = next(r for r in range(len(want)) if not got.slice(r, 1).equals(want.slice(r, 1)))
            raise AssertionError(f"{what}: column c{i} differs first at row {at}: {got[at]!r} instead of {want[at]!r}")


def settings(rng):
    """Command line options that must not matter, and the batch size among them."""
    batch_rows = rng.choice([1, 7, 64, 8192])
    limit = rng.choice(["1m", "2m", "4m", None])
    args = ["-b", batch_rows, "-t", rng.choice([1, 2]),
            "--spill-compression", rng.choice(["none", "lz4", "zstd", "zstd:3"])]
    return args + (["-m", limit] if limit else []), batch_rows
