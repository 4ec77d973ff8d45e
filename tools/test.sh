#!/usr/bin/env bash
# test.sh PRESET...: builds each preset, runs its unit tests, then the Python tests with the release
# program. The last line is the total of all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=${JOBS:-2}

tools/install_deps.sh
tools/make_venv.sh /usr/bin/python3 build/venv
tools/make_node_modules.sh

suites=()
for preset in "$@"; do
    mkdir -p build
    [ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"build/$preset.log"
    echo "building $preset"
    # Output only when it fails: a clean build has nothing to say.
    cmake --build --preset "$preset" -j "$jobs" >"build/$preset.log" 2>&1 || {
        grep -E '(error|warning): |undefined reference|^FAILED' -A3 "build/$preset.log" | head -100 >&2
        echo "the build of preset $preset failed; all of its output: build/$preset.log" >&2
        exit 1
    }
    suites+=(--ctest "build/$preset")
done
exec /usr/bin/python3 tools/run_tests.py "${suites[@]}" --pytest tests --jobs "$jobs"
