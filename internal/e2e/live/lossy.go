package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A Link is a network cable: packets of this process go through it to a network namespace of its own, and back. While
// it is lossy, half of the packets in each direction are lost. The kernel's own TCP is at both ends.
type Link struct {
	near, far *os.File // TUN devices, which are the ends of the cable
	lis       []net.Listener
	namespace chan func()

	farAddress netip.Addr

	lossy           atomic.Bool
	passed, dropped atomic.Int64
}

// documentation are the ranges that are reserved for documentation (RFC 5737).
var documentation = []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24"} //nolint:gochecknoglobals // Constant.

// unusedRange returns the first of the ranges that no address is from. Some sandboxes have an address from such a range,
// and a packet to an own address would not leave this machine.
func unusedRange(ranges []string, used []net.Addr) (netip.Prefix, error) {
	for _, r := range ranges {
		prefix, err := netip.ParsePrefix(r)
		if err != nil {
			return prefix, fmt.Errorf("cannot parse a range of addresses: %w", err)
		}

		overlaps := func(a net.Addr) bool {
			other, err := netip.ParsePrefix(a.String())

			return err == nil && prefix.Overlaps(other)
		}
		if !slices.ContainsFunc(used, overlaps) {
			return prefix, nil
		}
	}

	return netip.Prefix{}, fmt.Errorf("this machine has addresses in each of the ranges %q", ranges)
}

// NewLink creates a link. This needs the rights of root, and the TUN device of Linux.
func NewLink() (*Link, error) {
	used, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("cannot list the addresses of this machine: %w", err)
	}

	addresses, err := unusedRange(documentation, used)
	if err != nil {
		return nil, err
	}

	nearAddress := addresses.Addr().Next()
	l := &Link{farAddress: nearAddress.Next(), namespace: make(chan func())}
	started := make(chan error)

	go func() {
		runtime.LockOSThread() // it is never unlocked, so the thread of the other namespace ends with this goroutine

		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			l.far, err = tun(l.farAddress)
		}
		started <- err

		for do := range l.namespace {
			do()
		}
	}()

	err = <-started
	if err == nil {
		l.near, err = tun(nearAddress)
	}

	if err != nil {
		l.Close()
		return nil, fmt.Errorf("cannot create a link to a network namespace: %w", err)
	}

	go l.carry(l.near, l.far)
	go l.carry(l.far, l.near)

	return l, nil
}

// tun creates a TUN device with an address, in the namespace of this thread.
func tun(address netip.Addr) (*os.File, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the TUN device: %w", err)
	}

	name, err := configure(fd, address)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot configure a TUN device: %w", err), unix.Close(fd))
	}

	return os.NewFile(uintptr(fd), name), nil
}

// linkMask is the mask of the two addresses of a link.
var linkMask = net.CIDRMask(30, 32) //nolint:gochecknoglobals // Constant.

func configure(fd int, address netip.Addr) (string, error) {
	device, err := unix.NewIfreq("lossy%d")
	if err != nil {
		return "", err
	}

	device.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)

	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, device); err != nil {
		return "", err
	}

	sock, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(sock) //nolint:errcheck // Nothing was written.

	set := func(request uint, change func(r *unix.Ifreq) error) {
		var r *unix.Ifreq
		if err == nil {
			r, err = unix.NewIfreq(device.Name())
		}

		if err == nil {
			err = change(r)
		}

		if err == nil {
			err = unix.IoctlIfreq(sock, request, r)
		}
	}
	set(unix.SIOCSIFADDR, func(r *unix.Ifreq) error { return r.SetInet4Addr(address.AsSlice()) })
	set(unix.SIOCSIFNETMASK, func(r *unix.Ifreq) error { return r.SetInet4Addr(linkMask) })
	set(unix.SIOCSIFFLAGS, func(r *unix.Ifreq) error { r.SetUint16(unix.IFF_UP | unix.IFF_RUNNING); return nil })

	return device.Name(), err
}

// carry carries packets in one direction until the link is closed.
func (l *Link) carry(from, to *os.File) {
	b := make([]byte, 64<<10)

	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}

		if b[0]>>4 != 4 { // IPv6 asks for routers
			continue
		}

		if l.lossy.Load() && rand.IntN(2) == 0 { //nolint:gosec // It is no secret which packet is lost.
			l.dropped.Add(1)
			continue
		}

		l.passed.Add(1)
		_, _ = to.Write(b[:n]) // a packet that cannot be written is lost
	}
}

// To returns the address at the other end of the link that leads to a server at this end.
func (l *Link) To(ctx context.Context, server string) (string, error) {
	var (
		lis  net.Listener
		err  error
		done = make(chan struct{})
	)

	l.namespace <- func() {
		defer close(done)

		lis, err = (&net.ListenConfig{}).Listen(ctx, "tcp4", l.farAddress.String()+":0")
	}
	<-done

	if err != nil {
		return "", fmt.Errorf("cannot listen at the other end of the link: %w", err)
	}

	l.lis = append(l.lis, lis)

	go func() {
		for {
			conn, err := lis.Accept()
			if err != nil {
				return
			}

			go relay(conn, server)
		}
	}()

	return lis.Addr().String(), l.reaches(ctx, lis.Addr().String())
}

// reaches returns an error unless a connection to an address goes through the link.
func (l *Link) reaches(ctx context.Context, address string) error {
	before, _ := l.Packets()

	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("cannot connect through the link: %w", err)
	}

	if after, _ := l.Packets(); after == before {
		err = fmt.Errorf("a connection to %s does not go through the link", address)
	}

	return errors.Join(err, conn.Close())
}

// relay copies data between a connection and a server, until one of them ends.
func relay(conn net.Conn, server string) {
	defer conn.Close() //nolint:errcheck // It is gone.

	to, err := (&net.Dialer{}).Dial("tcp", server)
	if err != nil {
		return
	}

	var wg sync.WaitGroup

	for _, ends := range [][2]net.Conn{{conn, to}, {to, conn}} {
		wg.Go(func() {
			_, _ = io.Copy(ends[0], ends[1]) // both ends see the end of the other
			_ = conn.Close()
			_ = to.Close()
		})
	}
	wg.Wait()
}

// Lose says whether half of the packets are lost from now on.
func (l *Link) Lose(lossy bool) { l.lossy.Store(lossy) }

// Packets returns how many packets arrived, and how many were lost.
func (l *Link) Packets() (passed, dropped int64) { return l.passed.Load(), l.dropped.Load() }

// Close removes the link, with its namespace and devices.
func (l *Link) Close() {
	for _, lis := range l.lis {
		_ = lis.Close()
	}

	for _, end := range []*os.File{l.near, l.far} {
		if end != nil {
			_ = end.Close()
		}
	}

	close(l.namespace)
}
