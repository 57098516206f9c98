// Package designer is the page of btgen explain --serve: an explanation that follows the schemas as they are edited. It knows
// neither files nor the network: the command shows it states, and it answers requests of a browser.
package designer

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"sync"
	"time"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/document"
)

// State is what the page shows.
type State struct {
	// Document is the explanation; nil if there is none, since schemas have mistakes: the page keeps the last one.
	Document *document.Document
	// Findings are mistakes, warnings and advice.
	Findings diag.List
	// Failure says why the schemas could not be read; it may be empty.
	Failure string
	// Changes are those since Since, such as btgen.lock. Without a comparison, Since says why there is none.
	Changes  diag.List
	Compared bool
	Since    string
	Notes    []string // about the comparison
	// Source returns the text of a schema; see [diag.List.Format].
	Source func(file string) []byte
}

// Designer is the page. Its methods are safe for concurrent use.
type Designer struct {
	run string // tells versions of this process from others

	mu      sync.Mutex
	number  int
	body    template.HTML // of the last document
	title   string
	page    []byte
	changed chan struct{} // closed by the next version
}

// New returns a page that shows nothing yet.
func New() *Designer { return &Designer{run: rand.Text(), changed: make(chan struct{})} }

//go:embed page.html
var pageText string

//go:embed designer.js
var script []byte

//go:embed designer.css
var style []byte

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// Show replaces what the page shows. Browsers that show it are told.
func (d *Designer) Show(s *State) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if s.Document != nil {
		d.body, d.title = s.Document.Body(), s.Document.Title
	}
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, d.viewOf(s, d.number+1)); err != nil {
		return err
	}
	d.number++
	d.page = b.Bytes()
	close(d.changed)
	d.changed = make(chan struct{})
	return nil
}

// view is the page of a version, as the template reads it.
type view struct {
	Title, Version  string
	Failure         string
	Mistakes, Other []shown
	Old             bool // Body is of an earlier version
	Body            template.HTML
	Changes         []shown
	Compared        bool
	Since           string
	Notes           []string
}

// shown is a finding: its severity, or its class if it is a change, and its text.
type shown struct{ Kind, Text string }

// viewOf returns a version of the page.
func (d *Designer) viewOf(s *State, number int) view {
	v := view{
		Title: d.title, Version: d.version(number), Failure: s.Failure, Old: s.Document == nil && d.body != "", Body: d.body,
		Changes: shownOf(s, s.Changes), Compared: s.Compared, Since: s.Since, Notes: s.Notes,
	}
	for _, f := range shownOf(s, s.Findings) {
		if f.Kind == diag.Error.String() {
			v.Mistakes = append(v.Mistakes, f)
		} else {
			v.Other = append(v.Other, f)
		}
	}
	return v
}

// shownOf formats findings, each by itself.
func shownOf(s *State, found diag.List) []shown {
	var out []shown
	for _, f := range found {
		kind := f.Severity.String()
		if f.Class != "" {
			kind = f.Class
		}
		out = append(out, shown{kind, diag.List{f}.Format(s.Source)})
	}
	return out
}

// version returns the name of a version.
func (d *Designer) version(number int) string { return fmt.Sprintf("%s-%d", d.run, number) }

// patience is how long a request waits for the next version.
const patience = 25 * time.Second

// next returns the page once its version is not after; nil if that takes too long or ctx ends.
func (d *Designer) next(ctx context.Context, after string) []byte {
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		d.mu.Lock()
		page, version, changed := d.page, d.version(d.number), d.changed
		d.mu.Unlock()
		if page != nil && version != after {
			return page
		}
		select {
		case <-changed:
		case <-timeout.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// ServeHTTP answers with the page, which waits for the first version; with its next version after the one that a query names,
// or 204 if that takes too long; and with its script and style.
func (d *Designer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, text := "text/html", []byte(nil)
	switch r.URL.Path {
	case "/":
		text = d.next(r.Context(), "")
	case "/next":
		text = d.next(r.Context(), r.URL.Query().Get("after"))
	case "/designer.js":
		kind, text = "text/javascript", script
	case "/designer.css":
		kind, text = "text/css", append([]byte(document.PageStyle()), style...)
	default:
		http.NotFound(w, r)
		return
	}
	if text == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=utf-8")
	_, _ = w.Write(text)
}
