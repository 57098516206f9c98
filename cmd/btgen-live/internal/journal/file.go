package journal

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
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
func headerOf(length, sum uint32, offset int64) [headerSize]byte {
	var b [headerSize + 8]byte
	binary.LittleEndian.PutUint32(b[:], length)
	binary.LittleEndian.PutUint32(b[4:], sum)
	binary.LittleEndian.PutUint64(b[8:], uint64(offset))
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[:16], castagnoli))
	return [headerSize]byte(b[:])
}

// recordFile is a file to which records are appended. Its methods are not safe for concurrent use.
type recordFile struct {
	*os.File
	size         int64  // bytes of the complete records
	waiting      []byte // what could not be written
	synchronized int64  // the size that survives a crash of the machine

	// Methods of File, at which tests fail or end the process.
	writeAt func(b []byte, at int64) (int, error)
	sync    func() error
}

// openFile opens a file of complete records, and takes it from all others: it contains the data of tables. Call load if
// records may not be complete.
func (j *Journal) openFile(name string, flags int) (*recordFile, error) {
	if info, err := os.Lstat(name); err == nil && !info.Mode().IsRegular() { // opening a named pipe would wait
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.OpenFile(name, os.O_RDWR|flags, 0o600)
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
	out := &recordFile{File: f, size: info.Size(), writeAt: f.WriteAt, sync: f.Sync}
	j.opened(out)
	return out, nil
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

// load calls apply for each record of the file, and removes a part of a record at its end.
func (f *recordFile) load(apply func(record []byte) error) (out Loaded, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, 0, f.size), 1<<16)
	begin := make([]byte, min(f.size, int64(len(magic))))
	if _, err := io.ReadFull(in, begin); err != nil {
		return out, fmt.Errorf("%s: %w", f.Name(), err)
	}
	if string(begin) != magic[:len(begin)] {
		return out, fmt.Errorf("%s is not a file of this version of btgen-live emulator", f.Name())
	}
	if len(begin) < len(magic) { // a file gets its name once it has more
		return out, &DamagedError{Name: f.Name(), Size: f.size, Reason: "it ends within its first line"}
	}
	var record []byte
	for out.Bytes = int64(len(magic)); out.Bytes < f.size; out.Bytes += headerSize + int64(len(record)) {
		var damage string
		record, damage, err = f.next(in, record, out.Bytes)
		switch {
		case errors.Is(err, errPartial):
			out.Dropped, f.size = f.size-out.Bytes, out.Bytes
			return out, f.Truncate(f.size)
		case err != nil:
			return out, fmt.Errorf("%s: %w", f.Name(), err)
		case damage != "":
			return out, &DamagedError{f.Name(), out.Bytes, f.size, out.Records, damage}
		}
		if err := apply(record); err != nil {
			return out, fmt.Errorf("%s: applying the record at byte %d: %w", f.Name(), out.Bytes, err)
		}
		out.Records++
	}
	return out, nil
}

// errPartial is the error for a record that is not complete.
var errPartial = errors.New("not complete")

// next reads the record at a position, into a buffer that is reused. It says what is damaged, if anything is.
func (f *recordFile) next(in *bufio.Reader, buffer []byte, offset int64) (record []byte, damage string, err error) {
	var header [headerSize]byte
	left := f.size - offset - headerSize
	if left < 0 {
		return nil, "", errPartial
	}
	if _, err := io.ReadFull(in, header[:]); err != nil {
		return nil, "", err
	}
	length, sum := binary.LittleEndian.Uint32(header[:]), binary.LittleEndian.Uint32(header[4:])
	switch {
	case header == [headerSize]byte{} && onlyZeros(in): // a crash of the machine left them
		return nil, "", errPartial
	case header != headerOf(length, sum, offset) || length == 0 || length > maxRecord:
		return nil, "its header has another checksum", nil
	case left < int64(length):
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

// onlyZeros reports whether nothing but zeros follows.
func onlyZeros(in *bufio.Reader) bool {
	for {
		if b, err := in.ReadByte(); b != 0 || err != nil {
			return err == io.EOF
		}
	}
}

// append writes a record with one call of the operating system. If it fails, the file has the records from before, and
// perhaps a part of this one, which flush completes. No record may be waiting.
func (f *recordFile) append(record []byte) error {
	header := headerOf(uint32(len(record)), crc32.Checksum(record, castagnoli), f.size)
	f.waiting = append(header[:], record...)
	return f.flush()
}

// flush writes the record that is waiting, if any.
func (f *recordFile) flush() error {
	if len(f.waiting) == 0 {
		return nil
	}
	if _, err := f.writeAt(f.waiting, f.size); err != nil {
		return err
	}
	f.size += int64(len(f.waiting))
	f.waiting = nil
	return nil
}
