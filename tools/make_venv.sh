#!/usr/bin/env bash
# make_venv.sh PYTHON DIR [FILE...]: a virtual environment with what tests/requirements.txt and the
# files pin.
#
# Returns 0 also when the packages cannot be had: the C tests and the demo work without them, and
# whoever needs the environment looks for DIR/ready.
set -euo pipefail
python=$1
venv=$2
cd "$(dirname "$0")/.."
requirements=(tests/requirements.txt "${@:3}")

wanted=$(cat "${requirements[@]}" | sha256sum | cut -d' ' -f1)
if [ "$(cat "$venv/ready" 2>/dev/null || true)" = "$wanted" ]; then
    exit 0
fi

go_on_without() {
    echo "venv: $1; going on without it (what needs it is skipped)" >&2
    rm -rf "$venv"
    exit 0
}

rm -rf "$venv"
mkdir -p "$(dirname "$venv")"
echo "venv: installing ${requirements[*]} into $venv"
log=$venv.log
"$python" -m venv "$venv" >"$log" 2>&1 || go_on_without "$python -m venv failed, see $log"
"$venv/bin/pip" install --quiet --retries 2 --timeout 30 --disable-pip-version-check \
    "${requirements[@]/#/--requirement=}" >>"$log" 2>&1 ||
    go_on_without "PyPI could not be reached or lacks a package, see $log"
echo "$wanted" >"$venv/ready"
