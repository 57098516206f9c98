package neighbors_test

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"github.com/google/go-cmp/cmp"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/runtime/scan"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// request matches the request for a subscription: its example of a message, and the body.
var request = regexp.MustCompile(`(?s)For\s+(?:# )?example:\n#\n(.*?)\ncurl .* -X PUT "https://pubsub\.googleapis\.com/v1/projects/\$\{PROJECT:\?\}/subscriptions/[A-Za-z][A-Za-z0-9_]+".*<<'EOF'\n(.*)\nEOF\n$`)

// mapping is the part of the body that says what Pub/Sub writes.
type mapping struct {
	Topic          string
	BigtableConfig struct {
		Table               string
		ColumnFamilyMapping struct {
			DelimitedKey struct {
				KeyFields []string
				Delimiter []byte
			}
		}
	}
}

// TestPubSub checks requests for subscriptions against the published API. Then it writes the example
// message as the comments of the API say that Pub/Sub does, and reads it as the event that it is.
func TestPubSub(t *testing.T) {
	api := facts[struct {
		Subscription, BigtableConfig, ColumnFamilyMapping, DelimitedKey map[string]string
		MaxDelimiter                                                    int
		DataFamily                                                      string
	}](t, "pubsub")
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	subscriptions := 0
	for _, p := range projects(t) {
		for path, text := range p.files {
			id, is := strings.CutPrefix(strings.TrimSuffix(path, ".sh"), "pubsub/")
			if !is {
				continue
			}
			subscriptions++
			parts := request.FindStringSubmatch(text)
			if parts == nil {
				t.Fatalf("%s: no request\n%s", path, text)
			}
			var body map[string]any
			var m mapping
			for _, into := range []any{&body, &m} {
				if err := json.Unmarshal([]byte(parts[2]), into); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
			}
			for _, allowed := range []map[string]string{api.Subscription, api.BigtableConfig, api.ColumnFamilyMapping, api.DelimitedKey} {
				var next map[string]any
				for key, value := range body {
					if allowed[key] != typeOf(value) {
						t.Errorf("%s: %s is %s, want %q", path, key, typeOf(value), allowed[key])
					}
					if object, is := value.(map[string]any); is {
						next = object
					}
				}
				body = next
			}
			key := m.BigtableConfig.ColumnFamilyMapping.DelimitedKey
			if n := len(key.Delimiter); n < 1 || n > api.MaxDelimiter || !strings.HasSuffix(m.BigtableConfig.Table, "/tables/"+id) {
				t.Errorf("%s: %+v", path, m)
			}
			var message map[string]any
			if err := json.Unmarshal([]byte(strings.ReplaceAll(parts[1], "#   ", "")), &message); err != nil {
				t.Fatalf("%s: %v\n%s", path, err, parts[1])
			}
			l, table := tableOf(t, p.layouts, id)
			prefix := "p" + string(rune('a'+subscriptions)) + "-"
			s := dynamic.New(l)
			if _, err := setup.Setup(t.Context(), b.Admin, b.Client, s.Tables(), setup.Options{TablePrefix: prefix}); err != nil {
				t.Fatal(err)
			}
			publish(t, b.Client.Open(prefix+id), message, key.KeyFields, string(key.Delimiter), table, api.DataFamily)
			want := sample.Events(l, table, 1, 0)[0]
			scanners, err := s.NewScanners(b.Client, id, store.ReaderOptions{TablePrefix: prefix})
			if err != nil {
				t.Fatal(err)
			}
			read := 0
			for row, err := range scanners[0].Rows(t.Context(), store.KeyRange{}, time.Time{}, scan.MaxTime) {
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				for _, e := range row.Events {
					read++
					var series []any
					for i := range l.Series {
						series = append(series, sample.SeriesValue(l, table, i))
					}
					if diff := cmp.Diff([]any{series, want.Time.UTC(), want.Values}, []any{e.Series, e.Time.UTC(), e.Values}); diff != "" {
						t.Errorf("%s: (-want +got)\n%s", path, diff)
					}
				}
			}
			if read != 1 {
				t.Errorf("%s: %d events were read", path, read)
			}
		}
	}
	if subscriptions < 3 {
		t.Errorf("only %d subscriptions", subscriptions)
	}
}

// tableOf returns a table with its schema.
func tableOf(t *testing.T, layouts []*layout.Layout, id string) (*layout.Layout, *layout.Table) {
	t.Helper()
	for _, l := range layouts {
		for _, table := range l.Tables {
			if table.ID == id {
				return l, table
			}
		}
	}
	t.Fatal(id)
	return nil, nil
}

// publish writes a message as Pub/Sub does, by the comments of ColumnFamilyMapping: members with the
// names of families are objects with their columns, and others are columns of the data family.
func publish(t *testing.T, table *bigtable.Table, message map[string]any, keyFields []string, delimiter string, of *layout.Table, dataFamily string) {
	t.Helper()
	var parts []string
	for _, name := range keyFields {
		part, is := message[name].(string)
		if !is {
			t.Fatalf("%v has no member %s", message, name)
		}
		parts = append(parts, part)
	}
	now := bigtable.Now()
	mutation := bigtable.NewMutation()
	for name, value := range message {
		family := slices.ContainsFunc(of.Families, func(f layout.Family) bool { return f.Name == name && name != dataFamily })
		switch value := value.(type) {
		case string:
			if family {
				t.Fatalf("%s is a family", name)
			}
			mutation.Set(dataFamily, name, now.TruncateToMilliseconds(), []byte(value))
		case map[string]any:
			if !family {
				t.Fatalf("%s is no family", name)
			}
			for qualifier, value := range value {
				mutation.Set(name, qualifier, now.TruncateToMilliseconds(), []byte(value.(string)))
			}
		}
	}
	if err := table.Apply(t.Context(), strings.Join(parts, delimiter), mutation); err != nil {
		t.Fatal(err)
	}
}
