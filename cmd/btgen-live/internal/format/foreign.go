package format

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
)

// foreigners are inputs of other systems that are not read, by their beginnings. Commands that make CSV of FILE are tested.
//
// The output of CloudWatch is described in the AWS CLI Command Reference, and the fixed columns of the Integrated Surface
// Database of NOAA in its "Federal Climate Complex Data Documentation"; ISD-Lite has eight numbers after the hour.
var foreigners = []struct {
	begin         *regexp.Regexp
	what, instead string // it is, and of it
}{
	{regexp.MustCompile(`^#(group|datatype|default),`), "annotated CSV of InfluxDB", "export line protocol with influxd inspect export-lp, or pivot the query and leave out annotations"},
	{ofJSON(`{"metric":{`), "JSON of VictoriaMetrics", "export CSV with /api/v1/export/csv and format=__name__,…,__value__,__timestamp__:unix_ms, and add --columns"},
	{ofJSON(`{"results":[`), "an answer of InfluxDB", "add -format csv to influx, or export line protocol"},
	{ofJSON(`{"status":"success"`), "an answer of Prometheus", "export samples with promtool tsdb dump-openmetrics"},
	{ofJSON(`{("Messages":[],)?"MetricDataResults":[]`), metricData, noData},
	{ofJSON(`{"(Messages|MetricDataResults)":[`), metricData, convertMetricData},
	{ofJSON(`{("Label":"TEXT",)?"Datapoints":[]`), statistics, noData},
	{ofJSON(`{"Datapoints":[{"Timestamp":`), statistics, convertStatistics},
	{ofJSON(`{"Label":"TEXT","Datapoints":[`), statistics, convertStatistics},
	{regexp.MustCompile(`^[0-9]{4}[0-9A-Z]{6}[0-9]{17}.[+-][0-9]{5}[+-][0-9]{6}`), "the Integrated Surface Database of NOAA",
		`convert it with awk 'BEGIN{print "station,time,temperature"}{t=substr($0,88,5);print substr($0,5,6)"-"substr($0,11,5)","substr($0,16,12)","(t=="+9999"?"":t/10)}' FILE > FILE.csv and add --zone UTC`},
	{regexp.MustCompile(`^[0-9]{4} [0-9]{2} [0-9]{2} [0-9]{2}( +-?[0-9]+){8}\s`), "ISD-Lite of NOAA",
		`convert it with awk 'BEGIN{print "station,time,temperature"}{print FILENAME","$1$2$3$4"00,"($5==-9999?"":$5/10)}' FILE > FILE.csv and add --zone UTC`},
	{regexp.MustCompile(`^PAR1`), "Apache Parquet", "add --format parquet"},
}

const (
	noData            = "it has no data points: check the namespace, the dimensions and the times of the command that has written it"
	metricData        = "JSON of aws cloudwatch get-metric-data"
	convertMetricData = `convert it with jq -r '["id","label","time","value"],(.MetricDataResults[]|[.Id,.Label]+([.Timestamps,.Values]|transpose[]))|@csv' FILE > FILE.csv`
	statistics        = "JSON of aws cloudwatch get-metric-statistics"
	convertStatistics = `convert it with jq -r '.Label as $l|(.Datapoints[0]|keys) as $k|["Label"]+$k,(.Datapoints[]|[$l]+[.[$k[]]])|@csv' FILE > FILE.csv`
)

// ofJSON returns an expression for texts that begin with JSON, with white space between tokens; TEXT is any text of a string.
func ofJSON(begin string) *regexp.Regexp {
	begin = regexp.MustCompile(`[{}\[\]:,]`).ReplaceAllString(begin, `\s*\$0\s*`)
	return regexp.MustCompile("^" + regexp.MustCompile("TEXT").ReplaceAllLiteralString(begin, `(?:\\.|[^"\\])*`))
}

// foreignBytes is the size of the beginning by which an input is recognized.
const foreignBytes = 1 << 10

// foreign returns an error if the beginning of an input is that of one that is not read: what it is, and what to do.
func foreign(input []byte) error {
	for i := range foreigners {
		if f := &foreigners[i]; f.begin.Match(input[:min(foreignBytes, len(input))]) {
			return fmt.Errorf("it is %s: %s", f.what, f.instead)
		}
	}
	return nil
}

// Foreign returns an error if an input is one that is not read: what it is, and what to do.
func Foreign(in io.Reader) error {
	begin, _ := io.ReadAll(io.LimitReader(in, foreignBytes))
	return foreign(bytes.TrimPrefix(begin, []byte(byteOrderMark)))
}
