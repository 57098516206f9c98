package main

import (
	"os"

	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/golden/sessiontest"
)

// serverOptions have the server speak sessions, unless there is no load.
func serverOptions() []grpc.ServerOption {
	if os.Getenv(sessiontest.LoadVariable) == "" {
		return nil
	}
	return sessiontest.FromEnvironment().ServerOptions()
}
