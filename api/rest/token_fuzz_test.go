package rest

import (
	"testing"
	"time"

	"comporta/service"
	"comporta/service/gateway"
)

// FuzzPlace: every place has a token that leads back to it, and a token with one letter changed never leads to the same place by another name.
func FuzzPlace(f *testing.F) {
	f.Add(int64(0), uint64(0), uint64(1), 3)
	f.Add(int64(1767225600_000001), uint64(1)<<63, uint64(0), 0)
	f.Add(int64(253402300799_999999), ^uint64(0), ^uint64(0), 70)
	f.Fuzz(func(t *testing.T, micros int64, high, low uint64, at int) {
		when := time.UnixMicro(micros).UTC()
		if when.Year() < 1 || when.Year() > 9999 {
			return
		}
		place := service.After{At: when, ID: guid(high, low)}
		token := Token("list", place)
		if got, err := ReadToken("list", token); err != nil || !got.At.Equal(place.At) || got.ID != place.ID {
			t.Fatalf("%v came back as %v %v", place, got, err)
		}
		garbled := []byte(token)
		garbled[(at%len(garbled)+len(garbled))%len(garbled)] ^= 1
		switch got, err := ReadToken("list", string(garbled)); {
		case err == nil && got.At.Equal(place.At) && got.ID == place.ID:
			t.Fatalf("%s and %s lead to the same place", token, garbled)
		case err != nil && !gateway.IsCode(err, gateway.CodeContinuationToken):
			t.Fatal(err)
		}
	})
}

func guid(high, low uint64) gateway.ID {
	const hex = "0123456789abcdef"
	var text []byte
	for _, n := range []uint64{high, low} {
		for shift := 60; shift >= 0; shift -= 4 {
			if length := len(text); length == 8 || length == 13 || length == 18 || length == 23 {
				text = append(text, '-')
			}
			text = append(text, hex[n>>shift&15])
		}
	}
	return gateway.ID(text)
}

// FuzzToken: what is taken as a token is one that Token makes.
func FuzzToken(f *testing.F) {
	f.Add(Token("list", service.After{At: time.Unix(1, 5000), ID: "00000000-0000-0000-0000-000000000001"}))
	f.Add("LDEsMTAwMDAwLDA")
	f.Add("garbled%")
	f.Fuzz(func(t *testing.T, token string) {
		a, err := ReadToken("list", token)
		if err == nil && token != "" && Token("list", a) != token {
			t.Errorf("%q was taken as %v", token, a)
		}
	})
}
