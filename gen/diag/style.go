package diag

// style formats text, with or without colors.
type style struct{ colored bool }

// paint is a parameter of the ANSI escape sequence for colors and weights.
type paint string

// The colors and weights.
const (
	bold     paint = "1"
	dim      paint = "2"
	pasted   paint = "32"
	wrong    paint = "1;31"
	doubtful paint = "1;33"
	advised  paint = "1;36"
)

// paint returns the color of the severity.
func (d Diagnostic) paint() paint {
	return map[Severity]paint{Error: wrong, Warning: doubtful, Advice: advised}[d.Severity]
}

// in returns a text in a color.
func (s style) in(p paint, text string) string {
	if !s.colored || text == "" {
		return text
	}
	return "\x1b[" + string(p) + "m" + text + "\x1b[0m"
}
