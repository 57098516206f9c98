// Package parallel spreads work over the processors.
package parallel

import (
	"runtime"
	"sync"
)

// For calls f for 0 to n-1, on as many goroutines as there are processors, and
// returns when all calls have.
func For(n int, f func(i int)) { spread(n, runtime.GOMAXPROCS(0), f) }

// waits is how many calls of Waiting are under way at once.
const waits = 16

// Waiting is For for calls that wait for a disk, more of them at once.
func Waiting(n int, f func(i int)) { spread(n, waits, f) }

// spread calls f for 0 to n-1 on some goroutines.
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
