"""Random queries over random tables: answers equal DuckDB's, at every setting.

Queries stay where both mean the same. What differs on purpose, and is left out or written so that it
does not matter:
- integer division (DuckDB's `/` gives floats), so there is none
- where nulls come without NULLS FIRST or LAST, so it is always said
- the same expression twice in ROLLUP or CUBE: one key in PostgreSQL and here, two in DuckDB
- types of sums and averages; values are compared as numbers, floats to 9 digits

OUTCORE_SLOW=1 tries many more.
"""

import collections
import decimal
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

duckdb = pytest.importorskip("duckdb")
pa = pytest.importorskip("pyarrow")
from pyarrow import ipc  # noqa: E402  (pyarrow may be missing)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
SEEDS = 60 if os.environ.get("OUTCORE_SLOW") else 6
QUERIES = 40
SETTINGS = [[], ["-m", "1m", "-t", "1", "-b", "64"], ["-t", "4", "-b", "1"],
            ["-m", "4m", "-t", "4", "-b", "8192"]]
WORDS = ["", "a", "b", "ab", "Abc", "abc%", "x_y", "zebra", "long text that does not fit twelve bytes",
         "a\"b", "it's", "caf\u00e9", "\u65e5\u672c"]


# ---- tables ---------------------------------------------------------------------------------------

def some(rng, make, rows, nulls):
    return [None if rng.random() < nulls else make() for _ in range(rows)]


def make_table(rng):
    rows = rng.choice([0, 1, 7, 300, 3000])
    nulls = rng.choice([0, 0.1, 0.5])
    wide = rng.choice([3, 50, 5000])
    text = rng.choice([pa.string(), pa.large_string()])
    return pa.table({
        "i": pa.array(some(rng, lambda: rng.randrange(-wide, wide), rows, nulls), pa.int64()),
        "j": pa.array(some(rng, lambda: rng.randrange(-9, 9), rows, nulls), pa.int32()),
        "f": pa.array(some(rng, lambda: rng.randrange(-400, 400) / 4, rows, nulls), pa.float64()),
        "s": pa.array(some(rng, lambda: rng.choice(WORDS), rows, nulls), text),
        "t": pa.array(some(rng, lambda: f"key {rng.randrange(wide)}", rows, nulls), pa.string()),
        "d": pa.array(some(rng, lambda: rng.randrange(-500, 20000), rows, nulls), pa.date32()),
        "b": pa.array(some(rng, lambda: rng.random() < 0.5, rows, nulls), pa.bool_()),
        "m": pa.array(some(rng, lambda: decimal.Decimal(rng.randrange(-9999, 9999)) / 100, rows, nulls),
                      pa.decimal128(12, 2)),
    })


# ---- queries --------------------------------------------------------------------------------------

class Maker:
    """Expressions and queries over the columns of make_table."""

    def __init__(self, rng):
        self.rng = rng

    def pick(self, *choices):
        choice = self.rng.choice(choices)
        return choice() if callable(choice) else choice

    def integer(self, depth=2):
        if depth == 0:
            return self.pick("i", "j", str(self.rng.randrange(10)))
        less = depth - 1
        return self.pick(
            "i", "j",
            lambda: f"({self.integer(less)} + {self.integer(less)})",
            lambda: f"({self.integer(less)} - {self.integer(less)})",
            lambda: f"({self.integer(0)} * {self.rng.randrange(1, 9)})",
            lambda: f"({self.integer(less)} % {self.rng.randrange(2, 9)})",
            lambda: f"abs({self.integer(less)})",
            lambda: f"length({self.text(less)})",
            lambda: f"coalesce({self.integer(less)}, {self.integer(0)})",
            lambda: f"nullif({self.integer(less)}, {self.integer(0)})",
            lambda: f"CASE WHEN {self.truth(less)} THEN {self.integer(less)} "
                    f"ELSE {self.integer(less)} END",
            lambda: f"CAST({self.integer(less)} AS bigint)",
            lambda: f"CAST(extract({self.pick('year', 'month', 'day')} FROM d) AS bigint)")

    def text(self, depth=2):
        if depth == 0:
            return self.pick("s", "t", self.literal)
        less = depth - 1
        return self.pick(
            "s", "t",
            lambda: f"({self.text(less)} || {self.text(0)})",
            lambda: f"substr({self.text(less)}, {self.rng.randrange(1, 4)}, "
                    f"{self.rng.randrange(0, 4)})",
            lambda: f"replace({self.text(less)}, 'a', 'xy')",
            lambda: f"upper({self.pick('t')})",
            lambda: f"coalesce({self.text(less)}, {self.text(0)})",
            lambda: f"CASE WHEN {self.truth(less)} THEN {self.text(less)} END",
            lambda: f"CAST({self.integer(less)} AS varchar)")

    def literal(self):
        return "'" + self.rng.choice(WORDS).replace("'", "''") + "'"

    def other(self):
        return self.pick("f", "d", "m", "b", "(f * 2)", "(m + m)", "(f + 0.5)", "(m - 1)")

    def truth(self, depth=2):
        compare = self.rng.choice(["=", "<>", "<", "<=", ">", ">="])
        if depth == 0:
            return self.pick("b", f"i {compare} {self.rng.randrange(-5, 5)}", "s IS NULL")
        less = depth - 1
        return self.pick(
            "b",
            lambda: f"{self.integer(less)} {compare} {self.integer(less)}",
            lambda: f"{self.text(less)} {compare} {self.text(less)}",
            lambda: f"({self.truth(less)} {self.pick('AND', 'OR')} {self.truth(less)})",
            lambda: f"(NOT {self.truth(less)})",
            lambda: f"({self.pick(self.integer, self.text, self.other)} IS "
                    f"{self.pick('', 'NOT ')}NULL)",
            lambda: f"{self.integer(less)} BETWEEN {self.integer(0)} AND {self.integer(0)}",
            lambda: f"{self.integer(less)} {self.pick('', 'NOT ')}IN (1, 2, 3, {self.integer(0)})",
            lambda: f"{self.text(less)} {self.pick('', 'NOT ')}LIKE "
                    f"{self.pick(chr(39) + 'a%' + chr(39), chr(39) + '%b_' + chr(39))}",
            lambda: f"m {compare} {self.rng.randrange(-50, 50)}.5",
            lambda: f"f {compare} {self.rng.randrange(-50, 50)}.25",
            lambda: f"d {compare} DATE '1990-06-15'",
            lambda: f"(i IS {self.pick('', 'NOT ')}DISTINCT FROM j)")

    def value(self):
        return self.pick(self.integer, self.text, self.other, self.truth)

    def aggregate(self):
        anything = self.value
        made = self.pick(
            "count(*)",
            lambda: f"count({anything()})",
            lambda: f"count(DISTINCT {anything()})",
            lambda: f"sum({self.integer(1)})",
            lambda: f"sum({self.pick('f', 'm')})",
            lambda: f"sum(DISTINCT {self.pick('i', 'm')})",
            lambda: f"avg({self.pick('i', 'f', 'j')})",
            lambda: f"min({self.pick('i', 's', 't', 'f', 'd', 'm', '(i + j)')})",
            lambda: f"max({self.pick('i', 's', 't', 'f', 'd', 'm', '(s || t)')})",
            lambda: f"bool_and({self.truth(1)})",
            lambda: f"bool_or({self.truth(1)})",
            lambda: "bit_xor(i)")
        return made + self.pick("", "", "", lambda: f" FILTER (WHERE {self.truth(1)})")

    def source(self):
        return self.pick("data", "data", "data",
                         lambda: f"(SELECT * FROM data WHERE {self.truth()}) q",
                         "(SELECT * FROM data UNION ALL SELECT * FROM data WHERE b) q")

    def where(self):
        return self.pick("", "", lambda: f" WHERE {self.truth()}")

    def simple(self):
        n = self.rng.randrange(1, 4)
        columns = ", ".join(f"{self.value()} AS c{k}" for k in range(n))
        return (f"SELECT {self.pick('', 'DISTINCT ')}{columns} FROM {self.source()}{self.where()}"
                f"{self.order(n)}")

    def grouped(self):
        n = self.rng.randrange(1, 4)
        keys = [self.value() for _ in range(n)]
        m = self.rng.randrange(0, 4)
        columns = ", ".join(f"{text} AS c{k}"
                            for k, text in enumerate(keys + [self.aggregate() for _ in range(m)]))
        by = ", ".join(str(k + 1) for k in range(n))
        if len(set(keys)) == n:
            by = self.pick(by, by, by, f"ROLLUP ({by})", f"CUBE ({by})")
        having = self.pick("", "", f" HAVING {self.pick('count(*) > 1', 'sum(i) > 3')}")
        return (f"SELECT {columns} FROM {self.source()}{self.where()} GROUP BY {by}{having}"
                f"{self.order(n + m)}")

    def total(self):
        n = self.rng.randrange(1, 4)
        columns = ", ".join(f"{self.aggregate()} AS c{k}" for k in range(n))
        return f"SELECT {columns} FROM {self.source()}{self.where()}"

    def order(self, n):
        if self.rng.random() < 0.5:
            return ""
        keys = ", ".join(f"{k + 1} {self.pick('ASC', 'DESC')} NULLS {self.pick('FIRST', 'LAST')}"
                         for k in range(n))
        return f" ORDER BY {keys}{self.pick('', ' LIMIT 10', ' LIMIT 5 OFFSET 3')}"

    def query(self):
        return self.pick(self.simple, self.grouped, self.grouped, self.total)


# ---- comparing ------------------------------------------------------------------------------------

def plain(value):
    """What both engines' values are compared as."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(f"{value:.9g}")
    if isinstance(value, float):
        if math.isnan(value):
            return "nan"
        return int(value) if value == int(value) else float(f"{value:.9g}")
    return value


def rows_of(columns):
    return [tuple(plain(value) for value in row) for row in columns]


def run_outcore(folder, queries, settings):
    """The answers, each a list of rows, or the message of its error."""
    script = "CREATE VIEW data AS SELECT * FROM 'data.arrow';\n"
    for number, query in enumerate(queries):
        script += f".once {number}.arrow\n{query};\n"
    for path in folder.glob("[0-9]*.arrow"):
        path.unlink()
    done = subprocess.run([PROGRAM, "--continue", "-q", *settings], input=script, text=True, cwd=folder,
                          capture_output=True, timeout=300, check=False)
    assert done.returncode in {0, 1}, done.stderr
    answers = []
    for number in range(len(queries)):
        path = folder / f"{number}.arrow"
        if path.exists():
            with ipc.open_file(path) as reader:
                table = reader.read_all()
            answers.append(rows_of(zip(*(column.to_pylist() for column in table.columns))))
        else:
            answers.append(done.stderr[-3000:])
    return answers


@pytest.mark.parametrize("seed", range(SEEDS))
def test_answers_equal_those_of_duckdb(tmp_path, seed):
    rng = random.Random(seed)
    table = make_table(rng)
    with ipc.new_file(tmp_path / "data.arrow", table.schema) as writer:
        writer.write_table(table, max_chunksize=rng.choice([100, 10000]))
    connection = duckdb.connect()
    connection.register("data", table)
    queries = [Maker(rng).query() for _ in range(QUERIES)]
    expected = [rows_of(connection.sql(query).fetchall()) for query in queries]
    for settings in SETTINGS:
        answers = run_outcore(tmp_path, queries, settings)
        for query, wanted, got in zip(queries, expected, answers):
            if isinstance(got, str):
                pytest.fail(f"seed {seed}, {settings}: {query}\n{got}", pytrace=False)
            same = got == wanted if "ORDER BY" in query else (collections.Counter(got) ==
                                                             collections.Counter(wanted))
            if not same:
                more = list((collections.Counter(got) - collections.Counter(wanted)).elements())[:5]
                less = list((collections.Counter(wanted) - collections.Counter(got)).elements())[:5]
                pytest.fail(f"seed {seed}, {settings}: {query}\ngot {len(got)} rows, {more} more, "
                            f"{less} missing", pytrace=False)
