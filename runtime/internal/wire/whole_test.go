package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// wholeRows returns rows of one cell in the same column.
func wholeRows(n int, value string) []*chunk {
	var rows []*chunk
	for i := range n {
		c := first(fmt.Sprintf("row#%04d", i), "f", "q", int64(i)*1000, value)
		c.RowStatus = commit
		rows = append(rows, c)
	}
	return rows
}

// TestWholeRows reads rows of one cell that arrive together, one of which is different or violates the protocol.
func TestWholeRows(t *testing.T) {
	ordinary, decoded := cannedClient(t), cannedClient(t, wire.DialOption())
	for name, change := range map[string]func(c *chunk){
		"alike":              func(*chunk) {},
		"no time":            func(c *chunk) { c.TimestampMicros = 0 },
		"negative time":      func(c *chunk) { c.TimestampMicros = -1 },
		"largest time":       func(c *chunk) { c.TimestampMicros = 1<<63 - 1 },
		"no value":           func(c *chunk) { c.Value = nil },
		"127 bytes":          func(c *chunk) { c.Value = []byte(strings.Repeat("x", 127)) },
		"128 bytes":          func(c *chunk) { c.Value = []byte(strings.Repeat("x", 128)) },
		"16383 bytes":        func(c *chunk) { c.Value = []byte(strings.Repeat("x", 16383)) },
		"16384 bytes":        func(c *chunk) { c.Value = []byte(strings.Repeat("x", 16384)) },
		"long key":           func(c *chunk) { c.RowKey = []byte("row#0002" + strings.Repeat("x", 120)) },
		"other family":       func(c *chunk) { c.FamilyName = wrapperspb.String("g") },
		"other qualifier":    func(c *chunk) { c.Qualifier = wrapperspb.Bytes([]byte("qq")) },
		"empty qualifier":    func(c *chunk) { c.Qualifier = wrapperspb.Bytes(nil) },
		"label":              func(c *chunk) { c.Labels = []string{"l"} },
		"same key":           func(c *chunk) { c.RowKey = []byte("row#0001") },
		"lower key":          func(c *chunk) { c.RowKey = []byte("row#0000x") },
		"no key":             func(c *chunk) { c.RowKey = nil },
		"no family":          func(c *chunk) { c.FamilyName = nil },
		"no qualifier":       func(c *chunk) { c.Qualifier = nil },
		"no end":             func(c *chunk) { c.RowStatus = nil },
		"reset":              func(c *chunk) { c.RowStatus = reset },
		"value in pieces":    func(c *chunk) { c.ValueSize, c.RowStatus = 100, nil },
		"piece and an end":   func(c *chunk) { c.ValueSize = 100 },
		"end that is no end": func(c *chunk) { *c = chunk{RowStatus: commit} },
	} {
		for _, size := range []int{1, 20, 200} {
			t.Run(fmt.Sprintf("%s/%d", name, size), func(t *testing.T) {
				rows := wholeRows(6, strings.Repeat("v", size))
				change(rows[2])
				message := response(t, rows...)
				same(t, readCanned(ordinary, message), readCanned(decoded, message))
				same(t, readCanned(ordinary, message), readCanned(decoded, each(t, rows...)...))
				for _, cut := range []int{1, 5, 9, 30, len(message) / 2} { // not a message any more
					same(t, readCanned(ordinary, message[:len(message)-cut]), readCanned(decoded, message[:len(message)-cut]))
				}
			})
		}
	}
}
