package words

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf8"
)

// What CI systems take for a command in their log: what begins with "::" at the
// beginning of a line, and what begins with "##", a name and "[" anywhere. The
// commands of GitHub are broken everywhere, for those who do not look for the
// beginning of a line.
//
// Source: https://docs.github.com/actions/reference/workflow-commands-for-github-actions
var (
	commandLine = regexp.MustCompile(`^` + blank + `*::`)
	command     = regexp.MustCompile(`::(add-mask|add-matcher|add-path|debug|echo|endgroup|error|group|notice|remove-matcher|save-state|set-env|set-output|stop-commands|warning)|##[A-Za-z]*\[`)
)

// blank is what they skip at the beginning of a line.
const blank = `[\s\v\x{85}\x{feff}\p{Z}]`

// AppendLine appends a line of text, without its end, as it may stand in a
// terminal and in the log of a CI system, whoever wrote it: characters that steer
// a terminal or turn the order of others round are written as Go escapes them, and
// a backslash breaks what a CI system would take for a command.
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

// LogJSON returns JSON that has nothing in its texts that a CI system would take for a
// command, and that means the same.
func LogJSON(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("::"), []byte(`\u003a\u003a`))
	return bytes.ReplaceAll(text, []byte("##"), []byte(`\u0023\u0023`))
}

// LogHTML returns HTML that has nothing in its texts that a CI system would take for a
// command, and that means the same. Scripts and styles must have nothing of the kind.
func LogHTML(text []byte) []byte {
	text = command.ReplaceAllFunc(text, func(found []byte) []byte {
		return fmt.Appendf(nil, "&#%d;%s", found[0], found[1:])
	})
	return commandInHTML.ReplaceAll(text, []byte("$1&#58;:"))
}

var commandInHTML = regexp.MustCompile(`(?m)^(` + blank + `*)::`)

// appendSafe appends a line without what steers a terminal.
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
