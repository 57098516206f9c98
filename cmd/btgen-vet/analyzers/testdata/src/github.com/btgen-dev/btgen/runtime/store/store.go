// Package store has the parts of the runtime that the tests call.
package store

import (
	"context"
	"errors"

	"cloud.google.com/go/bigtable"
)

type (
	Client interface {
		OpenTable(table string) bigtable.TableAPI
	}
	Writer  struct{}
	Reader  struct{}
	Batcher struct{}

	Hooks struct {
		End func(ctx context.Context, err error)
	}
	WriterOptions  struct{ Hooks Hooks }
	WriteOptions   struct{ LastWins, IfAbsent bool }
	BatcherOptions struct{ MaxEvents int }
	Deletion       struct{}

	WriteError struct{}
)

func (e *WriteError) Error() string { return "" }

var ErrNotFound = errors.New("")
