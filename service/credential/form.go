package credential

import (
	"crypto/aes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"strings"

	"comporta/service/gateway"
)

// MaxEnvelope is the longest envelope taken, in bytes of text. OAuth2 tokens, which are the longest of credentials, take a quarter of it; the
// service holds the envelopes of all data sources in memory.
const MaxEnvelope = 16 << 10

const (
	smallModulus = 128  // bytes; the only size of form 1
	leastHybrid  = 164  // bytes; a smaller modulus cannot hold the key block of form 2
	maxModulus   = 1024 // bytes
)

// Identifiers and lengths of form 2, as the reference lays them out.
const (
	cipherAES256CBC = 0
	idLength        = 2
	ivLength        = aes.BlockSize
)

// macs are the MACs of form 2 by their identifier.
var macs = [...]func() hash.Hash{sha256.New, sha512.New384, sha512.New}

// parts are an envelope taken apart: form 2 has one block and a record, forms 0 and 1 have blocks alone.
type parts struct {
	// blocks are RSA blocks of k bytes each, one after the other.
	blocks []byte
	record record
}

// record is the second half of form 2: identifiers, tag, IV and ciphertext.
type record []byte

// mac returns the MAC that the record names, or nil when identifiers or lengths are not those of a record.
func (r record) mac() func() hash.Hash {
	if len(r) < idLength || r[0] != cipherAES256CBC || int(r[1]) >= len(macs) {
		return nil
	}
	mac := macs[r[1]]
	ciphertext := len(r) - idLength - mac().Size() - ivLength
	if ciphertext < aes.BlockSize || ciphertext%aes.BlockSize != 0 {
		return nil
	}
	return mac
}

// decode is strict base64: standard alphabet, padded, no line breaks, no stray bits. One text stands for one sequence of bytes.
func decode(text string) ([]byte, bool) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, false
	}
	raw, err := base64.StdEncoding.Strict().DecodeString(text)
	return raw, err == nil
}

// takeApart finds the form of an envelope for a modulus of k bytes. Its error says what is wrong and quotes nothing.
func takeApart(k int, envelope string) (parts, error) {
	switch {
	case k < smallModulus || k > maxModulus:
		return parts{}, malformed("a key of %d bits is not supported", 8*k)
	case envelope == "":
		return parts{}, malformed("the envelope is empty")
	case len(envelope) > MaxEnvelope:
		return parts{}, malformed("the envelope is longer than %d bytes", MaxEnvelope)
	}
	if hybrid, ok := asHybrid(k, envelope); ok {
		return hybrid, nil
	}
	blocks, ok := decode(envelope)
	if ok && len(blocks) > 0 && len(blocks)%k == 0 {
		return parts{blocks: blocks}, nil
	}
	return parts{}, explain(k, envelope, ok, len(blocks))
}

func asHybrid(k int, envelope string) (parts, bool) {
	border := base64.StdEncoding.EncodedLen(k)
	if k < leastHybrid || len(envelope) <= border {
		return parts{}, false
	}
	block, ok1 := decode(envelope[:border])
	rest, ok2 := decode(envelope[border:])
	if !ok1 || !ok2 || len(block) != k || record(rest).mac() == nil {
		return parts{}, false
	}
	return parts{blocks: block, record: rest}, true
}

// explain says why an envelope has no form that fits the key.
func explain(k int, envelope string, isBase64 bool, length int) error {
	if k < leastHybrid {
		if !isBase64 {
			return malformed("a %d-bit key demands one standard base64 text without line breaks, and this is none", 8*k)
		}
		return malformed("a %d-bit key demands blocks of %d bytes, and the envelope has %d bytes", 8*k, k, length)
	}
	border := base64.StdEncoding.EncodedLen(k)
	if len(envelope) <= border {
		return malformed("a %d-bit key demands %d characters of base64 for the RSA block and more for the AES record behind it, and the "+
			"envelope has %d characters", 8*k, border, len(envelope))
	}
	if block, ok := decode(envelope[:border]); !ok || len(block) != k {
		return malformed("a %d-bit key demands that the first %d characters are the base64 of one RSA block of %d bytes, and they are not; "+
			"was it made with a key of another size?", 8*k, border, k)
	}
	return malformed("the part behind the RSA block (from character %d on) is not the base64 of an AES-256-CBC and HMAC record", border+1)
}

func malformed(format string, args ...any) *gateway.Error {
	return gateway.Errorf(gateway.CodeCredentialFormat, "The encrypted credentials have the wrong form: "+format+".", args...)
}

// CheckForm reports whether an envelope has the form that a modulus of so many bytes demands: form 1 for 128, form 2 or the old form 0
// for more. It is what the service can see without a private key. The error is CodeCredentialFormat and says what is wrong.
func CheckForm(modulusBytes int, envelope string) error {
	_, err := takeApart(modulusBytes, envelope)
	return err
}
