package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/dynamic/format"
	"github.com/btgen-dev/btgen/gen/dynamic/parquet"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
)

// outputFormats are the formats of events that are read.
var outputFormats = []string{"table", "ndjson", "csv", "parquet"}

// formatOf returns the format of a file by its extension: a default for none, and an error for one
// that names no format.
func formatOf(what, file, otherwise string) (string, error) {
	switch ext := strings.ToLower(filepath.Ext(file)); ext {
	case ".ndjson", ".jsonl", ".json":
		return "ndjson", nil
	case ".csv":
		return "csv", nil
	case ".parquet":
		return "parquet", nil
	case "", ".txt":
		return otherwise, nil
	default:
		return "", fmt.Errorf("%s: the extension %s names no format, and nothing is done: use .ndjson, .csv or .parquet, or add --format", what, words.Printable(ext))
	}
}

// exporter writes events.
type exporter interface {
	// add writes an event.
	add(e *dynamic.Event) error
	// end ends the output; complete says whether it has all events.
	end(complete bool) error
}

// open opens the output.
func (r *reading) open(cmd *cobra.Command, l *layout.Layout, columns []format.Column) (exporter, error) {
	if r.format == "parquet" {
		return r.openParquet(cmd, l, columns)
	}
	stdout := cmd.OutOrStdout()
	t := &textFile{out: stdout, interactive: r.output == "" && cli.IsTerminal(stdout)}
	var o format.TableOptions
	switch {
	case r.output != "":
		file, err := createFile(r.output)
		if err != nil {
			return nil, err
		}
		t.out, t.file = file, file
	case r.format != "table": // for programs
		t.out = cli.Unguarded(stdout)
	default:
		o.Width, o.Color = cli.Width(stdout), cli.Colored(stdout)
	}
	t.encoder = newEncoder(r.format, columns, o)
	t.text = t.encoder.Begin(nil)
	return t, nil
}

// openParquet opens the output for Parquet.
func (r *reading) openParquet(cmd *cobra.Command, l *layout.Layout, columns []format.Column) (exporter, error) {
	stdout := cli.Unguarded(cmd.OutOrStdout())
	if r.output != "" {
		file, err := createFile(r.output)
		if err != nil {
			return nil, err
		}
		return &parquetFile{parquet.NewWriter(file, l, columns), file}, nil
	}
	if cli.IsTerminal(stdout) {
		return nil, errors.New("--format parquet: a terminal cannot show it; write a file with --output")
	}
	return &parquetFile{parquet.NewWriter(stdout, l, columns), nil}, nil
}

// parquetFile writes events as Parquet.
type parquetFile struct {
	*parquet.Writer
	file *outputFile // nil for stdout
}

func (p *parquetFile) add(e *dynamic.Event) error { return p.Write(e) }

// end ends the output. Without all events, it leaves out the end of the file, so that no
// program takes it for a complete one.
func (p *parquetFile) end(complete bool) error {
	var err error
	if complete {
		err = p.Close()
	}
	if p.file == nil {
		return err
	}
	return errors.Join(err, p.file.end(complete && err == nil))
}

// textFile writes events as text.
type textFile struct {
	encoder     format.Encoder
	out         io.Writer
	file        *outputFile // nil for stdout
	text        []byte      // that is not written
	written     time.Time
	interactive bool
}

// maxText is the maximum size of text in memory, apart from the last event.
const maxText = 128 << 10

func (t *textFile) add(e *dynamic.Event) error {
	t.text = t.encoder.Append(t.text, e)
	if len(t.text) < maxText && !(t.interactive && time.Since(t.written) > drawEvery) {
		return nil
	}
	return t.flush()
}

// flush writes the text.
func (t *textFile) flush() error {
	_, err := t.out.Write(t.text)
	t.text, t.written = t.text[:0], time.Now()
	return err
}

func (t *textFile) end(complete bool) error {
	t.text = t.encoder.End(t.text)
	err := t.flush()
	if t.file == nil {
		return err
	}
	return errors.Join(err, t.file.end(complete && err == nil))
}

// explain says which columns a table does not show.
func (t *textFile) explain(m *meter) {
	table, ok := t.encoder.(*format.Table)
	if !ok {
		return
	}
	if hidden := table.Hidden(); len(hidden) > 0 {
		m.line("the terminal is too narrow for %s: select fields with --fields, or use --format ndjson", strings.Join(hidden, ", "))
	}
}

// outputFile is a file that appears under its name once it is complete.
type outputFile struct {
	io.Writer
	partial *output.Partial // nil if the file is written directly
	direct  *os.File
}

// createFile creates a file, or replaces one. It writes directly to pipes and devices.
func createFile(name string) (*outputFile, error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("--output %s: is a folder", words.Printable(name))
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		return &outputFile{Writer: file, direct: file}, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	}
	partial, err := output.CreatePartial(name)
	return &outputFile{Writer: partial, partial: partial}, err
}

// end closes the file, and gives it its name if it is complete; otherwise, it removes it.
func (f *outputFile) end(complete bool) error {
	switch {
	case f.partial == nil:
		return f.direct.Close()
	case complete:
		return f.partial.Complete()
	}
	return f.partial.Discard()
}
