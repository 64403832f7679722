package tunnel

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"comporta/service/gateway"
	"pgregory.net/rapid"
)

func TestErrorsKeepWhatMayBeShown(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		e := &gateway.Error{
			Code:       gateway.Code(rapid.StringMatching(`[A-Za-z_.][A-Za-z0-9_.]{0,99}`).Draw(t, "code")),
			Message:    rapid.String().Draw(t, "message"),
			RetryAfter: time.Duration(rapid.IntRange(0, 3_600_000).Draw(t, "retry")) * time.Millisecond,
		}
		for range rapid.IntRange(0, maxDetails).Draw(t, "details") {
			e.With(rapid.StringMatching(`[A-Za-z_]{1,20}`).Draw(t, "name"), rapid.String().Draw(t, "detail"))
		}
		if ownCodes[e.Code] {
			t.Skip("not a member's code")
		}
		got, err := decodeOutcome(encodeOutcome(e))
		if err != nil || got.Code != e.Code || got.Message != e.Message || got.RetryAfter != e.RetryAfter || len(got.Details) != len(e.Details) {
			t.Fatalf("%+v became %+v, %v", e, got, err)
		}
	})
}

func TestErrorsStaySmall(t *testing.T) {
	t.Parallel()
	e := gateway.Errorf(gateway.CodeQuery, "%s", strings.Repeat("\x00é", 1<<20))
	for range 100 {
		e.With("name", strings.Repeat("\x01", 1<<20))
	}
	text := encodeOutcome(e)
	if len(text) > maxOutcomeBytes {
		t.Fatal(len(text))
	}
	if got, err := decodeOutcome(text); err != nil || !utf8.ValidString(got.Message) || got.Message == "" {
		t.Fatal(err)
	}
	for _, code := range []gateway.Code{gateway.CodeUnauthorized, gateway.CodeTokenExpired, gateway.CodeInvalidClient, "", "a b", "x\r\ny"} {
		if _, err := decodeError(encodeError(gateway.Errorf(code, "x"))); err == nil {
			t.Errorf("a member may say %q", code)
		}
	}
}

func TestSummaries(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := gateway.Summary{Rows: rapid.Int64Min(0).Draw(t, "rows"), Truncated: rapid.Bool().Draw(t, "truncated")}
		if got, err := decodeSummary(encodeSummary(s)); err != nil || got != s {
			t.Fatal(got, err)
		}
	})
	for _, text := range []string{"", "+", "-1", "1++", "x", "99999999999999999999"} {
		if _, err := decodeSummary(text); err == nil {
			t.Errorf("%q accepted", text)
		}
	}
}

func FuzzDecodeError(f *testing.F) {
	f.Add(string(encodeError(gateway.Errorf(gateway.CodeQuery, "x").With("a", "b"))))
	f.Add(`{"code":"X","details":[{}],"retryAfterMillis":-1}`)
	f.Fuzz(func(t *testing.T, text string) {
		e, err := decodeError([]byte(text))
		if err == nil && (!validCode(string(e.Code)) || len(e.Message) > maxMessageBytes || len(e.Details) > maxDetails || e.RetryAfter < 0) {
			t.Fatalf("%+v", e)
		}
	})
}
