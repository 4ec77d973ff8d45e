#!/usr/bin/env bash
# make_venv.sh PYTHON DIR: a virtual environment with what tests/requirements.txt pins.
#
# Returns 0 also when the packages cannot be had: the C tests and the demo work without them, and
# whoever needs the environment looks for DIR/ready.
set -euo pipefail
python=$1
venv=$2
cd "$(dirname "$0")/.."

wanted=$(sha256sum tests/requirements.txt | cut -d' ' -f1)
if [ "$(cat "$venv/ready" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

go_on_without() {
    echo "venv: $1; going on without it (Python tests are skipped)" >&2
    rm -rf "$venv"
    exit 0
}

rm -rf "$venv"
mkdir -p "$(dirname "$venv")"
echo "venv: installing tests/requirements.txt into $venv"
log=$(dirname "$venv")/venv.log
"$python" -m venv "$venv" >"$log" 2>&1 || go_on_without "$python -m venv failed, see $log"
"$venv/bin/pip" install --quiet --retries 2 --timeout 30 --disable-pip-version-check \
    -r tests/requirements.txt >>"$log" 2>&1 ||
    go_on_without "PyPI could not be reached or lacks a package, see $log"
echo "$wanted" >"$venv/ready"
