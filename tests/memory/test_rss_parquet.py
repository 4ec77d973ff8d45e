"""The memory limit, measured from outside, while Parquet files are read: a row group many times as large as the limit
passes through page by page, and the answer is right. Sizes are small by default; OUTCORE_SLOW=1 takes a row group of more
than 1.5 GiB."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import MIB, is_sanitized, run_measured  # noqa: E402

pytestmark = pytest.mark.skipif(is_sanitized(), reason="sanitizers take memory of their own")

SLOW = os.environ.get("OUTCORE_SLOW") == "1"
ROWS = 8_000_000 if SLOW else 1_500_000
ALLOWANCE = 16 * MIB  # code, stacks, codec contexts


def query(folder, limit, sql, *args):
    """Runs a query under a limit. Returns the text of the answer."""
    done = run_measured(folder, "-m", f"{limit}m", "--format", "csv", "--output-header", "no", "--stats", *args, sql)
    assert done.code == 0, f"limit {limit}m: exit {done.code}: {done.stderr}"
    most = limit * MIB + ALLOWANCE
    assert done.rss <= most, f"limit {limit}m: peak of {done.rss / MIB:.1f} MiB: {done.stderr}"
    assert done.stats["peak_budget_bytes"] <= limit * MIB
    return done.stdout.decode().strip()


@pytest.fixture(name="paths", scope="module")
def fixture_paths(tmp_path_factory):
    """Files of one row group each, by codec: numbers that cannot be packed, texts of them, lists of none and of three."""
    folder = tmp_path_factory.mktemp("row_group")
    generator = np.random.default_rng(1)
    numbers = generator.integers(0, 2**62, ROWS)
    ends = np.append(np.arange(ROWS, dtype=np.int32) // 3 * 3, ROWS).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(numbers))
    text = pc.binary_join_element_wise(pa.array(numbers).cast(pa.string()), pa.array(numbers[::-1]).cast(pa.string()),
                                       "text " * 32, "-")
    few = pc.binary_join_element_wise("word", pa.array(numbers % 1000).cast(pa.string()), " ")
    table = pa.table({"n": np.arange(ROWS), "k": numbers, "s": text, "few": few, "l": lists})
    paths = {}
    for codec in ("none", "zstd"):
        paths[codec] = folder / f"{codec}.parquet"
        pq.write_table(table, paths[codec], compression=codec, row_group_size=ROWS, use_dictionary=["few"],
                       data_page_size=1 << 20)
    metadata = pq.ParquetFile(paths["none"]).metadata
    assert metadata.num_row_groups == 1 and metadata.row_group(0).total_byte_size > (1500 if SLOW else 300) * MIB
    yield paths, numbers, pc.sum(pc.binary_length(text)).as_py()
    for path in paths.values():
        path.unlink()


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("limit,threads", [(16, "1"), (16, "4"), (64, "1"), (64, "4")])
def test_a_row_group_larger_than_the_limit(codec, limit, threads, paths):
    files, numbers, length = paths
    answer = query(files[codec].parent, limit, "SELECT count(*), count(l), max(n), min(k), max(k), sum(length(s)), "
                                               f"max(few) FROM '{files[codec]}'", "-t", threads)
    assert answer == f"{ROWS},{ROWS},{ROWS - 1},{numbers.min()},{numbers.max()},{length},word 999"


@pytest.mark.parametrize("limit", [4, 16])
def test_a_sort_of_a_row_group_larger_than_the_limit(limit, paths):
    files, numbers, _ = paths
    answer = query(files["zstd"].parent, limit, f"SELECT k FROM (SELECT k, n, few FROM '{files['zstd']}' ORDER BY k, n) "
                                                f"q LIMIT 3 OFFSET {ROWS // 2}")
    assert [int(k) for k in answer.split()] == np.sort(numbers)[ROWS // 2:ROWS // 2 + 3].tolist()


def test_all_columns_are_copied_at_a_small_limit(paths):
    source = paths[0]["zstd"]
    target = source.with_suffix(".arrow")
    done = run_measured(target.parent, "convert", source, "-o", target, "-m", "16m", "--stats")
    assert done.code == 0, done.stderr
    assert done.rss <= 16 * MIB + ALLOWANCE, f"peak of {done.rss / MIB:.1f} MiB"
    with pa.memory_map(str(target)) as file:
        ours = pa.ipc.open_file(file).read_all()
        assert ours.equals(pq.read_table(source).select(ours.column_names))
    target.unlink()
