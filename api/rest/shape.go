package rest

import (
	"reflect"
	"strings"
	"sync"
)

// shape is what a struct type takes from JSON. It is worked out once per type.
type shape struct {
	fields []field
	// exact finds a field by its name as it is written, folded by its name in lower case.
	exact, folded map[string]int
}

type field struct {
	name     string
	index    []int
	required bool
}

var shapes sync.Map // reflect.Type -> *shape

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s, _ := shapes.LoadOrStore(t, newShape(t))
	return s.(*shape)
}

// newShape reads the tags, also those of embedded structs. Of two fields with the same name the first one counts.
func newShape(t reflect.Type) *shape {
	s := &shape{exact: map[string]int{}, folded: map[string]int{}}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		low := strings.ToLower(name)
		if _, had := s.folded[low]; had || name == "" {
			continue
		}
		s.exact[name], s.folded[low] = len(s.fields), len(s.fields)
		s.fields = append(s.fields, field{name: name, index: f.Index, required: f.Tag.Get("required") == "true"})
	}
	return s
}

// find returns the field with this name in any letter case, or -1.
func (s *shape) find(name []byte) int {
	if i, ok := s.exact[string(name)]; ok {
		return i
	}
	if i, ok := s.folded[strings.ToLower(string(name))]; ok {
		return i
	}
	return -1
}

// named is the name as the caller wrote it; written as the field has it, it costs no memory.
func (s *shape) named(i int, name []byte) string {
	if known := s.fields[i].name; known == string(name) {
		return known
	}
	return string(name)
}

func (s *shape) names() string {
	var names []string
	for _, f := range s.fields {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}
