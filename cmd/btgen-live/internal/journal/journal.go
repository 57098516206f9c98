// Package journal keeps the tables of an in-memory Bigtable in a folder, over restarts and kills.
//
// The server answers all requests; interceptors append what each has changed to a file, and at the next
// start the changes of the file are applied to an empty server. The rules:
//
//   - A change is answered after its record was written to the file, so that it survives the end of the process
//     in any way. The file is synchronized within a second, so a crash of the machine loses at most the last second,
//     and never a change before one that it keeps.
//   - Changes happen one at a time: applied, recorded, and only then visible to reads. The order in the file
//     is the order in which they were applied.
//   - A record of rows contains effects. Server-assigned times are assigned before the request is applied; a
//     conditional mutation is recorded as the mutations that it chose, an increment as the cells that it wrote, and a
//     request that the server refused after a part of it as the rows that it left. Administrative requests are
//     recorded as they are, with the code of their answer, which they must have again.
//   - Garbage is collected here instead of by the server, and recorded like a deletion. Otherwise, a collected
//     cell could reappear after a restart.
//   - A record at the end that cannot be complete was never answered: it is dropped, and its length reported. Any
//     other damage is a [DamagedError], and nothing of the file is used.
//   - If a record cannot be written, as on a full disk, the request fails, but the change remains applied: reads see
//     it, since a server cannot undo it. Its record is written before any other change is applied, or by Close; if
//     the process is killed before, the next start lacks the change. If the file cannot be synchronized, all
//     further changes fail until the next start.
//   - Compaction writes the state as a new file, synchronizes it, and renames it to the old one, while no
//     change happens: the administrative requests of the tables that exist, as they were recorded, and their rows. A
//     process that is killed meanwhile leaves the old file, or the new one with the same state.
//   - The file is created in the same way, so one that is shorter than its first line has lost its tables: it is
//     damaged.
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
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// Journal records the changes of one server in a folder.
type Journal struct {
	dir    string
	unlock func()
	warn   func(error)       // about what fails in the background
	period time.Duration     // of what happens in the background
	opened func(*recordFile) // for tests

	token  string        // of requests that are applied again
	loaded chan struct{} // closed once the file has been loaded
	server server
	stop   func() // ends the background and waits for it; nil before Load

	// rows is locked by changes, and read-locked by reads except while they send. It is always locked after changes.
	rows sync.RWMutex

	changes sync.Mutex // held while a change is applied and recorded, and by compaction; guards what follows
	file    *recordFile
	failed  error               // why no more changes are accepted; nil if they are
	compact int64               // the size in bytes from which on the file is compacted
	tables  map[string][][]byte // records of what tables, their views and bundles are, by the names of tables that exist
}

// server is what the journal needs of the server in this process, without interceptors.
type server interface {
	bigtablepb.BigtableServer
	adminpb.BigtableTableAdminServer
}

// Open locks a folder, which it creates if it does not exist, for the tables of one server. It fails
// if another process uses the folder. warn is called, on another goroutine, with errors of what
// happens in the background. The caller must call [Journal.Close].
func Open(dir string, warn func(error)) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	unlock, err := lockFile(filepath.Join(dir, "lock"))
	if err != nil {
		return nil, fmt.Errorf("folder %s: %w", dir, err)
	}
	return &Journal{
		dir: dir, unlock: unlock, warn: warn, period: time.Second, opened: func(*recordFile) {},
		token: rand.Text(), loaded: make(chan struct{}), tables: map[string][][]byte{},
	}, nil
}

// errLocked is the error if another process has the lock.
var errLocked = errors.New("another process keeps its tables there: end it, or use another folder")

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
	Bytes   int64
	Dropped int64 // bytes of a record at the end that is not complete
}

// Load applies the changes of the file to the empty server at addr, and begins to record. It needs
// memory for one record at a time, and ends when ctx does. It returns a [DamagedError] if the file is damaged.
func (j *Journal) Load(ctx context.Context, addr string) (Loaded, error) {
	conn, err := grpc.NewClient(addr, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxRecord), grpc.MaxCallSendMsgSize(maxRecord)))
	if err != nil {
		return Loaded{}, err
	}
	defer conn.Close()
	own := metadata.AppendToOutgoingContext(ctx, tokenKey, j.token)
	if _, err := bigtablepb.NewBigtableClient(conn).PingAndWarm(own, &bigtablepb.PingAndWarmRequest{}); err != nil {
		return Loaded{}, err // else it has set j.server
	}
	if err := os.Remove(j.next()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return Loaded{}, err
	}
	if _, exists := os.Lstat(j.name()); errors.Is(exists, os.ErrNotExist) {
		err = j.replaceFile(ctx)
	} else {
		j.file, err = j.openFile(j.name(), 0)
	}
	if err != nil {
		return Loaded{}, err
	}
	out, err := j.file.load(func(record []byte) error {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		return j.replay(own, conn, record)
	})
	if err != nil {
		return out, err
	}
	j.compact = minCompacted // what the file would be is unknown; loading it took longer than compacting it
	j.background(context.WithoutCancel(ctx))
	close(j.loaded)
	return out, nil
}

// Close ends recording, synchronizes the file and unlocks the folder. The server should be closed before: it
// refuses all further changes.
func (j *Journal) Close() error {
	if j.stop != nil {
		j.stop()
	}
	j.changes.Lock()
	defer j.changes.Unlock()
	var errs []error
	if j.file != nil {
		if j.failed == nil {
			errs = append(errs, j.file.flush())
		}
		errs = append(errs, j.file.sync(), j.file.Close())
		j.file = nil
	}
	j.failed = errors.New("the server has ended")
	j.unlock()
	return errors.Join(errs...)
}

// background synchronizes and compacts the file and collects garbage until stop is called.
func (j *Journal) background(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	j.stop = func() { cancel(); <-ended }
	report := func(err error) {
		if err != nil && ctx.Err() == nil {
			j.warn(err)
		}
	}
	go func() {
		defer close(ended)
		var collect time.Time
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(j.period):
			}
			report(j.synchronize())
			report(j.compactLarge(ctx))
			if begin := time.Now(); begin.After(collect) {
				report(j.collectAll(ctx))
				collect = time.Now().Add(9 * time.Since(begin)) // a tenth of one core
			}
		}
	}()
}

// synchronize waits until all records of the file survive a crash of the machine. Only the background
// replaces the file, so that changes can go on.
func (j *Journal) synchronize() error {
	j.changes.Lock()
	file, size, failed := j.file, j.file.size, j.failed
	j.changes.Unlock()
	if failed != nil || size == file.synchronized {
		return nil
	}
	if err := file.sync(); err != nil {
		j.changes.Lock()
		defer j.changes.Unlock()
		j.failed = fmt.Errorf("synchronizing %s: %w", j.name(), err) // what the file has is unknown
		return fmt.Errorf("no more changes are accepted: %w", j.failed)
	}
	file.synchronized = size
	return nil
}

// tokenKey is the key of metadata with the token.
const tokenKey = "btgen-journal"

// await waits until the file has been loaded. It reports whether the request is one that Load applies again, which
// does not wait.
func (j *Journal) await(ctx context.Context) (again bool, err error) {
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
