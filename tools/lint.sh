#!/usr/bin/env bash
# Every check that reads sources: format, layers, style, then clang-tidy. Says what failed; exits 1
# when anything did. `lint.sh --no-tidy` leaves out clang-tidy, the slow one.
set -uo pipefail
cd "$(dirname "$0")/.."
tools/install_deps.sh || exit 1
failed=0

# step NAME COMMAND...
step() {
    local name=$1 began=$SECONDS
    shift
    if "$@"; then
        echo "lint: $name: ok ($((SECONDS - began)) s)"
    else
        echo "lint: $name: FAILED"
        failed=1
    fi
}

check_format() {
    git ls-files -z '*.c' '*.h' | xargs -0 -r clang-format --dry-run -Werror
}

# Also passes on clang's own warnings, so this is the check that both compilers are content.
check_tidy() {
    cmake --preset clang >/dev/null || return 1
    git ls-files 'src/*.c' | grep -vE '_(test|bench|fuzz)\.c$' |
        xargs -r -P "${JOBS:-2}" -n 4 clang-tidy -p build/clang --quiet 2>/dev/null
}

step format check_format
step layers /usr/bin/python3 tools/check_layers.py
step style /usr/bin/python3 tools/check_style.py
[ "${1:-}" = --no-tidy ] || step clang-tidy check_tidy
exit $failed
