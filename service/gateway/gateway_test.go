package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseIDTakesEveryForm(t *testing.T) {
	const want ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
	for _, text := range []string{string(want), strings.ToUpper(string(want)), "0f8fad5bd9cb469fa16570867728950e", "{" + string(want) + "}", "(" + string(want) + ")",
		"urn:uuid:" + string(want), " " + string(want) + " "} {
		if got, ok := ParseID(text); !ok || got != want {
			t.Errorf("%q: %q, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "{" + string(want), string(want)[1:], strings.ReplaceAll(string(want), "-", "_"), strings.Replace(string(want), "f", "g", 1), "{}"} {
		if got, ok := ParseID(text); ok {
			t.Errorf("%q was taken as %q", text, got)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("{0F8FAD5B-D9CB-469F-A165-70867728950E}")
	f.Fuzz(func(t *testing.T, text string) {
		id, ok := ParseID(text)
		if again, same := ParseID(id.String()); ok && (!same || again != id || len(id) != 36 || strings.ToLower(string(id)) != string(id)) {
			t.Errorf("%q gave %q", text, id)
		}
	})
}

func TestLimitsHaveRangesAndLevels(t *testing.T) {
	n := func(v int) *int { return &v }
	for name, bad := range map[string]Limits{SettingCPU: {CPU: n(101)}, SettingMemory: {Memory: n(-1)}, SettingWindow: {WindowMinutes: n(0)}, SettingConcurrency: {Concurrency: n(MaxConcurrency + 1)}} {
		if err := bad.Validate(); !IsCode(err, CodeInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	got := Limits{CPU: n(0)}.Over(Limits{CPU: n(80), Memory: n(70)}).Effective()
	if got != (EffectiveLimits{CPU: 0, Memory: 70, Window: DefaultWindow, Concurrency: DefaultConcurrency}) {
		t.Errorf("got %+v", got)
	}
}

func TestAnErrorOfAnotherKindShowsNothingOfTheInside(t *testing.T) {
	inner := errors.New("password=x")
	e := AsError(fmt.Errorf("somewhere: %w", inner))
	if e.Code != CodeInternal || strings.Contains(e.Message, "password") || !errors.Is(e, inner) {
		t.Errorf("got %+v", e)
	}
	known := Errorf(CodeQuery, "said")
	if AsError(fmt.Errorf("wrapped: %w", known)) != known {
		t.Error("a known error lost itself")
	}
}

func TestCredentialsNeverPrint(t *testing.T) {
	c := Credentials{"password": "hush"}
	text, err := json.Marshal(map[string]any{"c": c})
	if err != nil || strings.Contains(string(text)+fmt.Sprintf("%v %+v %#v %s", c, c, c, c), "hush") {
		t.Errorf("%s %v", text, err)
	}
}
