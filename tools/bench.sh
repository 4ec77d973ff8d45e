#!/usr/bin/env bash
# bench.sh DIR: runs each benchmark program in DIR one after the other, without arguments. Programs
# named gen_* make data and are no benchmarks.
set -euo pipefail
found=0
for program in "$1"/*; do
    name=$(basename "$program")
    if [ ! -x "$program" ] || [[ $name == gen_* ]]; then
        continue
    fi
    found=1
    echo "== $name"
    "$program"
done
[ $found = 1 ] || echo "no benchmark in $1"
