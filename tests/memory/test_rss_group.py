"""The memory limit, measured from outside, while SQL groups: the peak of the resident set stays below the
limit plus 16 MiB, and the answer is right. Sizes are small by default; OUTCORE_SLOW=1 takes larger ones."""

import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import MIB, is_sanitized, run_measured  # noqa: E402

pytestmark = pytest.mark.skipif(is_sanitized(), reason="sanitizers take memory of their own")

SLOW = os.environ.get("OUTCORE_SLOW") == "1"
ALLOWANCE = 16 * MIB  # code, stacks, codec contexts


def query(folder, limit, sql, *args):
    """Runs a query under a limit. Returns (outcome, text of the answer)."""
    done = run_measured(folder, "-m", limit, "--format", "csv", "--output-header", "no", "--stats", *args,
                        sql.replace("FROM data", f"FROM '{folder}/data.arrows'"))
    assert done.code == 0, f"limit {limit}: exit {done.code}: {done.stderr}"
    most = int(limit[:-1]) * MIB + ALLOWANCE
    assert done.rss <= most, f"limit {limit}: peak of {done.rss / MIB:.1f} MiB: {done.stderr}"
    assert done.stats["peak_budget_bytes"] <= int(limit[:-1]) * MIB
    return done, done.stdout.decode().strip()


@pytest.fixture(name="numbers", scope="module")
def fixture_numbers(tmp_path_factory):
    """A folder with data.arrows: k, of which every value comes twice, and a text of it."""
    folder = tmp_path_factory.mktemp("numbers")
    rows = 4_000_000 if SLOW else 400_000
    keys = np.random.default_rng(1).permutation(rows) // 2
    table = pa.table({"k": keys, "s": np.char.add("key number ", keys.astype(str)),
                      "v": np.arange(rows)})
    with pa.ipc.new_stream(str(folder / "data.arrows"), table.schema) as writer:
        writer.write_table(table, max_chunksize=8192)
    return folder, rows


@pytest.mark.parametrize("limit", ["1m", "4m", "16m"])
@pytest.mark.parametrize("threads", ["1", "4"])
def test_many_groups(numbers, limit, threads):
    folder, rows = numbers
    done, answer = query(folder, limit, "SELECT count(*), sum(n), sum(total) FROM (SELECT k, count(*) AS n, "
                                        "sum(v) AS total FROM data GROUP BY k) q", "-t", threads)
    assert answer == f"{rows // 2},{rows},{rows * (rows - 1) // 2}"
    assert done.stats["spill_count"] > 0


@pytest.mark.parametrize("limit", ["2m", "8m"])
def test_text_keys(numbers, limit):
    folder, rows = numbers
    _, answer = query(folder, limit, "SELECT count(*), min(n), max(n) FROM (SELECT s, count(*) AS n FROM data "
                                     "GROUP BY s) q")
    assert answer == f"{rows // 2},2,2"


@pytest.mark.parametrize("limit", ["1m", "8m"])
def test_distinct(numbers, limit):
    folder, rows = numbers
    _, answer = query(folder, limit, "SELECT count(*) FROM (SELECT DISTINCT k, s FROM data) q")
    assert answer == str(rows // 2)
    _, answer = query(folder, limit, "SELECT count(DISTINCT k) FROM data")
    assert answer == str(rows // 2)


@pytest.mark.parametrize("limit", ["4m"])
def test_lists_larger_than_the_limit(numbers, limit):
    folder, rows = numbers
    _, answer = query(folder, limit, "SELECT count(*), sum(length(all_of_it)) FROM (SELECT k % 1000 AS g, "
                                     "string_agg(s, ',') AS all_of_it FROM data GROUP BY 1) q")
    length = 2 * sum(len(f"key number {k}") + 1 for k in range(rows // 2)) - 1000
    assert answer == f"1000,{length}"


def test_one_hot_key(tmp_path):
    rows = 300_000
    keys = np.where(np.arange(rows) % 3 == 0, np.arange(rows), 7)
    table = pa.table({"k": keys, "v": np.ones(rows, dtype=np.int64)})
    with pa.ipc.new_stream(str(tmp_path / "data.arrows"), table.schema) as writer:
        writer.write_table(table, max_chunksize=8192)
    _, answer = query(tmp_path, "2m", "SELECT count(*), max(n), sum(n) FROM (SELECT k, sum(v) AS n FROM data "
                                      "GROUP BY k) q")
    assert answer == f"{len(np.unique(keys))},{rows // 3 * 2},{rows}"
