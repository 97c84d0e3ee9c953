package quickjs

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"sync"
)

// The built guest. The folder holds a tracked README, so that the package compiles before the guest is made.
//
//go:embed all:guest
var guestFiles embed.FS

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

// Guest returns the embedded guest module and its manifest, or ErrNoGuest. The caller must not change them.
func Guest() ([]byte, *Manifest, error) {
	g := loadGuest()
	return g.module, g.manifest, g.err
}

type loadedGuest struct {
	module   []byte
	manifest *Manifest
	err      error
}

var loadGuest = sync.OnceValue(func() loadedGuest {
	module, manifest, err := readGuest()
	return loadedGuest{module, manifest, err}
})

func readGuest() ([]byte, *Manifest, error) {
	module, err := guestFiles.ReadFile("guest/guest.wasm")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, ErrNoGuest
	} else if err != nil {
		return nil, nil, err
	}
	text, err := guestFiles.ReadFile("guest/manifest.json")
	if err != nil {
		return nil, nil, fmt.Errorf("%w: its manifest is missing", ErrNoGuest)
	}
	m := &Manifest{}
	if err := json.Unmarshal(text, m); err != nil {
		return nil, nil, fmt.Errorf("quickjs: manifest.json: %w", err)
	}
	if sum := sha256.Sum256(module); hex.EncodeToString(sum[:]) != m.ImageSHA256 {
		return nil, nil, errors.New("quickjs: guest.wasm is not the one that manifest.json describes; run `make guest`")
	}
	return module, m, nil
}
