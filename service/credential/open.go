package credential

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"hash"
	"slices"

	"comporta/service/gateway"
)

// segmented is one way in which forms 0 and 1 cut the text: every segment but the last has this length.
type segmented struct {
	length int
	hash   func() hash.Hash
}

// segmentings are the ways for a modulus of k bytes, in the order in which to try them.
func segmentings(k int) []segmented {
	old := segmented{k - 2 - 2*sha1.Size, sha1.New}
	if k != smallModulus {
		return []segmented{old}
	}
	return []segmented{{85, sha1.New}, old, {60, sha256.New}}
}

// Open opens an envelope of any form. Whatever is wrong with it, the error is the same CodeDataSourceCredentials, so that nobody can
// learn anything from trying; its cause says only whether the form or the contents were at fault.
func Open(private *rsa.PrivateKey, envelope string) (gateway.Credentials, error) {
	taken, err := takeApart(private.Size(), envelope)
	if err != nil {
		return nil, unopened(err)
	}
	text, ok := taken.open(private)
	if !ok {
		return nil, unopened(errors.New("the envelope cannot be decrypted"))
	}
	defer clear(text)
	pairs, err := Parse(text)
	if err != nil {
		return nil, unopened(errors.New("the envelope holds no credentials"))
	}
	return pairs.Credentials(), nil
}

func unopened(cause error) error {
	return gateway.Wrap(gateway.CodeDataSourceCredentials, cause,
		"The credentials stored for the data source cannot be opened. Update them, encrypted with the cluster's public key.")
}

func (p parts) open(private *rsa.PrivateKey) ([]byte, bool) {
	if p.record != nil {
		return p.openHybrid(private)
	}
	for _, way := range segmentings(private.Size()) {
		if text, ok := way.open(private, p.blocks); ok {
			return text, true
		}
	}
	return nil, false
}

// open decrypts block by block. It gives up at the first one that is not of this way.
func (s segmented) open(private *rsa.PrivateKey, blocks []byte) ([]byte, bool) {
	var text []byte
	for block := range slices.Chunk(blocks, private.Size()) {
		segment, err := rsa.DecryptOAEP(s.hash(), nil, private, block, nil)
		if err != nil || len(text)%s.length != 0 || len(segment) == 0 || len(segment) > s.length {
			return nil, false
		}
		text = append(text, segment...)
		clear(segment)
	}
	return text, true
}

func (p parts) openHybrid(private *rsa.PrivateKey) ([]byte, bool) {
	keys, err := rsa.DecryptOAEP(sha256.New(), nil, private, p.blocks, nil)
	if err != nil {
		return nil, false
	}
	defer clear(keys)
	if len(keys) != keyBlockLength || keys[0] != codeLength32 || keys[1] != codeLength64 {
		return nil, false
	}
	return p.record.open(keys[2:2+cipherKey], keys[2+cipherKey:])
}

// open checks the tag before it decrypts anything, so that the padding tells nobody anything.
func (r record) open(encryption, authentication []byte) ([]byte, bool) {
	newHash := r.mac()
	if newHash == nil {
		return nil, false
	}
	mac := hmac.New(newHash, authentication)
	tag, rest := r[idLength:idLength+mac.Size()], r[idLength+mac.Size():]
	mac.Write(r[:idLength])
	mac.Write(rest)
	if !hmac.Equal(mac.Sum(nil), tag) {
		return nil, false
	}
	block, err := aes.NewCipher(encryption)
	if err != nil {
		return nil, false
	}
	text := bytes.Clone(rest[ivLength:])
	cipher.NewCBCDecrypter(block, rest[:ivLength]).CryptBlocks(text, text)
	return unpad(text)
}

// unpad takes PKCS #7 padding off.
func unpad(text []byte) ([]byte, bool) {
	n := int(text[len(text)-1])
	if n < 1 || n > aes.BlockSize {
		return nil, false
	}
	padding := bytes.Repeat([]byte{byte(n)}, n)
	if subtle.ConstantTimeCompare(text[len(text)-n:], padding) != 1 {
		return nil, false
	}
	return text[:len(text)-n], true
}
