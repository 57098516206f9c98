package wire

import (
	"bytes"
	"context"
	"slices"

	"cloud.google.com/go/bigtable"
	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
	protocodec "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"
)

// attempts counts how often the client sends a MutateRow request. It is the codec of the call, so it
// counts attempts of interceptors that retry by themselves, too. It is also the context of the call.
type attempts struct {
	context.Context
	n         int
	mutations mem.SliceBuffer // of ApplyEncoded; nil if they are in the request
}

type attemptsKey struct{}

// Value implements [context.Context].
func (a *attempts) Value(key any) any {
	if key == (attemptsKey{}) {
		return a
	}
	return a.Context.Value(key)
}

// counting is the codec that counts.
type counting struct{ *attempts }

// Marshal encodes the request like gRPC, and adds the mutations that it lacks.
func (c counting) Marshal(v any) (mem.BufferSlice, error) {
	c.n++
	out, err := encoding.GetCodecV2(protocodec.Name).Marshal(v)
	if err != nil || c.mutations == nil {
		return out, err
	}
	return append(out, c.mutations), nil
}

// Unmarshal decodes the response like gRPC.
func (counting) Unmarshal(data mem.BufferSlice, v any) error {
	return encoding.GetCodecV2(protocodec.Name).Unmarshal(data, v)
}

// Name is empty, so the call has the same content type as without this codec.
func (counting) Name() string { return "" }

// Apply applies mutations to a row with the client's call for single rows, which takes less CPU time than
// a bulk request of one entry. It returns how often the client sent the request: if that is once, err is
// what is known about its outcome. It is 0 if the client is not intercepted, if another interceptor
// forces its codec, or if the client diverts the call to its session protocol.
func Apply(ctx context.Context, table bigtable.TableAPI, key string, m *bigtable.Mutation) (sent int, err error) {
	a := attempts{Context: ctx}
	err = table.Apply(&a, key, m)
	return a.n, err
}

// ApplyEncoded is [Apply] for encoded mutations, of which it keeps a copy only: the client gets a placeholder, which the interceptor
// removes, and the codec adds the mutations. Interceptors before this one see the placeholder, and those behind it a request without
// mutations. If sent is 0, nothing was changed, whatever err is: the server rejects the placeholder, and the caller may use Apply.
func ApplyEncoded(ctx context.Context, table bigtable.TableAPI, key string, mutations []byte) (sent int, err error) {
	a := attempts{Context: ctx, mutations: ofRow(mutations)}
	err = table.Apply(&a, key, placeholder[0])
	return a.n, err
}

// ofRow returns a copy of encoded mutations as fields of a MutateRow request. gRPC may read it after the call has ended.
func ofRow(mutations []byte) []byte {
	out := bytes.Clone(mutations)
	for at := 0; at < len(out); {
		out[at] = fieldRowMutations<<3 | byte(protowire.BytesType)
		_, n := protowire.ConsumeBytes(out[at+1:])
		if n < 0 {
			return nil // not encoded by this package
		}
		at += 1 + n
	}
	return out
}

// interceptUnary is a [grpc.UnaryClientInterceptor]. It affects only MutateRow calls of [Apply] and [ApplyEncoded]. It
// disables retries by gRPC like mutateRows. It tells of GetTable calls what the client leaves out; see [Unseen].
func interceptUnary(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn, invoker grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if method == methodMutateRow {
		if a, ok := ctx.Value(attemptsKey{}).(*attempts); ok {
			opts = append(slices.Clip(opts), grpc.ForceCodecV2(counting{a}), grpc.MaxRetryRPCBufferSize(0))
			if r, ok := request.(*bigtablepb.MutateRowRequest); ok && a.mutations != nil {
				r.Mutations = nil // the client keeps the placeholder elsewhere
			}
		}
	}
	err := invoker(ctx, method, request, reply, conn, opts...)
	if table, ok := reply.(*adminpb.Table); ok && err == nil {
		if to, ok := ctx.Value(unseenKey{}).(*Unseen); ok {
			*to = Unseen{Micros: table.GetGranularity() == adminpb.Table_MICROS, Backup: table.GetRestoreInfo().GetBackupInfo()}
		}
	}
	return err
}

// Unseen is what Bigtable says about a table, and the client does not.
type Unseen struct {
	Micros bool                // its granularity is MICROS
	Backup *adminpb.BackupInfo // the backup that it was restored from; nil for none
}

type unseenKey struct{}

// WithUnseen returns a context for calls of the admin client that return a table. If they are intercepted, they set
// u, and otherwise, they leave it as it is.
func WithUnseen(ctx context.Context, u *Unseen) context.Context {
	return context.WithValue(ctx, unseenKey{}, u)
}
