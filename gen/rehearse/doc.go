// Package rehearse decides whether a new revision of the schemas of a project loses stored events, by
// acting it out: programs of all revisions write, seal, erase and read representative events, on
// symbolic cells, and what the newest one sees is compared with what its predecessor sees.
//
// # Why
//
// A rule compares two facts, such as two row keys. What hurts is often a state that results from several: a table whose key
// changed while it served no reads, and that serves them now; an earlier layout whose events have
// expired, but whose windows live on. Rules for such meetings would have to name every pair of
// features. Here nothing names features: a program is what it writes and what it reads, and a loss is
// that a read no longer shows what it showed.
//
// # How
//
// A [Program] has the facts of all schemas of a revision, and an [Epoch] is a program with those
// that wrote before it. A state is one event, with what happened to it: the period and the
// age it is of, the fields that it lacks, its TTL class, whether it was written again or deleted, and the
// cells that it has left in all tables. From the states that an epoch starts with, five acts lead to
// others: time passes (one more time to live ends), another event of its bucket is written, the bucket is sealed, the
// event is deleted, it is written again. Equal states are one, so that there are few hundred.
//
// Two worlds are compared, not two moments. Both start from each state that the earlier epochs can
// leave. In one, the previous program goes on; in the other, the new one takes over, with its rules of garbage
// collection. The same acts happen in both, and after each, every read of the one is compared with that
// of the other. What is there at first may be destroyed by what the new program does next.
//
// # Invariants
//
//   - What a program sees depends on its facts and on cells, on nothing else.
//   - A state that no clock allows is left out, never one that is only unlikely.
//   - Fields do not meet, but in whether an event is there at all. So a change is rehearsed field by
//     field, each beside one that all events have; see [Losses].
//   - Whether stored bytes of one coding can be read as another, and which of two times to live is longer, is not
//     decided here: programs say it ([Program.Reads], [codec.Lifetime.Outlives]). Rows are opaque.
//
// The tests are those of package evolve: histories of schemas, each of which needs one part of the rehearsal.
package rehearse
