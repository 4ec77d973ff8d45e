#!/usr/bin/env python3
"""Sort speed as ratios in one run: against pyarrow in memory, and spilled against in memory.

Everything happens in this process: the table is in memory as a pyarrow table, Outcore gets it through
the Arrow C stream interface (liboutcore by ctypes), and its sorted stream is drained batch by batch. So
neither file formats nor process starts are part of the figures.

    build/venv/bin/python bench/sort_speed.py [--input FILE.arrow] [--runs 5] [--shuffle]

Rows: Outcore without a limit to speak of, pyarrow's take(sort_indices), Outcore under 200 MiB with codecs
none, lz4 and zstd. Runs are interleaved; medians, minima and maxima are shown, wall and CPU seconds (all
threads). pyarrow is set to one thread; Outcore has one worker, plus its I/O helper when it spills. The
ratios to look at are printed below the table.
"""
import argparse
import ctypes
import gc
import os
import pathlib
import resource
import statistics
import sys
import time

import numpy
import pyarrow as pa
import pyarrow.compute as pc

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEYS = ["l_orderkey", "l_linenumber"]


class Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("memory_limit", ctypes.c_int64),
                ("disk_limit", ctypes.c_int64), ("temp_dirs", ctypes.c_void_p),
                ("n_temp_dirs", ctypes.c_size_t), ("threads", ctypes.c_int32),
                ("batch_rows", ctypes.c_int64), ("spill_codec", ctypes.c_int),
                ("spill_level", ctypes.c_int32), ("progress", ctypes.c_void_p),
                ("progress_arg", ctypes.c_void_p)]


class SortKey(ctypes.Structure):
    _fields_ = [("column", ctypes.c_char_p), ("column_index", ctypes.c_int32),
                ("descending", ctypes.c_bool), ("nulls", ctypes.c_int)]


class Array(ctypes.Structure):
    _fields_ = [("length", ctypes.c_int64), ("null_count", ctypes.c_int64),
                ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
                ("n_children", ctypes.c_int64), ("buffers", ctypes.c_void_p),
                ("children", ctypes.c_void_p), ("dictionary", ctypes.c_void_p),
                ("release", ctypes.c_void_p), ("private_data", ctypes.c_void_p)]


class Stream(ctypes.Structure):
    _fields_ = [("get_schema", ctypes.c_void_p), ("get_next", ctypes.c_void_p),
                ("get_last_error", ctypes.c_void_p), ("release", ctypes.c_void_p),
                ("private_data", ctypes.c_void_p)]


GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_void_p)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
CODECS = {"none": 1, "lz4": 2, "zstd": 3}


class Outcore:
    def __init__(self, path):
        self.lib = ctypes.CDLL(str(path))
        self.contexts = {}

    def context(self, limit, codec):
        """One context per setting, kept: it recycles its memory from sort to sort, as pyarrow's pool does."""
        if (limit, codec) not in self.contexts:
            options = Options(struct_size=ctypes.sizeof(Options), memory_limit=limit, threads=1,
                              spill_codec=CODECS[codec])
            error = ctypes.create_string_buffer(2048)
            context = ctypes.c_void_p()
            if self.lib.oc_context_create(ctypes.byref(options), ctypes.byref(context), error) != 0:
                raise RuntimeError("could not create a context")
            self.contexts[limit, codec] = context
        return self.contexts[limit, codec]

    def sort(self, table, limit, codec):
        """Sorts and drains; returns the number of rows."""
        context = self.context(limit, codec)
        error = ctypes.create_string_buffer(2048)
        source, sorted_ = Stream(), Stream()
        table.to_reader(max_chunksize=65536)._export_to_c(ctypes.addressof(source))
        keys = (SortKey * len(KEYS))(*[SortKey(column=key.encode()) for key in KEYS])
        status = self.lib.oc_sort(context, ctypes.byref(source), keys, ctypes.c_size_t(len(KEYS)), None,
                                  ctypes.byref(sorted_), error)
        if status != 0:
            raise RuntimeError("oc_sort failed: %d" % status)
        return self.drain(sorted_)

    @staticmethod
    def drain(stream):
        get_next = GET_NEXT(stream.get_next)
        rows = 0
        while True:
            array = Array()
            code = get_next(ctypes.addressof(stream), ctypes.addressof(array))
            if code != 0:
                raise RuntimeError(LAST_ERROR(stream.get_last_error)(ctypes.addressof(stream)).decode())
            if not array.release:
                break
            rows += array.length
            RELEASE(array.release)(ctypes.addressof(array))
        RELEASE(stream.release)(ctypes.addressof(stream))
        return rows


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def pyarrow_sort(table):
    order = pc.sort_indices(table, sort_keys=[(key, "ascending") for key in KEYS])
    return table.take(order).num_rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", default=str(ROOT / "build/demo/lineitem.arrow"))
    parser.add_argument("--lib", default=str(ROOT / "build/release/liboutcore.so"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--shuffle", action="store_true", help="put the rows in random order (seeded) first")
    args = parser.parse_args()
    if not os.path.exists(args.input):
        sys.exit("%s is missing: run `make demo` first, or give --input" % args.input)
    pa.set_cpu_count(1)
    with pa.memory_map(args.input) as source:
        table = pa.ipc.open_file(source).read_all()
        if args.shuffle:
            table = table.take(pa.array(numpy.random.default_rng(7).permutation(table.num_rows)))
        else:
            table = pa.table([pa.concat_arrays(c.chunks) for c in table.columns],
                             schema=table.schema)
    outcore = Outcore(args.lib)
    jobs = {
        "outcore, in memory": lambda: outcore.sort(table, 8 << 30, "none"),
        "pyarrow take(sort_indices), 1 thread": lambda: pyarrow_sort(table),
        "outcore, 200 MiB, none": lambda: outcore.sort(table, 200 << 20, "none"),
        "outcore, 200 MiB, lz4": lambda: outcore.sort(table, 200 << 20, "lz4"),
        "outcore, 200 MiB, zstd": lambda: outcore.sort(table, 200 << 20, "zstd"),
    }
    wall = {name: [] for name in jobs}
    cpu = {name: [] for name in jobs}
    for turn in range(args.runs + 1):
        for name, job in jobs.items():
            gc.collect()
            began, began_cpu = time.monotonic(), cpu_seconds()
            rows = job()
            took, took_cpu = time.monotonic() - began, cpu_seconds() - began_cpu
            assert rows == table.num_rows
            if turn > 0:  # the first turn warms memory and page cache
                wall[name].append(took)
                cpu[name].append(took_cpu)
    print("%d rows, %.0f MB, by %s%s; %d interleaved runs" %
          (table.num_rows, table.nbytes / 1e6, ", ".join(KEYS), ", shuffled" if args.shuffle else "", args.runs))
    print("\n| job | wall s, median (min-max) | CPU s, median |\n|---|---|---|")
    for name in jobs:
        print("| %s | %.2f (%.2f-%.2f) | %.2f |" % (name, statistics.median(wall[name]), min(wall[name]),
                                                   max(wall[name]), statistics.median(cpu[name])))
    names = list(jobs)

    def ratio(series, a, b):
        return statistics.median(x / y for x, y in zip(series[names[a]], series[names[b]]))

    print("\nin memory / pyarrow: wall %.2f, CPU %.2f (goal: at most 1)" % (ratio(wall, 0, 1), ratio(cpu, 0, 1)))
    print("200 MiB, none / in memory: wall %.2f, CPU %.2f (goal: at most 2.5)" % (ratio(wall, 2, 0), ratio(cpu, 2, 0)))


if __name__ == "__main__":
    main()
