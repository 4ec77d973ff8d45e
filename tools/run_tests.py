#!/usr/bin/env python3
"""Runs the unit tests of one or more builds and the Python tests; ends with one total.

    run_tests.py --ctest build/asan-ubsan --ctest build/release --pytest tests

A unit test executable holds many cases (cmocka prints one line for each), so the cases are counted,
not the executables. An executable that stops early, leaks or runs out of time counts as one failed
case more. The last line is `N passed, M failed`; the exit code is 1 when M > 0 or nothing ran.
Only the standard library is used.
"""

import argparse
import collections
import os
import re
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TAIL_LINES = 60  # of the output of a failing executable: enough for a sanitizer report


class Tally:
    def __init__(self):
        self.passed = 0
        self.skipped = 0
        self.failures = []  # what failed, one string each

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failures += other.failures

    def __str__(self):
        text = f"{self.passed} ok, {len(self.failures)} failed"
        return text + (f", {self.skipped} skipped" if self.skipped else "")


def count_cases(lines):
    """Counts cmocka's result lines: (passed, skipped, failed names, name of a case cut short)."""
    passed, skipped, failed, running = 0, 0, [], None
    for line in lines:
        match = re.search(r"\[( RUN      |       OK |  SKIPPED |  FAILED  )\] (.*)", line)
        if not match:
            continue
        kind, name = match.group(1).strip(), match.group(2).strip()
        if kind == "RUN":
            running = name
        elif running is not None and name == running:
            # Names come once more in the summary at the end; those have no RUN before them.
            passed += kind == "OK"
            skipped += kind == "SKIPPED"
            if kind == "FAILED":
                failed.append(name)
            running = None
    return passed, skipped, failed, running


def run_ctest(build_dir, jobs, name_filter):
    """Runs ctest in one build folder. Its output carries `<test number>: ` in front of each line."""
    command = ["ctest", "-V", "-j", str(jobs)]
    if name_filter:
        command += ["-R", name_filter]
    process = subprocess.Popen(command, cwd=build_dir, stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, errors="replace")
    names, outputs, states = {}, collections.defaultdict(list), {}
    with open(Path(build_dir) / "test.log", "w", encoding="utf-8") as log:
        for line in process.stdout:
            log.write(line)
            if match := re.match(r"\s+Start\s+(\d+): (\S+)", line):
                names[match.group(1)] = match.group(2)
            elif match := re.match(r"(\d+): (.*)", line):
                outputs[match.group(1)].append(match.group(2))
            elif match := re.match(r"\s*\d+/\d+ Test\s+#(\d+): \S+ \.*\s*(.*?)\s+[\d.]+ sec", line):
                states[match.group(1)] = match.group(2).strip("* ")
    process.wait()

    tally = Tally()
    for number, name in sorted(names.items(), key=lambda item: int(item[0])):
        passed, skipped, failed, running = count_cases(outputs[number])
        state = states.get(number, "did not finish")
        failures = [f"{build_dir}: {name}: {case}" for case in failed]
        if state != "Passed" and (running or not failed):
            where = f" in {running}" if running else ""
            failures.append(f"{build_dir}: {name}: {state}{where}")
        if state == "Passed" and not (passed or skipped):
            passed = 1  # a test that is not a cmocka program
        if failures:
            print(f"--- {build_dir}: {name}: {state}, end of its output", flush=True)
            print("\n".join(outputs[number][-TAIL_LINES:]), flush=True)
        tally.passed += passed
        tally.skipped += skipped
        tally.failures += failures
    if process.returncode not in (0, 8) and not tally.failures:
        tally.failures.append(f"{build_dir}: ctest ended with code {process.returncode}")
    return tally


def run_pytest(folder, python, binary):
    """Runs pytest from the venv. Without a venv the Python tests are skipped, and that is said."""
    tally = Tally()
    if not Path(python).exists() or not (Path(python).parent.parent / "ready").exists():
        print("python tests: skipped, build/venv has no packages (`make venv` needs the network)")
        return tally
    env = dict(os.environ, OUTCORE_BIN=str(Path(binary).resolve()))
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        done = subprocess.run(
            [python, "-m", "pytest", "-q",
             "-p", "no:cacheprovider", f"--junitxml={report}", folder],
            cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode == 5:  # pytest's code for "no tests"
            return tally
        if not report.exists():
            print(done.stdout)
            tally.failures.append(f"pytest ended with code {done.returncode}")
            return tally
        for case in ElementTree.parse(report).iter("testcase"):
            kinds = {child.tag for child in case}
            if kinds & {"failure", "error"}:
                tally.failures.append(f"{case.get('classname')}::{case.get('name')}")
            elif "skipped" in kinds:
                tally.skipped += 1
            else:
                tally.passed += 1
        if done.returncode != 0:
            print(done.stdout)
            if not tally.failures:
                tally.failures.append(f"pytest ended with code {done.returncode}")
    return tally


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ctest", action="append", default=[], metavar="BUILD_DIR")
    parser.add_argument("--pytest", action="append", default=[], metavar="DIR")
    parser.add_argument("--python", default=str(ROOT / "build/venv/bin/python"))
    parser.add_argument("--binary", default=str(ROOT / "build/release/outcore"),
                        help="program that the Python tests run (OUTCORE_BIN)")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--filter", help="regular expression for unit test executables")
    arguments = parser.parse_args()

    total = Tally()

    def run(label, suite):
        began = time.monotonic()
        tally = suite()
        print(f"{label}: {tally} ({time.monotonic() - began:.1f} s)", flush=True)
        total.add(tally)

    for build_dir in arguments.ctest:
        run(build_dir, lambda: run_ctest(build_dir, arguments.jobs, arguments.filter))
    for folder in arguments.pytest:
        run(f"pytest {folder}", lambda: run_pytest(folder, arguments.python, arguments.binary))

    for failure in total.failures:
        print(f"FAILED {failure}")
    if total.skipped:
        print(f"skipped: {total.skipped}")
    print(f"{total.passed} passed, {len(total.failures)} failed")
    return 1 if total.failures or total.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
