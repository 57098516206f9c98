package lint

import (
	"testing"
	"time"

	"cloud.google.com/go/bigtable/admin/apiv2/adminpb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/btgen-dev/btgen/golden/assert"
	"github.com/btgen-dev/btgen/runtime/codec"
)

// The size of a rule is that of its message.
func TestWireSize(t *testing.T) {
	age := codec.GCRule{Kind: codec.GCMaxAge, MaxAge: 90*24*time.Hour + time.Millisecond}
	versions := codec.GCRule{Kind: codec.GCMaxVersions, MaxVersions: 300}
	union := codec.GCRule{Kind: codec.GCUnion, Rules: []codec.GCRule{age, versions}}
	both := codec.GCRule{Kind: codec.GCIntersection}
	for range 20 {
		both.Rules = append(both.Rules, union)
	}
	for _, rule := range []codec.GCRule{{}, age, versions, union, both} {
		assert.Same(t, proto.Size(messageOf(rule)), wireSize(rule), rule)
	}
}

func messageOf(r codec.GCRule) *adminpb.GcRule {
	var rules []*adminpb.GcRule
	for _, rule := range r.Rules {
		rules = append(rules, messageOf(rule))
	}
	switch r.Kind {
	case codec.GCMaxAge:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxAge{MaxAge: durationpb.New(r.MaxAge)}}
	case codec.GCMaxVersions:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_MaxNumVersions{MaxNumVersions: int32(r.MaxVersions)}}
	case codec.GCUnion:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Union_{Union: &adminpb.GcRule_Union{Rules: rules}}}
	case codec.GCIntersection:
		return &adminpb.GcRule{Rule: &adminpb.GcRule_Intersection_{Intersection: &adminpb.GcRule_Intersection{Rules: rules}}}
	}
	return &adminpb.GcRule{}
}
