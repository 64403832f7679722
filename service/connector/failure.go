package connector

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"

	"comporta/service/gateway"
)

// contextFailure says why ctx ended, nil while it has not.
func contextFailure(ctx context.Context) *gateway.Error {
	switch err := ctx.Err(); {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return gateway.Errorf(gateway.CodeTimeout, "The request ran out of its time and was cancelled on the data source.")
	default:
		return gateway.Errorf(gateway.CodeBroken, "The request was cancelled because its caller went away.")
	}
}

// accessFailure is a data source that does not answer. where is its address as the administrator registered it.
func accessFailure(where string, err error) *gateway.Error {
	return gateway.Wrap(gateway.CodeDataSourceAccess, err, "The data source at %s cannot be reached: %s.", where, networkReason(err))
}

// errAsked marks a failure after the request, or a part of it, had left for the data source.
var errAsked = errors.New("the data source had been asked")

// asked marks err; nil stays nil.
func asked(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errAsked, err)
}

// neverReached holds for the cause of an access failure before which nothing was asked of the data source, so that even a request that
// writes may go to another member. A refusal in the data source's own words has no cause: others would hear the same. A dial that fails
// says nothing when it is not the first one: what followed a redirect or a broken connection comes after a request that ran.
func neverReached(cause error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	var connect *pgconn.ConnectError
	if errors.Is(cause, errAsked) {
		return false
	}
	return errors.As(cause, &dial) && dial.Op == "dial" || errors.As(cause, &dns) || errors.As(cause, &connect) || errors.Is(cause, errDead)
}

// encryptionAdvice is what an administrator can do about a certificate.
const encryptionAdvice = "; let the members' machines trust it, or set encryptedConnection to Any (not checked) or NotEncrypted"

// networkReason says in words of its own why a connection failed. It repeats no text that could hold a secret.
func networkReason(err error) string {
	var (
		dns       *net.DNSError
		unknownCA x509.UnknownAuthorityError
		hostname  x509.HostnameError
		invalid   x509.CertificateInvalidError
		verify    *tls.CertificateVerificationError
		alert     tls.AlertError
		record    tls.RecordHeaderError
		network   net.Error
	)
	switch {
	case errors.As(err, &dns):
		return "unknown host " + dns.Name
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection was reset"
	case errors.As(err, &unknownCA):
		return "TLS: its certificate is signed by an unknown authority" + encryptionAdvice
	case errors.As(err, &hostname):
		return "TLS: its certificate is for another name" + encryptionAdvice
	case errors.As(err, &invalid), errors.As(err, &verify):
		return "TLS: its certificate is not valid"
	case errors.As(err, &alert), errors.As(err, &record):
		return "TLS was refused"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "it did not answer in time"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return "it closed the connection"
	}
	return "the connection failed"
}

// hideSecrets removes credentials that a data source may have echoed in its own messages. A cause that holds one is dropped.
func hideSecrets(e *gateway.Error, creds gateway.Credentials) {
	for name, secret := range creds {
		if secret == "" || strings.EqualFold(name, "username") {
			continue
		}
		// Such short texts occur in any sentence; replacing them would say more than it hides.
		if len(secret) >= 4 {
			e.Message = strings.ReplaceAll(e.Message, secret, "***")
			for i := range e.Details {
				e.Details[i].Message = strings.ReplaceAll(e.Details[i].Message, secret, "***")
			}
		}
		if e.Cause != nil && strings.Contains(e.Cause.Error(), secret) {
			e.Cause = nil
		}
	}
}
