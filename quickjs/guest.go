package quickjs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"unsafe"

	"codemode/quickjs/guest"
)

// ErrNoGuest says that this binary was built without a guest.
var ErrNoGuest = errors.New("quickjs: this build has no guest module; run `make guest` in the source tree and build again")

// Manifest says what a guest was made of; `make guest` writes it.
type Manifest struct {
	Engine       string   `json:"engine"`
	SourceSHA256 string   `json:"sourceSHA256"`
	Compiler     string   `json:"compiler"`
	Flags        []string `json:"flags"`
	ImageSHA256  string   `json:"imageSHA256"`
	WITSHA256    string   `json:"witSHA256"`
	Globals      []string `json:"globals"`
}

// Globals lists the names that every cell's global object has, sorted: no tool may be a bare global of such a name. Nil
// without a guest.
func Globals() []string {
	_, m, err := Guest()
	if err != nil {
		return nil
	}
	return m.Globals
}

// Guest returns the embedded guest module and its manifest, or ErrNoGuest. They cannot be changed: the module is in the
// program's own read-only memory.
func Guest() ([]byte, *Manifest, error) {
	g := loadGuest()
	return g.module, g.manifest, g.err
}

type loadedGuest struct {
	module   []byte
	hash     [sha256.Size]byte
	manifest *Manifest
	err      error
}

var loadGuest = sync.OnceValue(func() (g loadedGuest) {
	if guest.Module == "" {
		g.err = ErrNoGuest
		return g
	}
	g.manifest = &Manifest{}
	if err := json.Unmarshal([]byte(guest.Manifest), g.manifest); err != nil {
		g.err = fmt.Errorf("quickjs: manifest.json: %w", err)
		return g
	}
	g.module = unsafe.Slice(unsafe.StringData(guest.Module), len(guest.Module))
	g.hash = sha256.Sum256(g.module)
	if hex.EncodeToString(g.hash[:]) != g.manifest.ImageSHA256 {
		g.err = errors.New("quickjs: guest.wasm is not the one that manifest.json describes; run `make guest`")
	}
	return g
})
