package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/gen/cli"
	"github.com/btgen-dev/btgen/gen/words"
	"github.com/btgen-dev/btgen/runtime/setup"
	"github.com/btgen-dev/btgen/runtime/store"
)

// setUp sets up the instance for the schemas, or plans that, and prints the plan. It returns ErrFindings for a plan with changes, and for
// a dry run of setup that would be refused.
func setUp(_ context.Context, r *request) error {
	r.setup.TablePrefix, r.setup.Timeout, r.setup.DryRun = r.prefix, r.timeout, r.dryRun || r.command == "plan"
	tables, err := loadTables(r.args)
	if err != nil {
		return err
	}
	removed, err := loadRemoved(r.args)
	if err != nil {
		return err
	}
	if err := setup.CheckDrafts(tables, r.setup); err != nil {
		return err
	}
	now, err := r.newPlanFile(tables)
	if err != nil {
		return err
	}
	if r.plan != "" {
		if err := r.follow(now); err != nil {
			return r.printPlan(setup.Plan{}, err)
		}
	}
	if r.save != "" {
		r.setup.Confirm = func(plan setup.Plan) error { now.note(plan); return nil }
	}
	ctx, admin, err := r.connectBoth()
	if err != nil {
		return err
	}
	changing := map[bool]string{false: ", and changing what differs"}[r.setup.DryRun]
	progress := r.step("comparing %d tables with the instance%s", len(tables), changing)
	plan, err := r.setUpAll(ctx, admin, tables, removed)
	progress.Stop()
	if err == nil && r.save != "" {
		err = now.save(ctx, r.save)
	}
	err = errors.Join(r.printPlan(plan, err), r.printIdle(tables))
	if err == nil && (r.command == "plan" && !plan.Empty() || len(plan.Refused()) > 0) {
		return cli.ErrFindings
	}
	return err
}

// printIdle prints the tables that are not read yet.
func (r *request) printIdle(tables []store.Table) error {
	text := ""
	for _, t := range tables {
		if t.WriteOnly {
			text += fmt.Sprintf("table %s%s is not read, because it has serves: false; btgen-live backfill fills it, "+
				"and its --verify tells when it can be read\n", r.setup.TablePrefix, t.ID)
		}
	}
	return r.say(text, false)
}

// follow prepares setup for a saved plan, with its prefix, the changes that it allows, and
// whether it does without the history. It returns a *stalePlanError if the plan is for another target or other schemas, as setup
// does for one with other changes.
func (r *request) follow(now *planFile) error {
	saved, err := readPlanFile(r.plan)
	if err != nil {
		return err
	}
	if prefix := saved.For["prefix"]; r.setup.TablePrefix == "" {
		now.For["prefix"], r.setup.TablePrefix = prefix, prefix
	}
	if reasons := saved.other(now); reasons != nil {
		return &stalePlanError{r.plan, reasons}
	}
	r.setup.Allow, r.setup.NoHistory = saved.Allow, saved.NoHistory
	r.setup.Confirm = func(plan setup.Plan) error {
		now.note(plan)
		if reasons := saved.changed(now); reasons != nil {
			return &stalePlanError{r.plan, reasons}
		}
		return nil
	}
	return nil
}

// setUpAll sets up tables, and adds unknown ones and views to the plan. It lists these first, so
// that nothing has changed if that fails.
func (r *request) setUpAll(
	ctx context.Context, admin *bigtable.AdminClient, tables []store.Table, removed []string,
) (setup.Plan, error) {
	unknown, err := setup.UnknownTables(ctx, admin, tables, r.setup)
	if err != nil && status.Code(err) != codes.PermissionDenied { // without which there may still be one to create tables
		return setup.Plan{}, err
	}
	views, err := r.views(ctx, admin, tables)
	if err != nil {
		return setup.Plan{}, err
	}
	r.setup.ListBundles = true
	plan, err := setup.Setup(ctx, admin, r.client, tables, r.setup)
	plan.Unmanaged = slices.Concat(plan.Unmanaged, unknown, views)
	if err == nil && !r.setup.NoHistory {
		o := setup.DeleteOptions{TablePrefix: r.setup.TablePrefix, Timeout: r.timeout, Removed: removed}
		plan.Unmanaged, err = setup.ExamineUnmanaged(ctx, admin, r.client, plan.Unmanaged, o)
	}
	return plan, err
}

// views returns the views of tables of the schemas. Google's emulator ends when it is asked for views of an instance.
func (r *request) views(ctx context.Context, admin *bigtable.AdminClient, tables []store.Table) ([]setup.Unmanaged, error) {
	if os.Getenv(store.EmulatorVariable) != "" {
		return setup.Views(ctx, admin, nil, r.instance, tables, r.setup)
	}
	queries, err := bigtable.NewInstanceAdminClient(ctx, r.project)
	if err != nil {
		return nil, r.unconnected(err)
	}
	defer func() { _ = queries.Close() }()
	return setup.Views(ctx, admin, queries, r.instance, tables, r.setup)
}

// printPlan prints a plan. If err is a refusal or a stale plan, it prints that too and returns
// ErrFindings. It returns any other error unchanged.
func (r *request) printPlan(plan setup.Plan, err error) error {
	text := plan.String()
	var refused *setup.RefusedError
	var stale *stalePlanError
	switch {
	case errors.As(err, &stale):
		text, err = stale.Error()+"\n", nil
	case errors.As(err, &refused):
		text = refused.Error() + "\n" + text
		if r.plan != "" {
			text += fmt.Sprintf("to allow any, save the plan with --allow: btgen-live plan --save %s --allow NAME\n", words.Shell(r.plan))
		}
		err = nil
	case err == nil && plan.Empty():
		text += "nothing to do\n"
	}
	return errors.Join(err, r.say(text, err == nil && (refused != nil || stale != nil)))
}

// planFile is a saved plan. Setup carries out exactly this plan, or nothing.
type planFile struct {
	Version int `json:"btgen_plan"`
	// Allow are the names of the changes that the plan allows, and NoHistory is whether it does without the history of layouts.
	Allow     []string `json:"allow,omitempty"`
	NoHistory bool     `json:"no_history,omitempty"`
	// For is what the plan is for: the project, the instance, the server, the prefix, and a hash of each table of the schemas.
	For map[string]string `json:"for"`
	// History has the newest recorded layouts, by table, family and number.
	History map[string]string `json:"history,omitempty"`
	// Changes are the changes, as printed, and Unmanaged the tables and families that the schemas do not declare.
	Changes   []string `json:"changes"`
	Unmanaged []string `json:"unmanaged,omitempty"`
}

const (
	planVersion = 2
	maxPlanFile = 64 << 20 // bytes
)

// stalePlanError is the error for a saved plan that differs from the current one.
type stalePlanError struct {
	file    string
	reasons []string
}

// Error lists the reasons, and says what to do.
func (e *stalePlanError) Error() string {
	return fmt.Sprintf("nothing was changed: the plan in %s is out of date:\n%s\ncreate it again: btgen-live plan --save %s",
		words.Printable(e.file), strings.Join(e.reasons, "\n"), words.Shell(e.file))
}

// newPlanFile returns a plan without its changes, which note sets.
func (r *request) newPlanFile(tables []store.Table) (*planFile, error) {
	server := map[bool]string{true: "an emulator", false: "Cloud Bigtable"}[os.Getenv(store.EmulatorVariable) != ""]
	f := &planFile{
		Version: planVersion, Allow: r.setup.Allow, NoHistory: r.setup.NoHistory,
		For: map[string]string{"project": r.project, "instance": r.instance, "server": server, "prefix": r.setup.TablePrefix},
	}
	parts := map[string][]string{} // several if schemas share a table
	for _, t := range tables {
		text, err := json.Marshal(t)
		if err != nil {
			return nil, err
		}
		parts[t.ID] = append(parts[t.ID], string(text))
	}
	for id, texts := range parts {
		slices.Sort(texts)
		sum := sha256.Sum256([]byte(strings.Join(texts, "\n")))
		f.For["table "+id] = hex.EncodeToString(sum[:])
	}
	return f, nil
}

// note sets the changes of the plan.
func (f *planFile) note(plan setup.Plan) {
	f.Changes, f.Unmanaged, f.History = []string{}, nil, map[string]string{}
	for _, r := range plan.Recorded {
		f.History[fmt.Sprintf("%s/%s/%d", r.Table, r.Family, r.Number)] = r.Layout
	}
	for _, c := range plan.Changes {
		f.Changes = append(f.Changes, c.String())
	}
	for _, s := range plan.Unmanaged {
		f.Unmanaged = append(f.Unmanaged, s.String())
	}
}

// save writes the file.
func (f *planFile) save(ctx context.Context, file string) error {
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return cli.Write(ctx, file, append(text, '\n'))
}

// readPlanFile reads a saved plan.
func readPlanFile(file string) (*planFile, error) {
	text, err := cli.Read(file, maxPlanFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("--plan %s: there is no such file: btgen-live plan --save %s writes it", words.Printable(file), words.Shell(file))
	}
	if err != nil {
		return nil, err
	}
	var of struct {
		Version int `json:"btgen_plan"`
	}
	if json.Unmarshal(text, &of) == nil && of.Version != 0 && of.Version != planVersion {
		return nil, fmt.Errorf("another version of btgen-live saved %s, in format %d, not %d: save the plan again with this one",
			words.Printable(file), of.Version, planVersion)
	}
	f := &planFile{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(f)
	if _, more := d.Token(); err == nil && !errors.Is(more, io.EOF) {
		err = errors.New("unexpected text after the plan")
	}
	if err == nil && f.Version != planVersion {
		err = errors.New("it has no version")
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a plan of btgen-live plan --save: %w", words.Printable(file), err)
	}
	return f, nil
}

// other returns how what a saved plan is for differs from what is there now.
func (f *planFile) other(now *planFile) []string {
	var reasons []string
	all := maps.Clone(now.For)
	maps.Copy(all, f.For)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		planned, before := f.For[name]
		is, after := now.For[name]
		text := words.Printable(fmt.Sprintf("its %s is %s, not %s", name, cmp.Or(planned, "none"), cmp.Or(is, "none")))
		switch table := strings.HasPrefix(name, "table "); {
		case planned == is:
			continue
		case table && !after:
			text = "the schemas no longer have " + words.Printable(name)
		case table && !before:
			text = "the schemas have the new " + words.Printable(name)
		case table:
			text = "the schemas have changed " + words.Printable(name)
		}
		reasons = append(reasons, "- "+text)
	}
	return reasons
}

// changed returns how the changes of a saved plan differ from the current ones.
func (f *planFile) changed(now *planFile) []string {
	var reasons []string
	list := func(what string, lines, without []string) {
		for _, line := range lines {
			if !slices.Contains(without, line) {
				reasons = append(reasons, "- "+what+": "+strings.ReplaceAll(line, "\n", "\n  "))
			}
		}
	}
	list("planned, but no longer needed", f.Changes, now.Changes)
	list("needed, but not planned", now.Changes, f.Changes)
	if !maps.Equal(f.History, now.History) {
		reasons = append(reasons, "- the history of layouts has changed")
	}
	list("existed when the plan was created", f.Unmanaged, now.Unmanaged)
	list("exists now", now.Unmanaged, f.Unmanaged)
	if reasons == nil && !slices.Equal(f.Changes, now.Changes) {
		reasons = append(reasons, "- the changes are in a different order")
	}
	return reasons
}
