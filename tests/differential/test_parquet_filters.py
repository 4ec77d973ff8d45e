"""Filters leave nothing out: random conditions over Parquet files, whose row groups and pages may be skipped, give what
they give over the same rows as Arrow. OUTCORE_SEEDS tries more."""

import datetime
import decimal
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402  (pyarrow may be missing)

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import BINARY, TIMEOUT  # noqa: E402

SEEDS = int(os.environ.get("OUTCORE_SEEDS", "4"))
CONDITIONS = 8
ROWS = 3000
MAKERS = {
    "i": (pa.int32(), lambda r: r.randrange(-1000, 1000)),
    "u": (pa.uint32(), lambda r: r.randrange(2**32)),
    "f": (pa.float64(), lambda r: r.choice([0.0, -0.0, r.random() * 10])),
    "n": (pa.float32(), lambda r: r.choice([float("nan"), 1.5, -2.0])),
    "s": (pa.string(), lambda r: f"key{r.randrange(3000):05}"),
    "d": (pa.decimal128(12, 2), lambda r: decimal.Decimal(r.randrange(-10**6, 10**6)).scaleb(-2)),
    "t": (pa.date32(), lambda r: datetime.date(2000, 1, 1) + datetime.timedelta(r.randrange(3000))),
    "b": (pa.bool_(), lambda r: r.random() < 0.5),
}
LITERALS = {
    "i": lambda r: str(r.randrange(-1100, 1100)),
    "u": lambda r: str(r.randrange(2**32)),
    "f": lambda r: r.choice(["0.0", "-0.0", "'NaN'::float8", str(r.random() * 10)]),
    "n": lambda r: r.choice(["1.5", "'NaN'::float4", "9"]),
    "s": lambda r: f"'key{r.randrange(3100):05}'",
    "d": lambda r: f"{r.randrange(-11000, 11000)}.25",
    "t": lambda r: f"DATE '200{r.randrange(9)}-0{r.randrange(1, 9)}-1{r.randrange(9)}'",
    "b": lambda r: r.choice(["true", "false"]),
}


def make_table(r):
    is_sorted, columns = r.random() < 0.5, {}
    for name, (kind, make) in MAKERS.items():
        values = [make(r) for _ in range(ROWS)]
        if is_sorted:
            values.sort()
        columns[name] = pa.array([None if r.random() < 0.1 else value for value in values], kind)
    return pa.table(columns)


def condition(r):
    name = r.choice(list(LITERALS))

    def literal():
        return LITERALS[name](r)
    text = r.choice([f"{name} IS NULL", f"{name} IS NOT NULL", f"{name} IN ({literal()}, {literal()})",
                     f"{name} BETWEEN {literal()} AND {literal()}",
                     *(f"{name} {sign} {literal()}" for sign in ("=", "<>", "<", "<=", ">", ">="))])
    if r.random() < 0.5:
        return text
    return f"({text}) {r.choice(['AND', 'OR'])} {r.choice(['', 'NOT '])}({condition(r)})"


@pytest.mark.parametrize("seed", range(SEEDS))
def test_filters_leave_nothing_out(seed, tmp_path):
    r = random.Random(seed)
    table = make_table(r)
    pq.write_table(table, tmp_path / "theirs.parquet", row_group_size=r.choice([100, 700, ROWS]),
                   data_page_size=r.choice([200, 5000]), write_page_index=r.random() < 0.7)
    with pa.ipc.new_file(str(tmp_path / "rows.arrow"), table.schema) as writer:
        writer.write_table(table)
    subprocess.run([BINARY, "-c", f"COPY (SELECT * FROM '{tmp_path}/rows.arrow') TO '{tmp_path}/ours.parquet' "
                                  "WITH (ROW_GROUP_SIZE 500)"], check=True, timeout=TIMEOUT)
    for _ in range(CONDITIONS):
        wanted = condition(r)
        answers = []
        for name in ("rows.arrow", "theirs.parquet", "ours.parquet"):
            done = subprocess.run([BINARY, "-c", f"SELECT count(*), sum(i), max(s), min(d) FROM '{tmp_path}/{name}' "
                                                 f"WHERE {wanted}"], capture_output=True, text=True, timeout=TIMEOUT,
                                  check=False)
            answers.append(done.stdout + done.stderr)
        assert answers[1] == answers[0] and answers[2] == answers[0], f"{wanted}: {answers}"
