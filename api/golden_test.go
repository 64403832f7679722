package api_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// update writes the golden answers anew: go test ./api -run Documented -update. Read the difference before committing it.
var update = flag.Bool("update", false, "write the golden answers anew")

// transcript collects the answers of a run, one text per surface, with everything that differs from run to run replaced by a word. The
// statuses in it are no check of their own: each request says what status it must give.
type transcript struct {
	surfaces map[string]*bytes.Buffer
	ids      map[string]string
	words    *strings.Replacer
}

// newTranscript replaces these texts, given in pairs with what stands for them.
func newTranscript(words ...string) *transcript {
	return &transcript{map[string]*bytes.Buffer{}, map[string]string{}, strings.NewReplacer(words...)}
}

// surfaceOf names a surface by the beginning of its paths.
func surfaceOf(path string) string {
	for prefix, name := range map[string]string{"/v1.0/": "v1.0", "/v2.0/": "v2.0", "/v1/": "fabric", "/unifiedgateway/": "unifiedgateway"} {
		if strings.HasPrefix(path, prefix) {
			return name
		}
	}
	return "service"
}

func (t *transcript) add(method, path string, status int, answer []byte) {
	name := surfaceOf(path)
	if t.surfaces[name] == nil {
		t.surfaces[name] = &bytes.Buffer{}
	}
	pretty := &bytes.Buffer{}
	if json.Indent(pretty, answer, "", "  ") != nil {
		pretty = bytes.NewBuffer(answer)
	}
	fmt.Fprintf(t.surfaces[name], "%s %s: %d\n%s\n\n", method, path, status, t.steady(strings.TrimSpace(pretty.String())))
}

var (
	guid  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	drift = []struct {
		pattern *regexp.Regexp
		word    string
	}{
		{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "TIME"},
		{regexp.MustCompile(`((?:modulus|n)\\?": ?\\?")[A-Za-z0-9+/=_-]{100,}`), "${1}MODULUS"},
		{regexp.MustCompile(`("(?:clientSecret|enrolmentToken|secret|kid|access_token|sealed|salt|verifier|publicKey)": ")[^"]{16,}`), "${1}SECRET"},
		{regexp.MustCompile(`("(?:cpuPercent|memoryPercent|cpu|memory|durationMilliseconds|milliseconds|bytes|runningRequests)": )(?:null|[\d.]+)`), "${1}NUMBER"},
		{regexp.MustCompile(`("(?:request|requestId|from)": ")[^"]+`), "${1}WHO"},
	}
)

// steady replaces what differs from run to run. Equal ids stay equal, so that the answers still say what belongs to what.
func (t *transcript) steady(text string) string {
	text = t.words.Replace(text)
	text = guid.ReplaceAllStringFunc(text, func(id string) string {
		if t.ids[id] == "" {
			t.ids[id] = fmt.Sprintf("ID-%d", len(t.ids)+1)
		}
		return t.ids[id]
	})
	for _, d := range drift {
		text = d.pattern.ReplaceAllString(text, d.word)
	}
	return text
}

// compare holds the transcript against the golden files.
func (t *transcript) compare(test testing.TB) {
	test.Helper()
	for name, text := range t.surfaces {
		file := filepath.Join("testdata", "golden", name+".txt")
		if *update {
			if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
				test.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			test.Fatal(err)
		}
		if got := text.String(); got != string(want) {
			test.Errorf("the %s surface answers otherwise than %s: %s", name, file, firstDifference(got, string(want)))
		}
	}
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	request := ""
	for i := range min(len(g), len(w)) {
		if strings.Contains(w[i], " /") && !strings.HasPrefix(w[i], " ") {
			request = w[i]
		}
		if g[i] != w[i] {
			return fmt.Sprintf("%s, line %d:\n got %s\nwant %s", request, i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
