"""Bytes on disk of the benchmark's tables are those that are committed.

Packing does not depend on anything outside; what a codec makes of it may differ a little from one version of
its library to the next. While it is at it, spill_io checks that every value comes back.
"""

import csv
import io
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SPILL_IO = ROOT / "build/release/bench/spill_io"
COMMITTED = ROOT / "bench/results/spill_sizes.csv"
CODEC_DIFFERENCE = 0.02  # of the size, between versions of a library


def sizes(text):
    return {(row["set"], row["codec"], row["encoding"]): (int(row["memory_bytes"]), int(row["disk_bytes"]))
            for row in csv.DictReader(io.StringIO(text))}


@pytest.mark.skipif(not SPILL_IO.exists(), reason="build/release/bench/spill_io is not built")
def test_spill_files_are_as_large_as_committed():
    done = subprocess.run([SPILL_IO, "--sizes"], text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    measured, committed = sizes(done.stdout), sizes(COMMITTED.read_text())
    assert measured.keys() == committed.keys()
    for job, (memory_bytes, disk_bytes) in committed.items():
        allowed = 0 if job[1] == "uncompressed" else CODEC_DIFFERENCE * disk_bytes
        assert measured[job][0] == memory_bytes, job
        assert abs(measured[job][1] - disk_bytes) <= allowed, (
            f"{job}: {measured[job][1]} bytes instead of {disk_bytes}; when that is meant, "
            "write bench/results/spill_sizes.csv anew with `spill_io --sizes`")
