package web_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/cmd/internal/web"
)

const token = "correct-horse-battery-staple"

// access serves over TLS with the token, and returns the address and a client that trusts the certificate.
func access(t *testing.T, addr string) (string, *http.Client) {
	t.Helper()
	certified := httptest.NewTLSServer(http.NotFoundHandler()) // for its certificate
	t.Cleanup(certified.Close)
	a, err := web.NewAccess(token, certified.TLS.Certificates[0], "/")
	must(t, err)
	l, err := a.Listen(t.Context(), addr)
	must(t, err)
	started(t, l, a, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "secret of "+r.Method+r.URL.Path)
	})
	_, port, _ := strings.Cut(strings.TrimPrefix(l.Addr().String(), "[::]"), ":")
	return "127.0.0.1:" + port, certified.Client()
}

// TestAccess sends requests with and without the token: only those that have it get an answer that is not public.
func TestAccess(t *testing.T) {
	addr, client := access(t, ":0") // of all interfaces
	cookie := ""
	send := func(method, path, body string, header map[string]string) (*http.Response, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "https://"+addr+path, strings.NewReader(body))
		must(t, err)
		for key, value := range header {
			r.Header.Set(key, value)
		}
		if host := header["Host"]; host != "" {
			r.Host = host
		}
		response, err := client.Do(r)
		must(t, err)
		text, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		return response, string(text)
	}
	login, _ := send("POST", web.LoginPath, token+"\n", nil)
	for _, c := range login.Cookies() {
		if !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || strings.Contains(c.Value, token) {
			t.Errorf("cookie %v", c)
		}
		cookie = c.Name + "=" + c.Value
	}
	if login.StatusCode != http.StatusNoContent || !strings.HasPrefix(cookie, "__Host-") {
		t.Fatalf("%d, cookie %s", login.StatusCode, cookie)
	}
	type header = map[string]string
	for name, c := range map[string]struct {
		method, path, body string
		header             header
		want               int
	}{
		"public":                 {"GET", "/", "", nil, 200},
		"no token":               {"GET", "/api/events", "", nil, 401},
		"token":                  {"GET", "/api/events", "", header{"Authorization": "Bearer " + token}, 200},
		"any name of the server": {"GET", "/api/events", "", header{"Authorization": "Bearer " + token, "Host": "btgen.example:8089"}, 200},
		"scheme in lower case":   {"GET", "/api/events", "", header{"Authorization": "bearer " + token}, 200},
		"scheme in upper case":   {"GET", "/api/events", "", header{"Authorization": "BEARER " + token}, 200},
		"cookie":                 {"GET", "/api/events", "", header{"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}, 200},
		"cookie, other headers":  {"GET", "/api/events", "", header{"Cookie": cookie, "Content-Type": "application/json"}, 200},
		"cookie alone":           {"GET", "/api/events", "", header{"Cookie": cookie}, 403},
		"cookie among others":    {"GET", "/api/events", "", header{"Cookie": "a=b; __Host-btgen=x; " + cookie, "Sec-Fetch-Site": "same-origin"}, 200},
		"wrong token":            {"GET", "/api/events", "", header{"Authorization": "Bearer " + token + "x"}, 401},
		"wrong token and cookie": {"GET", "/api/events", "", header{"Authorization": "Bearer x", "Cookie": cookie}, 401},
		"beginning of the token": {"GET", "/api/events", "", header{"Authorization": "Bearer " + token[:20]}, 401},
		"empty token":            {"GET", "/api/events", "", header{"Authorization": "Bearer "}, 401},
		"other scheme":           {"GET", "/api/events", "", header{"Authorization": "Basic " + token}, 401},
		"token as cookie":        {"GET", "/api/events", "", header{"Cookie": "__Host-btgen=" + token, "Sec-Fetch-Site": "same-origin"}, 401},
		"token in the address":   {"GET", "/api/events?token=" + token, "", header{"Sec-Fetch-Site": "none"}, 401},
		"path that looks public": {"GET", "//", "", nil, 401},
		"login without a token":  {"POST", web.LoginPath, "", nil, 401},
		"login with another":     {"POST", web.LoginPath, "wrong", nil, 401},
		"login with much":        {"POST", web.LoginPath, strings.Repeat(token, 100), nil, 401},
		"login of another site":  {"POST", web.LoginPath, token, header{"Origin": "https://evil.example"}, 403},
		"login by a form":        {"POST", web.LoginPath, token, header{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, 403},
		"cookie of another site": {"GET", "/api/events", "", header{"Cookie": cookie, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}, 403},
		"own origin":             {"GET", "/api/events", "", header{"Cookie": cookie, "Sec-Fetch-Site": "same-origin", "Origin": "https://" + addr}, 200},
		"own origin without TLS": {"GET", "/api/events", "", header{"Cookie": cookie, "Origin": "http://" + addr}, 403},
		"change":                 {"POST", "/api/events", "", header{"Cookie": cookie}, 405},
		"address of the login":   {"GET", web.LoginPath, "", nil, 401},
		"deletion":               {"DELETE", web.LoginPath, "", header{"Cookie": cookie}, 405},
	} {
		response, text := send(c.method, c.path, c.body, c.header)
		if response.StatusCode != c.want || c.want != 200 && strings.Contains(text, "secret") || strings.Contains(text, token) {
			t.Errorf("%s: %d %s, want %d", name, response.StatusCode, text, c.want)
		}
		if kind := response.Header.Get("Content-Type"); c.want != 200 && kind != "application/problem+json" {
			t.Errorf("%s: %s", name, kind)
		}
		if c.want == 401 && response.Header.Get("Set-Cookie") != "" {
			t.Errorf("%s: a cookie", name)
		}
	}
	if response, err := http.Get("http://" + addr + "/"); err == nil {
		if response.StatusCode == http.StatusOK {
			t.Error("answers without TLS")
		}
		_ = response.Body.Close()
	}
}

// TestTokens refuses tokens that could be guessed, or that a header cannot have.
func TestTokens(t *testing.T) {
	for text, want := range map[string]bool{
		token: true, web.NewToken(): true, strings.Repeat("abcde", 4): true, strings.Repeat("abcdefgh", 128): true,
		strings.Repeat("x", 20): false, strings.Repeat("abcd", 50): false,
		"": false, "password": false, strings.Repeat("x", 19): false, strings.Repeat("x", 1025): false, token + " x": false, token + "\n": false, token + "ü": false,
	} {
		_, err := web.NewAccess(text, tls.Certificate{})
		if refused := (*web.TokenError)(nil); errors.As(err, &refused) == want {
			t.Errorf("%q: %v", text, err)
		}
	}
	if one, other := web.NewToken(), web.NewToken(); one == other {
		t.Error("two tokens are the same")
	}
}
