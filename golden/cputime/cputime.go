// Package cputime measures the processors' time of this process, for benchmarks: unlike
// the time that passes, it depends little on what else the machine does.
package cputime

import "time"

// Spent returns what this process has taken since its start, in user mode and in the
// system. It is 0 where the operating system does not say.
func Spent() time.Duration { return spent() }
