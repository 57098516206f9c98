package trial

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/store"
)

// Report says what a trial has found. It has no data of the project, and no names.
type Report struct {
	Btgen   string    `json:"btgen"`  // version
	Client  string    `json:"client"` // version
	Go      string    `json:"go"`     // version and platform
	Server  string    `json:"server"` // the service or an emulator
	Results []Result  `json:"assumptions"`
	Figures []Figures `json:"figures,omitempty"` // of seeds
}

// newReport returns an empty report.
func newReport() *Report {
	r := &Report{Btgen: "unknown", Client: "unknown", Go: runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH, Server: "Cloud Bigtable"}
	if os.Getenv(store.EmulatorVariable) != "" {
		r.Server = "an emulator"
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		r.Btgen = info.Main.Version
		for _, m := range info.Deps {
			if m.Path == "cloud.google.com/go/bigtable" {
				r.Client = m.Version
			}
		}
	}
	return r
}

// Failed reports whether an assumption fails.
func (r *Report) Failed() bool { return r.count(Fails) > 0 }

// count returns the number of assumptions with a verdict.
func (r *Report) count(v Verdict) (n int) {
	for _, result := range r.Results {
		if result.Verdict == v {
			n++
		}
	}
	return n
}

// summary says how many assumptions hold.
func (r *Report) summary() string {
	holds, fails := r.count(Holds), r.count(Fails)
	return fmt.Sprintf("%s: %d %s, %d %s, %d not tried", countOf(len(r.Results)), holds, words.Plural(holds, "holds", "hold"),
		fails, words.Plural(fails, "fails", "fail"), r.count(NotTried))
}

// countOf formats a number of assumptions.
func countOf(n int) string { return words.Count(float64(n), "assumption", "assumptions") }

// Text returns the report for people: what fails or was not tried with all that is known, and the rest in a line each.
func (r *Report) Text() string {
	var b strings.Builder
	for _, result := range r.Results {
		fmt.Fprintf(&b, "%-9s %s: %s\n", result.Verdict, result.ID, result.Says)
		if result.Verdict != Holds {
			fmt.Fprintf(&b, "          seen: %s\n          promised: %s\n", result.Seen, result.Source)
		}
	}
	for i, f := range r.Figures {
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n%-22s %6s %15s %15s %17s %15s\n", figuresText, "seed", "events", "write requests", "read requests", "bytes an event", "CPU an event")
		}
		fmt.Fprintf(&b, "%-22s %6d %15d %15s %17s %15s\n", f.Seed, f.Events, f.WriteRequests, beside(f.ReadRequests, f.Planned), beside(f.Bytes, f.EstimatedBytes),
			fmt.Sprintf("%.1f + %.1f µs", f.WriteMicros, f.ReadMicros))
	}
	fmt.Fprintf(&b, "\n%s\n", r.summary())
	return b.String()
}

// figuresText says what the table of figures has.
const figuresText = "Measured, and in parentheses what btgen explain says. CPU is that of this process, to write to all tables and to read from one."

// beside returns a figure and, in parentheses, what was expected.
func beside[T int | float64](is, expected T) string { return fmt.Sprintf("%v (%v)", is, expected) }

// Markdown returns the report for an issue.
func (r *Report) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Trial of btgen %s\n\nOn %s, with client %s and %s. %s.\n\n| assumption | verdict | promised | source | seen |\n|---|---|---|---|---|\n",
		r.Btgen, r.Server, r.Client, r.Go, r.summary())
	for _, result := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", result.ID, result.Verdict, inTable(result.Says), inTable(result.Source), inTable(result.Seen))
	}
	for i, f := range r.Figures {
		if i == 0 {
			fmt.Fprintf(&b, "\n%s\n\n| seed | events | write requests | read requests | bytes an event | write CPU, µs an event | read CPU, µs an event |\n|---|---|---|---|---|---|---|\n", figuresText)
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %s | %s | %.1f | %.1f |\n", f.Seed, f.Events, f.WriteRequests, beside(f.ReadRequests, f.Planned), beside(f.Bytes, f.EstimatedBytes), f.WriteMicros, f.ReadMicros)
	}
	return b.String()
}

// inTable returns a text that does not end a cell of a table in Markdown.
func inTable(text string) string { return strings.NewReplacer("|", `\|`, "\n", " ").Replace(text) }
