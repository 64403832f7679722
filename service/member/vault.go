package member

import (
	"crypto/rsa"
	"strings"
	"sync"

	"comporta/service/credential"
	"comporta/service/gateway"
)

// maxOpened bounds how many data sources' credentials are kept open: all that one cluster may have.
const maxOpened = gateway.MaxDataSources

// vault opens envelopes with the cluster's private key, which takes about a millisecond, and remembers what was in the newest envelope
// of each data source. A changed envelope is opened at once, whatever its version says.
type vault struct {
	key *rsa.PrivateKey
	mu  sync.Mutex
	// opened by data source.
	opened map[gateway.ID]openedCredential
}

// openedCredential is what was in an envelope.
type openedCredential struct {
	envelope    string
	credentials gateway.Credentials
}

func newVault(key *rsa.PrivateKey) *vault {
	return &vault{key: key, opened: map[gateway.ID]openedCredential{}}
}

// open returns the credentials of a data source, none when there is no envelope. Errors are CodeDataSourceCredentials. The caller must
// not change what it gets.
func (v *vault) open(source *gateway.TaskSource) (gateway.Credentials, error) {
	envelope := source.Credential.Envelope
	if envelope == "" {
		return gateway.Credentials{}, nil
	}
	v.mu.Lock()
	known, ok := v.opened[source.ID]
	v.mu.Unlock()
	if ok && known.envelope == envelope {
		return known.credentials, nil
	}
	opened, err := credential.Open(v.key, envelope)
	if err != nil {
		return nil, err
	}
	v.keep(gateway.ID(strings.Clone(string(source.ID))), openedCredential{strings.Clone(envelope), opened})
	return opened, nil
}

// keep remembers one more; when there are too many, any other is forgotten.
func (v *vault) keep(id gateway.ID, opened openedCredential) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.opened[id]; !known && len(v.opened) >= maxOpened {
		for other := range v.opened {
			delete(v.opened, other)
			break
		}
	}
	v.opened[id] = opened
}
