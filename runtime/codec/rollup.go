package codec

import "time"

// Rollup describes how a table summarizes the events of each bucket by windows of time: as cells of a
// family in the row of the bucket, with the end of the bucket as their timestamps.
type Rollup struct {
	Every  time.Duration // width of windows, in whole seconds; windows divide each bucket
	After  time.Duration // how long after the end of a bucket its events are summarized
	Family string        // has only the cells of the rollup
	GC     GCRule        // of the family: a maximum age, or none
	Fields []string      // names of the columns of the fields; nil for all
	// Idle is set as long as readers do not use the rollup, because programs may be running that do not maintain it.
	Idle bool
}

// Skew is how far apart the clocks of programs and of Bigtable may be. The exactness of rollups depends on
// it only where events or the rollup expire: what expires within Skew may be gone.
const Skew = time.Hour

// Grace is how long a sealer waits after it has seen the marks of a row before it acts on them. Writers
// use a mark for half of it.
func (r *Rollup) Grace(b Bucket) time.Duration { return max(10*time.Minute, b.Widest()/48) }

// Least is the shortest time to live with which the events of a bucket are all there until it can be summarized: twice
// Grace after it may begin, and as long before events may expire.
func (r *Rollup) Least(b Bucket) time.Duration { return b.Widest() + r.After + 4*r.Grace(b) + Skew }

// Deadline is the longest time that a request which changes events of the table may take.
func (r *Rollup) Deadline(b Bucket) time.Duration { return r.Grace(b) / 10 }
