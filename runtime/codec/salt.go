package codec

import "strconv"

// MaxSaltBuckets is the maximum number of buckets of a salt.
const MaxSaltBuckets = 1 << 16

const saltField = "salt"

// The parameters of 64-bit FNV-1a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// Salt returns the salt of the given key segments, from 0 to buckets−1. buckets is between 1 and [MaxSaltBuckets].
// The parts are the bytes of the segments as written in the key, without delimiters.
//
// To compute it in other languages, hash each part followed by a zero byte with 64-bit FNV-1a, XOR the hash with
// itself shifted right by 32 bits, and take the unsigned remainder modulo buckets. Examples:
//
//	Salt(16)                        = 1
//	Salt(16, "cpu")                 = 11
//	Salt(16, "cpu", "host1")        = 15
//	Salt(1000, "cpu", "host1")      = 471
//	Salt(300, "us-west2", "3698")   = 187
//	Salt(65536, "")                 = 2707
func Salt[T ~string | ~[]byte](buckets int, parts ...T) int {
	h := uint64(fnvOffset)
	for _, p := range parts {
		h = addSalt(h, p)
	}
	return foldSalt(h, buckets)
}

// addSalt adds a part and a zero byte to the hash.
func addSalt[T ~string | ~[]byte](h uint64, part T) uint64 {
	for i := range len(part) {
		h = (h ^ uint64(part[i])) * fnvPrime
	}
	return h * fnvPrime
}

func foldSalt(h uint64, buckets int) int {
	if !saltBuckets(buckets) {
		return 0
	}
	return int((h ^ h>>32) % uint64(buckets))
}

func saltBuckets(buckets int) bool { return 1 <= buckets && buckets <= MaxSaltBuckets }

// SaltWidth returns the width of a salt in bytes: in a key with a delimiter, the number
// of digits of buckets−1; in a binary key, 1 for up to 256 buckets and 2 for more.
func SaltWidth(buckets int, delimiter string) int {
	switch {
	case delimiter != "":
		return len(strconv.Itoa(buckets - 1))
	case buckets <= 256:
		return 1
	}
	return 2
}

// saltForm returns the form of a salt in a key with a delimiter.
func saltForm(buckets int) KeyForm {
	return KeyForm{Encoding: KeyDecimal, Pad: SaltWidth(buckets, "#")}
}

// BeginSalt begins a salt with the given number of buckets, from 1 to [MaxSaltBuckets]; for others it records
// [ErrForm]. Segments written before [KeyWriter.EndSalt] determine the salt and do not become part of the key.
//
// A key without the EndSalt is rejected with [ErrForm].
func (w *KeyWriter) BeginSalt(buckets int) {
	if w.err != nil {
		return
	}
	if !saltBuckets(buckets) {
		w.fail(saltField, strconv.Itoa(buckets)+" buckets", ErrForm)
		return
	}
	w.buckets, w.hash = buckets, fnvOffset
}

// EndSalt writes the salt of the segments since [KeyWriter.BeginSalt] and returns it; 0 after an error. See [Salt].
func (w *KeyWriter) EndSalt() int {
	if w.err != nil {
		return 0
	}
	buckets, salt := w.buckets, foldSalt(w.hash, w.buckets)
	w.buckets = 0
	w.SaltNumber(buckets, salt)
	return salt
}

// SaltNumber writes the given salt. To read series whose salt is unknown, read with
// every salt from 0 to buckets−1. Other salts are rejected with [ErrRange].
func (w *KeyWriter) SaltNumber(buckets, salt int) {
	switch {
	case w.err != nil:
	case !saltBuckets(buckets):
		w.fail(saltField, strconv.Itoa(buckets)+" buckets", ErrForm)
	case salt < 0 || salt >= buckets:
		w.fail(saltField, strconv.Itoa(salt), ErrRange)
	case w.delim != "":
		w.end(saltField, saltForm(buckets).appendPadded(w.buf, uint64(salt)))
	case SaltWidth(buckets, "") == 1:
		w.endFixed(append(w.buf, byte(salt)))
	default:
		w.endFixed(append(w.buf, byte(salt>>8), byte(salt)))
	}
}

// Salt reads a salt from 0 to buckets−1. To check that it matches the segments, read
// them and call [KeyReader.VerifySalt].
func (r *KeyReader) Salt(buckets int) int {
	if r.lost {
		return 0
	}
	if !saltBuckets(buckets) {
		r.misfit(saltField, "", ErrForm)
		return 0
	}
	v, ok := r.piece(saltField, SaltWidth(buckets, r.delim), false)
	if !ok {
		return 0
	}
	var n uint64
	if r.delim != "" {
		n, ok = saltForm(buckets).parsePadded(v)
	} else {
		n = KeyForm{}.parseBinary(v)
	}
	if !ok || n >= uint64(buckets) {
		return fail[int](r, saltField, v, "a salt of "+strconv.Itoa(buckets)+" buckets"+editedSalt)
	}
	return int(n)
}

// VerifySalt rejects a key whose salt does not match its segments. salt is the result of [KeyReader.Salt], and want
// is the result of [KeyWriter.EndSalt] for the values read.
func (r *KeyReader) VerifySalt(salt, want int) {
	if r.err == nil && salt != want {
		r.fail(saltField, strconv.Itoa(salt), strconv.Itoa(want)+", the salt of the key's values"+editedSalt)
	}
}
