package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
)

// looksLike are texts that look like values of some type, and may be codes.
var looksLike = [][]string{
	{"0", "1", "7", "-5", "12", "4000000000", "9223372036854775807"},
	{"007", "01230", "00", "-01", "+48123450000", "+1", "1", "12"},
	{"13E2", "1e3", "12e4567", "1E2", "7", "0e3"},
	{"1.5", "0.50", "-0.0", "1e-05", "1.5E10", "2e+06", "3", ".5", "7."},
	{"9223372036854775808", "18446744073709551615", "18446744073709551000", "1"},
	{"18446744073709551616", "99999999999999999999999", "1.5"},
	{"NaN", "nan", "NAN", "Inf", "INF", "-inf", "Infinity"},
	{"NaN", "INF", "1.5", "2"},
	{"T", "t", "T"}, {"f", "F"}, {"t", "f"}, {"true", "TRUE", "False"}, {"T", "f", "true"},
	{"NA", "1", "2"}, {"-", "1.5"}, {"NULL", "true", "false"}, {"N/A", "2026-03-01T12:00:00Z"}, {"none", "None"},
	{"956,94", "1,5"}, {"1,000", "999"}, {"0x1F", "12"}, {"1_000", "7"}, {" 1", "2 "},
	{"0.123456789012345678901", "1"}, {"0.30000000000000004", "20.333333333333332"},
}

// code matches numbers in notations that numbers do not print.
var code = regexp.MustCompile(`^(\+.*|-?0[0-9].*|-?[0-9]+[eE][0-9]+|.*[_xX,].*)$`)

// keeps reports whether a value that prints as a text is what another text of the same column says.
func keeps(text, printed string, column []string) bool {
	text, printed = strings.TrimSpace(text), strings.TrimSpace(printed) // around numbers, spaces mean nothing
	all := strings.ToLower(strings.Join(column, " "))
	was, number := new(big.Rat).SetString(text)
	is, _ := new(big.Rat).SetString(printed)
	switch {
	case text == printed:
		return true
	case number && is != nil:
		return is.Cmp(was) == 0 && !code.MatchString(text)
	case printed == "true" || printed == "false":
		return len(text) > 1 || strings.Contains(all, "t") && strings.Contains(all, "f")
	case strings.HasPrefix(strings.ToLower(strings.TrimPrefix(printed, "+")), strings.ToLower(text)): // NaN, inf
		return strings.ContainsAny(all, "0123456789")
	}
	at, err := time.Parse(time.RFC3339, text)
	want, _ := time.Parse(time.RFC3339, printed)
	return err == nil && at.Equal(want)
}

// valuesSample returns CSV with a column of texts.
func valuesSample(format string, texts []string) namedSample {
	s := namedSample{file: "sample.csv", flags: []string{"--format", format, "--series", "host", "--time-column", "at"}}
	var b strings.Builder
	b.WriteString("host,v,at\n")
	for i, text := range texts {
		if strings.Contains(text, ",") {
			text = `"` + text + `"`
		}
		fmt.Fprintf(&b, "a,%s,%s\n", text, time.Unix(firstTime+int64(i), 0).UTC().Format(time.RFC3339))
	}
	s.text = b.String()
	return s
}

// inferSample infers a schema for a sample.
func inferSample(t *testing.T, s namedSample) (stdout, stderr string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), s.file)
	must(t, os.WriteFile(file, []byte(s.text), 0o666))
	var out, errs bytes.Buffer
	code = run(append([]string{"infer", file}, s.flags...), &out, &errs)
	return out.String(), errs.String(), code
}

// loadedDry infers a schema for a sample, and returns what the command in it prints with --dry-run.
func loadedDry(t *testing.T, s namedSample) (stdout, stderr string) {
	t.Helper()
	schemas := t.TempDir()
	schema, failed, code := inferSample(t, s)
	if code != 0 {
		t.Fatalf("%q: %s", s.flags, failed)
	}
	file := filepath.Join(schemas, s.file)
	must(t, errors.Join(os.WriteFile(file, []byte(s.text), 0o666), os.WriteFile(filepath.Join(schemas, "x.yaml"), []byte(schema), 0o666)))
	args, err := commandOf([]byte(schema))
	must(t, err)
	var out, errs bytes.Buffer
	run(append([]string{"write", args[0], file, "--dry-run", "--schemas", schemas}, args[2:]...), &out, &errs)
	return out.String(), errs.String()
}

// TestInferredValues loads columns of texts that look like values, but may be codes: they are kept, or the proposal asks.
func TestInferredValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for k, pool := range looksLike {
		for _, of := range testlong.Pick([]string{"csv", "cassandra"}[k%2:][:1], []string{"csv", "cassandra"}) {
			for range testlong.Pick(1, 10) {
				texts := make([]string, 1+random.IntN(6))
				for i := range texts {
					texts[i] = pool[random.IntN(len(pool))]
				}
				assert.Is(t, nil, loadValues(t, valuesSample(of, texts), texts), of, texts)
			}
		}
	}
}

// loadValues loads a column of texts as infer says.
func loadValues(t *testing.T, s namedSample, texts []string) error {
	stdout, stderr, code := inferSample(t, s)
	if code != 0 {
		return fmt.Errorf("infer: %s", stderr)
	}
	events, err := s.events(stdout)
	if err != nil || len(events) != len(texts) {
		return fmt.Errorf("%d events of %d: %v", len(events), len(texts), err)
	}
	before, _, _ := strings.Cut(stdout, "\n  v: ")
	asks := strings.HasPrefix(before[strings.LastIndexByte(before, '\n')+1:], "  # ?")
	for i, text := range texts {
		printed := ""
		switch v := events[i].Values[0].(type) {
		case time.Time:
			printed = v.Format(time.RFC3339)
		case float64:
			if printed = fmt.Sprint(v); v == math.Trunc(v) && !math.IsInf(v, 0) {
				printed = new(big.Float).SetFloat64(v).Text('f', 0)
			}
		default:
			printed = fmt.Sprint(v)
		}
		if !asks && !keeps(text, printed, texts) {
			return fmt.Errorf("%q is %s\n%s", text, printed, stdout)
		}
	}
	return nil
}

// TestInferredMissing loads columns with usual texts of missing values with the flags that infer asks for.
func TestInferredMissing(t *testing.T) {
	asked := regexp.MustCompile(`--null ('[^']*'|\S+?)( |\.\n)`)
	for _, of := range []string{"csv", "cassandra"} {
		for typ, text := range map[string]string{"int64": "12", "float64": "1.5", "bool": "true", "timestamp": "2026-03-01T12:00:00Z"} {
			for _, null := range testlong.Pick([]string{"N/A"}, []string{"NA", "N/A", "NULL", "None", "-", ".", "*", `\N`}) {
				texts := []string{text, null, text, "--", text}
				if of == "cassandra" && null == `\N` {
					continue // the escape character
				}
				s := valuesSample(of, texts)
				asks, _, _ := inferSample(t, s)
				for _, m := range asked.FindAllStringSubmatch(asks, -1) {
					s.flags = append(s.flags, "--null", strings.Trim(m[1], "'"))
				}
				stdout, stderr, _ := inferSample(t, s)
				if !strings.Contains(stdout, "v: {type: "+typ+", optional: true}") || !strings.Contains(stdout, "--null "+"--") {
					t.Errorf("%s: %q: %s%s", of, s.flags, stdout, stderr)
					continue
				}
				events, err := s.events(stdout)
				if err != nil || len(events) != len(texts) {
					t.Errorf("%s: %q: %d events, %v", of, null, len(events), err)
				}
				for i, e := range events {
					assert.Same(t, i%2 == 1, e.Values[0] == nil, of, texts[i])
				}
			}
		}
	}
}

// TestInferredHeaders infers schemas of files without a header: the error names the flag with which all events are loaded.
func TestInferredHeaders(t *testing.T) {
	advice := regexp.MustCompile(`add --columns with the names, as in --columns (\S+)`)
	for _, of := range []string{"csv", "cassandra"} {
		for i, f := range testlong.Sample(timeTexts(), 2) {
			if f.write {
				continue
			}
			for place := range 3 {
				if place != i%3 && !testlong.Enabled() {
					continue
				}
				s, texts := headless(of, f, place)
				_, stderr, code := inferSample(t, s)
				m := advice.FindStringSubmatch(stderr)
				if code == 0 || m == nil {
					t.Errorf("%s: %s in column %d: %s", of, f.name, place, stderr)
					continue
				}
				s.flags = append(s.flags, "--columns", m[1])
				stdout, stderr, code := inferSample(t, s)
				if flag := advised.FindStringSubmatch(stderr); flag != nil {
					s.flags = append(s.flags, flag[1:]...)
					stdout, stderr, code = inferSample(t, s)
				}
				if events, err := s.events(stdout); err != nil || code != 0 || len(events) < len(texts) {
					t.Errorf("%s: %s in column %d: %d events, %v %s", of, f.name, place, len(events), err, stderr)
				}
			}
		}
	}
}

// headless returns CSV without a header, with times of a form in one of three columns.
func headless(of string, f timeText, place int) (s namedSample, texts []string) {
	var b strings.Builder
	for i := range sampleEvents {
		texts = append(texts, f.format(time.Date(2026, 3, 28+i/2, 2, 30, 0, 0, time.UTC)))
		row := []string{fmt.Sprintf("host%d", i%2), "1.5"}
		row = slices.Insert(row, place, `"`+texts[i]+`"`)
		b.WriteString(strings.Join(row, ",") + "\n")
	}
	return namedSample{file: "sample.csv", flags: []string{"--format", of}, text: b.String()}, texts
}

// TestInferredPrecision loads times that are finer than those of the sample: they are stored, or the summary counts them.
func TestInferredPrecision(t *testing.T) {
	steps := []time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second, time.Millisecond, time.Microsecond}
	for _, f := range format.Formats((*format.Format).Scans) {
		for k, step := range steps[:len(steps)-1] {
			for _, finer := range testlong.Pick(steps[k+1:k+2], steps[k+1:]) {
				if f.Unit > finer || f.Name == "graphite" && finer < time.Second {
					continue
				}
				late := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC).Add(finer)
				s := namedSample{file: "x", flags: []string{"--format", f.Name, "--sample", "12"}, text: timesOf(f, step, late)}
				if f.Cells {
					s.flags = append(s.flags, "--series", "host")
				}
				got, failed := loadedDry(t, s)
				if !strings.Contains(got, late.Format(time.RFC3339Nano)) && !strings.Contains(got, "times of 1 event cut to ") {
					t.Errorf("%s: a time in %s after times in %s is lost: %s%s", f.Name, finer, step, got, failed)
				}
			}
		}
	}
}

// timeLines are events of formats at a time: <n> in the unit of the format, <ms>, or <s> with the fraction <f>. Those of
// others are CSV.
var timeLines = map[string]string{
	"influx": "cpu,host=a v=1 <n>\n", "prometheus": "cpu{host=\"a\"} 1 <n>\n", "openmetrics": "cpu{host=\"a\"} 1 <s>.<f>\n",
	"opentsdb": "put cpu <ms> 1 host=a\n", "graphite": "cpu;host=a 1 <s>\n",
}

// timesOf returns events of a format at intervals of a step, and a last one at another time.
func timesOf(f *format.Format, step time.Duration, late time.Time) (text string) {
	if f.Cells {
		text = "time,host,v\n"
	}
	for i := range 13 {
		at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(i) * step)
		if i == 12 {
			at = late
		}
		line := cmp.Or(timeLines[f.Name], at.Format(time.RFC3339Nano)+",a,1\n")
		text += strings.NewReplacer("<n>", fmt.Sprint(at.UnixNano()/int64(max(f.Unit, 1))), "<ms>", fmt.Sprint(at.UnixMilli()),
			"<s>", fmt.Sprint(at.Unix()), "<f>", fmt.Sprintf("%09d", at.Nanosecond())).Replace(line)
	}
	if f.Name == "openmetrics" {
		text += "# EOF\n"
	}
	return text
}
