// Package faults breaks the product on purpose: the real binary, real members on lines of their own, a real database, and one fault at a time.
package faults
