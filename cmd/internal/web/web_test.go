package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/golden/assert"
)

// serve serves a handler and returns its address and a function that ends it.
func serve(t *testing.T, h http.HandlerFunc) (addr string, end func() error) {
	t.Helper()
	l, err := web.Listen(t.Context(), "127.0.0.1:0")
	must(t, err)
	return l.Addr().String(), started(t, l, nil, h)
}

// started serves a handler until the end of the test, or until it is ended.
func started(t *testing.T, l net.Listener, a *web.Access, h http.HandlerFunc) (end func() error) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(ctx, l, h, a) }()
	end = sync.OnceValue(func() error { cancel(); return <-ended })
	t.Cleanup(func() { assert.Is(t, nil, end()) })
	return end
}

// TestRequests sends requests as browsers do for pages of the server and of others. The class of fault: a page of another
// site learns what is stored from an answer that it cannot read, such as from the time that it takes.
func TestRequests(t *testing.T) {
	addr, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "secret") })
	_, port, _ := net.SplitHostPort(addr)
	type header map[string]string
	for name, c := range map[string]struct {
		method, host string
		header       header
		want         int
	}{
		"address":                          {"GET", addr, nil, 200},
		"name":                             {"HEAD", "localhost:" + port, nil, 200},
		"IPv6":                             {"GET", "[::1]:" + port, nil, 200},
		"typed address":                    {"GET", addr, header{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		"script of the page":               {"GET", addr, header{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 200},
		"link of another site":             {"GET", addr, header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		"own origin":                       {"GET", addr, header{"Origin": "http://" + addr}, 200},
		"name that is rebound":             {"GET", "evil.example:" + port, nil, 421},
		"name without a port":              {"GET", "localhost", nil, 421},
		"other port":                       {"GET", "localhost:1", nil, 421},
		"name that begins the same":        {"GET", "localhost.evil.example:" + port, nil, 421},
		"other origin":                     {"GET", addr, header{"Origin": "http://evil.example"}, 403},
		"no origin":                        {"GET", addr, header{"Origin": "null"}, 403},
		"script of another site":           {"GET", addr, header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"}, 403},
		"script of another port":           {"GET", addr, header{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		"frame of another site":            {"GET", addr, header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, 403},
		"form":                             {"POST", addr, nil, 405},
		"preflight of another origin":      {"OPTIONS", addr, nil, 405},
		"data for a program":               {"GET", addr + "/api/x", header{"Content-Type": "application/json"}, 200},
		"data for one with a charset":      {"GET", addr + "/api/x", header{"Content-Type": "Application/JSON; charset=utf-8"}, 200},
		"data for a form with two types":   {"GET", addr + "/api/x", header{"Content-Type": "text/plain; application/json"}, 403},
		"data with a token":                {"GET", addr + "/api/x", header{"Authorization": "Bearer x"}, 200},
		"data for the page":                {"GET", addr + "/api/x", header{"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 200},
		"data at a typed address":          {"GET", addr + "/api/x", header{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 200},
		"data at a link of another site":   {"GET", addr + "/api/x", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		"data at a link of another port":   {"GET", addr + "/api/x", header{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		"data at a link in an old browser": {"GET", addr + "/api/x", header{"Accept": "text/html"}, 403},
		"data for a form of another site":  {"GET", addr + "/api/x", header{"Content-Type": "text/plain"}, 403},
		"a file at a link of another site": {"GET", addr + "/next", header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
	} {
		host, path, _ := strings.Cut(c.host, "/")
		r, err := http.NewRequestWithContext(t.Context(), c.method, "http://"+addr+"/"+path, nil)
		must(t, err)
		r.Host = host
		for key, value := range c.header {
			r.Header.Set(key, value)
		}
		response, err := http.DefaultClient.Do(r)
		must(t, err)
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if response.StatusCode != c.want || c.want != 200 && strings.Contains(string(body), "secret") {
			t.Errorf("%s: %d %s, want %d", name, response.StatusCode, body, c.want)
		}
		assert.Same(t, c.want == 405, response.Header.Get("Allow") == "GET, HEAD", name)
		policy := response.Header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
			assert.Contains(t, want, policy, name)
		}
		if strings.Contains(policy, "unsafe") || response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: headers %v", name, response.Header)
		}
	}
}

// TestPanics answers a request whose handler panics, and logs where, under the same number. The server goes on. Class of faults:
// failures that neither the answer nor the log shows.
func TestPanics(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	addr, end := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			panic("\x1b]0;defect")
		}
		_, _ = io.WriteString(w, "fine")
	})
	get := func(path string) (int, string) {
		response, err := http.Get("http://" + addr + path)
		must(t, err)
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	code, body := get("/")
	if code != http.StatusInternalServerError || strings.Contains(body, "]0;defect") {
		t.Errorf("%d %s", code, body)
	}
	if code, body := get("/other"); code != http.StatusOK || body != "fine" {
		t.Errorf("%d %s", code, body)
	}
	assert.Is(t, nil, end())
	var p web.Problem
	must(t, json.Unmarshal([]byte(body), &p))
	id := p.Detail[strings.LastIndexByte(p.Detail, ' ')+1:]
	if got := logged.String(); len(id) < 20 || !strings.Contains(got, id) || !strings.Contains(got, "TestPanics.func") || strings.Contains(got, "\x1b") {
		t.Errorf("answer %s, log %q", body, got)
	}
}

// TestListen refuses addresses that other machines could reach.
func TestListen(t *testing.T) {
	for addr, want := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "127.8.8.8:0": true,
		"0.0.0.0:0": false, ":0": false, "[::]:0": false, "192.0.2.1:0": false, "example.com:0": false, "localhost.example.com:0": false,
	} {
		l, err := web.Listen(t.Context(), addr)
		if err == nil {
			_ = l.Close()
		}
		if _, refused := errors.AsType[*web.AddressError](err); refused == want || (err == nil) != want {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := web.Listen(t.Context(), "localhost"); err == nil {
		t.Error("no port")
	}
}

// TestLimits holds more requests than are answered at a time, and ends the server while they wait.
func TestLimits(t *testing.T) {
	const most = 64
	var waiting sync.WaitGroup
	waiting.Add(most)
	addr, end := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		waiting.Done()
		<-r.Context().Done()
	})
	var ended sync.WaitGroup
	for range most {
		ended.Go(func() {
			if response, err := http.Get("http://" + addr); err == nil {
				_ = response.Body.Close()
			}
		})
	}
	waiting.Wait()
	response, err := http.Get("http://" + addr)
	must(t, err)
	_ = response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" {
		t.Errorf("got %v", response)
	}
	assert.Is(t, nil, end())
	ended.Wait()
}

var must = assert.Must
