package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/encoding/proto"

	"github.com/btgen-dev/btgen/golden/assert"
)

// serveVariable turns the program into a server of benchmarks, so that the server's CPU time is
// not counted: its value is one of served.
const serveVariable = "BTGEN_BENCH_SERVER"

// served are the tables that servers of benchmarks have.
var served = map[string]func() map[string]table{
	"tables": tables,
	"fleet":  func() map[string]table { return longFleet().tables() },
}

func TestMain(m *testing.M) {
	tables, serves := served[os.Getenv(serveVariable)]
	if !serves {
		os.Exit(m.Run())
	}
	if err := serve(newServer(tables())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve prints its address and serves until its standard input ends. Flow control windows are so large that clients
// need not wait for the server.
func serve(answers *server) error {
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := grpc.NewServer(grpc.UnknownServiceHandler(answers.serve), grpc.ForceServerCodecV2(rawCodec{encoding.GetCodecV2(proto.Name)}),
		grpc.MaxRecvMsgSize(maxMessage), grpc.MaxSendMsgSize(maxMessage), grpc.InitialWindowSize(4<<20), grpc.InitialConnWindowSize(4<<20))
	fmt.Println(listener.Addr())
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte()
		s.Stop()
	}()
	return s.Serve(listener)
}

// startAway starts a server in a separate process, with tables that are served, and returns its
// address.
func startAway(b testing.TB, tables string) (addr string) {
	b.Helper()
	program, err := os.Executable()
	assert.Must(b, err)
	cmd := exec.CommandContext(b.Context(), program)
	cmd.Env = append(os.Environ(), serveVariable+"="+tables)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	assert.Must(b, err)
	stdout, err := cmd.StdoutPipe()
	assert.Must(b, err)
	assert.Must(b, cmd.Start())
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	assert.Must(b, err)
	return strings.TrimSpace(line)
}
