// Prints what Go knows about the types of the built-in API kinds, as JSON: which struct each kind is, and for every field its
// name, type, tags and protobuf number. facts.py turns it into the table that the API server reads.
// With the argument "vectors" it reads a list of objects instead, and prints each as protobuf and as Go writes it back.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

type field struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Number   string   `json:"number"`
	Omit     []string `json:"omit"`
	Via      []string `json:"via"`
	Strategy string   `json:"strategy,omitempty"`
	MergeKey string   `json:"mergeKey,omitempty"`
}

type structure struct {
	Package string  `json:"package"`
	Fields  []field `json:"fields"`
}

type walker struct {
	structs map[string]*structure
}

// The packages whose types appear in objects, by the short names that the table uses. A type of any other package stops the walk.
var shortNames = []struct{ prefix, short string }{
	{"k8s.io/apimachinery/pkg/apis/", ""},
	{"k8s.io/apimachinery/pkg/api/", ""},
	{"k8s.io/apimachinery/pkg/util/", ""},
	{"k8s.io/apimachinery/pkg/", ""},
	{"k8s.io/apiextensions-apiserver/pkg/apis/", ""},
	{"k8s.io/kube-aggregator/pkg/apis/", ""},
	{"k8s.io/api/", ""},
}

// Types that write themselves as JSON in a form of their own. Their insides are not part of the table.
var opaque = map[string]bool{
	"meta/v1.Time": true, "meta/v1.MicroTime": true, "meta/v1.Duration": true, "meta/v1.FieldsV1": true,
	"resource.Quantity": true, "intstr.IntOrString": true, "runtime.RawExtension": true, "apiextensions/v1.JSON": true,
	"apiextensions/v1.JSONSchemaPropsOrBool": true, "apiextensions/v1.JSONSchemaPropsOrArray": true,
	"apiextensions/v1.JSONSchemaPropsOrStringArray": true,
}

func shortPackage(path string) string {
	for _, each := range shortNames {
		if rest, found := strings.CutPrefix(path, each.prefix); found {
			return rest
		}
	}
	panic("a type of an unknown package: " + path)
}

type protobufMessage interface{ Unmarshal([]byte) error }

// describe writes a type in the table's notation and walks the structs that it refers to.
func (w *walker) describe(t reflect.Type) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return "*" + w.describe(t.Elem())
	case t.Kind() == reflect.Struct:
		return w.structure(t)
	case t.PkgPath() != "":
		name := t.String() + "="
		if t.Kind() == reflect.Slice && reflect.PointerTo(t).Implements(reflect.TypeFor[protobufMessage]()) {
			name += "message"
		}
		return name + w.unnamed(t)
	}
	return w.unnamed(t)
}

func (w *walker) unnamed(t reflect.Type) string {
	if t != nil && reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		panic("a type with its own JSON form: " + t.String())
	}
	switch t.Kind() {
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			panic("a map with keys other than text: " + t.String())
		}
		return "map[" + t.Key().String() + "]" + w.describe(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "bytes"
		}
		return "[]" + w.describe(t.Elem())
	case reflect.String, reflect.Bool, reflect.Int, reflect.Int32, reflect.Int64, reflect.Float64:
		return t.Kind().String()
	}
	panic("a type that the table cannot express: " + t.String())
}

func (w *walker) structure(t reflect.Type) string {
	name := shortPackage(t.PkgPath()) + "." + t.Name()
	if opaque[name] || w.structs[name] != nil {
		return name
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		panic("a type with its own JSON form: " + name)
	}
	s := &structure{Package: t.PkgPath()}
	w.structs[name] = s
	w.fields(t, nil, s)
	return name
}

// fields adds the members of a struct; those of embedded structs count as its own.
func (w *walker) fields(t reflect.Type, via []string, into *structure) {
	for i := range t.NumField() {
		member := t.Field(i)
		tag, tagged := member.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		if name == "-" {
			continue
		}
		protobuf := strings.Split(member.Tag.Get("protobuf"), ",")
		if member.Anonymous && name == "" {
			number := ""
			if len(protobuf) > 1 {
				number = protobuf[1]
			}
			w.fields(member.Type, append(append([]string{}, via...), member.Name+":"+number), into)
			continue
		}
		if !tagged || name == "" {
			panic("a field without a JSON name: " + t.String() + "." + member.Name)
		}
		f := field{Name: name, Type: w.describe(member.Type), Via: via, Omit: []string{}}
		for _, option := range strings.Split(options, ",") {
			switch option {
			case "":
			case "omitempty", "omitzero":
				f.Omit = append(f.Omit, option)
			default:
				panic("an unknown JSON option: " + t.String() + "." + member.Name + " " + option)
			}
		}
		if len(protobuf) > 1 {
			f.Number = protobuf[1]
		}
		f.Strategy, f.MergeKey = member.Tag.Get("patchStrategy"), member.Tag.Get("patchMergeKey")
		into.Fields = append(into.Fields, f)
	}
}

func main() {
	scheme := runtime.NewScheme()
	for _, add := range groups {
		if err := add(scheme); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	var result any
	var err error
	if len(os.Args) > 1 && os.Args[1] == "vectors" {
		result, err = vectors(scheme, os.Stdin)
	} else {
		result = facts(scheme)
	}
	if err == nil {
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", " ")
		err = encoder.Encode(result)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func facts(scheme *runtime.Scheme) any {
	w := walker{structs: map[string]*structure{}}
	kinds := map[string]string{}
	for gvk, t := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			kinds[strings.Join([]string{gvk.Group, gvk.Version, gvk.Kind}, "/")] = w.structure(t)
		}
	}
	for name, kind := range map[string]any{
		"PartialObjectMetadata": metav1.PartialObjectMetadata{}, "PartialObjectMetadataList": metav1.PartialObjectMetadataList{},
	} {
		kinds["meta.k8s.io/v1/"+name] = w.structure(reflect.TypeOf(kind))
	}
	return map[string]any{"kinds": kinds, "structs": w.structs}
}
