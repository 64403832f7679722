package member

import (
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
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

// State is what makes a machine a member: who it is, its own key, and the cluster's private key that opens credentials.
type State struct {
	Server      string     `json:"server"`
	ClusterID   gateway.ID `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    gateway.ID `json:"memberId"`
	MemberName  string     `json:"memberName"`

	Key        ed25519.PrivateKey `json:"-"`
	ClusterKey *rsa.PrivateKey    `json:"-"`
}

// Exists reports whether the folder holds a state.
func Exists(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, memberFile))
	return err == nil
}

// Save writes the state to its folder. The keys go first and member.json last, so that a folder with a member.json is complete.
func (s *State) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("the state folder cannot be made: %w", err)
	}
	own, err := encodeKey(s.Key)
	if err != nil {
		return err
	}
	cluster, err := encodeKey(s.ClusterKey)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{{memberKeyFile, own}, {clusterFile, cluster}, {memberFile, append(text, '\n')}} {
		if err := writeFile(dir, f.name, f.text); err != nil {
			return fmt.Errorf("write the state folder: %w", err)
		}
	}
	return nil
}

func encodeKey(key any) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), nil
}

// writeFile replaces a file as a whole: after a power cut it is the old one or the new one.
func writeFile(dir, name string, text []byte) error {
	f, err := os.CreateTemp(dir, "."+name+"-*") // made with 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(text)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), filepath.Join(dir, name)); err != nil {
		return err
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// Load reads a state folder.
func Load(dir string) (*State, error) {
	text, err := readFile(dir, memberFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no member in %s; run `comporta member join --state %s …` first", dir, dir)
	}
	if err != nil {
		return nil, err
	}
	s := &State{}
	if err := json.Unmarshal(text, s); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w; join again with --overwrite", filepath.Join(dir, memberFile), err)
	}
	if s.Key, err = readKey[ed25519.PrivateKey](dir, memberKeyFile); err != nil {
		return nil, err
	}
	s.ClusterKey, err = readKey[*rsa.PrivateKey](dir, clusterFile)
	return s, err
}

// readFile refuses files that others may read: a key that was readable must be taken as known.
func readFile(dir, name string) ([]byte, error) {
	path := filepath.Join(dir, name)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the state folder: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s may be read by others (mode %04o); make it yours alone with `chmod 600 %s`, and join again if somebody may have read it", path, info.Mode().Perm(), path)
	}
	return os.ReadFile(path)
}

func readKey[K any](dir, name string) (key K, err error) {
	text, err := readFile(dir, name)
	if err != nil {
		return key, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return key, fmt.Errorf("%s is damaged; join again with --overwrite", filepath.Join(dir, name))
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	key, ok := parsed.(K)
	if err != nil || !ok {
		return key, fmt.Errorf("%s does not hold the right kind of key; join again with --overwrite", filepath.Join(dir, name))
	}
	return key, nil
}
