"""A second reader of spill files, written from docs/spill-format.md and not from the C code.

It is as short as it can be, so it is slow; and it shows that the document is enough. pyarrow opens the streams and
gives the physical columns.

    fields, columns = read_spill(path)      # columns: lists of plain Python values, as in arrow_values.py
"""

import base64
import itertools
import struct

import pyarrow as pa
import pyarrow.ipc as ipc

from arrow_values import FIXED, columns_of, read_schema, read_stream

PAGE = 1024
WORD = (1 << 64) - 1


class Damaged(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Damaged(what)


class Cursor:
    """Bytes read front to back."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def take(self, n):
        need(self.at + n <= len(self.data), "ends early")
        piece = self.data[self.at:self.at + n]
        self.at += n
        return piece

    def byte(self):
        return self.take(1)[0]

    def number(self, n):
        """Two's complement of 0 to 8 bytes, as a word."""
        need(n <= 8, "a number of more than 8 bytes")
        return int.from_bytes(self.take(n), "little", signed=True) & WORD

    def u64(self):
        return int.from_bytes(self.take(8), "little")

    def align(self, start=0):
        """Skips zeros up to a multiple of 8 bytes."""
        padding = self.take(-(self.at - start) % 8)
        need(not any(padding), "padding that is not zero")


# ---- integer vectors -----------------------------------------------------------------------------------------------

def unpack_bits(cursor, m, b):
    """m values of b bits."""
    data = cursor.take((m * b + 7) // 8)
    mask = (1 << b) - 1
    if m < PAGE:
        bits = int.from_bytes(data, "little")
        return [bits >> (i * b) & mask for i in range(m)]
    t = 32 if b <= 32 else 64
    lanes = PAGE // t
    width = t // 8
    values = [0] * PAGE
    for lane in range(lanes):
        words = [data[(k * lanes + lane) * width:(k * lanes + lane + 1) * width] for k in range(b)]
        bits = int.from_bytes(b"".join(words), "little")
        for i in range(t):
            values[lane + i * lanes] = bits >> (i * b) & mask
    return values


def read_page(cursor, m, vector_base):
    width = cursor.byte()
    base = cursor.number(cursor.byte())
    has_exceptions, width = width >> 7, width & 127
    need(width <= 64 - has_exceptions, "a width of more than 64")
    if has_exceptions:
        count, gap_width, high_width = cursor.byte(), cursor.byte(), cursor.byte()
        high_base = cursor.number(cursor.byte())
        need(gap_width <= 10, "a gap of more than 10 bits")
    values = unpack_bits(cursor, m, width)
    if has_exceptions:
        gaps = unpack_bits(cursor, count + 1, gap_width)
        highs = unpack_bits(cursor, count + 1, high_width)
        at = -1
        for gap, high in zip(gaps, highs):
            at += 1 + gap
            need(at < m, "an exception behind its page")
            values[at] += (high_base + high & WORD) << width
    return [vector_base + base + value & WORD for value in values]


def pages_of(n):
    return [min(PAGE, n - start) for start in range(0, n, PAGE)]


def read_ints(cursor, n):
    """The words of an integer vector of n values."""
    start = cursor.at
    kind, counts1, counts2, distinct = cursor.take(4)
    base = cursor.number(counts1 & 15)
    first = cursor.number(counts1 >> 4)
    scale = cursor.number(counts2 & 15)
    offset = cursor.number(counts2 >> 4)
    values = []
    if kind == 1:
        values = [base] * n
    elif kind in (2, 3):
        for m in pages_of(n):
            values += read_page(cursor, m, base)
        if kind == 3:
            total = first
            for i, word in enumerate(values):
                total = total + word & WORD
                values[i] = total
    elif kind in (4, 6):
        codes = [code for m in pages_of(n) for code in read_page(cursor, m, base)]
        words = read_page(cursor, distinct + 1, 0)
        need(all(code <= distinct for code in codes), "a code without a value")
        values = [words[code] for code in codes]
        if kind == 6:
            values = [total & WORD for total in itertools.accumulate(values, initial=first)][1:]
    elif kind == 5:
        for m in pages_of(n):
            runs = int.from_bytes(cursor.take(2), "little")
            need(1 <= runs <= m, "a number of runs")
            heads = read_page(cursor, runs, base)
            repeats = read_page(cursor, runs, 0)
            need(sum(repeats) + runs == m, "runs that do not add up")
            for word, more in zip(heads, repeats):
                values += [word] * (more + 1)
    else:
        raise Damaged(f"integer vector of kind {kind}")
    cursor.align(start)
    if scale != 0 and kind in (2, 3, 5):
        values = [offset + scale * value & WORD for value in values]
    return values


def signed(word, width):
    """The low `width` bytes of a word as a signed number."""
    return int.from_bytes((word & (1 << 8 * width) - 1).to_bytes(width, "little"), "little", signed=True)


# ---- string vectors ------------------------------------------------------------------------------------------------

def read_strings(cursor, text, n):
    """n strings from the packed stream and the bytes stream."""
    kind, value_bytes, bytes_size, extra = (cursor.u64() for _ in range(4))
    first = read_ints(cursor, n)
    second = read_ints(cursor, extra if kind == 1 else n) if kind in (1, 2, 3) else []
    data = Cursor(text.take(bytes_size))
    if kind == 0:
        values = [data.take(length) for length in first]
    elif kind == 1:
        words = [data.take(length) for length in second]
        need(all(code < extra for code in first), "a code without a string")
        values = [words[code] for code in first]
    elif kind == 2:
        values, last = [], b""
        for shared, rest in zip(first, second):
            need(shared <= len(last), "more shared than there is")
            last = last[:shared] + data.take(rest)
            values.append(last)
    elif kind == 3:
        shared = data.take(extra)
        values = []
        for length, place in zip(first, second):
            need(length <= 12 or place + length <= extra, "a place too far back")
            values.append(data.take(length) if length <= 12 else shared[place:place + length])
    elif kind == 4:
        need(extra <= 9 and all(number < 10 ** (extra or 9) for number in first), "too many digits")
        beginning = data.take(bytes_size)
        values = [beginning + b"%0*d" % (extra, number) for number in first]
    else:
        raise Damaged(f"string vector of kind {kind}")
    need(data.at == bytes_size, "bytes left over")
    need(sum(map(len, values)) == value_bytes, "lengths that do not add up")
    return values


# ---- packed columns ------------------------------------------------------------------------------------------------

def read_bitmap(cursor, r):
    words = read_ints(cursor, (r + 63) // 64)
    return [bool(words[i // 64] >> i % 64 & 1) for i in range(r)]


def decimals_of(cursor, width, places, v):
    n_exceptions = cursor.u64()
    numbers = [signed(word, 8) for word in read_ints(cursor, v)]
    code = "<d" if width == 8 else "<f"
    values = [struct.pack(code, float(number) / 10.0 ** places) for number in numbers]
    if n_exceptions > 0:
        at = read_ints(cursor, n_exceptions)
        bits = read_ints(cursor, n_exceptions)
        for place, word in zip(at, bits):
            values[place] = word.to_bytes(8, "little")[:width]
    return values


def read_fixed(cursor, kind, part, width, v):
    """v values of `width` bytes, as bytes."""
    if v == 0:
        return []
    if kind == 0 and width <= 8:
        return [word.to_bytes(8, "little")[:width] for word in read_ints(cursor, v)]
    if kind == 0:
        words = [read_ints(cursor, v) for _ in range(part)]
        return [b"".join(word.to_bytes(8, "little") for word in value[:-1]) +
                signed(value[-1], 8).to_bytes(40, "little", signed=True)[:width - 8 * (part - 1)]
                for value in zip(*words)]
    if kind == 1:
        low = cursor.take(v * part)
        cursor.align()
        planes = [read_ints(cursor, v) for _ in range(width - part)]
        return [low[i * part:(i + 1) * part] + bytes(plane[i] & 255 for plane in planes) for i in range(v)]
    need(kind == 2, f"numbers of kind {kind}")
    return decimals_of(cursor, width, part, v)


def fixed_width(kind):
    """Bytes of a value of the layout "fixed", or None when the type has another one."""
    if kind in FIXED:
        return struct.calcsize(FIXED[kind])
    if kind.startswith("ts"):
        return 8
    if kind.startswith("d:"):
        parameters = kind[2:].split(",")
        return int(parameters[2]) // 8 if len(parameters) == 3 else 16
    return None


def fixed_value(kind, data):
    if kind.startswith("d:"):
        return int.from_bytes(data, "little", signed=True)
    value = struct.unpack(FIXED.get(kind, "<q"), data)
    return value[0] if len(value) == 1 else value


def spread(values, valid):
    """Values of the rows that are not null -> of all rows."""
    left = iter(values)
    return [next(left) if ok else None for ok in valid]


def read_list(field, cursor, text, kind, r):
    n = cursor.u64()
    sizes = read_ints(cursor, r)
    starts, at = [], 0
    if field.type in ("+vl", "+vL") and kind == 0:
        starts = read_ints(cursor, r)
    else:
        for size in sizes:
            starts.append(at)
            at += size
        need(at == n, "lists that do not add up")
    child = read_node(field.children[0], cursor, text, n)
    return [child[start:start + size] for start, size in zip(starts, sizes)]


def read_union(field, cursor, text, kind, r):
    ids = [int(part) for part in field.type.split(":")[1].split(",") if part]
    is_dense = field.type.startswith("+ud")
    rows_of = [cursor.u64() for _ in field.children] if is_dense else [r] * len(field.children)
    type_ids = [signed(word, 1) for word in read_ints(cursor, r)]
    if not is_dense:
        rows = list(range(r))
    elif kind == 0:
        rows = read_ints(cursor, r)
    else:
        rows, seen = [], {}
        for type_id in type_ids:
            rows.append(seen.setdefault(type_id, 0))
            seen[type_id] += 1
    children = [read_node(child, cursor, text, n) for child, n in zip(field.children, rows_of)]
    values = [children[ids.index(type_id)][row] for type_id, row in zip(type_ids, rows)]
    return [None if value is None else (type_id, value) for type_id, value in zip(type_ids, values)]


def read_node(field, cursor, text, r):
    """The r rows of a node and what is below it."""
    cursor.align()
    validity, kind, part, *zeros = cursor.take(8)
    need(not any(zeros) and validity <= 2, "the head of a node")
    valid = [validity != 1] * r
    if validity == 2:
        nulls = cursor.u64()
        valid = read_bitmap(cursor, r)
        need(valid.count(False) == nulls, "a bitmap with another number of nulls")
    v = valid.count(True)
    values = read_values(field, cursor, text, kind, part, r, v, valid)
    return [value if ok else None for ok, value in zip(valid, values)]


def read_values(field, cursor, text, kind, part, r, v, valid):
    name = field.type
    if field.dictionary is not None:
        count = cursor.u64()
        width = fixed_width(name)
        codes = read_fixed(cursor, 0, 1, width, v)
        dictionary = read_node(field.dictionary, cursor, text, count)
        return spread([dictionary[fixed_value(name, code)] for code in codes], valid)
    if name == "n":
        return [None] * r
    if name == "b":
        return read_bitmap(cursor, r) if v > 0 else [None] * r
    if fixed_width(name) is not None:
        return spread([fixed_value(name, data) for data in read_fixed(cursor, kind, part, fixed_width(name), v)], valid)
    if name in ("u", "z", "U", "Z", "vu", "vz") or name.startswith("w:"):
        return read_strings(cursor, text, r) if v > 0 and name != "w:0" else [b""] * r
    if name in ("+l", "+L", "+m", "+vl", "+vL"):
        return read_list(field, cursor, text, kind, r)
    if name.startswith("+w:"):
        size = int(name[3:])
        child = read_node(field.children[0], cursor, text, r * size)
        return [child[i * size:(i + 1) * size] for i in range(r)]
    if name == "+s":
        children = [read_node(child, cursor, text, r) for child in field.children]
        return [tuple(child[i] for child in children) for i in range(r)]
    if name.startswith("+u"):
        return read_union(field, cursor, text, kind, r)
    need(name == "+r", f"a column of type {name}")
    runs = cursor.u64()
    lengths = read_ints(cursor, runs)
    need(sum(lengths) == r, "runs that do not add up")
    return [value for value, length in zip(read_node(field.children[1], cursor, text, runs), lengths)
            for _ in range(length)]


def unpack_column(field, column, r):
    """The rows of a packed column: one run of one value."""
    value = column.values[0].as_py()
    packed, text = (value["packed"], value["bytes"]) if isinstance(value, dict) else (value, b"")
    cursor, text = Cursor(packed), Cursor(text)
    rows = read_node(field, cursor, text, r)
    need(cursor.at == len(packed) and text.at == len(text.data), "streams that are not used up")
    return rows


# ---- files ---------------------------------------------------------------------------------------------------------

def join_lengths(column):
    """Strings of struct<lengths, bytes>."""
    data = Cursor(column.field(1).values[0].as_py())
    lengths = column.field(0).to_pylist()
    return [data.take(length) if ok else None for ok, length in zip(column.is_valid().to_pylist(), lengths)]


def rows_of(batch, fields, letters):
    columns = []
    for i, (field, letter) in enumerate(zip(fields, letters)):
        if letter == "p":
            table = pa.record_batch({"c": batch.column(i)})
            _, batches = read_stream(table)
            columns.append(columns_of(batches, 1)[0])
        elif letter == "l":
            columns.append(join_lengths(batch.column(i)))
        else:
            need(letter == "k", f"a layout {letter}")
            columns.append(unpack_column(field, batch.column(i), batch.num_rows))
    return columns


def read_spill(path):
    """(fields, columns) of a spill file."""
    source = pa.BufferReader(path.read_bytes())
    fields, columns, batches, rows = None, None, 0, 0
    while True:
        stream = ipc.open_stream(source)
        metadata = stream.schema.metadata
        need(metadata[b"outcore:spill"] == b"1", "another version")
        if len(stream.schema) == 0 and b"outcore:rows" in metadata:
            break
        logical = ipc.read_schema(pa.BufferReader(base64.b64decode(metadata[b"outcore:schema"])))
        fields = read_schema(logical).fields
        columns = columns or [[] for _ in fields]
        letters = metadata[b"outcore:layout"].decode()
        for batch in stream:
            batches += 1
            rows += batch.num_rows
            for column, values in zip(columns, rows_of(batch, fields, letters)):
                column += values
    need(list(stream) == [], "batches in the closing stream")
    need(int(metadata[b"outcore:batches"]) == batches and int(metadata[b"outcore:rows"]) == rows, "lost rows")
    need(source.tell() == source.size(), "bytes behind the closing stream")
    return fields, columns
