// Package web serves pages to browsers: on the same machine or, over TLS, to those who know a token.
//
// Other sites in the same browser can send requests to a server on the loopback interface. They receive
// nothing: names that resolve to the loopback address (DNS rebinding) are refused by the Host header, requests of their pages
// by Sec-Fetch-Site and Origin, and answers that they embed by Cross-Origin-Resource-Policy. Their links open only the page:
// how long data take would tell what is stored. Programs and old browsers, which do not send Sec-Fetch-Site, get data with a
// header that other sites cannot set. Pages may load only what the server
// itself has as files, so text in a page cannot run as a script or style, even if it were not escaped, and cannot
// send anything elsewhere. Requests can only read, and are limited in size, time and number.
//
// With an [Access], a server may have any address. Its name is then unknown, so the Host header is not checked: what is
// not public needs the token, which browsers do not send to other names.
package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"mime"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/netutil"
)

// AddressError is the error for an address that other machines could reach.
type AddressError struct{ Addr string }

// Error names the address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("address %s: want localhost or a loopback address, such as 127.0.0.1:8088; a tunnel of ssh -L reaches it from elsewhere", e.Addr)
}

// Listen listens at a host:port on the loopback interface. It returns an [*AddressError] for any other address.
func Listen(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("address %s: %w", addr, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, &AddressError{addr}
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if tcp, is := l.Addr().(*net.TCPAddr); !is || !tcp.IP.IsLoopback() { // localhost may resolve to any address
		return nil, errors.Join(&AddressError{addr}, l.Close())
	}
	return l, nil
}

// Problem is the error of a request, as RFC 9457 describes it.
type Problem struct {
	Title  string `json:"title"`
	Status int    `json:"status"` // of HTTP
	Detail string `json:"detail"`
}

// NewProblem returns a problem.
func NewProblem(title string, status int, detail string) *Problem {
	return &Problem{Title: title, Status: status, Detail: detail}
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

// Write answers a request with the problem.
func (p *Problem) Write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(p.Status)
	text, err := json.Marshal(p)
	if err == nil {
		_, _ = w.Write(text)
	}
}

// Limits of a server.
const (
	maxRequests    = 64  // at a time
	maxConnections = 256 // others wait
	maxHeader      = 16 << 10
	readTime       = 10 * time.Second
	writeTime      = time.Minute // longer than requests that wait
)

// Serve answers requests with a handler, protected by [Protect], until ctx ends. The contexts of requests
// end then, too. Without access, which is nil, l must be of [Listen].
func Serve(ctx context.Context, l net.Listener, h http.Handler, access *Access) error {
	server := &http.Server{
		Handler:           Protect(l.Addr(), recovering(h), access),
		ReadHeaderTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: writeTime, // a ReadTimeout would end requests that wait
		MaxHeaderBytes: maxHeader,
		ErrorLog:       log.New(io.Discard, "", 0), // it would contain text of requests
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	l = netutil.LimitListener(l, maxConnections)
	ended := make(chan error, 1)
	go func() {
		if access == nil {
			ended <- server.Serve(l)
			return
		}
		server.TLSConfig = access.config()
		ended <- server.ServeTLS(l, "", "")
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(wait); err != nil {
		return server.Close()
	}
	return nil
}

// recovering returns a handler that answers a request whose handler panics, and logs the stack with the number of the answer.
// Text of requests is not logged, but the panic may contain some, which is quoted.
func recovering(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			p := recover()
			switch p {
			case nil:
				return
			case http.ErrAbortHandler:
				panic(p)
			}
			id := rand.Text()
			log.Printf("request %s: panic: %q\n%s", id, fmt.Sprint(p), debug.Stack())
			NewProblem("internal error", http.StatusInternalServerError, "a defect of btgen: report what the log of the server says about request "+id).Write(w)
		}()
		h.ServeHTTP(w, r)
	})
}

// policy is what pages may load.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Protect returns a handler that refuses requests that were not made for a page of the server at addr, or that a person has not
// made. With access, which may be nil, it also refuses those without the token.
func Protect(addr net.Addr, h http.Handler, access *Access) http.Handler {
	hosts := hostsOf(addr)
	running := make(chan struct{}, maxRequests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range map[string]string{
			"Content-Security-Policy":      policy,
			"Cross-Origin-Opener-Policy":   "same-origin",
			"Cross-Origin-Resource-Policy": "same-origin",
			"X-Content-Type-Options":       "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cache-Control":                "no-store",
		} {
			w.Header().Set(name, value)
		}
		if p := refused(r, hosts, access); p != nil {
			if p.Status == http.StatusMethodNotAllowed {
				w.Header().Set("Allow", "GET, HEAD")
			}
			p.Write(w)
			return
		}
		if access != nil && access.answers(w, r) {
			return
		}
		if strings.HasPrefix(r.URL.Path, dataPath) && r.Header.Get("Sec-Fetch-Site") == "" && !ownHeader(r.Header) {
			NewProblem("other site", http.StatusForbidden, "the request may be of another site: add the header Content-Type: application/json").Write(w)
			return
		}
		select {
		case running <- struct{}{}:
			defer func() { <-running }()
		default:
			w.Header().Set("Retry-After", "1")
			NewProblem("too many requests", http.StatusServiceUnavailable, fmt.Sprintf("more than %d requests at a time", maxRequests)).Write(w)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// hostsOf returns the Host headers of requests to a server on the loopback interface.
func hostsOf(addr net.Addr) []string {
	tcp, is := addr.(*net.TCPAddr)
	if !is {
		return nil
	}
	var out []string
	for _, host := range []string{"localhost", "127.0.0.1", "::1", tcp.IP.String()} {
		out = append(out, net.JoinHostPort(host, strconv.Itoa(tcp.Port)))
	}
	return out
}

// refused returns why a request must not be answered; nil for others.
func refused(r *http.Request, hosts []string, access *Access) *Problem {
	site, origin := r.Header.Get("Sec-Fetch-Site"), r.Header.Get("Origin")
	opens := r.URL.Path == "/" && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" // a link
	own := "http://" + r.Host
	if access != nil {
		own = "https://" + r.Host
	}
	switch {
	case access == nil && !slices.Contains(hosts, r.Host):
		return NewProblem("wrong host", http.StatusMisdirectedRequest, "this server is localhost only")
	case r.Method != http.MethodGet && r.Method != http.MethodHead && (access == nil || r.Method != http.MethodPost || r.URL.Path != LoginPath):
		return NewProblem("wrong method", http.StatusMethodNotAllowed, "this server can only be read")
	case origin != "" && origin != own, site != "" && site != "same-origin" && site != "none" && (!opens || r.Method == http.MethodPost):
		return NewProblem("other site", http.StatusForbidden, "this server does not answer other sites")
	}
	return nil
}

// dataPath is where answers depend on what is stored.
const dataPath = "/api/"

// ownHeader reports whether a request has a header that browsers set for no link, and for no other site unless this server
// allows it, which it never does.
func ownHeader(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return h.Get("Authorization") != "" || err == nil && kind == "application/json"
}
