//go:build linux

package faults

import (
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// fiveMinutes is by how much clocks are wrong here. Source: contract section 10, "clock skew of minutes".
const fiveMinutes = 5 * time.Minute

// clock is the wall clock of one process; its monotonic clock is the machine's. nil is the machine's own.
type clock struct{ file string }

// newClock makes a clock that is right.
func newClock(file string) (*clock, error) {
	return &clock{file}, os.WriteFile(file, make([]byte, 8), 0o600)
}

// set makes the clock wrong, from this moment on. The process may read at any time, so the file is never shorter than a number.
func (c *clock) set(wrong time.Duration) error {
	f, err := os.OpenFile(c.file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.WriteAt(endian.LittleEndian.AppendUint64(nil, uint64(int64(wrong/time.Second))), 0)
	return err
}

// program is what a process with this clock runs, and the file that it reads its clock from.
func (c *clock) program() (path string, files []*os.File, err error) {
	if c == nil {
		return binary, nil, nil
	}
	if path, err = clockedProgram(); err != nil {
		return "", nil, err
	}
	f, err := os.Open(c.file)
	return path, []*os.File{f}, err
}

// clocksCanBeSet: readWrong is for this processor only.
const clocksCanBeSet = runtime.GOARCH == "amd64"

// readWrong is put into the runtime's time.now, where it has read both clocks: it adds to the wall clock's seconds, at 16(SP), what stands
// in the file that the process was started with as its third. pread64 is system call 17.
const readWrong = `
	SUBQ	$16, SP
	MOVL	$17, AX
	MOVL	$3, DI
	LEAQ	0(SP), SI
	MOVL	$8, DX
	MOVL	$0, R10
	SYSCALL
	MOVQ	0(SP), CX
	ADDQ	$16, SP
	CMPQ	AX, $8
	JNE	right
	ADDQ	CX, 16(SP)
right:
`

// clockedProgram is the same program with a wall clock that can be set. Go asks the kernel for the time by itself, so nothing can come in
// between from outside, and to compile everything against another package time or runtime takes a minute of two processors. So only the
// assembler's part of package runtime changes, by an overlay over the toolchain's source, and the program is linked to it from the
// objects that the build cache has: nothing that was compiled can tell the difference.
var clockedProgram = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "comporta-clock-")
	if err != nil {
		return "", err
	}
	made.clocked = dir
	overlay, err := overlayNow(dir)
	if err != nil {
		return "", err
	}
	archive, err := goTool("list", "-export", "-f", "{{.Export}}", "-overlay", overlay, "runtime")
	if err != nil {
		return "", err
	}
	linker := filepath.Join(dir, "linker")
	if err := os.WriteFile(linker, fmt.Appendf(nil, exchangeRuntime, archive), 0o700); err != nil {
		return "", err
	}
	path := filepath.Join(dir, "comporta")
	_, err = goTool("build", "-buildvcs=false", "-toolexec", linker, "-o", path, "comporta/cmd/comporta")
	return path, err
})

// exchangeRuntime runs a tool of the toolchain; the linker finds another package runtime in its list.
const exchangeRuntime = `#!/bin/sh
for argument; do
  case $argument in
  */importcfg.link) sed -i 's|^packagefile runtime=.*|packagefile runtime=%s|' "$argument" || exit ;;
  esac
done
exec "$@"
`

// overlayNow makes the overlay with another time.now.
func overlayNow(dir string) (file string, err error) {
	root, err := goTool("env", "GOROOT")
	if err != nil {
		return "", err
	}
	original, changed := filepath.Join(root, "src/runtime/time_linux_amd64.s"), filepath.Join(dir, "now.s")
	text, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	const haveRead = "\nret:\n\tMOVQ\t16(SP), AX\t// realtime sec\n"
	before, after, found := strings.Cut(string(text), haveRead)
	if !found {
		return "", fmt.Errorf("%s of this toolchain is another than readWrong was made for", original)
	}
	text = []byte(before + "\nret:" + readWrong + strings.TrimPrefix(haveRead, "\nret:\n") + after)
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, all(func() error { return os.WriteFile(changed, text, 0o600) }, func() error { return os.WriteFile(file, list, 0o600) })
}

// goTool runs go, with the race detector if this test has it: then the build cache holds what the program was made of.
func goTool(verb string, args ...string) (string, error) {
	if raceEnabled && verb != "env" {
		args = append([]string{"-race"}, args...)
	}
	var words strings.Builder
	cmd := exec.Command("go", append([]string{verb}, args...)...)
	cmd.Stderr = &words
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w: %s", verb, err, words.String())
	}
	return strings.TrimSpace(string(out)), nil
}

// clockOfMember sets the first member's clock.
func clockOfMember(wrong time.Duration) step {
	return func(w *world, _ *traffic) error { return w.members[0].clock.set(wrong) }
}

// startsWrong starts the first member again with a clock that is wrong, and makes sure that it is.
func startsWrong(wrong time.Duration) step {
	return do(clockOfMember(wrong), startAgain, func(w *world, _ *traffic) error {
		p := w.members[0].process
		says, err := p.expect(`(?m)^time=(\S+)`)
		if err != nil {
			return err
		}
		at, err := time.Parse(time.RFC3339Nano, says)
		if err != nil {
			return err
		}
		return isWrong(at.Sub(p.started), wrong)
	})
}

// clockOfService sets the service's clock and makes sure that the service goes by it.
func clockOfService(wrong time.Duration) step {
	return func(w *world, _ *traffic) error {
		if err := w.clock.set(wrong); err != nil {
			return err
		}
		resp, err := w.client.Get(w.url + "/healthz")
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		at, err := http.ParseTime(resp.Header.Get("Date"))
		if err != nil {
			return err
		}
		return isWrong(time.Until(at), wrong)
	}
}

// isWrong allows for a machine that is busy with other things.
func isWrong(found, wanted time.Duration) error {
	if off := found - wanted; off.Abs() > fiveMinutes/2 {
		return fmt.Errorf("the clock is wrong by %v and should be by %v", found, wanted)
	}
	return nil
}

// serviceStepsBack sets the service's clock back. A token that was issued just before is good afterwards, and so are the tokens with which
// the member comes back that is lost meanwhile.
func serviceStepsBack(w *world, t *traffic) error {
	token, err := w.issue()
	if err != nil {
		return err
	}
	if err := clockOfService(-fiveMinutes)(w, t); err != nil {
		return err
	}
	w.use(token)
	return do(kill, noticedLost, startAgain)(w, t)
}

// anotherToken takes a new token, by whatever clock the service has then.
func anotherToken(w *world, _ *traffic) error { return w.login() }
