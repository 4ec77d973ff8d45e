#!/usr/bin/env python3
"""spill_io beside its peers: pyarrow's IPC streams, and what DataFusion spills of the same tables.

    build/venv-bench/bin/python bench/spill_io_peers.py [--rounds 5] [--dir DIR]

1. Write + read: spill_io with the default encoding and pyarrow's IPC stream format with the same codec, both
   to a file in the same folder, in alternating rounds. Each side sees the same record batches of 8192 rows in
   memory, uses its own threads as it does by default, and gets its result as batches in memory. zstd has
   pyarrow's default level, which is the fastest there is for it, against Outcore's default.
2. Spilled bytes: a sort of the same tables by DataFusion and by Outcore under the same memory limit, in bytes
   per row that was spilled, since Outcore spills only what does not fit. DataFusion's bytes are those of its
   EXPLAIN ANALYZE, which rounds to about three digits. q2 and q20 are sorted by a column that is in
   order already, so that spilled rows lie as in part 1.

3. The stand-in of spill_small_batches: sorts in 100 MiB by DataFusion and by Outcore, and write + read of
   pyarrow's IPC streams, with batches of 64 and of 8192 rows.

A peer that fails is shown with its message.
"""

import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parent.parent
CODECS = {"uncompressed": None, "lz4_frame": "lz4", "zstd": "zstd"}
KEYS = {"q2": "ps_partkey", "q16": "alias1", "q20": "l_partkey", "wide": "l_suppkey"}
UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "": 1, "K": 1000, "M": 1000000}


def run(command):
    done = subprocess.run([str(part) for part in command], text=True, capture_output=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nfailed: {done.stderr}")
    return done


def load(path):
    """Record batches in memory of their own: not mapped, so that nothing is read while the clock runs."""
    with pa.OSFile(str(path)) as source:
        return pa.ipc.open_file(source).read_all().to_batches()


# ---- write + read ---------------------------------------------------------------------------------


def time_pyarrow(batches, codec, folder):
    path = os.path.join(folder, "pyarrow.arrows")
    options = pa.ipc.IpcWriteOptions(compression=CODECS[codec])
    began = time.perf_counter()
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, batches[0].schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    written = time.perf_counter()
    rows = 0
    with pa.OSFile(path) as source, pa.ipc.open_stream(source) as reader:
        for batch in reader:
            rows += batch.num_rows
    read = time.perf_counter()
    size = os.path.getsize(path)
    os.unlink(path)
    assert rows == sum(batch.num_rows for batch in batches)
    return written - began, read - written, size


def time_outcore(arguments, name, folder):
    """{codec: (write seconds, read seconds, bytes)}, one turn after a warm one."""
    out = os.path.join(folder, "spill_io.csv")
    run([arguments.spill_io, "--set", name, "--codec", ",".join(CODECS), "--encoding", "auto", "--runs", 1,
         "--dir", folder, "--csv", out])
    with open(out, newline="") as source:
        return {row["codec"]: (float(row["write_seconds"]), float(row["read_seconds"]), int(row["disk_bytes"]))
                for row in csv.DictReader(source)}


def median_ms(samples):
    return 1e3 * statistics.median(write + read for write, read, _ in samples)


def compare_round_trips(arguments, tables, folder):
    ours = {(name, codec): [] for name in tables for codec in CODECS}
    theirs = {key: [] for key in ours}
    for turn in range(arguments.rounds + 1):
        for name, path in tables.items():
            batches = load(path)
            outcore = time_outcore(arguments, name, folder)
            for codec in CODECS:
                sample = time_pyarrow(batches, codec, folder)
                if turn > 0:
                    ours[name, codec].append(outcore[codec])
                    theirs[name, codec].append(sample)
    print(f"\nWrite + read, Outcore beside pyarrow {pa.__version__} ({pa.cpu_count()} threads), "
          f"medians of {arguments.rounds} alternating rounds\n")
    print("| set | codec | Outcore ms | pyarrow ms | x time | Outcore MiB | pyarrow MiB | x bytes | faster |\n"
          "|---|---|---|---|---|---|---|---|---|")
    for (name, codec), samples in ours.items():
        others = theirs[name, codec]
        ratio = median_ms(samples) / median_ms(others)
        size, other_size = samples[-1][2] / 2**20, others[-1][2] / 2**20
        print(f"| {name} | {codec} | {median_ms(samples):.1f} | {median_ms(others):.1f} | {ratio:.2f} | "
              f"{size:.2f} | {other_size:.2f} | {size / other_size:.2f} | "
              f"{'reached' if ratio < 1 else 'not reached'} |")


# ---- spilled bytes --------------------------------------------------------------------------------


def metric(plan, name):
    """A metric of EXPLAIN ANALYZE such as `spilled_bytes=9.5 MB`, `spilled_rows=409.6 K`."""
    found = re.search(rf"{name}=([0-9.]+)\s*([A-Za-z]*)", plan)
    return float(found.group(1)) * UNITS[found.group(2)] if found else 0.0


def datafusion_sort(batches, key, codec, limit, folder, batch_rows=8192):
    """Bytes per spilled row, or what went wrong."""
    import datafusion

    config = (datafusion.SessionConfig().with_target_partitions(1).with_batch_size(batch_rows)
              .set("datafusion.execution.spill_compression", codec)
              .set("datafusion.execution.sort_spill_reservation_bytes", str(limit // 8)))
    runtime = (datafusion.RuntimeEnvBuilder().with_disk_manager_specified(folder)
               .with_greedy_memory_pool(limit))
    context = datafusion.SessionContext(config, runtime)
    context.register_record_batches("t", [batches])
    try:
        plan = str(context.sql(f"EXPLAIN ANALYZE SELECT * FROM t ORDER BY {key}").collect()[0].to_pydict())
    except Exception as error:  # whatever it raises is what is to be shown
        return f"failed: {str(error).splitlines()[0][:80]}"
    rows = metric(plan, "spilled_rows")
    return metric(plan, "spilled_bytes") / rows if rows else "did not spill"


def outcore_sort(arguments, path, key, codec, limit, folder):
    name = {"uncompressed": "none", "lz4_frame": "lz4", "zstd": "zstd"}[codec]
    done = run([arguments.outcore, "sort", path, "--by", key, "--memory-limit", limit, "--threads", 1,
                "--spill-compression", name, "--temp-dir", folder, "--format", "null", "--output", "-",
                "--quiet", "--stats"])
    stats = json.loads(done.stderr.strip().splitlines()[-1])
    rows = stats["spilled_rows"]
    return stats["spilled_bytes"] / rows if rows else "did not spill"


def compare_spills(arguments, tables, folder):
    import datafusion

    print(f"\nBytes per spilled row of a sort, Outcore beside DataFusion {datafusion.__version__}\n")
    print("| set | key | limit MiB | codec | Outcore | DataFusion | x bytes |\n|---|---|---|---|---|---|---|")
    for name, path in tables.items():
        batches = load(path)
        limit = max(sum(batch.nbytes for batch in batches) // 3, 4 << 20)
        for codec in CODECS:
            ours = outcore_sort(arguments, path, KEYS[name], codec, limit, folder)
            theirs = datafusion_sort(batches, KEYS[name], codec, limit, folder)
            both = isinstance(ours, float) and isinstance(theirs, float)
            shown = [f"{value:.2f}" if isinstance(value, float) else value for value in (ours, theirs)]
            print(f"| {name} | {KEYS[name]} | {limit / 2**20:.1f} | {codec} | {shown[0]} | {shown[1]} | "
                  f"{f'{ours / theirs:.2f}' if both else ''} |")


# ---- small batches --------------------------------------------------------------------------------


def compare_small_batches(arguments, folder):
    table, sizes = Path(folder) / "small_batches.arrow", Path(folder) / "small_batches.csv"
    run([arguments.spill_small_batches, "--dump", table])
    run([arguments.spill_small_batches, "--batch", "64,8192", "--encoding", "auto", "--codec", "lz4,zstd",
         "--runs", 3, "--dir", folder, "--csv", sizes])
    rows = pa.Table.from_batches(load(table))
    print(f"\nThe stand-in ({rows.num_rows} rows) in small batches, sorted in 100 MiB, and as pyarrow IPC\n")
    print("| rows per batch | codec | Outcore bytes per spilled row | sort s | DataFusion | sort s | "
          "pyarrow IPC bytes per row | write + read s |\n|---|---|---|---|---|---|---|---|")
    with open(sizes, newline="") as source:
        for row in csv.DictReader(source):
            batch_rows = int(row["batch_rows"])
            codec = {"lz4": "lz4_frame", "zstd": "zstd"}[row["codec"]]
            batches = rows.to_batches(max_chunksize=batch_rows)
            began = time.perf_counter()
            theirs = datafusion_sort(batches, "k", codec, 100 << 20, folder, batch_rows)
            took = time.perf_counter() - began
            written, read, size = time_pyarrow(batches, codec, folder)
            ours = int(row["spilled_bytes"]) / int(row["spilled_rows"])
            shown = f"{theirs:.2f}" if isinstance(theirs, float) else theirs
            print(f"| {batch_rows} | {codec} | {ours:.2f} | {float(row['seconds']):.2f} | {shown} | {took:.2f} | "
                  f"{size / rows.num_rows:.2f} | {written + read:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dir", default=tempfile.gettempdir(), help="where both write their files")
    parser.add_argument("--spill-io", type=Path, default=ROOT / "build/release/bench/spill_io")
    parser.add_argument("--spill-small-batches", type=Path,
                        default=ROOT / "build/release/bench/spill_small_batches")
    parser.add_argument("--outcore", type=Path, default=ROOT / "build/release/outcore")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.dir) as folder:
        run([arguments.spill_io, "--set", ",".join(KEYS), "--dump", folder])
        tables = {name: Path(folder) / f"{name}.arrow" for name in KEYS}
        compare_round_trips(arguments, tables, folder)
        compare_spills(arguments, tables, folder)
        compare_small_batches(arguments, folder)


if __name__ == "__main__":
    main()
