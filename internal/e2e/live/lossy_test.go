package live

import (
	"net"
	"testing"
)

func TestUnusedRange(t *testing.T) {
	ranges := []string{"192.0.2.0/24", "198.51.100.0/24"}
	cases := map[string]struct {
		reason, want string
		used         []string
	}{
		"first":   {"No address of the machine is from a range.", "192.0.2.0/24", []string{"127.0.0.1/8", "::1/128"}},
		"inside":  {"The machine is in the first range.", "198.51.100.0/24", []string{"192.0.2.2/24"}},
		"around":  {"A network of the machine contains the first range.", "198.51.100.0/24", []string{"192.0.1.1/16"}},
		"nothing": {"The machine is in both ranges.", "", []string{"192.0.2.2/24", "198.51.100.7/32"}},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var used []net.Addr

			for _, text := range tc.used {
				ip, network, err := net.ParseCIDR(text)
				if err != nil {
					t.Fatal(err)
				}

				used = append(used, &net.IPNet{IP: ip, Mask: network.Mask})
			}

			got, err := unusedRange(ranges, used)
			if tc.want == "" {
				if err == nil {
					t.Errorf("%s: the range is %s, want an error", tc.reason, got)
				}

				return
			}

			if err != nil || got.String() != tc.want {
				t.Errorf("%s: the range is %s, %v, want %s", tc.reason, got, err, tc.want)
			}
		})
	}
}
