// Command smd-oracle answers questions about server-side apply with Kubernetes' own code, so that the
// embedded API server's implementation can be compared with it while it is being developed.
//
// It reads one JSON request per line from standard input and writes one JSON answer per line. The first
// request must be {"definitions": {...}}: the OpenAPI schemas, by name, of the kinds that are talked about.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	kjson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

type request struct {
	Definitions map[string]*spec.Schema `json:"definitions"`
	Preserve    bool                    `json:"preserve"`

	Operation   string                       `json:"op"`
	Kind        string                       `json:"kind"`
	APIVersion  string                       `json:"apiVersion"`
	Live        map[string]any               `json:"live"`
	Object      map[string]any               `json:"object"`
	Manager     string                       `json:"manager"`
	Force       bool                         `json:"force"`
	Now         string                       `json:"now"`
	Subresource string                       `json:"subresource"`
	Reset       map[string][][]string        `json:"reset"`
	Include     map[string][][]string        `json:"include"`
	Deduced     bool                         `json:"deduced"`
	Strict      bool                         `json:"strict"`
	Conversions map[string]map[string]string `json:"conversions"`

	Left  json.RawMessage `json:"left"`
	Right json.RawMessage `json:"right"`

	Entries  []any               `json:"entries"`
	Scale    []any               `json:"scale"`
	Mappings map[string][]string `json:"mappings"`
}

type answer struct {
	Object any    `json:"object,omitempty"`
	Error  string `json:"error,omitempty"`
	Status any    `json:"status,omitempty"`
	Text   string `json:"text,omitempty"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	var converter managedfields.TypeConverter
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var got request
		if err := kjson.Unmarshal(line, &got); err != nil {
			fmt.Fprintln(os.Stderr, "bad request:", err)
			os.Exit(1)
		}
		normalise(&got)
		var reply answer
		if got.Definitions != nil {
			converter, err = managedfields.NewTypeConverter(got.Definitions, got.Preserve)
			if err != nil {
				reply.Error = err.Error()
			}
		} else {
			reply = handle(converter, &got)
		}
		if err := encoder.Encode(reply); err != nil {
			fmt.Fprintln(os.Stderr, "cannot answer:", err)
			os.Exit(1)
		}
		out.Flush()
	}
}

// normalise turns numbers into int64 where they are whole, as the API server's decoder does.
func normalise(got *request) {
	for _, object := range []map[string]any{got.Live, got.Object} {
		if err := kjson.ConvertMapNumbers(object, 0); err != nil {
			panic(err)
		}
	}
}

func handle(converter managedfields.TypeConverter, got *request) (reply answer) {
	defer func() {
		if problem := recover(); problem != nil {
			reply = answer{Error: fmt.Sprint("panic: ", problem)}
		}
	}()
	switch got.Operation {
	case "update", "apply":
		return write(converter, got)
	case "toSubresource", "toParent":
		return scale(got)
	case "fields":
		return sets(got, func(left, _ *fieldpath.Set) *fieldpath.Set { return left })
	case "union":
		return sets(got, (*fieldpath.Set).Union)
	case "intersection":
		return sets(got, (*fieldpath.Set).Intersection)
	case "difference":
		return sets(got, (*fieldpath.Set).Difference)
	case "recursiveDifference":
		return sets(got, (*fieldpath.Set).RecursiveDifference)
	case "leaves":
		return sets(got, func(left, _ *fieldpath.Set) *fieldpath.Set { return left.Leaves() })
	}
	return answer{Error: "unknown operation " + got.Operation}
}

func sets(got *request, combine func(left, right *fieldpath.Set) *fieldpath.Set) answer {
	left, right := &fieldpath.Set{}, &fieldpath.Set{}
	if err := left.FromJSON(strings.NewReader(string(got.Left))); err != nil {
		return answer{Error: err.Error()}
	}
	if len(got.Right) > 0 {
		if err := right.FromJSON(strings.NewReader(string(got.Right))); err != nil {
			return answer{Error: err.Error()}
		}
	}
	result := combine(left, right)
	raw, err := result.ToJSON()
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: string(raw), Text: result.String()}
}
