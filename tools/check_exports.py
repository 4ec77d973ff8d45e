#!/usr/bin/env python3
"""check_exports.py LIBRARY: what a shared library exports against tools/exports.txt.

Also the other way round: each function that include/outcore declares with OC_API must be there, or
a user's program does not link.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    rules = [re.compile(line) for line in (ROOT / "tools/exports.txt").read_text().splitlines()
             if line and not line.startswith("#")]
    listed = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True,
                            text=True, check=True).stdout
    exported = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line.strip()}
    problems = [f"exported, but not allowed by tools/exports.txt: {name}"
                for name in sorted(exported) if not any(rule.search(name) for rule in rules)]

    for header in sorted((ROOT / "include/outcore").glob("*.h")):
        text = re.sub(r"/\*.*?\*/|//[^\n]*", "", header.read_text(encoding="utf-8"), flags=re.S)
        for declared in re.findall(r"\bOC_API\b[^;{]*?\b(oc_\w+)\s*\(", text):
            if declared not in exported:
                problems.append(f"declared in {header.name}, but not exported: {declared}")

    for problem in problems:
        print(problem)
    print(f"{len(exported)} symbols, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
