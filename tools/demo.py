#!/usr/bin/env python3
"""Sorts TPC-H lineitem (scale factor 1, 6,001,215 rows, 1 GB in memory) in 64 MiB, once per codec.

Makes the table once, converts it to a Parquet file with `outcore convert`, sorts it with each spill
codec under /usr/bin/time, and checks every result with programs that share no code with Outcore
(see check_sorted.py). Prints one line per codec and exits 1 when any check failed or a run needed
more memory than its limit and 16 MiB.

Run by `make demo`. --rows makes a smaller table with the built-in generator instead.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TPCH_ROWS = 6001215
OVERHEAD_MIB = 16  # code, stacks and codec contexts: what a run may need beside its limit
CODECS = ["none", "lz4", "zstd"]
KEYS = "l_shipmode, l_comment desc"
COLUMNS = (
    "l_orderkey int64, l_partkey int64, l_suppkey int64, l_linenumber int32, "
    "l_quantity decimal(15,2), l_extendedprice decimal(15,2), l_discount decimal(15,2), "
    "l_tax decimal(15,2), l_returnflag utf8, l_linestatus utf8, l_shipdate date32, "
    "l_commitdate date32, l_receiptdate date32, l_shipinstruct utf8, l_shipmode utf8, "
    "l_comment utf8"
)


class DemoError(Exception):
    """A step that the rest depends on failed; the text says which."""


def run(command, **options):
    return subprocess.run([str(part) for part in command], text=True, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, **options)


def must_run(what, command, **options):
    done = run(command, **options)
    if done.returncode != 0:
        raise DemoError(f"{what} failed with code {done.returncode}:\n{done.stderr or done.stdout}")
    return done


class Checker:
    """Checks with pyarrow and DuckDB from the venv, or without them on a CSV copy of the result."""

    def __init__(self, outcore, folder):
        self.outcore = outcore
        self.folder = folder
        self.python = ROOT / "build/venv/bin/python"
        self.independent = (ROOT / "build/venv/ready").exists()
        self.reference = None

    def describe(self):
        return "pyarrow and DuckDB" if self.independent else "Python alone, on a CSV copy"

    def command(self, *arguments):
        if self.independent:
            return [self.python, ROOT / "tools/check_sorted.py", *arguments]
        return [sys.executable, ROOT / "tools/check_sorted_csv.py", *arguments]

    def read_reference(self, table):
        self.reference = must_run("reading the table", self.command("reference", table)).stdout

    def check(self, path):
        """None when the file is right, else what is wrong."""
        copy = None
        if not self.independent:
            copy = self.folder / "check.csv"
            must_run("writing CSV", [self.outcore, "convert", path, copy])
        done = run(self.command("check", copy or path, self.reference))
        if copy:
            copy.unlink()
        return None if done.returncode == 0 else (done.stdout or done.stderr).strip()


def make_table(table, rows, bench):
    """lineitem.tbl by tpchgen-cli, or by the built-in generator when there is none."""
    generator = ROOT / "build/venv/bin/tpchgen-cli"
    if rows is None and generator.exists():
        # Into a folder beside it first: a run that was cut short must not look like a table.
        scratch = table.parent / "partial"
        must_run("tpchgen-cli", [generator, "tbl", "--scale-factor", 1, "--tables", "lineitem",
                                 "--quiet", "--overwrite", "--output-dir", scratch])
        (scratch / table.name).rename(table)
        scratch.rmdir()
        return "tpchgen-cli"
    if rows is None:
        print("tpchgen-cli is not there (PyPI could not be reached); using bench/gen_lineitem.c")
    partial = table.with_suffix(".partial")
    with open(partial, "wb") as out:
        done = subprocess.run([bench / "gen_lineitem", str(rows or TPCH_ROWS)],
                              stdout=out, check=False)
    if done.returncode != 0:
        raise DemoError("bench/gen_lineitem could not write the table")
    partial.rename(table)
    return "gen_lineitem"


def sort_once(outcore, source, target, memory, codec):
    """One timed run: (what --stats says, peak RSS in MiB as seen from outside)."""
    report = target.with_suffix(".time")
    done = must_run(f"sort with {codec}", [
        "/usr/bin/time", "-v", "-o", report, outcore, "sort", source, "--by", KEYS, "-m", memory,
        "--spill-compression", codec, "-o", target, "--stats"])
    stats = json.loads(done.stderr.strip().splitlines()[-1])
    for line in report.read_text().splitlines():
        if "Maximum resident set size" in line:
            return stats, int(line.split(":")[1]) / 1024
    raise DemoError("/usr/bin/time printed no peak RSS")


def prepare(arguments, outcore, folder, checker):
    """The table as text and as a Parquet file, each made only once; returns the Parquet file."""
    table, source = folder / "lineitem.tbl", folder / "lineitem.parquet"
    if not table.exists() or arguments.rows:
        began = time.monotonic()
        source.unlink(missing_ok=True)
        maker = make_table(table, arguments.rows, outcore.parent / "bench")
        print(f"made {table.name} with {maker}: {table.stat().st_size / 2**20:.0f} MiB "
              f"({time.monotonic() - began:.1f} s)", flush=True)
    checker.read_reference(table)
    if not source.exists():
        began = time.monotonic()
        must_run("convert", [outcore, "convert", table, source, "--columns", COLUMNS])
        print(f"converted to {source.name}: {source.stat().st_size / 2**20:.0f} MiB "
              f"({time.monotonic() - began:.1f} s)", flush=True)
    return source


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, help="make a table of so many rows, not TPC-H")
    parser.add_argument("--memory", default="64m", help="limit in MiB, such as 64m")
    parser.add_argument("--dir", type=Path, default=ROOT / "build/demo")
    parser.add_argument("--binary", type=Path, default=ROOT / "build/release/outcore")
    arguments = parser.parse_args()
    folder, outcore = arguments.dir.resolve(), arguments.binary.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    rss_limit = int(arguments.memory.rstrip("m")) + OVERHEAD_MIB
    checker = Checker(outcore, folder)

    source = prepare(arguments, outcore, folder, checker)
    print(f"outcore sort {source.name} --by '{KEYS}' -m {arguments.memory}; "
          f"checked by {checker.describe()}\n")
    print("codec       rows  seconds  peak RSS MiB  runs  merge passes  spilled MiB  check")
    problems = []
    for codec in CODECS:
        target = folder / f"sorted-{codec}.arrows"
        stats, rss = sort_once(outcore, source, target, arguments.memory, codec)
        problem = checker.check(target)
        if problem is None and rss > rss_limit:
            problem = f"peak RSS of {rss:.1f} MiB is over {rss_limit} MiB"
        print(f"{codec:5} {stats['rows']:>10}  {stats['seconds']:7.2f}  {rss:12.1f}  "
              f"{stats.get('runs', stats['spill_count']):4}  {stats['merge_passes']:12}  "
              f"{stats['spilled_bytes'] / 2**20:11.1f}  {'ok' if problem is None else 'FAILED'}",
              flush=True)
        if problem:
            problems.append(f"{codec}: {problem}")
    for problem in problems:
        print(f"FAILED {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        sys.exit(1)
