// Package credential makes and opens the envelope in which clients send data source credentials: encrypted with the cluster's public
// key, so that only members can read them. The service stores envelopes and checks their form, which needs no private key.
//
// Inside is a small JSON text of name and value pairs. Around it stands one of these forms (k is the length of the modulus in bytes):
//
//   - Form 1, for k = 128 only: the text in segments of 85 bytes under RSA-OAEP with SHA-1, or of 60 bytes with SHA-256; the blocks one
//     after the other in one base64 text.
//   - Form 2, for larger keys: a fresh AES and a fresh HMAC key under RSA-OAEP with SHA-256, and the text under AES-256-CBC and HMAC; the
//     two in base64, one after the other without a separator.
//   - Form 0, old, for any key: as form 1 with segments of k−42 bytes and SHA-1.
//
// Forms 0 and 2 cannot be mistaken for each other: the part behind the first block is a multiple of 16 bytes long in form 0 and two
// more than one in form 2. Blocks of forms 0 and 1 are not tied to each other, so whoever can change a stored envelope can leave out or
// swap whole ones; Open at least demands that every segment but the last is full. Form 2 has no such gap.
//
// It imports gateway and the standard library.
package credential
