// Package parallel distributes work over goroutines.
package parallel

import (
	"runtime"
	"sync"
)

// For calls f for 0 to n-1 on as many goroutines as there are processors, and returns
// when all calls have returned.
func For(n int, f func(i int)) { spread(n, runtime.GOMAXPROCS(0), f) }

// waits is the number of concurrent calls of Waiting.
const waits = 16

// Waiting is like [For] for calls that wait for a disk. It makes more of them
// concurrently.
func Waiting(n int, f func(i int)) { spread(n, waits, f) }

// spread calls f for 0 to n-1 on the given number of goroutines.
func spread(n, goroutines int, f func(i int)) {
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(n, goroutines) {
		wg.Go(func() {
			for i := range next {
				f(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
}
