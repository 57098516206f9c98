package store

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/btgen-dev/btgen/runtime/internal/call"
)

// ReaderOptions configure a reader. The zero value is valid. If several are passed to a
// constructor, the last one replaces the others.
type ReaderOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Now is the clock for times to live; time.Now if nil.
	Now func() time.Time
	// Timeout limits the time for which a read waits for its next row or, with ClientOptions, for a message
	// that the server is still searching. 0 means DefaultTimeout; with NoTimeout, a read whose context has no deadline may wait
	// forever.
	Timeout time.Duration
	// Hooks trace every operation.
	Hooks Hooks
}

// WriterOptions configure a writer. The zero value is valid. If several are passed to a
// constructor, the last one replaces the others.
type WriterOptions struct {
	// TablePrefix precedes every table ID, for example "staging_".
	TablePrefix string
	// Now is the clock for times to live; time.Now if nil. It does not age the marks of rollups, which a writer uses for some
	// minutes of real time.
	Now func() time.Time
	// Timeout limits each request, including its retries. 0 means DefaultTimeout; with
	// NoTimeout, a call whose context has no deadline may retry forever.
	Timeout time.Duration
	// Parallelism is the maximum number of concurrent requests of one WriteAll. 0 means
	// DefaultParallelism; a negative value means 1.
	Parallelism int
	// SkipExpired skips events that are past their time to live, and counts them in
	// Operation.Expired, instead of refusing them.
	SkipExpired bool
	// Tables are the IDs, without TablePrefix, of the tables to write to and to delete from;
	// nil means all tables of the schema. The earlier layouts of a table belong to it. If
	// the schema does not have one of the tables, every call returns an *UnknownTableError. Writes
	// only to a table of codec.Latest return ErrStatesAlone.
	Tables []string
	// KeepWrittenAt stores the write time that an event has, for copies of stored events,
	// instead of setting it. Cell timestamps do not depend on it.
	KeepWrittenAt bool
	// Hooks trace every operation.
	Hooks Hooks
}

// BatcherOptions configure when a batcher sends the events that it has gathered. The
// zero value is valid. If several are passed to a constructor, the last one replaces
// the others.
type BatcherOptions struct {
	// MaxEvents is the maximum number of events in a batch. 0 means DefaultMaxEvents;
	// with NoMaxEvents, only MaxBytes limits a batch.
	MaxEvents int
	// MaxBytes is the size of the mutations, in bytes, at which a batch is full. The
	// last event may exceed it. 0 means DefaultMaxBytes; a negative value means 1, so
	// that each batch has one event. It cannot be switched off, so memory is bounded.
	MaxBytes int
	// MaxAge is the maximum time that an event waits to be sent, unless all
	// MaxConcurrentBatches are in progress. 0 means DefaultMaxAge; with NoTimeout,
	// events wait until the batch is full, or for Flush or Close.
	MaxAge time.Duration
	// MaxConcurrentBatches is the maximum number of batches in progress. With more than
	// one, events of the same series and time may be stored in a different order than
	// they were added. 0 means DefaultMaxConcurrentBatches; a negative value means 1.
	MaxConcurrentBatches int
	// LastWins is WriteOptions.LastWins for the events of each batch. The batcher does
	// not compare events in different batches: the batch that is written last wins.
	LastWins bool
	// Merge is WriteOptions.Merge for all events.
	Merge bool
}

// Defaults of the options.
const (
	DefaultTimeout              = time.Minute
	DefaultParallelism          = 4
	DefaultMaxEvents            = 10_000
	DefaultMaxBytes             = 2 << 20
	DefaultMaxAge               = 100 * time.Millisecond
	DefaultMaxConcurrentBatches = 4
)

// Values that disable a limit, as any negative value does.
const (
	NoTimeout   = time.Duration(-1) // for the timeouts of all options, and for BatcherOptions.MaxAge
	NoMaxEvents = -1                // for BatcherOptions.MaxEvents
)

// readerOptions returns the options of a reader with their defaults filled in.
func readerOptions(opts []ReaderOptions) ReaderOptions {
	o := call.Last(opts)
	o.Now, o.Timeout = call.Clock(o.Now), cmp.Or(o.Timeout, DefaultTimeout)
	return o
}

// writerOptions returns the options of a writer with their defaults filled in.
func writerOptions(opts []WriterOptions) WriterOptions {
	o := call.Last(opts)
	o.Now, o.Timeout = call.Clock(o.Now), cmp.Or(o.Timeout, DefaultTimeout)
	o.Parallelism = max(1, cmp.Or(o.Parallelism, DefaultParallelism))
	return o
}

// batcherOptions returns the options of a batcher with their defaults filled in.
func batcherOptions(opts []BatcherOptions) BatcherOptions {
	o := call.Last(opts)
	o.MaxBytes = max(1, cmp.Or(o.MaxBytes, DefaultMaxBytes))
	if o.MaxEvents = cmp.Or(o.MaxEvents, DefaultMaxEvents); o.MaxEvents < 0 {
		o.MaxEvents = o.MaxBytes // equal events share their bytes; this bounds them, too
	}
	o.MaxAge = cmp.Or(o.MaxAge, DefaultMaxAge)
	o.MaxConcurrentBatches = max(1, cmp.Or(o.MaxConcurrentBatches, DefaultMaxConcurrentBatches))
	return o
}

// OptionsError reports options that exclude each other, so that one of them would have no effect, or a number that is out of range.
// Nothing was sent.
type OptionsError struct {
	Options string // their type, such as "RollupOptions"
	Reason  string // what is wrong, and what to write instead
}

// Error says what is wrong.
func (e *OptionsError) Error() string { return e.Options + ": " + e.Reason }

// misuse is a use of options that a call refuses.
type misuse struct {
	is     bool
	reason string
}

// refuse returns an *[OptionsError] for the first of some misuses that is one; else nil.
func refuse(options string, all ...misuse) error {
	for _, m := range all {
		if m.is {
			return &OptionsError{options, m.reason}
		}
	}
	return nil
}

// negative is the misuse of an option for which 0 means something else.
func negative[T int | time.Duration](name string, v T, zero string) misuse {
	return misuse{v < 0, fmt.Sprintf("%s is %v: use 0 %s", name, v, zero)}
}

// badRate is the misuse of a rate.
func badRate(rate float64) misuse {
	return misuse{math.IsNaN(rate) || rate < 0, "Rate is negative or not a number: use 0 for no limit"}
}
