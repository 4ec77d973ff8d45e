"""The scripts in tools/ that other checks rely on: each must notice what it is there for."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def load(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write_tree(root, files):
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


GUARDED = "#ifndef G\n#define G\n{}\n#endif\n"


@pytest.mark.parametrize("files, expected", [
    ({"src/base/a.c": '#include "arrow/b.h"\n', "src/arrow/b.h": ""},
     'src/base/a.c:1: src/base may not see "arrow/b.h"'),
    ({"src/ops/a.c": '\n#include "formats/b.h"\n', "src/formats/b.h": ""},
     'src/ops/a.c:2: src/ops may not see "formats/b.h"'),
    ({"src/cli/a.c": '#include "base/b.h"\n', "src/base/b.h": ""},
     'src/cli/a.c:1: src/cli may not see "base/b.h"'),
    ({"src/arrow/a.h": '#include "arrow/b.h"\n', "src/arrow/b.h": '#include "arrow/a.h"\n'},
     "circle of includes: src/arrow/a.h -> src/arrow/b.h -> src/arrow/a.h"),
    ({"src/ops/a.c": "#include <zstd.h>\n"}, "only src/codec may include <zstd.h>"),
    ({"include/outcore/a.h": '#include "base/b.h"\n'}, "a public header may not see"),
    ({"src/extra/a.c": ""}, "src/extra has no rule"),
])
def test_check_layers_reports(tmp_path, files, expected):
    write_tree(tmp_path, {"include/outcore/outcore.h": "", "src/base/z.c": "", **files})
    problems = load("check_layers").check(tmp_path)
    assert any(expected in problem for problem in problems), problems


def test_check_layers_accepts_what_the_layering_allows(tmp_path):
    write_tree(tmp_path, {
        "include/outcore/outcore.h": "",
        "src/base/a.h": '#include "outcore/outcore.h"\n',
        "src/spill/b.c": '#include "ipc/c.h"\n#include "base/a.h"\n#include <stdint.h>\n',
        "src/ipc/c.h": '#include "base/a.h"\n',
    })
    assert load("check_layers").check(tmp_path) == []


@pytest.mark.parametrize("files, expected", [
    ({"src/ops/a.c": "void f(char *d) { strcpy(d, d); }\n"}, "src/ops/a.c:1: strcpy()"),
    ({"src/ops/a.c": "\nvoid *f(void) { return malloc(1); }\n"}, "src/ops/a.c:2: malloc()"),
    ({"src/ops/a.c": "int a;\t\n"}, "src/ops/a.c:1: tab"),
    ({"src/ops/a.c": "int a; \n"}, "src/ops/a.c:1: blank at the end"),
    ({"src/ops/a.c": "int a;"}, "a file ends with exactly one newline"),
    ({"src/ops/a.h": "int a;\n"}, "src/ops/a.h:1: header without an include guard"),
    ({"include/outcore/a.h": GUARDED.format("OC_API int bad_name(void);")},
     "public name bad_name does not begin with oc_"),
])
def test_check_style_reports(tmp_path, files, expected):
    write_tree(tmp_path, files)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run([sys.executable, ROOT / "tools/check_style.py", tmp_path],
                          capture_output=True, text=True, check=False)
    assert done.returncode == 1 and expected in done.stdout


def test_check_style_reads_neither_comments_nor_strings(tmp_path):
    write_tree(tmp_path, {"src/ops/a.c": '/* malloc(1) */\nconst char *t = "exit(1)"; // gets()\n',
                          "src/ops/s.c": "/* Structs come from malloc. */\nvoid *g(void) { return "
                                         "malloc(1); }\n",
                          "src/base/b.c": "void *f(void) { return malloc(1); }\n"})
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    done = subprocess.run([sys.executable, ROOT / "tools/check_style.py", tmp_path],
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_run_tests_counts_each_case_once_and_names_a_case_cut_short():
    lines = ["[==========] Running 4 test(s).", "[ RUN      ] a", "[       OK ] a",
             "[ RUN      ] b", "[  FAILED  ] b", "[ RUN      ] c", "[  SKIPPED ] c",
             "[  FAILED  ] 1 test(s), listed below:", "[  FAILED  ] b", "[ RUN      ] d"]
    assert load("run_tests").count_cases(lines) == (1, 1, ["b"], "d")


def test_demo_sorts_and_checks_a_small_table(tmp_path):
    binary = Path(os.environ.get("OUTCORE_BIN", ROOT / "build/release/outcore"))
    if not (binary.parent / "bench/gen_lineitem").is_file():
        pytest.skip("needs the release build")
    done = subprocess.run(
        [sys.executable, ROOT / "tools/demo.py", "--rows", "50000", "--memory", "4m",
         "--dir", tmp_path, "--binary", binary], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count(" ok\n") == 3


def test_the_table_of_bug_reports_names_tests_that_exist():
    table = (ROOT / "docs/bug-reports.md").read_text()
    named = set(re.findall(r"`(?!tests/)([a-z_0-9]+)`", table))
    assert len(named) > 100
    known = set()
    for path in [*ROOT.glob("src/**/*_test.c"), *ROOT.glob("tests/**/*_test.c")]:
        known |= set(re.findall(r"cmocka_unit_test\w*\((\w+)", path.read_text()))
    for path in ROOT.glob("tests/**/*.py"):
        known |= set(re.findall(r"^def (test_\w+)", path.read_text(), re.MULTILINE))
    assert named <= known, sorted(named - known)
