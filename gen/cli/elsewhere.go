package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/btgen-dev/btgen/gen"
	"github.com/btgen-dev/btgen/gen/diag"
	"github.com/btgen-dev/btgen/gen/evolve"
	"github.com/btgen-dev/btgen/gen/internal/files"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/lock"
	"github.com/btgen-dev/btgen/gen/project"
	"github.com/btgen-dev/btgen/gen/words"
)

// elsewhere finds the tables of a run in the locks that other folders had at an earlier version:
// schemas that move take their stored events with them, and not always their lock.
type elsewhere struct {
	p     *project.Project
	locks map[string]bool   // paths of the locks of the run
	now   map[string]string // the schemas of the tables of the run, by their keys
}

func newElsewhere(p *project.Project, locks []project.Lock, new []*layout.Layout) *elsewhere {
	e := &elsewhere{p: p, locks: map[string]bool{}, now: map[string]string{}}
	for _, l := range locks {
		e.locks[filepath.Clean(l.Path)] = true
	}
	for _, t := range evolve.LockOf(new).Tables {
		e.now[t.Key()] = t.Schema
	}
	return e
}

// add adds to an earlier version what the other locks of the repository had of the run, and notes
// which of them were not compared. at names the revision.
func (e *elsewhere) add(before *earlier, r *project.Revision, at string) {
	var left []string
	for i := range r.Others {
		o := &r.Others[i]
		old, err := lock.Parse(o.Name, o.Text)
		if err != nil {
			left = append(left, o.Name)
			continue
		}
		tables := e.tables(old, o)
		for _, t := range tables {
			if !slices.ContainsFunc(before.lock.Tables, func(b lock.Table) bool { return b.Key() == t.Key() }) {
				before.lock.Tables = append(before.lock.Tables, t)
			}
		}
		if len(tables) > 0 {
			before.locked = true
			before.copy, before.file = "git checkout "+at+" -- :/"+o.Name, nil
			if r.Lock == nil {
				before.copy, before.file = "git show "+at+":"+o.Name+" > "+lock.Name, old
			}
		}
		if len(tables) < len(old.Tables) {
			left = append(left, o.Name)
		}
	}
	before.lock.Sort()
	if len(left) > 0 {
		const most = 3
		text := strings.Join(left[:min(len(left), most)], ", ")
		if len(left) > most {
			text += fmt.Sprintf(" and %d more", len(left)-most)
		}
		before.notes = append(before.notes, "not compared, or only in part, since other projects had them: "+words.Printable(text)+": run btgen breaking in each")
	}
}

// tables returns the tables of a lock that the run has to account for: all of a lock of the run,
// those that its schemas have now, and those of a lock that is gone and that no other has.
func (e *elsewhere) tables(old *lock.Lock, o *project.OtherLock) []lock.Table {
	if e.locks[o.Here] {
		return old.Tables
	}
	gone := !files.IsRegular(o.Here)
	var stay, atHand map[string]bool
	var out []lock.Table
	for _, t := range old.Tables {
		schema, here := e.now[t.Key()]
		switch {
		case t.Removed != "":
		case here && (gone || schema == t.Schema):
			if stay == nil {
				stay = e.stay(filepath.Dir(o.Here))
			}
			if !stay[t.Key()] {
				out = append(out, t)
			}
		case gone:
			if atHand == nil {
				atHand = tablesAtHand(nil)
			}
			if !atHand[t.Key()] {
				out = append(out, t)
			}
		}
	}
	return out
}

// stay returns the keys of the tables that the schemas of a folder have, without those of the run.
func (e *elsewhere) stay(dir string) map[string]bool {
	out := map[string]bool{}
	inputs, _ := othersOf(e.p, dir)
	layouts, _ := gen.Layouts(inputs) // those with errors are not theirs
	for _, t := range evolve.LockOf(layouts).Tables {
		out[t.Key()] = true
	}
	return out
}

// othersOf returns the schemas of the project of a folder that a run does not include, and the real
// paths of those that it does.
func othersOf(p *project.Project, dir string) (others []gen.Input, both map[string]bool) {
	both = map[string]bool{}
	inputs, err := project.LoadOther(dir)
	if err != nil {
		return nil, both // there are none
	}
	own := map[string]bool{}
	for _, in := range p.Inputs {
		own[realPath(in.Name)] = true
	}
	for _, in := range inputs {
		if real := realPath(in.Name); own[real] {
			both[real] = true
		} else {
			others = append(others, in)
		}
	}
	return others, both
}

// otherLocks finds the tables that a lock is about to get in the other locks of the working tree:
// schemas that move, or that are generated from another folder, would leave their facts there.
type otherLocks struct {
	p    *project.Project
	own  project.Lock
	read bool
	all  []*otherLock
}

// otherLock is a lock of the working tree, and the schemas of its project.
type otherLock struct {
	file    string
	lock    *lock.Lock
	empty   bool             // whether there are no schemas
	both    map[string]bool  // the real paths of those that the run has, too
	layouts []*layout.Layout // of the others
}

func newOtherLocks(p *project.Project, own project.Lock) *otherLocks {
	return &otherLocks{p: p, own: own}
}

// has returns another lock that has a table of a schema which the project there no longer has, or
// only together with the run, and how to use its facts; empty if there is none.
func (o *otherLocks) has(l *layout.Layout, t *lock.Table) (file, way string) {
	if !o.read {
		o.read, o.all = true, o.load()
	}
	for _, other := range o.all {
		locked := slices.ContainsFunc(other.lock.Tables, func(k lock.Table) bool {
			return k.Removed == "" && k.Name == t.Name && (k.Schema == t.Schema || k.Key() == t.Key() && other.schemas(o.p).empty)
		})
		if locked && !haveTable(other.schemas(o.p).layouts, t) {
			return filepath.ToSlash(other.file), o.way(other, l)
		}
	}
	return "", ""
}

// load reads the other locks.
func (o *otherLocks) load() []*otherLock {
	var out []*otherLock
	own := realPath(o.own.Path)
	for _, name := range project.LocksAtHand() {
		if realPath(name) == own {
			continue
		}
		if l, err := ReadLock(name); err == nil { // otherwise the run of its project says so
			out = append(out, &otherLock{file: name, lock: l})
		}
	}
	return out
}

// schemas reads the schemas of the lock's project, once.
func (l *otherLock) schemas(p *project.Project) *otherLock {
	if l.both == nil {
		var others []gen.Input
		others, l.both = othersOf(p, filepath.Dir(l.file))
		l.empty = len(others)+len(l.both) == 0
		l.layouts, _ = gen.Layouts(others) // those with errors are not theirs
	}
	return l
}

// haveTable reports whether schemas have a table of a schema, even as a draft.
func haveTable(layouts []*layout.Layout, t *lock.Table) bool {
	return slices.ContainsFunc(layouts, func(l *layout.Layout) bool {
		return lock.SchemaOf(l) == t.Schema && slices.ContainsFunc(l.Tables, func(own *layout.Table) bool { return own.ID == t.Name })
	})
}

// way returns how to use the facts that another lock has of a schema.
func (o *otherLocks) way(other *otherLock, l *layout.Layout) string {
	dir, own := filepath.ToSlash(filepath.Dir(other.file)), project.Folder(filepath.Dir(o.own.Path))
	switch {
	case other.both[realPath(l.File)]:
		return "the schemas of " + words.Printable(dir) + " include this one: run btgen generate as before"
	case other.empty && !files.IsRegular(o.own.Path):
		return "if the schema has moved here, move the lock, too: " + diag.Code("git mv "+filepath.ToSlash(other.file)+" "+filepath.ToSlash(o.own.Path)) + ", and run btgen generate again"
	}
	return "if the schema has moved here, generate both projects in one run, which moves the facts: " + diag.Code("btgen generate "+dir+" "+own)
}

// realPath returns the absolute path of a file without symbolic links.
func realPath(name string) string {
	abs, err := filepath.Abs(filepath.FromSlash(name))
	if err != nil {
		return name
	}
	if real, err := files.Real(abs); err == nil {
		return real
	}
	return abs
}

// tablesAtHand returns the keys of the tables in the locks of the working tree, without some.
func tablesAtHand(without []project.Lock) map[string]bool {
	out := map[string]bool{}
	for _, name := range project.LocksAtHand() {
		if slices.ContainsFunc(without, func(l project.Lock) bool { return filepath.Clean(l.Path) == name }) {
			continue
		}
		l, err := ReadLock(name)
		if err != nil {
			continue // the run of its project says so
		}
		for i := range l.Tables {
			if l.Tables[i].Removed == "" {
				out[l.Tables[i].Key()] = true
			}
		}
	}
	return out
}

// movedAway reports whether the lock of a run says that a table has moved to another project, and
// a lock of the repository has it: there it is compared with the earlier version.
func movedAway(t *lock.Table, now *lock.Lock, locks []project.Lock) bool {
	moved := slices.ContainsFunc(now.Tables, func(n lock.Table) bool {
		return n.Key() == t.Key() && strings.HasPrefix(n.Removed, "moved to ")
	})
	return moved && tablesAtHand(locks)[t.Key()]
}
