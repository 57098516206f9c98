package setup

import (
	"context"
	"errors"
	"strings"
	"time"

	"cloud.google.com/go/bigtable"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/btgen-dev/btgen/runtime/codec"
	"github.com/btgen-dev/btgen/runtime/internal/call"
)

// retryAdmin is an Admin that retries calls until they time out. The client does not retry
// calls that change something. Repeating one whose reply was lost is safe, because what
// already exists is not an error.
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

// tableInfo is [TableInfo].
func (r retryAdmin) tableInfo(ctx context.Context, table string) (info *bigtable.TableInfo, micros bool, err error) {
	_, err = r.retry(ctx, table, func(ctx context.Context) (err error) {
		info, micros, err = TableInfo(ctx, r.admin, table)
		return err
	})
	return info, micros, err
}

// createTable creates a table. For lost, see [retryAdmin.retry].
func (r retryAdmin) createTable(ctx context.Context, conf *bigtable.TableConf) (lost bool, err error) {
	lost, err = r.retry(ctx, conf.TableID, func(ctx context.Context) error { return r.admin.CreateTableFromConf(ctx, conf) })
	r.made[conf.TableID] = err == nil
	return lost, err
}

// createFamily creates a family. For lost, see [retryAdmin.retry].
func (r retryAdmin) createFamily(ctx context.Context, table, family string, config bigtable.Family) (lost bool, err error) {
	return r.retry(ctx, table, func(ctx context.Context) error {
		return r.admin.CreateColumnFamilyWithConfig(ctx, table, family, config)
	})
}

// updateFamily changes the rule of a family.
func (r retryAdmin) updateFamily(ctx context.Context, c Change, config bigtable.Family) error {
	var options []bigtable.UpdateFamilyOption
	if c.IgnoresWarnings {
		options = append(options, bigtable.IgnoreWarnings())
	}
	_, err := r.retry(ctx, c.Table, func(ctx context.Context) error {
		return r.admin.UpdateFamily(ctx, c.Table, c.Family, config, options...)
	})
	return err
}

// addKeySchema adds a row key schema to a table without one.
func (r retryAdmin) addKeySchema(ctx context.Context, table string, schema bigtable.StructType) error {
	_, err := r.retry(ctx, table, func(ctx context.Context) error {
		return r.admin.UpdateTableWithRowKeySchema(ctx, table, schema)
	})
	return err
}

// protect changes the deletion protection of a table.
func (r retryAdmin) protect(ctx context.Context, table string, protection bigtable.DeletionProtection) error {
	_, err := r.retry(ctx, table, func(ctx context.Context) error {
		return r.admin.UpdateTableWithDeletionProtection(ctx, table, protection)
	})
	return err
}

// setTier changes the infrequent access tier of a table, or removes it.
func (r retryAdmin) setTier(ctx context.Context, table string, tier codec.Tier) error {
	_, err := r.retry(ctx, table, func(ctx context.Context) error {
		if config := tierConfig(tier); config != nil {
			return r.admin.UpdateTableWithTieredStorageConfig(ctx, table, config)
		}
		return r.admin.UpdateTableRemoveTieredStorageConfig(ctx, table)
	})
	return err
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
