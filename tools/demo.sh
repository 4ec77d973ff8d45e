#!/usr/bin/env bash
# What `make demo` runs: installs what is missing, builds the release, hands over to demo.py.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
tools/install_deps.sh
tools/make_venv.sh /usr/bin/python3 build/venv
echo "building release"
make --no-print-directory release >build/release.log 2>&1 || {
    tail -50 build/release.log >&2
    exit 1
}
exec /usr/bin/python3 tools/demo.py "$@"
