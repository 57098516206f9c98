package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
	_ "time/tzdata" // for --zone, where the system has no time zones

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// newWindows returns the command windows.
func newWindows() *cobra.Command {
	var w windowing
	cmd := command("windows", w.run)
	w.target.flags(cmd, "app `profile` of the reads")
	w.selection.flags(cmd)
	w.addZone(cmd.Flags(), "time `zone` of days, dates and printed times, such as Europe/Berlin")
	w.parameters(cmd.Flags())
	cmd.Flags().Var(duration(&w.options.Before, 0, 0), "before", "how long before --from to look for the last values, for the increases of first windows")
	cmd.Flags().BoolVar(&w.options.NewestFirst, "newest-first", false, "print the newest windows of each series first")
	cmd.Flags().Var(number(&w.options.Limit, 0, 0, 0), "limit", "maximum number of `windows`; 0 for no limit")
	w.printing.flags(cmd, format.Formats((*format.Format).Writes))
	return cmd
}

// windowing are the flags of the command windows, and the parameters of such requests of the API.
type windowing struct {
	target
	selection
	printing
	every, fill            string
	fields, statistics, by []string

	width   window.Width
	options store.WindowOptions
}

// parameters adds the parameters of windows of all sources.
func (w *windowing) parameters(f *pflag.FlagSet) {
	f.StringVar(&w.every, "every", "", "`width` of the windows, such as 1h, 1d or 1mo")
	f.StringSliceVar(&w.fields, "fields", nil, "`fields` to summarize, separated by commas; by default all")
	f.StringSliceVar(&w.statistics, "statistics", nil, "`statistics` of each field, separated by commas")
	f.Var(oneOf(&w.fill, "none", []string{"none", "null", "previous", "linear"}), "fill", "windows without events: none, null, previous or linear")
	f.StringSliceVar(&w.by, "by", nil, "`series` values by which series are combined, separated by commas")
}

// run prints windows.
func (w *windowing) run(cmd *cobra.Command, args []string) error {
	if err := w.checkWindows(); err != nil {
		return err
	}
	selected, err := w.resolve(args)
	if err != nil {
		return err
	}
	rows, err := w.rows(selected.schema.Layout())
	if err != nil {
		return err
	}
	return w.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		windows := selected.windows(ctx, client, w.readerOptions(), w.width, w.options)
		return w.printWindows(ctx, cmd, selected.schema.Layout(), rows, windows)
	})
}

// printWindows prints windows. Their events are the progress, since there may be few windows.
func (w *windowing) printWindows(ctx context.Context, cmd *cobra.Command, l *layout.Layout, rows *format.Windows, windows iter.Seq2[dynamic.Window, error]) error {
	events := 0
	counted := func(yield func(dynamic.Window, error) bool) {
		for w, err := range windows {
			events += int(w.Events)
			if !yield(w, err) {
				return
			}
		}
	}
	progress := func(begun time.Time) string { return rateText(events, "event", begun) }
	err := w.print(ctx, cmd, l, rows.Columns(), tallied{"window", w.options.Limit, progress}, rows.Rows(counted))
	if errors.Is(err, format.ErrValue) {
		err = fmt.Errorf("%w: a sum exceeds 64 bits; leave out sum, or write --format ndjson or csv", err)
	}
	return err
}

// checkWindows checks the flags of the windows.
func (w *windowing) checkWindows() (err error) {
	if _, _, err := w.times(); err != nil { // which sets the time zone
		return err
	}
	if w.every == "" {
		return fmt.Errorf("the width of the windows is missing: write, for example, %s 1h", w.param("every"))
	}
	if w.width, err = parseWidth(w.param("every"), w.every, w.zone); err != nil {
		return err
	}
	if w.options.Fill, err = window.ParseFill(w.fill); err != nil {
		return err
	}
	if w.options.Fill != window.FillNone && w.to == "" {
		return fmt.Errorf("%s %s: windows would be filled without end; add %[3]s, such as %[3]s 2026-03-05 or, for now, %[3]s 0s",
			w.param("fill"), w.fill, w.param("to"))
	}
	return nil
}

// parseZone returns the time zone that a parameter names.
func parseZone(param, name string) (*time.Location, error) {
	in, err := time.LoadLocation(name)
	if err != nil || name == "" { // which package time takes for UTC
		return nil, fmt.Errorf("%s %q: no such time zone: write a name such as Europe/Berlin or UTC", param, name)
	}
	return in, nil
}

// parseWidth parses the width of windows that a parameter has.
func parseWidth(param, text string, in *time.Location) (window.Width, error) {
	width, err := window.Parse(text, in)
	if err != nil {
		return width, fmt.Errorf("%s: %w", param, err)
	}
	return width, nil
}

// rows returns how windows are printed, and restricts the read to what is printed.
func (w *windowing) rows(l *layout.Layout) (*format.Windows, error) {
	by, err := w.picked("by", "series value", l.Series, w.by)
	if err != nil {
		return nil, err
	}
	if w.by != nil {
		w.options.By = []store.SeriesValue{}
		for _, i := range by {
			w.options.By = append(w.options.By, store.SeriesValue(l.Series[i].Name))
		}
	}
	fields, err := w.picked("fields", "field", l.Fields, w.fields)
	if err != nil {
		return nil, err
	}
	o := format.WindowOptions{
		By: by, Filled: w.options.Fill != window.FillNone, Zone: w.zone, Micros: w.every != window.Whole().String(),
	}
	var read []int
	for _, i := range fields {
		some, err := w.statisticsOf(&l.Fields[i])
		if err != nil {
			return nil, err
		}
		for _, s := range some {
			o.Statistics = append(o.Statistics, format.Statistic{Field: i, Statistic: s})
		}
		if len(some) > 0 {
			read = append(read, i)
		}
	}
	if len(read) < len(l.Fields) { // else the server need not select columns
		w.options.Fields = fieldsOf(l, read)
	}
	return format.NewWindows(l, o), nil
}

// statisticsOf returns the statistics of a field.
func (w *windowing) statisticsOf(f *layout.Field) (out []dynamic.Statistic, err error) {
	if w.statistics == nil {
		if _, number := dynamic.Mean.Type(f); number {
			return []dynamic.Statistic{dynamic.Mean, dynamic.Min, dynamic.Max}, nil
		}
		return []dynamic.Statistic{dynamic.Last}, nil
	}
	for _, name := range w.statistics {
		s, err := dynamic.ParseStatistic(name)
		if err != nil {
			return nil, fmt.Errorf("%s: %q is %w", w.param("statistics"), name, err)
		}
		if _, ok := s.Type(f); ok && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	if len(out) == 0 && w.fields != nil {
		return nil, fmt.Errorf("%s %s: field %s has the type %s, and thus only count, first, last, first_time and last_time",
			w.param("statistics"), strings.Join(w.statistics, ","), f.Name, f.Type)
	}
	return out, nil
}
