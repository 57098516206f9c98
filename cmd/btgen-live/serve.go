package main

import (
	"embed"
	"errors"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/layout"
	"github.com/btgen-dev/btgen/gen/web"
	"github.com/btgen-dev/btgen/runtime/store"
)

// newServe returns the command serve.
func newServe() *cobra.Command {
	t, addr := target{}, ""
	cmd := &cobra.Command{
		Use:   "serve [path...] --project P --instance I",
		Short: "Show events in a browser, and as JSON over HTTP",
		Long: `Serve a page over the tables of the schemas until interrupted: find series, draw their fields
over any range, and look at the newest events and the results of queries. Below /api/, the
same is JSON for dashboards.

Only this machine can open the page. It reads, and never writes: read-only credentials suffice.
The answer to a request has up to 10,000 rows and 16 MiB, and takes up to 30 seconds; 8 requests
read at a time.

` + cli.PathsHelp,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if err := t.check(); err != nil {
				return err
			}
			layouts, err := loadLayouts(cmd.OutOrStdout(), paths)
			if err != nil {
				return err
			}
			return t.serve(cmd, addr, layouts)
		},
	}
	t.flags(cmd, "app `profile` of the reads")
	cmd.Flags().StringVar(&addr, "addr", "localhost:8089", "host:port to listen on, on the loopback interface; port 0 chooses a free port")
	return cmd
}

// serve serves the page until the command is interrupted.
func (t *target) serve(cmd *cobra.Command, addr string, layouts []*layout.Layout) error {
	ctx, stop := interruptible(cmd.Context())
	defer stop()
	l, err := web.Listen(ctx, addr)
	if err != nil {
		return err
	}
	client, err := t.connect(ctx)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if _, err = fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", l.Addr()); err == nil {
		err = web.Serve(ctx, l, served(newAPI(layouts, client, store.ReaderOptions{TablePrefix: t.prefix, Timeout: t.timeout})))
	}
	return errors.Join(err, client.Close())
}

//go:embed page
var pageFiles embed.FS

// served returns the handler of the page and of the API.
func served(a *api) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/", a.handler())
	for url, file := range map[string]struct{ name, kind string }{ // the types that a system knows may be others
		"/{$}": {"page.html", "text/html"}, "/page.js": {"page.js", "text/javascript"}, "/page.css": {"page.css", "text/css"},
	} {
		mux.HandleFunc(url, func(w http.ResponseWriter, _ *http.Request) {
			text, err := pageFiles.ReadFile("page/" + file.name)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			w.Header().Set("Content-Type", file.kind+"; charset=utf-8")
			_, _ = w.Write(text)
		})
	}
	return mux
}
