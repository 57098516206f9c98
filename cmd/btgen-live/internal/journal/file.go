package journal

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/btgen-dev/btgen/gen/words"
)

// A file of records begins with magic. Each record has a header of 12 bytes, little-endian: the length of the
// record, its checksum, and a checksum of these two and of the position in the file. A damaged length is therefore
// not taken for a record that ends after the end of the file, and a record at another position is damage.
const (
	magic      = "btgen-live emulator, tables, version 1\n"
	headerSize = 12
	maxRecord  = 512 << 20 // a request has at most 256 MiB, and times are added
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// headerOf returns the header of a record with a length and a checksum, at a position.
func headerOf(length, sum uint32, offset int64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, length)
	b = binary.LittleEndian.AppendUint32(b, sum)
	all := crc32.Checksum(binary.LittleEndian.AppendUint64(b, uint64(offset)), castagnoli)
	return binary.LittleEndian.AppendUint32(b, all)
}

// recordFile is a file to which records are appended. Its methods are not safe for concurrent use.
type recordFile struct {
	file         file
	name         string
	size         int64  // bytes of the complete records
	waiting      []byte // a record with its header that could not be written
	synchronized int64  // the size that survives a crash of the machine
}

// DamagedError is the error for a file that has something other than complete records, followed by a part of one.
type DamagedError struct {
	Name    string // of the file
	Offset  int64  // in bytes, of the damaged record
	Size    int64  // in bytes, of the file
	Records int    // before it
	Reason  string
}

// Error says what is damaged, and how to use what precedes it.
func (e *DamagedError) Error() string {
	if e.Size < int64(len(magic)) {
		return fmt.Sprintf("%s has %d bytes, and its tables are lost: %s. "+
			"Restore the file, or remove it to begin without tables", e.Name, e.Size, e.Reason)
	}
	return fmt.Sprintf("%s: the record at byte %d of %d is damaged: %s; nothing was loaded. "+
		"Restore the file, or copy it and give up what follows its first %d records: truncate -s %d %s",
		e.Name, e.Offset, e.Size, e.Reason, e.Records, e.Offset, words.Shell(e.Name))
}

// createRecords creates a file without records.
func createRecords(s system, name string) (*recordFile, error) {
	f, err := s.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteAt([]byte(magic), 0); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &recordFile{file: f, name: name, size: int64(len(magic))}, nil
}

// openRecords opens an existing file of complete records; call load if they may not be.
func openRecords(s system, name string) (*recordFile, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would wait
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := s.open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &recordFile{file: f, name: name, size: info.Size()}, nil
}

// load calls apply for each record of the file, and removes a part of a record at its end.
func (f *recordFile) load(apply func(record []byte) error) (Loaded, error) {
	total := f.size
	in := bufio.NewReaderSize(io.NewSectionReader(f.file, 0, total), 1<<16)
	begin := make([]byte, min(total, int64(len(magic))))
	if _, err := io.ReadFull(in, begin); err != nil {
		return Loaded{}, fmt.Errorf("%s: %w", f.name, err)
	}
	if string(begin) != magic[:len(begin)] {
		return Loaded{}, fmt.Errorf("%s is not a file of this version of btgen-live emulator", f.name)
	}
	if len(begin) < len(magic) { // a file gets its name once it has more
		return Loaded{}, &DamagedError{Name: f.name, Size: total, Reason: "it ends within its first line"}
	}
	out := Loaded{Bytes: int64(len(magic))}
	var record []byte
	for out.Bytes < total {
		var damage string
		var err error
		record, damage, err = next(in, record, out.Bytes, total)
		switch {
		case errors.Is(err, errPartial):
			out.Dropped, f.size = total-out.Bytes, out.Bytes
			return out, f.file.Truncate(f.size)
		case err != nil:
			return out, fmt.Errorf("%s: %w", f.name, err)
		case damage != "":
			return out, &DamagedError{f.name, out.Bytes, total, out.Records, damage}
		}
		if err := apply(record); err != nil {
			return out, fmt.Errorf("%s: applying the record at byte %d: %w", f.name, out.Bytes, err)
		}
		out.Records++
		out.Bytes += headerSize + int64(len(record))
	}
	return out, nil
}

// errPartial is the error for a record that is not complete.
var errPartial = errors.New("not complete")

// next reads the record at a position, into a buffer that is reused. It says what is damaged, if anything is.
func next(in io.Reader, buffer []byte, offset, total int64) (record []byte, damage string, err error) {
	var header [headerSize]byte
	if total-offset < headerSize {
		return nil, "", errPartial
	}
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, "", err
	}
	length, sum := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
	if !bytes.Equal(header[:], headerOf(length, sum, offset)) || length == 0 || length > maxRecord {
		var all zeros
		if _, err := io.Copy(&all, io.MultiReader(bytes.NewReader(header[:]), in)); err == nil {
			return nil, "", errPartial // a crash of the machine left them
		}
		return nil, "its header has another checksum", nil
	}
	if total-offset-headerSize < int64(length) {
		return nil, "", errPartial
	}
	record = slices.Grow(buffer[:0], int(length))[:length]
	if _, err := io.ReadFull(in, record); err != nil {
		return nil, "", err
	}
	if sum != crc32.Checksum(record, castagnoli) {
		return nil, "its contents have another checksum", nil
	}
	return record, "", nil
}

// zeros accepts only bytes that are 0.
type zeros struct{}

// Write fails if a byte is not 0.
func (*zeros) Write(b []byte) (int, error) {
	if len(bytes.Trim(b, "\x00")) > 0 {
		return 0, errors.New("not only zeros")
	}
	return len(b), nil
}

// append writes a record with one call of the operating system. If it fails, the file has the records from before, and
// perhaps a part of this one, which flush completes. No record may be waiting.
func (f *recordFile) append(record []byte) error {
	f.waiting = append(headerOf(uint32(len(record)), crc32.Checksum(record, castagnoli), f.size), record...)
	return f.flush()
}

// flush writes the record that is waiting, if any.
func (f *recordFile) flush() error {
	if len(f.waiting) == 0 {
		return nil
	}
	if _, err := f.file.WriteAt(f.waiting, f.size); err != nil {
		return err
	}
	f.size += int64(len(f.waiting))
	f.waiting = nil
	return nil
}

// file is what is needed of a file, and system of the operating system. Tests end the process between any two calls.
type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Stat() (os.FileInfo, error)
	Sync() error
	Truncate(size int64) error
}

type system struct {
	open         func(name string, flag int) (file, error)
	rename       func(from, to string) error
	remove       func(name string) error
	synchronized func(dir string)
}

// operating is the operating system.
var operating = system{
	open:   openPrivate,
	rename: os.Rename,
	remove: os.Remove,
	synchronized: func(dir string) {
		if d, err := os.Open(filepath.Clean(dir)); err == nil {
			_ = d.Sync() // not supported by all systems
			_ = d.Close()
		}
	},
}

// openPrivate opens a file, and takes it from all others: it contains the data of tables.
func openPrivate(name string, flag int) (file, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
