package connector

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"comporta/service/gateway"
)

// maxListed bounds how many files of a folder are listed.
const maxListed = 100_000

// files is a data source of kind File or Folder: CSV, JSON (an array of objects) and NDJSON files under a folder that the member's
// configuration allows. There is no query language: the query text is empty for a File, and for a Folder the relative path of a file in
// it, or empty to list what the folder holds.
type files struct {
	kind    gateway.DataSourceType
	path    string
	folders []string
}

func openFiles(d *gateway.TaskSource, folders []string) (source, error) {
	place, err := gateway.ParsePlace(d.Type, d.ConnectionDetails)
	if err != nil {
		return nil, err
	}
	s := &files{kind: d.Type, path: place.Path, folders: folders}
	if d.Type == gateway.TypeFolder {
		_, err = allowedFolder(s.path, folders)
	} else {
		_, err = allowedFile(s.path, folders)
	}
	return s, err
}

func (s *files) close() {}

func (s *files) probe(context.Context) error {
	if s.kind == gateway.TypeFolder {
		_, err := s.entries()
		return err
	}
	f, err := openAllowed(s.path, s.folders)
	if err != nil {
		return err
	}
	return f.Close()
}

// unreadable says that a file or folder cannot be read, without the member's own path in it.
func unreadable(err error) error {
	if err == nil {
		return nil
	}
	return gateway.Wrap(gateway.CodeDataSourceAccess, err, "The file or folder cannot be read.")
}

func (s *files) run(ctx context.Context, task *gateway.Task, out gateway.Output) (gateway.Summary, error) {
	a, err := newAnswer(task, out)
	if err != nil {
		return gateway.Summary{}, err
	}
	err = s.stream(ctx, task.Query, a)
	if err != nil && !errors.Is(err, errEnough) {
		if ended := contextFailure(ctx); ended != nil {
			err = ended
		}
		e := gateway.AsError(err)
		return a.fail(e), e
	}
	return a.finish()
}

func (s *files) stream(ctx context.Context, q *gateway.Query, a *answer) error {
	name := strings.TrimSpace(q.Text)
	switch {
	case len(q.Parameters) > 0:
		return gateway.Errorf(gateway.CodeInvalid, "A data source of type %s takes no parameters.", s.kind)
	case s.kind == gateway.TypeFile && name != "":
		return gateway.Errorf(gateway.CodeInvalid, "A File data source has no query language: leave query.text empty to read the whole file.")
	case s.kind == gateway.TypeFile:
		return s.read(ctx, s.path, a)
	case name == "":
		return s.list(ctx, a)
	case !filepath.IsLocal(filepath.FromSlash(name)):
		return gateway.Errorf(gateway.CodeNotAllowedHere, "query.text must be the relative path of a file inside the folder.")
	}
	return s.read(ctx, filepath.Join(s.path, filepath.FromSlash(name)), a)
}

// entries are what the folder holds, sorted by name. As with openAllowed, no link leads out of an allowed folder.
func (s *files) entries() ([]os.DirEntry, error) {
	p, err := allowedFolder(s.path, s.folders)
	if err != nil {
		return nil, err
	}
	folder, err := p.open()
	if err != nil {
		return nil, unreadable(err)
	}
	defer folder.Close()
	entries, err := folder.ReadDir(-1)
	slices.SortFunc(entries, func(a, b os.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, unreadable(err)
}

// list answers what the folder holds, sorted by name.
func (s *files) list(ctx context.Context, a *answer) error {
	entries, err := s.entries()
	if err != nil {
		return err
	}
	a.columns([]column{{name: "name", kind: typeText, database: "text", scale: -1}, {name: "folder", kind: typeBool, database: "bool", scale: -1},
		{name: "size", kind: typeInt64, database: "int64", scale: -1}, {name: "modified", kind: typeTimestampTZ, database: "timestamptz", scale: -1}})
	for i, entry := range entries {
		info, err := entry.Info()
		if err != nil || i >= maxListed {
			continue // gone since it was listed, or one too many
		}
		modified := info.ModTime().UTC().Format("2006-01-02T15:04:05.999999") + "+00:00"
		err = a.row([]cell{textCell([]byte(entry.Name())), boolCell(entry.IsDir()), intCell(info.Size()), textCell([]byte(modified))})
		if err := errors.Join(err, ctx.Err()); err != nil {
			return err
		}
	}
	return nil
}

// read answers the rows of one file, whose name says how it is written.
func (s *files) read(ctx context.Context, path string, a *answer) error {
	f, err := openAllowed(path, s.folders)
	if err != nil {
		return err
	}
	defer f.Close()
	switch extension := strings.ToLower(filepath.Ext(path)); extension {
	case ".csv":
		return withoutBOM(f, func(r io.Reader) error { return readCSV(ctx, r, a) })
	case ".json", ".ndjson", ".jsonl":
		return readJSONFile(ctx, f, extension == ".json", a)
	default:
		return gateway.Errorf(gateway.CodeInvalid, "Files named %q are not served; .csv, .json, .ndjson and .jsonl are.", extension)
	}
}

// fileReaders hold the buffers of files that are being read.
var fileReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// withoutBOM reads a file through a buffer that others use after it, and passes over a byte order mark.
func withoutBOM(f io.Reader, read func(io.Reader) error) error {
	r := fileReaders.Get().(*bufio.Reader)
	defer fileReaders.Put(r)
	defer r.Reset(nil)
	r.Reset(f)
	if start, err := r.Peek(3); err == nil && slices.Equal(start, []byte{0xef, 0xbb, 0xbf}) {
		_, _ = r.Discard(3)
	}
	return read(r)
}
