package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// LoginPath is the path to which a page posts the token, to get the cookie.
const LoginPath = "/login"

// cookieName has a prefix with which browsers accept the cookie only over TLS, from the very host that it is sent to.
const cookieName = "__Host-btgen"

// MinToken is the least length of a token in bytes, and minDifferent the least number of different ones: a random token of decimal
// digits has fewer in 1 of 100,000 cases.
const (
	MinToken     = 20
	minDifferent = 5
)

// maxLogin is the maximum size of a token in bytes.
const maxLogin = 1 << 10

// Access lets in, over TLS, who knows a token: programs by the header "Authorization: Bearer TOKEN", and pages by a cookie, for
// which they post the token to [LoginPath]. Both are compared in constant time. A token is in no address, and the cookie is
// derived from it.
type Access struct {
	certificate tls.Certificate
	public      []string
	token       [sha256.Size]byte
	cookie      string
}

// TokenError is the error for a token that could be guessed or not be sent.
type TokenError struct{ Length, Different int } // characters

// Error says what a token must be.
func (e *TokenError) Error() string {
	return fmt.Sprintf("the token has %d characters, %d of them different: want %d to %d, at least %d of them different, of letters, digits and punctuation, such as openssl rand -hex 32 prints",
		e.Length, e.Different, MinToken, maxLogin, minDifferent)
}

// NewToken returns a random token.
func NewToken() string { return rand.Text() }

// NewAccess returns an access with a token and a certificate. Who does not know the token gets only the public paths. The error is a
// [*TokenError].
func NewAccess(token string, certificate tls.Certificate, public ...string) (*Access, error) {
	different := map[byte]bool{}
	for _, c := range []byte(token) {
		different[c] = true
	}
	if len(token) < MinToken || len(token) > maxLogin || len(different) < minDifferent || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, &TokenError{len(token), len(different)}
	}
	cookie := sha256.Sum256([]byte("btgen cookie\x00" + token))
	return &Access{certificate: certificate, public: public, token: sha256.Sum256([]byte(token)), cookie: hex.EncodeToString(cookie[:])}, nil
}

// Listen listens at a host:port, whatever the interface.
func (a *Access) Listen(ctx context.Context, addr string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// config returns how connections are protected.
func (a *Access) config() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{a.certificate}, MinVersion: tls.VersionTLS12}
}

// answers answers requests that post a token, and those without the token to what is not public. It reports whether it did.
func (a *Access) answers(w http.ResponseWriter, r *http.Request) bool {
	switch {
	case r.URL.Path == LoginPath && r.Method == http.MethodPost:
		a.login(w, r)
	case slices.Contains(a.public, r.URL.Path), a.allows(r):
		return false
	default:
		w.Header().Set("WWW-Authenticate", "Bearer")
		NewProblem("no token", http.StatusUnauthorized, "the token is missing or wrong: send the header Authorization: Bearer TOKEN").Write(w)
	}
	return true
}

// allows reports whether a request has the token or the cookie.
func (a *Access) allows(r *http.Request) bool {
	if scheme, token, is := strings.Cut(r.Header.Get("Authorization"), " "); is && strings.EqualFold(scheme, "Bearer") {
		return a.is(token)
	}
	for _, c := range r.CookiesNamed(cookieName) {
		if subtle.ConstantTimeCompare([]byte(c.Value), []byte(a.cookie)) == 1 {
			return true
		}
	}
	return false
}

// is reports whether a text is the token. The time that it takes does not depend on the token.
func (a *Access) is(text string) bool {
	sum := sha256.Sum256([]byte(text))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// login answers a request that posts the token as its body.
func (a *Access) login(w http.ResponseWriter, r *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTime)) // an error only leaves the limit of connections
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxLogin))
	if err != nil || !a.is(strings.TrimSpace(string(text))) {
		NewProblem("wrong token", http.StatusUnauthorized, "the token is wrong").Write(w)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: cookieName, Value: a.cookie, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode})
	w.WriteHeader(http.StatusNoContent)
}
