// The answers of Kubernetes' own code to the questions that patches, selectors and tables raise.
//
// Reads one JSON question per line and writes one JSON answer per line. `compare.py` beside it asks the same questions of
// Nagaya. See README.md for how to build it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/registry/customresource/tableconvertor"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/controlplane"
	"k8s.io/kubernetes/pkg/printers"
	printersinternal "k8s.io/kubernetes/pkg/printers/internalversion"
	kjson "sigs.k8s.io/json"
)

type question struct {
	Ask      string            `json:"ask"`
	Group    string            `json:"group"`
	Version  string            `json:"version"`
	Kind     string            `json:"kind"`
	Original json.RawMessage   `json:"original"`
	Patch    json.RawMessage   `json:"patch"`
	Text     string            `json:"text"`
	Labels   map[string]string `json:"labels"`
	Nanos    int64             `json:"nanos"`
	Columns  json.RawMessage   `json:"columns"`
}

type answer map[string]any

func main() {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriter(os.Stdout)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var asked question
		if err := json.Unmarshal(line, &asked); err != nil {
			panic(err)
		}
		text, err := json.Marshal(ask(asked))
		if err != nil {
			panic(err)
		}
		out.Write(text)
		out.WriteByte('\n')
		out.Flush()
	}
}

func ask(q question) (result answer) {
	defer func() {
		if reason := recover(); reason != nil {
			result = answer{"panic": fmt.Sprint(reason)}
		}
	}()
	switch q.Ask {
	case "strategic":
		return strategic(q)
	case "types":
		return types(q)
	case "json":
		patch, err := jsonpatch.DecodePatch(q.Patch)
		if err != nil {
			return failed(err)
		}
		jsonpatch.AccumulatedCopySizeLimit = 3 * 1024 * 1024
		return given(patch.Apply(q.Original))
	case "merge":
		return given(jsonpatch.MergePatch(q.Original, q.Patch))
	case "labels":
		selector, err := labels.Parse(q.Text)
		if err != nil {
			return failed(err)
		}
		return answer{"text": selector.String(), "matches": selector.Matches(labels.Set(q.Labels))}
	case "fields":
		selector, err := fields.ParseSelector(q.Text)
		if err != nil {
			return failed(err)
		}
		return answer{"text": selector.String(), "matches": selector.Matches(fields.Set(q.Labels))}
	case "duration":
		return answer{"text": duration.HumanDuration(time.Duration(q.Nanos))}
	case "custom-table":
		return customTable(q)
	case "columns":
		return columns(q)
	case "table":
		return table(q)
	}
	return answer{"error": "no such question"}
}

func failed(err error) answer {
	return answer{"error": err.Error()}
}

func given(text []byte, err error) answer {
	if err != nil {
		return failed(err)
	}
	return answer{"value": json.RawMessage(text)}
}

func kindOf(q question) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: q.Group, Version: q.Version, Kind: q.Kind}
}

func strategic(q question) answer {
	typed, err := legacyscheme.Scheme.New(kindOf(q))
	if err != nil {
		return failed(err)
	}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Original, typed); err != nil {
		return failed(err)
	}
	original, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		return failed(err)
	}
	before, _ := json.Marshal(original)
	patch := map[string]any{}
	if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Patch, &patch); err != nil {
		return failed(err)
	}
	patched, err := strategicpatch.StrategicMergeMapPatch(original, patch, typed)
	if err != nil {
		return answer{"error": err.Error(), "before": json.RawMessage(before)}
	}
	return answer{"value": patched, "before": json.RawMessage(before)}
}

// types describes the Go type of a kind as far as patches are concerned.
func types(q question) answer {
	typed, err := legacyscheme.Scheme.New(kindOf(q))
	if err != nil {
		return failed(err)
	}
	known := map[string]any{}
	root := describe(reflect.TypeOf(typed).Elem(), known)
	return answer{"root": root, "structs": known}
}

func describe(t reflect.Type, known map[string]any) any {
	pointer := false
	if t.Kind() == reflect.Pointer {
		t, pointer = t.Elem(), true
	}
	marshaler := reflect.TypeOf((*json.Marshaler)(nil)).Elem()
	switch {
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(marshaler):
		return answer{"sort": "opaque", "name": t.Name(), "pointer": pointer}
	case t.Kind() == reflect.Struct:
		name := t.String()
		if _, ok := known[name]; !ok {
			members := answer{}
			known[name] = members
			addMembers(t, members, known)
		}
		return answer{"sort": "struct", "name": name, "pointer": pointer}
	case t.Kind() == reflect.Map:
		return answer{"sort": "map", "element": describe(t.Elem(), known), "pointer": pointer}
	case t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8:
		return answer{"sort": "list", "element": describe(t.Elem(), known), "pointer": pointer}
	}
	return answer{"sort": "scalar", "name": t.Kind().String(), "pointer": pointer}
}

func addMembers(t reflect.Type, members answer, known map[string]any) {
	for i := 0; i < t.NumField(); i++ {
		member := t.Field(i)
		name, options, _ := strings.Cut(member.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		if name == "" && (member.Anonymous || strings.Contains(options, "inline")) {
			addMembers(member.Type, members, known)
			continue
		}
		members[name] = answer{
			"type":     describe(member.Type, known),
			"strategy": member.Tag.Get("patchStrategy"),
			"key":      member.Tag.Get("patchMergeKey"),
		}
	}
}

func customTable(q question) answer {
	var columns []apiextensionsv1.CustomResourceColumnDefinition
	if err := json.Unmarshal(q.Columns, &columns); err != nil {
		return failed(err)
	}
	convertor, invalid := tableconvertor.New(columns)
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(q.Original); err != nil {
		return failed(err)
	}
	made, err := convertor.ConvertToTable(context.Background(), object, &metav1.TableOptions{})
	if err != nil {
		return failed(err)
	}
	result := answer{"cells": made.Rows[0].Cells, "columns": made.ColumnDefinitions}
	if invalid != nil {
		result["invalid"] = invalid.Error()
	}
	return result
}

var generator = printers.NewTableGenerator().With(printersinternal.AddHandlers)

func internalObject(q question) (runtime.Object, error) {
	typed, err := legacyscheme.Scheme.New(kindOf(q))
	if err != nil {
		return nil, err
	}
	if len(q.Original) > 0 {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(q.Original, typed); err != nil {
			return nil, err
		}
	}
	return legacyscheme.Scheme.UnsafeConvertToVersion(typed, schema.GroupVersion{Group: q.Group, Version: runtime.APIVersionInternal})
}

func columns(q question) answer {
	q.Original = nil
	object, err := internalObject(q)
	if err != nil {
		return failed(err)
	}
	made, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
	if err != nil {
		return failed(err)
	}
	return answer{"columns": made.ColumnDefinitions}
}

func table(q question) answer {
	object, err := internalObject(q)
	if err != nil {
		return failed(err)
	}
	made, err := generator.GenerateTable(object, printers.GenerateOptions{Wide: true})
	if err != nil {
		return failed(err)
	}
	if len(made.Rows) != 1 {
		return failed(errors.New("no row"))
	}
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(made.Rows[0].Cells); err != nil {
		return failed(err)
	}
	return answer{"cells": json.RawMessage(text.Bytes())}
}
