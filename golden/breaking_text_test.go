package golden

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/dynamictest"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

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
			if _, err := setup.Setup(t.Context(), b.Admin, nil, s.Tables(), setup.Options{TablePrefix: prefix, NoHistory: true}); err != nil {
				t.Fatal(e.name, err)
			}
		}
		events := rapid.Custom(func(rt *rapid.T) []dynamic.Event { return traffic.Events(rt, 8) }).Example(3)
		w := old.NewWriter(b.Client, store.WriterOptions{TablePrefix: prefix, Now: now, SkipExpired: true})
		if err := w.WriteAll(t.Context(), events); err != nil {
			t.Fatal(e.name, err)
		}
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
