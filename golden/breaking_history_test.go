package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// hidden are the rules of class DATA by which stored rows or cells are not found, or read as
// others: the history of setups refuses them, too. It does not know the rest, such as ages.
var hidden = []string{"E03", "E04", "E05", "E06", "E07", "E08", "E10", "E11", "E16"}

// unseen are the edits that the history takes for safe ones: a type or an enum with fewer values
// looks like what an older build has, and so do fewer TTL classes.
var unseen = []string{"class_removed", "enum_removed", "key_enum_renamed", "key_type_narrower", "type_narrower"}

// TestBreakingHistory sets up each edit after the versions before it. Programs with an edit that
// is safe, or safe in one order of deployment, are set up in any order; an edit that hides stored
// events is refused, and so is the older code after it was allowed.
func TestBreakingHistory(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	for i, e := range testlong.Sample(edits(t), 10) {
		if len(e.beside) > 0 {
			continue // the history has tables, not schemas
		}
		_, c := e.compare(t)
		data, hides := false, false
		for _, f := range c.Findings {
			data = data || f.Rule.Class == evolve.Data
			hides = hides || slices.Contains(hidden, f.Diagnostic.Rule) && !slices.Contains(unseen, e.name)
		}
		t.Run(e.name, func(t *testing.T) {
			refused := func(version int, allow ...string) []string {
				t.Helper()
				tables := dynamic.New(layoutOf(t, e.versions[version])).Tables()
				o := setup.Options{TablePrefix: fmt.Sprintf("e%d_", i), Allow: allow, DryRun: allow == nil}
				plan, err := setup.Setup(t.Context(), b.Admin, b.Client, tables, o)
				if _, unread := errors.AsType[*setup.HistoryError](err); unread || err != nil && allow != nil {
					t.Fatal(err)
				}
				var names []string
				for _, c := range plan.Refused() {
					names = append(names, c.Name())
				}
				return names
			}
			last := len(e.versions) - 1
			for version := range last {
				refused(version, append(refused(version), "none")...)
			}
			layouts := func(names []string) []string {
				return slices.DeleteFunc(names, func(name string) bool { return name[:6] != "older_" && name[:6] != "other_" })
			}
			got := refused(last)
			switch of := layouts(slices.Clone(got)); {
			case hides && len(of) == 0:
				t.Error("not refused")
			case !data && len(of) > 0:
				t.Errorf("refused: %q", of)
			}
			if !data || !hides {
				return
			}
			refused(last, append(got, "none")...)
			if older := layouts(refused(last - 1)); len(older) == 0 {
				t.Error("the older code is not refused")
			}
		})
	}
}

// hinted are edits whose readers come upon rows that they cannot decode, with what the error says
// of the edit. Readers do not come upon rows with another salt, delimiter or order of segments,
// which are outside of their row ranges.
var hinted = map[string]string{
	"bucket_narrower":         "another bucket width or label",
	"bucket_wider":            "another bucket width or label",
	"bucket_months":           "another bucket width or origin",
	"bucket_wider_same_label": "another bucket width or origin",
	"bucket_origin":           "wider with the same label",
	"pattern_to_offsets":      "another precision, bucket width or pattern",
	"precision_offsets":       "another precision, bucket width or pattern",
	"proto_type":              "another type",
	"sequence_added":          "other segments or another delimiter",
	"sequence_in_offsets":     "another precision, bucket width or pattern",
	"time_format":             "another time format",
	"values_text":             "stored as binary",
}

// TestBreakingErrors checks that errors for what was stored before an edit name the edit.
func TestBreakingErrors(t *testing.T) {
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	tried := 0
	for i, e := range edits(t) {
		want := hinted[e.name]
		if want == "" {
			continue
		}
		tried++
		old, new := dynamic.New(layoutOf(t, e.versions[0])), dynamic.New(layoutOf(t, e.versions[1]))
		traffic, ok := dynamictest.NewTraffic(old.Layout())
		if !ok {
			t.Fatal("no events")
		}
		prefix, now := fmt.Sprintf("e%d_", i), func() time.Time { return traffic.Now }
		for _, s := range []*dynamic.Schema{old, new} {
			_, err := setup.Setup(t.Context(), b.Admin, nil, s.Tables(), setup.Options{TablePrefix: prefix, NoHistory: true})
			assert.Must(t, err, e.name)
		}
		events := rapid.Custom(func(rt *rapid.T) []dynamic.Event { return traffic.Events(rt, 8) }).Example(3)
		w := old.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now, SkipExpired: true})
		assert.Must(t, w.WriteAll(t.Context(), events), e.name)
		r := new.NewReader(b.Client, store.ReaderOptions{TablePrefix: prefix, Now: now})
		var errs []string
		for _, event := range events {
			for _, err := range r.Read(t.Context(), dynamic.Series(event.Series), time.Unix(0, 0), traffic.Now.AddDate(1, 0, 0)) {
				if err != nil {
					errs = append(errs, err.Error())
				}
			}
		}
		if !strings.Contains(strings.Join(errs, "\n"), want) {
			t.Errorf("%s: errors %q, want %q", e.name, errs, want)
		}
	}
	if tried != len(hinted) {
		t.Errorf("%d of %d edits exist", tried, len(hinted))
	}
}
