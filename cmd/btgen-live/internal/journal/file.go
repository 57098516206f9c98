package journal

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/btgen-dev/btgen/gen/words"
)

// A file begins with magic. Each record is a line, after the checksum of all records up to it. Bytes at the end
// without the end of a line are therefore a part of a record, and a change of any other byte is damage.
const magic = "btgen-live emulator, tables, version 2\n"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// recordFile is a file to which records are appended. Its methods are not safe for concurrent use.
type recordFile struct {
	*os.File
	size         int64  // bytes of the complete records
	sum          uint32 // checksum of them
	torn         bool   // a part of a record follows them
	synchronized int64  // the size that survives a crash of the machine

	// Methods of File, at which tests fail or end the process.
	writeAt func(b []byte, at int64) (int, error)
	sync    func() error
}

// openFile opens a file, and takes it from all others: it contains the data of tables.
func (j *Journal) openFile(name string, flags int) (*recordFile, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would wait
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	out := &recordFile{File: f, writeAt: f.WriteAt, sync: f.Sync}
	j.opened(out)
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return out, nil
}

// append appends records with one call of the operating system. If it fails, the file has those from before.
func (f *recordFile) append(records ...[]byte) error {
	if f.torn {
		if err := f.Truncate(f.size); err != nil {
			return err
		}
	}
	var text []byte
	sum := f.sum
	for _, r := range records {
		sum = crc32.Update(sum, castagnoli, r)
		text = append(append(fmt.Appendf(text, "%08x ", sum), r...), '\n')
	}
	if _, err := f.writeAt(text, f.size); err != nil {
		f.torn = f.Truncate(f.size) != nil
		return err
	}
	f.size, f.sum, f.torn = f.size+int64(len(text)), sum, false
	return nil
}

// DamagedError is the error for a file that has something other than complete records, followed by a part of one.
type DamagedError struct {
	Name    string // of the file
	Offset  int64  // in bytes, of the damaged record
	Size    int64  // in bytes, of the file
	Records int    // before it
}

// Error says what is damaged, and how to use what precedes it.
func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s: the record at byte %d of %d is damaged: it has another checksum; nothing was loaded. "+
		"Restore the file, or copy it and give up what follows its first %d records: truncate -s %d %s",
		e.Name, e.Offset, e.Size, e.Records, e.Offset, words.Shell(e.Name))
}

// load calls apply for each record of the file, and removes a part of a record at its end.
func (f *recordFile) load(apply func(record []byte) error) (out Loaded, err error) {
	info, err := f.Stat()
	if err != nil {
		return out, err
	}
	damaged := func() error { return &DamagedError{f.Name(), f.size, info.Size(), out.Records} }
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, info.Size()), 1<<16)
	if begin, _ := io.ReadAll(io.LimitReader(in, int64(len(magic)))); string(begin) != magic {
		return out, fmt.Errorf("%s is not a file of this version of btgen-live emulator; nothing was loaded. "+
			"Use the version that wrote it, restore the file, or begin without tables in another folder", f.Name())
	}
	f.size, f.sum = int64(len(magic)), 0
	for {
		line, err := in.ReadBytes('\n')
		if err != nil && err != io.EOF {
			return out, fmt.Errorf("%s: %w", f.Name(), err)
		}
		begin, record, _ := bytes.Cut(line[:max(0, len(line)-1)], []byte(" "))
		sum := crc32.Update(f.sum, castagnoli, record)
		switch is := string(begin) == fmt.Sprintf("%08x", sum); {
		case is == (err != nil): // a complete record whose end is damaged, or one with an end
			return out, damaged()
		case err != nil:
			out.Dropped = int64(len(line))
			return out, f.Truncate(f.size)
		}
		if err := apply(record); err != nil {
			return out, fmt.Errorf("%s: applying the record at byte %d: %w", f.Name(), f.size, err)
		}
		f.size, f.sum = f.size+int64(len(line)), sum
		out.Records++
	}
}
