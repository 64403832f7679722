package gateway_test

import (
	"slices"
	"testing"

	"comporta/service/gateway"
)

// portions gives as many bytes as it is told, or as there is room for.
type portions struct{ sizes, got []int }

func (p *portions) Read(to []byte) (int, error) {
	n := min(p.sizes[0], len(to))
	p.sizes, p.got = p.sizes[1:], append(p.got, n)
	return n, nil
}

func TestABufferGrowsWhenAReadFillsIt(t *testing.T) {
	const k = 1 << 10
	p := &portions{sizes: []int{100, 31 * k, 500 * k, 500 * k, 10, 500 * k}}
	b := gateway.TakeBuffer()
	defer b.Release()
	for range len(p.sizes) {
		before := len(p.got)
		part, err := b.Read(p)
		if err != nil || len(part) != p.got[before] {
			t.Fatal(len(part), err)
		}
	}
	if want := []int{100, 31 * k, 32 * k, 256 * k, 10, 256 * k}; !slices.Equal(p.got, want) {
		t.Errorf("read %v, want %v", p.got, want)
	}
}
