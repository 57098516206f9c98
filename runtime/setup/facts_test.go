package setup

import "testing"

// TestLayoutsThatContinue compares layouts with later ones whose ends differ: the newest of the
// earlier ones may get an end, and no other end may change.
func TestLayoutsThatContinue(t *testing.T) {
	parse := func(lines ...string) (out layouts) {
		for _, line := range lines {
			f, err := parseFacts(line)
			must(t, err)
			out = append(out, f)
		}
		return out
	}
	for _, c := range []struct {
		what           string
		earlier, later layouts
		grown, ok      bool
	}{
		{"the same", parse("bucket: 1d"), parse("bucket: 1d"), false, true},
		{"an end", parse("bucket: 1d"), parse("bucket: 1d; until: 2027-01-01T00:00:00Z"), true, true},
		{"another end", parse("bucket: 1d; until: 2026-01-01T00:00:00Z"), parse("bucket: 1d; until: 2027-01-01T00:00:00Z"), false, false},
		{"no end", parse("bucket: 1d; until: 2026-01-01T00:00:00Z"), parse("bucket: 1d"), false, false},
		{"an end of the second", parse("bucket: 1d", "bucket: 1w"), parse("bucket: 1d", "bucket: 1w; until: 2027-01-01T00:00:00Z"), false, false},
		{"a newer layout", parse("bucket: 1d"), parse("bucket: 1h", "bucket: 1d; until: 2027-01-01T00:00:00Z"), true, true},
		{"another bucket", parse("bucket: 1d"), parse("bucket: 1w"), false, false},
	} {
		if how, ok := c.later.continues(c.earlier); how.grown() != c.grown || ok != c.ok {
			t.Errorf("%s: grown %v, ok %v", c.what, how.grown(), ok)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
