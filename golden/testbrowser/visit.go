package testbrowser

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"
)

// Visit displays the page of a running server and runs a script in it, as [Browser.Inspect] does. The page keeps the headers of
// the server, except that a frame may contain it. The script may wait: until(what, f) returns
// what f returns once it is not falsy, and act(name) has one of the functions called.
func (b Browser) Visit(t *testing.T, address string, look Look, acts map[string]func(), script string) string {
	t.Helper()
	found := make(chan string, 1)
	server := httptest.NewUnstartedServer(visited(t, address, look, acts, script, found))
	if strings.HasPrefix(address, "https:") {
		server.StartTLS()
	} else {
		server.Start()
	}
	defer server.Close()
	cmd := b.command(t, look, "--remote-debugging-port=0", "--ignore-certificate-errors", server.URL+"/~frame") // the port keeps it running
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	select {
	case text := <-found:
		return shownOf(t, address, look, text)
	case <-time.After(2 * time.Minute):
		t.Fatalf("%s, %s: the script has not ended", address, look)
		return ""
	}
}

// visited passes requests on to a server, and adds the script to its page.
func visited(t *testing.T, address string, look Look, acts map[string]func(), script string, found chan<- string) http.Handler {
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}, // of a test
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = target.Host
			if r.Out.Header.Get("Origin") != "" {
				r.Out.Header.Set("Origin", target.Scheme+"://"+target.Host)
			}
		},
		ModifyResponse: func(r *http.Response) error {
			const header = "Content-Security-Policy"
			r.Header.Set(header, strings.Replace(r.Header.Get(header), "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
			if r.Request.URL.Path != target.Path || !strings.HasPrefix(r.Header.Get("Content-Type"), "text/html") {
				return nil
			}
			page, err := io.ReadAll(r.Body)
			if err != nil {
				return err
			}
			text := strings.Replace(string(page), "</head>", `<script src="/~inspect.js" defer></script></head>`, 1)
			r.Body = io.NopCloser(strings.NewReader(text))
			r.ContentLength = int64(len(text))
			r.Header.Del("Content-Length")
			return nil
		},
	}
	mux := http.NewServeMux()
	mux.Handle("/", proxy)
	mux.HandleFunc("/~frame", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `<!DOCTYPE html><meta name="color-scheme" content="light dark"><iframe src="%s" style="width:%dpx;height:1200px;border:0"></iframe>`, target.Path, look.Width)
	})
	mux.HandleFunc("/~inspect.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		fmt.Fprintf(w, visit, look.background, script)
	})
	mux.HandleFunc("/~act", func(w http.ResponseWriter, r *http.Request) { acts[r.URL.Query().Get("name")]() })
	mux.HandleFunc("/~found", func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		select {
		case found <- string(text):
		default:
		}
	})
	return mux
}

// visit runs the script of a visit. It takes the background and the script.
const visit = `"use strict";
const faults = [], shown = [];
const act = name => fetch("/~act?name=" + name);
const until = async (what, f) => {
  for (let i = 0; i < 2000; i++) {
    const value = f();
    if (value) return value;
    await new Promise(done => setTimeout(done, 10));
  }
  throw new Error("never: " + what);
};
addEventListener("securitypolicyviolation", e => faults.push("violates the policy: " + e.violatedDirective + " " + e.blockedURI));
addEventListener("load", async () => {
  try {
    const background = getComputedStyle(document.body).backgroundColor;
    if (background !== "%s") faults.push("background " + background);
    %s
  } catch (e) { faults.push(String(e)); }
  fetch("/~found", {method: "POST", body: faults.concat("faults: " + faults.length, shown).join("\n")});
});
`
