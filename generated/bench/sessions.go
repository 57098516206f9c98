package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// overlay builds the benchmarks with a server and clients that speak the session protocol of
// the official client, and loadVariable is the share of single-row calls that the clients
// divert to it. If it is empty, the server does not speak sessions.
const (
	overlay      = "golden/sessiontest/testdata/overlay.json"
	loadVariable = "BTGEN_SESSION_LOAD"
)

// compareSessions measures generated code with ClientOptions with a server that does not
// speak sessions and with one that does, at several loads, alternating between them, and
// writes a table. The clients are the same: they open their connections themselves.
func compareSessions(count int, benchtime, loads string, to io.Writer) error {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := build(dir, "sessions.test", "-overlay", overlay)
	if err != nil {
		return err
	}
	servers := append([]string{""}, strings.Split(loads, ",")...)
	printed := make([]strings.Builder, len(servers))
	for range count {
		for i, load := range servers {
			p.variable = loadVariable + "=" + load
			if err := p.run(io.MultiWriter(&printed[i], os.Stderr), "(Read|Write)/case=/path=wire", benchtime); err != nil {
				return err
			}
		}
	}
	var all []*results
	for i := range printed {
		r, err := parse(printed[i].String())
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

// sessionTable returns a table of the CPU time with the first server, which does not speak
// sessions, and of the ratios with the others.
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
