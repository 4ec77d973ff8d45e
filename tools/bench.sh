#!/usr/bin/env bash
# bench.sh DIR: runs each benchmark program in DIR (those whose name ends in _bench, which take no
# argument) one after the other.
set -euo pipefail
found=0
for program in "$1"/*_bench; do
    [ -x "$program" ] || continue
    found=1
    echo "== $(basename "$program")"
    "$program"
done
[ $found = 1 ] || echo "no *_bench program in $1"
