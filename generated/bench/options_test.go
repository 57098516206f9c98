package main

import "google.golang.org/grpc"

// serverOptions are additional options of the server: none, unless package
// sessiontest adds sessions.
func serverOptions() []grpc.ServerOption { return nil }
