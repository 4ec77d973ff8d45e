#!/usr/bin/env bash
# fuzz.sh DIR SECONDS: runs each libFuzzer target in DIR for SECONDS on a corpus under build/corpus,
# started from fuzz/corpus/<target> when that exists. Stops at the first crash; the input is kept.
set -euo pipefail
cd "$(dirname "$0")/.."
for program in "$1"/*_fuzz; do
    [ -x "$program" ] || { echo "no fuzz target in $1"; exit 0; }
    name=$(basename "$program")
    mkdir -p "build/corpus/$name" build/crashes
    seeds=()
    [ ! -d "fuzz/corpus/$name" ] || seeds=("fuzz/corpus/$name")
    echo "== $name for $2 s"
    "$program" -max_total_time="$2" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="build/crashes/$name-" "build/corpus/$name" "${seeds[@]}"
done
