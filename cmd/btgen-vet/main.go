// Command btgen-vet finds mistakes in programs that use generated code:
//
//	go vet -vettool=$(go tool -n btgen-vet) ./...
package main

import (
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/btgen-dev/btgen/cmd/btgen-vet/analyzers"
)

func main() { unitchecker.Main(analyzers.All()...) }
