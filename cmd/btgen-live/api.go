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

	"cloud.google.com/go/bigtable"
	"github.com/spf13/pflag"
	"golang.org/x/sync/semaphore"
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
)

// Limits of the answer to one request.
const (
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
	client  *bigtable.Client
	options store.ReaderOptions
	reading *semaphore.Weighted // requests that read

	// reach returns an error if nothing answers at the address of the server of Bigtable; nil if it is not known.
	reach func(ctx context.Context) error
}

// newAPI returns an API for schemas.
func newAPI(layouts []*layout.Layout, client *bigtable.Client, o store.ReaderOptions) *api {
	a := &api{schemas: map[string]*dynamic.Schema{}, client: client, options: o, reading: semaphore.NewWeighted(maxReading)}
	a.names = uniqueNames(layouts)
	for i, l := range layouts {
		a.schemas[a.names[i]] = dynamic.New(l)
	}
	return a
}

// problemOf returns the problem of an error, which is that of the request unless it came from Bigtable.
func problemOf(ctx context.Context, err error) *web.Problem {
	p := (*web.Problem)(nil)
	_, answered := status.FromError(err) // by Bigtable, or by its client
	switch {
	case errors.As(err, &p), errors.As(context.Cause(ctx), &p):
		return p
	case ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled), status.Code(err) == codes.DeadlineExceeded:
		return problem(http.StatusGatewayTimeout, "too slow", "the answer takes longer than %s: select a shorter range or fewer series, "+
			"unless Bigtable answers nothing else, either", maxAnswering)
	case answered || isUndecodable(err):
		return problem(http.StatusBadGateway, "reading failed", "%v", err)
	}
	return problem(http.StatusBadRequest, "invalid request", "%v", err)
}

// problem returns the problem of a request.
func problem(status int, title, format string, args ...any) *web.Problem {
	return web.NewProblem(title, status, fmt.Sprintf(format, args...))
}

// tooMuch returns the problem of an answer that has more than it may have.
func tooMuch(title, format string, args ...any) *web.Problem {
	return problem(http.StatusUnprocessableEntity, title, format, args...)
}

// endpoint is what the API answers below /api/, and with which parameters, which may have defaults.
type endpoint struct {
	name, parameters string
	answer           func(a *api, ctx context.Context, r *request) (any, error)
}

// selecting are the parameters of a selection.
const selecting = "schema value query table from to zone=UTC "

var endpoints = []endpoint{
	{"schemas", "", (*api).list},
	{"open", "", (*api).open},
	{"series", selecting + "limit=100 page search prefix", (*api).series},
	{"chart", selecting + "series fields every show=mean width=960", (*api).chart},
	{"range", selecting + "fields", (*api).ranges},
	{"windows", selecting + "every fields statistics fill=none by limit=10000 points", (*api).windows},
	{"events", selecting + "fields limit=1000 page order", (*api).events},
	{"latest", selecting + "fields limit=1000", (*api).events},
	{"row", selecting + "time sequence", (*api).row},
}

// handler returns the handler of requests below /api/.
func (a *api) handler() http.Handler {
	mux := http.NewServeMux()
	var names []string
	for _, p := range endpoints {
		names = append(names, p.name)
		mux.HandleFunc("/api/"+p.name, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, p) })
	}
	mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		problem(http.StatusNotFound, "not found", "there are /api/%s", words.List(names, "and")).Write(w)
	})
	return mux
}

// serve answers a request within the limits. It is complete before anything is sent, so that a failure is never half an answer.
func (a *api) serve(w http.ResponseWriter, r *http.Request, p endpoint) {
	waiting, stop := context.WithTimeout(r.Context(), maxWaiting)
	defer stop()
	if a.reading.Acquire(waiting, 1) != nil {
		w.Header().Set("Retry-After", "1")
		problem(http.StatusServiceUnavailable, "too many requests", "%d other requests are being answered", maxReading).Write(w)
		return
	}
	defer a.reading.Release(1)
	ctx, cancel := context.WithTimeout(r.Context(), maxAnswering)
	defer cancel()
	ctx, lose := context.WithCancelCause(ctx)
	defer lose(nil)
	if a.reach != nil {
		go a.watch(ctx, lose)
	}
	text, err := a.answer(ctx, p, r.URL.RawQuery)
	if err != nil {
		problemOf(ctx, err).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

// answer returns the answer to a request as JSON.
func (a *api) answer(ctx context.Context, p endpoint, query string) ([]byte, error) {
	q, err := url.ParseQuery(query)
	if err != nil {
		return nil, err
	}
	r, err := a.request(p, q)
	if err != nil {
		return nil, err
	}
	of, err := p.answer(a, ctx, r)
	if text, encoded := of.([]byte); encoded || err != nil {
		return text, err
	}
	return json.Marshal(of)
}

// watch ends a request with a problem once nothing answers at the address of the server. The client would try again until the timeout,
// which says nothing about the server: it is no deadline of reach.
func (a *api) watch(ctx context.Context, lose context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		if err := a.reach(context.WithoutCancel(ctx)); err != nil {
			lose(problem(http.StatusServiceUnavailable, "no connection", "%v", err))
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// request parses a request, and resolves what it selects.
func (a *api) request(p endpoint, q url.Values) (*request, error) {
	r := newRequest(p.name, nil)
	r.client, r.options, r.page, r.listing, r.latest = a.client, a.options, newPageToken(q), p.name == "series", p.name == "latest"
	f, all := pflag.NewFlagSet("", pflag.ContinueOnError), r.parameters()
	var names []string
	for parameter := range strings.FieldsSeq(p.parameters) {
		name, preset, _ := strings.Cut(parameter, "=")
		add(f, name, all[name], preset, "")
		names = append(names, name)
	}
	for _, name := range slices.Sorted(maps.Keys(q)) {
		known := f.Lookup(name)
		switch {
		case known == nil:
			return nil, fmt.Errorf("no parameter %q; there are %s", name, listed(names))
		case len(q[name]) > 1 && name != "value" && name != "series":
			return nil, fmt.Errorf("parameter %s is given twice", name)
		}
		for _, text := range q[name] {
			if err := known.Value.Set(text); err != nil {
				return nil, fmt.Errorf("%s %q: %w", name, words.Excerpt(text, 60), err)
			}
		}
	}
	if p.parameters == "" {
		return r, nil
	}
	if err := r.page.parse(r.pageText); err != nil {
		return nil, fmt.Errorf("page %q: %w", words.Excerpt(r.pageText, 60), err)
	}
	r.newest = r.order == "newest"
	if r.schema = a.schemas[r.name]; r.schema == nil {
		return nil, fmt.Errorf("no schema %q; there are %s", r.name, strings.Join(a.names, ", "))
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, r.choose()
}

// pageToken is the place at which a page begins, as the answer with the page before it names it.
type pageToken struct {
	Now   time.Time         `json:"now"`   // of the first page; relative times of all pages are before it
	Of    map[string]uint32 `json:"of"`    // checksums of the parameters that pages have in common
	Token string            `json:"token"` // of the read; empty for the first page
}

// newPageToken returns the first page of a request.
func newPageToken(q url.Values) pageToken {
	p := pageToken{Now: time.Now(), Of: map[string]uint32{}}
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
func (p pageToken) next(token string) string {
	if p.Token = token; token == "" {
		return ""
	}
	text, _ := json.Marshal(&p) // of texts and a time
	return base64.RawURLEncoding.EncodeToString(text)
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

// counted returns what the reads of the request take.
func (r *request) counted() *cost {
	c := new(cost)
	r.options.Hooks.End = func(_ context.Context, op store.Operation, _ error) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.Requests, c.Rows, c.Events = c.Requests+op.Requests, c.Rows+op.Rows, c.Events+op.Events
		c.Cells, c.Bytes = c.Cells+op.Cells, c.Bytes+op.Bytes
	}
	return c
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

	Statistics []string `json:"statistics,omitempty"` // usual ones of its sketches
}

// columnOf describes a field.
func columnOf(f *layout.Field) column {
	c := column{Name: f.Name, Type: f.Type.String(), Unit: f.Unit, Doc: f.Doc}
	for _, x := range f.Sketches.All() {
		c.Statistics = append(c.Statistics, x.Usual...)
	}
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

// encode answers with the rows of an answer as JSON, up to the limit of the request.
func (r *request) encode(ctx context.Context, of *answer) (any, error) {
	out := about{Columns: []column{}, Every: r.every, Cost: r.counted()}
	for i := range of.columns {
		out.Columns = append(out.Columns, columnOf(&of.columns[i].Field))
	}
	encoder := format.NewJSON(of.columns)
	if of.texts {
		encoder = format.NewTextJSON(of.columns)
	}
	var text []byte
	more, next := false, ""
	for e, err := range decodable(of.rows(ctx), func(error) { out.Undecodable++ }) {
		if err != nil {
			return nil, err
		}
		if more = of.n == r.limit; more {
			break
		}
		of.n++
		if text = encoder.Append(text, e); len(text) > maxAnswer {
			return nil, tooMuch("too large", "the answer is larger than %d MiB: set a lower limit, or select fewer fields", maxAnswer>>20)
		}
		if of.page != nil {
			next = of.page.Next
		}
	}
	switch {
	case more && of.all:
		return nil, tooMuch("too many windows", "there are more than %s windows of %s: use a larger every, fewer points, "+
			"a shorter range or fewer series", words.Number(float64(r.limit)), r.every)
	case more && of.page == nil:
		out.More = true
	case more:
		out.Next = r.page.next(next)
	case of.page != nil:
		out.Next = r.page.next(of.page.Next)
	}
	out.Marked = r.marked
	about, err := json.Marshal(&out)
	if err != nil {
		return nil, err
	}
	return slices.Concat(about[:len(about)-1], []byte(",\"rows\":[\n"), text, []byte("]}\n")), nil
}

// given names what a query takes of a value.
var given = map[codec.GivenPart]string{codec.GivenValue: "value", codec.GivenPrefix: "prefix", codec.GivenRange: "range"}

// object is an object in JSON.
type object map[string]any

// objects describes things; there is an array for none, too.
func objects[T any](of []T, describe func(one T) object) []object {
	out := []object{}
	for _, one := range of {
		out = append(out, describe(one))
	}
	return out
}

// list answers with the schemas.
func (a *api) list(_ context.Context, _ *request) (any, error) {
	return json.MarshalIndent(objects(a.names, func(name string) object {
		l := a.schemas[name].Layout()
		var tables []string
		for _, t := range l.Tables {
			tables = append(tables, t.ID)
		}
		leads := objects(l.Leads(), func(of layout.Lead) object { return object{"name": l.Series[of.Series].Name, "prefix": of.Prefix} })
		queries := objects(l.Queries, func(q layout.Query) object {
			inputs := objects(q.Inputs, func(in layout.Input) object {
				f := columnOf(in.Of(l))
				return object{
					"name": f.Name, "type": f.Type, "unit": f.Unit, "doc": f.Doc, "enum": f.Enum, "form": given[in.Form], "many": in.Many,
				}
			})
			return object{"name": q.Name, "doc": q.Doc, "inputs": inputs}
		})
		return object{
			"name": name, "doc": l.Doc, "series": columnsOf(l.Series), "leads": leads, "fields": columnsOf(l.Fields), "tables": tables,
			"queries": queries,
		}
	}), "", "  ")
}

// series answers with the series of a selection, in pages.
func (a *api) series(ctx context.Context, r *request) (any, error) {
	columns, search := format.Columns(r.schema.Layout())[:len(r.schema.Layout().Series)], strings.ToLower(r.search)
	page := &store.Page{Size: math.MaxInt, Token: r.page.Token} // of series that are searched
	of := &answer{columns: columns, texts: true, page: page}    // texts are what value takes
	of.rows = func(ctx context.Context) iter.Seq2[*dynamic.Event, error] {
		return func(yield func(*dynamic.Event, error) bool) {
			all := r.schema.NewReader(r.client, r.options).ReadSeries(ctx, r.of, r.from, r.to, store.SeriesOptions{Page: page})
			for series, err := range all {
				e := dynamic.Event{Series: series}
				if (err != nil || search == "" || format.SeriesContains(columns, &e, search)) && !yield(&e, err) {
					return
				}
			}
		}
	}
	return r.encode(ctx, of)
}

// events answers with events, in pages, or with the newest one of each series.
func (a *api) events(ctx context.Context, r *request) (any, error) {
	var page *store.Page
	switch {
	case !r.latest && r.whole == "":
		page = &store.Page{Size: r.limit, Token: r.page.Token}
	case r.page.Token != "":
		return nil, errors.New("page: events of all series have no pages; select series values, or a query")
	}
	of, err := r.eventAnswer(page)
	if err != nil {
		return nil, err
	}
	return r.encode(ctx, of)
}

// windows answers with windows. Without a width, it chooses one for about as many windows as points.
func (a *api) windows(ctx context.Context, r *request) (any, error) {
	if r.every != "" && r.points > 0 {
		return nil, errors.New("points: windows have the width of every: leave one of them out")
	}
	if err := r.chooseWidth(cmp.Or(r.points, defaultCount)); err != nil {
		return nil, err
	}
	if err := r.checkWindows(); err != nil {
		return nil, err
	}
	of, err := r.windowAnswer(r.windowsOf)
	if err != nil {
		return nil, err
	}
	of.all = true
	return r.encode(ctx, of)
}

// chooseWidth chooses a width of windows for a number of points in a range, unless the request has one. Where events have expired, they
// consist of windows of rollups: there are no others.
func (r *request) chooseWidth(points int) error {
	switch {
	case r.every != "":
		return nil
	case r.from.IsZero() || r.to.Year() > 9000:
		return errors.New("the width of the windows is missing: write, for example, every=1h, or both from and to, " +
			"after the year 1 and before 9000")
	}
	p := plot{request: r, Chart: chart.Chart{Zone: r.zone, From: r.from, To: r.to}}
	p.setWidth(max(time.Second, r.to.Sub(r.from)/time.Duration(points)), r.rollupWidth()) // windows of requests are no narrower
	r.every = p.Width
	return nil
}
