package format

import (
	"io"
	"time"

	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/gen/layout"
)

// WriterOptions say for whom a [Writer] writes text.
type WriterOptions struct {
	Width       int  // of the terminal in characters; 0 for any
	Color       bool // use ANSI colors
	Interactive bool // somebody waits for each event
}

// Writer writes events.
type Writer interface {
	// Write writes an event, at once or with later ones.
	Write(e *dynamic.Event) error
	// Close writes what is left, and the end of the file.
	Close() error
}

// encoded returns the NewWriter of a format of lines.
func encoded(encoder func(columns []Column) Encoder) func(io.Writer, *layout.Layout, []Column, WriterOptions) Writer {
	return func(out io.Writer, _ *layout.Layout, columns []Column, o WriterOptions) Writer {
		return newTextWriter(out, encoder(columns), o)
	}
}

const (
	maxText    = 128 << 10              // maximum size of text in memory, apart from the last event
	flushEvery = 100 * time.Millisecond // if somebody waits
)

// textWriter writes events as text.
type textWriter struct {
	encoder     Encoder
	out         io.Writer
	text        []byte // that is not written
	written     time.Time
	interactive bool
}

func newTextWriter(out io.Writer, encoder Encoder, o WriterOptions) *textWriter {
	return &textWriter{encoder: encoder, out: out, text: encoder.Begin(nil), interactive: o.Interactive}
}

func (t *textWriter) Write(e *dynamic.Event) error {
	t.text = t.encoder.Append(t.text, e)
	if len(t.text) < maxText && !(t.interactive && time.Since(t.written) > flushEvery) {
		return nil
	}
	return t.flush()
}

func (t *textWriter) Close() error {
	t.text = t.encoder.End(t.text)
	return t.flush()
}

// flush writes the text.
func (t *textWriter) flush() error {
	_, err := t.out.Write(t.text)
	t.text, t.written = t.text[:0], time.Now()
	return err
}

// Hidden returns the names of the columns that a writer has left out; see [Table.Hidden].
func Hidden(w Writer) []string {
	if t, is := w.(*textWriter); is {
		if table, is := t.encoder.(*Table); is {
			return table.Hidden()
		}
	}
	return nil
}
