package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
)

// write runs one request through a field manager made like the API server makes them for custom resources.
func write(converter managedfields.TypeConverter, got *request) answer {
	if got.Deduced {
		converter = managedfields.NewDeducedTypeConverter()
	}
	gv, err := schema.ParseGroupVersion(got.APIVersion)
	if err != nil {
		return answer{Error: err.Error()}
	}
	versions := versionConverter{strict: got.Strict, fields: got.Conversions}
	manager, err := managedfields.NewDefaultCRDFieldManager(
		converter, versions, noDefaults{}, creator{}, gv.WithKind(got.Kind), gv, got.Subresource, filters(got))
	if err != nil {
		return answer{Error: err.Error()}
	}
	started := time.Now().Add(-time.Minute)
	live := &unstructured.Unstructured{Object: got.Live}
	if got.Live == nil {
		live.Object = map[string]any{"apiVersion": got.APIVersion, "kind": got.Kind}
	}
	object := &unstructured.Unstructured{Object: got.Object}
	var result runtime.Object
	if got.Operation == "apply" {
		result, err = manager.Apply(live, object, got.Manager, got.Force)
	} else {
		result = manager.UpdateNoErrors(live, object, got.Manager)
	}
	if err != nil {
		reply := answer{Error: err.Error()}
		var status apierrors.APIStatus
		if errors.As(err, &status) {
			reply.Status = status.Status()
		}
		return reply
	}
	final := result.(*unstructured.Unstructured)
	if got.Now != "" {
		rewriteTimes(final, started, got.Now)
	}
	return answer{Object: final.Object}
}

// rewriteTimes puts the caller's idea of now wherever the field manager read the clock.
func rewriteTimes(object *unstructured.Unstructured, started time.Time, now string) {
	entries, _, _ := unstructured.NestedSlice(object.Object, "metadata", "managedFields")
	for _, each := range entries {
		entry := each.(map[string]any)
		text, _ := entry["time"].(string)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(started) {
			entry["time"] = now
		}
	}
	if entries != nil {
		_ = unstructured.SetNestedSlice(object.Object, entries, "metadata", "managedFields")
	}
}

func filters(got *request) map[fieldpath.APIVersion]fieldpath.Filter {
	result := map[fieldpath.APIVersion]fieldpath.Filter{}
	for version, paths := range got.Reset {
		set := fieldpath.NewSet()
		for _, path := range paths {
			set.Insert(fieldpath.MakePathOrDie(anys(path)...))
		}
		result[fieldpath.APIVersion(version)] = fieldpath.NewExcludeSetFilter(set)
	}
	for version, paths := range got.Include {
		matchers := []*fieldpath.SetMatcher{}
		for _, path := range paths {
			parts := anys(path)
			for i, part := range parts {
				if part == "*" {
					parts[i] = fieldpath.MatchAnyPathElement()
				}
			}
			matchers = append(matchers, fieldpath.MakePrefixMatcherOrDie(parts...))
		}
		result[fieldpath.APIVersion(version)] = fieldpath.NewIncludeMatcherFilter(matchers...)
	}
	return result
}

func anys(path []string) []any {
	result := []any{}
	for _, each := range path {
		result = append(result, each)
	}
	return result
}

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

type creator struct{}

func (creator) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	return object, nil
}

// versionConverter knows versions by the name that one field of spec has in each: {"g/v1": {"field": "alpha"}}.
type versionConverter struct {
	strict bool
	fields map[string]map[string]string
}

func (c versionConverter) Convert(any, any, any) error { return errors.New("not used") }

func (c versionConverter) ConvertFieldLabel(schema.GroupVersionKind, string, string) (string, string, error) {
	return "", "", errors.New("not used")
}

func (c versionConverter) ConvertToVersion(in runtime.Object, to runtime.GroupVersioner) (runtime.Object, error) {
	object := in.DeepCopyObject().(*unstructured.Unstructured)
	from := object.GroupVersionKind()
	target, ok := to.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok || (target.GroupVersion() != from.GroupVersion() && c.fields[target.GroupVersion().String()] == nil) {
		if c.strict {
			return nil, fmt.Errorf("request to convert CR to an invalid group/version: %v", to)
		}
		return nil, runtime.NewNotRegisteredErrForKind("oracle", target)
	}
	if target == from {
		return object, nil
	}
	old, renamed := c.fields[from.GroupVersion().String()]["field"], c.fields[target.GroupVersion().String()]["field"]
	if spec, found := object.Object["spec"].(map[string]any); found && old != renamed {
		if value, found := spec[old]; found {
			delete(spec, old)
			spec[renamed] = value
		}
	}
	object.SetGroupVersionKind(target)
	return object, nil
}

func scale(got *request) answer {
	mappings := managedfields.ResourcePathMappings{}
	for version, path := range got.Mappings {
		mappings[version] = nil
		if len(path) > 0 {
			mappings[version] = fieldpath.MakePathOrDie(anys(path)...)
		}
	}
	gv, err := schema.ParseGroupVersion(got.APIVersion)
	if err != nil {
		return answer{Error: err.Error()}
	}
	handler := managedfields.NewScaleHandler(entries(got.Entries), gv, mappings)
	var result []metav1.ManagedFieldsEntry
	if got.Operation == "toSubresource" {
		result, err = handler.ToSubresource()
	} else {
		result, err = handler.ToParent(entries(got.Scale))
	}
	if err != nil {
		return answer{Error: err.Error()}
	}
	raw, err := json.Marshal(result)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Object: json.RawMessage(raw)}
}

func entries(items []any) []metav1.ManagedFieldsEntry {
	raw, err := json.Marshal(items)
	if err != nil {
		panic(err)
	}
	result := []metav1.ManagedFieldsEntry{}
	if err := json.NewDecoder(strings.NewReader(string(raw))).Decode(&result); err != nil {
		panic(err)
	}
	return result
}
