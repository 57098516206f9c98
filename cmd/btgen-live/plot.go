package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/window"
)

// newPlot returns the command plot.
func newPlot() *cobra.Command {
	var p plotting
	cmd := command("plot", p.run)
	p.target.flags(cmd, "app `profile` of the reads")
	p.selection.flags(cmd)
	cmd.Flags().StringSliceVar(&p.fields, "fields", nil, "`fields` to draw, separated by commas; by default all numbers and durations")
	cmd.Flags().StringVar(&p.every, "every", "", "`width` of windows, such as 1h or 1d")
	p.addZone(cmd.Flags(), "time `zone` of the axis, of days and of dates, such as Europe/Berlin")
	cmd.Flags().StringVar(&p.show, "show", "mean", "`statistic` of windows: mean, min, max, first, last, count, sum, increase or rate")
	p.printing.flags(cmd, []*format.Format{
		{Name: "text", Extensions: []string{".txt"}}, {Name: "svg", Extensions: []string{".svg"}}, {Name: "html", Extensions: []string{".html", ".htm"}},
	})
	return cmd
}

// plotting are the flags of the command plot.
type plotting struct {
	target
	selection
	printing
	fields []string
	every  string
	show   string
}

// run draws a chart.
func (p *plotting) run(cmd *cobra.Command, args []string) error {
	s, err := p.resolve(args)
	if err != nil {
		return err
	}
	d, err := p.plot(cmd, s, args)
	if err != nil {
		return err
	}
	err = p.with(cmd, func(ctx context.Context, client *bigtable.Client) error {
		defer d.progress.end()
		d.client, d.options = client, p.readerOptions()
		err := d.read(ctx)
		if err != nil && ctx.Err() != nil {
			return errors.New("interrupted: nothing is drawn")
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := p.write(cmd, &d.Chart); err != nil {
		return err
	}
	return d.progress.undecodable(d.undecodable)
}

// plot returns the chart that the flags describe, without lines.
func (p *plotting) plot(cmd *cobra.Command, s *selected, args []string) (*plot, error) {
	pixels := plotPixels
	if p.format == "text" {
		pixels = 2 * cmp.Or(columns(cmd.OutOrStdout()), 80)
	}
	d, err := p.chart(s, pixels)
	if err != nil {
		return nil, err
	}
	d.progress = newMeter(cmd)
	title := slices.Clone(args)
	if p.query != "" {
		title = slices.Insert(title, 1, p.query)
	}
	d.Title = strings.Join(title, " ")
	return d, nil
}

// chart returns the chart that the parameters describe, without lines.
func (p *plotting) chart(s *selected, pixels int) (*plot, error) {
	d := &plot{selected: s, layout: s.schema.Layout(), param: p.param, pixels: pixels, fixed: p.every != "", lines: map[string]int{}}
	d.Zone, d.Line = p.zone, p.show
	var err error
	if d.statistic, err = dynamic.ParseStatistic(p.show); err != nil || d.statistic == dynamic.FirstTime || d.statistic == dynamic.LastTime {
		return nil, fmt.Errorf("%s %q: must be mean, min, max, first, last, count, sum, increase or rate", p.param("show"), p.show)
	}
	if d.fixed {
		if d.every, err = parseWidth(p.param("every"), p.every, d.Zone); err != nil {
			return nil, err
		}
		if d.Width = p.every; d.every == window.Whole() {
			d.Width = "series"
		}
	}
	return d, d.choose(p.fields)
}

// write writes the chart to stdout or a file.
func (p *plotting) write(cmd *cobra.Command, c *chart.Chart) error {
	out := cmd.OutOrStdout()
	var text []byte
	var err error
	switch p.format {
	case "svg":
		text = c.SVG()
	case "html":
		text, err = c.HTML()
	default:
		text = c.Text(columns(out), p.output == "" && cli.Colored(out))
	}
	switch {
	case err != nil:
		return err
	case p.output != "":
		return cli.Write(cmd.Context(), p.output, text)
	case p.format != "text":
		out = cli.Unguarded(out)
	}
	_, err = out.Write(text)
	return err
}

// columns returns the width of a chart as text: that of the terminal, or else that of the environment
// variable COLUMNS; 0 if neither is known.
func columns(out io.Writer) int {
	n := cli.Width(out)
	if n == 0 {
		if n, _ = strconv.Atoi(os.Getenv("COLUMNS")); n < 0 {
			n = 0
		}
	}
	return n
}

// plotPixels is the largest number of windows of a line of a drawing.
const plotPixels = 800
