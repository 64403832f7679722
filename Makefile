.PHONY: build test generate lint demo bench faults soak

build: ; go build -o bin/comporta ./cmd/comporta
test: ; go test -race -shuffle=on ./...
generate: ; go generate ./openapi
lint: ; golangci-lint run
demo: ; go run ./cmd/comporta demo
bench: build ; bin/comporta bench dispatch && bin/comporta bench api
faults: ; COMPORTA_FAULTS=1 COMPORTA_TEST_REQUIRE=postgres,netns go test -race -count=1 -timeout 10m -run "^TestFaults$$" ./cmd/faults
soak: ; COMPORTA_SOAK=$${COMPORTA_SOAK:-1h} COMPORTA_TEST_REQUIRE=postgres,netns go test -race -count=1 -timeout 0 -v -run "^(TestSoak|TestR81.*)$$" ./cmd/faults
