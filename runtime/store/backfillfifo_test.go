//go:build unix && !solaris && !aix

package store

import "syscall"

func init() { mkfifo = syscall.Mkfifo }
