#!/bin/sh
# Takes the pictures of the manual with a headless Chromium (apt-get install chromium), in the root of a clone:
#
#   docs/pictures/take.sh
set -eu
out=$(cd docs/pictures && pwd)
scratch=$(mktemp -d)
go build -o "$scratch" ./cmd/demo ./cmd/btgen
mkdir "$scratch/schemas"
(cd "$scratch" && ./btgen init)
sed -i 's/every: 1d/every: 30d/' "$scratch/schemas/balloon.yaml" # too wide, so that the page has a finding

# shot takes a picture of the page whose address a program prints at the end of its output.
shot() { # file, how Chromium waits, what follows the address, program
  file=$1 waits=$2 rest=$3
  shift 3
  rm -f "$scratch/log"
  "$@" >"$scratch/log" 2>&1 &
  server=$!
  until grep -q '^http://' "$scratch/log" 2>/dev/null; do sleep 1; done
  chromium --headless --no-sandbox --disable-gpu --no-first-run --hide-scrollbars --disable-background-networking \
    --disable-component-update --disable-sync --user-data-dir="$scratch/profile" --blink-settings=preferredColorScheme=1 \
    "$waits" --window-size=1280,900 --screenshot="$out/$file" \
    "$(grep '^http://' "$scratch/log" | tail -n 1)$rest" 2>"$scratch/chromium.log"
  kill -INT "$server"
  wait "$server"
}
shot serve.png --virtual-time-budget=20000 '#schema=Normal&series=%5B%22station%3Dseattle%22%5D' "$scratch/demo" --serve
shot explain.png --timeout=5000 '' sh -c 'cd "$0" && exec ./btgen explain --serve --addr localhost:0' "$scratch"
rm -rf "$scratch"
