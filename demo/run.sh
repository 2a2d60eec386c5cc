#!/bin/sh
# Locks a contract, verifies a good and a bad output, and asks the gate about both.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
cp "$here/contract.yaml" "$here/good.json" "$here/bad.json" .

say() { printf '\n# %s\n' "$*"; }

# Runs a command as a person would type it, and holds it to the exit code it must have.
expect() {
    wanted=$1
    shift
    printf '$ %s\n' "$*"
    code=0
    "$@" 2>&1 || code=$?
    [ "$code" -eq "$wanted" ] || {
        printf 'demo: exit code %s, expected %s\n' "$code" "$wanted" >&2
        exit 1
    }
    printf '(exit code %s)\n' "$code"
}

say "What a search for lunch has to bring back, made binding before the work:"
expect 0 signoff lock contract.yaml
say "An agent says that it is done, and it is:"
expect 0 signoff verify contract.lock.json good.json --out good-run
say "Another agent says the same:"
expect 1 signoff verify contract.lock.json bad.json --out bad-run
say "What CI asks, which judges everything again from what was kept:"
expect 0 signoff gate good-run --contract contract.lock.json
say "The same after somebody touched up the kept output:"
sed 's/"minutes": 11/"minutes": 12/' good-run/output.json >touched && mv touched good-run/output.json
expect 1 signoff gate good-run --contract contract.lock.json
