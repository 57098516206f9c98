package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/trial"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// request is what a command line or a request of the API wants. Their parameters have the same names and the same meaning.
type request struct {
	command string         // or the path of the API
	cmd     *cobra.Command // nil for a request of the API
	name    string         // of the schema
	args    []string       // after the name of the schema

	// The instance, and servers.
	project, instance, prefix, appProfile string
	timeout                               time.Duration
	addr, dir, cert, key, token           string

	// What is selected, and what is read of it.
	schemas, several                            []string
	query, tableID, fromText, toText, zoneName  string
	instant, leading, search, every, fill, show string
	fields, statistics, by                      list
	limit, points, pixels, sequence             int
	sample, top, workers, versions              int
	order, pageText, keyPrefix                  string
	latest, newest                              bool
	before                                      time.Duration

	// The output, or the input.
	format, output, delimiter, unit, out, timeColumn string
	names                                            []string
	columns                                          list
	maxErrors, fromLine                              int
	reader                                           format.ReaderOptions
	unmerged                                         *store.MergeError // why --merge joins events of the input alone

	// What is changed.
	dryRun, yes, all, watch, replicated, noWait, skipExpired bool
	rate                                                     float64
	plan, save, checkpoint                                   string
	backfill                                                 store.BackfillOptions
	setup                                                    setup.Options
	trial                                                    trial.Options
	clean, resume                                            bool

	// What follows from the parameters.
	page     pageToken
	schema   *dynamic.Schema
	file     *schema.Schema // as its file describes it
	from, to time.Time
	zone     *time.Location // of dates
	listing  bool           // of series: values at the beginning of row keys suffice
	selected
	client  *bigtable.Client
	options store.ReaderOptions
	closers []func() error
}

// newRequest returns a request without parameters.
func newRequest(command string, cmd *cobra.Command) *request {
	return &request{command: command, cmd: cmd, workers: store.DefaultWorkers, timeout: store.DefaultTimeout, page: newPageToken(nil)}
}

// list is a parameter whose values are separated by commas.
type list []string

// parameters returns the parameters by their names.
func (r *request) parameters() map[string]any {
	least := 1
	if r.command == "stats" {
		least = 0
	}
	out := map[string]any{
		"project": &r.project, "instance": &r.instance, "prefix": &r.prefix, "app-profile": &r.appProfile,
		"timeout": duration(&r.timeout, 1), "addr": &r.addr, "dir": &r.dir, "tls-cert": &r.cert, "tls-key": &r.key, "token": &r.token,

		"schemas": &r.schemas, "query": &r.query, "table": &r.tableID, "from": &r.fromText, "to": &r.toText, "zone": &r.zoneName,
		"time": &r.instant, "fields": &r.fields, "statistics": &r.statistics, "by": &r.by, "every": &r.every, "show": &r.show,
		"fill": oneOf(&r.fill, "none", "null", "previous", "linear"), "limit": number(&r.limit, 0, 0), "before": duration(&r.before, 0),
		"latest": &r.latest, "newest-first": &r.newest, "workers": number(&r.workers, 1, 0),
		"sample": number(&r.sample, least, 0), "top": number(&r.top, 0, 0), "versions": number(&r.versions, 1, 0),

		"format": oneOf(&r.format, r.formatNames()...), "output": &r.output, "metric": &r.reader.Metric,
		"time-unit": oneOf(&r.unit, slices.Sorted(maps.Keys(format.Units))...), "time-layout": &r.reader.Layout, "delimiter": &r.delimiter,
		"columns": &r.columns, "null": &r.reader.CSV.Nulls, "map": &r.names, "series": &r.several, "time-column": &r.timeColumn,
		"ignore-unknown": &r.reader.IgnoreUnknown, "merge": &r.reader.Partial, "skip-expired": &r.skipExpired,
		"max-errors": number(&r.maxErrors, 0, 0), "from-line": number(&r.fromLine, 1, 0), "key-prefix": &r.keyPrefix, "out": &r.out,

		"dry-run": &r.dryRun, "yes": &r.yes, "all": &r.all, "watch": &r.watch, "replicated": &r.replicated, "no-wait": &r.noWait,
		"rate": rate(&r.rate), "checkpoint": &r.checkpoint, "plan": &r.plan, "save": &r.save,
		"no-history": &r.setup.NoHistory, "allow": &r.setup.Allow, "source": &r.backfill.Source, "target": &r.backfill.Target,
		"skip-undecodable": &r.backfill.SkipUndecodable, "renew-ages": &r.backfill.RenewAges, "repair": &r.backfill.Repair,
		"verify": &r.backfill.Verify,
		"beside": &r.trial.Beside, "leave": &r.trial.Leave, "clean": &r.clean, "resume": &r.resume,
	}
	switch {
	case r.cmd == nil:
		maps.Copy(out, map[string]any{
			"schema": &r.name, "value": &r.args, "prefix": &r.leading, "search": &r.search,
			"page": &r.pageText, "order": oneOf(&r.order, "newest", "time"),
			"limit": number(&r.limit, 1, maxRows), "points": number(&r.points, 1, maxRows),
			"width": number(&r.pixels, leastPixels, mostPixels), "sequence": number(&r.sequence, 0, math.MaxInt32),
		})
	case r.command == "infer":
		out["series"] = (*list)(&r.several)
	}
	return out
}

// add adds a parameter to flags, with its default and its help, in which {} stands for its values.
func add(f *pflag.FlagSet, name string, parameter any, preset, help string) {
	switch to := parameter.(type) {
	case *string:
		f.StringVar(to, name, preset, help)
	case *bool:
		f.BoolVar(to, name, false, help)
	case *[]string:
		f.StringArrayVar(to, name, nil, help)
	case *list:
		f.StringSliceVar((*[]string)(to), name, nil, help)
	case pflag.Value:
		if preset != "" {
			_ = to.Set(preset) // which is one of its values
		}
		if words, ok := to.(interface{ Want() string }); ok {
			help = strings.Replace(help, "{}", words.Want(), 1)
		}
		f.Var(to, name, help)
	}
}

// checked is a parameter of a type whose values have a range.
type checked[T any] struct {
	to         *T
	kind, want string // for help, and for errors
	parse      func(text string) (value T, ok bool)
}

// Set parses a value.
func (v checked[T]) Set(text string) error {
	value, ok := v.parse(text)
	if !ok {
		return errors.New("want " + v.want)
	}
	*v.to = value
	return nil
}

// Want describes the values.
func (v checked[T]) Want() string { return v.want }

// String returns the value; a duration of 0, which help leaves out, has no unit.
func (v checked[T]) String() string {
	if text := fmt.Sprint(*v.to); text != "0s" {
		return text
	}
	return "0"
}

// Type returns the kind of value for help.
func (v checked[T]) Type() string { return v.kind }

// number is a whole number in decimal of at least least, and at most most unless that is 0. 010 is ten.
func number(to *int, least, most int) checked[int] {
	want := fmt.Sprintf("a whole number of at least %d", least)
	if most > 0 {
		want = fmt.Sprintf("a whole number from %d to %d", least, most)
	}
	return checked[int]{to, "int", want, func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= least && (most == 0 || n <= most)
	}}
}

// rate is a number of things per second, in decimal.
func rate(to *float64) checked[float64] {
	return checked[float64]{to, "float", "a number per second, or 0 for no limit", func(text string) (float64, bool) {
		r, err := strconv.ParseFloat(text, 64)
		return r, err == nil && r >= 0 && !math.IsInf(r, 0) && !strings.ContainsAny(text, "xX") // not NaN, either
	}}
}

// duration is a duration of at least least, see [parseDuration].
func duration(to *time.Duration, least time.Duration) checked[time.Duration] {
	want := "a duration such as 90s, 15m or 7d"
	if least > 0 {
		want = "a duration of more than 0, such as 90s, 15m or 7d"
	}
	return checked[time.Duration]{to, "duration", want, func(text string) (time.Duration, bool) {
		d, err := parseDuration(text)
		return d, err == nil && d >= least
	}}
}

// oneOf is one of some words.
func oneOf(to *string, of ...string) checked[string] {
	return checked[string]{to, "string", words.List(of, "or"), func(text string) (string, bool) { return text, slices.Contains(of, text) }}
}

// param returns the name of a parameter in messages.
func (r *request) param(name string) string {
	switch {
	case r.cmd != nil:
		return "--" + name
	case name == "newest-first":
		return "order=newest"
	}
	return name
}

// given reports whether the command line has a flag.
func (r *request) given(name string) bool { return r.cmd != nil && r.cmd.Flags().Changed(name) }

// takes reports whether the command has a flag.
func (r *request) takes(name string) bool { return r.cmd != nil && r.cmd.Flags().Lookup(name) != nil }

// check checks the parameters as far as the schemas and the instance do not matter.
func (r *request) check() error {
	if r.takes("schemas") && r.command != "delete-table" && len(r.args) > 0 {
		r.name, r.args = r.args[0], r.args[1:]
	}
	offline := r.command == "emulator" || r.command == "infer" || r.command == "write" && r.dryRun
	if err := r.required(); err != nil && !offline && r.cmd != nil {
		return err
	}
	if err := cmp.Or(r.notEmpty(), r.times()); err != nil {
		return err
	}
	switch {
	case r.takes("output"):
		if err := r.checkOutput(); err != nil || r.command != "windows" {
			return err
		}
		return r.checkWindows()
	case r.takes("delimiter"):
		return r.checkInput()
	case r.command == "delete":
		return r.checkRange()
	case r.noWait && os.Getenv(store.EmulatorVariable) == "":
		return fmt.Errorf("--no-wait: only for emulators, and %s names none: windows could lack what other programs are writing",
			store.EmulatorVariable)
	}
	return nil
}

// notEmpty returns an error for a flag that names something, and is empty: a variable of a shell was not set, perhaps.
func (r *request) notEmpty() error {
	for _, name := range []string{"plan", "save", "output", "out", "checkpoint", "table", "query", "from", "to", "key-prefix", "project", "instance"} {
		if r.given(name) && r.cmd.Flags().Lookup(name).Value.String() == "" {
			return fmt.Errorf("--%s is empty, and nothing is done: give it a value, or leave it out", name)
		}
	}
	return nil
}

// times sets the time zone and the time range, of dates in the zone; an end that is not given has no bound.
func (r *request) times() (err error) {
	if r.zone = time.UTC; r.zoneName != "" || r.cmd == nil || r.given("zone") {
		if r.zone, err = time.LoadLocation(r.zoneName); err != nil || r.zoneName == "" { // which package time takes for UTC
			return fmt.Errorf("%s %q: no such time zone: write a name such as Europe/Berlin or UTC", r.param("zone"), r.zoneName)
		}
	}
	r.from, r.to = time.Time{}, scan.MaxTime
	for _, end := range []struct {
		name, text string
		to         *time.Time
	}{{"from", r.fromText, &r.from}, {"to", r.toText, &r.to}} {
		if end.text != "" && err == nil {
			*end.to, err = parseTime(r.param(end.name), end.text, r.page.Now, r.zone)
			if _, ago := parseDuration(end.text); ago == nil && r.checkpoint != "" {
				err = fmt.Errorf("%[1]s %[2]s with --checkpoint: nothing is done, since a repeated command, which is to continue, would name another time: write %[1]s %[3]s",
					r.param(end.name), end.text, end.to.UTC().Format(time.RFC3339))
			}
		}
	}
	if err == nil && r.from.After(r.to) {
		err = fmt.Errorf("%s %s is after %s %s", r.param("from"), r.fromText, r.param("to"), r.toText)
	}
	return err
}

// parseTime parses a date, a time or a duration before now. A date is its first instant in a time zone, as windows of days begin.
func parseTime(param, text string, now time.Time, zone *time.Location) (time.Time, error) {
	if ago, err := parseDuration(text); err == nil && ago <= 0 {
		return now.Add(ago), nil
	}
	if date, err := time.Parse(time.DateOnly, text); err == nil {
		return window.StartOfDay(date, zone), nil
	}
	for _, layout := range []string{"2006-01-02 15:04", "2006-01-02 15:04:05"} {
		if at, err := time.ParseInLocation(layout, text, zone); err == nil {
			return at, nil
		}
	}
	return parseInstant(param, text, "a date such as 2021-03-05, a time such as 2021-03-05T12:00:00Z, "+
		"or a duration before now such as -36h or -7d")
}

// parseInstant parses a time that a parameter has; want describes its forms.
func parseInstant(param, text, want string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	switch {
	case err != nil:
		return at, fmt.Errorf("%s %q: want %s", param, text, cmp.Or(want, "a time such as 2021-03-05T12:00:00Z"))
	case format.FinerTime([]byte(text)):
		return at, fmt.Errorf("%s %q: want at most nine digits after the point: there are no times between nanoseconds", param, text)
	}
	return at, nil
}

// parseDuration parses a duration of package time, or one with days or weeks.
func parseDuration(text string) (time.Duration, error) {
	if d, err := time.ParseDuration(text); err == nil && !format.FinerDuration([]byte(text)) {
		return d, nil
	}
	text, negative := strings.CutPrefix(text, "-")
	d, err := schema.ParseDuration(text)
	if negative {
		d = -d
	}
	return d, err
}
