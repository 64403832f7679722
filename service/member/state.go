package member

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"comporta/service/gateway"
)

// The files of a state folder. All are readable by their owner only.
const (
	memberFile    = "member.json"
	memberKeyFile = "member-key.pem"
	clusterFile   = "cluster-key.pem"
)

// maxStateFile bounds each file, in bytes.
const maxStateFile = 64 << 10

// State is what makes a machine a member: who it is, its own key, and the cluster's private key that opens credentials.
type State struct {
	Server      string     `json:"server"`
	ClusterID   gateway.ID `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    gateway.ID `json:"memberId"`
	MemberName  string     `json:"memberName"`
	// CAFile names the certificate authorities that the join trusted besides the system's; "" for none.
	CAFile string `json:"caFile,omitempty"`

	Key        ed25519.PrivateKey `json:"-"`
	ClusterKey *rsa.PrivateKey    `json:"-"`
}

// Exists reports whether the folder holds a state. A folder that this user may not look into is an error: to take it for an empty one
// would make a second member of the machine.
func Exists(dir string) (bool, error) {
	switch _, err := os.Stat(filepath.Join(dir, memberFile)); {
	case err == nil:
		return true, nil
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	default:
		return false, fmt.Errorf("the state folder cannot be read: %w; run this as the user who joined the member", err)
	}
}

// Save writes the state to its folder, which is made for its owner alone if it is not there. What is in the folder is replaced. All
// files are written before the first one takes its place and member.json comes last, so that a folder with a member.json is complete
// and of one piece, whenever the power goes.
func (s *State) Save(dir string) error {
	files, err := s.encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the state folder cannot be made: %w", err)
	}
	if err := replaceFiles(dir, files); err != nil {
		return fmt.Errorf("write the state folder: %w", err)
	}
	return nil
}

// stateFile is one file of the folder.
type stateFile struct {
	name string
	text []byte
}

// encode makes the files, member.json last.
func (s *State) encode() ([]stateFile, error) {
	own, err := encodeKey(s.Key)
	if err != nil {
		return nil, err
	}
	cluster, err := encodeKey(s.ClusterKey)
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the state: %w", err)
	}
	return []stateFile{{memberKeyFile, own}, {clusterFile, cluster}, {memberFile, append(text, '\n')}}, nil
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// replaceFiles replaces the files. The old member.json goes first: old and new keys side by side are then no member at all.
func replaceFiles(dir string, files []stateFile) error {
	staged := make([]string, len(files))
	for i, f := range files {
		path, err := stage(dir, f)
		if err != nil {
			return err
		}
		defer os.Remove(path) // is gone already when all went well
		staged[i] = path
	}
	if err := os.Remove(filepath.Join(dir, memberFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := syncFolder(dir); err != nil {
		return err
	}
	for i, f := range files {
		if err := os.Rename(staged[i], filepath.Join(dir, f.name)); err != nil {
			return err
		}
	}
	return syncFolder(dir)
}

// stage writes a file's text beside its place, down to the disk.
func stage(dir string, file stateFile) (string, error) {
	f, err := os.CreateTemp(dir, "."+file.name+"-*") // made with 0600
	if err != nil {
		return "", err
	}
	_, err = f.Write(file.text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// reserve makes the state folder, claims it and sees that it can be written, so that nothing is asked of the service in vain. release gives
// the claim up, and takes a folder away that was not there before and holds nothing.
func reserve(dir string) (release func(), err error) {
	_, missing := os.Stat(dir)
	unclaim, err := makeAndClaim(dir)
	if err != nil {
		return nil, err
	}
	release = func() {
		// The lock file goes while it is locked: without the lock it may be another's by now.
		if held, err := Exists(dir); err == nil && !held && errors.Is(missing, fs.ErrNotExist) {
			_ = os.Remove(filepath.Join(dir, lockFile))
			_ = os.Remove(dir) // keeps a folder that holds something
		}
		_ = unclaim() // the process's end does it too
	}
	path, err := stage(dir, stateFile{name: "try"})
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("the state folder cannot be written: %w", err)
	}
	return release, nil
}

// makeAndClaim makes the folder and claims it, once more when another join takes it away in between.
func makeAndClaim(dir string) (unclaim func() error, err error) {
	for range claimTries {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("the state folder cannot be made: %w", err)
		}
		if unclaim, err = Claim(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return unclaim, err
}

// Load reads a state folder. What is wrong with one that cannot be used, the error says, and what to do.
func Load(dir string) (*State, error) {
	held, err := Exists(dir)
	if err != nil {
		return nil, err
	}
	if !held {
		return nil, fmt.Errorf("there is no member in %s; run `comporta member join --state %s …` first", dir, dir)
	}
	text, err := readFile(dir, memberFile)
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, damaged(dir, memberFile, err.Error())
	}
	if err := s.check(); err != nil {
		return nil, damaged(dir, memberFile, err.Error())
	}
	if s.Key, err = readKey[ed25519.PrivateKey](dir, memberKeyFile); err != nil {
		return nil, err
	}
	s.ClusterKey, err = readKey[*rsa.PrivateKey](dir, clusterFile)
	return s, err
}

// check sees that the state says who the member is, and brings the ids into their canonical form.
func (s *State) check() error {
	for _, id := range []*gateway.ID{&s.ClusterID, &s.MemberID} {
		parsed, ok := gateway.ParseID(string(*id))
		if !ok {
			return errors.New("an id is missing or malformed")
		}
		*id = parsed
	}
	_, err := parseServer(s.Server)
	return err
}

func damaged(dir, name, why string) error {
	return fmt.Errorf("%s is damaged (%s); join again with --overwrite", filepath.Join(dir, name), why)
}

// readFile refuses files that others may read: a key that was readable must be taken as known.
func readFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is missing; join again with --overwrite", path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the state folder: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("read the state folder: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others (mode %04o); make it yours alone with `chmod 600 %s`, and join again if somebody may have read it", path, info.Mode().Perm(), path)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxStateFile+1))
	if err != nil {
		return nil, fmt.Errorf("read the state folder: %w", err)
	}
	if len(text) > maxStateFile {
		return nil, damaged(dir, name, "too large")
	}
	return text, nil
}

func readKey[K any](dir, name string) (key K, err error) {
	text, err := readFile(dir, name)
	if err != nil {
		return key, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return key, damaged(dir, name, "no PEM block")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(K)
	if err != nil || !ok {
		return key, damaged(dir, name, "not the right kind of key")
	}
	return key, nil
}
