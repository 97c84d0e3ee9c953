package bench

import (
	"math"
	"slices"
)

// quantile is the q-quantile of sorted values, 0 to 1, by linear interpolation.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[low] + (at-float64(low))*(sorted[low+1]-sorted[low])
}

func median(values []float64) float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return quantile(sorted, 0.5)
}

// interval is a 95 % confidence interval of the median of sorted values, by order statistics: it asks nothing of how
// the values are distributed. With fewer than six values there is no such interval and it is their range.
func interval(sorted []float64) (low, high float64) {
	n := len(sorted)
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	// The number of values below the median is binomial(n, 1/2); k is the largest rank whose tail is at most 2.5 %.
	k, tail := 0, 0.0
	p := math.Exp(-float64(n) * math.Ln2)
	for i := 0; i < n/2; i++ {
		if n > 900 { // 2^-n underflows: the normal approximation is exact enough
			k = int(float64(n)/2 - 0.98*math.Sqrt(float64(n)))
			break
		}
		tail += p
		if tail > 0.025 {
			break
		}
		k = i + 1
		p *= float64(n-i) / float64(i+1)
	}
	k = max(k, 1)
	return sorted[k-1], sorted[n-k]
}

// shape is how many quantiles a result keeps of its samples, evenly spaced from the smallest to the largest.
const shape = 41

// summarize fills in a case's numbers from its samples, and from the medians of its rounds.
func summarize(samples, rounds []float64) Case {
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	c := Case{N: len(sorted), Rounds: rounded(rounds)}
	c.Min, c.P50 = significant(quantile(sorted, 0)), significant(quantile(sorted, 0.5))
	c.P90, c.P99, c.Max = significant(quantile(sorted, 0.9)), significant(quantile(sorted, 0.99)), significant(quantile(sorted, 1))
	medians := slices.Clone(rounds)
	slices.Sort(medians)
	low, high := interval(medians)
	c.Low, c.High = significant(low), significant(high)
	for i := range shape {
		c.Quantiles = append(c.Quantiles, significant(quantile(sorted, float64(i)/(shape-1))))
	}
	return c
}

// significant keeps five digits, which is more than any measurement here is worth, and keeps files small.
func significant(v float64) float64 {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return v
	}
	scale := math.Pow(10, 5-math.Ceil(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

func rounded(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = significant(v)
	}
	return out
}
