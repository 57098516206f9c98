package explain

import (
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// style writes text in color or plain.
type style struct{ colored bool }

// paint is a color or a weight, as an ANSI escape code.
type paint string

const (
	plain   paint = ""
	bold    paint = "1"
	dim     paint = "2"
	chosen  paint = "1;32"
	refused paint = "31"
	warned  paint = "33"
)

// segmentPaints are the colors of the segments of a key, which repeat.
var segmentPaints = []paint{"36", "32", "33", "35", "34"}

// segmentPaint returns the color of the i-th segment.
func segmentPaint(i int) paint { return segmentPaints[i%len(segmentPaints)] }

// in paints a text.
func (s style) in(p paint, text string) string {
	if !s.colored || p == plain || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}

// pad adds spaces to a text, up to some columns.
func pad(text string, to int) string {
	return text + strings.Repeat(" ", max(0, to-words.Width(text)))
}
