#!/usr/bin/env python3
"""aggregate: GROUP BY, DISTINCT and count(DISTINCT) over TPC-H lineitem at many memory limits, beside peers.

    build/venv/bin/python bench/aggregate.py [--queries q1,q2] [--memory none,512m,64m,32m,16m,4m]
        [--peers duckdb,datafusion] [--threads 1] [--runs 3] [--shuffle] [--csv FILE]

Each job is a process of its own: `outcore -c SQL`, or Python with the peer; peak RSS is that of the process.
The result is drained, not printed (all but q1 and q5 wrap nothing: every row is made). Outcore and the peers
read the same Parquet file, each with its own reader; of an Arrow file (--input) the peers get pyarrow's memory map, whose
pages are not counted in their RSS column (`anonymous`). Jobs take turns; medians are shown with the fastest and the slowest. A peer that fails at a
limit is shown as failed. The table is the one of sort_tpch.py; which order its rows are in stands above.

Figure to reach: q2 at 32m takes at most 3 times as long as without a limit.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from sort_tpch import make_table, shuffled_copy  # noqa: E402

QUERIES = {
    "q1": "SELECT count(*) FROM (SELECT DISTINCT l_orderkey FROM {t}) AS d",
    "q2": "SELECT DISTINCT l_orderkey, l_suppkey FROM {t}",
    "q3": "SELECT l_comment, count(*) FROM {t} GROUP BY l_comment",
    "q4": "SELECT l_orderkey, sum(l_quantity) FROM {t} GROUP BY l_orderkey",
    "q5": "SELECT count(DISTINCT l_comment) FROM {t}",
    "q6": "SELECT l_returnflag, l_linestatus, sum(l_quantity), sum(l_extendedprice), avg(l_discount), count(*) "
          "FROM {t} GROUP BY l_returnflag, l_linestatus",
}
UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
SLOWER_MAX = 3.0

PEER = r"""
import json, os, sys, time
peer, table, sql, limit, threads, folder = sys.argv[1:]
def anonymous_peak():
    text = open("/proc/self/status").read()
    return int(text.split("RssAnon:")[1].split()[0]) * 1024
import pyarrow.dataset as ds
is_parquet = table.endswith(".parquet")
rows = 0
if peer == "duckdb":
    import duckdb
    c = duckdb.connect()
    c.execute(f"SET threads={threads}; SET temp_directory='{folder}'; SET preserve_insertion_order=false")
    if limit != "none":
        c.execute(f"SET memory_limit='{int(limit)}B'")
    source = f"'{table}'" if is_parquet else "lineitem"
    lineitem = None if is_parquet else ds.dataset(table, format="ipc")
    began = time.monotonic()
    for batch in c.execute(sql.format(t=source)).to_arrow_reader(8192):
        rows += batch.num_rows
else:
    import datafusion as df
    runtime = df.RuntimeEnvBuilder().with_disk_manager_os()
    if limit != "none":
        runtime = runtime.with_greedy_memory_pool(int(limit))
    c = df.SessionContext(df.SessionConfig().with_target_partitions(int(threads)), runtime)
    if is_parquet:
        c.register_parquet("lineitem", table)
    else:
        c.register_dataset("lineitem", ds.dataset(table, format="ipc"))
    began = time.monotonic()
    for batch in c.sql(sql.format(t="lineitem")).execute_stream():
        rows += batch.to_pyarrow().num_rows
print(json.dumps({"rows": rows, "seconds": time.monotonic() - began, "peak_rss_bytes": anonymous_peak()}))
"""


def limit_bytes(text):
    return "none" if text == "none" else str(int(text[:-1]) * UNITS[text[-1]])


def run_outcore(arguments, table, sql, memory):
    command = [str(arguments.outcore), "-c", sql.format(t=f"'{table}'"), "--format", "null", "--quiet", "--stats",
               "--threads", str(arguments.threads)]
    if memory != "none":
        command += ["--memory-limit", memory]
    done = subprocess.run(command, text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nfailed: {done.stderr}")
    return json.loads(done.stderr.strip().splitlines()[-1])


def run_peer(arguments, peer, table, sql, memory):
    folder = arguments.temp
    done = subprocess.run([sys.executable, "-c", PEER, peer, str(table), sql, limit_bytes(memory),
                           str(arguments.threads), str(folder)],
                          text=True, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        return {"failed": lines[-1][:100]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def measure(arguments, table):
    """{(query, memory, who): [stats of each run]}, one job after the other, `runs` times."""
    jobs = [(query, memory, who) for query in arguments.queries for memory in arguments.memory
            for who in ["outcore", *arguments.peers]]
    results = {job: [] for job in jobs}
    for _ in range(arguments.runs):
        for query, memory, who in jobs:
            sql = QUERIES[query]
            done = (run_outcore(arguments, table, sql, memory) if who == "outcore"
                    else run_peer(arguments, who, table, sql, memory))
            results[query, memory, who].append(done)
    return results


def median(runs, name):
    return statistics.median(run[name] for run in runs)


def print_results(results):
    mib = 1 << 20
    print("| query | memory | | seconds (min-max) | peak RSS MiB | spilled MiB | rows |\n|---|---|---|---|---|---|---|")
    for (query, memory, who), runs in results.items():
        good = [run for run in runs if "failed" not in run]
        if not good:
            print(f"| {query} | {memory} | {who} | failed: {runs[-1]['failed']} | | | |")
            continue
        seconds = [run["seconds"] for run in good]
        spilled = f"{good[-1]['spilled_bytes'] / mib:.1f}" if "spilled_bytes" in good[-1] else ""
        failures = f", {len(runs) - len(good)} of {len(runs)} failed" if len(good) < len(runs) else ""
        print(f"| {query} | {memory} | {who} | {statistics.median(seconds):.2f} "
              f"({min(seconds):.2f}-{max(seconds):.2f}){failures} | "
              f"{median(good, 'peak_rss_bytes') / mib:.0f} | {spilled} | {good[-1]['rows']} |")


def print_figures(results):
    free, tight = results.get(("q2", "none", "outcore")), results.get(("q2", "32m", "outcore"))
    if free and tight:
        ratio = median(tight, "seconds") / median(free, "seconds")
        print(f"\n| figure | measured | to reach | |\n|---|---|---|---|\n"
              f"| q2 at 32m: x the time without limit | {ratio:.2f} | <= {SLOWER_MAX} | "
              f"{'reached' if ratio <= SLOWER_MAX else 'not reached'} |")


def write_csv(path, results, order):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["query", "order", "memory", "who", "seconds", "peak_rss_bytes", "spilled_bytes"])
        for (query, memory, who), runs in results.items():
            good = [run for run in runs if "failed" not in run]
            if good:
                writer.writerow([query, order, memory, who, f"{median(good, 'seconds'):.3f}",
                                 int(median(good, "peak_rss_bytes")), good[-1].get("spilled_bytes", "")])
            else:
                writer.writerow([query, order, memory, who, "failed", "", ""])


def main():
    def names(text):
        return text.split(",") if text else []

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=names, default=list(QUERIES))
    parser.add_argument("--memory", type=names, default=["none", "512m", "128m", "64m", "32m", "16m", "4m"])
    parser.add_argument("--peers", type=names, default=[])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--input", type=Path)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--outcore", type=Path, default=ROOT / "build/release/outcore")
    parser.add_argument("--temp", type=Path, default=Path(os.environ.get("TMPDIR", "/tmp")))
    parser.add_argument("--csv", type=Path)
    arguments = parser.parse_args()
    table = make_table(arguments)
    if arguments.shuffle:
        table = shuffled_copy(table)
    order = "shuffled" if arguments.shuffle else "generated"
    print(f"{table.name}, rows in {order} order, {arguments.threads} thread(s), {arguments.runs} run(s)\n")
    results = measure(arguments, table)
    print_results(results)
    print_figures(results)
    if arguments.csv:
        write_csv(arguments.csv, results, order)


if __name__ == "__main__":
    main()
