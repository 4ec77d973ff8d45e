"""Parquet files written by pyarrow are read to the same values: all types, encodings, codecs, page versions and sizes;
golden files when OUTCORE_TESTING_DATA names them."""

import datetime
import decimal
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402  (pyarrow may be missing)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, TIMEOUT, describe_exit, is_sanitized  # noqa: E402

SEEDS = int(os.environ.get("OUTCORE_SEEDS", "8" if is_sanitized() else "25"))
TESTING_DATA = os.environ.get("OUTCORE_TESTING_DATA")
CODE_DATA, CODE_BUDGET = 1, 3

TYPES = {
    "bool": (pa.bool_(), lambda r: r.random() < 0.5),
    "i8": (pa.int8(), lambda r: r.randrange(-128, 128)),
    "u8": (pa.uint8(), lambda r: r.randrange(256)),
    "i16": (pa.int16(), lambda r: r.randrange(-2**15, 2**15)),
    "u16": (pa.uint16(), lambda r: r.randrange(2**16)),
    "i32": (pa.int32(), lambda r: r.randrange(-2**31, 2**31)),
    "u32": (pa.uint32(), lambda r: r.randrange(2**32)),
    "i64": (pa.int64(), lambda r: r.randrange(-2**63, 2**63) >> r.randrange(60)),
    "u64": (pa.uint64(), lambda r: r.randrange(2**64)),
    "f16": (pa.float16(), lambda r: r.randrange(-100, 100) / 4),
    "f32": (pa.float32(), lambda r: r.choice([0.0, -0.0, float("inf"), 1.5, r.randrange(-10**6, 10**6) / 8])),
    "f64": (pa.float64(), lambda r: r.choice([0.0, -1e300, float("-inf"), r.random()])),
    "d9": (pa.decimal128(9, 2), lambda r: decimal.Decimal(r.randrange(-10**9 + 1, 10**9)).scaleb(-2)),
    "d38": (pa.decimal128(38, 5), lambda r: decimal.Decimal(r.randrange(-10**37, 10**37)).scaleb(-5)),
    "d60": (pa.decimal256(60, 0), lambda r: decimal.Decimal(r.randrange(-10**59, 10**59))),
    "date": (pa.date32(), lambda r: datetime.date(1970, 1, 1) + datetime.timedelta(r.randrange(-20000, 20000))),
    "t_ms": (pa.time32("ms"), lambda r: datetime.time(r.randrange(24), r.randrange(60), 1, 5000)),
    "t_us": (pa.time64("us"), lambda r: datetime.time(r.randrange(24), r.randrange(60), 1, 7)),
    "ts": (pa.timestamp("us"), lambda r: datetime.datetime(2000, 1, 1) + datetime.timedelta(0, r.randrange(10**9))),
    "tz": (pa.timestamp("ms", "Europe/Berlin"), lambda r: datetime.datetime(2020, 1, 1) + datetime.timedelta(r.randrange(99))),
    "dur": (pa.duration("us"), lambda r: datetime.timedelta(r.randrange(-99, 99), 5)),
    "text": (pa.string(), lambda r: r.choice(["", "a", "caf\u00e9", "\u65e5\u672c" * 9, "x" * r.randrange(300)])),
    "few": (pa.string(), lambda r: r.choice(["red", "green", "blue"])),
    "large": (pa.large_string(), lambda r: f"key {r.randrange(50)}"),
    "view": (pa.string_view(), lambda r: "v" * r.randrange(30)),
    "bytes": (pa.binary(), lambda r: r.randbytes(r.randrange(20))),
    "fixed": (pa.binary(7), lambda r: r.randbytes(7)),
    "dict": (pa.dictionary(pa.int32(), pa.string()), lambda r: r.choice(["one", "two", "three"])),
    "null": (pa.null(), lambda r: None),
    "list": (pa.list_(pa.int32()), lambda r: [r.choice([None, 5, 7]) for _ in range(r.randrange(4))]),
    "large_list": (pa.large_list(pa.string()), lambda r: ["a" * r.randrange(9) for _ in range(r.randrange(4))]),
    "pairs": (pa.list_(pa.int64(), 2), lambda r: [r.randrange(9), r.choice([None, 3])]),
    "struct": (pa.struct([("a", pa.int32()), ("b", pa.string())]),
               lambda r: {"a": r.choice([None, 4]), "b": r.choice([None, "", "text"])}),
    "map": (pa.map_(pa.string(), pa.int32()), lambda r: [(f"k{i}", r.choice([None, i])) for i in range(r.randrange(3))]),
    "deep": (pa.list_(pa.struct([("x", pa.list_(pa.list_(pa.int16()))), ("y", pa.struct([("z", pa.float64())]))])),
             lambda r: [r.choice([None, {"x": r.choice([None, [], [[1], None, [], [2, None]]]),
                                         "y": r.choice([None, {"z": r.choice([None, 0.5])}])}])
                        for _ in range(r.randrange(3))]),
}
ENCODINGS = {"i32": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"], "i64": ["DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"],
             "f32": ["BYTE_STREAM_SPLIT"], "f64": ["BYTE_STREAM_SPLIT"], "bool": ["RLE"],
             "text": ["DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"], "bytes": ["DELTA_BYTE_ARRAY"],
             "fixed": ["DELTA_BYTE_ARRAY", "BYTE_STREAM_SPLIT"]}


def make_table(r, rows, names=None):
    columns, nulls = {}, r.choice([0, 0.1, 0.9])
    for name in names or r.sample(list(TYPES), r.randrange(1, 9)):
        kind, make = TYPES[name]
        values = [None if r.random() < nulls else make(r) for _ in range(rows)]
        columns[name] = pa.array(values, kind)
    return pa.table(columns)


def write_options(r, table):
    options = {"compression": r.choice(["none", "snappy", "gzip", "brotli", "lz4", "zstd"]),
               "data_page_version": r.choice(["1.0", "2.0"]), "version": r.choice(["2.4", "2.6"]),
               "data_page_size": r.choice([100, 4000, 1 << 20]), "row_group_size": r.choice([7, 500, 1 << 20]),
               "write_page_checksum": r.random() < 0.5, "store_schema": r.random() < 0.7,
               "write_page_index": r.random() < 0.5, "use_compliant_nested_type": r.random() < 0.5,
               "use_dictionary": r.random() < 0.5, "dictionary_pagesize_limit": r.choice([50, 1 << 20])}
    encodings = {name: r.choice(ENCODINGS[name]) for name in table.column_names if name in ENCODINGS}
    if encodings and not options["use_dictionary"]:
        options["column_encoding"] = encodings
    return options


def read(path, *arguments):
    output = path.with_suffix(".arrow")
    done = subprocess.run([BINARY, "convert", str(path), "-o", str(output), *arguments], capture_output=True,
                          timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        return done, None
    return done, pa.ipc.open_file(str(output)).read_all()


def same(ours, theirs):
    """Equal types and values; floats by their text, so that NaN equals itself."""
    assert ours.column_names == theirs.column_names
    for name in ours.column_names:
        a, b = ours.column(name), theirs.column(name)
        assert a.type == b.type, f"{name}: {a.type} is not {b.type}"
        if a.type != pa.null() and pa.types.is_timestamp(a.type):
            a, b = a.cast(pa.int64()), b.cast(pa.int64())
        assert str(a.to_pylist()) == str(b.to_pylist()), name


@pytest.mark.parametrize("seed", range(SEEDS))
def test_what_pyarrow_writes_is_read(seed, tmp_path):
    r = random.Random(seed)
    path = tmp_path / "t.parquet"
    for _ in range(4):
        table = make_table(r, r.choice([0, 1, 50, 3000]))
        options = write_options(r, table)
        pq.write_table(table, path, **options)
        done, ours = read(path, *r.choice([[], ["-m", "8m"], ["--threads", "4"]]))
        assert ours is not None, f"{options} {table.schema}: {describe_exit(done.returncode)}: {done.stderr.decode()}"
        same(ours, pq.read_table(path))


@pytest.mark.parametrize("name", TYPES)
def test_every_type_is_read_from_plain_and_dictionary_pages(name, tmp_path):
    r = random.Random(name)
    for dictionary in (False, True):
        table = make_table(r, 700, [name])
        path = tmp_path / f"{dictionary}.parquet"
        pq.write_table(table, path, use_dictionary=dictionary, data_page_size=500, dictionary_pagesize_limit=300)
        done, ours = read(path)
        assert ours is not None, done.stderr.decode()
        same(ours, pq.read_table(path))


def query(sql):
    done = subprocess.run([BINARY, "--format", "csv", "-c", sql], capture_output=True, text=True, timeout=TIMEOUT,
                          check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_queries_read_the_columns_they_need(tmp_path):
    path = tmp_path / "q.parquet"
    n = 20_000
    table = pa.table({"i": range(n), "s": [f"name {k % 7}" if k % 5 else None for k in range(n)], "f": [k / 4 for k in range(n)]})
    pq.write_table(table, path, row_group_size=3000, data_page_size=2000, write_page_index=True)
    assert query(f"SELECT count(*) FROM '{path}'") == f"count\n{n}\n"
    assert query(f"SELECT count(*), min(s), sum(f) FROM '{path}' WHERE i BETWEEN 4000 AND 4003") == \
        "count,min,sum\n4,name 4,4001.5\n"
    assert query(f"SELECT f FROM '{path}' WHERE i IN (1, 19999) ORDER BY 1") == "f\n0.25\n4999.75\n"
    assert query(f"SELECT count(*) FROM '{path}' WHERE s IS NULL") == f"count\n{n // 5}\n"
    assert query(f"SELECT s, count(*) FROM read_parquet('{path}') WHERE i >= 19990 GROUP BY s ORDER BY s LIMIT 2").count("\n") == 3


def test_several_files_are_one_table(tmp_path):
    for i in range(3):
        pq.write_table(pa.table({"i": [i, i + 10]}), tmp_path / f"part{i}.parquet")
    assert query(f"SELECT sum(i), count(*) FROM '{tmp_path}/part*.parquet'") == "sum,count\n36,6\n"
    pq.write_table(pa.table({"i": ["x"]}), tmp_path / "part3.parquet")
    done = subprocess.run([BINARY, "-c", f"SELECT * FROM '{tmp_path}/part*.parquet'"], capture_output=True, text=True,
                          timeout=TIMEOUT, check=False)
    assert done.returncode == CODE_DATA and "part3.parquet" in done.stderr and "part0.parquet" in done.stderr


def test_columns_of_several_files_widen(tmp_path):
    pq.write_table(pa.table({"a": pa.array([1, None], pa.int32()), "t": ["x", "y"]}), tmp_path / "w0.parquet")
    pq.write_table(pa.table({"t": pa.array(["z"], pa.large_string()), "a": pa.array([1 << 40], pa.int64()),
                             "more": [0.5]}), tmp_path / "w1.parquet")
    pq.write_table(pa.table({"a": pa.array([None], pa.null())}), tmp_path / "w2.parquet")
    where = f"FROM '{tmp_path}/w*.parquet'"
    assert query(f"SELECT * {where}") == "a,t,more\n1,x,\n,y,\n1099511627776,z,0.5\n,,\n"
    assert query(f"SELECT more, a {where} WHERE a > 1") == "more,a\n0.5,1099511627776\n"
    assert query(f"SELECT count(*) {where}") == "count\n4\n"
    assert query(f"SELECT count(t) {where}") == "count\n3\n"


def test_a_large_row_group_is_read_in_little_memory(tmp_path):
    path = tmp_path / "large.parquet"
    n = 400_000
    table = pa.table({"i": range(n), "s": [f"some text that is not the same {k * 7919 % n}" for k in range(n)]})
    pq.write_table(table, path, row_group_size=n, data_page_size=64 << 10, use_dictionary=False)
    done = subprocess.run([BINARY, "-m", "2m", "--stats", "-c", f"SELECT count(*), max(s) FROM '{path}'"],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, done.stderr


def test_every_truncation_and_flipped_byte_is_survived(tmp_path):
    table = make_table(random.Random(3), 40, ["i64", "text", "few", "list", "d38"])
    path = tmp_path / "whole.parquet"
    pq.write_table(table, path, compression="snappy", write_page_checksum=True)
    whole = path.read_bytes()
    damaged = tmp_path / "damaged.parquet"
    step = 23 if is_sanitized() else 7
    for at in range(0, len(whole), step):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x41]) + whole[at + 1:]):
            damaged.write_bytes(content)
            done, _ = read(damaged, "--input-format", "parquet")
            assert done.returncode in (0, CODE_DATA, CODE_BUDGET), f"{at}: {describe_exit(done.returncode)}"
            assert done.returncode == 0 or done.stderr.startswith(b"outcore: ")


def golden(folder):
    return sorted((Path(TESTING_DATA) / "parquet" / folder).glob("*")) if TESTING_DATA else []


# Refused: a checksum that is wrong on purpose, and a year that nanoseconds cannot count.
REFUSED = {"rle-dict-uncompressed-corrupt-checksum.parquet", "int96_from_spark.parquet"}


@pytest.mark.parametrize("path", golden("data"), ids=lambda path: path.name)
def test_golden_files_have_the_values_of_pyarrow(path, tmp_path):
    if path.suffix != ".parquet":
        pytest.skip("no Parquet file")
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    done, ours = read(copy)
    if path.name in REFUSED:
        assert done.returncode == CODE_DATA
        return
    assert ours is not None, done.stderr.decode()
    try:
        theirs = pq.read_table(path)
    except pa.ArrowException:
        return  # pyarrow cannot
    same(ours, theirs)


@pytest.mark.parametrize("path", golden("bad_data") + golden("damaged"), ids=lambda path: path.name[-40:])
def test_damaged_files_end_cleanly(path, tmp_path):
    copy = tmp_path / "x.parquet"
    copy.write_bytes(path.read_bytes())
    done, _ = read(copy, "-m", "64m")
    assert done.returncode in (0, CODE_DATA, CODE_BUDGET), f"{describe_exit(done.returncode)}: {done.stderr}"


def test_the_limit_that_is_named_for_pages_is_enough(tmp_path):
    path = tmp_path / "pages.parquet"
    n = 60_000
    table = pa.table({f"c{i}": [k * 7919 % n + i for k in range(n)] for i in range(12)})
    pq.write_table(table, path, use_dictionary=False, data_page_size=1 << 20, compression="zstd")

    def run(limit):
        sql = f"SELECT * FROM '{path}' ORDER BY c0"
        return subprocess.run([BINARY, "-m", str(limit), "--format", "null", "-c", sql], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
    done = run(1 << 20)
    assert done.returncode == CODE_BUDGET and done.stderr.count("is enough") == 1, done.stderr
    number = float(re.search(r"a limit of ([\d.]+) MiB is enough", done.stderr).group(1))
    done = run(int(number * (1 << 20)))
    assert done.returncode == 0, done.stderr


def test_a_page_with_another_checksum_is_refused_by_name(tmp_path):
    path = tmp_path / "crc.parquet"
    numbers = [k * 7919 for k in range(1000)]
    pq.write_table(pa.table({"good": numbers, "bad": numbers}), path, use_dictionary=False, compression="none",
                   write_page_checksum=True, write_statistics=False)
    column = pq.ParquetFile(path).metadata.row_group(0).column(1)
    content = bytearray(path.read_bytes())
    content[column.data_page_offset + column.total_compressed_size - 3] ^= 1  # in a value: only the checksum can tell
    path.write_bytes(content)
    done, _ = read(path)
    assert done.returncode == CODE_DATA
    message = done.stderr.decode()
    assert str(path) in message and 'column "bad"' in message and "page at byte" in message, message
    assert query(f"SELECT max(good) FROM '{path}'") == f"max\n{numbers[-1]}\n"
