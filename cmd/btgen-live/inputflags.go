package main

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/words"
)

// inputFlags are the flags that describe events in a file.
type inputFlags struct {
	format                string
	names                 []string
	columns               []string
	delimiter, unit, zone string
	at                    string
	constants             []string
	reader                format.ReaderOptions
}

// given returns the flags of a command that a command that loads the same file needs, too.
func (i *inputFlags) given(cmd *cobra.Command) []string {
	flags := repeated(cmd, "time-unit", "zone", "time-layout", "delimiter")
	for _, text := range i.reader.CSV.Nulls {
		flags = append(flags, "--null "+words.Shell(text))
	}
	if i.columns != nil {
		flags = append(flags, "--columns "+words.Shell(commaSeparated(i.columns)))
	}
	return flags
}

// repeated returns those of some flags that a command line has, for another one.
func repeated(cmd *cobra.Command, names ...string) (flags []string) {
	for _, name := range names {
		if f := cmd.Flags().Lookup(name); f.Changed {
			flags = append(flags, "--"+name+" "+words.Shell(f.Value.String()))
		}
	}
	return flags
}

// commaSeparated returns names as flags that are lists take them: a line of CSV.
func commaSeparated(names []string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write(names) // to memory
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// formatsText describes the formats, one per line, for the help of commands.
func formatsText() string {
	var b strings.Builder
	for _, f := range format.Formats((*format.Format).Reads) {
		of := ""
		if f.Extensions != nil {
			of = " (" + strings.Join(f.Extensions, ", ") + ")"
		}
		fmt.Fprintf(&b, "  %-12s %s%s\n", f.Name, f.Title, of)
	}
	return b.String()
}

// add adds the flags to a command.
func (i *inputFlags) add(cmd *cobra.Command) {
	cli.Exclusive(cmd, "--time-layout is for times that are texts, and --time-unit for numbers", "time-layout", "time-unit")
	cli.Before(cmd, func(*cobra.Command, []string) error { return i.check() })
	formats := format.Names((*format.Format).Reads)
	cmd.Flags().Var(oneOf(&i.format, "", formats), "format", words.List(formats, "or")+"; by default that of the extension of the file, or ndjson")
	cmd.Flags().StringVar(&i.reader.Metric, "metric", "", "read only lines of this `metric`, or measurement")
	cmd.Flags().Var(oneOf(&i.unit, "", slices.Sorted(maps.Keys(format.Units))), "time-unit", "`unit` of times that are numbers: s, ms, us, ns, m or h")
	cmd.Flags().StringVar(&i.reader.Layout, "time-layout", "", "how the file writes January 2, `2006`, 15:04:05, for other times than those in RFC 3339 and the like: such as '1/2/2006 15:04'")
	cmd.Flags().StringVar(&i.zone, "zone", "", "time `zone` of times without an offset, such as UTC or Europe/Berlin")
	cmd.Flags().StringVar(&i.delimiter, "delimiter", "", "`character` between the cells of CSV, such as ';' or '\\t'; by default a comma")
	cmd.Flags().StringSliceVar(&i.columns, "columns", nil, "`names` of the columns of CSV without a header")
	cmd.Flags().StringArrayVar(&i.reader.CSV.Nulls, "null", nil, "`text` of missing values in CSV, besides empty cells; several are allowed")
}

// addWritten adds flags that only commands with a schema have.
func (i *inputFlags) addWritten(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&i.names, "map", nil, "`column=name`: the column of the file is the value of the schema; without a name, it is left out; tag:column or field:column tells two of a line apart")
	cmd.Flags().StringArrayVar(&i.constants, "series", nil, "`name=value`: the value of the series of events without one, such as source=nyc")
	cmd.Flags().StringVar(&i.at, "time", "", "`time` of events without one, such as 2021-03-05T12:00:00Z")
	cmd.Flags().BoolVar(&i.reader.IgnoreUnknown, "ignore-unknown", false, "ignore values that the schema does not have")
}

// check checks the flags, and sets the options of readers.
func (i *inputFlags) check() (err error) {
	i.reader.Unit = format.Units[i.unit]
	if i.reader.Layout != "" {
		if err := format.CheckLayout(i.reader.Layout); err != nil {
			return fmt.Errorf("--time-layout: %w", err)
		}
	}
	if i.zone != "" {
		if i.reader.Zone, err = parseZone("--zone", i.zone); err != nil {
			return err
		}
	}
	if i.at != "" {
		if i.reader.Time, err = parseInstant("--time", i.at, anInstant); err != nil {
			return err
		}
	}
	switch d := strings.Replace(i.delimiter, `\t`, "\t", 1); {
	case len(d) == 1:
		i.reader.CSV.Delimiter = d[0]
	case d != "":
		return fmt.Errorf("--delimiter %q: must be one ASCII character, or \\t", i.delimiter)
	}
	i.reader.CSV.Columns = i.columns
	return i.mapped()
}

// mapped parses --map and --series.
func (i *inputFlags) mapped() error {
	i.reader.Series = map[string]string{}
	for _, c := range i.constants {
		name, value, ok := strings.Cut(c, "=")
		if _, twice := i.reader.Series[name]; !ok || value == "" || twice {
			return fmt.Errorf("--series %q: want name=value, once for each name", c)
		}
		i.reader.Series[name] = value
	}
	i.reader.Names = map[string]string{}
	for _, m := range i.names {
		at := strings.LastIndexByte(m, '=')
		if at < 0 {
			return fmt.Errorf("--map %q: want column=name, or column= to leave the column out", m)
		}
		if _, twice := i.reader.Names[m[:at]]; twice {
			return fmt.Errorf("--map %q: the column %s is mapped twice", m, words.Printable(m[:at]))
		}
		i.reader.Names[m[:at]] = m[at+1:]
	}
	return nil
}

// compressions are the extensions of compressed files, before which that of the format stands.
var compressions = []string{".gz", ".zst"}

// formatOf returns the format of a file: that of --format, or else of the extension.
func (i *inputFlags) formatOf(file string) (*format.Format, error) {
	extension := strings.ToLower(filepath.Ext(file))
	if slices.Contains(compressions, extension) {
		extension = strings.ToLower(filepath.Ext(file[:len(file)-len(extension)]))
	}
	switch f := format.FindExtension(extension); {
	case i.format != "":
		return format.Find(i.format), nil
	case f != nil && f.Reads():
		return f, nil
	case extension == ".tsv":
		if i.delimiter == "" {
			i.reader.CSV.Delimiter = '\t'
		}
		return format.Find("csv"), nil
	case extension == "":
		return format.Find("ndjson"), nil
	}
	return nil, fmt.Errorf("its name: the extension %s names no format, and nothing is done: add --format, such as --format csv", words.Printable(extension))
}

// choose returns the format of a file, and checks that the flags mean something for it.
func (i *inputFlags) choose(in io.Reader, name string) (*format.Format, error) {
	f, err := i.formatOf(name)
	csv := i.reader.CSV.Delimiter != 0 || i.reader.CSV.Nulls != nil || i.reader.CSV.Columns != nil
	switch {
	case err != nil:
		return nil, cmp.Or(format.Foreign(in), err)
	case csv && !f.Cells:
		return nil, errors.New("--delimiter, --columns and --null are for CSV")
	case i.reader.Metric != "" && f.Metric == "":
		return nil, errors.New("--metric is for formats with measurements or metrics")
	}
	return f, nil
}

// open returns a reader of the events of a schema in a file.
func (i *inputFlags) open(in io.Reader, name string, l *layout.Layout) (format.Reader, error) {
	f, err := i.choose(in, name)
	if err != nil {
		return nil, err
	}
	return f.Read(in, l, i.reader)
}
