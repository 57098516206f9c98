package emit

import (
	"path"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
)

// recordOf returns what is recorded of a schema.
func recordOf(l *layout.Layout) output.Record {
	if l.Source == "" { // nobody knows where it stands
		return output.Record{Sources: []string{path.Base(l.File)}}
	}
	return output.Record{Sources: []string{l.Source}, Project: l.Project}
}

// joined returns what a file is made of that is made of all of these.
func joined(records []output.Record) output.Record {
	var r output.Record
	for i, each := range records {
		r.Sources = append(r.Sources, each.Sources...)
		if i == 0 {
			r.Project = each.Project
		} else if r.Project != each.Project {
			r.Project = "" // it is no project's alone
		}
	}
	slices.Sort(r.Sources)
	r.Sources = slices.Compact(r.Sources)
	return r
}
