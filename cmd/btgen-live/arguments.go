package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/value"
)

// parseValues parses the values of inputs: arguments of the form name=text, in any order. A range has
// the form name=from..to, and several values are several arguments. what takes them: the series,
// or a query.
func parseValues(l *layout.Layout, what string, inputs []layout.Input, args []string) (dynamic.Values, error) {
	out, all := make(dynamic.Values, len(inputs)), namesOf(slices.Concat(l.Series, l.Fields))
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		i := slices.IndexFunc(inputs, func(in layout.Input) bool { return in.Of(l).Name == name })
		switch {
		case !ok:
			return nil, fmt.Errorf("%q: want a value of the form name=value; %s takes %s", arg, what, forms(l, inputs))
		case i < 0 && !slices.Contains(all, name):
			return nil, fmt.Errorf("%q: the schema has no value %q; it has %s", arg, name, listed(all))
		case i < 0:
			return nil, fmt.Errorf("%q: %s does not take %s; it takes %s", arg, what, name, forms(l, inputs))
		case out[i] != nil && !inputs[i].Many:
			return nil, fmt.Errorf("%q: the value of %s is given twice", arg, name)
		}
		v, err := parseInput(l, what, &inputs[i], arg, text)
		if err != nil {
			return nil, err
		}
		if inputs[i].Many {
			several, _ := out[i].([]any)
			v = append(several, v)
		}
		out[i] = v
	}
	for i := range inputs {
		if out[i] == nil {
			return nil, fmt.Errorf("the value of %s is missing: %s takes %s", inputs[i].Of(l).Name, what, forms(l, inputs))
		}
	}
	return out, nil
}

// parseInput parses the value of an input, or its range.
func parseInput(l *layout.Layout, what string, in *layout.Input, arg, text string) (any, error) {
	f := in.Of(l)
	if in.Ends() == 1 {
		return parseValue(f, arg, text)
	}
	from, to, ok := strings.Cut(text, "..")
	if !ok || strings.Contains(to, "..") || to == "" {
		return nil, fmt.Errorf("%q: %s takes a range of %s with two ends, the last of which is excluded: write %s=from..to", arg, what, f.Name, f.Name)
	}
	first, err := parseValue(f, arg, from)
	if err != nil {
		return nil, err
	}
	last, err := parseValue(f, arg, to)
	return []any{first, last}, err
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

// forms lists the arguments for inputs.
func forms(l *layout.Layout, inputs []layout.Input) string {
	var out []string
	for i := range inputs {
		out = append(out, inputs[i].Of(l).Name+map[int]string{2: "=from..to"}[inputs[i].Ends()])
	}
	return listed(out)
}

// argumentNames returns the names in arguments, and one that is given several times.
func argumentNames(args []string) (names []string, several string) {
	for _, arg := range args {
		name, _, _ := strings.Cut(arg, "=")
		if slices.Contains(names, name) {
			several = name
			continue
		}
		names = append(names, name)
	}
	return names, several
}

// namesOf returns the names of series values or fields.
func namesOf(fields []layout.Field) (names []string) {
	for i := range fields {
		names = append(names, fields[i].Name)
	}
	return names
}

// listed lists names; none if there are none.
func listed(names []string) string { return cmp.Or(strings.Join(names, ", "), "none") }
