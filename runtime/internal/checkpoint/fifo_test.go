//go:build unix && !solaris && !aix

package checkpoint

import "syscall"

func init() { mkfifo = syscall.Mkfifo }
