"""The memory limit, measured from outside: the peak of the resident set over shapes of data and limits.

What the kernel saw has to stay below the limit plus 16 MiB, and the answer has to be right. Sizes are
small by default; OUTCORE_SLOW=1 takes larger ones. A sanitizer build needs memory of its own, so these
tests are skipped there.
"""

import os
import random
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
from outcore_process import MIB, is_sanitized, run, run_measured  # noqa: E402

pytestmark = pytest.mark.skipif(is_sanitized(), reason="sanitizers take memory of their own")

SLOW = os.environ.get("OUTCORE_SLOW") == "1"
SEED = int(os.environ.get("OUTCORE_SEED", "1"))
ALLOWANCE = 16 * MIB  # code, stacks, codec contexts


def scaled(rows):
    return rows * 10 if SLOW else rows


def write(path, batches):
    batches = iter(batches)
    first = next(batches)
    with pa.ipc.new_stream(str(path), first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def read(path):
    with pa.OSFile(str(path)) as file:
        return pa.ipc.open_stream(file).read_all()


def limit_bytes(text):
    return int(text[:-1]) * MIB


def sort_within(folder, limit, by, *args, source="in.arrows"):
    """Sorts under a limit; success and the peak are asserted. Returns outcome and result."""
    target = folder / "out.arrows"
    done = run_measured(folder, "sort", folder / source, "--by", by, "-m", limit, "--stats", "-o", target, *args)
    assert done.code == 0, f"limit {limit}: exit {done.code}: {done.stderr}"
    most = limit_bytes(limit) + ALLOWANCE
    assert done.rss <= most, f"limit {limit}: peak of {done.rss / MIB:.1f} MiB: {done.stderr}"
    assert done.stats["peak_budget_bytes"] <= limit_bytes(limit)
    return done, read(target)


def named_limit(message):
    """The limit that a message says is enough, as an argument."""
    found = re.search(r"a limit of ([0-9.]+) (KiB|MiB|GiB) is enough", message)
    assert found, message
    return found.group(1) + found.group(2)


def assert_ascending(column):
    """Sorted by bytes or value; no nulls."""
    values = column.combine_chunks()
    before, after = values.slice(0, len(values) - 1), values.slice(1)
    assert pc.all(pc.less_equal(before, after)).as_py() is not False


# ---- shapes ----------------------------------------------------------------------------------------

def narrow_ints(generator, rows):
    for start in range(0, rows, 10000):
        n = min(10000, rows - start)
        yield pa.record_batch({"k": pa.array(generator.integers(-2**62, 2**62, n)),
                               "n": pa.array(np.arange(start, start + n))})


@pytest.mark.parametrize("limit", ["1m", "2m", "4m", "16m"])
@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_narrow_rows(limit, codec, tmp_path):
    rows = scaled(300_000)
    write(tmp_path / "in.arrows", narrow_ints(np.random.default_rng(SEED), rows))
    done, result = sort_within(tmp_path, limit, "k", "--spill-compression", codec)
    assert result.num_rows == rows and (limit == "16m" or done.stats["spill_count"] > 1)
    assert_ascending(result["k"])
    assert np.array_equal(np.sort(result["n"].to_numpy()), np.arange(rows))


@pytest.mark.parametrize("limit", ["1m", "4m"])
def test_narrow_rows_in_one_huge_batch(limit, tmp_path):
    rows = scaled(500_000)
    write(tmp_path / "in.arrows", [pa.table(narrow_ints_whole(rows)).combine_chunks().to_batches()[0]])
    _, result = sort_within(tmp_path, limit, "k")
    assert result.num_rows == rows
    assert_ascending(result["k"])


def narrow_ints_whole(rows):
    generator = np.random.default_rng(SEED)
    return {"k": pa.array(generator.integers(-2**62, 2**62, rows)), "n": pa.array(np.arange(rows))}


@pytest.mark.parametrize("limit", ["8m", "32m"])
@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("by", ["k", "text"])
def test_long_strings(limit, codec, by, tmp_path):
    rows = 10_000 if SLOW else 300
    rng = random.Random(SEED)

    def batches():
        for start in range(0, rows, 10):
            texts = [rng.randbytes(8).hex() * (128 * 1024 // 16) for _ in range(10)]
            yield pa.record_batch({"k": pa.array([rng.randrange(10**9) for _ in range(10)]),
                                   "text": pa.array(texts), "n": pa.array(range(start, start + 10))})
    write(tmp_path / "in.arrows", batches())
    _, result = sort_within(tmp_path, limit, by, "--spill-compression", codec)
    assert sorted(result["n"].to_pylist()) == list(range(rows))
    assert_ascending(result[by])


@pytest.mark.parametrize("limit", ["16m", "64m"])
def test_five_hundred_columns(limit, tmp_path):
    rows = 100_000 if SLOW else 10_000
    generator = np.random.default_rng(SEED)

    def batches():
        for _ in range(0, rows, 2000):
            columns = {f"c{i}": pa.array(generator.integers(0, 1000, 2000), mask=generator.random(2000) < 0.1)
                       if i % 3 else pa.array(generator.integers(0, 1000, 2000).astype(str)) for i in range(500)}
            yield pa.record_batch(columns)
    write(tmp_path / "in.arrows", batches())
    done, result = sort_within(tmp_path, limit, "c0, c7 desc")
    assert limit == "64m" or done.stats["spill_count"] > 0
    assert result.num_rows == rows and result.num_columns == 500
    assert_ascending(result["c0"])


@pytest.mark.parametrize("codec", ["none", "lz4", "zstd"])
def test_tiny_rows_with_a_few_huge_ones(codec, tmp_path):
    rows = 1_000_000 if SLOW else 200_000
    rng = random.Random(SEED)
    huge = set(rng.sample(range(rows), 12))

    def batches():
        for start in range(0, rows, 5000):
            numbers = range(start, start + 5000)
            yield pa.record_batch({
                "k": pa.array([rng.randrange(1000) for _ in numbers]),
                "s": pa.array([rng.randbytes(250_000).hex() if n in huge else "t" for n in numbers]),
                "n": pa.array(numbers)})
    write(tmp_path / "in.arrows", batches())
    _, result = sort_within(tmp_path, "16m", "k", "--spill-compression", codec)
    table = read(tmp_path / "in.arrows")
    order = np.argsort(table["k"].to_numpy(), kind="stable")
    assert np.array_equal(result["n"].to_numpy(), table["n"].to_numpy()[order])
    lengths = pc.binary_length(result["s"]).to_numpy()
    assert (lengths > 1).sum() == 12 and set(result["n"].to_numpy()[lengths > 1]) == huge


@pytest.mark.parametrize("limit", ["2m", "8m"])
def test_all_keys_equal(limit, tmp_path):
    rows = scaled(200_000)
    batches = (pa.record_batch({"k": pa.array(["the same key for all of them"] * 5000),
                                "n": pa.array(range(start, start + 5000))}) for start in range(0, rows, 5000))
    write(tmp_path / "in.arrows", batches)
    for by in ("k", "k desc"):
        done, result = sort_within(tmp_path, limit, by)
        assert np.array_equal(result["n"].to_numpy(), np.arange(rows)), "not stable"
        assert done.stats["runs"] == 1, done.stats


@pytest.mark.parametrize("by", ["k", "k desc", "s", "s desc"])
def test_input_that_is_sorted_or_reversed_makes_one_run(by, tmp_path):
    rows = scaled(200_000)
    batches = (pa.record_batch({"k": pa.array(range(start, start + 5000)),
                                "s": pa.array([f"{n:012}" for n in range(start, start + 5000)])})
               for start in range(0, rows, 5000))
    write(tmp_path / "in.arrows", batches)
    done, result = sort_within(tmp_path, "2m", by)
    expected = np.arange(rows)[::-1] if "desc" in by else np.arange(rows)
    assert np.array_equal(result["k"].to_numpy(), expected)
    assert done.stats["spill_count"] > 1 and done.stats["runs"] == 1, done.stats
    assert done.stats["merge_passes"] <= 1


@pytest.mark.parametrize("limit", ["2m", "4m", "16m"])
def test_dictionary_keys(limit, tmp_path):
    rows = scaled(200_000)
    rng = random.Random(SEED)

    def batches():
        for start in range(0, rows, 4000):
            values = pa.array([f"value {rng.randrange(10**6):07}" + "." * 20 for _ in range(1000)])
            codes = pa.array(np.random.default_rng(start).integers(0, 1000, 4000).astype(np.int32))
            yield pa.record_batch({"k": pa.DictionaryArray.from_arrays(codes, values),
                                   "n": pa.array(range(start, start + 4000))})
    write(tmp_path / "in.arrows", batches())
    _, result = sort_within(tmp_path, limit, "k")
    assert sorted(result["n"].to_pylist()) == list(range(rows))
    assert_ascending(result["k"].cast(pa.utf8()))


@pytest.mark.parametrize("limit", ["1m", "2m", "8m"])
def test_many_dictionary_columns_that_change_with_each_batch(limit, tmp_path):
    """Gathering needs tables per dictionary; spilling may not ask for them when memory has run out."""
    rows, generator = 10_000, np.random.default_rng(SEED)

    def batches():
        for start in range(0, rows, 500):
            columns = {"n": pa.array(np.arange(start, start + 500))}
            for c in range(40):
                values = pa.array([f"{v:012}" for v in generator.integers(0, 10**12, 300)])
                codes = pa.array(generator.integers(0, 300, 500).astype(np.int32))
                columns[f"c{c}"] = pa.DictionaryArray.from_arrays(codes, values)
            yield pa.record_batch(columns)
    write(tmp_path / "in.arrows", batches())
    _, result = sort_within(tmp_path, limit, "c3")
    assert np.array_equal(np.sort(result["n"].to_numpy()), np.arange(rows))
    assert_ascending(result["c3"].cast(pa.utf8()))


@pytest.mark.parametrize("limit", ["3m", "8m"])
def test_dictionary_keys_that_are_much_larger_than_the_rows(limit, tmp_path):
    """Keys hold the values themselves: here 100 MB of keys for 0.3 MB of rows."""
    rows, generator = 20_000, np.random.default_rng(SEED)
    values = pa.array([f"{n:04}" + "x" * 5000 for n in generator.permutation(100)])
    codes = generator.integers(0, 100, rows).astype(np.int32)
    table = pa.table({"k": pa.DictionaryArray.from_arrays(pa.array(codes), values), "n": pa.array(np.arange(rows))})
    write(tmp_path / "in.arrows", table.to_batches(max_chunksize=1000))
    _, result = sort_within(tmp_path, limit, "k")
    order = np.argsort(np.array([value[:4] for value in values.to_pylist()])[codes], kind="stable")
    assert np.array_equal(result["n"].to_numpy(), order)


@pytest.mark.parametrize("limit", ["1m", "2m", "4m", "8m"])
def test_wide_fixed_width_keys(limit, tmp_path):
    rng = random.Random(SEED)
    table = pa.record_batch({"k": pa.array([rng.randbytes(100_000) for _ in range(100)], pa.binary(100_000)),
                             "n": pa.array(range(100))})
    write(tmp_path / "in.arrows", [table.slice(i, 5) for i in range(0, 100, 5)])
    _, result = sort_within(tmp_path, limit, "k")
    assert_ascending(result["k"].cast(pa.binary()))


@pytest.mark.parametrize("kind", ["csv", "arrow-zstd", "csv-to-csv"])
def test_other_formats(kind, tmp_path):
    rows = scaled(100_000)
    rng = random.Random(SEED)
    texts = [f"{rng.randrange(10**9)} some words" for _ in range(rows)]
    target = tmp_path / ("out.csv" if kind == "csv-to-csv" else "out.arrows")
    if kind.startswith("csv"):
        source = tmp_path / "in.csv"
        source.write_text("k,t\n" + "".join(f"{rng.randrange(10**6)},{text}\n" for text in texts))
    else:
        source = tmp_path / "in.arrow"
        table = pa.table({"k": pa.array([rng.randrange(10**6) for _ in texts]), "t": pa.array(texts)})
        with pa.ipc.new_file(str(source), table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
            writer.write_table(table)
    for limit in ("1m", "4m"):
        done = run_measured(tmp_path, "sort", source, "--by", "k", "-m", limit, "-o", target, "--stats")
        assert done.code == 0, done.stderr
        assert done.rss <= limit_bytes(limit) + ALLOWANCE, f"{limit}: {done.rss / MIB:.1f} MiB"
        assert done.stats["rows"] == rows


@pytest.mark.parametrize("limit", ["1m", "2m", "4m"])
def test_small_limits_pack_rows_although_some_are_wide(limit, tmp_path):
    """A block of 120 rows is worth packing, and rows larger than a block do not end that for all."""
    rows = 40_000
    generator = np.random.default_rng(SEED)
    columns = {f"i{i}": pa.array(generator.integers(0, 1 << (i + 4), rows)) for i in range(11)}
    words = np.array(["furiously", "slyly", "carefully", "quickly"])
    columns |= {f"s{i}": pa.array(words[generator.integers(0, 4, rows)]) for i in range(4)}
    columns["wide"] = pa.array([" " * 40_000 if i % 4000 == 9 else "-" for i in range(rows)])
    write(tmp_path / "in.arrows", pa.table(columns).to_batches(max_chunksize=6000))
    done, result = sort_within(tmp_path, limit, "i10")
    assert result.num_rows == rows
    stats = done.stats
    assert stats["spill_count"] > 0
    assert stats["spilled_bytes"] < 0.7 * stats["spilled_memory_bytes"], stats


# ---- sweeps ----------------------------------------------------------------------------------------

def mixed_table(rows, seed):
    rng = random.Random(seed)
    return pa.table({
        "k": pa.array([rng.choice([None, *range(50)]) for _ in range(rows)], pa.int32()),
        "s": pa.array([rng.randbytes(rng.randrange(40)).hex() for _ in range(rows)]),
        "d": pa.array([rng.choice(["red", "green", "blue", None]) for _ in range(rows)]).dictionary_encode(),
        "n": pa.array(range(rows))})


def test_more_memory_never_turns_success_into_failure(tmp_path):
    table = mixed_table(40_000, SEED)
    write(tmp_path / "in.arrows", table.to_batches(max_chunksize=3000))
    order = None
    for kib in [1024, 1030, 1100, 1280, 1500, 1700, 2048, 2500, 3000, 3300, 4096, 5000, 6000, 7000, 8192, 12000, 16384]:
        for codec in ("none", "lz4"):
            done = run_measured(tmp_path, "sort", tmp_path / "in.arrows", "--by", "k desc, s", "-m", f"{kib}k",
                                "-o", tmp_path / "out.arrows", "--spill-compression", codec)
            assert done.code == 0, f"limit {kib}k, {codec}: {done.stderr}"
            assert done.rss <= kib * 1024 + ALLOWANCE
            got = read(tmp_path / "out.arrows")["n"].to_numpy()
            order = got if order is None else order
            assert np.array_equal(got, order), f"limit {kib}k, {codec}: other result"


def test_row_counts_around_the_size_of_a_run(tmp_path):
    """What fits and what just does not: the last run of any size, from one row on."""
    table = mixed_table(16_000, SEED)
    expected = sorted(range(16_000), key=lambda n: table["s"][n].as_py())
    step = 211 if SLOW else 997
    for rows in range(4000, 16_000, step):
        for batch in (rows, 100):
            write(tmp_path / "in.arrows", table.slice(0, rows).combine_chunks().to_batches(max_chunksize=batch))
            for codec in ("none", "lz4"):
                run("sort", tmp_path / "in.arrows", "--by", "s", "-m", "1m", "-o", tmp_path / "out.arrows",
                    "--spill-compression", codec)
                got = read(tmp_path / "out.arrows")["n"].to_pylist()
                assert got == [n for n in expected if n < rows], f"{rows} rows in batches of {batch}, {codec}"


@pytest.mark.parametrize("limit", ["1m", "2m", "64m"])
def test_limit_is_the_head_of_the_whole_result(limit, tmp_path):
    rows = 150_000
    generator = np.random.default_rng(SEED)
    keys = generator.integers(0, 5000, rows)
    table = pa.table({"k": pa.array(keys), "n": pa.array(np.arange(rows)), "s": pa.array((keys * 7).astype(str))})
    write(tmp_path / "in.arrows", table.to_batches(max_chunksize=3000))
    order = np.argsort(-keys, kind="stable")
    for k in (0, 1, 10, 5000, 100_000, rows, rows + 7):
        _, result = sort_within(tmp_path, limit, "k desc", "--limit", k)
        assert np.array_equal(result["n"].to_numpy(), order[:k]), f"first {k} rows"
        assert result["s"].to_pylist() == [str(keys[n] * 7) for n in order[:k]]


def test_a_small_limit_reads_everything_and_spills_nothing(tmp_path):
    write(tmp_path / "in.arrows", narrow_ints(np.random.default_rng(SEED), 300_000))
    done, result = sort_within(tmp_path, "2m", "k", "--limit", 10)
    assert result.num_rows == 10 and done.stats["spill_count"] == 0


def random_column(rng, generator, rows):
    kind = rng.choice(["int", "narrow", "text", "long text", "fixed", "dictionary", "few values", "rarely long"])
    if kind == "int":
        return pa.array(generator.integers(-2**62, 2**62, rows))
    if kind == "narrow":
        return pa.array(generator.integers(0, 20, rows).astype(np.int8), mask=generator.random(rows) < 0.1)
    if kind == "fixed":
        width = rng.choice([1, 9, 300])
        return pa.array([rng.randbytes(width) for _ in range(rows)], pa.binary(width))
    if kind == "few values":
        return pa.array([f"value {n}" for n in range(30)]).take(pa.array(generator.integers(0, 30, rows)))
    if kind == "dictionary":
        values = pa.array([f"{rng.randrange(10**9)}" + "." * rng.choice([0, 5, 60]) for _ in range(rng.choice([3, 3000]))])
        return pa.DictionaryArray.from_arrays(pa.array(generator.integers(0, len(values), rows).astype(np.int32)), values)
    longest = {"text": 30, "long text": rng.choice([300, 5000]), "rarely long": 8}[kind]
    lengths = generator.integers(0, longest, rows)
    if kind == "rarely long":
        lengths[generator.integers(0, rows, 3)] = rng.choice([3000, 60_000])
    pool = generator.integers(97, 123, int(lengths.max()) + 4096, dtype=np.uint8).tobytes()
    starts = generator.integers(0, 4096, rows)
    return pa.array([pool[s:s + n] for s, n in zip(starts.tolist(), lengths.tolist())], pa.binary())


def rank_of(array):
    """Numbers in the order of the values; nulls are -1."""
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return pc.fill_null(pc.cast(pc.rank(array, null_placement="at_start", tiebreaker="dense"), pa.int64()), -1).to_numpy()


@pytest.mark.parametrize("seed", range(SEED, SEED + int(os.environ.get("OUTCORE_ROUNDS", "12"))))
def test_random_shapes_at_random_limits(seed, tmp_path):
    """Succeeds within the limit, or names a limit with which it does."""
    rng = random.Random(seed)
    generator = np.random.default_rng(seed)
    rows = rng.choice([3000, 10_000, 40_000])
    width = rng.choice([1, 2, 5, 12] if rows > 10_000 else [3, 12, 60])
    columns = {f"c{i}": random_column(rng, generator, rows) for i in range(width)}
    table = pa.table({**columns, "n": pa.array(np.arange(rows))})
    codec = rng.choice(["none", "none", "lz4", "zstd"])
    options = pa.ipc.IpcWriteOptions(compression=None if codec == "none" else codec)
    with pa.ipc.new_stream(str(tmp_path / "in.arrows"), table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rng.choice([50, 512, 5000, rows]))
    key = f"c{rng.randrange(width)}"
    order = np.argsort(rank_of(columns[key]), kind="stable")
    most = rng.choice([None, None, 1, 700, 5000])
    kib = rng.randint(1024, 1 << rng.randint(10, 14))
    args = ["sort", tmp_path / "in.arrows", "--by", f"{key} nulls first", "-o", tmp_path / "out.arrows",
            "-b", rng.choice([1, 100, 8192]), "--spill-compression", rng.choice(["none", "lz4", "zstd"]),
            *([] if most is None else ["--limit", most])]
    what = f"seed {seed}: {rows} rows, {[str(c.type) for c in columns.values()]}, {args}"
    done = run_measured(tmp_path, *args, "-m", f"{kib}k")
    assert done.rss <= kib * 1024 + ALLOWANCE, f"{what}, -m {kib}k: {done.rss / MIB:.1f} MiB"
    if done.code == 3:
        named = named_limit(done.stderr)
        done = run_measured(tmp_path, *args, "-m", named)
        assert done.code == 0, f"{what}, -m {kib}k named {named}: {done.stderr}"
    assert done.code == 0, f"{what}, -m {kib}k: {done.stderr}"
    result = read(tmp_path / "out.arrows")
    assert np.array_equal(result["n"].to_numpy(), order[:most]), f"{what}, -m {kib}k: order"
    assert result.equals(table.take(pa.array(order[:most])).cast(result.schema)) or "dictionary" in what


# ---- rows that do not fit --------------------------------------------------------------------------

@pytest.mark.parametrize("row_bytes", [300_000, 1_000_000, 3_000_000])
@pytest.mark.parametrize("by", ["k", "s"])
@pytest.mark.parametrize("codec", ["none", "lz4"])
def test_row_that_is_too_large_names_a_limit_that_works(row_bytes, by, codec, tmp_path):
    rng = random.Random(SEED)
    table = pa.record_batch({"k": pa.array([rng.randrange(100) for _ in range(30)]),
                             "s": pa.array([rng.randbytes(row_bytes // 2).hex() for _ in range(30)])})
    write(tmp_path / "in.arrows", [table.slice(i, 10) for i in range(0, 30, 10)])
    args = ["sort", tmp_path / "in.arrows", "--by", by, "--spill-compression", codec, "-o", tmp_path / "out.arrows"]
    done = run_measured(tmp_path, *args, "-m", "1m")
    assert done.code == 3, f"exit {done.code}: {done.stderr}"
    assert not (tmp_path / "out.arrows").exists()
    assert done.rss <= MIB + ALLOWANCE
    named = named_limit(done.stderr)
    again = run_measured(tmp_path, *args, "-m", named)
    assert again.code == 0, f"{done.stderr}\nwith -m {named}: {again.stderr}"
    assert_ascending(read(tmp_path / "out.arrows")[by])


@pytest.mark.parametrize("command", ["convert", "sort"])
def test_dictionary_that_is_too_large_names_a_limit_that_works(command, tmp_path):
    values = pa.array(["value number %08d with some text behind it" % i for i in range(60000)])
    column = pa.DictionaryArray.from_arrays(pa.array(range(60000), pa.int32()), values)
    batch = pa.record_batch([column], names=["d"])
    write(tmp_path / "in.arrow", [batch])
    paths = [str(tmp_path / "in.arrow")]
    paths += [str(tmp_path / "out.arrow")] if command == "convert" else ["--by", "d", "-o", str(tmp_path / "out.arrow")]
    done = run_measured(tmp_path, command, *paths, "-m", "2m")
    assert done.code == 3, done.stderr
    named = named_limit(done.stderr)
    again = run_measured(tmp_path, command, *paths, "-m", named)
    assert again.code == 0, f"{done.stderr}\nwith -m {named}: {again.stderr}"
    with pa.OSFile(str(tmp_path / "out.arrow")) as source:
        assert pa.ipc.open_file(source).read_all().num_rows == 60000
