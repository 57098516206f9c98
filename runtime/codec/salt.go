package codec

import "strconv"

// MaxSaltBuckets is the maximum number of buckets of a salt.
const MaxSaltBuckets = 1 << 16

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
	if buckets < 1 {
		return 0
	}
	return int((h ^ h>>32) % uint64(buckets))
}

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

// saltForm returns the form of a salt.
func saltForm(buckets int, delimiter string) KeyForm {
	return fixedForm(delimiter, SaltWidth(buckets, delimiter))
}
