package live_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/crossplane-contrib/function-export/internal/e2e/live"
)

// A credential is a user name, which may be empty, and a password.
type credential struct{ user, password string }

// credentialOf returns the credential in the data of a Secret.
func credentialOf(data map[string]string) credential {
	return credential{data["username"], data["password"]}
}

// The accounts of a database check logins. They are only hashes of the passwords that the database accepts now.
type accounts struct {
	mu     sync.Mutex
	hashes map[string][]byte
	ever   map[credential]bool // the logins that it accepted at any time
}

func newAccounts() *accounts {
	return &accounts{hashes: map[string][]byte{}, ever: map[credential]bool{}}
}

// set sets the password of a user. The former one is refused from now on.
func (d *accounts) set(l credential) {
	hash, err := bcrypt.GenerateFromPassword([]byte(l.password), bcrypt.MinCost)
	if err != nil {
		panic(err) // only a password of more than 72 bytes
	}

	d.mu.Lock()
	defer d.mu.Unlock()

	d.hashes[l.user], d.ever[l] = hash, true
}

// drop drops a user.
func (d *accounts) drop(user string) {
	d.mu.Lock()
	defer d.mu.Unlock()

	delete(d.hashes, user)
}

func (d *accounts) accepts(l credential) bool {
	d.mu.Lock()
	hash := d.hashes[l.user]
	d.mu.Unlock()

	return bcrypt.CompareHashAndPassword(hash, []byte(l.password)) == nil
}

// accepted reports whether the database accepts a credential, or did at any time before.
func (d *accounts) accepted(l credential) bool {
	d.mu.Lock()
	defer d.mu.Unlock()

	return d.ever[l]
}

func (d *accounts) users() int {
	d.mu.Lock()
	defer d.mu.Unlock()

	return len(d.hashes)
}

// A manner is how a provider treats one new credential.
type manner struct {
	after time.Duration // it accepts it after this time
	never bool          // it does not accept it
}

// play calls accept as the manner says. It returns whether the credential is accepted.
func (m manner) play(ctx context.Context, accept func()) bool {
	if m.never {
		<-ctx.Done()
		return false
	}

	if !sleep(ctx, m.after) {
		return false
	}

	accept()

	return true
}

// sleep returns false if the context ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// A provider sets the credentials of the database of one composite, each in its own manner. Its methods are called by
// watches, and do not block.
type provider struct {
	scenario
	*accounts

	delay  time.Duration
	manner func(n int) manner // of the credential of generation n

	queue   chan string  // passwords that the setter's Secret had
	working atomic.Int64 // credentials that are not yet accepted for good

	mu   sync.Mutex
	made map[string]created // keyed by the name of a Database
}

// A created credential is one of a Database.
type created struct {
	credential

	cancel func()
}

// appliedSecret is the Secret in which the provider of the single user writes the password that it set last.
const appliedSecret = "app-db-connection"

// setPasswords sets the passwords of the setter's Secret one after the other, until the context ends. It does not
// finish a password that is no longer there.
func (p *provider) setPasswords(ctx context.Context) {
	numbers, wanted, m, stop := map[string]int{}, "", manner{}, func() {}
	defer func() { stop() }()

	var work sync.WaitGroup
	defer work.Wait()

	for {
		select {
		case <-ctx.Done():
			return
		case password := <-p.queue:
			if password == wanted {
				continue
			}

			stop()
			work.Wait()

			m = manner{after: p.delay} // back to a password that it had
			if numbers[password] == 0 {
				numbers[password] = len(numbers) + 1
				m = p.manner(numbers[password])
			}

			working, cancel := context.WithCancel(ctx)
			wanted, stop = password, cancel

			p.working.Store(1)
			work.Go(func() { p.setPassword(working, credential{password: password}, m) })
		}
	}
}

// setPassword sets one password.
func (p *provider) setPassword(ctx context.Context, l credential, m manner) {
	if p.accepts(l) { // nothing to do, except that the last one may have been interrupted
		p.report(ctx, l.password)
		p.working.Store(0)

		return
	}

	if m.play(ctx, func() {
		p.set(l)
		p.report(ctx, l.password)
	}) {
		p.working.Store(0)
	}
}

// report writes the password that the database accepts.
func (p *provider) report(ctx context.Context, password string) {
	o := p.object("Secret", appliedSecret, map[string]string{"password": password})
	if err := p.ApplyObject(context.WithoutCancel(ctx), o); err != nil {
		p.Errorf("%v", err)
	}
}

// sees acts on an event of a Database, each of which is a user of its own. The connection details are written before
// the user can log in.
func (p *provider) sees(ctx context.Context, event string, o *unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()

	name := o.GetName()
	user, exists := p.made[name]

	switch {
	case event == "DELETED" && exists:
		user.cancel()
		p.drop(user.user)
	case event == "ADDED" && !exists:
		working, cancel := context.WithCancel(ctx)
		user = created{credential{"user-" + name, hush()}, cancel}
		p.made[name] = user

		go p.createUser(working, o, user.credential)
	}
}

func (p *provider) createUser(ctx context.Context, o *unstructured.Unstructured, l credential) {
	number := 0
	_, _ = fmt.Sscan(o.GetLabels()["export.fn.crossplane.io/generation"], &number) // 0 is no generation

	details := textAt(o.Object, "spec", "writeConnectionSecretToRef", "name")
	data := map[string]string{"username": l.user, "password": l.password}
	err := p.ApplyObject(ctx, p.details(o, details, data))

	if err == nil && p.manner(number).play(ctx, func() { p.set(l) }) {
		err = p.Patch(ctx, live.RefOf(o), `{"status": `+readyStatus("")+`}`, "status")
	}

	if err != nil && ctx.Err() == nil {
		p.Errorf("%v", err)
	}
}
