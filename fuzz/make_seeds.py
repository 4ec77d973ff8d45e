#!/usr/bin/env python3
"""Writes the first seeds of the IPC and Parquet fuzz targets to fuzz/corpus: small streams and files
of every type, by pyarrow; and small spill files, by our own tool spill_seeds (build/dev). What fuzzing adds
later lies beside them under other names."""
import decimal
import pathlib
import random
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parent.parent
CORPUS = ROOT / "fuzz/corpus"


def tables():
    numbers = pa.array([None, 1, 0], pa.int32())
    fixed = [pa.bool_(), pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.float16(), pa.float64()]
    yield "fixed", pa.table({f"c{i}": numbers.cast(t) for i, t in enumerate(fixed)})
    decimals = [pa.decimal32(9, 1), pa.decimal64(12, 1), pa.decimal128(20, 2), pa.decimal256(50, 3)]
    digits = [None, decimal.Decimal("1.5"), decimal.Decimal("-7")]
    yield "decimal", pa.table({f"c{i}": pa.array(digits, t) for i, t in enumerate(decimals)})
    times = [pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("us", "UTC"), pa.duration("ms")]
    yield "time", pa.table({f"c{i}": pa.array([None, 1, 86399], t) for i, t in enumerate(times)})
    yield "interval", pa.table({"i": pa.array([None, (1, 2, 3)], pa.month_day_nano_interval())})
    texts = ["a", None, "longer than twelve bytes"]
    for t in [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()]:
        yield str(t).replace("_", ""), pa.table({"s": pa.array(texts, t)})
    yield "fixedbinary", pa.table({"s": pa.array([b"abc", None, b"xyz"], pa.binary(3))})
    yield "null", pa.table({"n": pa.nulls(3)})
    lists = [[1, 2], None, [], [3]]
    for t in [pa.list_(pa.int16()), pa.large_list(pa.int16()), pa.list_view(pa.int16()),
              pa.large_list_view(pa.int16())]:
        yield "list", pa.table({"l": pa.array(lists, t)})
    yield "fixedlist", pa.table({"l": pa.array([[1, 2], None], pa.list_(pa.int8(), 2))})
    yield "struct", pa.table({"s": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}])})
    yield "map", pa.table({"m": pa.array([[("k", 1)], None, []], pa.map_(pa.string(), pa.int32()))})
    ids = pa.array([0, 1, 0], pa.int8())
    yield "denseunion", pa.table({"u": pa.UnionArray.from_dense(
        ids, pa.array([0, 0, 1], pa.int32()), [pa.array([1, 2]), pa.array(["x"])])})
    yield "sparseunion", pa.table({"u": pa.UnionArray.from_sparse(
        ids, [pa.array([1, 2, 3]), pa.array(["x", "y", "z"])])})
    yield "runs", pa.table({"r": pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 5], pa.int32()), pa.array(["a", None]))})
    words = pa.array(["x", "y", None, "x"]).dictionary_encode()
    yield "dictionary", pa.table({"d": words})
    yield "listofdictionary", pa.table({"l": pa.ListArray.from_arrays(pa.array([0, 1, 4], pa.int32()), words)})
    yield "deep", pa.table({"d": pa.array([[{"a": [1, None], "m": [("k", ["v"])]}], None],
                                          pa.list_(pa.struct([("a", pa.list_(pa.int32())),
                                                              ("m", pa.map_(pa.string(), pa.list_(pa.string())))])))})
    yield "nocolumns", pa.table({})


def serialize(table, is_file, codec):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=codec)
    make = pa.ipc.new_file if is_file else pa.ipc.new_stream
    with make(sink, table.schema, options=options) as writer:
        writer.write_table(table)
        writer.write_table(table.slice(0, 1))
    return sink.getvalue().to_pybytes()


def serialize_with_checksums():
    """As spill files have them; the digits need not be right to be found."""
    sink = pa.BufferOutputStream()
    batch = pa.record_batch({"s": pa.array(["a", None, "longer than twelve bytes"])})
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        for digits in ["0123456789abcdef", "too short"]:
            writer.write_batch(batch, custom_metadata={"other": "pair", "outcore:xxh3": digits})
    return sink.getvalue().to_pybytes()


def serialize_parquet(table, number):
    """A whole file with page indexes, or the footer alone; with and without the Arrow schema. None: not all types
    can be written."""
    sink = pa.BufferOutputStream()
    try:
        with pq.ParquetWriter(sink, table.schema, write_page_index=True, store_schema=number % 2 == 0,
                              data_page_version="2.0" if number % 4 == 0 else "1.0") as writer:
            writer.write_table(table)
            writer.write_table(table.slice(1))
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return None
    file = sink.getvalue().to_pybytes()
    return file if number % 3 else file[-8 - int.from_bytes(file[-8:-4], "little"):-8]


def parquet_seeds():
    """Small whole files of every encoding, codec and page version, nested and flat."""
    numbers = pa.array([1, None, 3, -4, 5] * 8, pa.int64())
    texts = pa.array(["a", None, "text", "text and more", ""] * 8)
    plain = {
        "number": (numbers, ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"]),
        "small": (numbers.cast(pa.int8()), ["PLAIN", "DELTA_BINARY_PACKED"]),
        "text": (texts, ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]),
        "float": (numbers.cast(pa.float64()), ["PLAIN", "BYTE_STREAM_SPLIT"]),
        "bool": (pa.array([True, None, False, True, True] * 8), ["PLAIN", "RLE"]),
        "decimal": (numbers.cast(pa.decimal128(30, 2)), ["PLAIN", "DELTA_BYTE_ARRAY"]),
        "list": (pa.array([[1, None], [], None, [2], [3, 4]] * 8, pa.list_(pa.int32())), ["PLAIN"]),
        "deep": (pa.array([[{"x": [[1], []], "y": "a"}, None], None, []] * 8), ["PLAIN"]),
        "map": (pa.array([[("k", 1)], [], None] * 8, pa.map_(pa.string(), pa.int32())), ["PLAIN"]),
        "pair": (pa.array([[1, 2], None, [3, None]] * 8, pa.list_(pa.int16(), 2)), ["PLAIN"]),
        "dictionary": (texts.dictionary_encode(), ["PLAIN"]),
    }
    codecs = ["none", "snappy", "gzip", "zstd", "lz4", "brotli"]
    for name, (values, encodings) in plain.items():
        for i, encoding in enumerate(["dictionary", *encodings]):
            table = pa.table({name: values, "other": pa.array(range(len(values)), pa.int32())})
            sink = pa.BufferOutputStream()
            options = {"use_dictionary": True} if encoding == "dictionary" else {"use_dictionary": False}
            if encoding not in ("dictionary", "PLAIN"):
                options["column_encoding"] = {name: encoding}
            pq.write_table(table, sink, compression=codecs[(i + len(name)) % len(codecs)], write_page_checksum=i == 0,
                           data_page_version="2.0" if i % 2 else "1.0", data_page_size=64, row_group_size=25,
                           store_schema=name in ("pair", "dictionary"), **options)
            yield f"seed-{name}-{encoding.lower()}", bytes([2 * (i % 2)]) + sink.getvalue().to_pybytes()


def put(target, name, data):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def main():
    rng = random.Random(1)
    for number, (name, table) in enumerate(tables()):
        codec = [None, "lz4", "zstd"][number % 3]
        choice = bytes([number])
        stream = serialize(table, False, codec)
        put("stream_fuzz", f"seed-{number:02}-{name}", stream + choice)
        file = serialize(table, True, codec)
        put("file_fuzz", f"seed-{number:02}-{name}", file[6:-6] + choice)
        put("message_fuzz", f"seed-{number:02}-{name}", stream)
        if parquet := serialize_parquet(table, number):
            put("parquet_metadata_fuzz", f"seed-{number:02}-{name}", parquet)
    put("message_fuzz", "seed-25-checksums", serialize_with_checksums())
    for name, data in parquet_seeds():
        put("parquet_read_fuzz", name, data)
    (CORPUS / "run_fuzz").mkdir(parents=True, exist_ok=True)
    subprocess.run([ROOT / "build/dev/spill_seeds", CORPUS / "run_fuzz"], check=True)
    # These make their data from bytes that mean nothing by themselves.
    for target, n, size in (("import_fuzz", 24, 600), ("sort_fuzz", 24, 40), ("row_key_fuzz", 24, 400),
                            ("packed_column_fuzz", 24, 600)):
        for i in range(n):
            put(target, f"seed-{i:02}", rng.randbytes(size))
    put("csv_fuzz", "seed-00", b'\x00\x00a,b,c\n1,2.5,x\n,,"y ""z"""\n')
    put("csv_fuzz", "seed-01", b'\x01\x01a;b\r\n2020-01-01;12:34:56\r\n"multi\nline";1e300\r\n')
    return 0


if __name__ == "__main__":
    sys.exit(main())
