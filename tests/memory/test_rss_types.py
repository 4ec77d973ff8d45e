"""The memory limit with a payload of every type, measured from outside.

Every type is sorted with several times as many rows as the limit holds: the peak of the resident set has to stay
below the limit plus 16 MiB, and the rows have to come out in order, each once. (That values survive is tested
elsewhere.) By default small and at 16 MiB only; OUTCORE_SLOW=1 takes more rows, and 64 MiB too.

    build/venv/bin/python tests/memory/test_rss_types.py 16m 64m      measures, and prints a line per type
"""

import os
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import MIB, is_sanitized, run_measured  # noqa: E402
from type_table import TYPES, make_array  # noqa: E402

pytestmark = pytest.mark.skipif(is_sanitized(), reason="sanitizers take memory of their own")

SLOW = os.environ.get("OUTCORE_SLOW") == "1"
SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ALLOWANCE = 16 * MIB  # code, stacks, codec contexts
BATCH_ROWS = 4000


def write_table(path, kind, size):
    """Batches of one payload column until the file has `size` bytes. Returns the keys."""
    generator = np.random.default_rng(SEED)
    payload = make_array(kind, BATCH_ROWS, random.Random(SEED))
    schema = pa.schema([("k", pa.int32()), pa.field("p", kind), ("n", pa.int64()), ("f", pa.float64())])
    keys = []
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, schema) as writer:
        while file.tell() < size:
            keys.append(generator.integers(0, 1000, BATCH_ROWS).astype(np.int32))
            first = BATCH_ROWS * (len(keys) - 1)
            writer.write_batch(pa.record_batch([
                keys[-1], payload, np.arange(first, first + BATCH_ROWS), generator.random(BATCH_ROWS)], schema))
    return np.concatenate(keys)


def read_numbers(path):
    """Column n, batch by batch: whole tables of some types are slow."""
    with pa.OSFile(str(path)) as file:
        return np.concatenate([batch["n"].to_numpy() for batch in pa.ipc.open_stream(file)])


def sort_measured(folder, kind, limit, size):
    keys = write_table(folder / "in.arrows", kind, size)
    done = run_measured(folder, "sort", folder / "in.arrows", "--by", "k desc", "-m", limit, "--stats",
                        "-o", folder / "out.arrows")
    assert done.code == 0, done.stderr
    numbers = read_numbers(folder / "out.arrows")
    assert np.array_equal(numbers, np.argsort(-keys, kind="stable")), "wrong order"
    return done


@pytest.mark.parametrize("limit", [16, 64] if SLOW else [16])
@pytest.mark.parametrize("name", TYPES)
def test_every_type(name, limit, tmp_path):
    done = sort_measured(tmp_path, TYPES[name], f"{limit}m", (5 if SLOW else 1.5) * limit * MIB)
    assert done.stats["spill_count"] > 0
    assert done.stats["peak_budget_bytes"] <= limit * MIB
    assert done.rss <= limit * MIB + ALLOWANCE, f"{done.rss / MIB:.1f} MiB"


def main(limits):
    worst = {}
    for name, kind in TYPES.items():
        line = f"{name:24}"
        for limit in limits:
            with tempfile.TemporaryDirectory() as folder:
                done = sort_measured(Path(folder), kind, limit, 3 * int(limit[:-1]) * MIB)
            over = done.rss / MIB - int(limit[:-1])
            worst[limit] = max(worst.get(limit, (over, name)), (over, name))
            line += f"   {limit}: {done.rss / MIB:6.1f} MiB, {done.stats['runs']:3} runs"
        print(line, flush=True)
    for limit, (over, name) in worst.items():
        print(f"{limit}: at most {over:+.1f} MiB beyond the limit ({name})")


if __name__ == "__main__":
    main(sys.argv[1:] or ["16m"])
