package setup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/store"
)

// A schema bundle belongs to a table, but its files may come from several programs: setup replaces
// those of its schemas, and keeps all others.

// liveBundles are the schema bundles of a live table.
type liveBundles struct {
	unknown bool     // the server has none, or setup may not list them
	ids     []string // sorted
	own     []byte   // the descriptors of the one that the schemas declare; nil if there is none
}

// findBundles decides whether requests about schema bundles are sent. A server without them, such as
// Google's emulator, is left without.
func (r *retryAdmin) findBundles(ctx context.Context, tables []store.Table, list bool) {
	declared := slices.ContainsFunc(tables, func(t store.Table) bool { return t.Bundle != nil })
	if r.listBundles = list; !declared && !list || os.Getenv(store.EmulatorVariable) == "" {
		return
	}
	if _, _, err := r.tableInfo(ctx, call.BundlesProbe); status.Code(err) == codes.FailedPrecondition {
		return
	}
	r.listBundles = false
	for i := range tables {
		tables[i].Bundle = nil
	}
}

// readBundles returns the schema bundles of a table. Only those that the schemas declare must be
// readable.
func readBundles(ctx context.Context, admin retryAdmin, t store.Table) (live liveBundles, err error) {
	if t.ID == HistoryTable || t.Bundle == nil && !admin.listBundles {
		return live, nil
	}
	_, err = admin.retry(ctx, "", func(ctx context.Context) (err error) {
		live.ids, err = admin.admin.SchemaBundles(ctx, t.ID)
		return err
	})
	switch code := status.Code(err); {
	case code == codes.Unimplemented, err != nil && t.Bundle == nil:
		return liveBundles{unknown: true}, nil
	case err != nil:
		return live, fmt.Errorf("listing the schema bundles of table %s: %w", t.ID, becauseOfPermission(err))
	}
	slices.Sort(live.ids)
	if t.Bundle == nil {
		return live, nil
	}
	_, err = admin.retry(ctx, "", func(ctx context.Context) error {
		info, err := getBundle(ctx, admin.admin, t.ID, t.Bundle.ID)
		if info != nil {
			live.own = info.SchemaBundle
		}
		return err
	})
	if err != nil {
		return live, fmt.Errorf("reading schema bundle %s of table %s: %w", t.Bundle.ID, t.ID, becauseOfPermission(err))
	}
	return live, nil
}

// getBundle returns a schema bundle with descriptors that are not nil; nil if there is none.
func getBundle(ctx context.Context, admin Admin, table, id string) (*bigtable.SchemaBundleInfo, error) {
	info, err := admin.GetSchemaBundle(ctx, table, id)
	switch {
	case status.Code(err) == codes.NotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case info.SchemaBundle == nil:
		info.SchemaBundle = []byte{}
	}
	return info, nil
}

// becauseOfPermission names the permissions that an error may be about.
func becauseOfPermission(err error) error {
	return because(err, "(schema bundles require the permissions bigtable.schemaBundles.list, get, create, update and delete)", codes.PermissionDenied)
}

// mergeBundle returns the schema bundle of a table of two schemas, which do not contradict each other.
func mergeBundle(a, b *store.SchemaBundle) *store.SchemaBundle {
	if a == nil || b == nil {
		return cmp.Or(a, b)
	}
	return &store.SchemaBundle{ID: a.ID, Drop: a.Drop, Descriptors: slices.Concat(a.Descriptors, b.Descriptors)} // repeated fields are joined
}

// bundle compares the schema bundle. Left alone are those that the schemas do not declare, and the files of other programs
// in the one that they do.
func (c *comparison) bundle() {
	declared, own := c.Table.Bundle, c.live.bundles.own
	for _, id := range c.live.bundles.ids {
		if declared == nil || id != declared.ID {
			c.leave("schema bundle "+id, unknown, "")
		}
	}
	if declared == nil || c.live.bundles.unknown {
		return
	}
	want, have := filesOf(declared.Descriptors), filesOf(own)
	for _, f := range have {
		if !declared.Drop && !known(f) && !want.replace(f) {
			c.leave("file "+f.GetName()+" in schema bundle "+declared.ID, unknown, "")
		}
	}
	all := want.with(have)
	change := Change{Kind: "schema_bundle", Sign: "~", Bundle: declared.ID, Says: all.changes(have).String(), does: changeBundle(own, all)}
	switch {
	case declared.Drop && own == nil, !declared.Drop && own != nil && want.same(have):
		return
	case declared.Drop:
		change.Sign, change.Says = "-", ""
		change.hazard("drop_bundle", "", "queries that name it fail")
	case own == nil:
		change.Sign, change.Says = "+", strings.Join(all.messages(), ", ")
	case len(want.changes(have).broken) > 0:
		change.hazard("change_bundle", "", "queries with what is removed or changed fail")
	}
	c.add(change)
}

// changeBundle makes a bundle one with some files, or deletes it, unless the server has no bundles, such as the emulator. A
// change is allowed only for what the plan has found: have is nil if there was none.
func changeBundle(have []byte, want files) request {
	return func(r *retryAdmin, ctx context.Context, c *Change) (made bool, err error) {
		_, err = r.retry(ctx, "", func(ctx context.Context) error {
			live, err := getBundle(ctx, r.admin, c.Table, c.Bundle)
			if err == nil {
				err = setBundle(ctx, r.admin, c, live, have, want)
			}
			made = err == nil
			if status.Code(err) == codes.Unimplemented {
				return nil
			}
			return err
		})
		return made, becauseOfPermission(err)
	}
}

// setBundle makes a live schema bundle, which is nil if there is none, one with some files.
func setBundle(ctx context.Context, admin Admin, c *Change, live *bigtable.SchemaBundleInfo, have []byte, want files) error {
	drop := c.Sign == "-"
	conf := bigtable.SchemaBundleConf{TableID: c.Table, SchemaBundleID: c.Bundle, ProtoSchema: &bigtable.ProtoSchemaInfo{ProtoDescriptors: want.bytes()}}
	switch {
	case live == nil && drop:
		return nil
	case live == nil:
		return admin.CreateSchemaBundle(ctx, &conf)
	case !drop && want.same(filesOf(live.SchemaBundle)):
		return nil // a reply was lost
	case !bytes.Equal(live.SchemaBundle, have):
		return &VerifyError{[]Change{*c}}
	case drop:
		return admin.DeleteSchemaBundle(ctx, c.Table, c.Bundle)
	}
	conf.Etag = live.Etag
	return admin.UpdateSchemaBundle(ctx, bigtable.UpdateSchemaBundleConf{SchemaBundleConf: conf, IgnoreWarnings: len(c.Hazards) > 0})
}
