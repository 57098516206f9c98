package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/runtime/store"
)

// serve serves the page until the command is interrupted.
func serve(_ context.Context, r *request) error {
	switch {
	case (r.cert == "") != (r.key == ""):
		return errors.New("--tls-cert and --tls-key belong together: one is missing")
	case r.token != "print" && r.token != "stdin":
		return errors.New("--token: want print, or stdin to read a token from there") // which may be in the argument
	case r.given("token") && r.cert == "":
		return errors.New("--token: add --tls-cert and --tls-key; without TLS, the token could be read on its way")
	}
	result, err := load(r.args)
	if err != nil {
		return err
	}
	ctx := r.interruptible()
	access, err := r.access()
	if err != nil {
		return err
	}
	if err := emulates(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(r.cmd.ErrOrStderr(), "warning: %v\n", err)
	}
	l, err := r.listen(ctx, access)
	if err != nil {
		return err
	}
	scheme := map[bool]string{true: "http", false: "https"}[access == nil]
	err = r.connectLater(ctx)
	if err == nil {
		err = r.say(fmt.Sprintf("%s://%s/\n", scheme, l.Addr()), false)
	}
	if err != nil {
		return errors.Join(err, l.Close())
	}
	a := newAPI(result.Layouts, r.client, r.options)
	if os.Getenv(store.EmulatorVariable) != "" {
		a.reach = emulates
	}
	return web.Serve(ctx, l, served(a), access)
}

// listen listens at the address.
func (r *request) listen(ctx context.Context, access *web.Access) (net.Listener, error) {
	if access != nil {
		return access.Listen(ctx, r.addr)
	}
	l, err := web.Listen(ctx, r.addr)
	if _, refused := errors.AsType[*web.AddressError](err); refused {
		err = fmt.Errorf("%w; or serve over TLS, with a token: --tls-cert FILE --tls-key FILE", err)
	}
	return l, err
}

// access returns who may use the page from other machines; nil if nobody may.
func (r *request) access() (*web.Access, error) {
	if r.cert == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(r.cert, r.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	token, err := r.readToken()
	if err != nil {
		return nil, err
	}
	return web.NewAccess(token, certificate, slices.Collect(maps.Keys(pageOf))...)
}

// readToken returns the token: a new one, which it prints, or the line on stdin.
func (r *request) readToken() (string, error) {
	stderr := r.cmd.ErrOrStderr()
	if r.token == "print" {
		if !cli.IsTerminal(stderr) {
			return "", errors.New("--token print: stderr is no terminal, and a token that is printed there may be kept; " +
				"write --token stdin, and the token to stdin")
		}
		token := web.NewToken()
		_, err := fmt.Fprintf(stderr, "token: %s\n", token)
		return token, err
	}
	if in, is := r.cmd.InOrStdin().(*os.File); is && term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(stderr, "token: ")
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(stderr)
		return strings.TrimSpace(string(text)), err
	}
	line, err := bufio.NewReader(io.LimitReader(r.cmd.InOrStdin(), 4096)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimSpace(line), err
}

//go:embed page
var pageFiles embed.FS

// file is a file of the page, in the folder page unless it has a text. The type that a system knows for it may be another.
type file struct{ kind, name, text string }

// pageOf are the files of the page by path.
var pageOf = map[string]file{
	"/":          {kind: "text/html", name: "page.html"},
	"/page.js":   {kind: "text/javascript", name: "page.js"},
	"/page.css":  {kind: "text/css", name: "page.css"},
	"/chart.js":  {kind: "text/javascript", text: chart.Script()},
	"/chart.css": {kind: "text/css", text: chart.Style()},
}

// served returns the handler of the page and of the API.
func served(a *api) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", a.handler())
	for url, file := range pageOf {
		if url == "/" {
			url = "/{$}" // and no path below
		}
		mux.HandleFunc(url, func(w http.ResponseWriter, _ *http.Request) {
			text, _ := pageFiles.ReadFile("page/" + file.name) // which the program contains
			w.Header().Set("Content-Type", file.kind+"; charset=utf-8")
			_, _ = w.Write(append(text, file.text...))
		})
	}
	return mux
}
