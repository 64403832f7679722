.PHONY: build test generate lint demo bench

build: ; go build -o bin/comporta ./cmd/comporta
test: ; go test -race -shuffle=on ./...
generate: ; go generate ./openapi
lint: ; golangci-lint run
demo: ; go run ./cmd/comporta demo
bench: build ; bin/comporta bench dispatch && bin/comporta bench api
