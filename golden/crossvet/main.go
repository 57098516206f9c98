// Command crossvet is go vet for other systems than the one it runs on:
//
//	go build -C golden/crossvet -o /tmp/crossvet .
//	/tmp/crossvet darwin/arm64 windows/386
//
// It reports what does not compile there and what vet finds, in the packages below the
// working directory and in their tests. Go vet compiles all dependencies for the other
// system first. This command checks the types of their sources, which takes a tenth of
// the time. It is a separate module, so that only those who run it compile the analyzers.
package main

import (
	"errors"
	"log"
	"os"
	"strings"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	log.SetFlags(0)
	failed := false
	for _, system := range os.Args[1:] {
		if err := check(system); err != nil {
			log.Printf("%s: %v", system, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// everything is what analyzers need of packages and, for facts, of all that they import.
const everything = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
	packages.NeedTypes | packages.NeedTypesSizes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedModule

// check prints what is wrong for a system, and returns an error if anything is.
func check(system string) error {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return errors.New("not a system such as windows/386")
	}
	loaded, err := packages.Load(&packages.Config{
		Mode: everything, Tests: true, Env: append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
	}, "./...")
	if err != nil {
		return err
	}
	if packages.PrintErrors(loaded) > 0 {
		return errors.New("does not compile")
	}
	graph, err := checker.Analyze(vet.Suite, loaded, nil)
	if err != nil {
		return err
	}
	for action := range graph.All() {
		if action.Err != nil || action.IsRoot && len(action.Diagnostics) > 0 {
			return errors.Join(errors.New("vet has findings"), graph.PrintText(os.Stderr, -1))
		}
	}
	return nil
}
