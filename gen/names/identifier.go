package names

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/btgen-dev/btgen/gen/words"
)

// initialisms are written in capitals, as Go does.
var initialisms = map[string]bool{
	"api": true, "ascii": true, "cpu": true, "css": true, "db": true, "dns": true, "eof": true, "gc": true,
	"gpu": true, "guid": true, "html": true, "http": true, "https": true, "id": true, "io": true, "ip": true,
	"json": true, "lhs": true, "os": true, "qps": true, "ram": true, "rhs": true, "rpc": true, "sla": true,
	"smtp": true, "sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true,
	"uid": true, "uri": true, "url": true, "utc": true, "utf8": true, "uuid": true, "vm": true, "xml": true,
}

// Exported returns the exported Go name: balloon_id is BalloonID.
func Exported(name string) string {
	var b strings.Builder
	b.Grow(len(name))
	for _, w := range words.Split(name) {
		if initialisms[strings.ToLower(w)] {
			b.WriteString(strings.ToUpper(w))
			continue
		}
		first, size := utf8.DecodeRuneInString(w)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(w[size:])
	}
	return b.String()
}

// unexported returns the unexported form of a name: BalloonCells becomes balloonCells,
// and IDTable becomes idTable.
func unexported(name string) string {
	r := []rune(name)
	for i := range r {
		if i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) || !unicode.IsUpper(r[i]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}

// join joins two names. If suffix begins with the last word of name, in the singular or
// plural, the word occurs only once: UsageClasses and Class become UsageClass.
func join(name, suffix string) string {
	last, first := words.Split(name), words.Split(suffix)
	if len(last) < 2 || len(first) == 0 {
		return name + suffix
	}
	word := last[len(last)-1]
	for _, ending := range []string{"", "s", "es"} {
		if strings.EqualFold(word, first[0]+ending) || strings.EqualFold(word+ending, first[0]) {
			return strings.TrimSuffix(name, word) + suffix
		}
	}
	return name + suffix
}

// upperSnake returns a name in the form of protobuf enum values: a-b becomes A_B.
func upperSnake(name string) string { return strings.ToUpper(words.Snake(name)) }
