// Command bench measures what generated code costs compared with handwritten code, and
// updates the manual: the tables in the README and in docs/performance.md, and a plot. The
// benchmarks are the tests of this package. Run it in the root of the module:
//
//	go run ./generated/bench           # measures, which takes some minutes, and updates
//	go run ./generated/bench -render   # updates from the last measurement
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Where things are, from the folder of the module.
const (
	pkg     = "./generated/bench"
	readme  = "README.md"
	manual  = "docs/performance.md"
	raw     = "generated/bench/results.txt" // as benchstat reads it
	picture = "generated/bench/results.svg"
)

func main() {
	count := flag.Int("count", 6, "how often everything is measured, in turns")
	time := flag.String("benchtime", "300ms", "how long each benchmark runs, as in go test")
	render := flag.Bool("render", false, "measure nothing: show what was measured last")
	flag.Parse()
	if err := run(*count, *time, *render); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// run measures, unless it is only to render, and renders.
func run(count int, benchtime string, onlyRender bool) error {
	if !onlyRender {
		results, err := measureAll(count, benchtime, os.Stdout)
		if err != nil {
			return err
		}
		if err := os.WriteFile(raw, results, 0o666); err != nil {
			return err
		}
	}
	return renderAll(".")
}

// measureAll runs all benchmarks several times and returns what they print, which
// is also copied to a writer. All of them run once before any runs again, so that
// what else the machine does hits them all alike.
func measureAll(count int, benchtime string, to io.Writer) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	program := filepath.Join(dir, "bench.test")
	var out bytes.Buffer
	err = command(os.Stderr, "go", "test", "-c", "-o", program, pkg)
	for i := 0; i < count && err == nil; i++ {
		err = command(io.MultiWriter(&out, to), program, "-test.run=^$", "-test.bench=.", "-test.benchtime="+benchtime, "-test.timeout=1h")
	}
	return out.Bytes(), err
}

// command runs a command.
func command(stdout io.Writer, name string, args ...string) error {
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, err)
	}
	return nil
}

// renderAll updates the pages and the plot in a checkout of the module.
func renderAll(module string) error {
	read := func(name string) (string, error) {
		text, err := os.ReadFile(filepath.Join(module, name))
		return string(text), err
	}
	printed, err := read(raw)
	if err != nil {
		return err
	}
	var pages shown
	if pages.readme, err = read(readme); err != nil {
		return err
	}
	if pages.manual, err = read(manual); err != nil {
		return err
	}
	updated, err := render(printed, pages)
	if err != nil {
		return err
	}
	write := func(name, text string) error {
		return os.WriteFile(filepath.Join(module, name), []byte(text), 0o666)
	}
	return errors.Join(write(readme, updated.readme), write(manual, updated.manual), write(picture, updated.picture))
}
