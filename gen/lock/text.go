package lock

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
)

// version is the version of the file format.
const version = 1

// head are the first lines of a file.
var head = fmt.Sprintf(`# btgen.lock v%d: how stored events lie in Bigtable. Written by btgen generate, never edited by hand.
# After a merge conflict, leave the markers in it, resolve the schemas, and run: btgen generate
`, version)

// Text returns the content of the file: one line per fact, sorted by table: first what the table
// stands for, then its layouts. A table ends with a checksum of its lines, so that a hand-edited
// table is detected, while git merges changes of different tables.
func (l *Lock) Text() []byte {
	var b bytes.Buffer
	b.WriteString(head)
	for i := range l.Tables {
		b.WriteByte('\n')
		l.Tables[i].write(&b)
	}
	return b.Bytes()
}

// write writes the lines of a table, with the checksum.
func (t *Table) write(b *bytes.Buffer) {
	begin := b.Len()
	for _, l := range t.lines() {
		b.WriteString(t.Name + "/" + t.Family)
		if l.layout > 0 {
			b.WriteString(" " + itoa(l.layout))
		}
		b.WriteString(" " + l.name)
		for _, word := range l.words {
			b.WriteByte(' ')
			b.WriteString(word)
		}
		b.WriteByte('\n')
	}
	b.WriteString(t.Key() + " sum " + checksum(bytes.TrimSuffix(b.Bytes()[begin:], []byte("\n"))) + "\n")
}

// checksum returns the checksum of the lines of a table.
func checksum(lines []byte) string {
	hash := sha256.Sum256(lines)
	return hex.EncodeToString(hash[:8])
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
	var left, right written
	write(layoutFacts, &a, &left)
	write(layoutFacts, &b, &right)
	return slices.EqualFunc(left.lines, right.lines, func(a, b line) bool { return a.name == b.name && slices.Equal(a.words, b.words) })
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
