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
	lock := flock.New(path, flock.SetPermissions(0o600), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	got, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be locked: %w", path, err)
	}
	if !got {
		return nil, fmt.Errorf("another process runs the member of %s, or joins it; stop it first", dir)
	}
	return lock.Close, nil
}
