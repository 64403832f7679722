package connector

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"comporta/service/gateway"
)

func TestFilesStayWhereTheyMay(t *testing.T) {
	allowed, outside := t.TempDir(), t.TempDir()
	inside, secret := filepath.Join(allowed, "a.db"), filepath.Join(outside, "secret.db")
	for _, path := range []string{inside, secret} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := filepath.Join(allowed, "link.db")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]gateway.Code{
		inside: "", link: gateway.CodeNotAllowedHere, secret: gateway.CodeNotAllowedHere, "a.db": gateway.CodeNotAllowedHere,
		filepath.Join(outside, "none.db"):         gateway.CodeNotAllowedHere,
		filepath.Join(allowed, "none.db"):         gateway.CodeDataSourceAccess,
		allowed:                                   gateway.CodeNotAllowedHere,
		allowed + "/../" + filepath.Base(allowed): gateway.CodeNotAllowedHere,
		allowed + "/x/../a.db":                    "",
		allowed + "/../" + filepath.Base(outside): gateway.CodeNotAllowedHere,
		allowed + "evil/a.db":                     gateway.CodeNotAllowedHere,
	} {
		_, err := allowedFile(path, []string{allowed})
		f, opened := openAllowed(path, []string{allowed})
		for how, err := range map[string]error{"finding": err, "opening": opened} {
			if got := gateway.AsError(err); want == "" && got != nil || want != "" && (got == nil || got.Code != want) {
				t.Errorf("%s %s: got %v, want %q", how, path, err, want)
			}
		}
		if opened == nil {
			f.Close()
		}
	}
}

// A link from one allowed folder into another is allowed, and so is one with the whole path inside a folder.
func TestLinksBetweenAllowedFolders(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	writeText(t, filepath.Join(two, "a.csv"), "a\n1\n")
	link := filepath.Join(one, "link")
	if err := os.Symlink(two, link); err != nil {
		t.Fatal(err)
	}
	for _, folders := range [][]string{{one, two}, {two, one}} {
		f, err := openAllowed(filepath.Join(link, "a.csv"), folders)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
}

// A folder is itself reached through a link, as /var/run is.
func TestAnAllowedFolderMayBeALink(t *testing.T) {
	real, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	writeText(t, filepath.Join(real, "a.csv"), "a\n1\n")
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Join(link, "a.csv"), filepath.Join(real, "a.csv")} {
		f, err := openAllowed(path, []string{link})
		if err != nil {
			t.Fatal(path, err)
		}
		f.Close()
	}
}

// Opening a named pipe that nobody writes to must not hold up a request.
func TestNamedPipesAreNotOpened(t *testing.T) {
	folder := t.TempDir()
	pipe := filepath.Join(folder, "a.csv")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openAllowed(pipe, []string{folder}); gateway.AsError(err).Code != gateway.CodeDataSourceAccess {
		t.Error(err)
	}
}

// Somebody who may write in an allowed folder swaps a file for a link that leads out, again and again, while it is read.
func TestALinkThatChangesMeanwhileLeadsNowhereElse(t *testing.T) {
	folder, c := shelf(t)
	victim, next := filepath.Join(folder, "swap.csv"), filepath.Join(folder, "next")
	whileSwapping(t, func() {
		_ = os.Link(filepath.Join(folder, "a.csv"), next)
		_ = os.Rename(next, victim)
		_ = os.Symlink(filepath.Join(folder, "..", "outside", "secret.csv"), next)
		_ = os.Rename(next, victim)
	}, func() string { return textOf(c, fileTask(gateway.TypeFile, victim, "")) })
}

// The same with a folder that is listed.
func TestAFolderThatChangesMeanwhileIsNotListedElsewhere(t *testing.T) {
	folder, c := shelf(t)
	victim, real, link := filepath.Join(folder, "swap"), filepath.Join(folder, "sub"), filepath.Join(folder, "next")
	if err := os.Symlink(filepath.Join(folder, "..", "outside"), link); err != nil {
		t.Fatal(err)
	}
	whileSwapping(t, func() {
		_ = os.Rename(real, victim)
		_ = os.Rename(victim, real)
		_ = os.Rename(link, victim)
		_ = os.Rename(victim, link)
	}, func() string { return textOf(c, fileTask(gateway.TypeFolder, victim, "")) })
}

func textOf(c *Connectors, task *gateway.Task) string {
	out := &memory{}
	_, _ = c.Run(context.Background(), task, nil, out) // it fails whenever the path leads out, or nowhere
	return out.body.String()
}

// whileSwapping looks some thousand times while somebody swaps; what it sees must never come from outside.
func whileSwapping(t *testing.T, swap func(), look func() string) {
	t.Helper()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				swap()
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	seen := 0
	for range 5000 {
		text := look()
		if strings.Contains(text, "secret") {
			t.Fatalf("it shows what is outside of the allowed folder: %s", text)
		}
		if text != "" {
			seen++
		}
	}
	if seen == 0 {
		t.Error("nothing was ever seen")
	}
}

// SQLite opens files by their names itself: it is asked afterwards which one that was.
func TestSQLiteSaysWhichFileItOpened(t *testing.T) {
	folder, outside := t.TempDir(), t.TempDir()
	secret, link := filepath.Join(outside, "secret.db"), filepath.Join(folder, "a.db")
	writeText(t, secret, "")
	if err := os.Symlink(secret, link); err != nil {
		t.Fatal(err)
	}
	// As if the link had been a file when the path was checked.
	connector := &sqliteConnector{path: link, folders: []string{folder}, readOnly: true}
	if _, err := connector.open(link); gateway.AsError(err) == nil || gateway.AsError(err).Code != gateway.CodeNotAllowedHere {
		t.Errorf("got %v", err)
	} else if strings.Contains(err.Error(), outside) {
		t.Errorf("it tells the path: %v", err)
	}
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkReadAFile reads a file of one row, from looking for it to the end of the answer.
func BenchmarkReadAFile(b *testing.B) {
	folder := b.TempDir()
	path := filepath.Join(folder, "a.csv")
	if err := os.WriteFile(path, []byte("a,b\n1,2\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	c := New(Config{AllowFolders: []string{folder}, Now: time.Now})
	defer c.Close()
	task := fileTask(gateway.TypeFile, path, "")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Run(context.Background(), task, nil, &memory{}); err != nil {
			b.Fatal(err)
		}
	}
}
