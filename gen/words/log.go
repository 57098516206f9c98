package words

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// Text that CI systems interpret as a command in their log: "::" at the beginning of a
// line, and "##", a name and "[" anywhere. GitHub's commands are matched anywhere, in case
// a system does not check for the beginning of a line.
//
// Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
var (
	commandLine = regexp.MustCompile(`^` + blank + `*::`)
	command     = regexp.MustCompile(`::(add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env|set-output|stop-commands|warning)|##[A-Za-z]*\[`)
)

// blank matches the characters that CI systems skip at the beginning of a line.
const blank = `[\s\v\x{85}\x{feff}\p{Z}]`

// AppendLine appends a line of untrusted text, without its line end, in a form that is safe
// in terminals and in the logs of CI systems: control and bidirectional characters become
// Go escapes, and a backslash breaks up CI commands.
func AppendLine(dst, line []byte) []byte {
	if !bytes.Contains(line, []byte("::")) && !bytes.Contains(line, []byte("##")) {
		return appendSafe(dst, line)
	}
	if at := commandLine.FindIndex(line); at != nil {
		dst, line = append(appendSafe(dst, line[:at[1]-1]), '\\'), line[at[1]-1:]
	}
	for at := command.FindIndex(line); at != nil; at = command.FindIndex(line) {
		dst, line = append(appendSafe(dst, line[:at[0]+1]), '\\'), line[at[0]+1:]
	}
	return appendSafe(dst, line)
}

// LogJSON returns equivalent JSON whose strings contain no CI commands.
func LogJSON(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("::"), []byte(`\u003a\u003a`))
	return bytes.ReplaceAll(text, []byte("##"), []byte(`\u0023\u0023`))
}

// LogHTML returns equivalent HTML whose text contains no CI commands. Scripts and styles
// must not contain any.
func LogHTML(text []byte) []byte {
	text = command.ReplaceAllFunc(text, func(found []byte) []byte {
		return fmt.Appendf(nil, "&#%d;%s", found[0], found[1:])
	})
	return commandInHTML.ReplaceAll(text, []byte("$1&#58;:"))
}

var commandInHTML = regexp.MustCompile(`(?m)^(` + blank + `*)::`)

// appendSafe appends a line with control characters escaped.
func appendSafe(dst, line []byte) []byte {
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = fmt.Appendf(dst, `\x%02x`, line[0])
		case r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029'):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = append(dst, line[:size]...)
		}
		line = line[size:]
	}
	return dst
}
