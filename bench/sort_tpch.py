#!/usr/bin/env python3
"""sort_tpch: eleven ORDER BYs over TPC-H lineitem that spill: bytes spilled and seconds.

    build/venv/bin/python bench/sort_tpch.py [--queries 3,7,10] [--memory 200m] [--codec zstd,lz4]
        [--encoding auto,lengths] [--threads 1] [--runs 3] [--shuffle] [--csv FILE]

Each job is one `outcore sort --select ... --by ... --format null`: the result is drained, not written.
Jobs take turns; medians are shown, with the fastest and the slowest turn. The table is the one of `make demo`
(SF1 by tpchgen-cli, plain utf8 strings, a Parquet file), made when it is not there, or given by --input (Parquet or
Arrow); --shuffle sorts a copy of it whose rows are in the order of a hash of l_orderkey and l_linenumber, since the table as generated is in l_orderkey order,
which helps whoever notices. Which one a figure is from stands above it.

The figures of Q3, Q7 and Q10 at 200 MiB with one thread are compared with what is to be reached.
"""

import argparse
import csv
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
W = ("l_partkey, l_quantity, l_extendedprice, l_discount, l_tax, l_returnflag, l_linestatus, l_shipdate, "
     "l_commitdate, l_receiptdate, l_shipinstruct, l_shipmode")
Q8 = "l_orderkey, l_suppkey, l_linenumber, l_comment"
THREE = "l_linenumber, l_suppkey, l_orderkey"
# number: (columns, keys)
QUERIES = {
    1: ("l_linenumber, l_partkey", "l_linenumber"),
    2: ("l_orderkey, l_partkey", "l_orderkey"),
    3: ("l_comment, l_partkey", "l_comment"),
    4: ("l_orderkey, l_linenumber, l_partkey", "l_orderkey, l_linenumber"),
    5: (THREE, THREE),
    6: (f"{THREE}, l_partkey", THREE),
    7: (f"{THREE}, {W}", THREE),
    8: (Q8, Q8),
    9: (f"{Q8}, l_partkey", Q8),
    10: (f"{Q8}, {W}", Q8),
    11: ("l_shipmode, l_comment, l_partkey", "l_shipmode"),
}
# MiB spilled at -m 200m with one thread, encoding auto, generated order.
TO_REACH = {"zstd": {3: 41, 7: 86, 10: 127}, "lz4": {3: 60, 7: 95, 10: 168}}
MIB = 1 << 20


def make_table(arguments):
    """What `make demo` makes too, unless it is there or another one is given."""
    if arguments.input:
        return arguments.input
    folder = ROOT / "build/demo"
    target = folder / "lineitem.parquet"
    if not target.exists():
        sys.path.insert(0, str(ROOT / "tools"))
        import demo

        folder.mkdir(parents=True, exist_ok=True)
        text = folder / "lineitem.tbl"
        if not text.exists():
            demo.make_table(text, None, arguments.outcore.parent / "bench")
        demo.must_run("convert", [arguments.outcore, "convert", text, target, "--columns", demo.COLUMNS])
    return target


def shuffled_copy(table):
    """The rows in the order of a hash of (l_orderkey, l_linenumber), as a file of the same format beside it."""
    target = table.with_name(f"{table.stem}-shuffled{table.suffix}")
    if target.exists():
        return target
    import numpy
    import pyarrow as pa
    import pyarrow.parquet as pq

    if table.suffix == ".parquet":
        rows = pq.read_table(table)
    else:
        with pa.memory_map(str(table)) as source:
            rows = pa.ipc.open_file(source).read_all()
    key = (rows["l_orderkey"].to_numpy().astype(numpy.uint64) * numpy.uint64(8)
           + rows["l_linenumber"].to_numpy().astype(numpy.uint64))
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):  # of splitmix64
        key = (key ^ (key >> numpy.uint64(shift))) * numpy.uint64(factor)
    partial = target.with_suffix(".partial")
    rows = rows.take(pa.array(numpy.argsort(key)))
    if table.suffix == ".parquet":
        pq.write_table(rows, partial, compression="zstd")
    else:
        with pa.OSFile(str(partial), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
            writer.write_table(rows, max_chunksize=8192)
    partial.rename(target)
    return target


def sort_once(arguments, table, query, codec, encoding):
    columns, keys = QUERIES[query]
    command = [str(arguments.outcore), "sort", str(table), "--select", columns, "--by", keys,
               "--format", "null", "--output", "-", "--quiet", "--stats", "--memory-limit", arguments.memory,
               "--threads", str(arguments.threads), "--spill-compression", codec,
               "--spill-encoding", encoding]
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed: {done.stderr}")
    return json.loads(done.stderr.strip().splitlines()[-1])


def measure(arguments, table):
    """{(query, codec, encoding): [stats of each run]}, one job after the other, `runs` times."""
    jobs = [(query, codec, encoding) for query in arguments.queries for codec in arguments.codec
            for encoding in arguments.encoding]
    results = {job: [] for job in jobs}
    for _ in range(arguments.runs):
        for job in jobs:
            results[job].append(sort_once(arguments, table, *job))
    return results


def print_results(results):
    print("| Q | codec | encoding | spilled MiB | runs | merge passes | seconds (min-max) |\n"
          "|---|---|---|---|---|---|---|")
    for (query, codec, encoding), runs in results.items():
        seconds = [run["seconds"] for run in runs]
        last = runs[-1]
        print(f"| {query} | {codec} | {encoding} | {last['spilled_bytes'] / MIB:.1f} | "
              f"{last.get('runs', last['spill_count'])} | {last['merge_passes']} | "
              f"{statistics.median(seconds):.2f} ({min(seconds):.2f}-{max(seconds):.2f}) |")


def print_figures(results):
    lines = []
    for codec, goals in TO_REACH.items():
        for query, goal in goals.items():
            if (query, codec, "auto") in results:
                spilled = results[query, codec, "auto"][-1]["spilled_bytes"] / MIB
                lines.append(f"| MiB spilled: Q{query}, {codec} | {spilled:.1f} | <= {goal} | "
                             f"{'reached' if spilled <= goal else 'not reached'} |")
    if lines:
        print("\n| figure | measured | to reach | |\n|---|---|---|---|")
        print("\n".join(lines))


def write_csv(path, results, order):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["query", "order", "codec", "encoding", "spilled_bytes", "seconds"])
        for (query, codec, encoding), runs in results.items():
            seconds = statistics.median(run["seconds"] for run in runs)
            writer.writerow([query, order, codec, encoding, runs[-1]["spilled_bytes"], f"{seconds:.3f}"])


def main():
    def names(text):
        return text.split(",")

    def numbers(text):
        return [int(part) for part in text.split(",")]

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=numbers, default=list(QUERIES))
    parser.add_argument("--codec", type=names, default=["none", "lz4", "zstd", "auto"])
    parser.add_argument("--encoding", type=names, default=["plain", "lengths", "auto"])
    parser.add_argument("--memory", default="200m")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--outcore", type=Path, default=ROOT / "build/release/outcore")
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    table = make_table(arguments)
    if arguments.shuffle:
        table = shuffled_copy(table)
    order = "shuffled" if arguments.shuffle else "generated"
    print(f"{table.name}, rows in {order} order, {arguments.memory}, {arguments.threads} thread(s), "
          f"{arguments.runs} run(s)\n")
    results = measure(arguments, table)
    print_results(results)
    if arguments.memory == "200m" and arguments.threads == 1 and not arguments.shuffle:
        print_figures(results)
    if arguments.csv:
        write_csv(arguments.csv, results, order)


if __name__ == "__main__":
    main()
