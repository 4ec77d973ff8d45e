#!/usr/bin/env python3
"""Checks a sorted lineitem file without any code of Outcore: pyarrow reads it, DuckDB hashes rows.

    check_sorted.py reference lineitem.tbl              prints the reference: rows and hash as JSON
    check_sorted.py check sorted.arrows REFERENCE_JSON  exits 1 and says why when the file is wrong

Order: l_shipmode ascending, l_comment descending, both by bytes; ties in the order of the input,
which for lineitem is the order of (l_orderkey, l_linenumber). Each row is compared with the one
before, batch by batch. Content: the number of rows and the sum of a hash of each whole row, which
does not depend on order. Memory stays at one batch, whatever the size of the file.
"""

import json
import sys

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

COLUMNS = {
    "l_orderkey": "BIGINT", "l_partkey": "BIGINT", "l_suppkey": "BIGINT", "l_linenumber": "INTEGER",
    "l_quantity": "DECIMAL(15,2)", "l_extendedprice": "DECIMAL(15,2)",
    "l_discount": "DECIMAL(15,2)", "l_tax": "DECIMAL(15,2)",
    "l_returnflag": "VARCHAR", "l_linestatus": "VARCHAR",
    "l_shipdate": "DATE", "l_commitdate": "DATE", "l_receiptdate": "DATE",
    "l_shipinstruct": "VARCHAR", "l_shipmode": "VARCHAR", "l_comment": "VARCHAR",
}


def hash_rows(relation_sql, connection):
    """Rows and hash of a relation. Values are cast first: equal values of equal type hash alike."""
    values = ", ".join(f"{name}::{kind}" for name, kind in COLUMNS.items())
    rows, total = connection.execute(
        f"SELECT count(*), sum(hash({values})::HUGEINT) FROM {relation_sql}").fetchone()
    return {"rows": rows, "hash": str(total)}


def make_reference(table_path):
    """From the text file itself, read by DuckDB, so that a wrong conversion is noticed as well."""
    # Each line of a .tbl file ends in a delimiter: one empty field more.
    columns = ", ".join(f"'{name}': '{kind}'" for name, kind in {**COLUMNS, "rest": "VARCHAR"}.items())
    return hash_rows(f"read_csv('{table_path}', delim='|', header=false, quote='', escape='', "
                     f"columns={{{columns}}})", duckdb.connect())


def open_batches(path):
    """A reader of record batches for an Arrow stream or file."""
    source = pa.OSFile(path)
    if path.endswith(".arrows"):
        return pa.ipc.open_stream(source)
    reader = pa.ipc.open_file(source)
    batches = (reader.get_batch(i) for i in range(reader.num_record_batches))
    return pa.RecordBatchReader.from_batches(reader.schema, batches)


def find_disorder(path):
    """What is wrong with the order, or None."""
    names = ["l_shipmode", "l_comment", "l_orderkey", "l_linenumber"]
    last, row = None, 0
    for batch in open_batches(path):
        if batch.num_rows == 0:
            continue
        keys = pa.table(batch.select(names)) if last is None else \
            pa.concat_tables([last, pa.table(batch.select(names))])
        keys = keys.combine_chunks()
        before, after = keys.slice(0, keys.num_rows - 1), keys.slice(1)
        mode, comment, order, line = ((before[name], after[name]) for name in names)
        # From the last key to the first: in order if decided here, or equal and decided later.
        fine = pc.less(*line)
        fine = pc.or_(pc.less(*order), pc.and_(pc.equal(*order), fine))
        fine = pc.or_(pc.greater(*comment), pc.and_(pc.equal(*comment), fine))
        fine = pc.or_(pc.less(*mode), pc.and_(pc.equal(*mode), fine))
        if keys.num_rows > 1 and not pc.all(fine, skip_nulls=False).as_py():
            at = pc.index(pc.fill_null(fine, False), False).as_py()
            first = row + at - (0 if last is None else 1)
            return f"rows {first} and {first + 1} are out of order: {keys.slice(at, 2).to_pylist()}"
        last = keys.slice(keys.num_rows - 1)
        row += batch.num_rows
    return None


def check(path, reference):
    if problem := find_disorder(path):
        return problem
    connection = duckdb.connect()
    connection.register("sorted_rows", open_batches(path))
    found = hash_rows("sorted_rows", connection)
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
