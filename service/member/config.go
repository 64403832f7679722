package member

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"comporta/service/gateway"
)

// maxConfig bounds the configuration file, in bytes.
const maxConfig = 4 << 20

// section is where the settings stand in the file. Source: reference F.1.
const section = "Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.GatewayCoreSettings"

// Older names of settings, which files in the field still have.
const (
	olderWindow      = "ResourceUtilizationAggregateionPeriodInMinutes" // spelled so
	olderConcurrency = "ConcurrentOperationLimitPreview"
	bypass           = "BypassConcurrentOperationLimit"
)

// configFile is the part of the XML that is read; everything else is passed over.
type configFile struct {
	ApplicationSettings struct {
		Sections []struct {
			XMLName  xml.Name
			Settings []struct {
				Name  string  `xml:"name,attr"`
				Value *string `xml:"value"`
			} `xml:"setting"`
		} `xml:",any"`
	} `xml:"applicationSettings"`
}

// ReadConfig reads the limits from a member's Microsoft.PowerBI.DataMovement.Pipeline.GatewayCore.dll.config. A setting that is missing
// or empty is not set; a bad value is an error that names the setting and its range. No path is no file: nothing is set.
func ReadConfig(path string) (gateway.Limits, error) {
	if path == "" {
		return gateway.Limits{}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return gateway.Limits{}, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return gateway.Limits{}, fmt.Errorf("the configuration file cannot be read: %w", err)
	}
	if len(text) > maxConfig {
		return gateway.Limits{}, fmt.Errorf("%s is larger than %d MiB; is it the right file?", path, maxConfig>>20)
	}
	limits, err := parseConfig(text)
	if err != nil {
		return gateway.Limits{}, fmt.Errorf("%s: %w", path, err)
	}
	return limits, nil
}

func parseConfig(text []byte) (gateway.Limits, error) {
	var file configFile
	decoder := xml.NewDecoder(strings.NewReader(strings.TrimPrefix(string(text), "\ufeff")))
	decoder.CharsetReader = func(string, io.Reader) (io.Reader, error) { return nil, errors.New("the file must be UTF-8") }
	if err := decoder.Decode(&file); err != nil {
		return gateway.Limits{}, fmt.Errorf("not a configuration file: %w", err)
	}
	found := map[string]string{}
	for _, s := range file.ApplicationSettings.Sections {
		if s.XMLName.Local != section {
			continue
		}
		for _, setting := range s.Settings {
			if setting.Value != nil && strings.TrimSpace(*setting.Value) != "" {
				found[setting.Name] = strings.TrimSpace(*setting.Value)
			}
		}
	}
	return limitsFrom(found)
}

// limitsFrom reads the settings; of two names for one, the present one wins.
func limitsFrom(found map[string]string) (gateway.Limits, error) {
	var l gateway.Limits
	for _, rule := range []struct {
		names    []string
		min, max int
		to       **int
	}{
		{[]string{gateway.SettingCPU}, 0, 100, &l.CPU},
		{[]string{gateway.SettingMemory}, 0, 100, &l.Memory},
		{[]string{gateway.SettingWindow, olderWindow}, 1, 60, &l.WindowMinutes},
		{[]string{gateway.SettingConcurrency, olderConcurrency}, 0, gateway.MaxConcurrency, &l.Concurrency},
	} {
		for _, name := range rule.names {
			text, ok := found[name]
			if !ok || *rule.to != nil {
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil || n < rule.min || n > rule.max {
				return l, gateway.Errorf(gateway.CodeInvalid, "%s is %q; it must be a whole number between %d and %d.", name, clip(text), rule.min, rule.max)
			}
			*rule.to = &n
		}
	}
	return l, applyBypass(&l, found[bypass])
}

// applyBypass switches the concurrency limit off when the setting says so.
func applyBypass(l *gateway.Limits, text string) error {
	switch {
	case text == "" || strings.EqualFold(text, "false"):
	case strings.EqualFold(text, "true"):
		l.Concurrency = new(int)
	default:
		return gateway.Errorf(gateway.CodeInvalid, "%s is %q; it must be True or False.", bypass, clip(text))
	}
	return nil
}

// clip keeps a text that came from elsewhere short enough to be shown.
func clip(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
