package powerbi

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"comporta/service"
	"comporta/service/gateway"
)

const memberID gateway.ID = "11111111-1111-1111-1111-111111111111"

// reply is what a client gets of an answer with this body and length: the answer, its text, and how reading it ended.
func reply(t *testing.T, body io.Reader, length int64, upstream int) (*http.Response, string, error) {
	t.Helper()
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		return streamed(c, &service.Response{AnswerHeader: gateway.AnswerHeader{ContentType: "text/csv", UpstreamStatus: upstream}, MemberID: memberID, MemberName: "Büro 1",
			Attempts: 2, Length: length, Body: io.NopCloser(body), Summary: func() gateway.Summary { return gateway.Summary{Rows: 7, Truncated: true} }})
	})
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// then gives a text and ends with an error.
func then(text string, err error) io.Reader {
	return io.MultiReader(strings.NewReader(text), failing{err})
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestAnAnswerSaysWhoServedAndHowMuch(t *testing.T) {
	resp, text, err := reply(t, strings.NewReader("a\r\n1\r\n"), -1, 0)
	if err != nil || text != "a\r\n1\r\n" || resp.StatusCode != 200 {
		t.Errorf("got %d %q %v", resp.StatusCode, text, err)
	}
	for name, want := range map[string]string{headerMemberID: memberID.String(), headerMemberName: "B%C3%BCro%201", headerAttempts: "2", "Content-Type": "text/csv", "Cache-Control": "no-store"} {
		if got := resp.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if resp.Trailer.Get(trailerRows) != "7" || resp.Trailer.Get(trailerTruncated) != "true" || resp.Trailer.Get(trailerError) != "" {
		t.Errorf("trailers: %v", resp.Trailer)
	}
}

func TestAnAnswerOfKnownLengthPromisesIt(t *testing.T) {
	resp, text, err := reply(t, strings.NewReader("abc"), 3, 0)
	if err != nil || text != "abc" || resp.ContentLength != 3 {
		t.Errorf("got %q, length %d, %v", text, resp.ContentLength, err)
	}
}

func TestAWebAnswerKeepsItsStatus(t *testing.T) {
	for _, status := range []int{201, 204, 304, 404, 500} {
		resp, _, err := reply(t, strings.NewReader(""), 0, status)
		if err != nil || resp.StatusCode != status || resp.Header.Get(headerUpstream) == "" {
			t.Errorf("%d became %d %q %v", status, resp.StatusCode, resp.Header.Get(headerUpstream), err)
		}
	}
}

// A break is never a short success: either the trailer says it, where the member marked the document, or the connection is cut.
func TestABreakIsNeverAShortSuccess(t *testing.T) {
	inside := errors.New("inside")
	told := gateway.Errorf(gateway.CodeQuery, "división by zero\r\nX-Forged: 1")
	for name, c := range map[string]struct {
		err     error
		length  int64
		trailer string
	}{
		"the member told it":                  {told, -1, string(gateway.CodeQuery) + ": divisi?n by zero??X-Forged: 1"},
		"the member told a time-out":          {gateway.Errorf(gateway.CodeTimeout, "over"), -1, string(gateway.CodeTimeout) + ": over"},
		"told, but the length was promised":   {told, 100, ""},
		"the tunnel broke":                    {gateway.Wrap(gateway.CodeBroken, inside, "broke"), -1, ""},
		"the time ran out on this side":       {gateway.Wrap(gateway.CodeTimeout, inside, "over"), -1, ""},
		"the tunnel broke while it wrote":     {gateway.Wrap(gateway.CodeOutcomeUnknown, inside, "once or not at all"), -1, ""},
		"broken without a cause":              {gateway.Errorf(gateway.CodeBroken, "broke"), -1, ""},
		"an error that is none of the domain": {inside, -1, ""},
	} {
		for _, text := range []string{"", "row\n", strings.Repeat("row\n", 100_000)} {
			resp, _, err := replyOrCut(t, then(text, c.err), c.length)
			if (err != nil) != (c.trailer == "") {
				t.Errorf("%s after %d bytes: reading ended with %v", name, len(text), err)
			}
			if resp != nil && resp.Trailer.Get(trailerError) != c.trailer {
				t.Errorf("%s after %d bytes: the trailer is %q", name, len(text), resp.Trailer.Get(trailerError))
			}
		}
	}
}

// replyOrCut is reply where the connection may be cut before the header arrives.
func replyOrCut(t *testing.T, body io.Reader, length int64) (*http.Response, string, error) {
	t.Helper()
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		return streamed(c, &service.Response{Length: length, Body: io.NopCloser(body), Summary: func() gateway.Summary { return gateway.Summary{} }})
	})
	server := httptest.NewServer(e)
	defer server.Close()
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp, string(text), err
}

// What the member sends arrives before it sends more.
func TestAnAnswerIsPassedOnAsItComes(t *testing.T) {
	body, member := io.Pipe()
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		return streamed(c, &service.Response{Length: -1, Body: body, Summary: func() gateway.Summary { return gateway.Summary{} }})
	})
	server := httptest.NewServer(e)
	defer server.Close()
	go func() { _, _ = member.Write([]byte("first")) }()
	resp, err := server.Client().Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got := make([]byte, 5)
	if _, err := io.ReadFull(resp.Body, got); err != nil || string(got) != "first" {
		t.Fatalf("got %q %v while the member was still at work", got, err)
	}
	member.Close()
	if rest, err := io.ReadAll(resp.Body); err != nil || len(rest) != 0 {
		t.Errorf("the end is %q %v", rest, err)
	}
}

func BenchmarkStream(b *testing.B) {
	const size = 64 << 20
	e := echo.New()
	e.GET("/", func(c echo.Context) error {
		return streamed(c, &service.Response{Length: -1, Body: io.NopCloser(io.LimitReader(zeros{}, size)), Summary: func() gateway.Summary { return gateway.Summary{} }})
	})
	server := httptest.NewServer(e)
	defer server.Close()
	b.SetBytes(size)
	for b.Loop() {
		resp, err := server.Client().Get(server.URL)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func streamed(c echo.Context, r *service.Response) error { return stream(c, r, time.Now) }
