package credential

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"math/big"

	"comporta/service/gateway"
)

// The key block of form 2: two length codes (0 is 32 bytes, 1 is 64) and the two keys.
const (
	codeLength32   = 0
	codeLength64   = 1
	cipherKey      = 32
	macKey         = 64
	keyBlockLength = 2 + cipherKey + macKey
)

// Public is a cluster's public key as clients get it: big-endian unsigned bytes, the exponent mostly 01 00 01.
type Public struct{ Modulus, Exponent []byte }

// key checks the public key as far as that can be done without knowing where it came from.
func (p Public) key() (*rsa.PublicKey, error) {
	n, e := new(big.Int).SetBytes(p.Modulus), new(big.Int).SetBytes(p.Exponent)
	if len(p.Modulus) > maxModulus || n.BitLen() < 2048 || n.Bit(0) == 0 {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The public key must have an odd modulus of 2048 to %d bits.", 8*maxModulus)
	}
	if !e.IsInt64() || e.Int64() < 3 || e.Int64() > 1<<31-1 || e.Bit(0) == 0 {
		return nil, gateway.Errorf(gateway.CodeInvalid, "The public key's exponent must be an odd number from 3 to 2147483647.")
	}
	return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
}

// Seal makes an envelope of form 2 with fresh keys and IV from random. It answers CodeInvalid for a key under 2048 bits, for text that
// is not UTF-8 and for credentials that make an envelope longer than MaxEnvelope.
func Seal(pub Public, credentials Pairs, random io.Reader) (string, error) {
	key, err := pub.key()
	if err != nil {
		return "", err
	}
	text, err := credentials.plaintext()
	if err != nil {
		return "", err
	}
	defer clear(text)
	envelope, err := hybrid(key, text, random)
	if err != nil {
		return "", gateway.AsError(err)
	}
	if len(envelope) > MaxEnvelope {
		return "", gateway.Errorf(gateway.CodeInvalid, "The credentials are too long.")
	}
	return envelope, nil
}

func hybrid(key *rsa.PublicKey, text []byte, random io.Reader) (string, error) {
	keys := make([]byte, keyBlockLength)
	defer clear(keys)
	keys[0], keys[1] = codeLength32, codeLength64
	if _, err := io.ReadFull(random, keys[2:]); err != nil {
		return "", err
	}
	block, err := rsa.EncryptOAEP(sha256.New(), random, key, keys, nil)
	if err != nil {
		return "", err
	}
	rec, err := newRecord(keys[2:2+cipherKey], keys[2+cipherKey:], text, random)
	if err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(block) + base64.StdEncoding.EncodeToString(rec), nil
}

// newRecord encrypts, then authenticates identifiers, IV and ciphertext with HMAC-SHA256.
func newRecord(encryption, authentication, text []byte, random io.Reader) (record, error) {
	cipherBlock, err := aes.NewCipher(encryption)
	if err != nil {
		return nil, err
	}
	iv := make([]byte, ivLength)
	if _, err := io.ReadFull(random, iv); err != nil {
		return nil, err
	}
	pad := aes.BlockSize - len(text)%aes.BlockSize
	body := append(bytes.Clone(text), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(cipherBlock, iv).CryptBlocks(body, body)

	rec := make(record, idLength, idLength+sha256.Size+ivLength+len(body)) // identifiers: both 0
	mac := hmac.New(sha256.New, authentication)
	for _, part := range [][]byte{rec, iv, body} {
		mac.Write(part)
	}
	rec = mac.Sum(rec)
	return append(append(rec, iv...), body...), nil
}
