#!/usr/bin/env python3
"""Checks rules of this tree that no other tool knows. Prints `file:line: rule`, exits 1 on any.

All text files: no tabs (but in Makefile), no blanks at the end of a line, one newline at the end, no
absolute path of somebody's machine. C files: banned calls, include guards, public names only oc_*.

Memory that grows with rows comes from an oci_mem account. Bookkeeping that is bounded by the schema
or the number of files may come from malloc, calloc or strdup, when the opening comment of the file
says so (it has to contain the word "malloc").
"""

import re
import subprocess
import sys
from pathlib import Path

# call -> (reason, folders of src that may use it)
ALLOCATOR = ("memory that grows with rows comes from an oci_mem account; for bookkeeping, the opening "
             "comment says what comes from malloc and what bounds it", {"base", "cli"})
FILES = ("file I/O goes through oci_io, so that tests can make it fail", {"base", "cli"})
THREADS = ("threads start through base/thread.h", {"base"})
BANNED = {
    **dict.fromkeys(["strcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "atoi", "atol",
                     "atof", "alloca", "tmpnam", "mktemp"], ("unsafe or without error report", set())),
    **dict.fromkeys(["abort", "exit", "_exit"], ("a library returns errors", {"cli"})),
    **dict.fromkeys(["setlocale", "signal", "sigaction"], ("belongs to the program", {"cli"})),
    **dict.fromkeys(["malloc", "calloc", "realloc", "reallocarray", "strdup", "strndup", "asprintf",
                     "posix_memalign", "aligned_alloc", "mmap"], ALLOCATOR),
    **dict.fromkeys(["open", "openat", "fopen", "read", "pread", "write", "pwrite", "preadv",
                     "pwritev", "unlink", "unlinkat", "mkstemp", "fsync", "ftruncate"], FILES),
    **dict.fromkeys(["pthread_create", "thrd_create"], THREADS),
}
# Files that may make a banned call after all, and why.
EXCEPTIONS = {
    "src/api/limits.c": {"fopen"},  # reads /proc and cgroup files before a context, so an oci_io, exists
}
BOOKKEEPING = {"malloc", "calloc", "strdup", "strndup"}
CALL = re.compile(r"(?<![\w.>])(" + "|".join(BANNED) + r")\s*\(")
# Written in pieces so that this file passes its own check.
MACHINE_PATH = re.compile(r"(?<![\w.${}/-])/(" + "wo" + "rk|ro" + r"ot)/")
# Data that only looks like text.
SKIPPED = {("tests", "data"), ("fuzz", "corpus")}
TEXT = {".c", ".h", ".py", ".sh", ".md", ".txt", ".json", ".cmake", ".in", ".map", ".cpp", ".toml",
        ".csv", ""}
GUARD = re.compile(r"#ifndef (\w+)\n#define (\w+)\b")


def list_files(root):
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root,
                            capture_output=True, text=True, check=True).stdout
    return [root / name for name in listed.split("\0") if name and (root / name).is_file()]


def strip_comments_and_strings(text):
    """Blanks out comments and literals, keeping line numbers."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|' + r"'(?:\\.|[^'\\\n])*'"
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)


def check_text(path, text):
    for number, line in enumerate(text.split("\n"), 1):
        if "\t" in line and path.name != "Makefile":
            yield number, "tab"
        if line != line.rstrip():
            yield number, "blank at the end of the line"
        if MACHINE_PATH.search(line):
            yield number, "absolute path of one machine"
    if text and (not text.endswith("\n") or text.endswith("\n\n")):
        yield text.count("\n") + 1, "a file ends with exactly one newline"


def check_calls(relative, text):
    """Banned calls. Only src/ is held to them; tests may do what they need to."""
    if relative.parts[0] != "src" or relative.stem.endswith(
            ("_test", "_test_support", "_bench", "_fuzz")):
        return
    opening = text[:text.find("*/")] if text.startswith("/*") else ""
    for number, line in enumerate(strip_comments_and_strings(text).split("\n"), 1):
        for match in CALL.finditer(line):
            reason, allowed = BANNED[match.group(1)]
            if match.group(1) in BOOKKEEPING and "malloc" in opening:
                continue
            if match.group(1) in EXCEPTIONS.get(relative.as_posix(), ()):
                continue
            if relative.parts[1] not in allowed:
                yield number, f"{match.group(1)}(): {reason}"


def check_header(relative, text):
    """A guard named after the path, and in public headers only names that begin with oc_ / OC_."""
    guard = GUARD.search(text)
    if "#pragma once" not in text and (not guard or guard.group(1) != guard.group(2)):
        yield 1, "header without an include guard"
    if relative.parts[0] == "include" and relative.name != "arrow_abi.h":
        for number, line in enumerate(strip_comments_and_strings(text).split("\n"), 1):
            declared = re.match(r"^OC_API\b.*?(\w+)\s*\(", line.replace("OC_NODISCARD", ""))
            if declared and not declared.group(1).startswith("oc_"):
                yield number, f"public name {declared.group(1)} does not begin with oc_"


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = []
    for path in list_files(root):
        relative = path.relative_to(root)
        if path.suffix not in TEXT or relative.parts[:2] in SKIPPED or path.is_symlink():
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = [*check_text(path, text)]
        if path.suffix in {".c", ".h"}:
            found += check_calls(relative, text)
        if path.suffix == ".h":
            found += check_header(relative, text)
        problems += [f"{relative}:{number}: {problem}" for number, problem in found]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
