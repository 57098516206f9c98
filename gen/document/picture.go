package document

import (
	"fmt"
	"html"
	"strings"

	"github.com/btgen-dev/btgen/gen/words"
)

// pictureName returns the name of the file with the pictures of a section.
func pictureName(prefix string, s *Section) string { return prefix + "." + s.ID + ".svg" }

// Pictures returns the pictures that [Document.Markdown] refers to, by file name.
func (d *Document) Pictures(prefix string) map[string][]byte {
	files := map[string][]byte{}
	var collect func(all []*Section)
	collect = func(all []*Section) {
		for _, s := range all {
			for i := range s.Parts {
				if pictures := s.Parts[i].Pictures; pictures != nil {
					files[pictureName(prefix, s)] = stacked(pictures.All)
				}
			}
			collect(s.Sections)
		}
	}
	collect(d.Sections)
	return files
}

// pictureStyle is the style of a file of pictures, in light or dark.
const pictureStyle = `<style>text{fill:#1f2328;font:12px sans-serif}.small{font-size:10px}.row{fill:#fff;stroke:#d1d9e0}.heat{fill:#cf222e}.cell{fill:#0969da}.next{fill:#bc4c00}` +
	`@media(prefers-color-scheme:dark){text{fill:#e6edf3}.row{fill:#0d1117;stroke:#3d444d}.heat{fill:#ff7b72}.cell{fill:#58a6ff}.next{fill:#f0883e}}</style>`

// stacked returns a file with pictures below each other.
func stacked(all []Picture) []byte {
	var b strings.Builder
	width, y := 0.0, 0.0
	for i := range all {
		p := &all[i]
		fmt.Fprintf(&b, "<text x=\"1\" y=\"%g\">%s</text>\n", y+14, html.EscapeString(words.Excerpt(p.Title, 58)))
		fmt.Fprintf(&b, "<svg y=\"%g\" width=\"%g\" height=\"%g\">\n%s</svg>\n", y+20, p.Width, p.Height, p.SVG)
		width, y = max(width, p.Width), y+p.Height+34
	}
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%[1]g\" height=\"%[2]g\" viewBox=\"0 0 %[1]g %[2]g\">\n%[3]s\n%[4]s</svg>\n", width, y, pictureStyle, b.String())
}
