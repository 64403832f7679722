package recovery

import (
	"crypto/cipher"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/binary"
	"io"
	"math/big"

	"golang.org/x/crypto/chacha20poly1305"

	"comporta/service/gateway"
)

// DefaultBits is the size of a new cluster's RSA key.
const DefaultBits = 2048

const (
	// formatXChaCha is the first byte of a sealed key: format 1, then a 24-byte nonce, then XChaCha20-Poly1305 over PKCS #8.
	formatXChaCha = 1
	// maxSealed bounds a sealed key; one of 4096 bits takes under 2,500 bytes.
	maxSealed = 8 << 10
)

// New makes a cluster's key pair, seals the private half under the recovery key and forgets it. bits is 2048, 3072 or 4096; 0 means
// DefaultBits. It answers CodeInvalid for a recovery key that is too short or too long, and for another size or a cost out of bounds.
//
// random yields salt and nonce. The RSA key itself always comes from the system's secure source: the standard library takes no other.
func New(recoveryKey []byte, random io.Reader, cost Cost, bits int) (gateway.ClusterKey, error) {
	if bits == 0 {
		bits = DefaultBits
	}
	if bits != 2048 && bits != 3072 && bits != 4096 {
		return gateway.ClusterKey{}, gateway.Errorf(gateway.CodeInvalid, "A cluster's key has 2048, 3072 or 4096 bits, not %d.", bits)
	}
	if err := ValidateKey(recoveryKey); err != nil {
		return gateway.ClusterKey{}, err
	}
	private, err := rsa.GenerateKey(random, bits)
	if err != nil {
		return gateway.ClusterKey{}, gateway.AsError(err)
	}
	defer wipeKey(private)
	return Seal(recoveryKey, private, random, cost)
}

// Seal seals a private key under a recovery key, with a fresh salt and nonce from random. Errors as New.
func Seal(recoveryKey []byte, private *rsa.PrivateKey, random io.Reader, cost Cost) (gateway.ClusterKey, error) {
	key := gateway.ClusterKey{
		Modulus:  private.N.Bytes(),
		Exponent: big.NewInt(int64(private.E)).Bytes(),
		Salt:     make([]byte, saltLength),
		Time:     cost.Time, Memory: cost.Memory, Threads: cost.Threads,
	}
	if _, err := io.ReadFull(random, key.Salt); err != nil {
		return gateway.ClusterKey{}, gateway.AsError(err)
	}
	secrets, err := Derive(recoveryKey, key)
	if err != nil {
		return gateway.ClusterKey{}, err
	}
	defer secrets.Wipe()
	hash := sha256.Sum256(secrets.Verifier)
	key.VerifierHash = hash[:]
	if key.Sealed, err = encrypt(secrets.Sealing, private, random, publicData(key)); err != nil {
		return gateway.ClusterKey{}, gateway.AsError(err)
	}
	return key, nil
}

func encrypt(sealing []byte, private *rsa.PrivateKey, random io.Reader, public []byte) ([]byte, error) {
	plain, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	defer clear(plain)
	aead, err := chacha20poly1305.NewX(sealing)
	if err != nil {
		return nil, err
	}
	head := make([]byte, 1+chacha20poly1305.NonceSizeX, 1+chacha20poly1305.NonceSizeX+len(plain)+aead.Overhead())
	head[0] = formatXChaCha
	if _, err := io.ReadFull(random, head[1:]); err != nil {
		return nil, err
	}
	return aead.Seal(head, head[1:], plain, public), nil
}

// publicData ties a sealed private key to its public key: the format, then modulus and exponent, each behind its length.
func publicData(key gateway.ClusterKey) []byte {
	data := []byte("comporta cluster key 1")
	for _, part := range [][]byte{key.Modulus, key.Exponent} {
		data = binary.BigEndian.AppendUint32(data, uint32(len(part)))
		data = append(data, part...)
	}
	return data
}

// Open unseals the private key. It answers CodeInvalid for a recovery key that can be none and for parameters out of bounds,
// CodeRecoveryKeyWrong for a wrong recovery key, and CodeInternal when the recovery key is right but the sealed key is damaged or
// belongs to another public key.
func Open(recoveryKey []byte, key gateway.ClusterKey) (*rsa.PrivateKey, error) {
	secrets, err := Derive(recoveryKey, key)
	if err != nil {
		return nil, err
	}
	defer secrets.Wipe()
	if !CheckVerifier(key, secrets.Verifier) {
		return nil, gateway.Errorf(gateway.CodeRecoveryKeyWrong, "The recovery key is wrong.")
	}
	return secrets.Open(key)
}

// Open unseals the private key with secrets that were derived before, for who has shown the verifier to the service and it was right. It
// answers CodeInternal for whatever it cannot open.
func (s Secrets) Open(key gateway.ClusterKey) (*rsa.PrivateKey, error) {
	private := decrypt(s.Sealing, key)
	if private == nil {
		return nil, gateway.Errorf(gateway.CodeInternal, "The recovery key is right, but the cluster's sealed key is damaged.")
	}
	return private, nil
}

// decrypt returns nil when anything at all is wrong.
func decrypt(sealing []byte, key gateway.ClusterKey) *rsa.PrivateKey {
	aead, err := chacha20poly1305.NewX(sealing)
	if err != nil || !wellFormed(key.Sealed, aead) {
		return nil
	}
	nonce, box := key.Sealed[1:1+chacha20poly1305.NonceSizeX], key.Sealed[1+chacha20poly1305.NonceSizeX:]
	plain, err := aead.Open(nil, nonce, box, publicData(key))
	if err != nil {
		return nil
	}
	defer clear(plain)
	parsed, err := x509.ParsePKCS8PrivateKey(plain)
	private, isRSA := parsed.(*rsa.PrivateKey)
	if err != nil || !isRSA || !matches(private, key) {
		return nil
	}
	return private
}

func wellFormed(sealed []byte, aead cipher.AEAD) bool {
	return len(sealed) > 1+chacha20poly1305.NonceSizeX+aead.Overhead() && len(sealed) <= maxSealed && sealed[0] == formatXChaCha
}

// matches reports whether the private key belongs to the public one. The parser has checked that its own parts fit together.
func matches(private *rsa.PrivateKey, key gateway.ClusterKey) bool {
	return private.N.Cmp(new(big.Int).SetBytes(key.Modulus)) == 0 &&
		big.NewInt(int64(private.E)).Cmp(new(big.Int).SetBytes(key.Exponent)) == 0
}

// Reseal seals the same private key under another recovery key: the public key stays, so that envelopes made with it stay good. Errors
// as Open for the old recovery key and as Seal for the new one, which is checked first.
func Reseal(oldKey, newKey []byte, key gateway.ClusterKey, random io.Reader, cost Cost) (gateway.ClusterKey, error) {
	if err := ValidateKey(newKey); err != nil {
		return gateway.ClusterKey{}, err
	}
	private, err := Open(oldKey, key)
	if err != nil {
		return gateway.ClusterKey{}, err
	}
	defer wipeKey(private)
	return Seal(newKey, private, random, cost)
}

// wipeKey overwrites the numbers that make a private key private, as far as they can be reached.
func wipeKey(private *rsa.PrivateKey) {
	secret := append([]*big.Int{private.D, private.Precomputed.Dp, private.Precomputed.Dq, private.Precomputed.Qinv}, private.Primes...)
	for _, n := range secret {
		if n != nil {
			clear(n.Bits())
		}
	}
}
