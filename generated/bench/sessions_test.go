package main

import (
	"errors"
	"strings"
	"testing"
)

func TestSessionTable(t *testing.T) {
	of := func(line string) *results {
		r, err := parse("BenchmarkRead/case=latest/path=wire-2 5 " + line)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	plain, diverted := of("60000 cpu-ns/event"), of("63000 cpu-ns/event")
	got, err := sessionTable([]string{"plain", "0", "1"}, []*results{plain, plain, diverted})
	if want := []string{"ns/event", "load", "0", "load", "1", "Read/case=latest/path=wire", "60,000", "1.00", "1.05"}; err != nil || strings.Join(strings.Fields(got), " ") != strings.Join(want, " ") {
		t.Errorf("%v\n%s", err, got)
	}
	var missing *missingError
	if _, err := sessionTable([]string{"plain", "1"}, []*results{plain, of("1 ns/op")}); !errors.As(err, &missing) {
		t.Errorf("without the CPU time: %v", err)
	}
}
