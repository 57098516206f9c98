// Package termtest lets tests run commands on a terminal, and checks what the terminal gets.
// The package is only for tests.
package termtest

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"
	"unsafe"
)

// Open returns a pseudoterminal, and a function that closes it and returns what was written to
// it. It skips the test where there are no terminals.
func Open(t testing.TB) (terminal *os.File, end func() string) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { master.Close() })
	var n, unlock uint32
	for _, call := range []struct {
		request uintptr
		value   *uint32
	}{{syscall.TIOCSPTLCK, &unlock}, {syscall.TIOCGPTN, &n}} {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, master.Fd(), call.request, uintptr(unsafe.Pointer(call.value))); errno != 0 {
			t.Skip("no terminals here: ", errno)
		}
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { terminal.Close() })
	read := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(master) // returns an error when the other end is closed
		read <- string(text)
	}()
	return terminal, func() string {
		terminal.Close()
		return strings.ReplaceAll(<-read, "\r\n", "\n") // the terminal adds returns
	}
}

// Hostile is a text that steers terminals and hides what it says: it sets the title, clears the
// screen, hides text, starts a sequence with a single byte of C1, changes the direction, and has
// characters without width.
const Hostile = "x\x1b]0;title\x07\x1b[2J\x1b[8m\u009b35m\x7f\u202e\u2066\u061c\u200b\u00ad\ufeff\u2028\u2029\U000e0041\ry"

// own matches the escape sequences that the commands print themselves: of colors and weights, and
// of a line that is drawn again.
var own = regexp.MustCompile(`\x1b\[(0|1|2|(1;)?3[1-6])m|\r|\x1b\[K`)

// Check fails if a text has characters that steer a terminal or are hidden, other than those of
// the commands themselves.
func Check(t testing.TB, what, text string) {
	t.Helper()
	text = own.ReplaceAllString(text, "")
	if !utf8.ValidString(text) {
		t.Errorf("%s: bytes that are not UTF-8 in %q", what, text)
	}
	for at, r := range text {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp) {
			t.Errorf("%s: %q in %q", what, r, text[max(0, at-60):min(len(text), at+60)])
			return
		}
	}
}

// Commands returns the arguments of the commands in a file, one command a line. $H becomes [Hostile], and
// others become their replacements.
func Commands(t testing.TB, file string, replacements ...string) (out [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	replacer := strings.NewReplacer(append(replacements, "$H", Hostile)...)
	for line := range strings.Lines(string(text)) {
		args := strings.Fields(line)
		for i := range args {
			args[i] = replacer.Replace(args[i])
		}
		out = append(out, args)
	}
	return out
}
