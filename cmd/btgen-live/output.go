package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
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

// printing are the flags that say how events are printed.
type printing struct{ format, output string }

// flags adds the flags to a command.
func (r *printing) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.format, "format", "", "table, ndjson, csv or parquet; by default that of the extension of --output, or table")
	cmd.Flags().StringVar(&r.output, "output", "", "`file` to write instead of stdout")
}

// check checks the flags.
func (r *printing) check() error {
	named, err := formatOf("--output "+words.Printable(r.output), r.output, cmp.Or(r.format, "table"))
	if r.format == "" {
		r.format = named
		return err
	}
	if !slices.Contains(outputFormats, r.format) {
		return fmt.Errorf("--format %q: must be %s", r.format, words.List(outputFormats, "or"))
	}
	if err == nil && named != r.format { // the extension may also name no format
		return fmt.Errorf("--output %s: the extension is that of %s, and --format is %s: nothing is written; change one of them",
			words.Printable(r.output), named, r.format)
	}
	return nil
}

// maxReported is the maximum number of undecodable events that are reported one by one.
const maxReported = 10

// tallied says how what is printed is counted.
type tallied struct {
	one      string                       // describes one
	limit    int                          // 0 for no limit
	progress func(begun time.Time) string // describes what was read; nil to count what is printed
}

// print prints events up to a limit.
func (r *printing) print(ctx context.Context, cmd *cobra.Command, l *layout.Layout, columns []format.Column, of tallied, all iter.Seq2[*dynamic.Event, error]) error {
	out, err := r.open(cmd, l, columns)
	if err != nil {
		return err
	}
	return r.printTo(ctx, cmd, out, of, all)
}

// printTo is print to an open output.
func (r *printing) printTo(ctx context.Context, cmd *cobra.Command, out exporter, of tallied, all iter.Seq2[*dynamic.Event, error]) error {
	progress := newMeter(cmd)
	if r.output == "" && cli.IsTerminal(cmd.OutOrStdout()) {
		progress.terminal, progress.shown = false, time.Now().Add(time.Hour*24*365) // the events are the progress
	}
	n, undecodable, begun := 0, 0, time.Now()
	err := func() error {
		for e, err := range all {
			if _, ok := errors.AsType[*store.DecodeError](err); ok {
				if undecodable++; undecodable <= maxReported {
					progress.line("%v", err)
				}
				continue
			}
			if err != nil {
				return err
			}
			if err := out.add(e); err != nil {
				return err
			}
			switch n++; {
			case of.progress != nil:
				progress.show(func() string { return of.progress(begun) })
			case n%1024 == 0:
				progress.show(func() string { return rateText(n, of.one, begun) })
			}
			if n == of.limit {
				break
			}
		}
		return nil
	}()
	progress.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.Join(fmt.Errorf("interrupted after %s", countOf(n, of.one)), out.end(false))
	case err != nil:
		return errors.Join(err, out.end(false))
	}
	if err := out.end(true); err != nil {
		return err
	}
	if table, ok := out.(*textFile); ok {
		table.explain(progress)
	}
	if undecodable > 0 {
		progress.line("%s could not be decoded; btgen-live verify explains why", countOf(undecodable, "event or row"))
		return cli.ErrFindings
	}
	return nil
}

// rateText describes how many events, which one describes, were processed.
func rateText(n int, one string, begun time.Time) string {
	perSecond := float64(n) / time.Since(begun).Seconds()
	return fmt.Sprintf("%s, %s/s", countOf(n, one), words.Number(perSecond))
}

// newEncoder returns the encoder of a text format.
func newEncoder(name string, columns []format.Column, o format.TableOptions) format.Encoder {
	switch name {
	case "ndjson":
		return format.NewNDJSON(columns)
	case "csv":
		return format.NewCSV(columns)
	}
	return format.NewTable(columns, o)
}

// open opens the output.
func (r *printing) open(cmd *cobra.Command, l *layout.Layout, columns []format.Column) (exporter, error) {
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
func (r *printing) openParquet(cmd *cobra.Command, l *layout.Layout, columns []format.Column) (exporter, error) {
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
	any         bool        // an event was added
	written     time.Time
	interactive bool
}

// maxText is the maximum size of text in memory, apart from the last event.
const maxText = 128 << 10

func (t *textFile) add(e *dynamic.Event) error {
	t.text, t.any = t.encoder.Append(t.text, e), true
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

// end ends the output. A read that fails before the first event leaves only its error.
func (t *textFile) end(complete bool) error {
	var err error
	if complete || t.any {
		t.text = t.encoder.End(t.text)
		err = t.flush()
	}
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
	if folder := filepath.Dir(name); err != nil {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("--output %s: the folder %s does not exist", words.Printable(name), words.Printable(folder))
		}
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
