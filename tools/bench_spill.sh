#!/usr/bin/env bash
# bench_spill.sh BUILD VENV: everything that is measured about spill files, one after the other, with the
# figures to reach. See bench/README.md.
#
# Writes bench/results/*.csv; spill_sizes.csv has no times in it, so a change of it is a change of the
# format or of a codec library. Without VENV/ready the peers are left out.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$1
venv=$2
results=bench/results
mkdir -p "$results"

echo "machine: $(nproc) cores, $(grep -m1 'model name' /proc/cpuinfo | cut -d: -f2 | sed 's/^ *//'), load $(cut -d' ' -f1 /proc/loadavg)"
printf '\n## spill_io: sizes\n\n'
"$build/bench/spill_io" --sizes >"$results/spill_sizes.csv"
git diff --stat -- "$results/spill_sizes.csv" | cat

printf '\n## spill_io\n\n'
"$build/bench/spill_io" --csv "$results/spill_io.csv"

printf '\n## spill_io: one block per batch of 8192 rows\n\n'
"$build/bench/spill_io" --feed batches --encoding auto --runs 3

printf '\n## spill_io: a disk of 100 MB/s\n\n'
"$build/bench/spill_io" --throttle 100 --set q2,q16,q20,wide --guard checksums --runs 5

printf '\n## spill_small_batches\n\n'
"$build/bench/spill_small_batches"

if [ -e "$venv/ready" ]; then
    printf '\n## peers\n'
    "$venv/bin/python" bench/spill_io_peers.py --spill-io "$build/bench/spill_io" \
        --spill-small-batches "$build/bench/spill_small_batches" --outcore "$build/outcore"
    printf '\n## sort_tpch\n\n'
    "$venv/bin/python" bench/sort_tpch.py --outcore "$build/outcore" --csv "$results/sort_tpch.csv"
    printf '\n## sort_tpch: rows shuffled\n\n'
    "$venv/bin/python" bench/sort_tpch.py --outcore "$build/outcore" --shuffle --queries 3,7,10 \
        --encoding auto
else
    echo "peers and sort_tpch are left out: $venv could not be made"
fi
