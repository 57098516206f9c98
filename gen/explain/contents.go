package explain

import "strings"

// heading is a heading of a page, with the headings below it.
type heading struct {
	Title string
	ID    string
	Below []heading
}

// contents lists the schemas of a document, the tables, reads and capacity of each; nil for a
// single schema, which needs none.
func contents(doc *Document) []heading {
	if len(doc.Schemas) < 2 {
		return nil
	}
	var out []heading
	for i := range doc.Schemas {
		s := &doc.Schemas[i]
		h := heading{Title: s.Name, ID: s.anchor()}
		for j := range s.Tables {
			h.Below = append(h.Below, heading{Title: s.Tables[j].ID, ID: s.anchor("table", s.Tables[j].ID)})
		}
		reads := heading{Title: "reads", ID: s.anchor("reads")}
		for _, r := range s.Reads {
			reads.Below = append(reads.Below, heading{Title: r.Method, ID: s.anchor("reads", r.Method)})
		}
		h.Below = append(h.Below, reads, heading{Title: "capacity", ID: s.anchor("capacity")})
		out = append(out, h)
	}
	return out
}

// anchor returns the ID of a part of a schema, which is unique in a page: package and
// name are.
func (s *Schema) anchor(parts ...string) string {
	id := strings.Join(append([]string{s.Package, s.Name}, parts...), ".")
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, id)
}
