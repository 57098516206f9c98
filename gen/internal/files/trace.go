package files

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"sync"
)

// A Trace records what a process reads of the disk: each question, such as the content of a file or the
// names in a folder, with a digest of the answer. A run that depends on nothing else need not be
// repeated while the answers are the same.
//
// The functions of this package are the only ones with which the commands read, so that a trace has
// all of it; TestTraced of golden checks that.
type Trace struct {
	mu      sync.Mutex
	answers map[question]string
	// broken reports whether something was read that cannot be recorded, or that has changed meanwhile.
	broken bool
}

// question is one question to the disk.
type question struct {
	Op   string // what to do
	Path string
	Most int64 // bytes to read
}

// current is the trace of the process; nil if there is none.
var current struct {
	sync.Mutex
	*Trace
}

// StartTrace begins to record what the process reads.
func StartTrace() *Trace {
	t := &Trace{answers: map[question]string{}}
	current.Lock()
	defer current.Unlock()
	current.Trace = t
	return t
}

// running returns the trace of the process; nil if there is none.
func running() *Trace {
	current.Lock()
	defer current.Unlock()
	return current.Trace
}

// answered records the answer to a question.
func answered(q question, err error, answer []byte) {
	if t := running(); t != nil {
		t.record(q, digest(err, answer))
	}
}

func (t *Trace) record(q question, answer string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before, asked := t.answers[q]
	t.broken = t.broken || asked && before != answer
	t.answers[q] = answer
}

// untraceable marks the trace of the process as incomplete.
func untraceable() {
	if t := running(); t != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.broken = true
	}
}

// digest returns a digest of an answer.
func digest(err error, answer []byte) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "none"
	case err != nil:
		return "error: " + err.Error()
	}
	sum := sha256.Sum256(answer)
	return hex.EncodeToString(sum[:])
}

// Text returns the trace in a form that [ParseTrace] reads; empty if it is incomplete.
func (t *Trace) Text() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.broken {
		return nil
	}
	var lines []answer
	for q, a := range t.answers {
		lines = append(lines, answer{q, a})
	}
	slices.SortFunc(lines, func(a, b answer) int {
		return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Most, b.Most))
	})
	text, err := json.Marshal(lines)
	if err != nil {
		return nil
	}
	return text
}

// answer is one answer of a trace.
type answer struct {
	question
	Answer string
}

// StillTrue reports whether the disk answers all questions of a trace, which Text has returned, as it did then.
func StillTrue(text []byte) bool {
	var lines []answer
	if json.Unmarshal(text, &lines) != nil || len(lines) == 0 {
		return false
	}
	then := map[question]string{}
	for _, l := range lines {
		then[l.question] = l.Answer
	}
	now := StartTrace()
	for q := range then {
		q.ask()
		if now.answers[q] != then[q] {
			return false
		}
	}
	return !now.broken
}

// ask asks the question again, so that the trace of the process has the answer.
func (q question) ask() {
	switch q.Op {
	case "head":
		_, _ = Head(q.Path, q.Most)
	case "stat":
		_, _ = Stat(q.Path)
	case "lstat":
		_, _ = Lstat(q.Path)
	case "list":
		_, _ = ReadDir(q.Path)
	case "real":
		_, _ = Real(q.Path)
	case "ignored":
		_ = Ignored(q.Path)
	}
}
