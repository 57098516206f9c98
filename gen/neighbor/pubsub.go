package neighbor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
	"github.com/btgen-dev/btgen/gen/sample"
	"github.com/btgen-dev/btgen/gen/schema"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// subscription is the part of a Subscription of Pub/Sub's REST API that is generated.
type subscription struct {
	Topic          string         `json:"topic"`
	BigtableConfig bigtableConfig `json:"bigtableConfig"`
}

// bigtableConfig is a BigtableConfig.
type bigtableConfig struct {
	Table               string              `json:"table"`
	AppProfileID        string              `json:"appProfileId,omitempty"`
	ColumnFamilyMapping columnFamilyMapping `json:"columnFamilyMapping"`
}

// columnFamilyMapping is a ColumnFamilyMapping: messages are JSON objects. A member with the name of
// a family is an object with the columns of that family; others are columns of dataFamily. All cells
// have the publish time as their timestamp.
type columnFamilyMapping struct {
	DelimitedKey delimitedKey `json:"delimitedKey"`
}

// delimitedKey is a DelimitedKey: the row key is made of members of the message.
type delimitedKey struct {
	KeyFields []string `json:"keyFields"`
	Delimiter []byte   `json:"delimiter,omitempty"`
}

// dataFamily is the family for members of messages that do not name one.
const dataFamily = "data"

// pubSub renders the subscriptions.
func (r *renderer) pubSub() {
	live := r.live()
	for _, topic := range r.config.PubSub.Topics {
		i := slices.IndexFunc(live, func(t layout.StoredTable) bool { return t.ID == topic.Table.V })
		if i < 0 {
			r.noTable(topic.Table, live)
			continue
		}
		t := &live[i]
		if reasons := misfits(t); len(reasons) > 0 {
			for _, m := range reasons {
				r.found.Errorf(topic.Table.Pos, "table %q does not fit Pub/Sub: %s", t.ID, m.reason).Hint = m.hint
			}
			continue
		}
		r.add("pubsub/"+t.ID+".sh", recordOf(*t).HeadIn(output.Shell), r.subscriptionText(t, topic.Name))
	}
}

// noTable reports a table that does not exist.
func (r *renderer) noTable(id schema.Value[string], live []layout.StoredTable) {
	var ids []string
	for _, t := range live {
		ids = append(ids, t.ID)
	}
	d := r.found.Errorf(id.Pos, "pubsub: there is no table %q, or it is a draft", id.V)
	if near, ok := diag.Nearest(id.V, ids); ok {
		d.Hint = "did you mean " + diag.Code(near) + "?"
	}
}

// misfit is a reason why Pub/Sub cannot write the events of a table, and what to change.
type misfit struct{ reason, hint string }

// misfits returns all reasons why Pub/Sub cannot write the events of a table.
func misfits(stored *layout.StoredTable) []misfit {
	if len(stored.Layouts) > 1 {
		return []misfit{{"it has several layouts, and a subscription has one mapping", "use a table of its own"}}
	}
	l, t := stored.Layouts[0].Schema, stored.Layouts[0].Table
	var out []misfit
	add := func(is bool, reason, hint string) {
		if is {
			out = append(out, misfit{reason, hint})
		}
	}
	add(t.Pattern.Bucketed() || t.Metrics(), "a message becomes a row, and its rows are not single events", "use `pattern: single_unserialized`")
	add(t.Pattern.Naming() != codec.NamedByField, "columns are named after members of messages, and not after values or times", "use `pattern: single_unserialized`")
	add(slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Life.Timestamp != codec.TimestampWrite }),
		"timestamps are times of publication, and not those of events or expiries", "write `from: write`, as in `ttl: {max_age: 30d, from: write}`")
	add(!slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == dataFamily }),
		"it has no family data, which also gets the parts of the row key", "write `family: data`")
	add(t.Delimiter == "", "its key has no delimiter to join the members of a message", "write `delimiter: \"#\"`")
	add(len(t.Delimiter) > maxPubSubDelimiter, fmt.Sprintf("Pub/Sub has delimiters of up to %d characters", maxPubSubDelimiter), "write `delimiter: \"#\"`")
	for i := range t.Segments {
		g := &t.Segments[i]
		what := g.Title()
		add(g.Joined, what+" has no delimiter after it, and Pub/Sub writes one", "")
		add(g.Kind == codec.SaltSegment, "publishers would have to compute the salt", "remove it from the key")
		add(g.Form.Escape, what+" is escaped, and Pub/Sub does not escape", "remove escape, or write encoding: hex")
		add(t.InBytes(g) || g.Form.Encoding == codec.KeyRaw, what+" is binary, and members of messages are text", "write it as text, for example with encoding: hex")
	}
	var binary []string
	for i := range t.Columns {
		if !isText(l, t, &t.Columns[i]) {
			binary = append(binary, strconv.Quote(t.Columns[i].Qualifier))
		}
	}
	add(binary != nil, "members of messages are text, and these columns are binary: "+words.List(binary, "and"), "write `values: text`, or `blob: {format: json}` for serialized events")
	return out
}

// maxPubSubDelimiter is the maximum length of a delimiter, by the comments of DelimitedKey.
const maxPubSubDelimiter = 50

// isText reports whether a column has text, by a name that is text. The documentation does not say how
// Pub/Sub writes numbers, so that members of messages are strings.
func isText(l *layout.Layout, t *layout.Table, c *layout.Column) bool {
	text := c.Values.Text()
	switch {
	case c.Field == layout.WholeEvent:
		text = t.Blob == layout.JSONText
	case c.Field >= 0:
		typ := l.Fields[c.Field].Type
		text = text || typ == schema.String || typ == schema.JSON
	}
	return text && utf8.ValidString(c.Qualifier)
}

// keyMembers returns the names of the members with the parts of the row key. They differ from
// families and columns.
func keyMembers(t *layout.Table) []string {
	var out []string
	for i := range t.Segments {
		name := words.Identifier(t.Segments[i].Title())
		out = append(out, words.Free(name, func(name string) bool {
			return slices.Contains(out, name) ||
				slices.ContainsFunc(t.Families, func(f layout.Family) bool { return f.Name == name }) ||
				slices.ContainsFunc(t.Columns, func(c layout.Column) bool { return c.Qualifier == name })
		}))
	}
	return out
}

// subscriptionText renders the request for a subscription.
func (r *renderer) subscriptionText(t *layout.StoredTable, topic string) string {
	l, table := t.Layouts[0].Schema, t.Layouts[0].Table
	members := keyMembers(table)
	s := subscription{topic, bigtableConfig{
		Table: r.config.PubSub.Instance + "/tables/" + t.ID, AppProfileID: r.config.PubSub.AppProfile,
		ColumnFamilyMapping: columnFamilyMapping{delimitedKey{members, []byte(table.Delimiter)}},
	}}
	id := words.Identifier(t.ID) + "_to_bigtable"
	var b strings.Builder
	b.WriteString(comment("#", "A subscription of Pub/Sub that writes messages to table %s, as events of %s. To create it, run this file:", t.ID, l.Name))
	fmt.Fprintf(&b, "#\n#   PROJECT=my-project sh %s.sh\n#\n", t.ID)
	b.WriteString(comment("#", "Messages are JSON, and all members are strings. Members %s are the row key, in this form; a message without one of them is not written. Omit optional fields that an event lacks. For example:", words.List(members, "and")))
	b.WriteString("#\n")
	for _, line := range strings.Split(message(l, table, members), "\n") {
		b.WriteString("#   " + line + "\n")
	}
	fmt.Fprintf(&b, "curl --fail-with-body -X PUT \"https://pubsub.googleapis.com/v1/projects/${PROJECT:?}/subscriptions/%s\" \\\n"+
		"  -H \"Authorization: Bearer $(gcloud auth print-access-token)\" -H \"Content-Type: application/json\" --data-binary @- <<'EOF'\n%s\nEOF\n", id, indented(s))
	return b.String()
}

// message returns the example event of a table as a message.
func message(l *layout.Layout, t *layout.Table, members []string) string {
	out := map[string]any{}
	rows := sample.Rows(l, t, sample.Events(l, t, 1, 0))
	if len(rows) == 0 {
		return "{}"
	}
	for i, part := range rows[0].Parts {
		out[members[i]] = part.Bytes
	}
	for _, c := range rows[0].Cells {
		family := t.Families[c.Family].Name
		if family == dataFamily {
			out[c.Qualifier] = string(c.Value)
			continue
		}
		of, _ := out[family].(map[string]any)
		if of == nil {
			of = map[string]any{}
			out[family] = of
		}
		of[c.Qualifier] = string(c.Value)
	}
	return indented(out)
}

// indented renders a value as JSON.
func indented(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(v) // strings
	return strings.TrimSpace(string(words.EscapeJSON(b.Bytes())))
}
