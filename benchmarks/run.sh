#!/usr/bin/env bash
# dinoxide beside other CPU runtimes: sets up what is missing, measures, writes a dated record. `benchmarks/run.sh --help` says more.
#
# Needs python3 with venv, Rust, a C++ compiler, and for everything 16 GB in PEERS_ROOT (default: target/peers). The CUDA build of torch that
# PyPI gives takes 6 GB of them; PIP_EXTRA_INDEX_URL=https://download.pytorch.org/whl/cpu avoids it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
export PEERS_ROOT=${PEERS_ROOT:-$here/../target/peers}
venv=$PEERS_ROOT/venv
wanted=$(cat "$here/../tools/golden/requirements.txt" "$here/peers/requirements.txt")
if [ "$wanted" != "$(cat "$venv/installed.txt" 2> /dev/null)" ]; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet -r "$here/peers/requirements.txt"
    printf '%s\n' "$wanted" > "$venv/installed.txt"
fi
PYTHONPATH=$here exec "$venv/bin/python" -m peers "$@"
