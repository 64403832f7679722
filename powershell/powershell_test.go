// Package powershell runs the tests of the PowerShell module: Pester against the built service, and what is better checked from Go.
package powershell

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"comporta/persistence"
	"comporta/service/credential"
	"comporta/service/gateway"
)

// patience bounds one run of PowerShell; it is long because the machine may be busy.
const patience = 10 * time.Minute

// postgresAddress is the PostgreSQL server of all tests.
const postgresAddress = "127.0.0.1:5432"

// need skips the test when something outside is absent, or fails it when COMPORTA_TEST_REQUIRE names it.
func need(t testing.TB, what string, err error) {
	t.Helper()
	if err == nil {
		return
	}
	for _, required := range strings.Split(os.Getenv("COMPORTA_TEST_REQUIRE"), ",") {
		if strings.TrimSpace(required) == what {
			t.Fatalf("%s is required and absent: %v", what, err)
		}
	}
	t.Skipf("%s is absent: %v", what, err)
}

// environment is what every PowerShell starts with: no setting of ours, and the colours off.
func environment(extra ...string) []string {
	env := []string{"NO_COLOR=1", "TERM=dumb"}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "COMPORTA_") || strings.HasPrefix(entry, "COMPORTA_TOOLS_") {
			env = append(env, entry)
		}
	}
	return append(env, extra...)
}

// pwsh runs a command and returns its output. Whatever it started ends with it.
func pwsh(t *testing.T, env []string, command string) string {
	t.Helper()
	program, err := exec.LookPath("pwsh")
	need(t, "pwsh", err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-NoProfile", "-NonInteractive", "-Command", command)
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = environment(env...), &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = time.Second
	group := func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.Cancel = group
	err = cmd.Run()
	if cmd.Process != nil {
		_ = group()
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		t.Fatalf("pwsh: %v\n%s", err, out.String())
	}
	return out.String()
}

// build makes the service's binary, once for all tests.
func build(t *testing.T) string {
	t.Helper()
	_, err := exec.LookPath("pwsh")
	need(t, "pwsh", err)
	if err := built(); err != nil {
		t.Fatal(err)
	}
	return binary
}

var (
	// binary is where build puts it; TestMain takes it away.
	binary string
	built  = sync.OnceValue(func() error {
		cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, "./cmd/comporta")
		cmd.Dir = ".."
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("the service does not build: %w\n%s", err, out)
		}
		return nil
	})
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "comporta-powershell")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "comporta")
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// postgres says where the PostgreSQL of the tests is; "" when there is none and none is required.
func postgres(t *testing.T) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", postgresAddress, time.Second)
	if err == nil {
		conn.Close()
		return postgresAddress
	}
	if strings.Contains(os.Getenv("COMPORTA_TEST_REQUIRE"), "postgres") {
		t.Fatalf("postgres is required and absent: %v", err)
	}
	return ""
}

func TestPester(t *testing.T) {
	env := []string{"COMPORTA_TEST_BINARY=" + build(t), "COMPORTA_TEST_POSTGRES=" + postgres(t)}
	files, err := filepath.Glob("tests/*.Tests.ps1")
	if err != nil || len(files) == 0 {
		t.Fatalf("no Pester tests found: %v", err)
	}
	for _, file := range files {
		if file != longLists {
			t.Run(filepath.Base(file), func(t *testing.T) { t.Log(pester(t, file, env)) })
		}
	}
}

// longLists wants a service that was filled beforehand.
const longLists = "tests/Many.Tests.ps1"

// pester runs one file of tests.
func pester(t *testing.T, file string, env []string) string {
	t.Helper()
	return pwsh(t, env, `$c = New-PesterConfiguration; $c.Run.Path = '`+file+`'; $c.Run.Exit = $true; $c.Output.Verbosity = 'Detailed'; $c.Output.RenderMode = 'Plaintext'
		Invoke-Pester -Configuration $c`)
}

// The example in the repository's README is the file that a Pester test runs.
func TestExampleInREADME(t *testing.T) {
	const fence = "```"
	example, err := os.ReadFile("examples/TwoMemberCluster.ps1")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), fence+"powershell\n"+string(example)+fence+"\n") {
		t.Error("README.md does not show examples/TwoMemberCluster.ps1 as it is")
	}
	if lines := strings.Count(string(example), "\n"); lines > 30 {
		t.Errorf("the example has %d lines; thirty were promised", lines)
	}
}

// What PowerShell encrypts, members open: keys of three sizes, names and passwords of all kinds, and nothing at all.
func TestEnvelopesOpen(t *testing.T) {
	want := map[string]string{"username": "Zoë\\Ünal", "password": "pä\"ss\\wörd ✓ 漢字 🔑 <&>'"}
	script := "Import-Module ./Comporta/Comporta.psd1\n& (Get-Module Comporta) {\n"
	var keys []*rsa.PrivateKey
	for _, bits := range []int{2048, 3072, 4096} {
		key, err := rsa.GenerateKey(rand.Reader, bits)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, key)
		for _, pairs := range []string{"[ordered] @{ username = $env:TEST_NAME; password = $env:TEST_PASSWORD }", "[ordered] @{}"} {
			script += fmt.Sprintf("Protect-GatewayCredential (%s) '%s' '%s'\n", pairs, base64.StdEncoding.EncodeToString(key.N.Bytes()),
				base64.StdEncoding.EncodeToString(big.NewInt(int64(key.E)).Bytes()))
		}
	}
	out := pwsh(t, []string{"TEST_NAME=" + want["username"], "TEST_PASSWORD=" + want["password"]}, script+"}")
	envelopes := strings.Fields(out)
	if len(envelopes) != 2*len(keys) {
		t.Fatalf("got %s", out)
	}
	for i, key := range keys {
		bits := key.N.BitLen()
		for j, expected := range []map[string]string{want, {}} {
			envelope := envelopes[2*i+j]
			if err := credential.CheckForm(bits/8, envelope); err != nil {
				t.Errorf("%d bits: %v", bits, err)
			}
			got, err := credential.Open(key, envelope)
			if err != nil || !maps.Equal(got, expected) {
				t.Errorf("%d bits: %v, %v", bits, got, err)
			}
		}
	}
}

// many is how many clusters the long list has.
const many = 5001

// lucky are the numbers of clusters on which some applications have a role: those where lists of pages go wrong.
var lucky = []int{1, 100, 101, 200, 201, 1001}

// R45: the list is complete, each id once, and so it stays while others insert and delete.
func TestR45ThousandsOfClusters(t *testing.T) {
	binary, dir := build(t), t.TempDir()
	admin := uuid.NewString()
	login := []string{"COMPORTA_ADMIN_ID=" + admin, "COMPORTA_ADMIN_SECRET=the-secret-of-the-admin-4711"}
	stop, _ := serve(t, binary, dir, login)
	stop()
	fill(t, dir, gateway.ID(admin))
	_, address := serve(t, binary, dir, login)
	t.Log(pester(t, longLists, []string{"COMPORTA_ENDPOINT=" + address, "COMPORTA_CLIENT_ID=" + admin, "COMPORTA_CLIENT_SECRET=the-secret-of-the-admin-4711",
		fmt.Sprintf("COMPORTA_TEST_MANY=%d", many)}))
}

// serve starts a service on the folder and returns how to stop it and its address.
func serve(t *testing.T, binary, dir string, env []string) (stop func(), address string) {
	t.Helper()
	cmd := exec.Command(binary, "serve", "--data", dir, "--listen", "127.0.0.1:0")
	cmd.Env = environment(env...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	t.Cleanup(stop)
	var said bytes.Buffer
	for buffer := make([]byte, 1024); ; {
		n, err := out.Read(buffer)
		said.Write(buffer[:n])
		if _, rest, ok := strings.Cut(said.String(), "listening on "); ok && strings.ContainsAny(rest, " \n") {
			return stop, strings.FieldsFunc(rest, func(c rune) bool { return c == ' ' || c == '\n' })[0]
		}
		if err != nil {
			t.Fatalf("the service ended: %s", said.String())
		}
	}
}

// fill writes clusters straight into the state: making so many keys would take minutes.
func fill(t *testing.T, dir string, admin gateway.ID) {
	t.Helper()
	store, err := persistence.Open(t.Context(), persistence.Config{DataDir: dir, Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	modulus := make([]byte, 256)
	_, _ = rand.Read(modulus)
	key := gateway.ClusterKey{Modulus: modulus, Exponent: []byte{1, 0, 1}, Salt: modulus[:16], Time: 1, Memory: 64, Threads: 1, VerifierHash: modulus[:32], Sealed: modulus}
	err = store.InTx(t.Context(), func(tx persistence.Tx) error {
		var clusters []gateway.ID
		for i := range many {
			id, name, at := gateway.ID(uuid.NewString()), fmt.Sprintf("cluster %d", i), tx.Now().Add(time.Duration(i)*time.Millisecond)
			if err := errors.Join(
				tx.CreateCluster(t.Context(), gateway.Cluster{ID: id, PrimaryID: id, Name: name, Region: "home", Mode: gateway.Failover, Key: key, CreatedAt: at}),
				tx.CreateMember(t.Context(), gateway.Member{ID: id, ClusterID: id, Name: name, State: gateway.MemberEnabled, CreatedAt: at}),
				tx.PutPermission(t.Context(), gateway.Permission{ClusterID: id, PrincipalID: admin, Role: gateway.ClusterAdmin, CreatedAt: at}),
			); err != nil {
				return err
			}
			clusters = append(clusters, id)
		}
		return grant(t.Context(), tx, admin, clusters)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// grant makes the lucky applications, with the administrator's secret, and gives each a role on the first clusters.
func grant(ctx context.Context, tx persistence.Tx, admin gateway.ID, clusters []gateway.ID) error {
	secrets, err := tx.Secrets(ctx, admin)
	if err != nil {
		return err
	}
	for _, n := range lucky {
		id := gateway.ID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n))
		secret := secrets[0]
		secret.ID, secret.PrincipalID = gateway.ID(uuid.NewString()), id
		if err := errors.Join(
			tx.CreatePrincipal(ctx, gateway.Principal{ID: id, Kind: gateway.App, Name: fmt.Sprint("lucky ", n), CreatedAt: tx.Now()}),
			tx.PutSecret(ctx, secret),
		); err != nil {
			return err
		}
		for _, cluster := range clusters[:n] {
			if err := tx.PutPermission(ctx, gateway.Permission{ClusterID: cluster, PrincipalID: id, Role: gateway.ClusterAdmin, CreatedAt: tx.Now()}); err != nil {
				return err
			}
		}
	}
	return nil
}
