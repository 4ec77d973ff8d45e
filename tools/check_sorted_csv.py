#!/usr/bin/env python3
"""The check of check_sorted.py for machines without pyarrow and DuckDB: standard library only.

    check_sorted_csv.py reference lineitem.tbl           prints the reference: rows and hash as JSON
    check_sorted_csv.py check sorted.csv REFERENCE_JSON  exits 1 and says why when the file is wrong

Works on text, so the program under test has to write the CSV file first. It holds one row at a time.
"""

import csv
import json
import sys
import zlib

ORDER_KEY, LINE_NUMBER, SHIP_MODE, COMMENT = 0, 3, 14, 15
DECIMALS = range(4, 8)
FIELDS = 16


def hash_row(fields):
    """Equal for equal values: decimals are written with two places first."""
    for i in DECIMALS:
        if "." not in fields[i]:
            fields[i] += ".00"
    return zlib.crc32("\x1f".join(fields).encode("latin-1"))


def make_reference(path):
    rows = total = 0
    with open(path, encoding="latin-1", newline="") as table:
        for line in table:
            total += hash_row(line.split("|")[:FIELDS])
            rows += 1
    return {"rows": rows, "hash": str(total)}


def in_order(before, after):
    """l_shipmode up, l_comment down, ties as in the input: by (l_orderkey, l_linenumber)."""
    if before[SHIP_MODE] != after[SHIP_MODE]:
        return before[SHIP_MODE] < after[SHIP_MODE]
    if before[COMMENT] != after[COMMENT]:
        return before[COMMENT] > after[COMMENT]
    return ((int(before[ORDER_KEY]), int(before[LINE_NUMBER])) <
            (int(after[ORDER_KEY]), int(after[LINE_NUMBER])))


def check(path, reference):
    rows = total = 0
    before = None
    # latin-1 maps bytes to characters one to one: comparing text is comparing bytes.
    with open(path, encoding="latin-1", newline="") as table:
        for fields in csv.reader(table):
            if rows == 0 and before is None and fields[0] == "l_orderkey":
                continue
            if len(fields) != FIELDS:
                return f"row {rows} has {len(fields)} fields"
            if before is not None and not in_order(before, fields):
                return f"rows {rows - 1} and {rows} are out of order: {before} {fields}"
            total += hash_row(fields)
            rows += 1
            before = fields
    found = {"rows": rows, "hash": str(total)}
    return None if found == reference else f"content differs: {found}, expected {reference}"


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "reference":
        print(json.dumps(make_reference(sys.argv[2])))
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "check":
        problem = check(sys.argv[2], json.loads(sys.argv[3]))
        if problem:
            print(problem)
        return 1 if problem else 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
