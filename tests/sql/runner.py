#!/usr/bin/env python3
"""runner.py [--update] [--option=OPTION]... FILE...: runs SQL logic tests.

The format is the one that SQLite, DuckDB and DataFusion share. A file holds records with empty lines
between them; `#` begins a comment:

    statement ok                     query IT rowsort           query error no column "b"
    SET threads = 2                  SELECT a, b FROM t         SELECT b FROM t
                                     ----
    statement error division by      1 x                        skipif outcore
    SELECT 1 / 0                     2 (empty)                  ...one record that does not count

    statement ok|error [REGEX]       the regular expression is looked for in the message
    query TYPES [SORT] [LABEL]       a letter a column; SORT: nosort, rowsort, valuesort (every value a
                                     line of its own). Queries of one label have one answer
    query error [REGEX]
    loop NAME FROM TO / foreach NAME WORD... / endloop    ${NAME} is replaced
    skipif NAME, onlyif NAME         of the next record; we are `outcore`
    include GLOB, halt, hash-threshold N, control sortmode SORT

A row is a line, values with one blank between; NULL is null, (empty) the empty text. Blanks count as
one. Instead of rows there may be "30 values hashing to MD5". __DIR__ is a folder of the run, empty at
first; __FILES__ the folder of the file.

One process of `outcore` runs a file: statements on its standard input, and after each the line
`.print MARK`, so that answers end somewhere. --update writes what came out into the files; read it!
"""

import argparse
import csv
import glob
import hashlib
import io
import os
import re
import secrets
import select
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIMEOUT = 120  # seconds for a statement; sanitizer builds are slow
DIALECT = "outcore"


def find_program():
    return os.environ.get("OUTCORE_BIN", str(HERE.parent.parent / "build/release/outcore"))


@dataclass
class Record:
    """A statement or query with what is expected of it."""
    line: int
    kind: str  # statement, query
    sql: str
    error: str = None  # regular expression; None = it succeeds
    types: str = ""
    sort: str = "nosort"
    label: str = ""
    expected: list = None
    first: int = 0  # lines of the file that hold the expected rows
    last: int = 0
    variables: dict = field(default_factory=dict)


class Failure(Exception):
    """A record that did not do what is expected; the text says it all."""


# ---- reading files --------------------------------------------------------------------------------

class Parser:
    """Turns the lines of a file into records; loops are unrolled."""

    def __init__(self, path):
        self.path, self.sort = Path(path), "nosort"
        self.lines = self.path.read_text(encoding="utf-8").split("\n")

    def records(self, at=0, end=None, variables=None):
        end = len(self.lines) if end is None else end
        skip = False
        while at < end:
            words = self.lines[at].split()
            if not words or words[0].startswith("#") or words[0] in {"hash-threshold", "subtest"}:
                at += 1
            elif words[0] in {"skipif", "onlyif"}:
                skip = skip or (words[1] == DIALECT) == (words[0] == "skipif")
                at += 1
            elif words[0] == "halt":
                return
            elif words[0] == "control":
                self.sort = words[2] if words[1] == "sortmode" else self.sort
                at += 1
            elif words[0] == "include":
                for name in sorted(glob.glob(str(self.path.parent / words[1]))):
                    yield from Parser(name).records(variables=variables)
                at += 1
            elif words[0] in {"loop", "foreach"}:
                body, stop = at + 1, self.find_end_of_loop(at)
                values = range(int(words[2]), int(words[3])) if words[0] == "loop" else words[2:]
                for value in values:
                    yield from self.records(body, stop, {**(variables or {}), words[1]: str(value)})
                at = stop + 1
            elif words[0] in {"statement", "query"}:
                record, at = self.parse_record(at, words)
                record.variables = variables or {}
                if not skip:
                    yield record
                skip = False
            else:
                raise Failure(f"{self.path}:{at + 1}: no such directive: {self.lines[at]}")

    def find_end_of_loop(self, at):
        depth = 0
        for number in range(at, len(self.lines)):
            word = (self.lines[number].split() or [""])[0]
            depth += word in {"loop", "foreach"}
            depth -= word == "endloop"
            if depth == 0:
                return number
        raise Failure(f"{self.path}:{at + 1}: a loop without its endloop")

    def parse_record(self, at, words):
        record = Record(at + 1, words[0], "", sort=self.sort)
        rest = self.lines[at].split(None, 2)
        if len(words) > 1 and words[1] == "error":
            record.error = rest[2].strip() if len(rest) > 2 else ""
        elif words[0] == "query":
            record.types = words[1]
            record.sort = words[2] if len(words) > 2 else self.sort
            record.label = words[3] if len(words) > 3 else ""
        at += 1
        first = at
        while at < len(self.lines) and self.lines[at].strip() not in {"", "----"}:
            at += 1
        record.sql = "\n".join(self.lines[first:at])
        if at < len(self.lines) and self.lines[at].strip() == "----":
            record.first = at = at + 1
            while at < len(self.lines) and self.lines[at].strip():
                at += 1
            record.expected, record.last = self.lines[record.first:at], at
        return record, at


# ---- the program ----------------------------------------------------------------------------------

class Program:
    """outcore, fed with statements."""

    def __init__(self, options, folder):
        self.errors = tempfile.TemporaryFile()
        self.seen = 0
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("OUTCORE_") or name == "OUTCORE_TEMP_DIR"}
        self.process = subprocess.Popen(
            [find_program(), "--continue", "-q", "--format", "csv", "--output-header", "no",
             "--output-null", "NULL", *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=folder,
            env=environment)

    def run(self, sql):
        """(rows, what was said on standard error) of one statement."""
        mark = secrets.token_hex(16)
        try:
            self.process.stdin.write(f"{sql}\n;\n.print {mark}\n".encode())
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        out = self.read_until(f"{mark}\n".encode())
        self.errors.seek(self.seen)
        said = self.errors.read()
        self.seen += len(said)
        text = out.decode(errors="replace")
        return [row or [""] for row in csv.reader(io.StringIO(text, newline=""))], said.decode()

    def read_until(self, mark):
        out, end = b"", time.monotonic() + TIMEOUT
        while not out.endswith(mark):
            ready, _, _ = select.select([self.process.stdout], [], [], 1)
            piece = os.read(self.process.stdout.fileno(), 1 << 20) if ready else None
            if piece == b"":
                self.errors.seek(self.seen)
                raise Failure(f"the program ended with {self.process.wait()}: "
                              f"{self.errors.read().decode(errors='replace')[-4000:]}")
            if time.monotonic() > end:
                raise Failure(f"no answer within {TIMEOUT} s")
            out += piece or b""
        return out[:-len(mark)]

    def close(self):
        self.process.kill()
        self.process.communicate()
        self.errors.close()


# ---- comparing ------------------------------------------------------------------------------------

def show(value):
    return "(empty)" if value == "" else value.replace("\n", "\\n")


def arrange(record, rows):
    """The answer as lines, in the order asked for, and as values."""
    rows = [[show(value) for value in row] for row in rows]
    if record.sort == "rowsort":
        rows.sort()
    values = [value for row in rows for value in row]
    if record.sort == "valuesort":
        values.sort()
        return values, values
    return [" ".join(row) for row in rows], values


def normalise(lines):
    return [" ".join(line.split()) for line in lines]


def hash_of(values):
    digest = hashlib.md5("".join(value + "\n" for value in values).encode()).hexdigest()
    return f"{len(values)} values hashing to {digest}"


def check_error(record, said):
    wanted = record.error
    if not said.startswith("outcore: ") and "\noutcore: " not in said:
        raise Failure("it succeeded, and an error is expected")
    if not re.search(wanted, said):
        raise Failure(f"the error is another one: {said}")


def check_rows(record, rows, labels):
    lines, values = arrange(record, rows)
    if rows and len(rows[0]) != len(record.types):
        raise Failure(f"{len(rows[0])} columns, and {len(record.types)} are expected")
    if record.label and labels.setdefault(record.label, values) != values:
        raise Failure(f"another answer than the query before with label {record.label}")
    expected, got = normalise(record.expected or []), normalise(lines)
    if len(expected) == 1 and re.fullmatch(r"\d+ values hashing to \w+", expected[0]):
        got = [hash_of(values)]
    elif len(record.types) > 1 and len(expected) == len(values) != len(lines):
        got = normalise(values)
    if expected != got and not (record.label and record.expected is None):
        raise Failure("\n".join(["other rows than expected:",
                                 *(f"  - {line}" for line in expected if line not in got),
                                 *(f"  + {line}" for line in got if line not in expected),
                                 *(["  in another order"] if sorted(expected) == sorted(got) else []),
                                 "all that came:", *(f"    {line}" for line in got[:50])]))


def run_file(path, options=(), update=False):
    """Runs all records. Returns a list of failures, texts; with update, changes the file."""
    failures, answers, labels = [], [], {}
    with tempfile.TemporaryDirectory(prefix="outcore-sql-") as folder:
        program = Program(options, folder)
        try:
            for record in Parser(path).records():
                sql = record.sql
                for name, value in record.variables.items():
                    sql = sql.replace("${" + name + "}", value)
                sql = sql.replace("__DIR__", folder).replace("__FILES__", str(Path(path).parent))
                try:
                    rows, said = program.run(sql.rstrip().rstrip(";"))
                    if record.error is not None:
                        check_error(record, said)
                    elif "outcore: " in said:
                        raise Failure(said.strip())
                    elif record.kind == "query":
                        answers.append((record, arrange(record, rows)))
                        check_rows(record, rows, labels)
                except Failure as failure:
                    failures.append(f"{path}:{record.line}: {failure}\n  {sql}")
                    if program.process.poll() is not None:
                        break
        finally:
            program.close()
    if update:
        write_answers(path, answers)
    return failures


def write_answers(path, answers):
    lines = Path(path).read_text(encoding="utf-8").split("\n")
    threshold = next((int(line.split()[1]) for line in lines if line.startswith("hash-threshold")), 0)
    for record, (shown, values) in reversed(answers):
        if record.expected is not None:
            many = threshold and len(values) > threshold
            lines[record.first:record.last] = [hash_of(values)] if many else shown
    Path(path).write_text("\n".join(lines), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--option", action="append", default=[], help="of outcore, as in --option=-m1m")
    parser.add_argument("files", nargs="+", type=Path)
    arguments = parser.parse_args()
    failures = []
    for path in arguments.files:
        failures += run_file(path, arguments.option, arguments.update)
    print("\n\n".join(failures) or "all as expected")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
