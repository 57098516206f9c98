// Command bench measures what generated code costs compared with handwritten code, and
// updates the manual: the tables in the README and in docs/reference/performance.md, and a plot. The
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

// Paths relative to the module.
const (
	pkg     = "./generated/bench"
	readme  = "README.md"
	manual  = "docs/reference/performance.md"
	raw     = "generated/bench/results.txt" // as benchstat reads it
	picture = "generated/bench/results.svg"
)

func main() {
	count := flag.Int("count", 9, "number of runs of all benchmarks, alternating between them")
	time := flag.String("benchtime", "300ms", "how long each benchmark runs, as in go test")
	render := flag.Bool("render", false, "measure nothing, and render the latest results")
	flag.Parse()
	if err := run(*count, *time, *render); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// run measures, unless rendering alone is requested, and renders.
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

// measureAll runs all benchmarks several times and returns their output, which is also
// copied to a writer. All of them run once before any runs again, so that other load on the
// machine affects all of them alike.
func measureAll(count int, benchtime string, to io.Writer) ([]byte, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var out bytes.Buffer
	program := filepath.Join(dir, "bench.test")
	err = execute(exec.Command("go", "test", "-c", "-o", program, pkg), os.Stderr)
	for i := 0; i < count && err == nil; i++ {
		err = execute(exec.Command(program, "-test.run=^$", "-test.bench=.", "-test.benchtime="+benchtime, "-test.timeout=1h"), io.MultiWriter(&out, to))
	}
	return out.Bytes(), err
}

// execute runs a command.
func execute(cmd *exec.Cmd, stdout io.Writer) error {
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
