package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/dynamic"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// awkwardNames are names of measurements, tags, fields and columns that mean something else in a format, in
// the schema language, in Go, in a shell or on a command line, or that one of these cannot contain.
var awkwardNames = slices.Concat(
	// What formats, events and flags call their parts.
	strings.Fields("time value metric labels tags measurement sequence class ttl expires_at written_at expiresAt bucket window windows series"),
	strings.Fields("event events field fields key keys tag label timestamp ts at date day delimiter exemplar_value exemplar_time exemplar_labels le quantile"),
	// Words of the schema language and of YAML.
	strings.Fields("btgen package name table tables queries expect const hash draft pattern segments precision type optional example family"),
	strings.Fields("true false yes no on off null Null NULL nil none nulls ~ y n Y N 1e3 0x10 1_000 .nan .inf 12 -1 2026-03-01 12:00 <<"),
	// Words of Go, and names in generated code.
	strings.Fields("break case chan const continue default defer else fallthrough for func go goto if import interface map range return select"),
	strings.Fields("struct switch type var any string int64 float64 bool byte error len cap make new append iota print panic init main internal"),
	strings.Fields("runtime store setup codec vendor testdata storetest x_test a_test_ Event Reader Writer Batcher Client Table Tables Close Flush String"),
	strings.Fields("Error Time Series ctx err e w r c t s b client writer reader context bigtable iter fmt strings id ID Id iD"),
	strings.Fields("aux con nul prn com1 lpt9 CON _ __ _a a_ a__b a-b a.b a:b a/b A ä é 温度 µ 🌡 Ａ"),
	// What shells, CSV, line protocol and flags take for something else.
	strings.Fields("a=b =a a= = == -a --map --columns=x a,b , a;b ' '' a'b \" \"\" a\"b ` $HOME $(x) \\ a\\b \\n a\\ !x * ? [a] {a} # #a a#b % %s & | < > ( ) @ ^"),
	strings.Fields("tag:a field:a time: metric: tag:time field:time tag: : ::"),
	[]string{" ", " a", "a ", "a b", "\ta", "a\nb", "\x00", "\x7f", "\u2028", "\ufeff", "", strings.Repeat("a", 65), strings.Repeat("long_", 40), strings.Repeat("é", 60)},
)

// mostAwkward is the number of names that are tested in each place also in short tests: the others take turns.
const mostAwkward = 35

// namedSample is a file in which a part has a name.
type namedSample struct {
	file  string
	flags []string // of infer
	text  string
	load  string // the file to load, if it is another one
	empty int    // number of columns without values

	refused string // why infer may refuse it
}

// namedFormat makes a sample with a name in one place. It returns false for names that the format cannot have.
type namedFormat struct {
	format, place string
	sample        func(name string) (namedSample, bool)
}

// Values of the samples: two series with two events each. Each event has a text or a number of its own.
const (
	firstTime, secondTime = 1772366400, 1772366410
	sampleEvents          = 4
)

// influxSample returns line protocol.
func influxSample(measurement, tag, field string) namedSample {
	of := strings.NewReplacer(",", `\,`, " ", `\ `, "=", `\=`)
	var b strings.Builder
	for i := range sampleEvents {
		fmt.Fprintf(&b, "%s,%s=series%d,other=x %s=\"text%d\",more=%di %d000000000\n", strings.NewReplacer(",", `\,`, " ", `\ `).Replace(measurement), of.Replace(tag), i/2,
			of.Replace(field), i, i, []int{firstTime, secondTime}[i%2])
	}
	return namedSample{file: "sample.lp", text: b.String()}
}

// inInflux reports whether line protocol can have a name: a backslash at its end would be that of the next
// character, and a line that begins with # is a comment.
func inInflux(name string) bool {
	return name != "" && !strings.ContainsAny(name, "\n\r\x00") && !strings.Contains(name, `\`)
}

// promSample returns samples of Prometheus, with names in quotes.
func promSample(metric, label string, open bool) namedSample {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for i := range sampleEvents {
		at := fmt.Sprint([]int{firstTime, secondTime}[i%2])
		if !open {
			at += "000"
		}
		fmt.Fprintf(&b, "{\"%s\",\"%s\"=\"series%d\",other=\"x\"} %d.5 %s\n", quote.Replace(metric), quote.Replace(label), i/2, i, at)
	}
	if open {
		return namedSample{file: "sample.txt", flags: []string{"--format", "openmetrics"}, text: b.String() + "# EOF\n"}
	}
	return namedSample{file: "sample.prom", text: b.String()}
}

// putSample returns lines of OpenTSDB.
func putSample(metric, tag string) namedSample {
	var b strings.Builder
	for i := range sampleEvents {
		fmt.Fprintf(&b, "put %s %d %d.5 %s=series%d other=x\n", metric, []int{firstTime, secondTime}[i%2], i, tag, i/2)
	}
	return namedSample{file: "sample.txt", flags: []string{"--format", "opentsdb"}, text: b.String()}
}

func inPut(name string) bool { return name != "" && !strings.ContainsAny(name, " \t\n\r=") }

// csvSample returns CSV with columns of these names, of which one is the time and another one the series.
func csvSample(at, series, field string) namedSample {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	_ = w.Write([]string{at, series, "more", field})
	for i := range sampleEvents {
		_ = w.Write([]string{[]string{"2026-03-01T12:00:00Z", "2026-03-01T12:00:10Z"}[i%2], fmt.Sprintf("series%d", i/2), fmt.Sprint(i), fmt.Sprintf("text%d", i)})
	}
	w.Flush()
	return namedSample{file: "sample.csv", flags: []string{"--time-column", at, "--series", flagSlice(series)}, text: b.String()}
}

// flagSlice returns the value of a flag that is a list, with one element.
func flagSlice(s string) string {
	var b strings.Builder
	w := csv.NewWriter(&b)
	_ = w.Write([]string{s})
	w.Flush()
	if s == "" {
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// copySample returns what COPY TO writes.
func copySample(at, series, field string) namedSample {
	s := csvSample(at, series, field)
	s.flags = append(s.flags, "--format", "cassandra")
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	lines := strings.SplitAfterN(s.text, "\n2026", 2)
	var cells []string
	for _, name := range []string{at, series, "more", field} {
		cells = append(cells, `"`+quote.Replace(name)+`"`)
	}
	s.text = strings.Join(cells, ",") + "\n2026" + lines[1]
	return s
}

// emptySample returns the CSV of a format with a column whose cells are all equal to one that is no value, at an index.
func emptySample(format, name, cell string, at int) namedSample {
	s, quote := csvSample("clock", "host", "note"), strings.NewReplacer(`"`, `""`)
	if format == "cassandra" {
		s, quote = copySample("clock", "host", "note"), strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	}
	var b strings.Builder
	for line := range strings.Lines(s.text) {
		added := cell
		if b.Len() == 0 {
			added = `"` + quote.Replace(name) + `"`
		}
		b.WriteString(strings.Join(slices.Insert(strings.Split(strings.TrimSuffix(line, "\n"), ","), at, added), ",") + "\n")
	}
	s.text, s.empty = b.String(), 1
	if cell != "" && cell != `""` {
		s.flags = append(s.flags, "--null", cell)
	}
	return s
}

// cqlSample returns the definition of a table, and what COPY TO writes for it.
func cqlSample(table, at, series, field string) namedSample {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	s := copySample(at, series, field)
	return namedSample{file: "sample.cql", load: s.text, text: fmt.Sprintf("CREATE TABLE ks.%s (%s timestamp, %s text, more int, %s text, PRIMARY KEY ((%[3]s), %[2]s));",
		quote(table), quote(at), quote(series), quote(field))}
}

// namedFormats are the places that have names in each format.
func namedFormats() (out []namedFormat) {
	add := func(format, place string, can func(string) bool, sample func(string) namedSample) {
		out = append(out, namedFormat{format, place, func(name string) (namedSample, bool) {
			if !can(name) {
				return namedSample{}, false
			}
			return sample(name), true
		}})
	}
	add("influx", "measurement", func(s string) bool { return inInflux(s) && s[0] != '#' && strings.Trim(s, " \t\ufeff") == s }, func(s string) namedSample { return influxSample(s, "host", "note") })
	add("influx", "tag", inInflux, func(s string) namedSample { return influxSample("cpu", s, "note") })
	add("influx", "field", inInflux, func(s string) namedSample { return influxSample("cpu", "host", s) })
	add("influx", "tag and field", inInflux, func(s string) namedSample { return influxSample("cpu", s, s) })
	for _, open := range []bool{false, true} {
		format := map[bool]string{false: "prometheus", true: "openmetrics"}[open]
		can := func(s string) bool { return s != "" }
		add(format, "metric", can, func(s string) namedSample { return promSample(s, "host", open) })
		add(format, "label", can, func(s string) namedSample { return promSample("up", s, open) })
		add(format, "metric and label", can, func(s string) namedSample { return promSample(s, s, open) })
	}
	add("opentsdb", "metric", func(s string) bool { return inPut(s) && s != "\ufeff" }, func(s string) namedSample { return putSample(s, "host") })
	add("opentsdb", "tag", inPut, func(s string) namedSample { return putSample("up", s) })
	can := func(string) bool { return true }
	for format, sample := range map[string]func(at, series, field string) namedSample{"csv": csvSample, "cassandra": copySample} {
		first := func(s string) bool { return format != "csv" || s != "\ufeff" }
		add(format, "time", func(s string) bool { return first(s) && s != "" }, func(s string) namedSample { return sample(s, "host", "note") })
		add(format, "series", func(s string) bool { return s != "time" }, func(s string) namedSample { return sample("time", s, "note") })
		add(format, "series without time", can, func(s string) namedSample { return sample("clock", s, "note") })
		add(format, "field", can, func(s string) namedSample { return sample("clock", "host", s) })
	}
	add("csv", "column without header", func(s string) bool { return s != "" }, func(s string) namedSample {
		of := csvSample("clock", "host", "note")
		_, of.text, _ = strings.Cut(of.text, "\n")
		of.flags = append(of.flags, "--columns", "clock,host,more,"+flagSlice(s))
		return of
	})
	for _, cell := range []string{"", `""`, "NULL"} {
		for _, format := range []string{"csv", "cassandra"} {
			at := func(name string) int { return 4 - len(name)%5 }
			add(format, "column of "+cell, can, func(s string) namedSample { return emptySample(format, s, cell, at(s)) })
		}
	}
	can = func(s string) bool { return s != "" }
	add("cql", "table", can, func(s string) namedSample { return cqlSample(s, "at", "host", "note") })
	add("cql", "time", can, func(s string) namedSample { return cqlSample("cpu", s, "host", "note") })
	add("cql", "series", can, func(s string) namedSample { return cqlSample("cpu", "clock", s, "note") })
	add("cql", "field", can, func(s string) namedSample { return cqlSample("cpu", "clock", "host", s) })
	return out
}

// TestInferredCommands runs the commands that infer prints on the samples for which it prints them. The class
// of faults: a name of the other system that also is a word of the format, of the schema language, of Go, of
// the shell or of the command line.
func TestInferredCommands(t *testing.T) {
	if len(awkwardNames) < 200 {
		t.Errorf("%d names", len(awkwardNames))
	}
	for i, f := range namedFormats() {
		t.Run(f.format+" "+f.place, func(t *testing.T) {
			t.Parallel()
			for n, name := range awkwardNames {
				if !testlong.Enabled() && (n >= mostAwkward || n%32 != i%32) && (n+i)%256 != 0 {
					continue
				}
				if s, ok := f.sample(name); ok {
					if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
						s.refused = "a name has characters that no command can have"
					} else if f.format == "cql" && slices.Contains([]string{"bucket", "date", "day"}, name) {
						s.refused = "the partition key has only times"
					}
					assert.Is(t, nil, runInferred(t, s), name)
				}
			}
		})
	}
}

// TestInferredTogether runs the command for a file with all names together: none takes the place of another one.
func TestInferredTogether(t *testing.T) {
	var fields, tags []string
	of := strings.NewReplacer(",", `\,`, " ", `\ `, "=", `\=`)
	for i, name := range awkwardNames {
		if !inInflux(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) || slices.Contains(awkwardNames[:i], name) {
			continue
		}
		if fields = append(fields, fmt.Sprintf("%s=\"field%d.\"", of.Replace(name), i)); i < 20 {
			tags = append(tags, fmt.Sprintf("%s=tag%d.", of.Replace(name), i))
		}
	}
	text := fmt.Sprintf("cpu,%s %s %d000000000\n", strings.Join(tags, ","), strings.Join(fields, ","), firstTime)
	stdout, _ := loadedDry(t, namedSample{file: "all.lp", text: text})
	for _, texts := range [][]string{tags, fields} {
		for _, s := range texts {
			value := strings.Trim(s[strings.LastIndexByte(s, '=')+1:], `"`)
			assert.Same(t, 1, strings.Count(stdout, value), s)
		}
	}
}

// commandOf returns the arguments of write in the command in a schema.
func commandOf(schema []byte) ([]string, error) {
	_, command, _ := strings.Cut(string(schema), "# Load them with btgen-live write ")
	command, _, _ = strings.Cut(command, "\n")
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+command).Output()
	return strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"), err
}

// runInferred infers a schema for a sample, and loads the sample with the command in the schema.
func runInferred(t *testing.T, s namedSample) error {
	stdout, stderr, code := inferSample(t, s)
	switch {
	case code != 0 && s.refused != "" && strings.Contains(stderr, s.refused):
		return nil
	case code != 0:
		return fmt.Errorf("infer: %s", stderr)
	}
	events, err := s.events(stdout)
	if err != nil {
		return err
	}
	if err := complete(events, s.empty); err != nil {
		return fmt.Errorf("%w\n%s", err, stdout)
	}
	return nil
}

// events returns the events of the sample that the command in a schema reads.
func (s namedSample) events(schema string) (out []dynamic.Event, err error) {
	in, args, err := inferredReader([]byte(schema), s)
	for err == nil {
		var e dynamic.Event
		if e, _, err = in.Next(); err == nil {
			out = append(out, e)
		}
	}
	if err == io.EOF {
		return out, nil
	}
	return out, fmt.Errorf("%q: %w\n%s", args, err, schema)
}

// inferredReader returns the reader of a sample that the command in a schema has, and the arguments of the command.
func inferredReader(schema []byte, s namedSample) (format.Reader, []string, error) {
	args, err := commandOf(schema)
	if err != nil {
		return nil, nil, err
	}
	r := gen.Resolve([]gen.Input{{Name: "schema.yaml", Text: schema}})
	if r.Diagnostics.HasErrors() || r.Layouts[0].Name != args[0] || args[1] != "FILE" && filepath.Base(args[1]) != filepath.Base(s.file) {
		return nil, args, fmt.Errorf("%w\n%s", r.Diagnostics.Err(), schema)
	}
	input := newRequest("write", &cobra.Command{})
	input.addFlags()
	if err := input.cmd.ParseFlags(args[2:]); err != nil {
		return nil, args, err
	}
	if err := input.times(); err != nil {
		return nil, args, err
	}
	if err := input.checkInput(); err != nil {
		return nil, args, err
	}
	text := s.text
	if s.load != "" {
		text = s.load
	}
	f, err := input.inputFormat(strings.NewReader(text), s.file)
	if err != nil {
		return nil, args, err
	}
	reader, err := f.Read(strings.NewReader(text), r.Layouts[0], input.reader)
	return reader, args, err
}

// complete returns an error unless events are those of a sample with all of their values, and with fields without one.
func complete(events []dynamic.Event, empty int) error {
	if len(events) != sampleEvents {
		return fmt.Errorf("%d events: %v", len(events), events)
	}
	for i, e := range events {
		seconds := []int64{firstTime, secondTime}[i%2]
		if e.Time.Unix() != seconds {
			return fmt.Errorf("event %d at %v", i, e.Time)
		}
		if err := hasValues(&e, i, empty); err != nil {
			return fmt.Errorf("event %d: %w", i, err)
		}
	}
	return nil
}

// hasValues returns an error unless an event has the values of one of a sample, and empty fields.
func hasValues(e *dynamic.Event, i, empty int) error {
	if !slices.Contains(e.Series, any(fmt.Sprintf("series%d", i/2))) && !strings.Contains(fmt.Sprint(e.Series), fmt.Sprintf("=series%d", i/2)) {
		return fmt.Errorf("the series is %q", e.Series)
	}
	numbers, texts := 0, 0
	for _, v := range e.Values {
		switch v {
		case any(int64(i)), any(float64(i) + 0.5):
			numbers++
		case any(fmt.Sprintf("text%d", i)):
			texts++
		case nil, any(""):
		default:
			return fmt.Errorf("the values are %q", e.Values)
		}
	}
	if numbers != 1 || texts != len(e.Values)-1-empty {
		return fmt.Errorf("the values are %q", e.Values)
	}
	return nil
}
