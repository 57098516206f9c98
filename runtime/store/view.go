package store

import "cloud.google.com/go/bigtable"

// AuthorizedViews returns a Client that opens tables through authorized views, for programs
// that may access only some rows or columns. view returns the ID of the view of a table, which
// it gets with its prefix, or "" to open the table itself. It is called once for each table of a
// reader or writer, and must be safe for concurrent use.
//
// Reads return what the view contains, and ReadOptions.Fields can leave out columns that it
// lacks. Bigtable rejects writes to other rows, families or columns: with the code
// PermissionDenied, in a *WriteError or *DeleteError. Events are deleted by families, so
// deletions require views that contain all columns of the families of a schema.
func AuthorizedViews(client *bigtable.Client, view func(table string) string) Client {
	return viewClient{client, view}
}

// viewClient is the Client of AuthorizedViews.
type viewClient struct {
	client *bigtable.Client
	view   func(table string) string
}

// OpenTable opens a table or its view.
func (c viewClient) OpenTable(table string) bigtable.TableAPI {
	if view := c.view(table); view != "" {
		return c.client.OpenAuthorizedView(table, view)
	}
	return c.client.OpenTable(table)
}

// isOfficial reports whether tables are those of the official client, which sends requests
// itself and retries them.
func isOfficial(client Client) bool {
	switch client.(type) {
	case *bigtable.Client, viewClient:
		return true
	}
	return false
}
