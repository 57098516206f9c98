// Package assert has what the tests of many packages say.
package assert

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// T is a test, a benchmark or a property.
type T interface {
	Helper()
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

// Must ends the test if there is an error. The context says in which case.
func Must(t T, err error, context ...any) {
	t.Helper()
	if err != nil {
		t.Fatal(append(context, err)...)
	}
}

// Same fails the test if two values differ. The context says in which case.
func Same(t T, want, got any, context ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s(-want +got)\n%s", fmt.Sprintln(context...), diff)
	}
}

// Is fails the test if an error is not the one that is wanted, or nil. The context says in which case.
func Is(t T, want, got error, context ...any) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%sgot error %v, want %v", fmt.Sprintln(context...), got, want)
	}
}

// Contains fails the test if the text of a value, such as an error, lacks a part. The context says in which case.
func Contains(t T, part string, got any, context ...any) {
	t.Helper()
	if text := fmt.Sprint(got); !strings.Contains(text, part) {
		t.Errorf("%s%q lacks %q", fmt.Sprintln(context...), text, part)
	}
}
