package main

import "sync"

// budget bounds the memory of events that are read but not yet written. It is safe for concurrent
// use.
type budget struct {
	mu     sync.Mutex
	freed  *sync.Cond
	total  int // bytes
	used   int
	closed bool
}

func newBudget(total int) *budget {
	b := &budget{total: total}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// take waits until the bytes of an event fit. An event that is larger than all of the budget has
// to be alone. It returns false if the budget is closed.
func (b *budget) take(bytes int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.used > 0 && b.used+bytes > b.total {
		b.freed.Wait()
	}
	b.used += bytes
	return !b.closed
}

// give returns bytes that were taken.
func (b *budget) give(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= bytes
	b.freed.Broadcast()
}

// close ends all calls of take.
func (b *budget) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.freed.Broadcast()
}
