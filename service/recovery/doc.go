// Package recovery seals the cluster's RSA private key under a recovery key and opens it again.
//
// Argon2id makes 64 bytes of the recovery key: 32 are the sealing key, 32 the verifier. The service keeps the salt, the parameters,
// SHA-256 of the verifier and the private key sealed with XChaCha20-Poly1305; it never keeps the recovery key or the private key. So it
// can tell a right recovery key from a wrong one, but cannot open anything. A member gets the same gateway.ClusterKey and opens it by
// itself, with the recovery key typed on its machine.
//
// A recovery key is text: valid UTF-8, 8 characters (code points) or more, 1,024 bytes or less. It counts byte for byte: nothing is
// trimmed and nothing normalised. The standard library cannot normalise, so a text that one keyboard enters composed (é as one code
// point) and another decomposed (e and an accent) makes two different recovery keys; who wants to type it on several systems chooses
// ASCII.
//
// Keys are wiped after use as far as Go allows: the garbage collector may have copied them. The caller wipes the recovery key.
//
// It imports gateway, the standard library and golang.org/x/crypto.
package recovery
