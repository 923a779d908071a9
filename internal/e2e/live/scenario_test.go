package live_test

import (
	"fmt"
	"testing"
)

func TestUp(t *testing.T) {
	fmt.Println(plane.RegistryAddress, function.Metrics)
}
