package beamstore_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/btgen-dev/btgen/runtime/beamstore/example/plant/planttest"
)

// meter is a proxy of a server that calls a function once it has forwarded a given number of bytes.
type meter struct {
	net.Listener
	left atomic.Int64
	then atomic.Pointer[func()]
}

// newMeter returns a proxy of the server at addr.
func newMeter(t *testing.T, addr string) *meter {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	m := &meter{Listener: l}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			go m.forward(server, client)
			go m.forward(client, server)
		}
	}()
	return m
}

// after makes the proxy call f after the given number of bytes.
func (m *meter) after(bytes int64, f func()) {
	m.left.Store(1 << 62)
	m.then.Store(&f)
	m.left.Store(bytes)
}

// forward forwards one direction of a connection.
func (m *meter) forward(to, from net.Conn) {
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if _, failed := to.Write(buf[:n]); failed != nil || err != nil {
			return
		}
		if left := m.left.Add(int64(-n)); left <= 0 && left > int64(-n) {
			(*m.then.Load())()
		}
	}
}

// number returns the number in an environment variable.
func number(t *testing.T, name string, otherwise int) int {
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	check(t, err)
	return n
}

// patience is how long a driver may take to notice that its worker is dead. Prism does not
// always notice it, if the worker was about to finish a bundle.
const patience = 10 * time.Second

// start starts the driver of an attempt, and returns its process and how it ended.
func (a attempt) start(t *testing.T) (*os.Process, <-chan error) {
	self, err := os.Executable()
	check(t, err)
	config, err := json.Marshal(a)
	check(t, err)
	_ = os.Remove(a.PIDFile) // of the worker of an earlier attempt
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), driver+"="+string(config))
	var text bytes.Buffer
	cmd.Stderr = &text
	check(t, cmd.Start())
	ended := make(chan error, 1)
	go func() {
		err := cmd.Wait()
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, text.Bytes())
		}
		ended <- err
	}()
	return cmd.Process, ended
}

// killed starts an attempt, of which the worker, the driver or both are killed once so many bytes were transferred. It
// returns how many were, which is none if the attempt ended before.
func (a attempt) killed(t *testing.T, m *meter, after int64, random *rand.Rand) (kills int) {
	now := make(chan bool, 1)
	m.after(after, func() { now <- true })
	process, ended := a.start(t)
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("a backfill failed before anything was killed: %v", err)
		}
		return 0
	case <-now:
	}
	whom := random.IntN(3)
	if whom != 1 && kill(t, a.PIDFile) {
		kills++
	}
	if whom != 0 && process.Kill() == nil {
		kills++
	}
	select {
	case <-ended:
	case <-time.After(patience):
		_ = process.Kill()
		<-ended
	}
	return kills
}

// Workers, drivers or both are killed at random moments of backfills, which fail, because
// Prism does not execute a bundle again, and are started again. In the end, the target equals
// the model, event for event. For more events and kills:
//
//	BTGEN_BEAM_EVENTS=10000000 BTGEN_BEAM_KILLS=100 go test -run TestKilledWorkers -v -timeout 0
func TestKilledWorkers(t *testing.T) {
	events, kills := number(t, "BTGEN_BEAM_EVENTS", 20_000), number(t, "BTGEN_BEAM_KILLS", 3)
	bt := planttest.New(t)
	fill(t, bt, "samples", events)
	m := newMeter(t, bt.Addr)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	parts := max(1, min(30, kills/3)) // each part of the time range is a backfill
	size := int64(100_000)            // bytes that a backfill transfers, as far as is known
	a := attempt{Addr: m.Addr().String(), PIDFile: filepath.Join(t.TempDir(), "pid")}
	killed := 0
	for part := range parts {
		a.From, a.To = timeOf(events/parts*part), timeOf(events/parts*(part+1))
		if part == parts-1 {
			a.To = timeOf(events).Add(time.Hour)
		}
		for quota := (part + 1) * kills / parts; killed < quota; {
			if n := a.killed(t, m, 1+random.Int64N(size), random); n > 0 {
				killed += n
				size += size / 4
			} else {
				size = max(size/2, 1000) // it was too short
			}
		}
		m.after(1<<62, nil)
		_, ended := a.start(t)
		check(t, <-ended) // nothing is killed
	}
	contains(t, bt, "samples_salted", events, all)
	contains(t, bt, "samples", events, all)
}

// kill kills the process whose ID is in a file, and reports whether there was one.
func kill(t *testing.T, file string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	id, err := strconv.Atoi(string(text))
	if err != nil {
		t.Error(err)
		return false
	}
	process, err := os.FindProcess(id)
	return err == nil && process.Kill() == nil
}

// check ends the test if there is an error.
func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
