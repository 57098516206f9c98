// Command btgen-vet finds mistakes in programs that use generated code:
//
//	go vet -vettool=$(go tool -n btgen-vet) ./...
package main

import (
	"crypto/sha256"
	"fmt"
	"log"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/btgen-dev/btgen/cmd/btgen-vet/analyzers"
)

func main() {
	if !slices.Contains(os.Args[1:], "-V=full") {
		unitchecker.Main(analyzers.All()...)
	}
	answer, err := version(".")
	if err != nil {
		log.Fatal("btgen-vet: ", err)
	}
	fmt.Println(answer)
}

// version returns the answer to -V=full, by which the go command decides whether its cache has a result. It has the digests of the
// executable and of the btgen.lock for a folder, because findings depend on both.
func version(dir string) (string, error) {
	path, err := os.Executable()
	if err != nil {
		return "", err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	_, locked, err := analyzers.ReadLock(dir)
	return fmt.Sprintf("btgen-vet version devel buildID=%x%x", sha256.Sum256(program), sha256.Sum256(locked)), err
}
