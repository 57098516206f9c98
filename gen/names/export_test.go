package names

import "github.com/btgen-dev/btgen/gen/layout"

// Declared returns the names that are registered for a package of some schemas, and those
// of the methods and fields of their readers.
func Declared(layouts []*layout.Layout) (pkg map[string]bool, readers map[string]bool) {
	s := newScope()
	readers = map[string]bool{}
	for _, name := range readerMethods {
		readers[name] = true
	}
	for _, l := range layouts {
		n, _ := register(l, s)
		for _, t := range n.tables {
			readers[t.Reader] = true
		}
		for _, q := range n.queries {
			readers[q.Method], readers[q.ColumnsMethod], readers[q.WindowsMethod], readers[q.PointsMethod], readers[q.SeriesMethod] = true, true, true, true, true
		}
	}
	pkg = map[string]bool{}
	for name := range s.taken {
		pkg[name] = true
	}
	return pkg, readers
}
