package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// terminal returns both ends of a pseudoterminal: master reads what is written to
// slave.
func terminal(t *testing.T) (master, slave *os.File) {
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
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// TestColor checks that findings are in color only on a terminal and without NO_COLOR.
func TestColor(t *testing.T) {
	schema := filepath.Join(t.TempDir(), "event.yaml")
	if err := os.WriteFile(schema, []byte("btgen: v2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"lint", "explain"} {
		for noColor, want := range map[string]bool{"": true, "1": false} {
			t.Setenv("NO_COLOR", noColor)
			master, slave := terminal(t)
			read := make(chan string)
			go func() {
				text, _ := io.ReadAll(master) // returns an error when the other end is closed
				read <- string(text)
			}()
			if code := run([]string{command, schema}, slave, io.Discard); code != 1 {
				t.Errorf("%s: exit code %d", command, code)
			}
			slave.Close()
			text := <-read
			if colored := strings.Contains(text, "\x1b["); colored != want || !strings.Contains(text, "unknown language version") {
				t.Errorf("%s, NO_COLOR=%q: %q", command, noColor, text)
			}
		}
		var text strings.Builder
		run([]string{command, schema}, &text, io.Discard)
		if strings.Contains(text.String(), "\x1b[") || !strings.Contains(text.String(), "unknown language version") {
			t.Errorf("%s, not to a terminal: %q", command, text.String())
		}
	}
}
