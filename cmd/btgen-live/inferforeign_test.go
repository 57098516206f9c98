package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// conversion matches the command in an error about a file that is not read.
var conversion = regexp.MustCompile(`convert it with ((jq|awk) .* FILE) > FILE.csv(?: and add (\S+ \S+))?`)

// TestForeignFiles converts files of other systems that are not read with the commands in their errors, and loads the CSV.
func TestForeignFiles(t *testing.T) {
	isd := func(station, at, temperature string) string {
		return "0088725030" + station + at + "4+40779-073881FM-15+0003KLGA V0203501N004612200019N0160931N9" + temperature + "5-00785102055ADD\n"
	}
	for name, tt := range map[string]struct{ text, want string }{
		"data.json": {`{
    "MetricDataResults": [
        {"Id": "a", "Label": "CPU, \"user\"", "Timestamps": ["2026-03-01T12:00:00+00:00", "2026-03-01T12:00:10+00:00"], "Values": [0.5, 1], "StatusCode": "Complete"},
        {"Id": "b", "Label": "memory", "Timestamps": ["2026-03-01T12:00:00+00:00", "2026-03-01T12:00:10+00:00"], "Values": [2.5, 3.5], "StatusCode": "Complete"}
    ],
    "Messages": []
}`, `2026-03-01T12:00:00Z [a CPU, "user"] [0.5]
2026-03-01T12:00:10Z [a CPU, "user"] [1]
2026-03-01T12:00:00Z [b memory] [2.5]
2026-03-01T12:00:10Z [b memory] [3.5]
`},
		"statistics.json": {`{
    "Label": "CPUUtilization",
    "Datapoints": [
        {"Timestamp": "2026-03-01T12:00:00+00:00", "Average": 0.5, "Unit": "Percent"},
        {"Timestamp": "2026-03-01T12:01:00+00:00", "Average": 1.5, "Unit": "Percent"}
    ]
}`, `2026-03-01T12:00:00Z [CPUUtilization Percent] [0.5]
2026-03-01T12:01:00Z [CPUUtilization Percent] [1.5]
`},
		"725030-14732-2026": {isd("14732", "202603011200", "+0050") + isd("14732", "202603011300", "+9999") + isd("14733", "202603011200", "-0005") + isd("14733", "202603011300", "-0015"),
			`2026-03-01T12:00:00Z [725030-14732] [5]
2026-03-01T13:00:00Z [725030-14732] [<nil>]
2026-03-01T12:00:00Z [725030-14733] [-0.5]
2026-03-01T13:00:00Z [725030-14733] [-1.5]
`},
		"725030-14732-2026.txt": {"2026 03 01 12    50   -78 10205   350    46     8     0 -9999\n2026 03 01 13 -9999   -78 10205   350    46     8     0 -9999\n",
			`2026-03-01T12:00:00Z [725030-14732-2026.txt] [5]
2026-03-01T13:00:00Z [725030-14732-2026.txt] [<nil>]
`},
	} {
		_, stderr, code := inferSample(t, namedSample{file: name, text: tt.text})
		command := conversion.FindStringSubmatch(stderr)
		if code == 0 || command == nil {
			t.Errorf("%s: %s", name, stderr)
			continue
		}
		if _, err := exec.LookPath(command[2]); err != nil {
			t.Logf("%s: %v", name, err)
			continue
		}
		convert := exec.Command("sh", "-c", strings.TrimSuffix(command[1], "FILE")+name)
		convert.Dir = t.TempDir()
		must(t, os.WriteFile(filepath.Join(convert.Dir, name), []byte(tt.text), 0o666))
		csv, err := convert.Output()
		if err != nil {
			t.Errorf("%s: %s: %v", name, command[1], err)
			continue
		}
		if got, err := eventsOfCSV(t, string(csv), strings.Fields(command[3])); err != nil || got != tt.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, tt.want)
		}
	}
}

// eventsOfCSV infers a schema for a text, with flags, and returns the events that its command reads, one per line.
func eventsOfCSV(t *testing.T, text string, flags []string) (string, error) {
	s := namedSample{file: "sample.csv", flags: flags, text: text}
	schema, stderr, code := inferSample(t, s)
	if code > 1 {
		return "", errors.New(stderr)
	}
	events, err := s.events(schema)
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintln(&b, e.Time.Format(time.RFC3339), e.Series, e.Values)
	}
	return b.String(), err
}
