package service

import (
	"testing"
	"time"

	"comporta/service/gateway"
)

func TestIdsOfRecordsAreInTheOrderOfTime(t *testing.T) {
	const random = gateway.ID("0f8fad5b-d9cb-469f-a165-70867728950e")
	at := time.UnixMilli(0x0190_1234_5678)
	if got := inOrder(random, at); got != "01901234-5678-769f-a165-70867728950e" {
		t.Error(got)
	}
	if earlier, later := inOrder(random, at), inOrder(random, at.Add(time.Millisecond)); earlier >= later {
		t.Error(earlier, later)
	}
	if _, ok := gateway.ParseID(inOrder(random, at).String()); !ok {
		t.Error("no id")
	}
}
