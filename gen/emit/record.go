package emit

import (
	"path"
	"slices"

	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/output"
)

// recordOf returns the record of a schema.
func recordOf(l *layout.Layout) output.Record {
	if l.Source == "" { // the location is unknown
		return output.Record{Sources: []string{path.Base(l.File)}}
	}
	return output.Record{Sources: []string{l.Source}, Project: l.Project}
}

// joined returns the record of a file that is generated from several schemas.
func joined(records []output.Record) output.Record {
	var r output.Record
	for i, each := range records {
		r.Sources = append(r.Sources, each.Sources...)
		if i == 0 {
			r.Project = each.Project
		} else if r.Project != each.Project {
			r.Project = "" // several projects share the file
		}
	}
	slices.Sort(r.Sources)
	r.Sources = slices.Compact(r.Sources)
	return r
}
