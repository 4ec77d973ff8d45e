"""Runs the SQL logic tests of this folder (*.slt; runner.py has the format), each under several settings:
the answer must not depend on them.

A file that begins with `# settings: NAME...` runs under those alone."""

import re
from pathlib import Path

import pytest

import runner

HERE = Path(__file__).resolve().parent
SETTINGS = {
    "plain": [],
    "tiny": ["-m", "1m", "-t", "1", "-b", "64"],
    "parallel": ["-m", "16m", "-t", "4", "-b", "1"],
    "alone": ["-t", "1", "-b", "8192"],
}


def list_runs():
    for path in sorted(HERE.glob("**/*.slt")):
        line = re.match(r"# settings: (.*)", path.read_text(encoding="utf-8"))
        for name in line.group(1).split() if line else SETTINGS:
            yield pytest.param(path, name, id=f"{path.relative_to(HERE).with_suffix('')}-{name}")


@pytest.mark.parametrize("path, settings", list(list_runs()))
def test_logic(path, settings):
    failures = runner.run_file(path, SETTINGS[settings])
    if failures:
        pytest.fail("\n\n".join(failures), pytrace=False)
