package chart

import (
	"math"
	"strconv"
	"testing"
)

// visions simulate how people with a color vision deficiency see linear colors: none, protanopia,
// deuteranopia and tritanopia.
//
// Source: Machado, Oliveira, Fernandes, "A Physiologically-based Model for Simulation of Color Vision
// Deficiency", IEEE TVCG 2009, severity 1.0.
var visions = [][3][3]float64{
	{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
	{{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
	{{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
	{{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}},
}

// linear returns the linear components of a color such as #0969da.
func linear(t *testing.T, color string) (out [3]float64) {
	t.Helper()
	n, err := strconv.ParseUint(color[1:], 16, 32)
	must(t, err)
	for i := range out {
		c := float64(n>>(16-8*i)&255) / 255
		if out[i] = c / 12.92; c > 0.04045 {
			out[i] = math.Pow((c+0.055)/1.055, 2.4)
		}
	}
	return out
}

// multiply multiplies a matrix by a vector, and keeps the result positive.
func multiply(m [3][3]float64, v [3]float64) (out [3]float64) {
	for i, row := range m {
		out[i] = max(row[0]*v[0]+row[1]*v[1]+row[2]*v[2], 0)
	}
	return out
}

// oklab returns a color in a space in which distances are those that people see.
//
// Source: https://bottosson.github.io/posts/oklab/
func oklab(c [3]float64) (l, a, b float64) {
	v := multiply([3][3]float64{{0.4122214708, 0.5363325363, 0.0514459929}, {0.2119034982, 0.6806995451, 0.1073969566}, {0.0883024619, 0.2817188376, 0.6299787005}}, c)
	x, y, z := math.Cbrt(v[0]), math.Cbrt(v[1]), math.Cbrt(v[2])
	return 0.2104542553*x + 0.7936177850*y - 0.0040720468*z, 1.9779984951*x - 2.4285922050*y + 0.4505937099*z, 0.0259040371*x + 0.7827717662*y - 0.8086757660*z
}

func contrast(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 { return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2] }
	light, dark := max(luminance(a), luminance(b)), min(luminance(a), luminance(b))
	return (light + 0.05) / (dark + 0.05)
}

// TestPalettes checks that colors are visible, and that any two differ for all visions.
func TestPalettes(t *testing.T) {
	for i, palette := range palettes {
		theme, back := themes[i], linear(t, themes[i].background)
		for _, text := range []string{theme.text, theme.muted} {
			if c := contrast(linear(t, text), back); c < 4.5 {
				t.Errorf("text %s on %s has a contrast of %v", text, theme.background, c)
			}
		}
		for j, color := range palette {
			if c := contrast(linear(t, color), back); c < 3 {
				t.Errorf("%s on %s has a contrast of %v", color, theme.background, c)
			}
			for _, other := range palette[:j] {
				for k, vision := range visions {
					l0, a0, b0 := oklab(multiply(vision, linear(t, color)))
					l1, a1, b1 := oklab(multiply(vision, linear(t, other)))
					if d := math.Sqrt((l0-l1)*(l0-l1) + (a0-a1)*(a0-a1) + (b0-b1)*(b0-b1)); d < 0.12 {
						t.Errorf("%s and %s differ by %v for vision %d", color, other, d, k)
					}
				}
			}
		}
	}
}
