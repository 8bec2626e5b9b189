package main

import (
	"bytes"
	"encoding/json"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
)

type vector struct {
	Protobuf []byte          `json:"protobuf"`
	Object   json.RawMessage `json:"object"`
}

// vectors encodes objects as Go clients send them, and decodes them again as the real server does.
func vectors(scheme *runtime.Scheme, input io.Reader) ([]vector, error) {
	var objects []json.RawMessage
	if err := json.NewDecoder(input).Decode(&objects); err != nil {
		return nil, err
	}
	wire := protobuf.NewSerializer(scheme, scheme)
	result := []vector{}
	for _, text := range objects {
		object, gvk, err := serializer.NewCodecFactory(scheme).UniversalDeserializer().Decode(text, nil, nil)
		if err != nil {
			return nil, err
		}
		var body bytes.Buffer
		if err := wire.Encode(object, &body); err != nil {
			return nil, err
		}
		received, _, err := wire.Decode(body.Bytes(), nil, nil)
		if err != nil {
			return nil, err
		}
		received.GetObjectKind().SetGroupVersionKind(*gvk)
		written, err := json.Marshal(received)
		if err != nil {
			return nil, err
		}
		result = append(result, vector{body.Bytes(), written})
	}
	return result, nil
}
