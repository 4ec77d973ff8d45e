#!/usr/bin/env python3
"""run.py [--update] [FILE...]: runs transcripts of the command line and compares what they say.

A transcript is a text with commands in it. Lines that begin with two blanks count, all others are
prose that says what is shown:

    Unknown options name the nearest one that there is:

      $ outcore sort --memory-limt 64m a.csv --by a
      ! outcore: unknown option "--memory-limt"; did you mean "--memory-limit"?
      ! ...
      [2]

    $  a command for bash; `> ` goes on with it      plain  a line of standard output
    !  a line of standard error                      [N]    the exit code, when it is not 0

In expected lines `...` alone stands for any number of lines, `(glob)` at the end makes the line a
pattern with * and ?, `(blank)` is an empty line. The commands of a file share a folder that is
empty at first; `outcore` is the program under test (OUTCORE_BIN, else build/release/outcore).
`--update` writes what came out into the files; what still matches stays as it is.

Without FILE: all of transcripts/. Exits 1 when anything differs. Only the standard library is used.
"""

import argparse
import difflib
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
BLANK = "(blank)"
TIMEOUT = 120  # seconds for one command; sanitizer builds are slow


@dataclass
class Step:
    """One command with what is expected, or has come out."""
    line: int  # of the `$`, from 1
    command: str
    stdout: list = field(default_factory=list)
    stderr: list = field(default_factory=list)
    exit_code: int = 0

    def body(self):
        """The lines of a transcript that follow the command."""
        lines = [f"  {text.rstrip() or BLANK}" for text in self.stdout]
        lines += [f"  ! {text.rstrip() or BLANK}" for text in self.stderr]
        return lines + ([f"  [{self.exit_code}]"] if self.exit_code else [])


def find_program():
    return os.environ.get("OUTCORE_BIN", str(HERE.parent.parent / "build/release/outcore"))


def parse(text):
    """Splits a transcript: a list of prose lines (str) and Steps, in order."""
    parts, step = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("  $ "):
            step = Step(number, line[4:])
            parts.append(step)
        elif step is not None and line.startswith("  > "):
            step.command += "\n" + line[4:]
        elif step is not None and re.fullmatch(r"  \[\d+\]", line):
            step.exit_code = int(line[3:-1])
        elif step is not None and line.startswith("  ! "):
            step.stderr.append(line[4:])
        elif step is not None and line.startswith("  "):
            step.stdout.append(line[2:])
        else:
            step = None
            parts.append(line)
    return parts


def match_line(expected, got):
    if expected.endswith(" (glob)"):
        return fnmatch.fnmatchcase(got, expected[:-len(" (glob)")].replace("[", "[[]"))
    return expected == (got.rstrip() or BLANK)


def match_lines(expected, got):
    """True when the lines fit, with `...` standing for any number of lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(match_lines(expected[1:], got[at:]) for at in range(len(got) + 1))
    return bool(got) and match_line(expected[0], got[0]) and match_lines(expected[1:], got[1:])


def matches(expected, got):
    return (expected.exit_code == got.exit_code and match_lines(expected.stdout, got.stdout)
            and match_lines(expected.stderr, got.stderr))


def make_environment(folder):
    """What commands see: the program as `outcore`, and nothing of the user's settings."""
    tools = folder / "bin"
    tools.mkdir()
    (tools / "outcore").symlink_to(Path(find_program()).resolve())
    (folder / "tmp").mkdir()
    kept = {name: value for name, value in os.environ.items()
            if name not in {"COLUMNS", "NO_COLOR", "OUTCORE_TEMP_DIR"}}
    return {**kept, "PATH": f"{tools}:{os.environ['PATH']}", "LC_ALL": "C",
            "TMPDIR": str(folder / "tmp")}


def run_step(step, work, environment):
    done = subprocess.run(["bash", "-c", step.command], cwd=work, env=environment, check=False,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT)
    return Step(step.line, step.command, done.stdout.decode(errors="replace").splitlines(),
                done.stderr.decode(errors="replace").splitlines(), done.returncode)


def run_transcript(path):
    """Runs all commands of a file. Returns (parts, results); results are in the order of Steps."""
    parts = parse(Path(path).read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="outcore-cli-") as folder:
        environment = make_environment(Path(folder))
        work = Path(folder) / "work"
        work.mkdir()
        results = [run_step(step, work, environment) for step in parts if isinstance(step, Step)]
    return parts, results


def describe_difference(path, expected, got):
    """A diff for people, or None when all is as expected."""
    if matches(expected, got):
        return None
    lines = difflib.unified_diff(expected.body(), got.body(), "expected", "got", lineterm="", n=10)
    return "\n".join([f"{path}:{expected.line}: $ {expected.command}", *lines])


def updated_text(parts, results):
    lines, results = [], iter(results)
    for part in parts:
        if isinstance(part, str):
            lines.append(part)
            continue
        got = next(results)
        lines += [("  $ " if at == 0 else "  > ") + text
                  for at, text in enumerate(part.command.split("\n"))]
        lines += (part if matches(part, got) else got).body()
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="*", type=Path)
    arguments = parser.parse_args()
    count, differences = 0, 0
    for path in arguments.files or sorted((HERE / "transcripts").glob("*.txt")):
        parts, results = run_transcript(path)
        for step, got in zip([part for part in parts if isinstance(part, Step)], results):
            count += 1
            if difference := describe_difference(path, step, got):
                differences += 1
                print(difference)
        if arguments.update:
            path.write_text(updated_text(parts, results), encoding="utf-8")
    print(f"{count} commands, {differences} differ{', updated' if arguments.update else ''}")
    return 1 if differences and not arguments.update else 0


if __name__ == "__main__":
    sys.exit(main())
