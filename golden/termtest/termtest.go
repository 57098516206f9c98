//go:build !linux

// Package termtest lets tests run commands on a terminal, and checks what the terminal gets. It
// has content only on Linux. The package is only for tests.
package termtest
