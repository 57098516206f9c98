#!/usr/bin/env bash
# Runs Google's conformance suite for Bigtable clients against the official client, with
# its own test proxy, whose reads and bulk writes take the wire path of the runtime.
#
#	runtime/internal/conformance/run.sh SUITE [flags of go test]
#
# SUITE is a checkout of github.com/googleapis/cloud-bigtable-clients-test. Nothing of it,
# or of the proxy, is kept: the proxy is copied from the client's module, changed and built
# in a folder that is removed. PLAIN=1 leaves it as it is, to compare.
set -euo pipefail
suite=$(cd "$1" && pwd)
shift
root=$(cd "$(dirname "$0")/../../.." && pwd)
cd "$root"
client=$(go list -m -f '{{.Dir}}' cloud.google.com/go/bigtable)
work=$(mktemp -d)
proxy=
trap '[ -z "$proxy" ] || kill "$proxy" 2>/dev/null || true; chmod -R u+w "$work"; rm -rf "$work"' EXIT

# change OLD NEW: in the proxy, which must have it.
change() {
  grep -qF -- "$1" "$work/proxy.go" || { echo "the test proxy has no line: $1" >&2; exit 1; }
  OLD=$1 NEW=$2 perl -pi -e 's/\Q$ENV{OLD}\E/$ENV{NEW}/' "$work/proxy.go"
}

cp "$client/internal/testproxy/proxy.go" "$work/proxy.go"
chmod u+w "$work/proxy.go"
if [ -z "${PLAIN:-}" ]; then
  change 'grpc.Dial(req.DataTarget, opts...)' 'grpc.Dial(req.DataTarget, append(opts, wired.DialOption())...)'
  change 'err = t.ReadRows(ctx, rs, func' 'err = wired.ReadRows(ctx, t, rs, func'
  change 'errs, err := t.ApplyBulk(ctx, keys, muts)' 'errs, err := wired.ApplyBulk(ctx, t, mrs)'
  change '"cloud.google.com/go/bigtable"' '"cloud.google.com/go/bigtable"; "github.com/btgen-dev/btgen/runtime/internal/conformance/wired"'
fi
cp go.sum "$work/go.sum"
cat >"$work/go.mod" <<MOD
module github.com/btgen-dev/btgen/runtime/internal/conformance/proxy

go $(go list -m -f '{{.GoVersion}}')

require (
	cloud.google.com/go/bigtable $(go list -m -f '{{.Version}}' cloud.google.com/go/bigtable)
	github.com/btgen-dev/btgen v0.0.0
	github.com/googleapis/cloud-bigtable-clients-test v0.0.0
)

replace github.com/btgen-dev/btgen => $root
replace github.com/googleapis/cloud-bigtable-clients-test => $suite
MOD
(cd "$work" && go mod tidy >/dev/null 2>&1 && go build -o proxy .)

port=${PORT:-9999}
"$work/proxy" --port "$port" >"$work/log" 2>&1 &
proxy=$!
# What the client itself does not pass, and SQL, which panics the suite also with the proxy
# as it is and is no part of the runtime.
skip=$(tr -d '\n' <"$client/internal/testproxy/known_failures.txt")
cd "$suite/tests"
go test -count=1 -proxy_addr=":$port" -skip "$skip|^TestExecuteQuery" "$@"
