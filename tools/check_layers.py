#!/usr/bin/env python3
"""Checks who includes whom: every folder sees only the floors below it, and no circle of files.

Reads the #include "..." lines of src/ and include/. RULES is the table; CMakeLists.txt links the
libraries by the same one. Prints `file:line: rule` for each breach and exits 1.
"""

import re
import sys
from pathlib import Path

# folder of src -> folders it may include besides itself. include/outcore may be used by all.
RULES = {
    "base": set(),
    "codec": {"base"},
    "arrow": {"base"},
    "encoding": {"arrow", "base"},
    "ipc": {"codec", "arrow", "base"},
    "spill": {"encoding", "ipc", "codec", "arrow", "base"},
    "formats": {"ipc", "codec", "arrow", "base"},
    "expr": {"formats", "arrow", "base"},
    "ops": {"expr", "spill", "arrow", "base"},
    "sql": {"ops", "expr", "formats", "spill", "arrow", "base"},
    "api": {"sql", "ops", "expr", "spill", "encoding", "formats", "ipc", "codec", "arrow", "base"},
    "cli": set(),
}
# Headers of outside libraries that only one folder may see.
FENCED = {"lz4": "codec", "zstd": "codec", "snappy": "codec", "brotli": "codec", "xxhash": "base",
          "sodium": "spill", "pcre2": "expr", "pg_query": "sql", "protobuf-c": "sql"}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def is_test(path):
    return path.stem.endswith(("_test", "_test_support", "_bench", "_fuzz"))


def list_includes(path):
    """(line number, '<' or '"', name) of each include of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(line):
            yield number, match.group(1), match.group(2)


def check_quoted(root, path, folder, name):
    """The rule that an #include "name" in a file of `folder` breaks, or None."""
    if name.startswith("outcore/"):
        return None if (root / "include" / name).exists() else f'no header "{name}" in include/'
    if is_test(path) and (root / "tests" / name).exists():
        return None
    if not (root / "src" / name).exists():
        return f'"{name}" is not in src/; includes are written from there'
    other = name.split("/")[0]
    if other != folder and other not in RULES[folder]:
        allowed = ", ".join(sorted(RULES[folder])) or "include/outcore only"
        return f'src/{folder} may not see "{name}" (it may see: {allowed})'
    return None


def check_system(path, folder, name):
    """The rule that an #include <name> breaks, or None."""
    for prefix, owner in FENCED.items():
        if name.startswith(prefix) and folder != owner and not is_test(path):
            return f"only src/{owner} may include <{name}>"
    return None


def find_cycle(graph):
    """One circle of files as a list, or None. Depth first; `done` files lead to no circle."""
    done = set()

    def visit(file, trail):
        if file in trail:
            return trail[trail.index(file):] + [file]
        if file in done:
            return None
        for target in graph.get(file, ()):
            if cycle := visit(target, trail + [file]):
                return cycle
        done.add(file)
        return None

    for start in sorted(graph):
        if cycle := visit(start, []):
            return cycle
    return None


def check(root):
    problems, graph = [], {}
    for path in sorted([*(root / "src").rglob("*.[ch]"), *(root / "include").rglob("*.h")]):
        relative = path.relative_to(root)
        in_public = relative.parts[0] == "include"
        folder = "include" if in_public else relative.parts[1]
        if not in_public and folder not in RULES:
            problems.append(f"{relative}:1: src/{folder} has no rule in {Path(__file__).name}")
            continue
        for number, bracket, name in list_includes(path):
            if in_public:
                problem = None
                if bracket == '"' and not name.startswith("outcore/"):
                    problem = f'a public header may not see "{name}"'
            elif bracket == '"':
                problem = check_quoted(root, path, folder, name)
            else:
                problem = check_system(path, folder, name)
            if problem:
                problems.append(f"{relative}:{number}: {problem}")
            if bracket == '"':
                top = "include" if name.startswith("outcore/") else "src"
                graph.setdefault(str(relative), []).append(f"{top}/{name}")
    if cycle := find_cycle(graph):
        problems.append(f"{cycle[0]}:1: circle of includes: {' -> '.join(cycle)}")
    return problems


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent.parent
    problems = check(root)
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
