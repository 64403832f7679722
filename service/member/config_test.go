package member

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"comporta/service/gateway"
)

// file wraps settings the way the real file does, with a BOM, comments and other sections around.
func file(settings string) string {
	return "\ufeff" + `<?xml version="1.0" encoding="utf-8"?>
<configuration>
  <!-- kept by hand -->
  <startup><supportedRuntime version="v4.0"/></startup>
  <applicationSettings>
    <Other.Section><setting name="CPUUtilizationPercentageThreshold" serializeAs="String"><value>1</value></setting></Other.Section>
    <Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings>
      <setting name="SpoolerDirectory" serializeAs="String"><value>D:\spool</value></setting>
      ` + settings + `
      <!-- <setting name="MemoryUtilizationPercentageThreshold"><value>3</value></setting> -->
    </Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings>
  </applicationSettings>
</configuration>`
}

func setting(name, value string) string {
	return `<setting name="` + name + `" serializeAs="String"><value>` + value + `</value></setting>`
}

func TestTheConfigurationFileIsRead(t *testing.T) {
	text := file(setting(gateway.SettingCPU, " 80 ") + setting(gateway.SettingMemory, "") + setting(olderWindow, "10") + setting(olderConcurrency, "30") +
		`<setting name="NoValue"/>`)
	got, err := parseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got.CPU == nil || *got.CPU != 80 || got.Memory != nil || *got.WindowMinutes != 10 || *got.Concurrency != 30 {
		t.Errorf("got %+v", got)
	}
	got, err = parseConfig([]byte(file(setting(olderConcurrency, "30") + setting(gateway.SettingConcurrency, "50"))))
	if err != nil || *got.Concurrency != 50 {
		t.Errorf("the present name wins: %+v, %v", got, err)
	}
	got, err = parseConfig([]byte(file(setting(gateway.SettingConcurrency, "50") + setting(bypass, "True"))))
	if err != nil || *got.Concurrency != 0 {
		t.Errorf("bypass: %+v, %v", got, err)
	}
	if got, err = parseConfig([]byte("<configuration/>")); err != nil || got != (gateway.Limits{}) {
		t.Errorf("an empty file: %+v, %v", got, err)
	}
}

func TestABadSettingNamesItselfAndItsRange(t *testing.T) {
	for _, c := range []struct{ text, word, more string }{
		{file(setting(gateway.SettingCPU, "101")), gateway.SettingCPU, "between 0 and 100"},
		{file(setting(gateway.SettingMemory, "-1")), gateway.SettingMemory, "between 0 and 100"},
		{file(setting(gateway.SettingWindow, "0")), gateway.SettingWindow, "between 1 and 60"},
		{file(setting(gateway.SettingConcurrency, "many")), gateway.SettingConcurrency, "whole number between 0 and 100000"},
		{file(setting(gateway.SettingConcurrency, "99999999999999999999")), gateway.SettingConcurrency, "between 0 and 100000"},
		{file(setting(olderWindow, "61")), olderWindow, "between 1 and 60"},
		{file(setting(bypass, "perhaps")), bypass, "True or False"},
		{"not xml", "configuration", ""},
	} {
		_, err := parseConfig([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.word) || !strings.Contains(err.Error(), c.more) {
			t.Errorf("%s: %v", c.word, err)
		}
	}
}

func TestTheFileIsFoundAndBounded(t *testing.T) {
	if got, err := ReadConfig(""); err != nil || got != (gateway.Limits{}) {
		t.Errorf("no file: %+v, %v", got, err)
	}
	if _, err := ReadConfig(filepath.Join(t.TempDir(), "none")); err == nil {
		t.Error("a file that is not there must stop the start")
	}
	big := filepath.Join(t.TempDir(), "big")
	if err := os.WriteFile(big, make([]byte, maxConfig+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConfig(big); err == nil || !strings.Contains(err.Error(), "larger") {
		t.Errorf("a huge file: %v", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte(file(setting(gateway.SettingCPU, "80"))))
	f.Add([]byte("<configuration><applicationSettings>"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if limits, err := parseConfig(text); err == nil && limits.Validate() != nil {
			t.Errorf("limits out of range were taken: %+v", limits)
		}
	})
}
