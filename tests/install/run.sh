#!/usr/bin/env bash
# run.sh BUILD_DIR: installs a build into a temporary prefix, moves that prefix, and builds and runs
# C and C++ programs against it by pkg-config and by find_package, shared and static.
# Prints a line per case in the form of the unit tests, so that they are counted alike.
set -uo pipefail
build_dir=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# expect NAME COMMAND...: one case.
expect() {
    local name=$1
    shift
    echo "[ RUN      ] $name"
    if "$@" >"$scratch/output" 2>&1; then
        echo "[       OK ] $name"
    else
        cat "$scratch/output"
        echo "[  FAILED  ] $name"
        failed=1
    fi
}

install_and_move() {
    cmake --install "$build_dir" --prefix "$scratch/first" && mv "$scratch/first" "$scratch/prefix"
}

with_pkg_config() { # COMPILER SOURCE [--static]
    local flags static=()
    [ "${3:-}" = "" ] || static=(-Wl,-Bstatic -loutcore -Wl,-Bdynamic)
    flags=$(pkg-config ${3:-} --cflags --libs outcore) || return 1
    # shellcheck disable=SC2086 # the flags are words
    "$1" -Wall -Wextra -Wpedantic -Werror "$here/$2" "${static[@]}" $flags -o "$scratch/program" &&
        "$scratch/program"
}

with_cmake() {
    cmake -S "$here" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$scratch/prefix" &&
        cmake --build "$scratch/consumer" || return 1
    local program
    for program in "$scratch"/consumer/consumer_{c,cpp}_{shared,static}; do
        "$program" || return 1
    done
}

program_runs() {
    [ ! -e "$scratch/prefix/bin/outcore" ] || "$scratch/prefix/bin/outcore" --version
}

expect installs_into_a_prefix install_and_move
libdir=$(dirname "$(find "$scratch/prefix" -name outcore.pc)")/..
export PKG_CONFIG_PATH="$libdir/pkgconfig"
export LD_LIBRARY_PATH="$libdir"
expect c_program_links_by_pkg_config with_pkg_config "${CC:-cc}" consumer.c
expect c_program_links_statically_by_pkg_config with_pkg_config "${CC:-cc}" consumer.c --static
expect cpp_program_links_by_pkg_config with_pkg_config "${CXX:-c++}" consumer.cpp
expect programs_link_by_find_package with_cmake
expect installed_program_runs program_runs
exit $failed
