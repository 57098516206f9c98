package chart

import (
	"bytes"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"
	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/golden/assert"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	in, err := time.LoadLocation(name)
	must(t, err)
	return in
}

// wave returns adjacent windows of a wave, except those of a gap.
func wave(from, to time.Time, every time.Duration, middle, height, phase float64) []Point {
	var out []Point
	length := elapsed(from, to)
	for i, t := 0, from; t.Before(to); i, t = i+1, t.Add(every) {
		share := elapsed(from, t) / length
		if share > 0.4 && share < 0.5 {
			continue
		}
		mean := middle + height*math.Sin(6*share+phase)
		wide := height / 4 * (1.5 + math.Sin(float64(i)))
		out = append(out, Point{t, t.Add(every), mean - wide, mean + wide, mean, 60, false})
	}
	return out
}

// charts returns the charts of the golden files.
func charts(t testing.TB) map[string]*Chart {
	losAngeles := zone(t, "America/Los_Angeles")
	from := time.Date(2021, 3, 13, 0, 0, 0, 0, losAngeles) // clocks go forward on the next day
	to := from.AddDate(0, 0, 3)
	event := time.Date(2021, 3, 5, 12, 0, 0, 123456000, time.UTC)
	hostile := "</script></title><img src=x onerror=alert(1)>&\"'\x1b]0;x\a\x1b[2J\u202e::error::#\xff" + strings.Repeat("🎈", 60)
	all := map[string]*Chart{
		"windows": {
			Title: "Balloon us-west2 3698", From: from, To: to, Zone: losAngeles, Width: "2h", Series: []string{"us-west2 3698"},
			Fields: []Field{
				{"pressure", "Pa", [][]Point{wave(from, to, 2*time.Hour, 94000, 900, 0)}},
				{"temperature", "°C", [][]Point{wave(from, to, 2*time.Hour, 9, 20, 1)}},
			},
		},
		"series": {
			Title: "Balloon ByLocation", From: from, To: to, Zone: time.UTC, Width: "2h", Series: []string{"us-west2 3698", "us-west2 3700", "asia-south2 17"},
			Fields: []Field{{"temperature", "°C", [][]Point{
				wave(from, to, 2*time.Hour, 9, 20, 1), wave(from, to.AddDate(0, 0, -1), 2*time.Hour, 15, 12, 2), nil,
			}}},
			Notes: []string{"the windows of asia-south2 17 lack 3 events that cannot be decoded"},
		},
		"events": {
			Title: "Tremor", Series: []string{"PK"},
			Fields: []Field{{Name: "magnitude", Lines: [][]Point{{At(event, 1.5), At(event.Add(40*time.Microsecond), 2.75), At(event.Add(90*time.Microsecond), 0.5)}}}},
		},
		"hostile": {
			Title: hostile, From: from, To: to, Width: hostile, Series: []string{hostile, "b"}, Line: hostile,
			Fields: []Field{{hostile, hostile, [][]Point{wave(from, to, 12*time.Hour, 0, 1, 0)}}}, Notes: []string{hostile},
		},
		"empty":   {Title: "Balloon", From: from, To: to, Series: []string{"a"}, Fields: []Field{{Name: "temperature", Lines: [][]Point{{}}}}},
		"nothing": {},
		"one": {
			Title: "Balloon", Series: []string{"a"},
			Fields: []Field{{Name: "temperature", Lines: [][]Point{{At(event, 5)}}}, {Name: "broken", Lines: [][]Point{{At(event, math.NaN()), At(event.Add(1), math.Inf(1))}}}},
		},
	}
	many := &Chart{Title: "Balloon", From: from, To: to}
	var lines [][]Point
	for i := range 1000 {
		many.Series = append(many.Series, fmt.Sprintf("balloon %d", i))
		lines = append(lines, wave(from, to, 12*time.Hour, float64(i), 5, float64(i)))
	}
	many.Fields = []Field{{Name: "temperature", Unit: "°C", Lines: lines}}
	all["thousand"] = many
	return all
}

// TestGolden compares charts with files. Only some have all formats.
func TestGolden(t *testing.T) {
	for name, c := range charts(t) {
		page, err := c.HTML()
		must(t, err)
		files := map[string][]byte{".svg": c.SVG(), ".txt": c.Text(80, false), ".wide.txt": c.Text(160, true), ".html": page}
		switch name {
		case "windows":
		case "series":
			delete(files, ".html")
		default:
			files = map[string][]byte{".txt": files[".txt"]}
		}
		for ext, got := range files {
			file := filepath.Join("testdata", name+ext)
			if *update {
				must(t, os.WriteFile(file, got, 0o666))
			}
			want, err := os.ReadFile(file)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("%s differs (%v): run go test ./cmd/internal/chart -update, and review the diff; got\n%s", file, err, got)
			}
		}
	}
}

// TestSafe checks that no text of a chart is markup, steers a terminal, or loads anything.
func TestSafe(t *testing.T) {
	for name, c := range charts(t) {
		checkChart(t, name, c)
	}
	page, err := charts(t)["hostile"].HTML()
	must(t, err)
	assert.Contains(t, `&lt;/script&gt;&lt;/title&gt;&lt;img src=x onerror=alert(1)&gt;&amp;`, string(page))
}

// checkChart checks all formats of a chart.
func checkChart(t assert.T, name string, c *Chart) {
	t.Helper()
	drawing := c.SVG()
	checkDrawing(t, name, drawing)
	page, err := c.HTML()
	must(t, err, name)
	checkPage(t, name, page)
	for _, columns := range []int{0, 1, 5, 13, 20, 40, 80, 250} {
		checkText(t, name, c.Text(columns, true), columns)
	}
	again, _ := c.HTML()
	if !bytes.Equal(page, again) || !bytes.Equal(drawing, c.SVG()) {
		t.Errorf("%s: not deterministic", name)
	}
}

var invalidNumber = regexp.MustCompile(`NaN|Inf|[0-9]e[+-]?[0-9]{3}`)

// checkDrawing checks that a drawing is XML with the elements that are drawn, and finite places.
func checkDrawing(t assert.T, name string, drawing []byte) {
	t.Helper()
	known := map[string]bool{"svg": true, "title": true, "desc": true, "style": true, "rect": true, "text": true, "path": true, "g": true, "circle": true}
	d := xml.NewDecoder(bytes.NewReader(drawing))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(name, err, string(drawing))
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !known[element.Name.Local] {
			t.Errorf("%s: the element %s is not known", name, element.Name.Local)
		}
		for _, a := range element.Attr {
			if a.Name.Local != "data-box" && invalidNumber.MatchString(a.Value) || strings.HasPrefix(a.Name.Local, "on") {
				t.Errorf("%s: %s=%q", name, a.Name.Local, a.Value)
			}
		}
	}
}

// checkPage checks that a page has one script, and elements that load nothing.
func checkPage(t assert.T, name string, page []byte) {
	t.Helper()
	root, err := html.Parse(bytes.NewReader(page))
	must(t, err, name)
	scripts := 0
	for n := range root.Descendants() {
		switch n.Data {
		case "script":
			scripts++
		case "img", "link", "iframe", "object", "embed", "base":
			t.Errorf("%s: the page has the element %s", name, n.Data)
		}
		for _, a := range n.Attr {
			if a.Key == "src" || a.Key == "href" || a.Key == "style" || strings.HasPrefix(a.Key, "on") {
				t.Errorf("%s: the page has %s=%q", name, a.Key, a.Val)
			}
		}
	}
	assert.Same(t, 1, scripts, name)
	for _, loads := range []string{"url(", "@import", "fetch(", "import(", "XMLHttpRequest"} {
		if bytes.Contains(page, []byte(loads)) {
			t.Errorf("%s: the page has %s", name, loads)
		}
	}
}

var painted = regexp.MustCompile(`\x1b\[(?:[0-2]|3[1-6])m`)

// checkText checks that the writer of the command changes nothing, and that no line is too long.
func checkText(t assert.T, name string, text []byte, columns int) {
	t.Helper()
	for line := range strings.SplitSeq(string(text), "\n") {
		assert.Same(t, line, string(words.AppendTerminal(nil, []byte(line), true)), name)
		line = painted.ReplaceAllString(line, "")
		if strings.ContainsFunc(line, unicode.IsControl) {
			t.Errorf("%s: the line %q has control characters", name, line)
		}
		if columns > 0 && words.Width(line) > columns {
			t.Errorf("%s: the line %q has %d columns instead of %d", name, line, words.Width(line), columns)
		}
	}
}

// TestAnyChart draws charts of any values and times.
func TestAnyChart(t *testing.T) {
	value := rapid.OneOf(rapid.Float64(), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, -math.MaxFloat64, 5e-324, 1e15, 1e15 + 0.125}))
	zones := []*time.Location{nil, time.UTC, zone(t, "America/Los_Angeles"), zone(t, "Australia/Lord_Howe"), zone(t, "Pacific/Apia"), zone(t, "America/Sao_Paulo")}
	rapid.Check(t, func(t *rapid.T) {
		span := time.Duration(math.Pow(10, rapid.Float64Range(0, 18.9).Draw(t, "power")))
		begin := time.Unix(rapid.SampledFrom([]int64{0, 1615600000, -62135596800, 250000000000, 1 << 60}).Draw(t, "begin"), rapid.Int64Range(0, 999999999).Draw(t, "nanoseconds"))
		point := rapid.Custom(func(t *rapid.T) Point {
			start := begin.Add(time.Duration(rapid.Float64Range(0, 1).Draw(t, "at") * float64(span)))
			if rapid.Bool().Draw(t, "event") {
				return At(start, value.Draw(t, "value"))
			}
			return Point{start, start.Add(span / 10), value.Draw(t, "min"), value.Draw(t, "max"), value.Draw(t, "mean"), rapid.Int64Range(0, 3).Draw(t, "count"), rapid.Bool().Draw(t, "inexact")}
		})
		c := &Chart{Title: "any", Zone: rapid.SampledFrom(zones).Draw(t, "zone")}
		if rapid.Bool().Draw(t, "range") {
			c.From, c.To = begin, begin.Add(span)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "series") {
			c.Series = append(c.Series, fmt.Sprint(i))
		}
		for range rapid.IntRange(0, 3).Draw(t, "fields") {
			c.Fields = append(c.Fields, Field{Name: "f", Lines: rapid.SliceOfN(rapid.SliceOfN(point, 0, 5), 0, 3).Draw(t, "lines")})
		}
		checkChart(t, "any", c)
	})
}

// TestGaps checks that lines end where windows are missing.
func TestGaps(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2021, 3, 5, hour, 0, 0, 0, time.UTC) }
	window := func(hour int, mean float64) Point { return Point{at(hour), at(hour + 1), mean, mean, mean, 1, false} }
	none := window(3, 0)
	none.Count = 0
	for name, tt := range map[string]struct {
		points []Point
		runs   int
	}{
		"adjacent":         {[]Point{window(1, 1), window(2, 2), window(3, 3)}, 1},
		"missing":          {[]Point{window(1, 1), window(3, 3)}, 2},
		"without values":   {[]Point{window(2, 1), none, window(4, 3)}, 2},
		"not a number":     {[]Point{window(2, 1), window(3, math.NaN()), window(4, 3)}, 2},
		"events":           {[]Point{At(at(1), 1), At(at(1), 2)}, 2},
		"event and window": {[]Point{At(at(1), 1), window(1, 2)}, 2},
	} {
		c := &Chart{From: at(0), To: at(24), Series: []string{"a"}, Fields: []Field{{Name: "f", Lines: [][]Point{tt.points}}}}
		assert.Same(t, tt.runs, len(c.view().panels[0].lines[0].runs), name)
	}
}

// TestInexact checks that every format says which windows are inexact.
func TestInexact(t *testing.T) {
	from := time.Date(2021, 3, 5, 0, 0, 0, 0, time.UTC)
	line := wave(from, from.AddDate(0, 0, 2), 2*time.Hour, 9, 20, 1)
	c := &Chart{From: from, To: from.AddDate(0, 0, 2), Series: []string{"a"}, Fields: []Field{{Name: "f", Lines: [][]Point{line}}, {Name: "g", Lines: [][]Point{line}}}}
	const want = "2 windows are inexact, between 2021-03-05 02:00 and 2021-03-05 08:00"
	for _, marked := range []bool{false, true} {
		if marked {
			line[1].Inexact, line[3].Inexact = true, true
		}
		page, err := c.HTML()
		must(t, err)
		for i, drawing := range [][]byte{c.Text(200, false), c.SVG(), page} {
			assert.Same(t, marked, bytes.Contains(drawing, []byte(want)), i, drawing)
		}
	}
}

// TestStats checks the summary of a line.
func TestStats(t *testing.T) {
	var s stats
	for _, p := range []Point{{Min: 1, Max: 3, Mean: 2, Count: 1}, {Min: -1, Max: 9, Mean: 5, Count: 3}} {
		s.add(&p)
	}
	if want := (stats{count: 4, min: -1, max: 9, mean: 4.25, last: 5}); s != want {
		t.Errorf("%+v instead of %+v", s, want)
	}
}

// TestInstant checks the range of a chart that has none.
func TestInstant(t *testing.T) {
	at := time.Date(2021, 3, 5, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]*Chart{
		"of one time":  {From: at, To: at},
		"of one event": {Series: []string{"a"}, Fields: []Field{{Lines: [][]Point{{At(at, 1)}}}}},
	} {
		if v := c.view(); !v.time.from.Equal(at.Add(-time.Second)) || !v.time.to.Equal(at.Add(time.Second)) {
			t.Errorf("%s: %v to %v", name, v.time.from, v.time.to)
		}
	}
}

var must = assert.Must
