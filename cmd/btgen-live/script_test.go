package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/bttest"
	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/golden/testlong"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
	"github.com/btgen-dev/btgen/runtime/storetest"
	"github.com/btgen-dev/btgen/templates"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"btgen-live": main})
}

var update = flag.Bool("update", false, "rewrite what scripts and requests compare with files")

// TestScripts runs the scripts in testdata/script, each of which tests one feature of
// the command line. ADDR is a free address. Those that go through all refusals, strategies and
// kinds of keys run at length only.
func TestScripts(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) < 20 {
		t.Fatal(len(scripts), err)
	}
	if !*update {
		scripts = testlong.Sample(scripts, 13)
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: *update,
		Condition:     testlong.Condition,
		Setup: func(env *testscript.Env) error {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return err
			}
			env.Setenv("GOGC", "400") // each process is short
			env.Setenv("ADDR", l.Addr().String())
			return l.Close()
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"serves":  scriptCommand("ADDRESS PROJECT INSTANCE TABLE", serves),
			"listens": scriptCommand("ADDRESS", listens),
			"exits":   exits,
			"terminates": scriptCommand("", func(_ context.Context, ts *testscript.TestScript, _ []string) {
				for _, c := range ts.BackgroundCmds() {
					ts.Check(c.Process.Signal(syscall.SIGTERM))
				}
			}),
			"meddles":  scriptCommand("ADDRESS PROJECT INSTANCE TABLE", meddles),
			"views":    scriptCommand("ADDRESS PROJECT INSTANCE TABLE", views),
			"writes":   scriptCommand("ADDRESS PROJECT INSTANCE TABLE ROW FAMILY:QUALIFIER TIME VALUE", writes),
			"compress": scriptCommand("gzip|zstd FILE COMPRESSED", compresses),
		},
	})
}

// scriptCommand returns a command of scripts with arguments, which has two minutes.
func scriptCommand(usage string, do func(ctx context.Context, ts *testscript.TestScript, args []string)) func(ts *testscript.TestScript, neg bool, args []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != len(strings.Fields(usage)) {
			ts.Fatalf("usage: %s", usage)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
		defer cancel()
		do(ctx, ts, args)
	}
}

// compresses compresses a file.
func compresses(_ context.Context, ts *testscript.TestScript, args []string) {
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if args[0] == "zstd" {
		encoder, err := zstd.NewWriter(&out)
		ts.Check(err)
		w = encoder
	}
	_, err := io.WriteString(w, ts.ReadFile(args[1]))
	ts.Check(errors.Join(err, w.Close()))
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out.Bytes(), 0o666))
}

// serves waits until a server has a table. Its client stays connected, so that scripts end servers that have clients.
func serves(ctx context.Context, ts *testscript.TestScript, args []string) {
	listens(ctx, ts, args[:1]) // the client need not back off
	admin := connect(ctx, ts, args)
	for {
		_, err := admin.TableInfo(ctx, args[3])
		if err == nil {
			return
		}
		pause(ctx, ts, err)
	}
}

// listens waits until a server listens.
func listens(ctx context.Context, ts *testscript.TestScript, args []string) {
	for {
		conn, err := net.Dial("tcp", args[0])
		if err == nil {
			ts.Check(conn.Close())
			return
		}
		pause(ctx, ts, err)
	}
}

// meddles creates a table with the families f, which keeps everything, and sum, an
// aggregate, as another program might.
func meddles(ctx context.Context, ts *testscript.TestScript, args []string) {
	admin := connect(ctx, ts, args)
	defer admin.Close()
	ts.Check(admin.CreateTableFromConf(ctx, &bigtable.TableConf{TableID: args[3], ColumnFamilies: map[string]bigtable.Family{
		"f":   {},
		"sum": {ValueType: bigtable.AggregateType{Input: bigtable.Int64Type{}, Aggregator: bigtable.SumAggregator{}}},
	}}))
}

// views creates the authorized view partner of the family m of a table.
func views(ctx context.Context, ts *testscript.TestScript, args []string) {
	admin := connect(ctx, ts, args)
	defer admin.Close()
	conf := &bigtable.SubsetViewConf{}
	conf.AddFamilySubsetQualifierPrefix("m", nil)
	ts.Check(admin.CreateAuthorizedView(ctx, &bigtable.AuthorizedViewConf{TableID: args[3], AuthorizedViewID: "partner", AuthorizedView: conf}))
}

// writes writes a cell.
func writes(ctx context.Context, ts *testscript.TestScript, args []string) {
	conn, err := grpc.NewClient(args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	ts.Check(err)
	client, err := bigtable.NewClientWithConfig(ctx, args[1], args[2], bigtable.ClientConfig{MetricsProvider: bigtable.NoopMetricsProvider{}}, option.WithGRPCConn(conn))
	ts.Check(err)
	defer client.Close()
	at, err := time.Parse(time.RFC3339, args[6])
	ts.Check(err)
	family, qualifier, _ := strings.Cut(args[5], ":")
	m := bigtable.NewMutation()
	m.Set(family, raw(ts, qualifier), bigtable.Time(at), []byte(raw(ts, args[7])))
	ts.Check(client.Open(args[3]).Apply(ctx, args[4], m))
}

// raw returns the bytes of hexadecimal digits after 0x, or other text as it is.
func raw(ts *testscript.TestScript, text string) string {
	digits, is := strings.CutPrefix(text, "0x")
	if !is {
		return text
	}
	b, err := hex.DecodeString(digits)
	ts.Check(err)
	return string(b)
}

// connect returns a client of the server ADDRESS PROJECT INSTANCE.
func connect(ctx context.Context, ts *testscript.TestScript, args []string) *bigtable.AdminClient {
	conn, err := grpc.NewClient(args[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	ts.Check(err)
	admin, err := bigtable.NewAdminClient(ctx, args[1], args[2], option.WithGRPCConn(conn))
	ts.Check(err)
	return admin
}

// pause waits briefly, and fails the script once ctx has ended.
func pause(ctx context.Context, ts *testscript.TestScript, err error) {
	select {
	case <-ctx.Done():
		ts.Fatalf("waited too long: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
}

// exits runs a program that must end with the given exit code: exits CODE PROGRAM
// ARG...
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARG...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// An interrupt ends setup while it waits for a server that does not reply.
func TestSetupInterrupted(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	cmd := exec.Command("btgen-live", "setup", "--project", "p", "--instance", "i", "testdata/event.yaml")
	cmd.Env = append(os.Environ(), "BIGTABLE_EMULATOR_HOST="+l.Addr().String())
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	must(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	for range 2 { // the first asks whether an emulator listens, the second is the client's
		conn, err := l.Accept()
		must(t, err)
		defer conn.Close()
	}
	must(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait() // the exit code is checked below
	assert.Same(t, 2, cmd.ProcessState.ExitCode())
	if stdout.String() != "" || !strings.HasPrefix(stderr.String(), "btgen-live: listing the tables: interrupted") || strings.Count(stderr.String(), "interrupted") > 1 {
		t.Errorf("printed %q and, as a failure, %q", stdout.String(), stderr.String())
	}
}

// An interrupt while the emulator is looked for does not say that there is none.
func TestEmulatorInterrupted(t *testing.T) {
	t.Setenv(store.EmulatorVariable, "127.0.0.1:1")
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupt signal received")
	cancel(interrupted)
	err := emulates(ctx)
	if !errors.Is(err, interrupted) || strings.Contains(err.Error(), "no emulator") {
		t.Errorf("the error is %v", err)
	}
}

// An instance that does not exist differs from one without tables: there is no plan for
// it, whether or not the user may list tables.
func TestMissingInstance(t *testing.T) {
	for _, list := range []codes.Code{codes.NotFound, codes.PermissionDenied} {
		server, err := bttest.NewServer("127.0.0.1:0", grpc.UnaryInterceptor(func(_ context.Context, req any, _ *grpc.UnaryServerInfo, _ grpc.UnaryHandler) (any, error) {
			const message = "Instance not found: projects/p/instances/nowhere"
			switch req.(type) {
			case *adminpb.ListTablesRequest:
				return nil, status.Error(list, message)
			case *adminpb.GetTableRequest, *adminpb.ListAuthorizedViewsRequest:
				return nil, status.Error(codes.NotFound, message)
			}
			t.Errorf("sent %T", req)
			return nil, status.Error(codes.NotFound, message)
		}))
		must(t, err)
		defer server.Close()
		t.Setenv("BIGTABLE_EMULATOR_HOST", server.Addr)
		for _, command := range []string{"plan", "setup"} {
			var stdout, stderr strings.Builder
			code := run([]string{command, "--project", "p", "--instance", "nowhere", "testdata/event.yaml"}, &stdout, &stderr)
			const want = "btgen-live: the instance does not exist: rpc error: code = NotFound desc = Instance not found: projects/p/instances/nowhere: use another project or instance, or create it first\n"
			if code != 2 || stdout.String() != "" || stderr.String() != want {
				t.Errorf("%s, listing gives %s: exit code %d, %q and %q", command, list, code, stdout.String(), stderr.String())
			}
		}
	}
}

// TestManual compares the plan in the manual.
func TestManual(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations.md")
	must(t, err)
	_, rest, _ := strings.Cut(string(page), "<!-- plan -->\n```\n")
	want, _, _ := strings.Cut(rest, "```\n")
	b := storetest.New(t, func(context.Context, *storetest.Bigtable) error { return nil })
	t.Setenv("BIGTABLE_EMULATOR_HOST", b.Addr)
	schema, err := templates.Starter(templates.DefaultStarter)
	must(t, err)
	path := t.TempDir() + "/balloon.yaml"
	command := func(name, age string) (int, string) {
		text := strings.Replace(string(schema), "max_age: 30d", "max_age: "+age, 1)
		must(t, os.WriteFile(path, []byte(text), 0o666))
		code, stdout, _ := ranAt(name + " " + path)
		return code, stdout
	}
	if code, out := command("setup", "30d"); code != 0 {
		t.Fatal(out)
	}
	must(t, b.Admin.CreateColumnFamily(t.Context(), "balloon_buckets", "scratch"))
	code, out := command("plan", "7d")
	assert.Same(t, 1, code)
	assert.Same(t, want, out)
}

// TestCommandsOfTheManual checks that the commands and flags in the manual exist.
func TestCommandsOfTheManual(t *testing.T) {
	command := regexp.MustCompile("(?m)(?:^|`|^\\$ |go tool )btgen-live ([a-z][^`|>\n]*)")
	mentioned := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/reference/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", pattern))
		if err != nil || len(files) == 0 {
			t.Fatal("no files ", pattern, err)
		}
		for _, file := range files {
			page, err := os.ReadFile(file)
			must(t, err)
			for _, m := range command.FindAllSubmatch(page, -1) {
				mentioned++
				var stderr strings.Builder
				line := strings.TrimSuffix(string(m[1]), " \\") // continued on the next line
				if run(append(strings.Fields(line), "--help"), io.Discard, &stderr) != 0 {
					t.Errorf("%s mentions %q: %s", file, m[0], stderr.String())
				}
			}
		}
	}
	if mentioned < 30 {
		t.Errorf("only %d commands", mentioned)
	}
}

// brokenWriter is an output that always fails.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A failure to print is a failure of the command, which is reported once.
func TestBrokenOutput(t *testing.T) {
	schema, b := inProject(t, "event.yaml", servedSchema, setup.Options{})
	must(t, schema.NewWriter(b.Client).WriteAll(t.Context(), readings("berlin", 1, time.Minute, 5000)))
	must(t, os.WriteFile("wrong.ndjson", []byte("{}\n{}\n"), 0o666))
	for _, c := range [][2]string{
		{"setup"}, {"plan"}, {"read Event city=berlin sensor=1 --format csv"},
		{"write Event wrong.ndjson", ": nothing is written; to continue, repeat the command with --from-line 1"},
		{"emulator --addr 127.0.0.1:0"},
	} {
		command, says := c[0], c[1]
		var stderr strings.Builder
		if code := run(atInstance(strings.Fields(command)...), brokenWriter{}, &stderr); code != 2 || stderr.String() != "btgen-live: no space left"+says+"\n" {
			t.Errorf("%s: exit code %d, %q", command, code, stderr.String())
		}
	}
}
