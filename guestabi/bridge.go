package guestabi

import "encoding/json"

// Binding says how a tool is named in a request.
type Binding uint32

// The bindings, in the order of the WIT.
const (
	ByReference Binding = iota // an exact catalog id or an unambiguous tool name
	ByCallable                 // a callable name
	ByPath                     // a dotted namespace path
	bindings
)

// Shape says what the promise of a call resolves with.
type Shape uint32

// The shapes, in the order of the WIT.
const (
	Value    Shape = iota // the tool's value
	Envelope              // {tool, result}
	shapes
)

// Surface says which search function asks.
type Surface uint32

// The surfaces, in the order of the WIT.
const (
	SurfaceTools   Surface = iota // tools.search
	SurfaceCatalog                // catalog.search
	surfaces
)

// Listing names a listing of the whole catalog.
type Listing uint32

// The listings, in the order of the WIT.
const (
	AllTools Listing = iota // ALL_TOOLS
	Handles                 // catalog.all()
	listings
)

// Standing is what stands at a name.
type Standing uint8

// The kinds of nodes, in the order of the WIT.
const (
	StandingTool Standing = iota
	StandingNamespace
	StandingValue
)

// Node is what Resolve knows of a name.
type Node struct {
	Standing Standing
	// Binding and Name are how requests of a tool name it.
	Binding Binding
	Name    string
	// Data is JSON text: a value, or what a tool's handle says of it. Empty where there is none.
	Data string
}

// Site is where in the cell's body a request was made, one-based; zero where unknown.
type Site struct{ Line, Column uint32 }

// Call is a request for a tool call.
type Call struct {
	ID      uint32
	Binding Binding
	Tool    string
	Input   json.RawMessage // valid JSON
	Shape   Shape
	Site    Site
}

// Bridge is what a host offers to the cell that a VM runs. Its methods are called while the guest runs, on the VM's
// goroutine: they record and return, or answer from memory, and never block. An error ends the cell; the VM returns it.
// What each means is documented in wit/codemode.wit.
type Bridge interface {
	Call(Call) error
	Search(id uint32, query string, limit uint32, surface Surface) error
	Describe(id uint32, binding Binding, tool string) error
	Cancel(id uint32) error
	Timer(id uint32, milliseconds uint32) error
	Yield(id uint32, reason *string) error
	Text(value string) error
	JSON(value json.RawMessage) error

	Resolve(path string) (node Node, ok bool)
	Names(path string) string
	Entries(listing Listing) string
	Files(prefix string) (list string, ok bool)
	File(path string) (file string, ok bool)

	Save(id uint32, value json.RawMessage) error
	Load(id uint32, reference string) error
	Drop(id uint32, reference string) error
}

// State is where a cell's promise stands.
type State uint8

// The states, in the order of the WIT.
const (
	Pending State = iota
	Fulfilled
	Rejected
	Stopped
	states
)

var stateNames = [...]string{"pending", "fulfilled", "rejected", "stopped"}

// String is the state's name in the WIT.
func (s State) String() string {
	if s < states {
		return stateNames[s]
	}
	return "invalid"
}

// Outcome is the state of a cell after a run or a settle.
type Outcome struct {
	State State
	// Payload is the value as JSON text where State is Fulfilled, and a Thrown as JSON where it is Rejected.
	// It is given once; later outcomes of the same cell have none.
	Payload []byte
	// Truncated says that Payload is only the start of the value.
	Truncated bool
	// Rejections is how many promises are rejected now with nobody to handle it.
	Rejections uint32
}

// Thrown describes a thrown value as the guest reports it. Text stands for values that are not errors.
type Thrown struct {
	Name    string                     `json:"name,omitempty"`
	Message string                     `json:"message,omitempty"`
	Stack   string                     `json:"stack,omitempty"`
	Text    string                     `json:"text,omitempty"`
	Value   json.RawMessage            `json:"thrown,omitempty"`
	Fields  map[string]json.RawMessage `json:"fields,omitempty"`
	Cause   *Thrown                    `json:"cause,omitempty"`
	Errors  []Thrown                   `json:"errors,omitempty"`
}
