package dynamictest

import (
	"fmt"
	"iter"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/window"
)

// windowOptions draws how events are summarized.
func (c *comparison[S, E, C]) windowOptions() (window.Width, store.WindowOptions) {
	zone := time.FixedZone("east", 5*60*60+30*60)
	width := rapid.SampledFrom([]window.Width{window.Whole(), window.Months(1, zone), window.Days(1, zone).From(6 * time.Hour), window.Every(time.Hour), window.Every(time.Second).In(zone)}).Draw(c.T, "width")
	o := store.WindowOptions{
		Fill:        window.Fill(rapid.IntRange(0, 3).Draw(c.T, "fill")),
		NewestFirst: rapid.Bool().Draw(c.T, "newest window first"), Limit: rapid.SampledFrom([]int{20, 20, 1, 2}).Draw(c.T, "windows"),
	}
	if rapid.Bool().Draw(c.T, "some statistics") {
		o.Fields = []store.Field{}
		for i := range c.layout.Fields {
			if rapid.Bool().Draw(c.T, "summarize") {
				o.Fields = append(o.Fields, store.Field(c.layout.FieldName(&c.layout.Fields[i])))
			}
		}
	}
	if rapid.IntRange(0, 2).Draw(c.T, "group") == 0 {
		o.By = []store.SeriesValue{}
		for i := range c.layout.Series {
			if rapid.Bool().Draw(c.T, "by") {
				o.By = append(o.By, store.SeriesValue(c.layout.Series[i].Name))
			}
		}
	}
	if o.Fill != window.FillNone && (o.NewestFirst || o.Limit == 0) { // without holding a window for each second of years
		width = window.Months(1, zone)
	}
	return width, o
}

// windows compares windows of generated code, in a reflected iterator, with those of package dynamic.
func (c *comparison[S, E, C]) windows(name string, width window.Width, o store.WindowOptions, theirs reflect.Value, ours iter.Seq2[dynamic.Window, error]) {
	next, stop := iter.Pull2(ours)
	defer stop()
	for want, wantErr := range theirs.Seq2() {
		failed, _ := wantErr.Interface().(error)
		got, gotErr, ok := next()
		if !ok || shown(failed) != shown(gotErr) {
			c.Fatalf("%s, %v, %+v: %v, want %v", name, width, o, gotErr, failed)
		}
		if a, b := c.generatedWindow(want, o), c.dynamicWindow(&got, o); gotErr == nil && a != b {
			c.Fatalf("%s, %v, %+v: generated code summarizes\n%s\npackage dynamic summarizes\n%s", name, width, o, a, b)
		}
	}
	if got, err, ok := next(); ok {
		c.Fatalf("%s, %v, %+v: a window too many: %+v, %v", name, width, o, got, err)
	}
}

// generatedWindow returns the text of a window of generated code.
func (c *comparison[S, E, C]) generatedWindow(w reflect.Value, o store.WindowOptions) string {
	common := w.Field(0).Interface().(window.Window)
	out := fmt.Sprintln(common)
	for i := range c.layout.Series {
		if o.By == nil || slices.Contains(o.By, store.SeriesValue(c.layout.Series[i].Name)) {
			out += exact(fromGo(&c.layout.Series[i], w.Field(1).Field(i)))
		}
	}
	for i := range c.layout.Fields {
		f := &c.layout.Fields[i]
		out += "\n" + f.Name
		of := reflect.New(w.Field(2 + i).Type())
		of.Elem().Set(w.Field(2 + i))
		for _, s := range statistics {
			if _, ok := s.Type(f); ok {
				out += " " + s.String() + exact(generatedStatistic(s, f, of))
			}
		}
	}
	return out
}

// statistics are those that are compared.
var statistics = []dynamic.Statistic{
	dynamic.Count, dynamic.First, dynamic.Last, dynamic.FirstTime, dynamic.LastTime, dynamic.Min, dynamic.Max, dynamic.Sum, dynamic.Mean, dynamic.Increase, dynamic.Rate,
	named("p0"), named("p50"), named("p99"), named("p100"),
}

// named returns a statistic by its name.
func named(name string) dynamic.Statistic {
	s, _ := dynamic.ParseStatistic(name)
	return s
}

// generatedStatistic returns what Statistic.Of does, given a pointer to the statistics of a window of
// generated code.
func generatedStatistic(s dynamic.Statistic, f *layout.Field, of reflect.Value) any {
	at := func(name string) reflect.Value { return of.Elem().FieldByName(name) }
	call := func(name string) []reflect.Value { return of.MethodByName(name).Call(nil) }
	count := at("Count").Int()
	first, last := at("FirstTime").Interface().(time.Time), at("LastTime").Interface().(time.Time)
	duration := reflect.New(of.Elem().FieldByName("First").Type()).Type() == reflect.TypeFor[*time.Duration]()
	switch integers := f.Type.Traits().Number != schema.Floating; {
	case integers && s.String() == "p0":
		s = dynamic.Min
	case integers && s.String() == "p100":
		s = dynamic.Max
	}
	if share, err := strconv.ParseFloat(strings.TrimPrefix(s.String(), "p"), 64); err == nil {
		q := of.MethodByName("Quantile").Call([]reflect.Value{reflect.ValueOf(share / 100)})[0].Float()
		switch {
		case q != q:
			return nil
		case duration:
			n, _ := big.NewFloat(math.Round(q)).Int64()
			return time.Duration(n)
		}
		return q
	}
	switch s {
	case dynamic.Count:
		return count
	case dynamic.FirstTime, dynamic.LastTime, dynamic.First, dynamic.Last, dynamic.Min, dynamic.Max, dynamic.Mean:
		if last.IsZero() {
			return nil
		}
	default:
		if count == 0 || s == dynamic.Rate && !call("Since")[0].Interface().(time.Time).Before(last) {
			return nil
		}
	}
	switch s {
	case dynamic.FirstTime:
		return first
	case dynamic.LastTime:
		return last
	case dynamic.First, dynamic.Last, dynamic.Min, dynamic.Max:
		return fromGo(f, at(map[dynamic.Statistic]string{dynamic.First: "First", dynamic.Last: "Last", dynamic.Min: "Min", dynamic.Max: "Max"}[s]))
	case dynamic.Sum:
		sum := call("Sum")
		switch {
		case len(sum) == 2 && !sum[1].IsNil():
			return call("BigSum")[0].Interface()
		case duration:
			return time.Duration(sum[0].Int())
		}
		return sum[0].Interface()
	}
	switch {
	case duration && s == dynamic.Mean:
		return call("RoundedMean")[0].Interface()
	case duration && s == dynamic.Increase:
		increase := call("BigIncrease")[0].Interface().(*big.Int)
		if increase.IsInt64() {
			return time.Duration(increase.Int64())
		}
		return increase
	}
	v := call(map[dynamic.Statistic]string{dynamic.Mean: "Mean", dynamic.Increase: "Increase", dynamic.Rate: "Rate"}[s])[0].Float()
	if duration {
		return v / float64(time.Second)
	}
	return v
}

// dynamicWindow returns the text of a window of package dynamic.
func (c *comparison[S, E, C]) dynamicWindow(w *dynamic.Window, o store.WindowOptions) string {
	out := fmt.Sprintln(w.Window)
	for i, v := range w.Series {
		if o.By == nil || slices.Contains(o.By, store.SeriesValue(c.layout.Series[i].Name)) {
			out += exact(v)
		} else if v != nil {
			c.Fatalf("a window is grouped by %s, and has %v", c.layout.Series[i].Name, v)
		}
	}
	for i := range c.layout.Fields {
		f := &c.layout.Fields[i]
		out += "\n" + f.Name
		for _, s := range statistics {
			if _, ok := s.Type(f); ok {
				out += " " + s.String() + exact(s.Of(w, f, i))
			}
		}
	}
	return out
}

// exact returns the text of a value, with all bits of numbers other than those of NaN.
func exact(v any) string {
	if f, ok := v.(float64); ok && !math.IsNaN(f) {
		return fmt.Sprintf(" %x", f)
	}
	if at, ok := v.(time.Time); ok {
		v = at.UTC()
	}
	return fmt.Sprintf(" %v", v)
}
