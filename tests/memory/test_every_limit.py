"""Queries of several spilling operators at many limits: more memory never turns success into failure, and no limit or
number of threads changes an answer. OUTCORE_LIMIT_STEP (MiB) tries more limits than these few."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, MIB, TIMEOUT, describe_exit, is_sanitized  # noqa: E402

ROWS = 3000 if is_sanitized() else 20_000
ROWS_SQL = f"""(SELECT v, v % 50 AS g, v * 7919 % {ROWS * 4 // 5} AS k, 'trace-' || (v * 7919 % {ROWS * 4 // 5}) AS t,
    v % 7 AS a, v % 11 AS b, v % 13 AS c, (v % 1000)::double precision / 8 AS f
    FROM generate_series(1, {ROWS}) AS s(v)) AS q"""
QUERIES = {
    "count_distinct": "SELECT g, count(DISTINCT t) FROM {q} GROUP BY g ORDER BY g",
    "group_then_sort": "SELECT t, count(*), sum(v) FROM {q} GROUP BY t ORDER BY t",
    "cube_of_distinct": "SELECT a, b, c, sum(DISTINCT v) FROM {q} GROUP BY CUBE(a, b, c) ORDER BY 1, 2, 3",
    "string_agg": "SELECT g, string_agg(t, ',' ORDER BY t DESC) FROM {q} GROUP BY g ORDER BY g",
    "array_agg_distinct": "SELECT g, array_agg(DISTINCT k) FROM {q} GROUP BY g ORDER BY g",
    "two_distincts": "SELECT g, count(DISTINCT t), count(DISTINCT k), sum(v) FROM {q} GROUP BY g ORDER BY g",
    "group_of_groups": "SELECT n, count(*) FROM (SELECT t, count(DISTINCT v) AS n FROM {q} GROUP BY t) AS z "
                       "GROUP BY n ORDER BY n",
    "aggregates_of_texts": "SELECT max(s), min(s), count(*) FROM "
                           "(SELECT t, string_agg(v::text, '-' ORDER BY v) AS s FROM {q} GROUP BY t) AS z",
    "distinct": "SELECT DISTINCT t, k FROM {q} ORDER BY k, t",
    "five_levels": "SELECT DISTINCT p FROM (SELECT t || '-' || n AS p FROM (SELECT t, count(*) AS n FROM {q} "
                   "GROUP BY t ORDER BY t LIMIT 30000) AS z) AS y ORDER BY p DESC",
    "union": "SELECT t FROM {q} UNION SELECT k::text FROM {q} ORDER BY 1",
    "quantiles": "SELECT a, b, median(f), quantile_cont(v, 0.9) FROM {q} GROUP BY ROLLUP(a, b) ORDER BY 1, 2",
    "collected": "SELECT k, array_agg(t ORDER BY v), first_value(t ORDER BY v) FROM {q} GROUP BY k "
                 "HAVING count(*) > 1 ORDER BY k",
    "grouping_sets": "SELECT a, b, c, count(*), count(DISTINCT t), string_agg(DISTINCT a::text, ',') FROM {q} "
                     "GROUP BY GROUPING SETS((a, b), (c), ()) ORDER BY 1, 2, 3",
    "wide_rows": "SELECT repeat(t, 20) AS w, max(repeat(t, 10)), count(*) FROM {q} GROUP BY 1 ORDER BY 1",
    "three_sorts": "SELECT count(*) FROM (SELECT DISTINCT t, v FROM (SELECT * FROM {q} ORDER BY t) AS z ORDER BY v) AS y",
}


def limits():
    step = float(os.environ.get("OUTCORE_LIMIT_STEP", "0"))
    if step == 0:
        return [1, 1.5, 2, 4] if is_sanitized() else [1, 1.25, 1.5, 2, 2.75, 4, 6, 12]
    return [1 + step * i for i in range(int(15 / step) + 1)]


def answer(sql, limit, threads):
    done = subprocess.run([BINARY, "-t", str(threads), "-m", str(int(limit * MIB)), "-c", sql],
                          capture_output=True, text=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, f"{limit} MiB, {threads} threads: {describe_exit(done.returncode)}: {done.stderr}"
    return done.stdout


@pytest.mark.parametrize("name", QUERIES)
def test_more_memory_never_fails(name):
    sql = QUERIES[name].format(q=ROWS_SQL)
    whole = answer(sql, 1024, 1)
    assert whole.count("\n") > 1
    for i, limit in enumerate(limits()):
        assert answer(sql, limit, 1 + i % 2) == whole, f"{limit} MiB"


@pytest.mark.parametrize("sql", [
    "SELECT x, max(repeat('a', 3000000)) AS m FROM (VALUES (1), (2)) AS t(x) GROUP BY x ORDER BY x",
    "SELECT x, max(repeat('a' || x, 400000 + x)) AS m FROM generate_series(1, 5) AS t(x) GROUP BY x ORDER BY x",
    "SELECT repeat('a' || x, 400000 + x) AS m FROM generate_series(1, 5) AS t(x) GROUP BY 1",
    "SELECT string_agg(repeat('a' || x, 400000 + x), ',') AS m FROM generate_series(1, 5) AS t(x)",
    "SELECT x % 2 AS g, array_agg(repeat('a', 200000)) AS m FROM generate_series(1, 10) AS t(x) GROUP BY 1 ORDER BY 1",
    "SELECT repeat('a' || x, 400000 + x) AS m FROM generate_series(1, 5) AS t(x) ORDER BY 1",
])
def test_the_limit_that_an_error_names_is_enough(sql):
    def run(limit):
        return subprocess.run([BINARY, "-m", str(limit), "-c", sql], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
    done = run(MIB)
    assert done.returncode == 3, describe_exit(done.returncode)
    assert done.stderr.count("is enough") == 1, done.stderr
    number, unit = re.search(r"a limit of ([\d.]+) (MiB|GiB) is enough", done.stderr).groups()
    done = run(int(float(number) * MIB * (1 if unit == "MiB" else 1024)))
    assert done.returncode == 0, f"{number} {unit}: {done.stderr}"
