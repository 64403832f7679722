package fabric

import (
	"strings"

	"comporta/service/gateway"
)

// oneOf finds a word in any letter case; the error lists what there is.
func oneOf[T ~string](property, text string, all ...T) (T, error) {
	names := make([]string, len(all))
	for i, w := range all {
		if strings.EqualFold(string(w), text) {
			return w, nil
		}
		names[i] = string(w)
	}
	return "", gateway.Errorf(gateway.CodeInvalid, "%s: %q is none of %s.", property, text, strings.Join(names, ", "))
}

// translated finds the word of ours for a word of Fabric's, given as pairs (Fabric's, ours).
func translated(property, text string, pairs [][2]string) (string, error) {
	names := make([]string, len(pairs))
	for i, p := range pairs {
		if strings.EqualFold(p[0], text) {
			return p[1], nil
		}
		names[i] = p[0]
	}
	_, err := oneOf(property, text, names...)
	return "", err
}

// shown finds Fabric's word for a word of ours; one that has no other is shown as it is.
func shown(word string, pairs [][2]string) string {
	for _, p := range pairs {
		if p[1] == word {
			return p[0]
		}
	}
	return word
}

// Fabric's words beside ours, where a set of words differs.
var (
	roleWords = [][2]string{{"Admin", string(gateway.ClusterAdmin)}, {"ConnectionCreatorWithResharing", string(gateway.ConnectionCreatorReshare)},
		{"ConnectionCreator", string(gateway.ConnectionCreator)}, {"ConnectionCreatorWithReshare", string(gateway.ConnectionCreatorReshare)}}
	kindWords = [][2]string{{"User", string(gateway.User)}, {"ServicePrincipal", string(gateway.App)}, {"Group", string(gateway.Group)}}
	signWords = [][2]string{{"None", "None"}, {"Kerberos", "Kerberos"}, {"MicrosoftEntraID", "AzureActiveDirectory"}, {"SecurityAssertionMarkupLanguage", "SAML"},
		{"KerberosDirectQueryAndRefresh", "KerberosDirectQueryAndRefresh"}}

	credentialWords = [][2]string{{"Basic", "Basic"}, {"Windows", "Windows"}, {"Anonymous", "Anonymous"}, {"Key", "Key"}, {"OAuth2", "OAuth2"}, {"SharedAccessSignature", "SAS"},
		{"ServicePrincipal", "ServicePrincipal"}, {"WindowsWithoutImpersonation", "WindowsWithoutImpersonation"}}
)
