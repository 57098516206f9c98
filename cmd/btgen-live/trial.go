package main

import (
	"context"
	"fmt"
	"time"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/trial"
)

// tryInstance tries on an instance what btgen assumes of Bigtable, or only removes what trials have left.
func tryInstance(_ context.Context, r *request) error {
	if len(r.args) > 0 && (r.clean || r.resume) {
		return fmt.Errorf("%q: --clean tries nothing, and --resume judges all that --leave has left: leave out the IDs", r.args[0])
	}
	ctx, admin, err := r.connectBoth()
	if err != nil {
		return err
	}
	r.trial.Only, r.trial.Now = r.args, time.Now()
	r.trial.Notice = func(text string) { fmt.Fprintf(r.cmd.ErrOrStderr(), "%s: %s\n", r.cmd.Root().Name(), text) }
	clients := &trial.Clients{Project: r.project, Instance: r.instance, AppProfile: r.appProfile, Client: r.client, Admin: admin}
	if r.clean {
		return r.removeLeft(ctx, clients)
	}
	try := trial.Run
	if r.resume {
		try = trial.Resume
	}
	report, err := try(ctx, clients, r.trial)
	if report == nil {
		return err
	}
	text := report.Text()
	if r.format == "markdown" {
		text = report.Markdown()
	}
	if printed := r.report(text, report, report.Failed()); err == nil {
		err = printed
	}
	return err
}

// removeLeft removes what trials have left, and prints its names.
func (r *request) removeLeft(ctx context.Context, clients *trial.Clients) error {
	removed, alike, err := trial.Clean(ctx, clients, r.trial.Now)
	text := ""
	for _, table := range removed {
		text += "removed table " + table + "\n"
	}
	for _, table := range alike {
		text += "left table " + table + ", which no trial has made: it lacks the column family of all that they make\n"
	}
	if text == "" && err == nil {
		text = "nothing to remove\n"
	}
	if printed := r.say(text, false); err == nil {
		err = printed
	}
	return err
}
