package journal

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"cloud.google.com/go/bigtable/apiv2/bigtablepb"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
)

// The first byte of a record is its kind.
const (
	rowsRecord    = 'R' // a MutateRowsRequest
	requestRecord = 'A' // an administrative request: the code of its answer, the length of its method, method, request
)

// adminRecord returns the record of an administrative request.
func adminRecord(method string, code codes.Code, request []byte) []byte {
	record := binary.AppendUvarint([]byte{requestRecord}, uint64(code))
	record = binary.AppendUvarint(record, uint64(len(method)))
	return append(append(record, method...), request...)
}

// replay applies a record.
func (j *Journal) replay(ctx context.Context, record []byte) error {
	switch record[0] {
	case rowsRecord:
		return j.replayRows(record[1:])
	case requestRecord:
		return j.replayAdmin(ctx, record[1:])
	}
	return fmt.Errorf("a record of the unknown kind %q", record[0])
}

// replayRows applies mutations, all of which the server accepted before.
func (j *Journal) replayRows(text []byte) error {
	var request bigtablepb.MutateRowsRequest
	if err := proto.Unmarshal(text, &request); err != nil {
		return err
	}
	var outcome entriesStream
	return errors.Join(j.server.MutateRows(&request, &outcome), outcome.failed)
}

// replayAdmin sends an administrative request, which must have the answer that it had.
func (j *Journal) replayAdmin(ctx context.Context, text []byte) error {
	code, n := binary.Uvarint(text)
	length, m := binary.Uvarint(text[max(n, 0):])
	if n <= 0 || m <= 0 || length > uint64(len(text)-n-m) {
		return errors.New("not a request")
	}
	text = text[n+m:]
	method, request := string(text[:length]), text[length:]
	var response []byte
	err := j.conn.Invoke(ctx, method, request, &response, grpc.ForceCodec(plain{}))
	if status.Code(err) != codes.Code(code) {
		return fmt.Errorf("%s was answered by %s, and now by %s: %w", method, codes.Code(code), status.Code(err), err)
	}
	return nil
}

// plain is a codec for messages that are encoded already.
type plain struct{}

// Name returns the encoding of the messages.
func (plain) Name() string { return "proto" }

// Marshal returns the bytes of a request.
func (plain) Marshal(v any) ([]byte, error) {
	text, is := v.([]byte)
	if !is {
		return nil, fmt.Errorf("a message of type %T", v)
	}
	return text, nil
}

// Unmarshal copies the bytes of a response.
func (plain) Unmarshal(text []byte, v any) error {
	to, is := v.(*[]byte)
	if !is {
		return fmt.Errorf("a message of type %T", v)
	}
	*to = append((*to)[:0], text...)
	return nil
}
