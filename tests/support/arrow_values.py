"""Arrow data as plain Python, bit for bit, whatever its type: for tests that compare tables.

What is given is anything with `__arrow_c_stream__` (pyarrow, polars, DuckDB, ...). Types and buffers are read from the
C structs with ctypes, so nothing depends on which types the Python classes of a library know, and nothing is rounded
or converted on the way.

    schema, batches = read_stream(reader)
    batches[0][2][5]      # batch 0, column 2, row 5

Types are format strings of the C data interface, so `Field.type` is "l" for int64 and "+us:5,7" for a sparse union.
Values are
    None                  a null
    bool, int             bool; integers, dates, times, durations (in their unit), decimals (without their scale)
    bytes                 floats (their bits), text, binary
    tuple                 intervals (their parts); structs (one value a child)
    list                  lists of any kind; maps (of (key, value) tuples)
    (id, value)           unions: the type id and the value of its child; None when that is null
and dictionaries and run-end encoded columns are the values they stand for.
"""

import ctypes
import struct
from dataclasses import dataclass


@dataclass(frozen=True)
class Field:
    """A column or what is below it. Equal when names, types, flags and metadata are, at every depth."""
    name: str
    type: str  # of a dictionary: the type of the indices
    nullable: bool
    children: tuple = ()
    dictionary: "Field | None" = None  # its values; without a name
    ordered: bool = False              # dictionaries
    keys_sorted: bool = False          # maps
    metadata: tuple = ()               # (key, value) in bytes, sorted


@dataclass(frozen=True)
class Schema:
    fields: tuple
    metadata: tuple = ()


# ---- the C structs -------------------------------------------------------------------------------------------------

class ArrowSchema(ctypes.Structure):
    pass


class ArrowArray(ctypes.Structure):
    pass


class ArrowArrayStream(ctypes.Structure):
    pass


ArrowSchema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64), ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowSchema))), ("dictionary", ctypes.POINTER(ArrowSchema)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowSchema))), ("private_data", ctypes.c_void_p)]
ArrowArray._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64), ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(ArrowArray))), ("dictionary", ctypes.POINTER(ArrowArray)),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArray))), ("private_data", ctypes.c_void_p)]
ArrowArrayStream._fields_ = [
    ("get_schema", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowSchema))),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ArrowArrayStream), ctypes.POINTER(ArrowArray))),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.POINTER(ArrowArrayStream))),
    ("release", ctypes.CFUNCTYPE(None, ctypes.POINTER(ArrowArrayStream))), ("private_data", ctypes.c_void_p)]

FLAG_ORDERED, FLAG_NULLABLE, FLAG_KEYS_SORTED = 1, 2, 4


def metadata_of(address):
    """The pairs behind a metadata pointer: int32 n, then key and value, each with its int32 length."""
    def take_int():
        nonlocal address
        value = ctypes.c_int32.from_address(address).value
        address += 4
        return value

    def take_bytes():
        nonlocal address
        length = take_int()
        value = ctypes.string_at(address, length)
        address += length
        return value

    if not address:
        return ()
    return tuple(sorted((take_bytes(), take_bytes()) for _ in range(take_int())))


def field_of(c_schema):
    return Field(
        name=(c_schema.name or b"").decode(), type=c_schema.format.decode(),
        nullable=bool(c_schema.flags & FLAG_NULLABLE),
        children=tuple(field_of(c_schema.children[i].contents) for i in range(c_schema.n_children)),
        dictionary=field_of(c_schema.dictionary.contents) if c_schema.dictionary else None,
        ordered=bool(c_schema.dictionary) and bool(c_schema.flags & FLAG_ORDERED),
        keys_sorted=c_schema.format == b"+m" and bool(c_schema.flags & FLAG_KEYS_SORTED),
        metadata=metadata_of(c_schema.metadata))


# ---- values --------------------------------------------------------------------------------------------------------

# What struct.unpack makes of a value; floats stay bits.
FIXED = {"c": "<b", "C": "<B", "s": "<h", "S": "<H", "i": "<i", "I": "<I", "l": "<q", "L": "<Q",
         "e": "2s", "f": "4s", "g": "8s", "tdD": "<i", "tdm": "<q", "tts": "<i", "ttm": "<i", "ttu": "<q", "ttn": "<q",
         "tDs": "<q", "tDm": "<q", "tDu": "<q", "tDn": "<q", "tiM": "<i", "tiD": "<ii", "tin": "<iiq"}


class Reader:
    """The buffers of one array. Rows are counted from the array's offset."""

    def __init__(self, array):
        self.array = array
        self.offset = array.offset
        self.rows = range(array.offset, array.offset + array.length)

    def buffer(self, index, size):
        address = self.array.buffers[index]
        assert address or size == 0, "a buffer is missing"
        return ctypes.string_at(address, size) if size > 0 else b""

    def bits(self, index):
        """One bool a row; of an absent bitmap all True."""
        end = self.rows.stop
        if not self.array.buffers[index]:
            return [True] * self.array.length
        data = self.buffer(index, (end + 7) // 8)
        return [bool(data[row >> 3] >> (row & 7) & 1) for row in self.rows]

    def numbers(self, index, code, more=0):
        """One unpacked value a row, and `more` behind them."""
        size = struct.calcsize(code)
        if self.array.length + more == 0 or (self.array.length == 0 and not self.array.buffers[index]):
            return [0] * more
        data = self.buffer(index, (self.rows.stop + more) * size)
        values = [struct.unpack_from(code, data, row * size)
                  for row in range(self.offset, self.rows.stop + more)]
        return [value[0] if len(value) == 1 else value for value in values]

    def decimals(self, index, size):
        data = self.buffer(index, self.rows.stop * size)
        return [int.from_bytes(data[row * size:(row + 1) * size], "little", signed=True) for row in self.rows]

    def bytes_between(self, offsets):
        data = self.buffer(2, max(offsets[-1], 0))
        return [data[offsets[i]:offsets[i + 1]] for i in range(self.array.length)]

    def views(self):
        n_data = self.array.n_buffers - 3
        values = []
        for row in self.rows:
            view = ctypes.string_at(self.array.buffers[1] + row * 16, 16)
            length, _, index, offset = struct.unpack("<i4sii", view)
            if length <= 12:
                values.append(view[4:4 + max(length, 0)])
            elif 0 <= index < n_data:
                values.append(ctypes.string_at(self.array.buffers[2 + index] + offset, length))
            else:
                values.append(None)  # garbage below a null
        return values


def flat_values(field, reader):
    kind = field.type
    if kind == "n":
        return [None] * reader.array.length
    if kind == "b":
        return reader.bits(1)
    if kind in FIXED:
        return reader.numbers(1, FIXED[kind])
    if kind.startswith("ts"):
        return reader.numbers(1, "<q")
    if kind.startswith("d:"):
        parameters = kind[2:].split(",")
        return reader.decimals(1, int(parameters[2]) // 8 if len(parameters) == 3 else 16)
    if kind.startswith("w:"):
        width = int(kind[2:])
        return reader.numbers(1, f"{width}s") if width > 0 else [b""] * reader.array.length
    if kind in ("u", "z"):
        return reader.bytes_between(reader.numbers(1, "<i", 1))
    if kind in ("U", "Z"):
        return reader.bytes_between(reader.numbers(1, "<q", 1))
    assert kind in ("vu", "vz"), kind
    return reader.views()


def list_values(field, reader, child):
    kind, n = field.type, reader.array.length
    if kind.startswith("+w:"):
        size = int(kind[3:])
        return [child[row * size:(row + 1) * size] for row in reader.rows]
    if kind in ("+vl", "+vL"):
        code = "<i" if kind == "+vl" else "<q"
        return [child[start:start + size] for start, size in zip(reader.numbers(1, code), reader.numbers(2, code))]
    offsets = reader.numbers(1, "<q" if kind == "+L" else "<i", 1)
    return [child[offsets[i]:offsets[i + 1]] for i in range(n)]


def union_values(field, reader, children):
    ids = [int(text) for text in field.type.split(":")[1].split(",") if text]
    type_ids = reader.numbers(0, "<b")
    rows = reader.numbers(1, "<i") if field.type.startswith("+ud") else reader.rows
    values = [children[ids.index(type_id)][row] for type_id, row in zip(type_ids, rows)]
    return [None if value is None else (type_id, value) for type_id, value in zip(type_ids, values)]


def run_values(reader, ends, values):
    out, run = [], 0
    for row in reader.rows:
        while ends[run] <= row:
            run += 1
        out.append(values[run])
    return out


def values_of(field, array):
    """The rows of an ArrowArray of this type."""
    reader = Reader(array)
    children = [values_of(child, array.children[i].contents) for i, child in enumerate(field.children)]
    if field.type == "+r":
        return run_values(reader, *children)
    if field.type.startswith("+u"):
        return union_values(field, reader, children)
    if field.type == "n":
        return [None] * array.length
    valid = reader.bits(0)
    if field.dictionary is not None:
        dictionary = values_of(field.dictionary, array.dictionary.contents)
        return [dictionary[index] if ok else None
                for ok, index in zip(valid, reader.numbers(1, FIXED[field.type]))]
    if field.type == "+s":
        values = [tuple(child[row] for child in children) for row in reader.rows]
    elif field.type.startswith("+"):
        values = list_values(field, reader, children[0])
    else:
        values = flat_values(field, reader)
    return [value if ok else None for ok, value in zip(valid, values)]


# ---- streams -------------------------------------------------------------------------------------------------------

def _check(stream, code):
    if code != 0:
        message = stream.get_last_error(ctypes.byref(stream))
        raise OSError(code, (message or b"?").decode(errors="replace"))


def _pointer(capsule, name):
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get_pointer(capsule, name)


def read_schema(source):
    """Schema of anything that exports one."""
    capsule = source.__arrow_c_schema__()
    root = field_of(ArrowSchema.from_address(_pointer(capsule, b"arrow_schema")))
    return Schema(root.children, root.metadata)


def read_stream(source):
    """(Schema, batches) of anything that exports an Arrow stream; a batch is a list of columns, each a list of rows."""
    capsule = source.__arrow_c_stream__()
    stream = ArrowArrayStream.from_address(_pointer(capsule, b"arrow_array_stream"))
    c_schema = ArrowSchema()
    _check(stream, stream.get_schema(ctypes.byref(stream), ctypes.byref(c_schema)))
    root = field_of(c_schema)
    c_schema.release(ctypes.byref(c_schema))
    batches = []
    while True:
        array = ArrowArray()
        _check(stream, stream.get_next(ctypes.byref(stream), ctypes.byref(array)))
        if not array.release:
            break
        # A batch without columns still has rows, so it is kept with its length.
        rows = Reader(array).rows
        columns = [values_of(field, array.children[i].contents) for i, field in enumerate(root.children)]
        batches.append([column[rows.start:rows.stop] for column in columns])
        array.release(ctypes.byref(array))
    del capsule  # which owns the stream
    return Schema(root.children, root.metadata), batches


def columns_of(batches, n_columns):
    """The batches one below the other: one list of rows a column."""
    return [[value for batch in batches for value in batch[i]] for i in range(n_columns)]
