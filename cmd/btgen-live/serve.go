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

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/btgen-dev/btgen/cmd/internal/chart"
	"github.com/btgen-dev/btgen/cmd/internal/web"
	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newServe returns the command serve.
func newServe() *cobra.Command {
	s := serving{}
	cmd := command("serve", func(cmd *cobra.Command, paths []string) error {
		if err := s.check(); err != nil {
			return err
		}
		layouts, err := loadLayouts(paths)
		if err != nil {
			return err
		}
		return s.serve(cmd, layouts)
	})
	s.flags(cmd, "app `profile` of the reads")
	cmd.Flags().StringVar(&s.addr, "addr", "localhost:8089", "host:port to listen on, on the loopback interface unless there is a certificate; port 0 chooses a free port")
	cmd.Flags().StringVar(&s.cert, "tls-cert", "", "`file` with a certificate, to serve to other machines")
	cmd.Flags().StringVar(&s.key, "tls-key", "", "`file` with the key of the certificate")
	cmd.Flags().StringVar(&s.token, "token", "print", "with a certificate: print a new token, or read one from stdin")
	return cmd
}

// serving are the flags of the command serve.
type serving struct {
	target
	addr, cert, key, token string
}

// check checks the flags.
func (s *serving) check() error {
	switch {
	case (s.cert == "") != (s.key == ""):
		return errors.New("--tls-cert and --tls-key belong together: one is missing")
	case s.token != "print" && s.token != "stdin":
		return errors.New("--token: want print, or stdin to read a token from there") // which may be in the argument
	case s.token == "stdin" && s.cert == "":
		return errors.New("--token stdin: add --tls-cert and --tls-key; without TLS, the token could be read on its way")
	}
	return nil
}

// serve serves the page until the command is interrupted.
func (s *serving) serve(cmd *cobra.Command, layouts []*layout.Layout) error {
	ctx, stop := interruptible(cmd)
	defer stop()
	access, err := s.access(cmd)
	if err != nil {
		return err
	}
	if err := emulates(ctx); err != nil && ctx.Err() == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %v\n", err)
	}
	l, err := s.listen(ctx, access)
	if err != nil {
		return err
	}
	client, err := s.connectLater(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	scheme := "http"
	if access != nil {
		scheme = "https"
	}
	if _, err = fmt.Fprintf(cmd.OutOrStdout(), "%s://%s/\n", scheme, l.Addr()); err == nil {
		a := newAPI(layouts, client, store.ReaderOptions{TablePrefix: s.prefix, Timeout: s.timeout})
		if os.Getenv(store.EmulatorVariable) != "" {
			a.reach = emulates
		}
		err = web.Serve(ctx, l, served(a), access)
	}
	return errors.Join(err, client.Close())
}

// listen listens at the address.
func (s *serving) listen(ctx context.Context, access *web.Access) (net.Listener, error) {
	if access != nil {
		return access.Listen(ctx, s.addr)
	}
	l, err := web.Listen(ctx, s.addr)
	if refused := (*web.AddressError)(nil); errors.As(err, &refused) {
		err = fmt.Errorf("%w; or serve over TLS, with a token: --tls-cert FILE --tls-key FILE", err)
	}
	return l, err
}

// access returns who may use the page from other machines; nil if nobody may.
func (s *serving) access(cmd *cobra.Command) (*web.Access, error) {
	if s.cert == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(s.cert, s.key)
	if err != nil {
		return nil, fmt.Errorf("--tls-cert and --tls-key: %w", err)
	}
	token, err := s.readToken(cmd)
	if err != nil {
		return nil, err
	}
	return web.NewAccess(token, certificate, slices.Collect(maps.Keys(pageOf))...)
}

// readToken returns the token: a new one, which it prints, or the line on stdin.
func (s *serving) readToken(cmd *cobra.Command) (string, error) {
	if s.token == "print" {
		if !cli.IsTerminal(cmd.ErrOrStderr()) {
			return "", errors.New("--token print: stderr is no terminal, and a token that is printed there may be kept; write --token stdin, and the token to stdin")
		}
		token := web.NewToken()
		_, err := fmt.Fprintf(cmd.ErrOrStderr(), "token: %s\n", token)
		return token, err
	}
	if in, is := cmd.InOrStdin().(*os.File); is && term.IsTerminal(int(in.Fd())) {
		fmt.Fprint(cmd.ErrOrStderr(), "token: ")
		text, err := term.ReadPassword(int(in.Fd()))
		fmt.Fprintln(cmd.ErrOrStderr())
		return strings.TrimSpace(string(text)), err
	}
	line, err := bufio.NewReader(io.LimitReader(cmd.InOrStdin(), 4096)).ReadString('\n')
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
