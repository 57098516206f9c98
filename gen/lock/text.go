package lock

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
)

// version is the version of the file format.
const version = 2

// head are the first lines of a file.
var head = fmt.Sprintf(`# btgen.lock v%d: how stored events lie in Bigtable. Written by btgen generate, never edited by hand.
# Keep all lines: those of both sides in a merge, with the markers of a conflict. Resolve the schemas, and run: btgen generate
`, version)

// Text returns the content of the file: one line per fact, sorted by table and by epoch.
func (l *Lock) Text() []byte {
	if len(l.Epochs) == 0 {
		l = l.Next(l.Tables)
	}
	lines := map[string][]string{}
	for _, e := range l.Epochs {
		for k := range e.Changes {
			c := &e.Changes[k]
			if len(e.follows) > 0 && (k == 0 || e.Changes[k-1].Table != c.Table) {
				lines[c.Table] = append(lines[c.Table], e.ID+" after "+strings.Join(e.follows, " "))
			}
			lines[c.Table] = append(lines[c.Table], e.ID+c.sign()+c.Fact)
		}
	}
	var b bytes.Buffer
	b.WriteString(head)
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		b.WriteByte('\n')
		for _, line := range lines[key] {
			b.WriteString(key + " " + line + "\n")
		}
	}
	return b.Bytes()
}

// showDefault returns the default of a field as text.
func showDefault(f *layout.Field) string {
	switch v := f.Default.(type) {
	case []byte:
		return hex.EncodeToString(v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case time.Duration:
		return v.String()
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return fmt.Sprint(f.Default)
}

// Equal reports whether two sets of facts are the same, apart from their numbers and
// acceptances.
func (l *Layout) Equal(o *Layout) bool {
	a, b := *l, *o
	a.Accepted, b.Accepted = nil, nil
	return slices.Equal(write(layoutFacts, &a, ""), write(layoutFacts, &b, ""))
}

// Line returns the number of the first line of a table in the content of a file; 0 if there is
// none.
func Line(text []byte, t *Table) int {
	prefix := []byte("\n" + t.Key() + " ")
	i := bytes.Index(text, prefix)
	if i < 0 {
		return 0
	}
	return bytes.Count(text[:i], []byte("\n")) + 2
}
