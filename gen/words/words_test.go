package words

import "testing"

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		Number(0): "0", Number(1.5): "1.50", Number(12): "12", Number(1234.4): "1,234", Number(1e6): "1,000,000",
		Number(1.001): "1", Number(99.999): "100", Number(0.0421): "0.042", Number(1.0 / 86400): "1.2e-5", Number(1.25e15): "1.2e15", Number(999_999_999_999_999): "999,999,999,999,999",
		Count(1.000001, "event", "events"): "1 event", Count(1.0/86400, "event", "events"): "1.2e-5 events",
		Size(1.5e18): "1.50 EB", Size(1.1986e33): "1.2e33 bytes", Sizes(1e17, 2e18): "0.10–2.00 EB", Sizes(1.2e23, 4.5e24): "1.2e23–4.5e24 B", Sizes(0.1, 0.4): "<1 B", Sizes(0.1, 4): "<1–4 B",
		WithArticle("int64"): "an int64", WithArticle("uint64"): "a uint64", WithArticle("enum"): "an enum", WithArticle("bool"): "a bool", WithArticle(""): "a ",
		Count(1, "row", "rows"): "1 row", Count(2, "row", "rows"): "2 rows", Count(0.5, "row", "rows"): "0.50 rows",
		Rate(1): "one event a second", Rate(1.0 / 60): "one event a minute", Rate(2.5): "2.50 events a second", Rate(1.0 / 3600): "one event an hour", Rate(6.0 / 3600): "6 events an hour", Rate(1.0 / 864000): "one event in 10 days",
		Size(999): "999 bytes", Size(1000): "1.00 kB", Size(92_200): "92.2 kB", Size(276_480): "276 kB", Size(2.5e12): "2.50 TB",
		Sizes(92_200, 276_480): "92.2–276 kB", Sizes(900, 1200): "0.90–1.20 kB", Sizes(64, 211.4): "64–211 B", Sizes(8, 8): "8 B",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestShell(t *testing.T) {
	for _, c := range [][3]string{
		{"a", "b", "a=b"}, {"a", "", "a="}, {"", "b", "'=b'"}, {"a b", "c", "'a b=c'"}, {"a", "it's", `'a=it'\''s'`}, {"$x", "", "'$x='"},
	} {
		if got := ShellPair(c[0], c[1]); got != c[2] {
			t.Errorf("%q: %s, want %s", c[:2], got, c[2])
		}
	}
}
