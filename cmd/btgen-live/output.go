package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	_ "github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet" // registers the format
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
)

// formats returns the formats of the output of the command, of which the first is that of stdout, or those of its input.
func (r *request) formats() []*format.Format {
	switch r.command {
	case "read", "windows":
		return format.Formats((*format.Format).Writes)
	case "plot":
		return []*format.Format{
			{Name: "text", Extensions: []string{".txt"}}, {Name: "svg", Extensions: []string{".svg"}},
			{Name: "html", Extensions: []string{".html", ".htm"}},
		}
	case "write", "infer":
		return format.Formats((*format.Format).Reads)
	case "trial":
		return []*format.Format{{Name: "text"}, {Name: "markdown"}, {Name: "json"}}
	}
	return []*format.Format{{Name: "text"}, {Name: "json"}}
}

// formatNames returns the names of the formats.
func (r *request) formatNames() (names []string) {
	for _, f := range r.formats() {
		names = append(names, f.Name)
	}
	return names
}

// checkOutput checks where the output goes, and chooses its format.
func (r *request) checkOutput() error {
	choices := r.formats()
	extension, first, named := strings.ToLower(filepath.Ext(r.output)), choices[0].Name, ""
	var extensions []string
	for _, c := range choices {
		if slices.Contains(c.Extensions, extension) {
			named = c.Name
		}
		extensions = append(extensions, c.Extensions[0])
	}
	switch {
	case r.format == "" && named == "" && extension != "":
		return fmt.Errorf("--output %s: the extension %s names no format, and nothing is done: use %s, or add --format",
			words.Printable(r.output), words.Printable(extension), words.List(extensions[1:], "or"))
	case r.format != "" && named != "" && named != first && named != r.format: // a text may be in any format
		return fmt.Errorf("--output %s: the extension is that of %s, and --format is %s: nothing is written; change one of them",
			words.Printable(r.output), named, r.format)
	}
	r.format = cmp.Or(r.format, named, first)
	return nil
}

// print prints an answer up to the limit of the request. A read that fails before the first row leaves only its error, and a binary
// output that is not complete has no end, so that no program takes it for a complete one.
func (r *request) print(ctx context.Context, a *answer) error {
	of := format.Find(r.format)
	w, end, err := r.open(of, a)
	if err != nil {
		return err
	}
	progress, begun := newMeter(r.cmd), time.Now()
	silent := r.output == "" && cli.IsTerminal(r.cmd.OutOrStdout()) // the rows are the progress
	var read, broken error
	for e, err := range decodable(a.rows(ctx), progress.skip) {
		if read = err; err != nil {
			break
		}
		if broken = w.Write(e); broken != nil {
			break
		}
		a.n++
		if !silent && (a.events > 0 || a.n%1024 == 0) { // there may be few windows
			progress.show(func() string { return rateText(cmp.Or(a.events, a.n), begun) })
		}
		if a.n == r.limit {
			break
		}
	}
	progress.end()
	if read != nil && ctx.Err() != nil {
		read = fmt.Errorf("interrupted after %s", countOf(a.n, a.one))
	}
	err = errors.Join(read, broken)
	if err == nil || a.n > 0 && !of.Binary && broken == nil {
		err = errors.Join(err, w.Close())
	}
	if err = errors.Join(err, end(err == nil)); err != nil {
		return err
	}
	if hidden := format.Hidden(w); len(hidden) > 0 {
		progress.line("the terminal is too narrow for %s: select fields with --fields, or use --format ndjson", strings.Join(hidden, ", "))
	}
	return progress.done()
}

// open opens the output of an answer; end ends it, and says whether it is complete.
func (r *request) open(of *format.Format, a *answer) (w format.Writer, end func(complete bool) error, err error) {
	stdout := r.cmd.OutOrStdout()
	terminal := r.output == "" && cli.IsTerminal(stdout)
	o := format.WriterOptions{Interactive: terminal}
	var out io.Writer
	switch {
	case terminal && of.Binary:
		return nil, nil, fmt.Errorf("--format %s: a terminal cannot show it; write a file with --output", r.format)
	case r.output != "":
		if out, end, err = createFile(r.output); err != nil {
			return nil, nil, err
		}
		return of.NewWriter(out, r.schema.Layout(), a.columns, o), end, nil
	case of.Reads(): // it is for programs
		out = cli.Unguarded(stdout)
	default:
		out, o.Width, o.Color = stdout, cli.Width(stdout), cli.Colored(stdout)
	}
	return of.NewWriter(out, r.schema.Layout(), a.columns, o), func(bool) error { return nil }, nil
}

// createFile creates a file, or replaces one, which appears under its name once it is complete: end says whether it is, and otherwise
// removes it. It writes directly to pipes and devices.
func createFile(name string) (file io.Writer, end func(complete bool) error, err error) {
	info, err := os.Stat(name)
	switch {
	case err == nil && info.IsDir():
		return nil, nil, fmt.Errorf("--output %s: is a folder", words.Printable(name))
	case err == nil && !info.Mode().IsRegular():
		file, err := os.OpenFile(name, os.O_WRONLY, 0)
		return file, func(bool) error { return file.Close() }, err
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, nil, err
	}
	if folder := filepath.Dir(name); err != nil {
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("--output %s: the folder %s does not exist", words.Printable(name), words.Printable(folder))
		}
	}
	partial, err := output.CreatePartial(name)
	return partial, func(complete bool) error {
		if complete {
			return partial.Complete()
		}
		return partial.Discard()
	}, err
}

// report prints a report as text or as JSON. It returns ErrFindings if the report has findings.
func (r *request) report(text string, document any, findings bool) error {
	if r.format == "json" {
		encoded, err := json.MarshalIndent(document, "", "  ")
		if err != nil {
			return err
		}
		text = string(encoded) + "\n"
	}
	return r.say(text, findings)
}

// say prints a text. It returns ErrFindings if that has findings.
func (r *request) say(text string, findings bool) error {
	_, err := io.WriteString(r.cmd.OutOrStdout(), text)
	if err == nil && findings {
		err = cli.ErrFindings
	}
	return err
}
