package main

import (
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/internal/sessiontest"
)

// serverOptions have the server speak sessions.
func serverOptions() []grpc.ServerOption { return sessiontest.FromEnvironment().ServerOptions() }
