package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// overlay has the benchmarks built with a server and clients that speak the session
// protocol of the official client, and loadVariable says which share of the calls for
// single rows the clients divert to it.
const (
	overlay      = "golden/sessiontest/testdata/overlay.json"
	loadVariable = "BTGEN_SESSION_LOAD"
)

// compareSessions measures generated code with ClientOptions with a plain server and with
// one that speaks sessions, at several loads, all in turns, and writes a table.
func compareSessions(count int, benchtime, loads string, to io.Writer) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plain, err := build(dir, "plain.test")
	if err != nil {
		return err
	}
	sessions, err := build(dir, "sessions.test", "-overlay", overlay)
	if err != nil {
		return err
	}
	servers := []string{"plain"}
	programs := map[string]program{"plain": plain}
	for load := range strings.SplitSeq(loads, ",") {
		servers = append(servers, load)
		programs[load] = program{path: sessions.path, variable: loadVariable + "=" + load}
	}
	printed := map[string]*strings.Builder{}
	for range count {
		for _, server := range servers {
			if printed[server] == nil {
				printed[server] = new(strings.Builder)
			}
			if err := programs[server].run(io.MultiWriter(printed[server], os.Stderr), "(Read|Write)/case=/path=wire", benchtime); err != nil {
				return err
			}
		}
	}
	var all []*results
	for _, server := range servers {
		r, err := parse(printed[server].String())
		if err != nil {
			return err
		}
		all = append(all, r)
	}
	table, err := sessionTable(servers, all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(to, table)
	return err
}

// sessionTable returns a table of the CPU time with a plain server, the first of them, and
// of how many times as much it is with the others.
func sessionTable(servers []string, of []*results) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-60s %12s", "", "ns/event")
	for _, server := range servers[1:] {
		fmt.Fprintf(&b, "  load %-4s", server)
	}
	b.WriteString("\n")
	for _, benchmark := range slices.Sorted(maps.Keys(of[0].values)) {
		plain, err := of[0].median(benchmark, perEvent)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%-60s %12s", benchmark, count(plain))
		for _, r := range of[1:] {
			took, err := r.median(benchmark, perEvent)
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&b, "  %.2f     ", took/plain)
		}
		b.WriteString("\n")
	}
	return b.String(), nil
}
