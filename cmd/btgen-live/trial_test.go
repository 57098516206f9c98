package main

import (
	"context"
	"os"
	"os/exec"
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/grpc"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/trial"
	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
)

// TestTrialKilled checks that the tables of a killed trial are removed by their names, an hour later.
func TestTrialKilled(t *testing.T) {
	started := make(chan *os.Process, 1)
	made := 0
	b, err := storetest.StartAt(t.Context(), "127.0.0.1:0", grpc.ChainUnaryInterceptor(func(ctx context.Context, request any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		response, err := next(ctx, request)
		if _, creates := request.(*adminpb.CreateTableRequest); creates {
			if made++; made == 3 {
				assert.Is(t, nil, (<-started).Kill())
			}
		}
		return response, err
	}))
	must(t, err)
	defer b.Close()
	t.Setenv(store.EmulatorVariable, b.Addr)
	cmd := exec.Command("btgen-live", atInstance("trial", "order-rows", "sums-add", "protection")...)
	cmd.Env = append(os.Environ(), store.EmulatorVariable+"="+b.Addr)
	must(t, cmd.Start())
	started <- cmd.Process
	if err := cmd.Wait(); err == nil {
		t.Fatal("the trial ended")
	}
	left, err := b.Admin.Tables(t.Context())
	must(t, err)
	assert.Same(t, 3, len(left))
	c := &trial.Clients{Project: storetest.Project, Instance: storetest.Instance, Client: b.Client, Admin: b.Admin}
	removed, _, err := trial.Clean(t.Context(), c, time.Now())
	must(t, err)
	assert.Same(t, 0, len(removed))
	removed, _, err = trial.Clean(t.Context(), c, time.Now().Add(2*time.Hour))
	must(t, err)
	assert.Same(t, len(left), len(removed))
}
