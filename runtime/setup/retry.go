package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/internal/call"
	"github.com/btgen-dev/btgen/runtime/internal/wire"
)

// retryAdmin is an Admin that retries calls until they time out. Repeating one whose reply was lost is safe, because what
// already exists is not an error.
//
// Neither the client nor gRPC repeats a request that changes a table or a bundle and that a server may have begun: the client
// calls the stubs of these without a retry (admin.go of cloud.google.com/go/bigtable v1.58), and gRPC repeats by itself only what
// no server has processed. So only retry makes copies, of the attempts whose replies are lost ("unavailable"), and Bigtable may
// execute one after the call has ended, even after a later setup has. What such a copy can do:
//
//   - CreateTable and the creation of a family fail if there is one: a copy changes nothing, unless that was deleted since. It then
//     creates it again, empty; UnknownTables and Plan.Unmanaged name it.
//   - An update of a family's rule sets it again, over a later one: requests about families have no precondition. With a shorter
//     age than the later one, Bigtable deletes what only that keeps, until the next setup sets it again, which its plan shows; with a
//     rollup, only if longer_age is allowed. An attempt is only repeated if the rule is still that of the plan, or the new one; see updateFamily.
//   - An update of a table (protection, tier) sets that again, over a later value. None deletes cells; without the protection, only
//     DeleteTables or a person deletes. The next plan shows the difference. A row key schema cannot be replaced: a copy fails,
//     or adds the one that was removed by hand.
//   - CreateSchemaBundle fails if there is one, or creates one that was deleted since. UpdateSchemaBundle has the etag of the one that
//     it replaces: a copy fails. DeleteSchemaBundle deletes one that was created again since; the client sends no etag. Bundles
//     are for queries, and the next plan shows what is missing.
//   - DeleteTable and the deletion of a family delete what was created again since, with its events: names are all that identifies
//     them. The next plan shows the missing table or family; Bigtable can restore the table, but not the family. Deletion
//     protection prevents both. An attempt is only repeated if no setup has begun since; see examiner.delete. Otherwise, after
//     a lost reply, create nothing of the same name before DeleteOptions.Timeout has passed.
//
// A step in the history is a conditional mutation; see add. TestAdminLateCopies repeats each request.
type retryAdmin struct {
	admin   Admin
	timeout time.Duration
	// made has the tables that this run has created, which may become visible only some time later.
	made map[string]bool
	// listBundles reads the schema bundles of all tables, not only of those that declare one.
	listBundles bool
}

// ErrNoAdmin is the error of calls with a nil admin client.
var ErrNoAdmin = errors.New("there is no admin client, so nothing was read or changed: pass a *bigtable.AdminClient")

// noAdmin reports whether an admin client is nil.
func noAdmin(admin any) bool {
	c, official := admin.(*bigtable.AdminClient)
	return admin == nil || official && c == nil
}

// newRetryAdmin returns an Admin that retries. The error is ErrNoAdmin.
func newRetryAdmin(admin Admin, timeout time.Duration) (retryAdmin, error) {
	if noAdmin(admin) {
		return retryAdmin{}, ErrNoAdmin
	}
	return retryAdmin{admin: admin, timeout: timeout, made: map[string]bool{}}, nil
}

// tableInfo is [TableInfo], with all that the client does not say.
func (r retryAdmin) tableInfo(ctx context.Context, table string) (info *bigtable.TableInfo, unseen wire.Unseen, err error) {
	_, err = r.retry(ctx, table, func(ctx context.Context) (err error) {
		info, err = r.admin.TableInfo(wire.WithUnseen(ctx, &unseen), table)
		return err
	})
	return info, unseen, err
}

// retry calls f, a request of any client to a table, and again after transient errors until it times out. Among these is that a
// table does not exist that this run has created. lost reports whether an attempt without a reply may have succeeded.
func (r retryAdmin) retry(ctx context.Context, table string, f func(ctx context.Context) error) (lost bool, err error) {
	ctx, cancel := call.Within(ctx, r.timeout)
	defer cancel()
	passes := func(err error) bool { return passing(err) || r.made[table] && status.Code(err) == codes.NotFound }
	err = call.Again(ctx, 100*time.Millisecond, passes, func() error {
		err := f(ctx)
		code := status.Code(err)
		lost = lost || code == codes.Unavailable || code == codes.DeadlineExceeded
		return err
	})
	return lost, call.Explain(ctx, err)
}

// passing reports whether an error is transient: one that the client retries for reads,
// or a concurrent change of the table, for which the service has no status code of its
// own.
func passing(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.Aborted, codes.DeadlineExceeded:
		return true
	case codes.FailedPrecondition:
		return strings.Contains(err.Error(), "concurrent modification")
	}
	return false
}

// outOfTime reports whether a request failed because it or the whole run timed out.
func outOfTime(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded))
}

// because adds a possible reason to an error with one of some codes, which do not tell it.
func because(err error, reason string, of ...codes.Code) error {
	if err == nil || !slices.Contains(of, status.Code(err)) {
		return err
	}
	return fmt.Errorf("%w %s", err, reason)
}
