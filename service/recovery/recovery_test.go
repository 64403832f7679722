package recovery_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"math/big"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"comporta/service/gateway"
	"comporta/service/recovery"
)

// cheap keeps tests fast; nothing but the strength depends on it.
var cheap = recovery.Cost{Time: 1, Memory: 8, Threads: 1}

var phrase = []byte("correct horse Straße")

// privateKey is made once: making RSA keys is slow.
var privateKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func seal(t testing.TB) gateway.ClusterKey {
	t.Helper()
	key, err := recovery.Seal(phrase, privateKey(), rand.Reader, cheap)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestNewOpens(t *testing.T) {
	for _, bits := range []int{0, 3072} {
		key, err := recovery.New(phrase, rand.Reader, cheap, bits)
		if err != nil {
			t.Fatal(err)
		}
		private, err := recovery.Open(phrase, key)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(bits, recovery.DefaultBits); private.N.BitLen() != want || len(key.Modulus) != want/8 {
			t.Errorf("%d bits, modulus of %d bytes; want %d bits", private.N.BitLen(), len(key.Modulus), want)
		}
		if !bytes.Equal(key.Exponent, []byte{1, 0, 1}) || new(big.Int).SetBytes(key.Modulus).Cmp(private.N) != 0 {
			t.Error("the public key is not the private key's")
		}
	}
}

func TestDerivedSecretsOpen(t *testing.T) {
	key := seal(t)
	right, err := recovery.Derive(phrase, key)
	if err != nil {
		t.Fatal(err)
	}
	if private, err := right.Open(key); err != nil || !private.Equal(privateKey()) {
		t.Errorf("another key was opened, or none: %v", err)
	}
	wrong, err := recovery.Derive(append([]byte("not "), phrase...), key)
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]recovery.Secrets{"of another recovery key": wrong, "none": {}, "swapped": {Sealing: right.Verifier}} {
		if private, err := s.Open(key); private != nil || !gateway.IsCode(err, gateway.CodeInternal) {
			t.Errorf("secrets %s open it: %v", name, err)
		}
	}
}

func TestSealKeepsNoSecret(t *testing.T) {
	key := seal(t)
	kept := fmt.Sprintf("%x", key)
	for name, secret := range map[string][]byte{"recovery key": phrase, "prime": privateKey().Primes[0].Bytes(), "exponent": privateKey().D.Bytes()} {
		if strings.Contains(kept, hex.EncodeToString(secret)) {
			t.Errorf("the cluster key holds the %s", name)
		}
	}
	secrets, err := recovery.Derive(phrase, key)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(secrets), fmt.Sprintf("%+v", secrets), fmt.Sprintf("%#v", secrets), fmt.Sprintf("%x", secrets)} {
		if strings.Contains(text, hex.EncodeToString(secrets.Verifier)) || strings.Contains(text, fmt.Sprint(secrets.Verifier)) {
			t.Errorf("secrets print themselves: %s", text)
		}
	}
	if bytes.Contains([]byte(kept), []byte(hex.EncodeToString(secrets.Verifier))) {
		t.Error("the cluster key holds the verifier itself")
	}
	secrets.Wipe()
	if !bytes.Equal(append(secrets.Sealing, secrets.Verifier...), make([]byte, 64)) {
		t.Error("Wipe left something")
	}
}

func TestEachSealIsFresh(t *testing.T) {
	a, b := seal(t), seal(t)
	if bytes.Equal(a.Salt, b.Salt) || bytes.Equal(a.Sealed, b.Sealed) || bytes.Equal(a.VerifierHash, b.VerifierHash) {
		t.Error("two seals share something that must be random")
	}
	if !bytes.Equal(a.Modulus, b.Modulus) {
		t.Error("two seals of one key differ in the public key")
	}
}

func TestRecoveryKeyAsText(t *testing.T) {
	for _, c := range []struct {
		name, key string
		ok        bool
	}{
		{"seven characters", "1234567", false},
		{"eight characters", "12345678", true},
		{"seven characters in many bytes", strings.Repeat("é", 7), false},
		{"eight characters beyond the BMP", strings.Repeat("🔑", 8), true},
		{"spaces count", "        ", true},
		{"empty", "", false},
		{"1024 bytes", strings.Repeat("a", 1024), true},
		{"1025 bytes", strings.Repeat("a", 1025), false},
		{"not UTF-8", "12345678\xff", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			key, err := recovery.Seal([]byte(c.key), privateKey(), rand.Reader, cheap)
			if c.ok {
				if err != nil || !recovery.CheckKey([]byte(c.key), key) {
					t.Errorf("refused: %v", err)
				}
				return
			}
			if !gateway.IsCode(err, gateway.CodeInvalid) || c.key != "" && strings.Contains(err.Error(), c.key) {
				t.Errorf("got %v", err)
			}
			if _, err := recovery.New([]byte(c.key), rand.Reader, cheap, 0); !gateway.IsCode(err, gateway.CodeInvalid) {
				t.Errorf("New: %v", err)
			}
			if recovery.CheckKey([]byte(c.key), seal(t)) {
				t.Error("CheckKey took it")
			}
		})
	}
}

func TestWrongRecoveryKey(t *testing.T) {
	key := seal(t)
	for _, wrong := range []string{"correct horse Strasse", "correct horse Straße ", "Correct horse Straße"} {
		if _, err := recovery.Open([]byte(wrong), key); !gateway.IsCode(err, gateway.CodeRecoveryKeyWrong) {
			t.Errorf("%q: %v", wrong, err)
		}
		if recovery.CheckKey([]byte(wrong), key) {
			t.Errorf("%q was taken", wrong)
		}
	}
}

// Composed and decomposed forms are different recovery keys: documented, and so kept from changing by accident.
func TestRecoveryKeyIsNotNormalised(t *testing.T) {
	key, err := recovery.Seal([]byte("caf\u00e9 caf\u00e9"), privateKey(), rand.Reader, cheap)
	if err != nil {
		t.Fatal(err)
	}
	if recovery.CheckKey([]byte("cafe\u0301 cafe\u0301"), key) {
		t.Error("a decomposed text opened a composed one")
	}
}

func TestCheckVerifier(t *testing.T) {
	key := seal(t)
	secrets, err := recovery.Derive(phrase, key)
	if err != nil {
		t.Fatal(err)
	}
	if !recovery.CheckVerifier(key, secrets.Verifier) {
		t.Error("the right verifier was refused")
	}
	flipped := bytes.Clone(secrets.Verifier)
	flipped[31] ^= 1
	long := append(bytes.Clone(secrets.Verifier), 0)
	for name, wrong := range map[string][]byte{"flipped": flipped, "longer": long, "shorter": secrets.Verifier[:31], "sealing key": secrets.Sealing, "hash": key.VerifierHash, "nil": nil} {
		if recovery.CheckVerifier(key, wrong) {
			t.Errorf("%s was taken", name)
		}
	}
	if recovery.CheckVerifier(gateway.ClusterKey{}, nil) || recovery.CheckVerifier(gateway.ClusterKey{}, secrets.Verifier) {
		t.Error("an empty cluster key took a verifier")
	}
}

func flip(b []byte, i int) []byte {
	b = bytes.Clone(b)
	b[i] ^= 1
	return b
}

func TestTampering(t *testing.T) {
	other, err := recovery.New(phrase, rand.Reader, cheap, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(k *gateway.ClusterKey)
		code   gateway.Code
	}{
		{"modulus", func(k *gateway.ClusterKey) { k.Modulus = flip(k.Modulus, 9) }, gateway.CodeInternal},
		{"modulus with a leading zero", func(k *gateway.ClusterKey) { k.Modulus = append([]byte{0}, k.Modulus...) }, gateway.CodeInternal},
		{"exponent", func(k *gateway.ClusterKey) { k.Exponent = flip(k.Exponent, 0) }, gateway.CodeInternal},
		{"salt", func(k *gateway.ClusterKey) { k.Salt = flip(k.Salt, 0) }, gateway.CodeRecoveryKeyWrong},
		{"time", func(k *gateway.ClusterKey) { k.Time++ }, gateway.CodeRecoveryKeyWrong},
		{"memory", func(k *gateway.ClusterKey) { k.Memory *= 2 }, gateway.CodeRecoveryKeyWrong},
		{"threads", func(k *gateway.ClusterKey) { k.Threads++; k.Memory = 16 }, gateway.CodeRecoveryKeyWrong},
		{"verifier hash", func(k *gateway.ClusterKey) { k.VerifierHash = flip(k.VerifierHash, 31) }, gateway.CodeRecoveryKeyWrong},
		{"verifier hash gone", func(k *gateway.ClusterKey) { k.VerifierHash = nil }, gateway.CodeRecoveryKeyWrong},
		{"sealed gone", func(k *gateway.ClusterKey) { k.Sealed = nil }, gateway.CodeInternal},
		{"sealed cut", func(k *gateway.ClusterKey) { k.Sealed = k.Sealed[:len(k.Sealed)-1] }, gateway.CodeInternal},
		{"sealed too long", func(k *gateway.ClusterKey) { k.Sealed = make([]byte, 9<<10) }, gateway.CodeInternal},
		{"sealed of another cluster", func(k *gateway.ClusterKey) { k.Sealed = other.Sealed }, gateway.CodeInternal},
		{"public key of another cluster", func(k *gateway.ClusterKey) { k.Modulus = other.Modulus }, gateway.CodeInternal},
		{"no passes", func(k *gateway.ClusterKey) { k.Time = 0 }, gateway.CodeInvalid},
		{"endless passes", func(k *gateway.ClusterKey) { k.Time = 1 << 31 }, gateway.CodeInvalid},
		{"no memory", func(k *gateway.ClusterKey) { k.Memory = 0 }, gateway.CodeInvalid},
		{"all memory", func(k *gateway.ClusterKey) { k.Memory = 1<<32 - 1 }, gateway.CodeInvalid},
		{"no threads", func(k *gateway.ClusterKey) { k.Threads = 0 }, gateway.CodeInvalid},
		{"all threads", func(k *gateway.ClusterKey) { k.Threads, k.Memory = 255, 4096 }, gateway.CodeInvalid},
		{"no salt", func(k *gateway.ClusterKey) { k.Salt = nil }, gateway.CodeInvalid},
		{"long salt", func(k *gateway.ClusterKey) { k.Salt = make([]byte, 65) }, gateway.CodeInvalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			key := seal(t)
			c.change(&key)
			if private, err := recovery.Open(phrase, key); private != nil || !gateway.IsCode(err, c.code) {
				t.Errorf("got %v, want %s", err, c.code)
			}
		})
	}
}

func TestEveryByteOfTheSealedKeyCounts(t *testing.T) {
	key := seal(t)
	for i := range key.Sealed {
		changed := key
		changed.Sealed = flip(key.Sealed, i)
		if _, err := recovery.Open(phrase, changed); !gateway.IsCode(err, gateway.CodeInternal) {
			t.Fatalf("byte %d: %v", i, err)
		}
	}
}

func TestReseal(t *testing.T) {
	before, next := seal(t), []byte("the next recovery key")
	after, err := recovery.Reseal(phrase, next, before, rand.Reader, cheap)
	if err != nil {
		t.Fatal(err)
	}
	private, err := recovery.Open(next, after)
	if err != nil || !private.Equal(privateKey()) {
		t.Errorf("the new recovery key does not open the same private key: %v", err)
	}
	if recovery.CheckKey(phrase, after) {
		t.Error("the old recovery key is still good")
	}
	if _, err := recovery.Reseal(next, phrase, before, rand.Reader, cheap); !gateway.IsCode(err, gateway.CodeRecoveryKeyWrong) {
		t.Errorf("wrong old key: %v", err)
	}
	if _, err := recovery.Reseal(phrase, []byte("short"), before, rand.Reader, cheap); !gateway.IsCode(err, gateway.CodeInvalid) {
		t.Errorf("short new key: %v", err)
	}
}

func TestNewRefusesOddSizesAndCosts(t *testing.T) {
	for _, bits := range []int{-1, 1, 1024, 2047, 8192} {
		if _, err := recovery.New(phrase, rand.Reader, cheap, bits); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("%d bits: %v", bits, err)
		}
	}
	if _, err := recovery.Seal(phrase, privateKey(), rand.Reader, recovery.Cost{}); !gateway.IsCode(err, gateway.CodeInvalid) {
		t.Errorf("no cost: %v", err)
	}
	if _, err := recovery.Seal(phrase, privateKey(), strings.NewReader("short"), cheap); !gateway.IsCode(err, gateway.CodeInternal) {
		t.Errorf("no randomness: %v", err)
	}
}

func TestAnyTextThatIsAKeyOpensOnlyItself(t *testing.T) {
	text := rapid.StringN(recovery.MinKeyLength, 40, recovery.MaxKeyBytes)
	rapid.Check(t, func(t *rapid.T) {
		right, wrong := text.Draw(t, "right"), text.Draw(t, "wrong")
		key, err := recovery.Seal([]byte(right), privateKey(), rand.Reader, cheap)
		if err != nil {
			t.Fatal(err)
		}
		if !recovery.CheckKey([]byte(right), key) || recovery.CheckKey([]byte(wrong), key) != (right == wrong) {
			t.Fatal("CheckKey is wrong")
		}
	})
}

// A machine must survive whatever a service sends it as a cluster key, and must never take a private key that is not the public one's.
func FuzzOpen(f *testing.F) {
	good := seal(f)
	f.Add(good.Modulus, good.Exponent, good.Salt, good.Time, good.Memory, good.Threads, good.VerifierHash, good.Sealed)
	f.Add([]byte{}, []byte{}, []byte{}, uint32(0), uint32(0), uint8(0), []byte{}, []byte{1})
	f.Fuzz(func(t *testing.T, modulus, exponent, salt []byte, passes, memory uint32, threads uint8, hash, sealed []byte) {
		if uint64(passes)*uint64(memory) > 1<<14 && passes <= 16 && memory <= 256<<10 {
			t.Skip("allowed, but slow")
		}
		key := gateway.ClusterKey{Modulus: modulus, Exponent: exponent, Salt: salt, Time: passes, Memory: memory, Threads: threads, VerifierHash: hash, Sealed: sealed}
		private, err := recovery.Open(phrase, key)
		if (private == nil) == (err == nil) {
			t.Fatal("neither a key nor an error, or both")
		}
		if private != nil && new(big.Int).SetBytes(modulus).Cmp(private.N) != 0 {
			t.Fatal("a private key came out that is not the public key's")
		}
	})
}

func BenchmarkDerive(b *testing.B) {
	cost := recovery.DefaultCost()
	key := gateway.ClusterKey{Salt: make([]byte, 16), Time: cost.Time, Memory: cost.Memory, Threads: cost.Threads}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := recovery.Derive(phrase, key); err != nil {
			b.Fatal(err)
		}
	}
}
