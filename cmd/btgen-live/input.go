package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/compress"
	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/words"
)

// repeated returns those of some flags that the command line has, for another one.
func (r *request) repeated(names ...string) (flags []string) {
	for _, name := range names {
		f := r.cmd.Flags().Lookup(name)
		texts := []string{f.Value.String()}
		switch several, _ := f.Value.(pflag.SliceValue); {
		case !f.Changed:
			continue
		case f.Value.Type() == "stringArray":
			texts = several.GetSlice()
		case several != nil: // a line of CSV in brackets
			texts[0] = strings.TrimSuffix(texts[0][1:], "]")
		}
		for _, text := range texts {
			flags = append(flags, "--"+name+" "+words.Shell(text))
		}
	}
	return flags
}

// checkInput checks the flags that describe a file with events, and sets the options of its reader.
func (r *request) checkInput() (err error) {
	o := &r.reader
	if o.Unit = format.Units[r.unit]; r.zoneName != "" {
		o.Zone = r.zone
	}
	if o.Layout != "" {
		if err := format.CheckLayout(o.Layout); err != nil {
			return fmt.Errorf("--time-layout: %w", err)
		}
	}
	if r.instant != "" {
		if o.Time, err = parseInstant("--time", r.instant, ""); err != nil {
			return err
		}
	}
	switch d := strings.Replace(r.delimiter, `\t`, "\t", 1); {
	case len(d) == 1:
		o.CSV.Delimiter = d[0]
	case d != "":
		return fmt.Errorf("--delimiter %q: must be one ASCII character, or \\t", r.delimiter)
	}
	o.CSV.Columns, o.Series, o.Names = r.columns, map[string]string{}, map[string]string{}
	if r.command == "infer" { // whose --series are columns
		return nil
	}
	return r.checkNames()
}

// checkNames parses --map and --series.
func (r *request) checkNames() error {
	for _, c := range r.several {
		name, value, ok := strings.Cut(c, "=")
		if _, twice := r.reader.Series[name]; !ok || value == "" || twice {
			return fmt.Errorf("--series %q: want name=value, once for each name", c)
		}
		r.reader.Series[name] = value
	}
	for _, m := range r.names {
		at := strings.LastIndexByte(m, '=')
		if at < 0 {
			return fmt.Errorf("--map %q: want column=name, or column= to leave the column out", m)
		}
		if _, twice := r.reader.Names[m[:at]]; twice {
			return fmt.Errorf("--map %q: the column %s is mapped twice", m, words.Printable(m[:at]))
		}
		r.reader.Names[m[:at]] = m[at+1:]
	}
	return nil
}

// compressions are the extensions of compressed files, before which that of the format stands.
var compressions = []string{".gz", ".zst"}

// formatOf returns the format of a file: that of --format, or else of the extension.
func (r *request) formatOf(file string) (*format.Format, error) {
	extension := strings.ToLower(filepath.Ext(file))
	if slices.Contains(compressions, extension) {
		extension = strings.ToLower(filepath.Ext(file[:len(file)-len(extension)]))
	}
	switch f := format.FindExtension(extension); {
	case r.format != "":
		return format.Find(r.format), nil
	case f != nil && f.Reads():
		return f, nil
	case extension == ".tsv":
		if r.delimiter == "" {
			r.reader.CSV.Delimiter = '\t'
		}
		return format.Find("csv"), nil
	case extension == "":
		return format.Find("ndjson"), nil
	}
	return nil, fmt.Errorf("its name: the extension %s names no format, and nothing is done: add --format, such as --format csv",
		words.Printable(extension))
}

// inputFormat returns the format of a file, and checks that the flags mean something for it.
func (r *request) inputFormat(in io.Reader, name string) (*format.Format, error) {
	f, err := r.formatOf(name)
	csv := r.reader.CSV.Delimiter != 0 || r.reader.CSV.Nulls != nil || r.reader.CSV.Columns != nil
	switch {
	case err != nil:
		return nil, cmp.Or(format.Foreign(in), err)
	case csv && !f.Cells:
		return nil, errors.New("--delimiter, --columns and --null are for CSV")
	case r.reader.Metric != "" && f.Metric == "":
		return nil, errors.New("--metric is for formats with measurements or metrics")
	}
	return f, nil
}

// openInput returns the input, decompressed, and its name: a file, or stdin.
func (r *request) openInput() (string, io.ReadCloser, error) {
	if len(r.args) == 0 || r.args[0] == "-" {
		in, err := decompressed(io.NopCloser(r.cmd.InOrStdin()))
		return "stdin", in, err
	}
	file, err := os.Open(r.args[0])
	if err != nil {
		return r.args[0], nil, err
	}
	in, err := decompressed(file)
	if err != nil {
		return r.args[0], nil, errors.Join(fmt.Errorf("%s: %w", r.args[0], err), file.Close())
	}
	return r.args[0], in, nil
}

// decompressed returns the text of an input, or the input itself if it is a file that is not compressed.
func decompressed(in io.ReadCloser) (io.ReadCloser, error) {
	begin := make([]byte, compress.MagicBytes)
	n, err := io.ReadFull(in, begin)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return in, err
	}
	text, err := compress.Decompress(begin[:n], in)
	if err != nil || text != nil {
		return readCloser{text, in}, err
	}
	if file, ok := in.(*os.File); ok {
		if _, err := file.Seek(0, io.SeekStart); err == nil {
			return file, nil
		}
	}
	return readCloser{io.MultiReader(bytes.NewReader(begin[:n]), in), in}, nil
}

// readCloser reads from a reader of what it closes.
type readCloser struct {
	io.Reader
	io.Closer
}
