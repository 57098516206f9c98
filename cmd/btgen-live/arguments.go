package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen/dynamic/format"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
)

// parseSeries parses series values of the form name=text, in any order. by has the indexes of
// the values that are expected.
func parseSeries(l *layout.Layout, by []int, args []string) ([]any, error) {
	out := make([]any, len(l.Series))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		i := seriesIndex(l, name)
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want a series value of the form name=value", arg)
		case i < 0:
			return nil, fmt.Errorf("%q: the schema has no series value %q; it has %s", arg, name, seriesNames(l, l.AllSeries()))
		case !slices.Contains(by, i):
			return nil, fmt.Errorf("%q: the query does not take %s; it takes %s", arg, name, seriesNames(l, by))
		case out[i] != nil:
			return nil, fmt.Errorf("%q: the value of %s is given twice", arg, name)
		}
		var err error
		if out[i], err = parseValue(&l.Series[i], arg, text); err != nil {
			return nil, err
		}
	}
	for _, i := range by {
		if out[i] == nil {
			return nil, fmt.Errorf("the value of %s is missing: the series values are %s", l.Series[i].Name, seriesNames(l, by))
		}
	}
	return out, nil
}

// parseValue parses a value of an argument.
func parseValue(f *layout.Field, arg, text string) (any, error) {
	v, err := format.ParseText(f, []byte(text))
	if err == nil {
		err = value.Check(f, v, layout.AllFloats)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w", arg, err)
	}
	return v, nil
}

// several takes the values of a series value that is given several times, and the end of a
// range, from the arguments. It returns arguments with one value for each series value.
func (s *selected) several(l *layout.Layout, args []string) ([]string, error) {
	var out []string
	var allowed []int // may be given several times
	switch {
	case s.of == ofSeries:
		allowed = l.AllSeries()
	case s.of == ofQuery:
		s.many, allowed = s.query.Many, s.query.Many
	}
	given := map[int]bool{} // series values
	for _, arg := range args {
		name, text, _ := strings.Cut(arg, "=")
		i := seriesIndex(l, name)
		if s.of == ofQuery && slices.Contains(s.query.Range, i) {
			low, high, ok := strings.Cut(text, "..")
			if !ok || strings.Contains(high, "..") || text == ".." || high == "" {
				return nil, fmt.Errorf("%q: query %s takes a range of %s with two ends, the last of which is excluded: write %s=from..to", arg, s.query.Name, name, name)
			}
			var err error
			if s.end, err = parseValue(&l.Series[i], arg, high); err != nil {
				return nil, err
			}
			arg = name + "=" + low
		}
		if given[i] && slices.Contains(allowed, i) && (s.many == nil || s.many[0] == i) {
			s.many = []int{i}
			continue
		}
		given[i] = true
		out = append(out, arg)
	}
	if s.many == nil {
		return out, nil
	}
	return out, s.parseMany(l, args)
}

// parseMany parses the values of the series value that is given several times.
func (s *selected) parseMany(l *layout.Layout, args []string) error {
	f := &l.Series[s.many[0]]
	for _, arg := range args {
		if text, ok := strings.CutPrefix(arg, f.Name+"="); ok {
			v, err := parseValue(f, arg, text)
			if err != nil {
				return err
			}
			s.values = append(s.values, v)
		}
	}
	return nil
}

// repeated reports whether a series value is given several times.
func repeated(args []string) bool {
	seen := map[string]bool{}
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if seen[name] {
			return true
		}
		seen[name] = true
	}
	return false
}

// conditions parses the conditions of the query, each of the form field=from..to or field=value.
func (s *selected) conditions(l *layout.Layout, args []string) error {
	if s.of != ofQuery || len(s.query.Where) == 0 {
		if len(args) > 0 {
			return fmt.Errorf("--where %q: only a query with where has conditions: name it with --query", args[0])
		}
		return nil
	}
	var forms []string
	for _, w := range s.query.Where {
		forms = append(forms, "--where "+l.Fields[w.Field].Name+map[bool]string{true: "=value", false: "=from..to"}[w.Equal])
	}
	s.low, s.high = make([]any, len(l.Fields)), make([]any, len(l.Fields))
	for _, arg := range args {
		name, values, _ := strings.Cut(arg, "=")
		k := slices.IndexFunc(s.query.Where, func(w layout.Where) bool { return l.Fields[w.Field].Name == name })
		if k < 0 {
			return fmt.Errorf("--where %q: query %s takes %s", arg, s.query.Name, strings.Join(forms, " "))
		}
		i := s.query.Where[k].Field
		low, high, isRange := strings.Cut(values, "..")
		if s.query.Where[k].Equal {
			low, high = values, values
		} else if !isRange || low == "" || high == "" {
			return fmt.Errorf("--where %q: the condition is a range, and an end is missing: write --where %s=from..to with both ends", arg, name)
		}
		var err error
		if s.low[i], err = format.ParseText(&l.Fields[i], []byte(low)); err != nil {
			return fmt.Errorf("--where %s: %w", name, err)
		}
		if s.high[i], err = format.ParseText(&l.Fields[i], []byte(high)); err != nil {
			return fmt.Errorf("--where %s: %w", name, err)
		}
	}
	if slices.ContainsFunc(s.query.Where, func(w layout.Where) bool { return s.low[w.Field] == nil }) {
		return fmt.Errorf("query %s takes %s", s.query.Name, strings.Join(forms, " "))
	}
	return nil
}

// seriesIndex returns the index of the series value with a name; -1 if there is none.
func seriesIndex(l *layout.Layout, name string) int {
	return slices.IndexFunc(l.Series, func(f layout.Field) bool { return f.Name == name })
}

// seriesNames lists series values of a schema.
func seriesNames(l *layout.Layout, by []int) string {
	var names []string
	for _, i := range by {
		names = append(names, l.Series[i].Name)
	}
	return cmp.Or(strings.Join(names, ", "), "none")
}
