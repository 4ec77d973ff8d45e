"""The command line, command by command: each one of transcripts/*.txt is a test.

What needs timing or a terminal is in test_signals.py and test_terminal.py.
"""

import functools
import importlib.util
import os
import re
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

_spec = importlib.util.spec_from_file_location("outcore_cli_run", HERE / "run.py")
transcripts = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(transcripts)


def list_steps():
    for path in sorted((HERE / "transcripts").glob("*.txt")):
        steps = [part for part in transcripts.parse(path.read_text(encoding="utf-8"))
                 if isinstance(part, transcripts.Step)]
        for at, step in enumerate(steps):
            yield pytest.param(path, at, id=f"{path.stem}:{step.line}")


@functools.lru_cache(maxsize=None)
def run_once(path):
    return transcripts.run_transcript(path)


@pytest.mark.parametrize("path, at", list(list_steps()))
def test_transcript(path, at):
    parts, results = run_once(path)
    step = [part for part in parts if isinstance(part, transcripts.Step)][at]
    difference = transcripts.describe_difference(path.name, step, results[at])
    if difference:
        pytest.fail(difference, pytrace=False)


def ask(*arguments, **more):
    return subprocess.run([transcripts.find_program(), *arguments], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=60, check=False, **more)


def list_long_options(text):
    return set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text))


def test_man_page_and_completion_know_all_options():
    listed = list_long_options("\n".join(
        line[:28] for line in ask("help").stdout.splitlines() if line.startswith("  ")))
    assert {"--by", "--memory-limit", "--stats"} <= listed
    page = (ROOT / "docs/man/outcore.1").read_text(encoding="utf-8").replace("\\-", "-")
    assert listed - list_long_options(page) == set()
    completion = (ROOT / "tools/completions/outcore.bash").read_text(encoding="utf-8")
    assert listed - list_long_options(completion) == set()


@pytest.mark.parametrize("typed, expected", [
    (["so"], ["sort"]),
    (["sort", "--memory"], ["--memory-limit"]),
    (["inspect", "--by"], []),
    (["sort", "--format", "ar"], ["arrow", "arrows"]),
    (["sort", "--spill-compression", "=", "z"], ["zstd"]),
    (["sort", "--spill-encoding", ""], ["auto", "plain", "lengths"]),
    (["help", "co"], ["convert"]),
    (["--no-c"], ["--no-config"]),
    (["-m", "8m", "--cont"], ["--continue"]),
])
def test_completion(typed, expected):
    words = " ".join(f"'{word}'" for word in ["outcore", *typed])
    script = f"""
        source '{ROOT}/tools/completions/outcore.bash'
        COMP_WORDS=({words}); COMP_CWORD={len(typed)}
        _outcore outcore '{typed[-1]}' '{(["outcore"] + typed)[-2]}'
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == expected


def test_peak_rss_is_not_that_of_the_parent(tmp_path):
    """ru_maxrss would count this process, which is made large here."""
    (tmp_path / "n.csv").write_text("a\n1\n", encoding="utf-8")
    ballast = bytearray(os.urandom(1 << 20) * 200)
    done = ask("sort", "n.csv", "--by", "a", "--stats", "-m", "8m", cwd=tmp_path)
    assert len(ballast) > 0
    rss = int(re.search(r'"peak_rss_bytes": (\d+)', done.stderr).group(1))
    if "asan" not in transcripts.find_program():
        assert rss < 64 << 20


def test_explain_analyze_tells_what_each_operator_spilled():
    """The sort over the groups spills too, so totals of the query would be wrong for either."""
    query = ("EXPLAIN ANALYZE SELECT v * 7 % 100000 AS k, sum(v) FROM generate_series(1, 100000) AS t(v) "
             "GROUP BY 1 ORDER BY 2 DESC")
    spills = re.compile(r"(Sort|Group):.*rows=100000,.*spill_count=(\d+), spilled_bytes=(\S+ \w+), "
                        r"spilled_rows=(\d+), read_back=")
    found = {name: (int(count), size, int(rows))
             for name, count, size, rows in spills.findall(ask("-m", "2m", "-c", query).stdout)}
    assert found.keys() == {"Sort", "Group"}
    assert found["Sort"][1] != found["Group"][1]
    assert all(count > 0 and 0 < rows <= 1_000_000 for count, _, rows in found.values())
    calm = ask("-m", "200m", "-c", query).stdout
    assert [(int(count), int(rows)) for _, count, _, rows in spills.findall(calm)] == [(0, 0)] * 2, calm
