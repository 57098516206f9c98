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

// recordFile is a file to which records are appended. Its methods are not safe for concurrent use.
type recordFile struct {
	file    file
	name    string
	size    int64 // bytes of the complete records
	partial bool  // there may be more bytes
	buffer  []byte
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
		return fmt.Sprintf("%s has %d bytes, and its tables are lost: %s. Restore the file, or remove it to begin without tables", e.Name, e.Size, e.Reason)
	}
	return fmt.Sprintf("%s: the record at byte %d of %d is damaged: %s; nothing was loaded. "+
		"Restore the file, or copy it and give up what follows its first %d records: truncate -s %d %[1]s",
		e.Name, e.Offset, e.Size, e.Reason, e.Records, e.Offset)
}

// openRecords opens an existing file. Call load before append.
func openRecords(s system, name string) (*recordFile, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would wait
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := s.open(name, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return &recordFile{file: f, name: name}, nil
}

// load calls apply for each record of the file, and removes a part of a record at its end.
func (f *recordFile) load(apply func(record []byte) error) (Loaded, error) {
	info, err := f.file.Stat()
	if err != nil {
		return Loaded{}, err
	}
	total := info.Size()
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
	for out.Bytes < total {
		record, err := f.next(in, out.Bytes, total)
		if errors.Is(err, errPartial) {
			out.Dropped, f.partial = total-out.Bytes, true
			break
		}
		if err != nil {
			if damaged, is := errors.AsType[*DamagedError](err); is {
				damaged.Records = out.Records
			}
			return out, err
		}
		if err := apply(record); err != nil {
			return out, fmt.Errorf("%s: applying the record at byte %d: %w", f.name, out.Bytes, err)
		}
		out.Records++
		out.Bytes += headerSize + int64(len(record))
	}
	f.size = out.Bytes
	f.buffer = nil // of the largest record
	return out, f.trim()
}

// create writes what every file begins with.
func (f *recordFile) create() error {
	if err := f.file.Truncate(0); err != nil {
		return err
	}
	if _, err := f.file.WriteAt([]byte(magic), 0); err != nil {
		return err
	}
	f.size = int64(len(magic))
	return f.file.Sync()
}

// errPartial is the error for a record that is not complete.
var errPartial = errors.New("not complete")

// next reads a record, which is valid until the next call.
func (f *recordFile) next(in *bufio.Reader, offset, total int64) ([]byte, error) {
	damaged := func(reason string) error {
		return &DamagedError{Name: f.name, Offset: offset, Size: total, Reason: reason}
	}
	var header [headerSize]byte
	if total-offset < headerSize {
		return nil, errPartial
	}
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	length := int64(binary.LittleEndian.Uint32(header[:]))
	if binary.LittleEndian.Uint32(header[8:]) != headerSum(header[:8], offset) || length == 0 || length > maxRecord {
		if zero, err := onlyZeros(io.MultiReader(bytes.NewReader(header[:]), in)); zero || err != nil { // a crash of the machine left them
			return nil, errors.Join(err, errPartial)
		}
		return nil, damaged("its header has another checksum")
	}
	if total-offset-headerSize < length {
		return nil, errPartial
	}
	if int64(cap(f.buffer)) < length {
		f.buffer = make([]byte, length)
	}
	record := f.buffer[:length]
	if _, err := io.ReadFull(in, record); err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	if binary.LittleEndian.Uint32(header[4:]) != crc32.Checksum(record, castagnoli) {
		return nil, damaged("its contents have another checksum")
	}
	return record, nil
}

// headerSum returns the checksum of the first two numbers of a header at a position.
func headerSum(numbers []byte, offset int64) uint32 {
	return crc32.Update(crc32.Checksum(numbers, castagnoli), castagnoli, binary.LittleEndian.AppendUint64(nil, uint64(offset)))
}

// onlyZeros reports whether all bytes are 0.
func onlyZeros(in io.Reader) (bool, error) {
	buffer := make([]byte, 1<<16)
	for {
		n, err := in.Read(buffer)
		if len(bytes.Trim(buffer[:n], "\x00")) > 0 {
			return false, nil
		}
		if err == io.EOF {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// append writes a record with one call of the operating system. If it fails, the file has the records from before, and
// perhaps a part of this one, which the next call removes.
func (f *recordFile) append(record []byte) error {
	if err := f.trim(); err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint32(f.buffer[:0], uint32(len(record)))
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(record, castagnoli))
	b = binary.LittleEndian.AppendUint32(b, headerSum(b, f.size))
	b = append(b, record...)
	if f.buffer = b; cap(b) > 1<<20 {
		f.buffer = nil
	}
	if _, err := f.file.WriteAt(b, f.size); err != nil {
		f.partial = true
		return err
	}
	f.size += int64(len(b))
	return nil
}

// trim removes a part of a record at the end.
func (f *recordFile) trim() error {
	if !f.partial {
		return nil
	}
	if err := f.file.Truncate(f.size); err != nil {
		return err
	}
	f.partial = false
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
