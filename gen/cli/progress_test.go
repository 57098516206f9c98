package cli

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	for _, tt := range []struct {
		name string
		run  func(p *Progress)
		want string
	}{
		{"a short command prints nothing", func(p *Progress) {
			p.Step("reading")
			time.Sleep(time.Second)
			p.Step("writing")
		}, ""},
		{"a long step is printed once, and again every ten seconds", func(p *Progress) {
			p.Step("rendering %d schemas", 1000)
			time.Sleep(13 * time.Second)
		}, "btgen: rendering 1000 schemas (2s)\nbtgen: rendering 1000 schemas (12s)\n"},
		{"later steps are printed when they begin", func(p *Progress) {
			p.Step("rendering")
			time.Sleep(3 * time.Second)
			p.Step("comparing")
			p.Step("writing")
		}, "btgen: rendering (2s)\nbtgen: comparing (3s)\nbtgen: writing (3s)\n"},
		{"without a step there is nothing to print", func(*Progress) { time.Sleep(time.Minute) }, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out strings.Builder
				p := StartProgress(&out, "btgen")
				tt.run(p)
				synctest.Wait()
				p.Stop()
				p.Stop()
				time.Sleep(time.Hour)
				if out.String() != tt.want {
					t.Errorf("printed %q, want %q", out.String(), tt.want)
				}
			})
		})
	}
}
