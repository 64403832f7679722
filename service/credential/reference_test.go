package credential_test

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"hash"
	"math/big"
	"strings"
	"sync"
	"testing"

	"comporta/service/credential"
)

// What stands here is a second implementation of the clients' side, written from the layouts alone. It shares nothing with Seal.

var (
	keysLock sync.Mutex
	keys     = map[int]*rsa.PrivateKey{}
)

// keyOf makes one key per size and process: making RSA keys is slow.
func keyOf(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	keysLock.Lock()
	defer keysLock.Unlock()
	if keys[bits] == nil {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		keys[bits] = key
	}
	return keys[bits]
}

func publicOf(key *rsa.PrivateKey) credential.Public {
	return credential.Public{Modulus: key.N.Bytes(), Exponent: big.NewInt(int64(key.E)).Bytes()}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return b
}

func oaep(t testing.TB, h hash.Hash, key *rsa.PrivateKey, text []byte) []byte {
	t.Helper()
	block, err := rsa.EncryptOAEP(h, rand.Reader, &key.PublicKey, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// referenceSegments makes forms 0 and 1.
func referenceSegments(t testing.TB, key *rsa.PrivateKey, text string, length int, newHash func() hash.Hash) string {
	t.Helper()
	var all []byte
	for rest := text; rest != ""; rest = rest[min(length, len(rest)):] {
		all = append(all, oaep(t, newHash(), key, []byte(rest[:min(length, len(rest))]))...)
	}
	return base64.StdEncoding.EncodeToString(all)
}

// recipe is everything about form 2 that a test may want to get wrong.
type recipe struct {
	codes    [2]byte
	encKey   int
	macKey   int
	ids      [2]byte
	mac      func() hash.Hash
	badPad   bool
	badTag   bool
	keysHash func() hash.Hash
}

func rightRecipe() recipe {
	return recipe{codes: [2]byte{0, 1}, encKey: 32, macKey: 64, mac: sha256.New, keysHash: sha256.New}
}

// referenceHybrid makes form 2.
func referenceHybrid(t testing.TB, key *rsa.PrivateKey, text string, r recipe) string {
	t.Helper()
	keyEnc, keyMac, iv := randomBytes(r.encKey), randomBytes(r.macKey), randomBytes(16)
	block := oaep(t, r.keysHash(), key, append(append(r.codes[:], keyEnc...), keyMac...))

	pad := 16 - len(text)%16
	body := []byte(text + strings.Repeat(string(rune(pad)), pad))
	if r.badPad {
		body[len(body)-1] = 17
	}
	cipherBlock, err := aes.NewCipher(keyEnc)
	if err != nil {
		t.Fatal(err)
	}
	cipher.NewCBCEncrypter(cipherBlock, iv).CryptBlocks(body, body)

	mac := hmac.New(r.mac, keyMac)
	mac.Write(r.ids[:])
	mac.Write(iv)
	mac.Write(body)
	tag := mac.Sum(nil)
	if r.badTag {
		tag[0] ^= 1
	}
	record := append(append(append(r.ids[:], tag...), iv...), body...)
	return base64.StdEncoding.EncodeToString(block) + base64.StdEncoding.EncodeToString(record)
}

// referenceOpenHybrid undoes form 2 step by step; it returns the text inside.
func referenceOpenHybrid(t testing.TB, key *rsa.PrivateKey, envelope string) string {
	t.Helper()
	border := map[int]int{2048: 344, 3072: 512, 4096: 684}[key.N.BitLen()]
	block, err := base64.StdEncoding.DecodeString(envelope[:border])
	if err != nil {
		t.Fatal(err)
	}
	record, err := base64.StdEncoding.DecodeString(envelope[border:])
	if err != nil {
		t.Fatal(err)
	}
	all, err := rsa.DecryptOAEP(sha256.New(), nil, key, block, nil)
	if err != nil || len(all) != 98 || all[0] != 0 || all[1] != 1 {
		t.Fatalf("key block: %v, %d bytes", err, len(all))
	}
	if record[0] != 0 || record[1] != 0 {
		t.Fatalf("identifiers %v", record[:2])
	}
	mac := hmac.New(sha256.New, all[34:98])
	mac.Write(record[:2])
	mac.Write(record[34:])
	if !hmac.Equal(mac.Sum(nil), record[2:34]) {
		t.Fatal("tag")
	}
	cipherBlock, err := aes.NewCipher(all[2:34])
	if err != nil {
		t.Fatal(err)
	}
	text := record[50:]
	cipher.NewCBCDecrypter(cipherBlock, record[34:50]).CryptBlocks(text, text)
	return string(text[:len(text)-int(text[len(text)-1])])
}

// document is the text inside an envelope, as a client with JSON writes it. The values must need no escapes.
func document(pairs ...string) string {
	var list []string
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, fmt.Sprintf(`{"name":"%s","value":"%s"}`, pairs[i], pairs[i+1]))
	}
	return `{"credentialData":[` + strings.Join(list, ",") + `]}`
}

// forms are all ways in which an envelope can be made rightly, by name.
var forms = map[string]struct {
	bits int
	make func(t testing.TB, key *rsa.PrivateKey, text string) string
}{
	"form 1, 1024 bits, 85 bytes, SHA-1":   {1024, segments(85, sha1.New)},
	"form 1, 1024 bits, 60 bytes, SHA-256": {1024, segments(60, sha256.New)},
	"form 0, 1024 bits":                    {1024, segments(86, sha1.New)},
	"form 0, 2048 bits":                    {2048, segments(256-42, sha1.New)},
	"form 0, 3072 bits":                    {3072, segments(384-42, sha1.New)},
	"form 0, 4096 bits":                    {4096, segments(512-42, sha1.New)},
	"form 2, 2048 bits":                    {2048, hybridWith(0, sha256.New)},
	"form 2, 3072 bits":                    {3072, hybridWith(0, sha256.New)},
	"form 2, 4096 bits":                    {4096, hybridWith(0, sha256.New)},
	"form 2, 2048 bits, SHA-384":           {2048, hybridWith(1, sha512.New384)},
	"form 2, 3072 bits, SHA-512":           {3072, hybridWith(2, sha512.New)},
}

func segments(length int, h func() hash.Hash) func(testing.TB, *rsa.PrivateKey, string) string {
	return func(t testing.TB, key *rsa.PrivateKey, text string) string {
		return referenceSegments(t, key, text, length, h)
	}
}

func hybridWith(id byte, h func() hash.Hash) func(testing.TB, *rsa.PrivateKey, string) string {
	return func(t testing.TB, key *rsa.PrivateKey, text string) string {
		r := rightRecipe()
		r.ids[1], r.mac = id, h
		return referenceHybrid(t, key, text, r)
	}
}
