package bench

func judge(*Result) []Target { return []Target{} }

// Target is a row of the performance targets.
type Target struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Goal     string `json:"goal"`
	Measured string `json:"measured"`
	Verdict  string `json:"verdict"` // met, missed, or not measured
	Why      string `json:"why,omitempty"`
}
