package recovery

import (
	"crypto/sha256"
	"crypto/subtle"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"

	"comporta/service/gateway"
)

// MinKeyLength is the least number of characters of a recovery key, MaxKeyBytes the largest number of bytes.
const (
	MinKeyLength = 8
	MaxKeyBytes  = 1024
)

const (
	saltLength      = 16
	secretLength    = 32
	maxSaltLength   = 64
	maxTime         = 16
	maxMemory       = 256 << 10 // KiB, so 256 MiB
	maxThreads      = 16
	memoryPerThread = 8 // KiB, Argon2's own least
)

// Cost says how much work one try of a recovery key is.
type Cost struct {
	// Time is the number of passes, 1–16. Memory is in KiB, at least 8 for each thread, 256 MiB at most. Threads are 1–16.
	Time, Memory uint32
	Threads      uint8
}

// DefaultCost is what every cluster gets: 64 MiB and three passes over four threads, the second recommended setting of RFC 9106.
func DefaultCost() Cost { return Cost{Time: 3, Memory: 64 << 10, Threads: 4} }

// validate keeps parameters that came from elsewhere from eating the machine. It sets no least strength: whoever could weaken the
// parameters of an existing key would only make it derive another secret.
func (c Cost) validate() error {
	switch {
	case c.Time < 1 || c.Time > maxTime:
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key's cost has %d passes; it must be between 1 and %d.", c.Time, maxTime)
	case c.Threads < 1 || c.Threads > maxThreads:
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key's cost has %d threads; it must be between 1 and %d.", c.Threads, maxThreads)
	case c.Memory < memoryPerThread*uint32(c.Threads) || c.Memory > maxMemory:
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key's cost has %d KiB of memory; it must be between %d and %d.",
			c.Memory, memoryPerThread*uint32(c.Threads), maxMemory)
	}
	return nil
}

// ValidateKey returns a CodeInvalid error that says what is wrong with a recovery key as a text, without quoting it.
func ValidateKey(recoveryKey []byte) error {
	switch {
	case len(recoveryKey) > MaxKeyBytes:
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key is too long; %d bytes is the most.", MaxKeyBytes)
	case !utf8.Valid(recoveryKey):
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key is not valid UTF-8.")
	case utf8.RuneCount(recoveryKey) < MinKeyLength:
		return gateway.Errorf(gateway.CodeInvalid, "The recovery key is too short; it needs at least %d characters.", MinKeyLength)
	}
	return nil
}

// Secrets are what a recovery key yields with one cluster's salt and parameters. They never print themselves.
type Secrets struct {
	// Sealing opens the private key; Verifier proves knowledge of the recovery key. 32 bytes each.
	Sealing, Verifier []byte
}

// Wipe overwrites the secrets.
func (s Secrets) Wipe() {
	clear(s.Sealing)
	clear(s.Verifier)
}

// String hides the secrets.
func (Secrets) String() string { return "[recovery secrets]" }

// GoString hides the secrets.
func (Secrets) GoString() string { return "[recovery secrets]" }

// Derive makes the secrets of a recovery key with key's salt and parameters; a member may send the verifier in place of the recovery
// key. It takes as long as the parameters say and answers CodeInvalid for a recovery key that can be none and for parameters out of
// bounds, before doing any work.
func Derive(recoveryKey []byte, key gateway.ClusterKey) (Secrets, error) {
	if err := ValidateKey(recoveryKey); err != nil {
		return Secrets{}, err
	}
	cost := Cost{Time: key.Time, Memory: key.Memory, Threads: key.Threads}
	if err := cost.validate(); err != nil {
		return Secrets{}, err
	}
	if len(key.Salt) < saltLength || len(key.Salt) > maxSaltLength {
		return Secrets{}, gateway.Errorf(gateway.CodeInvalid, "The recovery key's salt must have %d to %d bytes.", saltLength, maxSaltLength)
	}
	both := argon2.IDKey(recoveryKey, key.Salt, cost.Time, cost.Memory, cost.Threads, 2*secretLength)
	return Secrets{Sealing: both[:secretLength:secretLength], Verifier: both[secretLength:]}, nil
}

// CheckVerifier reports whether verifier is the one of the cluster's recovery key, in constant time.
func CheckVerifier(key gateway.ClusterKey, verifier []byte) bool {
	hash := sha256.Sum256(verifier)
	return len(verifier) == secretLength && subtle.ConstantTimeCompare(hash[:], key.VerifierHash) == 1
}

// Decoy is a cluster's key that no recovery key opens. To try one on it costs what it costs with a real key.
func Decoy(cost Cost) gateway.ClusterKey {
	return gateway.ClusterKey{Salt: make([]byte, saltLength), Time: cost.Time, Memory: cost.Memory, Threads: cost.Threads}
}

// CheckKey reports whether this is the cluster's recovery key. It costs as much as Derive.
func CheckKey(recoveryKey []byte, key gateway.ClusterKey) bool {
	secrets, err := Derive(recoveryKey, key)
	if err != nil {
		return false
	}
	defer secrets.Wipe()
	return CheckVerifier(key, secrets.Verifier)
}
