package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// compactLarge compacts the file if it is twice as large as after the last time, so that all compactions together
// write at most about as much as all changes.
func (j *Journal) compactLarge(ctx context.Context) error {
	j.changes.Lock()
	defer j.changes.Unlock()
	if j.failed != nil || j.waiting != nil || j.file.size < j.compact {
		return nil
	}
	err := j.replaceFile(ctx)
	if err != nil {
		err = fmt.Errorf("compacting %s: %w", j.name(), err)
	}
	if j.file != nil {
		j.compact = max(minCompacted, 2*j.file.size) // also after a failure, perhaps of a full disk
	}
	return err
}

// replaceFile replaces the file by one with the state of the server. j.changes is locked. If it fails, the file is the old one.
func (j *Journal) replaceFile(ctx context.Context) error {
	err := j.writeState(j.own(ctx))
	if err != nil {
		return errors.Join(err, j.system.remove(j.next()))
	}
	// Not all systems rename open files, and to open ones.
	if err = j.file.file.Close(); err == nil {
		err = j.system.rename(j.next(), j.name())
	}
	if err == nil {
		j.system.synchronized(j.dir)
	}
	f, openErr := j.system.open(j.name(), os.O_RDWR)
	var size int64
	if openErr == nil {
		var info os.FileInfo
		if info, openErr = f.Stat(); openErr == nil {
			size = info.Size()
		}
	}
	if openErr != nil {
		j.failed = openErr
		return errors.Join(err, openErr)
	}
	j.file = &recordFile{file: f, name: j.name(), size: size}
	return err
}

// writeState writes a file with the state of the server, and synchronizes it.
func (j *Journal) writeState(ctx context.Context) (err error) {
	f, err := j.system.open(j.next(), os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	out := &recordFile{file: f, name: j.next()}
	if err := out.create(); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(j.tables)) {
		if err := j.writeTable(ctx, out, table); err != nil {
			return err
		}
	}
	for _, view := range slices.Sorted(maps.Keys(j.views)) {
		if err := j.writeView(ctx, out, view); err != nil {
			return err
		}
	}
	return f.Sync()
}

// admin returns a client of the server.
func (j *Journal) admin() adminpb.BigtableTableAdminClient {
	return adminpb.NewBigtableTableAdminClient(j.conn)
}

// writeRequest writes the record of an administrative request that succeeds.
func writeRequest(out *recordFile, method string, request proto.Message) error {
	text, err := proto.Marshal(request)
	if err != nil {
		return err
	}
	return out.append(adminRecord(adminService+method, codes.OK, text))
}

// writeTable writes a table, its schema bundles and its rows.
func (j *Journal) writeTable(ctx context.Context, out *recordFile, name string) error {
	table, err := j.admin().GetTable(ctx, &adminpb.GetTableRequest{Name: name})
	if err != nil {
		return err
	}
	table.Name = ""
	parent, id, _ := strings.Cut(name, "/tables/")
	if err := writeRequest(out, "CreateTable", &adminpb.CreateTableRequest{Parent: parent, TableId: id, Table: table}); err != nil {
		return err
	}
	bundles, err := j.admin().ListSchemaBundles(ctx, &adminpb.ListSchemaBundlesRequest{Parent: name})
	if err != nil && status.Code(err) != codes.Unimplemented {
		return err
	}
	for _, b := range bundles.GetSchemaBundles() {
		_, id, _ := strings.Cut(b.GetName(), "/schemaBundles/")
		if err := writeRequest(out, "CreateSchemaBundle", &adminpb.CreateSchemaBundleRequest{Parent: name, SchemaBundleId: id, SchemaBundle: b}); err != nil {
			return err
		}
	}
	return j.writeRows(out, name)
}

// writeView writes an authorized view.
func (j *Journal) writeView(ctx context.Context, out *recordFile, name string) error {
	view, err := j.admin().GetAuthorizedView(ctx, &adminpb.GetAuthorizedViewRequest{Name: name})
	if err != nil {
		return err
	}
	parent, id, _ := strings.Cut(name, viewFolder)
	return writeRequest(out, "CreateAuthorizedView", &adminpb.CreateAuthorizedViewRequest{Parent: parent, AuthorizedViewId: id, AuthorizedView: view})
}

// stateRecord is the size in bytes at which a record of rows ends.
const stateRecord = 1 << 20

// writeRows writes the rows of a table. A large row becomes several records.
func (j *Journal) writeRows(out *recordFile, table string) error {
	e, size := effects{table: table}, 0
	flush := func() error {
		if len(e.entries) == 0 {
			return nil
		}
		record, err := e.record()
		e.entries, size = nil, 0
		if err != nil {
			return err
		}
		return out.append(record)
	}
	err := j.read(&bigtablepb.ReadRowsRequest{TableName: table}, func(key []byte, cells []storedCell) error {
		var mutations []*bigtablepb.Mutation
		for _, c := range cells {
			mutations = append(mutations, c.set())
			if size += len(key) + len(c.family) + len(c.qualifier) + len(c.value) + 40; size >= stateRecord {
				e.add(key, mutations)
				mutations = nil
				if err := flush(); err != nil {
					return err
				}
			}
		}
		e.add(key, mutations)
		return nil
	})
	return errors.Join(err, flush())
}
