package format_test

import (
	"strings"
	"testing"

	"github.com/btgen-dev/btgen/cmd/btgen-live/internal/format"
	"github.com/btgen-dev/btgen/golden/testschema"
)

// TestNamesOfParts renames values of a line by the part of the line. The class of faults: two values of a line with one name,
// of which one is taken for the other.
func TestNamesOfParts(t *testing.T) {
	const text = `
btgen: v1
package: cpu
name: Cpu
series: {metric: string, a: string, b: string}
time: {precision: 1s}
fields: {x: string, y: string}
tables:
  cpu: {draft: true, pattern: bucket_new_cells, key: {delimiter: "#", segments: [metric, a, b, bucket]}, bucket: 1d, family: m, ttl: {keep: forever}}
`
	l := testschema.Layout(t, text)
	const line = `cpu,time=t1,metric=t2,measurement=cpu time="f1",metric="f2" 1772366400000000000`
	names := map[string]string{
		"tag:time": "a", "tag:metric": "b", "tag:measurement": "", "field:time": "x", "field:metric": "y", "metric:": "metric",
		"time": "metric", "metric": "time", // what has a qualifier is not concerned
	}
	names["time:"] = "time"
	in, err := format.Find("influx").Read(strings.NewReader(line), l, format.ReaderOptions{Names: names})
	must(t, err)
	e, _, err := in.Next()
	must(t, err)
	if e.Time.Unix() != 1772366400 || e.Series[0] != "cpu" || e.Series[1] != "t1" || e.Series[2] != "t2" || e.Values[0] != "f1" || e.Values[1] != "f2" {
		t.Errorf("%+v", e)
	}
}

// TestColumnsTwice refuses a header with a name twice before a schema is proposed for one of the columns.
func TestColumnsTwice(t *testing.T) {
	for _, f := range []string{"csv", "cassandra"} {
		if _, err := format.Find(f).Scan(strings.NewReader("a,b,a\n1,2,3\n"), format.ReaderOptions{}); err == nil || !strings.Contains(err.Error(), "header: column a: the value is given twice") {
			t.Errorf("%s: %v", f, err)
		}
	}
}

// TestCommentedHeader reads CSV whose first line is a comment: the error says how to remove it. The class of fault: an error asks for another
// schema, and the file is wrong. A header that begins with # is one.
func TestCommentedHeader(t *testing.T) {
	const want = "; if lines that begin with # are comments, remove them: grep -v '^#' FILE > FILE.csv"
	for _, comment := range []string{"# made by hand", "# a; b", "#", "# host, value, time"} {
		in := comment + "\nhost,value,time\na,1,2026-03-01T12:00:00Z\n"
		if _, err := format.Find("csv").Read(strings.NewReader(in), resolve(t), format.ReaderOptions{}); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v", comment, err)
		}
	}
	in, err := format.Find("csv").Read(strings.NewReader("#host,value,time\na,1,2026-03-01T12:00:00Z\n"), resolve(t), format.ReaderOptions{Names: map[string]string{"#host": "host"}})
	must(t, err)
	if _, _, err := in.Next(); err != nil {
		t.Error(err)
	}
}
