#!/usr/bin/env bash
# Installs the Debian packages that building, testing and linting need; extra names may follow.
# Does nothing, and needs neither root nor network, when all of them are there.
set -euo pipefail

packages=(
    build-essential cmake ninja-build pkg-config git
    liblz4-dev libzstd-dev libsnappy-dev zlib1g-dev libbrotli-dev libxxhash-dev
    libsodium-dev libpcre2-dev libpg-query-dev libprotobuf-c-dev
    libedit-dev libcmocka-dev
    clang clang-format clang-tidy libclang-rt-14-dev
    python3 python3-venv time strace
    "$@"
)

if ! command -v apt-get >/dev/null; then
    echo "deps: no apt-get here; install the equivalents of: ${packages[*]}" >&2
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps: missing ${missing[*]}; install them as root" >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "deps: installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q </dev/null >/dev/null
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -q --no-install-recommends "${missing[@]}" </dev/null >/dev/null
