package parquet

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"time"
)

// A file of a few kilobytes can describe gigabytes: sizes and counts in it are numbers that anybody can write, and
// compressed or repeated data grow without limit. The library trusts them, and a Go program that runs out of memory
// ends. A file is therefore first read by a child process, which ends when it takes too much memory. What it could
// read, this process can read, too.

// Limits of the child process. They are far above what files take that programs write.
const (
	maxMemory  = 1 << 30   // bytes
	collectAt  = 512 << 20 // bytes, from which on garbage is collected at once
	maxStack   = 64 << 20  // bytes
	watchEvery = 5 * time.Millisecond
)

// isChild is the environment variable that makes this program the child process, whose standard input is the file.
const isChild = "BTGEN_LIVE_READS_PARQUET"

func init() {
	if os.Getenv(isChild) == "" {
		return
	}
	debug.SetMemoryLimit(collectAt)
	debug.SetMaxStack(maxStack)
	go watchMemory()
	if err := readAll(os.Stdin); err != nil {
		endChild(err)
	}
	os.Exit(0)
}

// endChild ends the child process with an error.
func endChild(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// watchMemory ends the child process when it takes too much memory.
func watchMemory() {
	classes := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for range time.Tick(watchEvery) {
		if metrics.Read(classes); classes[0].Value.Uint64()-classes[1].Value.Uint64() > maxMemory {
			endChild(errors.New("it takes more than 1 GiB of memory: write the file again with smaller row groups and pages"))
		}
	}
}

// readAll reads all rows of a file. The library makes rows with fewer columns where a column has fewer values than
// others.
func readAll(in *os.File) error {
	info, err := in.Stat()
	if err != nil {
		return err
	}
	s, err := open(in, info.Size())
	if err != nil {
		return err
	}
	rows := int64(0)
	for ; err == nil; err = s.fill() {
		for _, row := range s.ready {
			if rows++; len(row) < len(s.sources) {
				return fmt.Errorf("row %d lacks a column", rows)
			}
		}
	}
	if err == io.EOF && rows != s.file.NumRows() {
		return fmt.Errorf("it has %d rows, and states %d", rows, s.file.NumRows())
	} else if err == io.EOF {
		return nil
	}
	return err
}

// try reads a file in a child process. The error says why that cannot be done.
func try(file *os.File) error {
	program, err := os.Executable()
	var problem bytes.Buffer
	child := exec.Command(program)
	child.Env = append(os.Environ(), isChild+"=1")
	child.Stdin, child.Stderr = file, &problem
	if err == nil {
		err = child.Run()
	}
	if _, ended := errors.AsType[*exec.ExitError](err); ended {
		first, _, _ := strings.Cut(problem.String(), "\n")
		return fmt.Errorf("it cannot be read: %s", cmp.Or(first, err.Error()))
	} else if err != nil {
		return fmt.Errorf("it is read in a child process, which does not start: %w", err)
	}
	return nil
}
