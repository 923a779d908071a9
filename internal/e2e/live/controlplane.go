// Package live runs a control plane on this machine: etcd, an API server, a controller manager, an
// OCI registry and Crossplane with its RBAC, as plain processes on loopback, and the function as
// Crossplane calls it, over mTLS. Only the package runtime is simulated, because there are no
// containers: the function is a process, and its Service is a proxy.
//
// The inputs are paths of programs; the results are a client of the API server and processes that
// can be killed. All state is in one folder, and is deleted with it.
package live

import (
	"context"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/crossplane-contrib/function-export/internal/e2e"
)

// namespace is the namespace of Crossplane.
const namespace = "crossplane-system"

// A ControlPlane is a running control plane.
type ControlPlane struct {
	*Client

	Etcd, APIServer, ControllerManager, Registry, Crossplane, RBACManager *Process

	// RegistryAddress is the address of the registry for packages.
	RegistryAddress string

	dir      string
	programs e2e.ControlPlane
	peers    e2e.Peers
	ca       *authority
	ports    map[string]int
	progress func(text string)
}

// Start starts a control plane with its state in a folder, and reports its progress. Stop it even
// after an error.
func Start(ctx context.Context, dir string, peers e2e.Peers, programs e2e.ControlPlane,
	progress func(text string)) (*ControlPlane, error) {
	c := &ControlPlane{dir: dir, peers: peers, programs: programs, progress: progress, ports: map[string]int{}}

	for _, name := range []string{"etcd", "etcd-peer", "apiserver", "controller-manager", "metrics", "health"} {
		port, err := freePort(ctx)
		if err != nil {
			return c, err
		}

		c.ports[name] = port
	}

	for _, step := range []struct {
		what string
		do   func(ctx context.Context) error
	}{
		{"certificates", c.makeCertificates},
		{"etcd", c.startEtcd},
		{"the API server", c.startAPIServer},
		{"the controller manager and the registry", c.startControllers},
		{"Crossplane's RBAC and CRDs", c.applyChart},
		{"Crossplane", c.startCrossplane},
	} {
		progress("starting " + step.what)

		if err := step.do(ctx); err != nil {
			return c, fmt.Errorf("cannot start %s: %w", step.what, err)
		}
	}

	return c, nil
}

// processes returns the created processes, in the order in which they are stopped.
func (c *ControlPlane) processes() []*Process {
	all := []*Process{c.Crossplane, c.RBACManager, c.Registry, c.ControllerManager, c.APIServer, c.Etcd}

	return slices.DeleteFunc(all, func(p *Process) bool { return p == nil })
}

// Stop stops all processes.
func (c *ControlPlane) Stop() {
	for _, p := range c.processes() {
		p.Stop(2 * time.Second)
	}
}

// Logs returns the last lines of the log of each process, and whether it runs.
func (c *ControlPlane) Logs() string {
	var all strings.Builder

	for _, p := range c.processes() {
		fmt.Fprintf(&all, "--- %s, running: %t\n%s\n", p.Name, p.Running(), p.tail())
	}

	return all.String()
}

func (c *ControlPlane) process(name, program string, env []string, args ...string) *Process {
	return &Process{Name: name, program: program, args: args, env: env, log: filepath.Join(c.dir, name+".log")}
}

func (c *ControlPlane) path(name string) string { return filepath.Join(c.dir, name) }

func (c *ControlPlane) address(port string) string { return "127.0.0.1:" + strconv.Itoa(c.ports[port]) }

// users are the users of the API server, with the subjects of their certificates. If the name is the name of
// a service account, its bindings apply, and no token is needed.
func users() map[string]pkix.Name {
	account := func(name string) pkix.Name {
		return pkix.Name{
			CommonName:   "system:serviceaccount:" + namespace + ":" + name,
			Organization: []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace},
		}
	}

	return map[string]pkix.Name{
		"admin":              {CommonName: "live-admin", Organization: []string{"system:masters"}},
		"controller-manager": {CommonName: "system:kube-controller-manager"},
		"crossplane":         account("crossplane"),
		"rbac-manager":       account("rbac-manager"),
	}
}

func (c *ControlPlane) makeCertificates(context.Context) error {
	var err error
	if c.ca, err = newAuthority(); err != nil {
		return err
	}

	server, err := c.ca.sign(pkix.Name{CommonName: "kube-apiserver"}, "localhost", "kubernetes.default.svc")
	if err != nil {
		return err
	}

	accounts, err := c.ca.sign(pkix.Name{CommonName: "service-accounts"})
	if err != nil {
		return err
	}

	for name, b := range map[string][]byte{
		"ca.crt": c.ca.pem, "apiserver.crt": server.cert, "apiserver.key": server.key, "accounts.crt": accounts.cert,
		"accounts.key": accounts.key,
	} {
		if err := writeFile(c.dir, name, b); err != nil {
			return err
		}
	}

	for name, subject := range users() {
		if err := c.writeKubeconfig(name, subject); err != nil {
			return err
		}
	}

	return nil
}

func (c *ControlPlane) writeKubeconfig(name string, subject pkix.Name) error {
	p, err := c.ca.sign(subject)
	if err != nil {
		return err
	}

	config := clientcmdapi.NewConfig()
	config.Clusters["live"] = &clientcmdapi.Cluster{Server: "https://" + c.address("apiserver"),
		CertificateAuthorityData: c.ca.pem}
	config.AuthInfos["live"] = &clientcmdapi.AuthInfo{ClientCertificateData: p.cert, ClientKeyData: p.key}
	config.Contexts["live"] = &clientcmdapi.Context{Cluster: "live", AuthInfo: "live"}
	config.CurrentContext = "live"

	if err := clientcmd.WriteToFile(*config, c.path(name+".kubeconfig")); err != nil {
		return fmt.Errorf("cannot write kubeconfig: %w", err)
	}

	return nil
}

// Kubeconfig returns the path of the kubeconfig of an administrator.
func (c *ControlPlane) Kubeconfig() string { return c.path("admin.kubeconfig") }

func (c *ControlPlane) startEtcd(ctx context.Context) error {
	client, peer := "http://"+c.address("etcd"), "http://"+c.address("etcd-peer")
	c.Etcd = c.process("etcd", c.programs.Etcd, nil, "--name=live", "--data-dir="+c.path("etcd"), "--log-level=warn",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=live="+peer,
		"--unsafe-no-fsync")

	if err := c.Etcd.Start(); err != nil {
		return err
	}

	return c.WaitForEtcd(ctx)
}

// healthy returns an error unless the status of the response is 200.
func healthy(ctx context.Context, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("cannot make a request: %w", err)
	}

	rsp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer rsp.Body.Close() //nolint:errcheck // Nothing is read of it.

	if rsp.StatusCode != http.StatusOK {
		return errors.New(rsp.Status)
	}

	return nil
}

func (c *ControlPlane) startAPIServer(ctx context.Context) error {
	if err := writeFile(c.dir, "audit.yaml", []byte(auditPolicy)); err != nil {
		return err
	}

	c.APIServer = c.process("kube-apiserver", c.programs.APIServer, nil, "--etcd-servers=http://"+c.address("etcd"),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--secure-port="+strconv.Itoa(c.ports["apiserver"]),
		"--tls-cert-file="+c.path("apiserver.crt"), "--tls-private-key-file="+c.path("apiserver.key"),
		"--client-ca-file="+c.path("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file="+c.path("accounts.crt"),
		"--service-account-signing-key-file="+c.path("accounts.key"), "--service-cluster-ip-range=10.96.0.0/24",
		"--authorization-mode=RBAC", "--anonymous-auth=false", "--profiling=false",
		"--audit-policy-file="+c.path("audit.yaml"), "--audit-log-path="+c.path("audit.log"))

	if err := c.APIServer.Start(); err != nil {
		return err
	}

	config, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig())
	if err != nil {
		return fmt.Errorf("cannot read kubeconfig: %w", err)
	}

	if c.Client, err = newClient(rest.CopyConfig(config)); err != nil {
		return err
	}

	return c.WaitForAPIServer(ctx)
}

// WaitForAPIServer waits until the API server is ready, at the start or after it was killed.
func (c *ControlPlane) WaitForAPIServer(ctx context.Context) error {
	return until(ctx, 90*time.Second, "the API server", func(ctx context.Context) error {
		return c.rest.Get().AbsPath("/readyz").Do(ctx).Error()
	})
}

func (c *ControlPlane) startControllers(ctx context.Context) error {
	config := "=" + c.path("controller-manager.kubeconfig")
	c.ControllerManager = c.process("kube-controller-manager", c.programs.ControllerManager, nil,
		"--kubeconfig"+config, "--authentication-kubeconfig"+config, "--authorization-kubeconfig"+config,
		"--authentication-skip-lookup",
		"--bind-address=127.0.0.1", "--secure-port="+strconv.Itoa(c.ports["controller-manager"]),
		"--cert-dir="+c.path("controller-manager"),
		"--leader-elect=false", "--profiling=false", "--use-service-account-credentials",
		"--service-account-private-key-file="+c.path("accounts.key"), "--root-ca-file="+c.path("ca.crt"),
		"--controllers=garbage-collector-controller,namespace-controller,serviceaccount-controller,"+
			"serviceaccount-token-controller,clusterrole-aggregation-controller")
	c.Registry = c.process("registry", c.programs.Registry, nil)

	for _, p := range []*Process{c.ControllerManager, c.Registry} {
		if err := p.Start(); err != nil {
			return err
		}
	}

	return until(ctx, 30*time.Second, "the registry", func(ctx context.Context) error {
		if _, err := fmt.Sscan(c.Registry.Log(), &c.RegistryAddress); err != nil {
			return fmt.Errorf("cannot read its address: %w", err)
		}

		return healthy(ctx, "http://"+c.RegistryAddress+"/v2/")
	})
}

// applyChart installs the objects of Crossplane's chart, except those that run containers.
func (c *ControlPlane) applyChart(ctx context.Context) error {
	source := filepath.Join(c.programs.CrossplaneSource, "cluster", "charts", "crossplane")
	chart := exec.CommandContext(ctx, c.programs.Chart, source, namespace) //nolint:gosec // Built for this.
	chart.Stderr = os.Stderr

	text, err := chart.Output()
	if err != nil {
		return fmt.Errorf("cannot render the chart: %w", err)
	}

	objects, err := Parse(string(text))
	if err != nil {
		return err
	}

	if err := c.Apply(ctx, "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"); err != nil {
		return err
	}

	for _, o := range objects {
		if slices.Contains([]string{"ServiceAccount", "Secret", "ClusterRole", "ClusterRoleBinding"}, o.GetKind()) {
			if err := c.ApplyObject(ctx, o); err != nil {
				return err
			}
		}
	}

	if err := c.applyCRDs(ctx); err != nil {
		return err
	}

	return until(ctx, time.Minute, "the rights of Crossplane", func(ctx context.Context) error {
		o, err := c.Get(ctx, Ref{"rbac.authorization.k8s.io/v1", "ClusterRole", "", "crossplane"})
		if err != nil {
			return err
		}

		if rules, _, _ := unstructured.NestedSlice(o.Object, "rules"); len(rules) == 0 {
			return errors.New("its ClusterRole has no rules yet")
		}

		return nil
	})
}

// applyCRDs applies the CRDs before Crossplane does, because Crossplane does not wait until they are served.
func (c *ControlPlane) applyCRDs(ctx context.Context) error {
	files, err := filepath.Glob(filepath.Join(c.programs.CrossplaneSource, "cluster", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("cannot find Crossplane's CRDs: %w", err)
	}

	var crds []Ref

	for _, file := range files {
		b, err := os.ReadFile(file) //nolint:gosec // A path of a module.
		if err != nil {
			return fmt.Errorf("cannot read CRD: %w", err)
		}

		objects, err := Parse(string(b))
		if err != nil {
			return err
		}

		for _, o := range objects {
			if err := c.ApplyObject(ctx, o); err != nil {
				return err
			}

			crds = append(crds, RefOf(o))
		}
	}

	for _, r := range crds {
		if err := c.WaitForCondition(ctx, time.Minute, r, "Established"); err != nil {
			return err
		}
	}

	return nil
}

// WaitForCondition waits until a condition of an object is true.
func (c *ControlPlane) WaitForCondition(ctx context.Context, within time.Duration, r Ref, condition string) error {
	return until(ctx, within, fmt.Sprintf("%s to be %s", r, condition), func(ctx context.Context) error {
		o, err := c.Get(ctx, r)
		if err != nil {
			return err
		}

		if got := ConditionOf(o, condition); got.Status != "True" {
			return fmt.Errorf("%s is %+v", condition, got)
		}

		return nil
	})
}

// startCrossplane does the work of the init container, and then starts Crossplane and its RBAC manager.
func (c *ControlPlane) startCrossplane(ctx context.Context) error {
	env := []string{
		"KUBECONFIG=" + c.path("crossplane.kubeconfig"), "POD_NAMESPACE=" +
			namespace, "POD_SERVICE_ACCOUNT=crossplane", "ENABLE_WEBHOOKS=false",
		"TLS_CA_SECRET_NAME=crossplane-root-ca", "TLS_CLIENT_SECRET_NAME=crossplane-tls-client",
		"TLS_SERVER_SECRET_NAME=crossplane-tls-server",
		"CRDS_PATH=" + filepath.Join(c.programs.CrossplaneSource, "cluster", "crds"),
	}

	err := until(ctx, time.Minute, "crossplane core init", func(ctx context.Context) error {
		cmd := exec.CommandContext(ctx, c.peers.Core, "core", "init") //nolint:gosec // Built for this.
		cmd.Env = append(os.Environ(), env...)

		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}

		return nil
	})
	if err != nil {
		return err
	}

	client, err := c.Data(ctx, namespace, "crossplane-tls-client")
	if err != nil {
		return err
	}

	for name, text := range client { // the kubelet would mount these
		if err := writeFile(c.path("client"), name, []byte(text)); err != nil {
			return err
		}
	}

	c.Crossplane = c.process("crossplane", c.peers.Core, env[:1], "core", "start", "--namespace="+namespace,
		"--service-account=crossplane",
		"--package-runtime=External", "--enable-webhooks=false", "--metrics-port="+strconv.Itoa(c.ports["metrics"]),
		"--health-probe-port="+strconv.Itoa(c.ports["health"]),
		"--xpkg-cache-dir="+c.path("xpkg-cache"), "--xfn-cache-dir="+c.path("xfn-cache"),
		"--tls-client-certs-dir="+c.path("client"), "--tls-client-secret-name=crossplane-tls-client")
	// A test writes more objects in a second than users write in a minute.
	c.Crossplane.args = append(c.Crossplane.args, "--circuit-breaker-burst=100000",
		"--circuit-breaker-refill-rate=1000")
	c.RBACManager = c.process("rbac-manager", c.peers.Core, []string{"KUBECONFIG=" + c.path("rbac-manager.kubeconfig")},
		"rbac", "start", "--provider-clusterrole=crossplane:allowed-provider-permissions")

	for _, dir := range []string{"xpkg-cache", "xfn-cache"} {
		if err := os.MkdirAll(c.path(dir), 0o700); err != nil {
			return fmt.Errorf("cannot create cache: %w", err)
		}
	}

	if err := c.waitForRBACManager(ctx); err != nil {
		return err
	}

	return c.WaitForCrossplane(ctx)
}

// RestartCrossplane starts Crossplane again with more flags. The returned function starts it as it was before.
func (c *ControlPlane) RestartCrossplane(ctx context.Context, flags ...string) (func(context.Context) error, error) {
	before := c.Crossplane.args
	restart := func(ctx context.Context, args []string) error {
		c.Crossplane.Stop(10 * time.Second)
		c.Crossplane.args = args

		return c.WaitForCrossplane(ctx)
	}

	return func(ctx context.Context) error { return restart(ctx, before) }, restart(ctx, slices.Concat(before, flags))
}

// rbacManagerPort is the port that the RBAC manager always uses, on all addresses. No flag changes it.
const rbacManagerPort = ":8080"

// waitForRBACManager waits until the RBAC manager runs. Another RBAC manager on this machine may use its port.
// Without an RBAC manager, Crossplane would wait for its rights without a message.
func (c *ControlPlane) waitForRBACManager(ctx context.Context) error {
	err := until(ctx, time.Minute,
		"port "+rbacManagerPort+", which Crossplane's RBAC manager needs: end what else has it",
		func(ctx context.Context) error {
			lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", rbacManagerPort)
			if err != nil {
				return err
			}

			return lis.Close()
		})
	if err != nil {
		return err
	}

	return until(ctx, time.Minute, "the RBAC manager", func(ctx context.Context) error {
		if err := c.RBACManager.Start(); err != nil {
			return err
		}

		return healthy(ctx, "http://127.0.0.1"+rbacManagerPort+"/metrics")
	})
}

// WaitForCrossplane waits until Crossplane is ready. If it does not run, it is started, as the kubelet would do.
func (c *ControlPlane) WaitForCrossplane(ctx context.Context) error {
	return until(ctx, time.Minute, "Crossplane", func(ctx context.Context) error {
		if err := c.Crossplane.Start(); err != nil {
			return err
		}

		return healthy(ctx, "http://"+c.address("health")+"/readyz")
	})
}
