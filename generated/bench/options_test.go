package main

import "google.golang.org/grpc"

// serverOptions are further options of the server: none, but where package sessiontest
// has it speak sessions.
func serverOptions() []grpc.ServerOption { return nil }
