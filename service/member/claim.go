package member

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// lockFile is locked by the process that runs the member, or joins it.
const lockFile = "member.lock"

// Claim keeps every other process from running or joining the member of this state folder until release is called or the process ends, however it
// ends: two processes of one member would take each other's tunnels.
func Claim(dir string) (release func() error, err error) {
	path := filepath.Join(dir, lockFile)
	for range claimTries {
		lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
		got, err := lock.TryLock()
		if err != nil {
			return nil, fmt.Errorf("the file %s cannot be locked: %w", path, err)
		}
		if !got {
			break
		}
		if inPlace(lock, path) {
			return lock.Close, nil
		}
		_ = lock.Close()
	}
	return nil, fmt.Errorf("another process runs the member of %s, or joins it; stop it first", dir)
}

// claimTries bounds how often a claim begins anew because another process took the file or the folder away.
const claimTries = 10

// inPlace reports whether the file that was locked is the one that others find: a join that failed may have taken it away after it was opened.
func inPlace(lock *flock.Flock, path string) bool {
	locked, err := lock.Stat()
	if err != nil {
		return false
	}
	found, err := os.Stat(path)
	return err == nil && os.SameFile(locked, found)
}
