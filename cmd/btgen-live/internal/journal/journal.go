// Package journal keeps the tables of an in-memory Bigtable in a folder, over restarts and kills.
//
// The server answers all requests; interceptors write each that changes something to a file before the server gets
// it, and at the next start an empty server gets the requests of the file again. The rules:
//
//   - A change is written to the file before it is applied, so reads see, and clients are answered, only what
//     survives the end of the process in any way. The file is synchronized within a second, so a crash of the
//     machine loses at most the last second, and never a change before one that it keeps.
//   - Changes happen one at a time, in the order of the file.
//   - A record has the same effect whenever it is applied. Server-assigned times are assigned before; a conditional
//     mutation is recorded as the mutations that it chooses, and an increment as the cells that it writes.
//   - The server may refuse a change, perhaps after a part of it. Applied again, it has the same effect and is
//     refused again: a record says so before the next change. A change that was accepted and now is refused is an
//     error.
//   - Garbage is collected here instead of by the server, and recorded like a deletion. Otherwise, a collected
//     cell could reappear after a restart.
//   - A record at the end that cannot be complete was never applied: it is dropped, and its length reported. Any
//     other damage is a [DamagedError], and nothing of the file is used.
//   - If a record cannot be written, as on a full disk, the change does not happen, and the next one is tried
//     again. If the file cannot be synchronized, all further changes fail until the next start.
//   - If the server panics, the record is removed, so that the next start does not panic, too.
//   - Compaction writes the state as a new file, synchronizes it, and renames it to the old one, while no
//     change happens: the administrative requests of the tables that exist, and their rows. A process that is
//     killed meanwhile leaves the old file, or the new one with the same state. The file is created in the same
//     way, so one that is shorter than its first line has lost its tables, and is refused.
//   - One process at a time uses a folder; it holds a lock that the operating system releases.
//
// Schema bundles get new etags when the file is compacted.
package journal

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"github.com/gofrs/flock"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Journal records the changes of one server in a folder.
type Journal struct {
	dir    string
	lock   *flock.Flock
	warn   func(error)       // about what fails in the background
	period time.Duration     // of what happens in the background
	opened func(*recordFile) // for tests

	token  string           // of requests of the journal
	loaded chan struct{}    // closed once the file has been loaded
	conn   *grpc.ClientConn // to the server
	server server
	stop   func() // ends the background and waits for it

	changes sync.Mutex // held while a change is recorded and applied, and by compaction; guards what follows
	file    *recordFile
	failed  error               // why no more changes are accepted; nil if they are
	before  int64               // the size before the record of the change that is being applied; 0 if none is
	admins  int                 // changes of something other than rows, refused ones included
	refused error               // why the last change was refused, while the file does not say that it was
	compact int64               // the size in bytes from which on the file is compacted
	tables  map[string][][]byte // records of what tables, their views and bundles are, by the names of those that exist
}

// server is what the journal needs of the server in this process, without interceptors.
type server interface {
	bigtablepb.BigtableServer
	adminpb.BigtableTableAdminServer
}

// errLocked is the error if another process has the lock.
var errLocked = errors.New("another process keeps its tables there: end it, or use another folder")

// Open locks a folder, which it creates if it does not exist, for the tables of one server. It fails
// if another process uses the folder. warn is called, on another goroutine, with errors of what
// happens in the background. The caller must call [Journal.Close].
func Open(dir string, warn func(error)) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	if locked, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !locked {
		return nil, fmt.Errorf("folder %s: %w", dir, errors.Join(errLocked, lock.Close()))
	}
	return &Journal{
		dir: dir, lock: lock, warn: warn, period: time.Second, opened: func(*recordFile) {},
		token: rand.Text(), loaded: make(chan struct{}), stop: func() {}, tables: map[string][][]byte{},
		failed: errors.New("they are not loaded"),
	}, nil
}

// name is the file of the tables, and next the one that replaces it.
func (j *Journal) name() string { return filepath.Join(j.dir, "tables") }
func (j *Journal) next() string { return filepath.Join(j.dir, "tables.new") }

// ServerOptions returns the interceptors of the server. They come before all others, and hold
// requests back until [Journal.Load] has returned.
func (j *Journal) ServerOptions() []grpc.ServerOption {
	return []grpc.ServerOption{grpc.ChainUnaryInterceptor(j.unary), grpc.ChainStreamInterceptor(j.stream)}
}

// Loaded describes what [Journal.Load] has found.
type Loaded struct {
	Records int
	Dropped int64 // bytes of a record at the end that is not complete
	Refused error // why the server refuses the last change, of which it is unknown whether it was refused before
}

// Load applies the changes of the file to the empty server at addr, and begins to record. It needs memory for one
// record at a time, and ends when ctx does, as does what happens in the background. It returns a [DamagedError] if the
// file is damaged.
func (j *Journal) Load(ctx context.Context, addr string) (out Loaded, err error) {
	j.conn, err = grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)))
	if err != nil {
		return out, err
	}
	ping := &bigtablepb.PingAndWarmRequest{}
	if _, err := bigtablepb.NewBigtableClient(j.conn).PingAndWarm(j.own(ctx), ping); err != nil {
		return out, err // else it has set j.server
	}
	_ = os.Remove(j.next()) // of a process that was killed
	if _, exists := os.Lstat(j.name()); errors.Is(exists, os.ErrNotExist) {
		err = j.replaceFile(ctx)
	} else if j.file, err = j.openFile(j.name(), 0); err == nil {
		out, err = j.file.load(func(record []byte) error { return j.replay(ctx, record) })
	}
	if err != nil {
		return out, err
	}
	out.Refused, j.failed = j.refused, nil
	j.compact = minCompacted // what the file would be is unknown; loading it took longer than compacting it
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	j.stop = func() { cancel(); <-ended }
	go func() { defer close(ended); j.background(ctx) }()
	close(j.loaded)
	return out, nil
}

// maxMessage is the maximum size in bytes of a request or a response.
const maxMessage = 512 << 20

// Close ends recording, synchronizes the file and unlocks the folder. The server should be closed before: it
// refuses all further changes.
func (j *Journal) Close() error {
	j.stop()
	j.changes.Lock()
	defer j.changes.Unlock()
	var errs []error
	if j.file != nil {
		if j.refused != nil && j.failed == nil {
			errs = append(errs, j.file.append(refusedRecord))
		}
		errs = append(errs, j.file.sync(), j.file.Close())
		j.file = nil
	}
	if j.conn != nil {
		errs = append(errs, j.conn.Close())
	}
	j.failed = errors.New("the server has ended")
	return errors.Join(append(errs, j.lock.Close())...)
}

// background synchronizes and compacts the file and collects garbage until ctx ends.
func (j *Journal) background(ctx context.Context) {
	var collect time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(j.period):
		}
		err := errors.Join(j.synchronize(), j.compactLarge(ctx))
		if begin := time.Now(); begin.After(collect) {
			err = errors.Join(err, j.collectAll(ctx))
			collect = time.Now().Add(9 * time.Since(begin)) // a tenth of one core
		}
		if err != nil && ctx.Err() == nil {
			j.warn(err)
		}
	}
}

// synchronize waits until all records of the file survive a crash of the machine. Only the background
// replaces the file, so that changes can go on.
func (j *Journal) synchronize() error {
	j.changes.Lock()
	file, size := j.file, j.file.size
	j.changes.Unlock()
	if size == file.synchronized {
		return nil
	}
	file.synchronized = size
	err := file.sync()
	if err == nil {
		return nil
	}
	j.changes.Lock()
	defer j.changes.Unlock()
	j.failed = fmt.Errorf("synchronizing %s: %w", j.name(), err) // what the file has is unknown
	return fmt.Errorf("no more changes are accepted: %w", j.failed)
}

// tokenKey is the key of metadata with the token.
const tokenKey = "btgen-journal"

// own returns the context of a request of the journal, which is not recorded.
func (j *Journal) own(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, tokenKey, j.token)
}

// await waits until the file has been loaded. It reports whether the request is one of the journal, which does not
// wait.
func (j *Journal) await(ctx context.Context) (own bool, err error) {
	if values := metadata.ValueFromIncomingContext(ctx, tokenKey); len(values) == 1 && values[0] == j.token {
		return true, nil
	}
	select {
	case <-j.loaded:
		return false, nil
	case <-ctx.Done():
		return false, status.FromContextError(ctx.Err()).Err()
	}
}
