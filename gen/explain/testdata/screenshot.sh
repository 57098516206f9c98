#!/bin/sh
# Draws an explanation in light and in dark with a headless Chromium, to be looked at:
#
#   gen/explain/testdata/screenshot.sh schemas/balloon_new_cells.yaml /tmp/shots
#
# leaves explain.html, light.png, dark.png and narrow.png in the folder. Needs Go and
# Chromium (apt-get install chromium).
set -eu
schema=${1:?a schema}
out=${2:?a folder for the pictures}
height=${3:-3600}
mkdir -p "$out"
go run ./cmd/btgen explain --format html --output "$out/explain.html" "$schema"
out=$(cd "$out" && pwd)

shot() { # name, width, flags
  name=$1 width=$2
  shift 2
  profile=$(mktemp -d)
  chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --hide-scrollbars \
    --disable-background-networking --disable-component-update --disable-sync \
    --user-data-dir="$profile" --window-size="$width,$height" --screenshot="$out/$name.png" \
    "$@" "file://$out/explain.html" 2>"$out/$name.log"
  rm -rf "$profile"
}
shot light 1240 --blink-settings=preferredColorScheme=1
shot dark 1240 --blink-settings=preferredColorScheme=0
shot narrow 480 --blink-settings=preferredColorScheme=1
