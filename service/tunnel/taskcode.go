package tunnel

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"

	"comporta/service/gateway"
)

// The lane's own form of a task: its fields in a fixed order, texts with their length in front. It says nothing that JSON would not say;
// it costs one allocation for all texts instead of one for each, and no reflection. Both ends know the same fields, because laneVersion
// changes with them.

var errTaskForm = errors.New("the task is malformed")

// encodeTask appends a task.
func encodeTask(b []byte, t *gateway.Task) ([]byte, error) {
	s, c := &t.DataSource, &t.DataSource.Credential
	for _, text := range [...]string{t.RequestID, string(t.Format), string(s.ID), string(s.Type), s.ConnectionDetails,
		c.Type, c.Encryption, c.Privacy, c.Algorithm, c.Envelope} {
		b = appendText(b, text)
	}
	b = binary.AppendVarint(b, c.Version)
	b = binary.AppendVarint(b, t.TimeoutMillis)
	b = append(b, flags(c.SkipTest, t.Probe, t.ReadOnly, t.Query != nil, t.HTTP != nil))
	if h := t.HTTP; h != nil {
		b = appendCall(b, h)
	}
	if q := t.Query; q != nil {
		return appendQuery(b, q)
	}
	return b, nil
}

func appendCall(b []byte, h *gateway.HTTPCall) []byte {
	b = appendText(appendText(appendText(b, h.Method), h.Path), h.Body)
	b = binary.AppendUvarint(b, uint64(len(h.Headers)))
	for name, value := range h.Headers {
		b = appendText(appendText(b, name), value)
	}
	return b
}

// appendQuery leaves the parameters to JSON, which keeps their types and digits.
func appendQuery(b []byte, q *gateway.Query) ([]byte, error) {
	var parameters []byte
	if len(q.Parameters) > 0 {
		var err error
		if parameters, err = json.Marshal(q.Parameters); err != nil {
			return nil, err
		}
	}
	b = binary.AppendVarint(appendText(b, q.Text), q.MaxRows)
	return appendText(b, string(parameters)), nil
}

func appendText(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

func flags(set ...bool) (b byte) {
	for i, on := range set {
		if on {
			b |= 1 << i
		}
	}
	return b
}

// decodeTask reads what encodeTask wrote. The task's texts are pieces of code.
func decodeTask(code []byte) (*gateway.Task, error) {
	f := form{rest: string(code)}
	t := new(gateway.Task)
	s, c := &t.DataSource, &t.DataSource.Credential
	t.RequestID, t.Format = f.text(), gateway.Format(f.text())
	s.ID, s.Type, s.ConnectionDetails = gateway.ID(f.text()), gateway.DataSourceType(f.text()), f.text()
	c.Type, c.Encryption, c.Privacy, c.Algorithm, c.Envelope = f.text(), f.text(), f.text(), f.text(), f.text()
	c.Version, t.TimeoutMillis = f.number(), f.number()
	set := f.octet()
	c.SkipTest, t.Probe, t.ReadOnly = set&1 != 0, set&2 != 0, set&4 != 0
	if set&16 != 0 {
		t.HTTP = f.call()
	}
	if set&8 != 0 {
		t.Query = f.query()
	}
	if f.bad || f.rest != "" {
		return nil, errTaskForm
	}
	return t, nil
}

// form reads fields one after the other; after the first that is malformed everything is empty.
type form struct {
	rest string
	bad  bool
}

func (f *form) text() string {
	n := f.length()
	if n > uint64(len(f.rest)) {
		f.bad, f.rest = true, ""
		return ""
	}
	text := f.rest[:n]
	f.rest = f.rest[n:]
	return text
}

// length reads an unsigned varint.
func (f *form) length() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		b := f.octet()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
	f.bad, f.rest = true, ""
	return 0
}

func (f *form) number() int64 {
	n := f.length()
	return int64(n>>1) ^ -int64(n&1)
}

func (f *form) octet() byte {
	if f.rest == "" {
		f.bad = true
		return 0
	}
	b := f.rest[0]
	f.rest = f.rest[1:]
	return b
}

func (f *form) call() *gateway.HTTPCall {
	h := &gateway.HTTPCall{Method: f.text(), Path: f.text(), Body: f.text()}
	for n := f.length(); n > 0 && !f.bad; n-- {
		if h.Headers == nil {
			h.Headers = map[string]string{}
		}
		name := f.text()
		h.Headers[name] = f.text()
	}
	return h
}

func (f *form) query() *gateway.Query {
	q := &gateway.Query{Text: f.text(), MaxRows: f.number()}
	if parameters := f.text(); parameters != "" {
		d := json.NewDecoder(bytes.NewReader([]byte(parameters)))
		d.UseNumber()
		f.bad = d.Decode(&q.Parameters) != nil || f.bad
	}
	return q
}
