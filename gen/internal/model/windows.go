package model

import "time"

// Window summarizes the events of a series in an hour.
type Window struct {
	Start   time.Time
	Events  int64
	Inexact bool // it may lack events that have expired
	Fields  []Statistics
}

// Statistics summarize the values of a field.
type Statistics struct{ Count, Sum, First, Last, Min, Max int64 }

// windowsOf summarizes events, which are in order of time.
func windowsOf(events []Event) []Window {
	var out []Window
	for _, e := range events {
		start := e.Time.Truncate(time.Hour)
		if n := len(out); n == 0 || !out[n-1].Start.Equal(start) {
			out = append(out, Window{Start: start, Fields: make([]Statistics, len(e.Values))})
		}
		w := &out[len(out)-1]
		w.Events++
		for i, v := range e.Values {
			s := &w.Fields[i]
			switch {
			case !e.Has[i]:
				continue
			case s.Count == 0:
				s.First, s.Min, s.Max = v, v, v
			}
			s.Count++
			s.Sum += v
			s.Last, s.Min, s.Max = v, min(s.Min, v), max(s.Max, v)
		}
	}
	return out
}
