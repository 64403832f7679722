package api

import (
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// normalise gives paths the one form that the table has: lower case, no slash at the end, keys as /x/{id} instead of /x({id}), and nothing
// escaped that need not be (RFC 3986 section 6.2.2.2). What stands in a path of ours is an id, an e-mail address or a word; letter case counts
// in none of them.
func normalise(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		u := c.Request().URL
		u.Path = normalPath(u.Path)
		if u.RawPath != "" {
			u.RawPath = normalPath(unescapeUnreserved(u.RawPath))
		}
		return next(c)
	}
}

// unescapeUnreserved turns %76 into v, and leaves %2F as it is: that is no slash.
func unescapeUnreserved(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if path[i] == '%' && i+2 < len(path) {
			if n, err := strconv.ParseUint(path[i+1:i+3], 16, 8); err == nil && unreserved(byte(n)) {
				b.WriteByte(byte(n))
				i += 2
				continue
			}
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

func unreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}

func normalPath(path string) string {
	if strings.HasPrefix(path, swaggerPath) {
		return path // the folder of Swagger UI's files
	}
	path = strings.ToLower(path)
	if strings.ContainsAny(path, "(") {
		path = slashKeys(path)
	}
	for len(path) > 1 && path[len(path)-1] == '/' {
		path = path[:len(path)-1]
	}
	return path
}

// slashKeys turns /x(key)/y into /x/key/y; quotes around a key go too.
func slashKeys(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		name, key, ok := strings.Cut(s, "(")
		if ok && name != "" && strings.HasSuffix(key, ")") {
			segments[i] = name + "/" + strings.Trim(key[:len(key)-1], "'")
		}
	}
	return strings.Join(segments, "/")
}

// echoPath turns /x/{id} into echo's /x/:id, in lower case but for the parameter's name.
func echoPath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if strings.HasPrefix(s, "{") {
			segments[i] = ":" + strings.Trim(s, "{}")
			continue
		}
		segments[i] = strings.ToLower(s)
	}
	return strings.Join(segments, "/")
}
