package member

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"math/big"
	"sync"
	"testing"

	"comporta/service/credential"
	"comporta/service/gateway"
)

func sealed(t testing.TB, key *rsa.PrivateKey, password string) gateway.StoredCredential {
	t.Helper()
	public := credential.Public{Modulus: key.N.Bytes(), Exponent: big.NewInt(int64(key.E)).Bytes()}
	envelope, err := credential.Seal(public, credential.Basic("u", password), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return gateway.StoredCredential{Type: "Basic", Envelope: envelope}
}

func testVault(t testing.TB) *vault {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return newVault(key)
}

func TestTheVaultFollowsEveryUpdate(t *testing.T) {
	v := testVault(t)
	source := &gateway.TaskSource{ID: "a"}
	for _, password := range []string{"first", "second", "first"} {
		source.Credential = sealed(t, v.key, password)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got, err := v.open(source); err != nil || got["username"] != "u" || got["password"] != password {
					t.Errorf("not the credentials of %q: %v", password, err)
				}
			})
		}
		all.Wait()
	}
	if len(v.opened) != 1 {
		t.Errorf("%d versions are kept", len(v.opened))
	}
	source.Credential.Envelope = ""
	if got, err := v.open(source); err != nil || len(got) != 0 {
		t.Errorf("nothing to open: %d pairs, %v", len(got), err)
	}
	source.Credential = sealed(t, testVault(t).key, "foreign")
	if _, err := v.open(source); !gateway.IsCode(err, gateway.CodeDataSourceCredentials) {
		t.Errorf("another cluster's envelope: %v", err)
	}
}

func TestTheVaultIsBounded(t *testing.T) {
	v := testVault(t)
	for i := range maxOpened + 100 {
		v.keep(gateway.ID(fmt.Sprint(i)), openedCredential{})
	}
	if len(v.opened) != maxOpened {
		t.Errorf("%d are kept", len(v.opened))
	}
}

func BenchmarkVault(b *testing.B) {
	v := testVault(b)
	source := &gateway.TaskSource{ID: "a", Credential: sealed(b, v.key, "p")}
	b.Run("known", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := v.open(source); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			clear(v.opened)
			if _, err := v.open(source); err != nil {
				b.Fatal(err)
			}
		}
	})
}
