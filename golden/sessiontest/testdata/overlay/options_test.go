package main

import (
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/golden/sessiontest"
)

// serverOptions have the server speak sessions.
func serverOptions() []grpc.ServerOption { return sessiontest.FromEnvironment().ServerOptions() }
