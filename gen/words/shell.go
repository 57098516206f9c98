package words

import "strings"

// Shell returns an argument of a command line for a shell, quoted if that is necessary.
func Shell(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("_-./:,@+", r)
	}
	if s != "" && strings.TrimLeftFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ShellPair returns the argument name=value of a command line for a shell, quoted if that is necessary.
func ShellPair(name, value string) string {
	if name != "" && Shell(name+value) == name+value {
		return name + "=" + value
	}
	return Shell(name + "=" + value)
}
