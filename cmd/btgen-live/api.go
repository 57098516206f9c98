package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// Limits of the answer to one request.
const (
	defaultRows  = 1000
	maxRows      = 10_000
	maxAnswer    = 16 << 20 // bytes
	maxAnswering = 30 * time.Second
	maxWaiting   = 25 * time.Second // for others; together less than the time that a server has for a request
	maxReading   = 8                // requests that read at a time; others wait
	defaultCount = 400
)

// api answers requests for events as JSON.
type api struct {
	schemas map[string]*dynamic.Schema
	names   []string // of the schemas, in their order
	client  store.Client
	options store.ReaderOptions
	reading chan struct{} // has an element for each request that reads

	// reach returns an error if nothing answers at the address of the server of Bigtable; nil if it is not known.
	reach func(ctx context.Context) error
}

// newAPI returns an API for schemas.
func newAPI(layouts []*layout.Layout, client store.Client, o store.ReaderOptions) *api {
	a := &api{schemas: map[string]*dynamic.Schema{}, client: client, options: o, reading: make(chan struct{}, maxReading)}
	a.names = uniqueNames(layouts)
	for i, l := range layouts {
		a.schemas[a.names[i]] = dynamic.New(l)
	}
	return a
}

// problemOf returns the problem of an error, which is that of the request unless it came from Bigtable.
func problemOf(ctx context.Context, err error) *web.Problem {
	p := (*web.Problem)(nil)
	switch {
	case errors.As(err, &p), errors.As(context.Cause(ctx), &p):
		return p
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled), status.Code(err) == codes.DeadlineExceeded:
		return web.NewProblem("too slow", http.StatusGatewayTimeout, fmt.Sprintf("the answer takes longer than %s: select a shorter range or fewer series, unless Bigtable answers nothing else, either", maxAnswering))
	}
	_, answered := status.FromError(err) // by Bigtable, or by its client
	if answered || isUndecodable(err) {
		return web.NewProblem("reading failed", http.StatusBadGateway, err.Error())
	}
	return web.NewProblem("invalid request", http.StatusBadRequest, err.Error())
}

// handler returns the handler of requests below /api/.
func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	for path, answer := range map[string]func(ctx context.Context, q url.Values) ([]byte, error){
		"/api/schemas": a.list,
		"/api/series":  a.series,
		"/api/range":   a.ranges,
		"/api/windows": a.windows,
		"/api/row":     a.row,
		"/api/chart":   a.chart,
		"/api/open":    a.open,
		"/api/events":  func(ctx context.Context, q url.Values) ([]byte, error) { return a.events(ctx, q, false) },
		"/api/latest":  func(ctx context.Context, q url.Values) ([]byte, error) { return a.events(ctx, q, true) },
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { a.answer(w, r, answer) })
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		web.NewProblem("not found", http.StatusNotFound, "there are /api/schemas, open, series, chart, range, windows, events, latest and row").Write(w)
	})
	return mux
}

// answer answers a request within the limits. It is complete before anything is sent, so that a failure is never half an answer.
func (a *api) answer(w http.ResponseWriter, r *http.Request, answer func(ctx context.Context, q url.Values) ([]byte, error)) {
	wait := time.NewTimer(maxWaiting)
	defer wait.Stop()
	select {
	case a.reading <- struct{}{}:
		defer func() { <-a.reading }()
	case <-r.Context().Done():
		return
	case <-wait.C:
		w.Header().Set("Retry-After", "1")
		web.NewProblem("too many requests", http.StatusServiceUnavailable, fmt.Sprintf("%d other requests are being answered", maxReading)).Write(w)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), maxAnswering)
	defer cancel()
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		problemOf(ctx, err).Write(w)
		return
	}
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	if a.reach != nil {
		go a.watch(ctx, lose)
	}
	text, err := answer(ctx, q)
	if err != nil {
		problemOf(ctx, err).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// watch ends a request with a problem once nothing answers at the address of the server. The client would try again until the timeout.
func (a *api) watch(ctx context.Context, lose context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := a.reach(ctx); err != nil && ctx.Err() == nil {
			lose(web.NewProblem("no connection", http.StatusServiceUnavailable, err.Error()))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// selected parses the parameters of a request as the command line is parsed: those of a selection, and others. It returns
// what the request selects.
func (a *api) selected(q url.Values, s *selection, others func(f *pflag.FlagSet)) (*selected, error) {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	name := f.String("schema", "", "")
	values := f.StringArray("value", nil, "")
	s.parameters(f)
	s.addZone(f, "")
	others(f)
	if err := parse(q, f); err != nil {
		return nil, err
	}
	schema := a.schemas[*name]
	if schema == nil {
		return nil, fmt.Errorf("no schema %q; there are %s", *name, strings.Join(a.names, ", "))
	}
	s.api = true
	if s.several == nil {
		return s.in(schema, *values)
	}
	if len(*values) > 0 || s.query+s.table != "" {
		return nil, errors.New("series: value, query and table select other events")
	}
	return s.each(schema)
}

// each resolves series, each of which is a JSON array of what value takes.
func (s *selection) each(schema *dynamic.Schema) (out *selected, err error) {
	var many []dynamic.Values
	for _, text := range s.several {
		var values []string
		if err := json.Unmarshal([]byte(text), &values); err != nil {
			return nil, fmt.Errorf("series %q: want a JSON array of series values, such as [\"location=us-west2\",\"balloon_id=1\"]", text)
		}
		if out, err = s.in(schema, values); err != nil {
			return nil, err
		}
		if out.of != ofSeries {
			return nil, fmt.Errorf("series %q: want all values of a series", text)
		}
		many = append(many, out.values)
	}
	out.many = many
	return out, nil
}

// parse sets the values of the parameters of a request, each once except for value and series.
func parse(q url.Values, f *pflag.FlagSet) error {
	for _, name := range slices.Sorted(maps.Keys(q)) {
		known := f.Lookup(name)
		if known == nil {
			var names []string
			f.VisitAll(func(p *pflag.Flag) { names = append(names, p.Name) })
			return fmt.Errorf("no parameter %q; there are %s", name, strings.Join(names, ", "))
		}
		if len(q[name]) > 1 && name != "value" && name != "series" {
			return fmt.Errorf("parameter %s is given twice", name)
		}
		for _, text := range q[name] {
			if err := known.Value.Set(text); err != nil {
				return fmt.Errorf("%s %q: %w", name, words.Excerpt(text, 60), err)
			}
		}
	}
	return nil
}

// pageToken is the place at which a page begins, as the answer with the page before it names it.
type pageToken struct {
	Now   time.Time         `json:"now"`   // of the first page; relative times of all pages are before it
	Of    map[string]uint32 `json:"of"`    // checksums of the parameters that pages have in common
	Token string            `json:"token"` // of the read; empty for the first page
}

// newPageToken returns the first page of a request.
func newPageToken(q url.Values) *pageToken {
	p := &pageToken{Now: time.Now(), Of: map[string]uint32{}}
	for name, values := range q {
		if name != "page" && name != "limit" {
			p.Of[name] = crc32.ChecksumIEEE(fmt.Appendf(nil, "%q", slices.Sorted(slices.Values(values))))
		}
	}
	return p
}

// parse parses a token, which must be of a request with the same parameters.
func (p *pageToken) parse(text string) error {
	if text == "" {
		return nil
	}
	var of pageToken
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &of)
	}
	if err != nil || of.Token == "" {
		return errors.New("it is damaged: start again without a page")
	}
	all := maps.Clone(p.Of)
	maps.Copy(all, of.Of)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if p.Of[name] != of.Of[name] {
			return fmt.Errorf("it continues a request with another %s: repeat its parameters, or start again without a page", name)
		}
	}
	*p = of
	return nil
}

// next returns the text of the token with which the next page begins; empty if there is none.
func (p pageToken) next(token string) (string, error) {
	if p.Token = token; token == "" {
		return "", nil
	}
	text, err := json.Marshal(&p)
	return base64.RawURLEncoding.EncodeToString(text), err
}

// cost is what a request took of Bigtable.
type cost struct {
	mu       sync.Mutex
	Requests int `json:"requests"`
	Rows     int `json:"rows"`
	Cells    int `json:"cells"`
	Bytes    int `json:"bytes"` // that these rows took on the wire, approximately
	Events   int `json:"events"`
}

// counted returns the options of a reader that counts.
func (a *api) counted(c *cost) store.ReaderOptions {
	o := a.options
	o.Hooks.End = func(_ context.Context, op store.Operation, _ error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Requests, c.Rows, c.Events, c.Cells, c.Bytes = c.Requests+op.Requests, c.Rows+op.Rows, c.Events+op.Events, c.Cells+op.Cells, c.Bytes+op.Bytes
	}
	return o
}

// rows are the rows of an answer, and what else it has.
type rows struct {
	columns []format.Column
	encoder format.Encoder
	text    []byte
	n       int
	about   about
}

// about is what an answer has beside rows.
type about struct {
	Columns     []column `json:"columns"`
	Next        string   `json:"next"`            // of pages; empty if there are no more rows
	More        bool     `json:"more"`            // rows are missing that no page has
	Every       string   `json:"every,omitempty"` // width of windows
	Undecodable int      `json:"undecodable"`
	Marked      int      `json:"marked,omitempty"` // rows; see markedText
	Cost        *cost    `json:"cost"`
}

// column describes a column of rows, and a value of a schema.
type column struct {
	Name string   `json:"name"`
	Type string   `json:"type"`
	Unit string   `json:"unit,omitempty"`
	Doc  string   `json:"doc,omitempty"`
	Enum []string `json:"enum,omitempty"`
}

// columnOf describes a field.
func columnOf(f *layout.Field) column {
	c := column{Name: f.Name, Type: f.Type.String(), Unit: f.Unit, Doc: f.Doc}
	for _, v := range f.Enum {
		c.Enum = append(c.Enum, v.Name)
	}
	return c
}

// columnsOf describes fields.
func columnsOf(fields []layout.Field) []column {
	out := []column{}
	for i := range fields {
		out = append(out, columnOf(&fields[i]))
	}
	return out
}

// newRows returns an answer without rows.
func newRows(columns []format.Column) *rows {
	r := &rows{columns: columns, encoder: format.NewJSON(columns), about: about{Columns: []column{}, Cost: new(cost)}}
	for i := range columns {
		r.about.Columns = append(r.about.Columns, columnOf(&columns[i].Field))
	}
	return r
}

// add adds a row.
func (r *rows) add(e *dynamic.Event) error {
	r.text = r.encoder.Append(r.text, e)
	if r.n++; len(r.text) > maxAnswer {
		return web.NewProblem("too large", http.StatusUnprocessableEntity, fmt.Sprintf("the answer is larger than %d MiB: set a lower limit, or select fewer fields", maxAnswer>>20))
	}
	return nil
}

// skip counts what cannot be decoded.
func (r *rows) skip(error) { r.about.Undecodable++ }

// json returns the answer.
func (r *rows) json() ([]byte, error) {
	text, err := json.Marshal(&r.about)
	if err != nil {
		return nil, err
	}
	return slices.Concat(text[:len(text)-1], []byte(",\"rows\":[\n"), r.text, []byte("]}\n")), nil
}

// given names what a query takes of a value.
var given = map[codec.GivenPart]string{codec.GivenValue: "value", codec.GivenPrefix: "prefix", codec.GivenRange: "range"}

// list answers with the schemas.
func (a *api) list(_ context.Context, q url.Values) ([]byte, error) {
	if len(q) > 0 {
		return nil, errors.New("there are no parameters")
	}
	type input struct {
		column
		Form string `json:"form"` // value, prefix or range
		Many bool   `json:"many"`
	}
	type query struct {
		Name   string  `json:"name"`
		Doc    string  `json:"doc,omitempty"`
		Inputs []input `json:"inputs"`
	}
	type lead struct {
		Name   string `json:"name"`
		Prefix bool   `json:"prefix"` // series are found by a prefix of it
	}
	type described struct {
		Name    string   `json:"name"`
		Doc     string   `json:"doc,omitempty"`
		Series  []column `json:"series"`
		Leads   []lead   `json:"leads"` // at the beginning of row keys
		Fields  []column `json:"fields"`
		Tables  []string `json:"tables"`
		Queries []query  `json:"queries"`
	}
	out := []described{}
	for _, name := range a.names {
		l := a.schemas[name].Layout()
		d := described{Name: name, Doc: l.Doc, Series: columnsOf(l.Series), Leads: []lead{}, Fields: columnsOf(l.Fields), Queries: []query{}}
		for _, of := range l.Leads() {
			d.Leads = append(d.Leads, lead{l.Series[of.Series].Name, of.Prefix})
		}
		for _, t := range l.Tables {
			d.Tables = append(d.Tables, t.ID)
		}
		for i := range l.Queries {
			asked := query{Name: l.Queries[i].Name, Doc: l.Queries[i].Doc, Inputs: []input{}}
			for _, in := range l.Queries[i].Inputs {
				asked.Inputs = append(asked.Inputs, input{columnOf(in.Of(l)), given[in.Form], in.Many})
			}
			d.Queries = append(d.Queries, asked)
		}
		out = append(out, d)
	}
	return json.MarshalIndent(out, "", "  ")
}

// series answers with the series of a selection, in pages.
func (a *api) series(ctx context.Context, q url.Values) ([]byte, error) {
	token := newPageToken(q)
	of, limit, search := selection{listing: true, timeRange: timeRange{now: &token.Now}}, 0, ""
	s, err := a.selected(q, &of, func(f *pflag.FlagSet) {
		f.Var(number(&limit, 100, 1, maxRows), "limit", "")
		f.Func("page", "", token.parse)
		f.StringVar(&search, "search", "", "")
		f.StringVar(&of.prefixed, "prefix", "", "")
	})
	if err != nil {
		return nil, err
	}
	columns := format.Columns(s.schema.Layout())[:len(s.schema.Layout().Series)]
	out := newRows(columns)
	out.encoder = format.NewTextJSON(columns) // what value takes
	search, next := strings.ToLower(search), ""
	page := store.Page{Size: math.MaxInt, Token: token.Token} // of series that are searched
	reader := s.schema.NewReader(a.client, a.counted(out.about.Cost))
	for series, err := range decodable(reader.ReadSeries(ctx, s.selection(), s.from, s.to, store.SeriesOptions{Page: &page}), out.skip) {
		if err != nil {
			return nil, err
		}
		e := dynamic.Event{Series: series}
		if search != "" && !format.SeriesContains(columns, &e, search) {
			continue
		}
		if out.n == limit {
			if out.about.Next, err = token.next(next); err != nil {
				return nil, err
			}
			break
		}
		if err := out.add(&e); err != nil {
			return nil, err
		}
		next = page.Next
	}
	return out.json()
}

// events answers with events, in pages, or with the newest one of each series.
func (a *api) events(ctx context.Context, q url.Values, latest bool) ([]byte, error) {
	token := newPageToken(q)
	r := reading{selection: selection{timeRange: timeRange{now: &token.Now}}, options: store.ReadOptions{LatestOnly: latest}}
	limit := 0
	s, err := a.selected(q, &r.selection, func(f *pflag.FlagSet) {
		f.Var(number(&limit, defaultRows, 1, maxRows), "limit", "")
		f.StringSliceVar(&r.fields, "fields", nil, "")
		if !latest {
			f.Func("page", "", token.parse)
			f.Func("order", "", r.order)
		}
	})
	if err != nil {
		return nil, err
	}
	columns, err := r.project(s)
	if err != nil {
		return nil, err
	}
	switch {
	case latest, s.of == ofTable && token.Token == "":
	case s.of == ofTable:
		return nil, errors.New("page: events of all series have no pages; select series values, or a query")
	default:
		r.options.Page = &store.Page{Size: limit, Token: token.Token}
	}
	out := newRows(columns)
	events := s.events(ctx, a.client, a.counted(out.about.Cost), r.options)
	err = out.addAll(pointers(events), limit, func() error { // not of a page, which ends by itself
		out.about.More = true
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.about.Marked = s.marked
	if r.options.Page != nil {
		if out.about.Next, err = token.next(r.options.Page.Next); err != nil {
			return nil, err
		}
	}
	return out.json()
}

// order parses the order of events.
func (r *reading) order(name string) error {
	r.options.NewestFirst, r.options.TimeOrder = name == "newest", name == "time"
	if name != "newest" && name != "time" {
		return errors.New("want newest or time")
	}
	return nil
}

// addAll adds up to a number of events. It returns what more returns if there are more.
func (r *rows) addAll(events iter.Seq2[*dynamic.Event, error], limit int, more func() error) error {
	for e, err := range decodable(events, r.skip) {
		if err == nil && r.n == limit {
			return more()
		}
		if err == nil {
			err = r.add(e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// windows answers with windows. Without a width, it chooses one for about as many windows as points.
func (a *api) windows(ctx context.Context, q url.Values) ([]byte, error) {
	var w windowing
	limit, points := 0, 0
	s, err := a.selected(q, &w.selection, func(f *pflag.FlagSet) {
		w.parameters(f)
		f.Var(number(&limit, maxRows, 1, maxRows), "limit", "")
		f.Var(number(&points, 0, 1, maxRows), "points", "")
	})
	if err != nil {
		return nil, err
	}
	l := s.schema.Layout()
	if w.every != "" && points > 0 {
		return nil, errors.New("points: windows have the width of every: leave one of them out")
	}
	if w.every == "" {
		if w.every, err = chosenWidth(s, w.zone, cmp.Or(points, defaultCount)); err != nil {
			return nil, err
		}
	}
	if err := w.checkWindows(); err != nil {
		return nil, err
	}
	shown, err := w.rows(l)
	if err != nil {
		return nil, err
	}
	out := newRows(shown.Columns())
	out.about.Every = w.every
	windows := s.windows(ctx, a.client, a.counted(out.about.Cost), w.width, w.options)
	err = out.addAll(shown.Rows(windows), limit, func() error {
		return web.NewProblem("too many windows", http.StatusUnprocessableEntity,
			fmt.Sprintf("there are more than %s windows of %s: use a larger every, fewer points, a shorter range or fewer series",
				words.Number(float64(limit)), w.every))
	})
	if err != nil {
		return nil, err
	}
	return out.json()
}

// chosenWidth returns a width of windows for a number of points in a range. Where events have expired, they consist of
// windows of rollups: there are no others.
func chosenWidth(s *selected, zone *time.Location, points int) (string, error) {
	if s.from.IsZero() || s.to.Year() > 9000 {
		return "", errors.New("the width of the windows is missing: write, for example, every=1h, or both from and to, after the year 1 and before 9000")
	}
	p := plot{layout: s.schema.Layout(), Chart: chart.Chart{Zone: zone, From: s.from, To: s.to}}
	p.setWidth(max(time.Second, s.to.Sub(s.from)/time.Duration(points)), s.rollupWidth()) // windows of requests are no narrower
	if _, err := window.Parse(p.Width, zone); err != nil {
		return "", err
	}
	return p.Width, nil
}
