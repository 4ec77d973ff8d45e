"""`outcore inspect` of Parquet files: what it tells of a file is what pyarrow reads in the footer.

Files of the Parquet project need OUTCORE_TESTING_DATA, a folder with parquet/{data,bad_data,damaged}/.
"""

import datetime
import decimal
import os
import random
import re
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import run  # noqa: E402

TESTING_DATA = os.environ.get("OUTCORE_TESTING_DATA")
needs_data = pytest.mark.skipif(not TESTING_DATA, reason="OUTCORE_TESTING_DATA is not set")
FAILED = range(1, 9)  # an exit code of ours, not a signal's


def inspect(path, *args):
    return run("inspect", path, *args).stdout.decode()


def line_of(text, name):
    """What stands behind a leaf's name in the section "stored as"."""
    stored = text[text.index("stored as:"):]
    return re.search(rf"^  \d+ +{re.escape(name)} +(.*)$", stored, re.M).group(1)


@pytest.fixture(scope="module")
def table():
    n = 1000
    day = datetime.date(2024, 2, 28)
    return pa.table({
        "i": pa.array(range(n), pa.int32()),
        "u": pa.array([2**63 + i for i in range(n)], pa.uint64()),
        "f": pa.array([i / 4 for i in range(n)], pa.float64()),
        "h": pa.array([i / 4 for i in range(n)], pa.float16()),
        "d": pa.array([decimal.Decimal(i - 500) / 100 for i in range(n)], pa.decimal128(20, 2)),
        "t": pa.array([None if i % 10 == 0 else f"text {i:04}" for i in range(n)]),
        "b": pa.array([b"\x00\xff" for _ in range(n)]),
        "day": pa.array([day + datetime.timedelta(i % 3) for i in range(n)]),
        "at": pa.array([datetime.datetime(2024, 1, 1, 12, 0, i % 60) for i in range(n)], pa.timestamp("us", "UTC")),
        "yes": pa.array([i % 2 == 0 for i in range(n)]),
        "l": pa.array([[i, None] for i in range(n)], pa.list_(pa.int64())),
        "s": pa.array([{"x": i, "y": [("k", i)]} for i in range(n)],
                      pa.struct([("x", pa.int64()), ("y", pa.map_(pa.string(), pa.int64()))])),
    }, metadata={"who": "me"})


def test_what_the_footer_says_is_told(tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=300, compression="zstd", write_page_index=True)
    text = inspect(path)
    footer = pq.read_metadata(path)
    assert "format: Parquet, version 2\n" in text
    assert f'written by: "{footer.created_by}"' in text
    assert "rows: 1000\n" in text
    assert "row groups: 4 (up to 300 rows, " in text
    assert "compression: ZSTD\n" in text
    assert 'metadata: "who" = "me"\n' in text
    assert re.search(r'metadata: "ARROW:schema", \d+ bytes\n', text)
    assert "columns: 12\n" in text and f"stored as: {footer.num_columns}\n" in text
    bounds = {"i": "0 nulls, 0 .. 999", "u": f"{2**63} .. {2**63 + 999}", "f": "0.0 .. 249.75", "h": "0.0 .. 249.75",
              "d": "-5.00 .. 4.99", "t": '100 nulls, "text 0001" .. "text 0999"', "b": "\\x00ff .. \\x00ff",
              "day": "2024-02-28 .. 2024-03-01", "at": "2024-01-01T12:00:00Z .. 2024-01-01T12:00:59Z",
              "yes": "false .. true", "l.list.element": "1000 nulls, 0 .. 999", "s.x": "0 .. 999",
              "s.y.key_value.key": '"k" .. "k"', "s.y.key_value.value": "0 .. 999"}
    for name, expected in bounds.items():
        line = line_of(text, name)
        assert expected in line, line
        assert line.endswith(", page index"), line
        assert "RLE_DICTIONARY" in line or name == "yes", line
    assert line_of(text, "i").startswith("INT32, ZSTD ")
    assert line_of(text, "d").startswith("FIXED_LEN_BYTE_ARRAY(9), ")


def test_physical_shows_every_chunk(tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(table.select(["i", "t"]), path, row_group_size=300, compression="none")
    text = inspect(path, "--physical")
    footer = pq.read_metadata(path)
    for group in range(4):
        rows = footer.row_group(group).num_rows
        part = text[text.index(f"row group {group + 1}: {rows} rows, "):]
        chunk = footer.row_group(group).column(0)
        start = chunk.dictionary_page_offset or chunk.data_page_offset
        assert f"  1    at {start}, UNCOMPRESSED " in part
        assert f", {300 * group} .. {300 * group + rows - 1}\n" in part
    assert "row group" not in inspect(path).split("columns:")[1]


def test_types_are_those_of_the_stored_schema(tmp_path):
    words = pa.array(["a", "b", None])
    table = pa.table({
        "large": words.cast(pa.large_string()), "view": words.cast(pa.string_view()),
        "dictionary": words.dictionary_encode(), "zone": pa.array([1, 2, 3], pa.timestamp("ms", "Asia/Tokyo")),
        "duration": pa.array([1, 2, 3], pa.duration("ns")),
        "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int32(), 2)),
        "wide": pa.array([decimal.Decimal(1)] * 3, pa.decimal256(5, 1)), "nothing": pa.nulls(3),
        "half": pa.array([1, 2, 3], pa.float16()), "small": pa.array([1, 2, 3], pa.uint8())})
    path = tmp_path / "a"
    pq.write_table(table, path)
    text = inspect(path)  # told by its content
    for name, type in {"large": "large_utf8", "view": "utf8_view", "dictionary": "dictionary<int32, utf8>",
                       "zone": "timestamp[ms, Asia/Tokyo]", "duration": "duration[ns]",
                       "fixed": "fixed_size_list<int32, 2>", "wide": "decimal256(5, 1)", "nothing": "null",
                       "half": "float16", "small": "uint8"}.items():
        assert re.search(rf"^  \d+ +{name} +{re.escape(type)}$", text, re.M), text


def test_odd_files_are_told_too(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int32())}), path)
    assert "rows: 0\n" in inspect(path)
    pq.write_table(pa.table({"a\nb": pa.array(["x" * 2000 + "é"])}), path)
    assert f'"{"x" * 40}"... .. "' in inspect(path)
    path.write_bytes(b"PAR1")
    refused = run("inspect", path, check=False)
    assert refused.code in FAILED and "4 bytes are too few for a Parquet file" in refused.stderr
    path.write_bytes(b"PARE" + b"x" * 20 + b"PARE")
    refused = run("inspect", path, check=False)
    assert refused.code in FAILED and "its footer is encrypted, which is not supported" in refused.stderr


def test_a_footer_of_many_row_groups_is_read_in_a_small_limit(tmp_path):
    path = tmp_path / "a.parquet"
    with pq.ParquetWriter(path, pa.schema([("a", pa.int32())])) as writer:
        batch = pa.record_batch({"a": pa.array([1], pa.int32())})
        for _ in range(3000):
            writer.write_batch(batch)
    assert pq.read_metadata(path).serialized_size > 300_000
    assert "row groups: 3000 (up to 1 rows, " in inspect(path, "--memory-limit", "2m")
    refused = run("inspect", path, "--memory-limit", "1m", check=False)
    assert refused.code in (0, *FAILED)


# ---- files of the Parquet project --------------------------------------------------------------------

def files_of(folder):
    return sorted((Path(TESTING_DATA) / "parquet" / folder).iterdir()) if TESTING_DATA else []


@needs_data
@pytest.mark.parametrize("path", [p for p in files_of("data") if p.suffix == ".parquet"], ids=lambda p: p.stem)
def test_golden_files(path):
    text = inspect(path, "--physical")
    if path.stem == "incorrect_map_schema":  # pyarrow takes no map whose keys may be null
        assert "\nrows: 1\n" in text and "map<key: utf8, value: utf8>" in text
        return
    footer = pq.read_metadata(path)
    rows = sum(footer.row_group(i).num_rows for i in range(footer.num_row_groups))
    assert f"\nrows: {rows}\n" in text
    assert f"\nrow groups: {footer.num_row_groups} " in text
    assert f"\nstored as: {footer.num_columns}\n" in text
    names = [footer.schema.column(i).path for i in range(footer.num_columns)]
    for i, name in enumerate(names):
        line = line_of(text, name)
        assert line.startswith(footer.schema.column(i).physical_type)


@needs_data
@pytest.mark.parametrize("path", files_of("bad_data") + files_of("damaged"), ids=lambda p: p.name[-24:])
def test_damaged_files_end_cleanly(tmp_path, path):
    data = path.read_bytes()
    copy = tmp_path / "a.parquet"
    # Most are damaged in their first bytes already; with those right, the footer is what is read.
    for content in (data, b"PAR1" + data[4:]):
        copy.write_bytes(content)
        done = run("inspect", copy, "--physical", check=False)
        assert done.code in (0, *FAILED), done.stderr


def test_flipped_bytes_of_footers_end_cleanly(tmp_path, table):
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, row_group_size=500)
    data = bytearray(path.read_bytes())
    footer_bytes = int.from_bytes(data[-8:-4], "little")
    chosen = random.Random(1)
    for _ in range(100):
        copy = bytearray(data)
        for _ in range(chosen.choice([1, 1, 2, 5])):
            copy[-8 - chosen.randrange(footer_bytes + 1)] = chosen.randrange(256)
        path.write_bytes(copy)
        done = run("inspect", path, "--physical", check=False)
        assert done.code in (0, *FAILED), done.stderr
