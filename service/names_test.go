package service

import (
	"strings"
	"testing"

	"comporta/service/gateway"
)

func TestCleanName(t *testing.T) {
	for _, good := range []string{"a", "Lager (Süd) №1", "東京", strings.Repeat("é", maxName)} {
		if got, err := cleanName("name", "  "+good+"\t"); err != nil || got != good {
			t.Errorf("%q: got %q, %v", good, got, err)
		}
	}
	for _, bad := range []string{"", "  ", "a\nb", "a\x00b", "a\x7f", strings.Repeat("é", maxName+1), "\xff"} {
		if _, err := cleanName("name", bad); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
