package api_test

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// browser starts a headless Chromium.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		absent(t, "chromium", exec.ErrNotFound)
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.UserDataDir(t.TempDir()), chromedp.WindowSize(1400, 2000),
		chromedp.Flag("disable-gpu", true), chromedp.Flag("disable-quic", true), chromedp.Flag("no-first-run", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// A person opens Swagger UI, authorises with client id and secret, and tries a call.
func TestAPersonTriesACallInSwaggerUI(t *testing.T) {
	ctx := browser(t)
	w := newWorld(t)
	w.joined()
	for i, step := range []chromedp.Action[chromedp.Void]{
		chromedp.Navigate(w.url + "/swagger/"),
		chromedp.WaitVisible(".btn.authorize"),
		chromedp.Click(".btn.authorize"),
		chromedp.WaitVisible("#client_id_application, #client_id_clientCredentials, input[id^=client_id]"),
		chromedp.SendKeys("input[id^=client_id]", w.adminID),
		chromedp.SendKeys("input[id^=client_secret]", w.adminSecret),
		chromedp.Click(".auth-btn-wrapper .btn.authorize"),
		chromedp.WaitVisible(`//button[text()="Logout"]`),
		chromedp.Click(".auth-btn-wrapper .btn-done"),
		chromedp.WaitVisible(`[id^="operations-clusters-get"]`),
		chromedp.Click(`//span[@data-path="/v2.0/myorg/gatewayClusters"]/ancestor::div[contains(@class,"opblock-get")]//button[contains(@class,"opblock-summary-control")]`),
		chromedp.WaitVisible(".btn.execute"),
		chromedp.Click(".btn.execute"),
		chromedp.WaitVisible(".live-responses-table .response-col_status"),
	} {
		if _, err := chromedp.Run(ctx, step); err != nil {
			t.Fatalf("step %d: %v", i+1, err)
		}
	}
	answer, err := chromedp.Run(ctx, chromedp.Text(".live-responses-table"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(answer, "200") || !strings.Contains(answer, w.cluster) {
		t.Errorf("the call answered %.500s", answer)
	}
}
