"""Reads the JSON form of Arrow data that the integration tests of the Arrow projects use.

Gives the same schema and values as arrow_values.py, so that a file can be compared with its twin in JSON. All types
of the format are known: views, run-end encoding, unions, decimals of every width, intervals, dictionaries at any depth,
custom metadata.
"""

import gzip
import json
import struct
from pathlib import Path

from arrow_values import Field, Schema

UNITS = {"SECOND": "s", "MILLISECOND": "m", "MICROSECOND": "u", "NANOSECOND": "n"}
PLAIN = {"null": "n", "bool": "b", "utf8": "u", "largeutf8": "U", "utf8view": "vu", "binary": "z", "largebinary": "Z",
         "binaryview": "vz", "list": "+l", "largelist": "+L", "listview": "+vl", "largelistview": "+vL",
         "struct": "+s", "map": "+m", "runendencoded": "+r"}


# ---- types ---------------------------------------------------------------------------------------------------------

def format_of(kind):
    """The format string of the C data interface for a type in JSON."""
    name = kind["name"]
    if name in PLAIN:
        return PLAIN[name]
    if name == "int":
        letter = {8: "c", 16: "s", 32: "i", 64: "l"}[kind["bitWidth"]]
        return letter if kind["isSigned"] else letter.upper()
    if name == "floatingpoint":
        return {"HALF": "e", "SINGLE": "f", "DOUBLE": "g"}[kind["precision"]]
    if name == "decimal":
        width = kind.get("bitWidth", 128)
        return f"d:{kind['precision']},{kind['scale']}" + (f",{width}" if width != 128 else "")
    if name == "date":
        return "tdD" if kind["unit"] == "DAY" else "tdm"
    if name == "time":
        return "tt" + UNITS[kind["unit"]]
    if name == "timestamp":
        return f"ts{UNITS[kind['unit']]}:{kind.get('timezone') or ''}"
    if name == "duration":
        return "tD" + UNITS[kind["unit"]]
    if name == "interval":
        return {"YEAR_MONTH": "tiM", "DAY_TIME": "tiD", "MONTH_DAY_NANO": "tin"}[kind["unit"]]
    if name == "fixedsizebinary":
        return f"w:{kind['byteWidth']}"
    if name == "fixedsizelist":
        return f"+w:{kind['listSize']}"
    assert name == "union", name
    return f"+u{kind['mode'][0].lower()}:{','.join(map(str, kind['typeIds']))}"


def metadata_of(pairs):
    return tuple(sorted((pair["key"].encode(), pair["value"].encode()) for pair in pairs or ()))


def field_of(source):
    children = tuple(field_of(child) for child in source.get("children", ()))
    value_type, encoding = format_of(source["type"]), source.get("dictionary")
    keys_sorted = bool(source["type"].get("keysSorted"))
    if encoding is None:
        return Field(source["name"], value_type, source["nullable"], children, keys_sorted=keys_sorted,
                     metadata=metadata_of(source.get("metadata")))
    # Children belong to the values, name and metadata to the column.
    values = Field("", value_type, True, children, keys_sorted=keys_sorted)
    return Field(source["name"], format_of(encoding["indexType"]), source["nullable"], (), values,
                 bool(encoding["isOrdered"]), metadata=metadata_of(source.get("metadata")))


def dictionaries_of(source, found=None):
    """Which dictionary the values of a field come from, for the whole tree: id -> field of the values in JSON."""
    found = {} if found is None else found
    if source.get("dictionary") is not None:
        found[source["dictionary"]["id"]] = {k: v for k, v in source.items() if k != "dictionary"}
    for child in source.get("children", ()):
        dictionaries_of(child, found)
    return found


# ---- values --------------------------------------------------------------------------------------------------------

def flat_value(kind, value):
    if kind == "b":
        return bool(value)
    if kind in ("e", "f", "g"):
        return struct.pack("<" + {"e": "e", "f": "f", "g": "d"}[kind], float(value))
    if kind in ("u", "U"):
        return value.encode()
    if kind in ("z", "Z") or kind.startswith("w:"):
        return bytes.fromhex(value)
    if kind == "tiD":
        return value["days"], value["milliseconds"]
    if kind == "tin":
        return value["months"], value["days"], int(value["nanoseconds"])
    return int(value)  # also decimals, and numbers of 64 bits, which are written as texts


def view_value(kind, view, buffers):
    if "INLINED" in view:
        return view["INLINED"].encode() if kind == "vu" else bytes.fromhex(view["INLINED"])
    data = bytes.fromhex(buffers[view["BUFFER_INDEX"]])
    value = data[view["OFFSET"]:view["OFFSET"] + view["SIZE"]]
    assert value[:4] == bytes.fromhex(view["PREFIX_HEX"])
    return value


class Document:
    """One JSON file: `schema`, and `batches` as read_stream gives them."""

    def __init__(self, path):
        opened = gzip.open if Path(path).suffix == ".gz" else open
        with opened(path, "rt", encoding="utf-8") as file:
            source = json.load(file)
        fields = source["schema"]["fields"]
        self.schema = Schema(tuple(field_of(field) for field in fields), metadata_of(source["schema"].get("metadata")))
        self.value_fields = {}
        for field in fields:
            dictionaries_of(field, self.value_fields)
        self.sources = {one["id"]: one["data"]["columns"][0] for one in source.get("dictionaries", ())}
        self.dictionaries = {}
        self.rows = [batch["count"] for batch in source["batches"]]
        self.batches = [[self.values_of(field, column) for field, column in zip(fields, batch["columns"])]
                        for batch in source["batches"]]

    def dictionary(self, number):
        if number not in self.dictionaries:
            self.dictionaries[number] = self.values_of(self.value_fields[number], self.sources[number])
        return self.dictionaries[number]

    def values_of(self, field, column):
        kind, n = format_of(field["type"]), column["count"]
        if field.get("dictionary") is not None:
            values = self.dictionary(field["dictionary"]["id"])
            return [values[int(index)] if valid else None
                    for valid, index in zip(column["VALIDITY"], column["DATA"])]
        if kind == "n":
            return [None] * n
        children = [self.values_of(*pair) for pair in zip(field.get("children", ()), column.get("children", ()))]
        if kind.startswith("+u"):
            return self.union_values(field, column, children)
        if kind == "+r":
            lengths = [int(end) - int(begin) for begin, end in
                       zip([0] + column["children"][0]["DATA"], column["children"][0]["DATA"])]
            values = [value for length, value in zip(lengths, children[1]) for _ in range(length)]
            return values[:n]
        if kind == "+s":
            values = [tuple(child[row] for child in children) for row in range(n)]
        elif kind.startswith("+w:"):
            size = int(kind[3:])
            values = [children[0][row * size:(row + 1) * size] for row in range(n)]
        elif kind.startswith("+v"):
            values = [children[0][int(start):int(start) + int(size)]
                      for start, size in zip(column["OFFSET"], column["SIZE"])]
        elif kind.startswith("+"):
            offsets = [int(offset) for offset in column["OFFSET"]]
            values = [children[0][offsets[row]:offsets[row + 1]] for row in range(n)]
        elif kind in ("vu", "vz"):
            values = [view_value(kind, view, column["VARIADIC_DATA_BUFFERS"]) for view in column["VIEWS"]]
        else:
            values = [flat_value(kind, value) for value in column["DATA"]]
        return [value if valid else None for valid, value in zip(column["VALIDITY"], values)]

    @staticmethod
    def union_values(field, column, children):
        ids = field["type"]["typeIds"]
        # Of sparse unions a value lies in its own row of the child.
        rows = column["OFFSET"] if field["type"]["mode"] == "DENSE" else range(column["count"])
        values = [children[ids.index(type_id)][int(row)] for type_id, row in zip(column["TYPE_ID"], rows)]
        return [None if value is None else (type_id, value) for type_id, value in zip(column["TYPE_ID"], values)]
