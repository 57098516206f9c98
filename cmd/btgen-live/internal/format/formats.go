package format

import (
	"io"
	"slices"
	"strings"
	"time"

	"github.com/btgen-dev/btgen/gen/layout"
)

// Format is a format of events in files. A format that is read scans records, of which one reader makes events. Each
// has a file of its own, whose comments say which documentation its facts are from.
type Format struct {
	Name       string        // of the flag --format
	Title      string        // for people
	Extensions []string      // of files, in lower case, with the dot
	Cells      bool          // whether it is a form of CSV, which ReaderOptions.CSV describes
	Unit       time.Duration // of times; 0 if they are not numbers
	Metric     string        // the series value with the metric or measurement of a line; empty if lines have none
	Rest       string        // the series value with the tags that a schema does not have, as one string
	Typed      bool          // whether the texts of integers and of other numbers differ
	Points     bool          // whether lines with equal series and times are parts of one event
	Objects    bool          // whether records are JSON, from which no schemas are proposed
	Binary     bool          // whether it is no text, and a file without its end is of no use
	cql        bool          // whether it is CSV of cqlsh: with escapes, hexadecimal bytes, and times that are timeuuids

	// NewWriter returns a writer of columns; nil if events are only read.
	NewWriter func(out io.Writer, l *layout.Layout, columns []Column, o WriterOptions) Writer
	// NewScanner returns a scanner of records; nil if events are only written.
	NewScanner func(in io.Reader, o ReaderOptions) (Scanner, error)
}

// formats are all formats of this package, and those that others register. A new one is registered here.
var formats = []*Format{
	&tableFormat, &ndjsonFormat, &csvFormat, &cassandra, &influx, &prometheus, &openMetrics, &openTSDB, &graphite,
}

// Register adds a format of another package. It is to be called by the initialization of that.
func Register(f *Format) { formats = append(formats, f) }

// Formats returns the formats for which a condition holds.
func Formats(is func(f *Format) bool) []*Format {
	return slices.DeleteFunc(slices.Clone(formats), func(f *Format) bool { return !is(f) })
}

// Names returns the names of the formats for which a condition holds.
func Names(is func(f *Format) bool) (out []string) {
	for _, f := range Formats(is) {
		out = append(out, f.Name)
	}
	return out
}

// Find returns the format with a name; nil if there is none.
func Find(name string) *Format {
	if i := slices.IndexFunc(formats, func(f *Format) bool { return f.Name == name }); i >= 0 {
		return formats[i]
	}
	return nil
}

// FindExtension returns the format of files with an extension, such as .csv; nil if there is none.
func FindExtension(extension string) *Format {
	has := func(f *Format) bool { return slices.Contains(f.Extensions, strings.ToLower(extension)) }
	if i := slices.IndexFunc(formats, has); i >= 0 {
		return formats[i]
	}
	return nil
}

// Reads reports whether events can be read.
func (f *Format) Reads() bool { return f.NewScanner != nil }

// Writes reports whether events can be written.
func (f *Format) Writes() bool { return f.NewWriter != nil }

// Scans reports whether the format has a scanner for proposals of schemas.
func (f *Format) Scans() bool { return f.Reads() && !f.Objects && !f.Binary }

// Scan returns a scanner of the records of the format, of which Scans must be true. Errors are those
// of options, and of [HeaderError].
func (f *Format) Scan(in io.Reader, o ReaderOptions) (Scanner, error) {
	o.CSV.cql = f.cql
	s, err := f.NewScanner(in, o)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	if columns, ok := s.(ColumnScanner); ok {
		for _, name := range columns.Names() {
			if seen[name] {
				return nil, HeaderError(name, ErrTwice)
			}
			seen[name] = true
		}
	}
	return s, nil
}
