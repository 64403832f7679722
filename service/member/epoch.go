package member

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// epochFile holds the number of the member's last start.
const epochFile = "member.epoch"

// NextEpoch numbers a start of the member of this state folder: the time in nanoseconds, or one more than at its last start where the
// clock was set back since. The service takes the higher number for the newer process, whose tunnels replace those of the older. Whoever
// calls it holds the claim. With an error the number is good all the same, but the next start does not know of it.
func NextEpoch(dir string, now time.Time) (int64, error) {
	path, epoch := filepath.Join(dir, epochFile), now.UnixNano()
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return epoch, err
	}
	if last, err := strconv.ParseInt(string(text), 10, 64); err == nil && last < math.MaxInt64 {
		epoch = max(epoch, last+1)
	}
	staged, err := stage(dir, stateFile{epochFile, strconv.AppendInt(nil, epoch, 10)})
	if err != nil {
		return epoch, err
	}
	defer os.Remove(staged) // is gone already when all went well
	return epoch, errors.Join(os.Rename(staged, path), syncFolder(dir))
}
