package diag

// style writes text in color, or plainly.
type style struct{ colored bool }

// paint is a color or a weight, as terminals know them.
type paint string

// What is painted how.
const (
	bold     paint = "1"
	dim      paint = "2"
	pasted   paint = "32"
	wrong    paint = "1;31"
	doubtful paint = "1;33"
	advised  paint = "1;36"
)

// paint is that of a finding of its severity.
func (d Diagnostic) paint() paint {
	return map[Severity]paint{Error: wrong, Warning: doubtful, Advice: advised}[d.Severity]
}

// in paints a text.
func (s style) in(p paint, text string) string {
	if !s.colored || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}
