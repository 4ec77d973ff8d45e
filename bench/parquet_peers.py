#!/usr/bin/env python3
"""Parquet in and out, beside pyarrow and DuckDB, each with one thread: seconds and bytes.

    build/venv/bin/python bench/parquet_peers.py [--scale 1] [--runs 5] [--folder /tmp]

lineitem by tpchgen-cli is written by pyarrow with zstd and with snappy, and by Outcore with zstd. Then every reader
reads all columns, and two (a number and a text), of each of these files; and every writer writes the table. Jobs take
turns; the median is shown, with the fastest and slowest turn. Outcore runs as a program, so its start counts, and
what it writes it reads from an Arrow file first (also shown alone, as "read Arrow"); pyarrow and DuckDB work in this
process, pyarrow from memory. What is read is thrown away batch by batch.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("OUTCORE_BIN", str(ROOT / "build/release/outcore"))
TWO = ["l_orderkey", "l_comment"]
BATCH_ROWS = 65536


def outcore(*args):
    subprocess.run([BINARY, *map(str, args), "-t", "1", "-m", "1g"], check=True, stdout=subprocess.DEVNULL)


def make_inputs(folder, scale):
    """The table, as an Arrow file and as Parquet files: name -> path."""
    subprocess.run([pathlib.Path(sys.executable).parent / "tpchgen-cli", "parquet", "-s", str(scale),
                    "--tables=lineitem", f"--output-dir={folder}"], check=True, capture_output=True)
    table = pq.read_table(folder / "lineitem.parquet")
    table = table.cast(pa.schema([f.with_type(pa.string()) if pa.types.is_string_view(f.type) else f
                                  for f in table.schema]))
    with pa.OSFile(str(folder / "table.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=BATCH_ROWS)
    files = {f"pyarrow {codec}": folder / f"pyarrow_{codec}.parquet" for codec in ("zstd", "snappy")}
    for codec in ("zstd", "snappy"):
        pq.write_table(table, files[f"pyarrow {codec}"], compression=codec)
    files["outcore zstd"] = folder / "outcore.parquet"
    outcore("convert", folder / "table.arrow", files["outcore zstd"])
    return table, files


def read_pyarrow(path, columns):
    for _ in pq.ParquetFile(path).iter_batches(BATCH_ROWS, columns=columns, use_threads=False):
        pass


def read_duckdb(connection, path, columns):
    for _ in connection.sql(f"SELECT {', '.join(columns or ['*'])} FROM '{path}'").to_arrow_reader(BATCH_ROWS):
        pass


def list_jobs(folder, table, files):
    """name -> what is to be timed."""
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    jobs = {}
    for name, path in files.items():
        for what, columns in (("all columns", None), ("two columns", TWO)):
            query = f"SELECT {', '.join(columns or ['*'])} FROM '{path}'"
            job = f"read {what} of {name}: "
            jobs[job + "outcore"] = lambda q=query: outcore("--format", "null", "-c", q)
            jobs[job + "pyarrow"] = lambda p=path, c=columns: read_pyarrow(p, c)
            jobs[job + "duckdb"] = lambda p=path, c=columns: read_duckdb(connection, p, c)
    arrow, out = folder / "table.arrow", folder / "out.parquet"
    jobs["read Arrow: outcore"] = lambda: outcore("convert", arrow, "--format", "null")
    for codec in ("zstd", "snappy"):
        jobs[f"write {codec}: outcore"] = lambda c=codec: outcore("convert", arrow, out, "--compression", c)
        jobs[f"write {codec}: pyarrow"] = lambda c=codec: pq.write_table(table, out, compression=c)
        jobs[f"write {codec}: duckdb"] = lambda c=codec: connection.execute(
            f"COPY (SELECT * FROM '{files['outcore zstd']}') TO '{out}' (FORMAT parquet, COMPRESSION {c})")
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--folder", help="for the files; default: the system's temporary folder")
    args = parser.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with tempfile.TemporaryDirectory(dir=args.folder) as name:
        folder = pathlib.Path(name)
        table, files = make_inputs(folder, args.scale)
        for name, path in files.items():
            print(f"{name:52} {path.stat().st_size / 1e6:9.1f} MB")
        jobs = list_jobs(folder, table, files)
        seconds = {name: [] for name in jobs}
        for _ in range(args.runs):
            for name, job in jobs.items():
                start = time.perf_counter()
                job()
                seconds[name].append(time.perf_counter() - start)
        for name, taken in seconds.items():
            print(f"{name:52} {statistics.median(taken):7.2f} s  ({min(taken):.2f} to {max(taken):.2f})")


if __name__ == "__main__":
    main()
