package connector

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"comporta/service/gateway"
)

// place is where a file or folder lies, once every symbolic link is resolved.
type place struct {
	// folder is the allowed folder, as the member's configuration names it.
	folder string
	// real is the whole path, rel the way from the folder; "." is the folder itself.
	real, rel string
}

// allowedFile finds a file that lies under one of the folders, links resolved. Outside of them it does not tell whether a file is there.
func allowedFile(path string, folders []string) (place, error) {
	p, missing, ok := locate(path, folders)
	switch {
	case missing:
		return p, gateway.Errorf(gateway.CodeDataSourceAccess, "The file %q cannot be found.", path)
	case !ok || p.rel == ".":
		return p, gateway.Errorf(gateway.CodeNotAllowedHere, "The file %q is not under a folder that this member allows; its machine says which with comporta member run --allow-folder.", path)
	}
	if info, err := os.Stat(p.real); err != nil || !info.Mode().IsRegular() {
		return p, notAFile(path)
	}
	return p, nil
}

// allowedFolder is allowedFile for a folder; an allowed folder itself is one too.
func allowedFolder(path string, folders []string) (place, error) {
	p, _, ok := locate(path, folders)
	if !ok {
		return p, gateway.Errorf(gateway.CodeNotAllowedHere, "The folder %q is not one that this member allows, nor under one; its machine says which with comporta member run --allow-folder.", path)
	}
	if info, err := os.Stat(p.real); err != nil || !info.IsDir() {
		return p, gateway.Errorf(gateway.CodeDataSourceAccess, "%q is not a folder.", path)
	}
	return p, nil
}

func notAFile(path string) error {
	return gateway.Errorf(gateway.CodeDataSourceAccess, "%q is not a file.", path)
}

// locate resolves a path. missing: nothing is there, but by its name it would lie under one of the folders.
func locate(path string, folders []string) (p place, missing, ok bool) {
	if !filepath.IsAbs(path) {
		return p, false, false
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return p, slices.ContainsFunc(folders, func(folder string) bool { return below(folder, path) != "" }), false
	}
	for _, folder := range folders {
		resolved, err := filepath.EvalSymlinks(folder)
		if err != nil {
			continue
		}
		if rel := below(resolved, real); rel != "" {
			return place{folder: folder, real: real, rel: rel}, false, true
		}
	}
	return p, false, false
}

// below is the way from a folder to what lies under it, "." for itself, and empty for what lies elsewhere.
func below(folder, path string) string {
	if rel, err := filepath.Rel(folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return ""
}

// openAllowed opens a file under one of the folders. Whoever may write there can change a link between two looks at it, so what decides is
// the opening itself: it begins at an allowed folder and follows no link out of it. A named pipe that nobody writes to would hold it up
// for ever; it is opened without waiting, and refused.
func openAllowed(path string, folders []string) (*os.File, error) {
	f, err := openDirectly(path, folders)
	if err != nil {
		// Not there, or behind a link that leads out of its folder, perhaps into another one that is allowed too.
		p, refusal := allowedFile(path, folders)
		if refusal != nil {
			return nil, refusal
		}
		if f, err = p.open(); err != nil {
			return nil, unreadable(err)
		}
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, joinClose(notAFile(path), f)
	}
	return f, nil
}

// openDirectly opens a file by its name, as long as no link leads out of the folder. Nearly all are opened so.
func openDirectly(path string, folders []string) (*os.File, error) {
	if filepath.IsAbs(path) {
		path = filepath.Clean(path)
		for _, folder := range folders {
			if rel := below(folder, path); rel != "" && rel != "." {
				return place{folder: folder, rel: rel}.open()
			}
		}
	}
	return nil, fs.ErrNotExist
}

// open opens what lies there for reading.
func (p place) open() (*os.File, error) {
	root, err := os.OpenRoot(p.folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(p.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

func joinClose(err error, f *os.File) error {
	_ = f.Close() // it was only read
	return err
}
