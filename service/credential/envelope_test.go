package credential_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"comporta/service/credential"
	"comporta/service/gateway"
)

const password = "pässwörd-パス-🔑"

func TestOpenEveryForm(t *testing.T) {
	texts := map[string]gateway.Credentials{
		document("username", "ana", "password", password): {"username": "ana", "password": password},
		document("key", strings.Repeat("k", 1000)):        {"key": strings.Repeat("k", 1000)},
		`{"credentialData":[]}`:                           {},
		`{"credentialData":""}`:                           {},
		`{'credentialData':[{'name':'username','value':'ana'},{'name':'password','value':'p\xe4ss\u30d1\U0001f511\\'}]}`: {"username": "ana", "password": "pässパ🔑\\"},
	}
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			key := keyOf(t, form.bits)
			for text, want := range texts {
				envelope := form.make(t, key, text)
				if err := credential.CheckForm(key.Size(), envelope); err != nil {
					t.Errorf("CheckForm refuses %.30s…: %v", text, err)
				}
				if got, err := credential.Open(key, envelope); err != nil || !maps.Equal(got, want) {
					t.Errorf("Open of %.30s…: %v, %d pairs", text, err, len(got))
				}
			}
		})
	}
}

// Texts whose length is just at, under or over whole segments and cipher blocks.
func TestOpenAtTheEdgesOfSegments(t *testing.T) {
	for name, form := range forms {
		key := keyOf(t, form.bits)
		for _, unit := range []int{16, 60, 85, 86, key.Size() - 42} {
			for delta := -1; delta <= 1; delta++ {
				length := 2*unit + delta
				frame := len(document("key", ""))
				for length < frame {
					length += unit
				}
				value := strings.Repeat("x", length-frame)
				got, err := credential.Open(key, form.make(t, key, document("key", value)))
				if err != nil || got["key"] != value {
					t.Errorf("%s, %d bytes: %v", name, length, err)
				}
			}
		}
	}
}

func TestSealIsTheReferencesFormTwo(t *testing.T) {
	for _, bits := range []int{2048, 3072, 4096} {
		key := keyOf(t, bits)
		for want, pairs := range map[string]credential.Pairs{
			`{"credentialData":[{"name":"username","value":"ana"},{"name":"password","value":"<pä\"ss\\>&'"}]}`:        credential.Basic("ana", `<pä"ss\>&'`),
			`{"credentialData":[{"name":"username","value":"D\\ana"},{"name":"password","value":"` + password + `"}]}`: credential.Windows(`D\ana`, password),
			`{"credentialData":[{"name":"key","value":"a+b="}]}`:                                                       credential.Key("a+b="),
			`{"credentialData":[{"name":"accessToken","value":"t"}]}`:                                                  credential.OAuth2("t"),
			`{"credentialData":[{"name":"token","value":"?sv=1"}]}`:                                                    credential.SharedAccessSignature("?sv=1"),
			`{"credentialData":[]}`: credential.Anonymous(),
			`{"credentialData":[{"name":"servicePrincipalClientId","value":"i"},{"name":"servicePrincipalSecret","value":"s"},{"name":"tenantId","value":"t"}]}`: credential.ServicePrincipal("i", "s", "t"),
		} {
			envelope, err := credential.Seal(publicOf(key), pairs, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			if got := referenceOpenHybrid(t, key, envelope); got != want {
				t.Errorf("%d bits: %s, want %s", bits, got, want)
			}
			if err := credential.CheckForm(key.Size(), envelope); err != nil {
				t.Error(err)
			}
			if got, err := credential.Open(key, envelope); err != nil || !maps.Equal(got, pairs.Credentials()) {
				t.Errorf("round trip: %v", err)
			}
		}
	}
}

func TestSealAndOpenAnyText(t *testing.T) {
	key := keyOf(t, 2048)
	rapid.Check(t, func(t *rapid.T) {
		pairs := credential.Basic(rapid.String().Draw(t, "username"), rapid.String().Draw(t, "password"))
		envelope, err := credential.Seal(publicOf(key), pairs, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := credential.Open(key, envelope); err != nil || !maps.Equal(got, pairs.Credentials()) {
			t.Fatalf("%v", err)
		}
	})
}

func TestSealRefuses(t *testing.T) {
	good := publicOf(keyOf(t, 2048))
	even := append([]byte{}, good.Modulus...)
	even[len(even)-1] &^= 1
	for name, c := range map[string]struct {
		public credential.Public
		pairs  credential.Pairs
	}{
		"1024 bits":          {publicOf(keyOf(t, 1024)), credential.Key("k")},
		"no key":             {credential.Public{}, credential.Key("k")},
		"even modulus":       {credential.Public{Modulus: even, Exponent: good.Exponent}, credential.Key("k")},
		"huge modulus":       {credential.Public{Modulus: append(make([]byte, 1024), good.Modulus...), Exponent: good.Exponent}, credential.Key("k")},
		"exponent 1":         {credential.Public{Modulus: good.Modulus, Exponent: []byte{1}}, credential.Key("k")},
		"even exponent":      {credential.Public{Modulus: good.Modulus, Exponent: []byte{4}}, credential.Key("k")},
		"huge exponent":      {credential.Public{Modulus: good.Modulus, Exponent: good.Modulus}, credential.Key("k")},
		"text not UTF-8":     {good, credential.Basic("ana", "\xff")},
		"too long a text":    {good, credential.Key(strings.Repeat("k", 50000))},
		"name not UTF-8":     {good, credential.Pairs{{Name: "\xff"}}},
		"all of it wrong":    {},
		"exponent with none": {credential.Public{Modulus: good.Modulus}, credential.Key("k")},
	} {
		if _, err := credential.Seal(c.public, c.pairs, rand.Reader); !gateway.IsCode(err, gateway.CodeInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := credential.Seal(good, credential.Key("k"), strings.NewReader("short")); !gateway.IsCode(err, gateway.CodeInternal) {
		t.Errorf("no randomness: %v", err)
	}
}

// refusal opens an envelope that must be refused and returns the message; it is the same for all of them.
func refusal(t testing.TB, key *rsa.PrivateKey, envelope string) string {
	t.Helper()
	got, err := credential.Open(key, envelope)
	if got != nil || !gateway.IsCode(err, gateway.CodeDataSourceCredentials) {
		t.Fatalf("got %v and %d pairs", err, len(got))
	}
	return gateway.AsError(err).Message
}

// One flipped bit anywhere: every bit of every byte of the RSA blocks and records, and every character of the text.
func TestEveryFlippedBitIsRefused(t *testing.T) {
	for _, name := range []string{"form 1, 1024 bits, 85 bytes, SHA-1", "form 1, 1024 bits, 60 bytes, SHA-256", "form 0, 2048 bits", "form 2, 2048 bits"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			form := forms[name]
			key := keyOf(t, form.bits)
			envelope := form.make(t, key, document("username", "a", "password", "b"))
			for i := range envelope {
				changed := []byte(envelope)
				changed[i] ^= 1 << (i % 8)
				refusal(t, key, string(changed))
			}
			border := len(envelope)
			if strings.HasPrefix(name, "form 2") {
				border = 344
			}
			for part, text := range map[string]string{"block": envelope[:border], "record": envelope[border:]} {
				raw, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					t.Fatal(part, err)
				}
				for i := range raw {
					raw[i] ^= 1 << (i % 8)
					changed := base64.StdEncoding.EncodeToString(raw)
					raw[i] ^= 1 << (i % 8)
					if part == "block" {
						refusal(t, key, changed+envelope[border:])
					} else {
						refusal(t, key, envelope[:border]+changed)
					}
				}
			}
		})
	}
}

func TestOpenFailsClosedWithOneError(t *testing.T) {
	key, small := keyOf(t, 2048), keyOf(t, 1024)
	text := document("username", "ana", "password", password)
	with := func(change func(r *recipe)) string {
		r := rightRecipe()
		change(&r)
		return referenceHybrid(t, key, text, r)
	}
	right := with(func(*recipe) {})
	swap := referenceSegments(t, small, document("key", strings.Repeat("x", 85*2-len(document("key", "")))), 85, sha1.New)
	raw, _ := base64.StdEncoding.DecodeString(swap)
	messages := map[string]bool{}
	for name, c := range map[string]struct {
		key      *rsa.PrivateKey
		envelope string
	}{
		"empty":                     {key, ""},
		"another key":               {keyOf(t, 3072), right},
		"tag":                       {key, with(func(r *recipe) { r.badTag = true })},
		"padding under a right tag": {key, with(func(r *recipe) { r.badPad = true })},
		"length codes swapped":      {key, with(func(r *recipe) { r.codes = [2]byte{1, 0} })},
		"key block too short":       {key, with(func(r *recipe) { r.codes, r.macKey = [2]byte{0, 0}, 32 })},
		"unknown cipher":            {key, with(func(r *recipe) { r.ids[0] = 1 })},
		"unknown MAC":               {key, with(func(r *recipe) { r.ids[1] = 3 })},
		"another MAC than named":    {key, with(func(r *recipe) { r.mac = sha512.New })},
		"key block under SHA-1":     {key, with(func(r *recipe) { r.keysHash = sha1.New })},
		"85-byte segments, 2048":    {key, referenceSegments(t, key, text, 85, sha1.New)},
		"plain RSA-OAEP SHA-256":    {key, referenceSegments(t, key, text, 190, sha256.New)},
		"first segment missing":     {small, base64.StdEncoding.EncodeToString(raw[128:])},
		"segments swapped":          {small, base64.StdEncoding.EncodeToString(append(append([]byte{}, raw[128:]...), raw[:128]...))},
		"not a document":            {key, referenceHybrid(t, key, "hello", rightRecipe())},
		"empty text":                {key, referenceHybrid(t, key, "", rightRecipe())},
		"line break at the end":     {key, right + "\n"},
		"line break inside":         {key, right[:400] + "\r\n" + right[400:]},
		"space before":              {key, " " + right},
		"too long":                  {key, right + strings.Repeat("AAAA", 16<<10)},
	} {
		t.Run(name, func(t *testing.T) { messages[refusal(t, c.key, c.envelope)] = true })
	}
	if len(messages) != 1 {
		t.Errorf("the messages tell failures apart: %v", messages)
	}
}

func TestCheckFormSaysWhatIsWrong(t *testing.T) {
	key, small := keyOf(t, 2048), keyOf(t, 1024)
	text := document("key", "secret-value")
	right, old := referenceHybrid(t, key, text, rightRecipe()), referenceSegments(t, small, text, 85, sha1.New)
	for name, c := range map[string]struct {
		modulus  int
		envelope string
		says     string
	}{
		"empty":                 {256, "", "empty"},
		"too long":              {256, strings.Repeat("A", 65<<10), "longer than 16384 bytes"},
		"key size":              {64, right, "512 bits is not supported"},
		"plain text":            {256, text, "344 characters"},
		"long plain text":       {256, strings.Repeat(text, 20), "one RSA block of 256 bytes"},
		"1024-bit form":         {256, old, "344 characters"},
		"of a 3072-bit key":     {384, right, "512 characters"},
		"of a smaller key":      {128, right, "one standard base64 text"},
		"wrong number of bytes": {128, "AAAA", "blocks of 128 bytes"},
		"record cut":            {256, right[:len(right)-4], "from character 345"},
		"record not base64":     {256, right[:344] + "****", "from character 345"},
		"block not base64":      {256, "*" + right[1:], "first 344 characters"},
		"URL alphabet":          {256, strings.Repeat("_-", 200), "first 344 characters"},
	} {
		t.Run(name, func(t *testing.T) {
			err := credential.CheckForm(c.modulus, c.envelope)
			if !gateway.IsCode(err, gateway.CodeCredentialFormat) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want it to say %q", err, c.says)
			}
			if err != nil && strings.Contains(err.Error(), "secret-value") {
				t.Error("the message quotes the envelope")
			}
		})
	}
}

func TestNothingPrintsValues(t *testing.T) {
	key := keyOf(t, 2048)
	pairs := credential.Basic("ana", "hunter22")
	text, err := json.Marshal(pairs)
	if err != nil {
		t.Fatal(err)
	}
	_, failure := credential.Parse([]byte(document("password", "hunter22") + "x"))
	_, inside := credential.Open(key, referenceHybrid(t, key, document("password", "hunter22")+"x", rightRecipe()))
	for _, shown := range []string{string(text), fmt.Sprint(pairs), fmt.Sprintf("%+v %#v %v", pairs, pairs, pairs.Credentials()), failure.Error(), inside.Error()} {
		if strings.Contains(shown, "hunter22") {
			t.Errorf("a value was shown: %s", shown)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	key := keyOf(b, 2048)
	envelope := referenceHybrid(b, key, document("username", "ana", "password", password), rightRecipe())
	b.ReportAllocs()
	for b.Loop() {
		if _, err := credential.Open(key, envelope); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzOpen(f *testing.F) {
	for _, form := range forms {
		f.Add(form.make(f, keyOf(f, form.bits), document("username", "ana", "password", password)))
	}
	f.Fuzz(func(t *testing.T, envelope string) {
		for _, bits := range []int{1024, 2048} {
			credentials, err := credential.Open(keyOf(t, bits), envelope)
			if err == nil && (credentials == nil || credential.CheckForm(bits/8, envelope) != nil) {
				t.Fatal("opened what has no form")
			}
			if err != nil && !gateway.IsCode(err, gateway.CodeDataSourceCredentials) {
				t.Fatal(err)
			}
		}
	})
}

func FuzzCheckForm(f *testing.F) {
	for _, form := range forms {
		f.Add(form.bits/8, form.make(f, keyOf(f, form.bits), document("key", "k")))
	}
	f.Fuzz(func(t *testing.T, modulus int, envelope string) {
		if err := credential.CheckForm(modulus, envelope); err != nil && !gateway.IsCode(err, gateway.CodeCredentialFormat) {
			t.Fatal(err)
		}
	})
}
