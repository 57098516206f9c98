package words

import (
	"bytes"
	"fmt"
	"regexp"
	"unicode"
	"unicode/utf16"
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
// in the logs of CI systems: hidden characters become Go escapes, and a backslash breaks up CI
// commands.
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

// LogJSON returns equivalent JSON whose strings contain neither CI commands nor characters that
// are hidden.
func LogJSON(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte("::"), []byte(`\u003a\u003a`))
	return EscapeJSON(bytes.ReplaceAll(text, []byte("##"), []byte(`\u0023\u0023`)))
}

// EscapeJSON returns equivalent JSON in which hidden characters are escaped; see [Hidden].
func EscapeJSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, hiddenInLines) {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !hiddenInLines(r):
			out = append(out, text[:size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		text = text[size:]
	}
	return out
}

// LogHTML returns equivalent HTML whose text contains neither CI commands nor characters that
// are hidden in its source. Scripts and styles must not contain any.
func LogHTML(text []byte) []byte {
	text = command.ReplaceAllFunc(text, func(found []byte) []byte {
		return fmt.Appendf(nil, "&#%d;%s", found[0], found[1:])
	})
	text = commandInHTML.ReplaceAll(text, []byte("$1&#58;:"))
	if !bytes.ContainsFunc(text, hiddenInLines) {
		return text
	}
	var out []byte
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case !hiddenInLines(r):
			out = append(out, text[:size]...)
		case r >= 0x80 && r < 0xa0: // HTML takes such a number for another character
			out = append(out, "\ufffd"...)
		default:
			out = fmt.Appendf(out, "&#%d;", r)
		}
		text = text[size:]
	}
	return out
}

var commandInHTML = regexp.MustCompile(`(?m)^(` + blank + `*)::`)

// Hidden reports whether a character can steer a terminal or hide what a text says: control
// characters other than tabs, separators of lines and paragraphs, and the invisible characters
// of Unicode's class Cf, among them those that change the direction or have no width.
func Hidden(r rune) bool {
	if r < utf8.RuneSelf {
		return r < ' ' && r != '\t' || r == '\x7f'
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp)
}

// hiddenInLines is Hidden for a text of several lines.
func hiddenInLines(r rune) bool { return r != '\n' && Hidden(r) }

// appendSafe appends a line with hidden characters escaped.
func appendSafe(dst, line []byte) []byte {
	for len(line) > 0 {
		r, size := utf8.DecodeRune(line)
		switch {
		case r == utf8.RuneError && size == 1:
			dst = fmt.Appendf(dst, `\x%02x`, line[0])
		case r > 0xffff && Hidden(r):
			dst = fmt.Appendf(dst, `\U%08x`, r)
		case Hidden(r):
			dst = fmt.Appendf(dst, `\u%04x`, r)
		default:
			dst = append(dst, line[:size]...)
		}
		line = line[size:]
	}
	return dst
}

// colors matches the escape sequences for colors and weights that this module prints, and
// none that hide text.
var colors = regexp.MustCompile(`\x1b\[(?:0|1|2|(?:1;)?3[1-6])m`)

// AppendTerminal appends a line of untrusted text, without its line end, for a terminal: hidden
// characters become Go escapes. With colored, escape sequences for colors stay.
func AppendTerminal(dst, line []byte, colored bool) []byte {
	for colored {
		at := colors.FindIndex(line)
		if at == nil {
			break
		}
		dst = append(appendSafe(dst, line[:at[0]]), line[at[0]:at[1]]...)
		line = line[at[1]:]
	}
	return appendSafe(dst, line)
}
