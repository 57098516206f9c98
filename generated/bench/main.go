// Command bench measures what generated code costs compared with handwritten code, and
// updates the manual: the tables in the README and in docs/reference/performance.md, and a plot. The
// benchmarks are the tests of this package. Run it in the root of the module:
//
//	go run ./generated/bench           # measures, which takes some minutes, and updates
//	go run ./generated/bench -render   # updates from the last measurement
//
// It also compares a plain server with one that speaks the session protocol of the official
// client, to which clients divert a share of their calls for single rows. It then prints a
// table and updates nothing:
//
//	go run ./generated/bench -sessions 0,0.5,1
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
	sessions := flag.String("sessions", "", "compare a plain server with one that speaks sessions, at these loads, such as 0,0.5,1; update nothing")
	flag.Parse()
	measure := func() error { return run(*count, *time, *render) }
	if *sessions != "" {
		measure = func() error { return compareSessions(*count, *time, *sessions, os.Stdout) }
	}
	if err := measure(); err != nil {
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
	p, err := build(dir, "bench.test")
	var out bytes.Buffer
	for i := 0; i < count && err == nil; i++ {
		err = p.run(io.MultiWriter(&out, to), ".", benchtime)
	}
	return out.Bytes(), err
}

// program is the compiled benchmarks.
type program struct {
	path     string
	variable string // of its environment; may be empty
}

// build compiles the benchmarks into a folder.
func build(dir, name string, flags ...string) (program, error) {
	path := filepath.Join(dir, name)
	args := append([]string{"test", "-c", "-o", path}, flags...)
	return program{path: path}, execute(exec.Command("go", append(args, pkg)...), os.Stderr)
}

// run runs benchmarks.
func (p program) run(stdout io.Writer, pattern, benchtime string) error {
	cmd := exec.Command(p.path, "-test.run=^$", "-test.bench="+pattern, "-test.benchtime="+benchtime, "-test.timeout=1h")
	if p.variable != "" {
		cmd.Env = append(os.Environ(), p.variable)
	}
	return execute(cmd, stdout)
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
