package powerbi

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"comporta/api/rest"
	"comporta/service"
	"comporta/service/gateway"
)

// EnrolmentBeginRequest asks with which salt and cost to derive the verifier.
type EnrolmentBeginRequest struct {
	EnrolmentToken string `json:"enrolmentToken" required:"true" validate:"required"`
}

// KeyDerivation is the Argon2id input beside the recovery key.
type KeyDerivation struct {
	Salt    []byte `json:"salt" swaggertype:"string" format:"byte"`
	Time    uint32 `json:"time"`
	Memory  uint32 `json:"memory"`
	Threads uint8  `json:"threads"`
}

func derivation(k gateway.ClusterKey) KeyDerivation {
	return KeyDerivation{k.Salt, k.Time, k.Memory, k.Threads}
}

// BeginEnrolment is a machine's first step.
//
//	@Summary	Begin an enrolment
//	@Tags		enrolment
//	@Accept		json
//	@Produce	json
//	@Param		body	body		EnrolmentBeginRequest	true	"the token"
//	@Success	200		{object}	KeyDerivation
//	@Failure	400,401,408,413	{object}	ErrorResponse
//	@Router		/enrolment/begin [post]
func (h *Handlers) BeginEnrolment(c echo.Context) error {
	var r EnrolmentBeginRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	key, err := h.Service.Members.BeginEnrolment(c.Request().Context(), r.EnrolmentToken)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, derivation(key))
}

// EnrolmentCompleteRequest makes a machine the member.
type EnrolmentCompleteRequest struct {
	EnrolmentToken string `json:"enrolmentToken" required:"true" validate:"required"`
	// Verifier proves knowledge of the recovery key without sending it.
	Verifier []byte `json:"verifier" required:"true" validate:"required" swaggertype:"string" format:"byte"`
	// PublicKey is the machine's own Ed25519 key.
	PublicKey []byte `json:"publicKey" required:"true" validate:"required" swaggertype:"string" format:"byte"`
	Version   string `json:"version"`
	Machine   string `json:"machine"`
}

// Enrolled is what the machine gets: all it needs to unseal the cluster's private key by itself.
type Enrolled struct {
	ClusterID   gateway.ID `json:"clusterId"`
	ClusterName string     `json:"clusterName"`
	MemberID    gateway.ID `json:"memberId"`
	MemberName  string     `json:"memberName"`
	Key         SealedKey  `json:"key"`
}

// SealedKey is the cluster's key pair, the private half sealed with the recovery key.
type SealedKey struct {
	Modulus  []byte `json:"modulus" swaggertype:"string" format:"byte"`
	Exponent []byte `json:"exponent" swaggertype:"string" format:"byte"`
	KeyDerivation
	Sealed []byte `json:"sealed" swaggertype:"string" format:"byte"`
}

// CompleteEnrolment is a machine's second step.
//
//	@Summary	Complete an enrolment
//	@Tags		enrolment
//	@Accept		json
//	@Produce	json
//	@Param		body	body		EnrolmentCompleteRequest	true	"proof and key"
//	@Success	200		{object}	Enrolled
//	@Failure	400,401,403,408,413,429	{object}	ErrorResponse
//	@Router		/enrolment/complete [post]
func (h *Handlers) CompleteEnrolment(c echo.Context) error {
	var r EnrolmentCompleteRequest
	if err := rest.Decode(c, &r); err != nil {
		return err
	}
	e, err := h.Service.Members.CompleteEnrolment(c.Request().Context(), rest.Caller(c), r.EnrolmentToken,
		service.Machine{Verifier: r.Verifier, PublicKey: r.PublicKey, Version: r.Version, Name: r.Machine})
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, Enrolled{e.ClusterID, e.ClusterName, e.MemberID, e.MemberName,
		SealedKey{e.Key.Modulus, e.Key.Exponent, derivation(e.Key), e.Key.Sealed}})
}
