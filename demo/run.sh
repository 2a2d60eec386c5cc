#!/bin/sh
# Locks a contract, verifies a good and a bad output, asks the gate about both, judges
# code by running it, judges an image and asks a service of this machine.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
service=
trap 'rm -rf "$scratch"; [ -z "$service" ] || kill "$service" 2>/dev/null' EXIT
cd "$scratch"
cp "$here/contract.yaml" "$here/good.json" "$here/bad.json" "$here"/plate.* "$here/code.yaml" .
cp -R "$here/slugs" .

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

say "Code is judged by running it: in a sandbox, on a copy. An agent did what was asked:"
expect 0 signoff lock code.yaml
expect 0 signoff verify code.lock.json --workspace slugs
say "Another did nothing, and wrote a file that ends every run of the tests with success:"
printf 'def slug(title):\n    return title\n' >slugs/slug.py
printf 'import os\n\nos._exit(0)\n' >slugs/conftest.py
expect 0 python -m pytest slugs
expect 1 signoff verify code.lock.json --workspace slugs

# A service on a free port of this machine; it prints its address when it listens.
python "$here/../examples/remote/service.py" 0 >address 2>service.log &
service=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    [ ! -s address ] || break
    sleep 0.25
done
printf '[services.words]\nurl = "%s"\n' "$(cat address)" >signoff.toml

say "What is not in the text: a photo, and what a service says that signoff.toml names:"
expect 0 signoff lock plate.yaml
expect 0 signoff verify plate.lock.json plate.json --evidence plate.png --out plate-run
kill "$service" && { wait "$service" || service=; } 2>/dev/null
say "The same when the service is down: nothing was found out, and that is no pass:"
expect 3 signoff verify plate.lock.json plate.json --evidence plate.png
