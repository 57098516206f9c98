package beamstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"

	"github.com/btgen-dev/btgen/runtime/store"
)

// ExportOptions specify which events to export, and to which files.
type ExportOptions struct {
	ReadOptions
	// Path is the beginning of the names of the files, such as gs://bucket/readings. They end
	// with their number and -of- the number of files, such as -00000-of-00004.ndjson. The
	// program must import a Beam file system for the path.
	Path string
	// Files is the number of files; 0 means 1, and below that is a *store.OptionsError. A worker writes a file as a whole.
	Files int
}

// Export writes the selected events to files, as one JSON object per line, in no particular
// order. It overwrites existing files, and writes all of them, also without events.
//
// Otherwise, the error is that of Read.
func (s *Schema[E]) Export(scope beam.Scope, conn Connection, o ExportOptions) error {
	scope = scope.Scope("btgen.Export")
	if o.Files < 0 {
		return &store.OptionsError{Options: "ExportOptions", Reason: "Files is negative: use 0 for one file"}
	}
	events, err := s.Read(scope, conn, o.ReadOptions)
	if err != nil {
		return err
	}
	files := max(o.Files, 1)
	numbers := make([]int, files)
	for i := range numbers {
		numbers[i] = i
	}
	empty := beam.ParDo(scope, &shardFn{}, beam.CreateList(scope, numbers))
	lines := beam.ParDo(scope, &lineFn[E]{Files: files}, events)
	grouped := beam.GroupByKey(scope, beam.Flatten(scope, empty, lines))
	end(scope, &fileFn{Path: o.Path, Files: files}, grouped)
	return nil
}

// shardFn returns an empty line for each file, so that all files are written.
type shardFn struct{}

// ProcessElement emits an empty line for a file.
func (*shardFn) ProcessElement(file int, emit func(int, []byte)) { emit(file, nil) }

// lineFn returns the line of an event and the number of its file.
type lineFn[E any] struct{ Files int }

// ProcessElement emits the line of an event.
func (fn *lineFn[E]) ProcessElement(event E, emit func(int, []byte)) {
	line := append(schemaOf[E]().AppendJSON(nil, &event), '\n')
	h := fnv.New32a()
	h.Write(line)
	emit(int(h.Sum32()%uint32(fn.Files)), line)
}

// fileFn writes files.
type fileFn struct {
	Path  string
	Files int
}

// ProcessElement writes one file.
func (fn *fileFn) ProcessElement(ctx context.Context, file int, lines func(*[]byte) bool, _ func(bool)) (err error) {
	name := fmt.Sprintf("%s-%05d-of-%05d.ndjson", fn.Path, file, fn.Files)
	fs, err := filesystem.New(ctx, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	w, err := fs.OpenWrite(ctx, name)
	if err != nil {
		return err
	}
	return errors.Join(writeLines(w, lines), w.Close())
}

// writeLines writes lines.
func writeLines(w io.Writer, lines func(*[]byte) bool) error {
	b := bufio.NewWriterSize(w, 1<<20)
	var line []byte
	for lines(&line) {
		if _, err := b.Write(line); err != nil {
			return err
		}
	}
	return b.Flush()
}
