// Package cputime measures the CPU time of this process, for benchmarks. Unlike wall
// time, it depends little on other processes.
package cputime

import "time"

// Spent returns the CPU time of this process since its start, in user and system mode;
// 0 if the operating system does not report it.
func Spent() time.Duration { return spent() }
