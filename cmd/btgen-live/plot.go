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

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/runtime/window"
)

// draw draws a chart.
func draw(ctx context.Context, r *request) error {
	pixels := plotPixels
	if r.format == "text" {
		pixels = 2 * cmp.Or(columns(r.cmd.OutOrStdout()), 80)
	}
	p, err := r.plot(pixels)
	if err != nil {
		return err
	}
	title := append([]string{r.name}, r.args...)
	if r.query != "" {
		title = slices.Insert(title, 1, r.query)
	}
	p.Title, p.progress = strings.Join(title, " "), newMeter(r.cmd)
	err = p.read(ctx)
	p.progress.end()
	switch {
	case err != nil && ctx.Err() != nil:
		return errors.New("interrupted: nothing is drawn")
	case err != nil:
		return err
	}
	if err := r.writeChart(&p.Chart); err != nil {
		return err
	}
	return p.progress.done()
}

// plot returns the chart that the parameters describe, without lines.
func (r *request) plot(pixels int) (*plot, error) {
	p := &plot{request: r, pixels: pixels, fixed: r.every != "", lines: map[string]int{}}
	p.Zone, p.Line = r.zone, r.show
	var err error
	if p.statistic, err = dynamic.ParseStatistic(r.show); err != nil || p.statistic == dynamic.FirstTime || p.statistic == dynamic.LastTime {
		return nil, fmt.Errorf("%s %q: must be mean, min, max, first, last, count, sum, increase or rate", r.param("show"), r.show)
	}
	if p.fixed {
		if p.wide, err = r.width(); err != nil {
			return nil, err
		}
		if p.Width = r.every; p.wide == window.Whole() {
			p.Width = "series"
		}
	}
	return p, p.chooseFields(r.fields)
}

// writeChart writes the chart to stdout or a file.
func (r *request) writeChart(c *chart.Chart) (err error) {
	out := r.cmd.OutOrStdout()
	var text []byte
	switch r.format {
	case "svg":
		text = c.SVG()
	case "html":
		text, err = c.HTML()
	default:
		text = c.Text(columns(out), r.output == "" && cli.Colored(out))
	}
	switch {
	case err != nil:
		return err
	case r.output != "":
		return cli.Write(r.cmd.Context(), r.output, text)
	case r.format != "text":
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
