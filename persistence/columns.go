package persistence

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"comporta/service/gateway"
)

// How values are kept: times as microseconds since 1970 in UTC (0 is no time), bytes as base64, structures as JSON, names beside their
// folded form, which the unique indexes use.

func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func moment(micros int64) time.Time {
	if micros == 0 {
		return time.Time{}
	}
	return time.UnixMicro(micros).UTC()
}

func bytesText(raw []byte) string { return base64.StdEncoding.EncodeToString(raw) }

func textBytes(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	return base64.StdEncoding.DecodeString(text)
}

func jsonText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a vocabulary type that JSON cannot hold: %T: %v", v, err))
	}
	return string(text)
}

// fold makes names that differ only in letter case the same.
func fold(name string) string { return strings.ToLower(name) }

func idsText(ids []gateway.ID) string {
	if ids == nil {
		ids = []gateway.ID{}
	}
	return jsonText(ids)
}

// limit turns "0 is all" into a number for LIMIT.
func limit(n int) int {
	if n <= 0 {
		return 1<<31 - 1
	}
	return n
}
