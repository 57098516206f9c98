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
	_ "github.com/btgen-dev/btgen/cmd/btgen-live/internal/parquet" // registers the format
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/words"
)

// printing are the flags that say how something is printed.
type printing struct {
	format, output string
	choices        []*format.Format // the first one is that of stdout
}

// flags adds the flags to a command.
func (r *printing) flags(cmd *cobra.Command, choices []*format.Format) {
	var names []string
	for _, c := range choices {
		names = append(names, c.Name)
	}
	r.choices = choices
	cmd.Flags().Var(oneOf(&r.format, "", names), "format", words.List(names, "or")+"; by default that of the extension of --output, or "+names[0])
	cmd.Flags().StringVar(&r.output, "output", "", "`file` to write instead of stdout")
	cli.Before(cmd, func(*cobra.Command, []string) error { return r.check() })
}

// check checks the flags, and sets the format.
func (r *printing) check() error {
	extension, first, named := strings.ToLower(filepath.Ext(r.output)), r.choices[0].Name, ""
	var extensions []string
	for _, c := range r.choices {
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

// tallied says how what is printed is counted.
type tallied struct {
	one      string                       // describes one
	limit    int                          // 0 for no limit
	progress func(begun time.Time) string // describes what was read; nil to count what is printed
}

// print prints events up to a limit.
func (r *printing) print(
	ctx context.Context, cmd *cobra.Command, l *layout.Layout, columns []format.Column, of tallied, all iter.Seq2[*dynamic.Event, error],
) error {
	out, err := r.open(cmd, l, columns)
	if err != nil {
		return err
	}
	return r.printTo(ctx, cmd, out, of, all)
}

// printTo is print to an open output.
func (r *printing) printTo(ctx context.Context, cmd *cobra.Command, out *export, of tallied, all iter.Seq2[*dynamic.Event, error]) error {
	progress := newMeter(cmd)
	if r.output == "" && cli.IsTerminal(cmd.OutOrStdout()) {
		progress.terminal, progress.shown = false, time.Now().Add(time.Hour*24*365) // the events are the progress
	}
	n, undecodable, begun := 0, 0, time.Now()
	err := func() error {
		for e, err := range decodable(all, func(err error) {
			undecodable++
			progress.reportUndecodable(err, undecodable)
		}) {
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
	if hidden := format.Hidden(out.Writer); len(hidden) > 0 {
		progress.line("the terminal is too narrow for %s: select fields with --fields, or use --format ndjson", strings.Join(hidden, ", "))
	}
	return progress.undecodable(undecodable)
}

// rateText describes how many events, which one describes, were processed.
func rateText(n int, one string, begun time.Time) string {
	perSecond := float64(n) / time.Since(begun).Seconds()
	return fmt.Sprintf("%s, %s/s", countOf(n, one), words.Number(perSecond))
}

// open opens the output.
func (r *printing) open(cmd *cobra.Command, l *layout.Layout, columns []format.Column) (*export, error) {
	of, stdout := format.Find(r.format), cmd.OutOrStdout()
	if of.Binary && r.output == "" && cli.IsTerminal(stdout) {
		return nil, fmt.Errorf("--format %s: a terminal cannot show it; write a file with --output", r.format)
	}
	x := &export{binary: of.Binary}
	var out io.Writer
	var o format.WriterOptions
	switch {
	case r.output != "":
		var err error
		if out, x.endFile, err = createFile(r.output); err != nil {
			return nil, err
		}
	case of.Reads(): // it is for programs
		out = cli.Unguarded(stdout)
	default:
		out, o.Width, o.Color = stdout, cli.Width(stdout), cli.Colored(stdout)
	}
	o.Interactive = r.output == "" && cli.IsTerminal(stdout)
	x.Writer = of.NewWriter(out, l, columns, o)
	return x, nil
}

// export is an open output.
type export struct {
	format.Writer
	binary  bool
	endFile func(complete bool) error // nil for stdout
	any     bool                      // an event was added
	broken  bool                      // adding one has failed, as ending the output would
}

// add writes an event.
func (x *export) add(e *dynamic.Event) error {
	x.any = true
	err := x.Write(e)
	x.broken = err != nil
	return err
}

// end ends the output; complete says whether it has all events. A read that fails before the first event leaves only
// its error, and a binary output that is not complete has no end, so that no program takes it for a complete one.
func (x *export) end(complete bool) error {
	var err error
	if complete || x.any && !x.binary && !x.broken {
		err = x.Close()
	}
	if x.endFile == nil {
		return err
	}
	return errors.Join(err, x.endFile(complete && err == nil))
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
