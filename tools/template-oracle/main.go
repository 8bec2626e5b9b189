// Answers what Go's text/template makes of templates: one JSON question per line in, one JSON answer per line out.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"text/template"
)

type question struct {
	Template string `json:"template"`
	Data     any    `json:"data"`
	Strict   bool   `json:"strict,omitempty"`
}

type answer struct {
	question
	Text  string `json:"text,omitempty"`
	Error string `json:"error,omitempty"`
}

// whole turns JSON's whole numbers into integers, as Kubernetes' decoder does.
func whole(value any) any {
	switch found := value.(type) {
	case map[string]any:
		for key, each := range found {
			found[key] = whole(each)
		}
	case []any:
		for place, each := range found {
			found[place] = whole(each)
		}
	case json.Number:
		if number, err := found.Int64(); err == nil {
			return int(number)
		}
		number, _ := found.Float64()
		return number
	}
	return value
}

func ask(q question) answer {
	a := answer{question: q}
	parsed, err := template.New("t").Parse(q.Template)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	if q.Strict {
		parsed = parsed.Option("missingkey=error")
	}
	var out bytes.Buffer
	if err := parsed.Execute(&out, whole(q.Data)); err != nil {
		a.Error = err.Error()
		return a
	}
	a.Text = out.String()
	return a
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for in.Scan() {
		var q question
		decoder := json.NewDecoder(bytes.NewReader(in.Bytes()))
		decoder.UseNumber()
		if err := decoder.Decode(&q); err != nil {
			panic(err)
		}
		if err := out.Encode(ask(q)); err != nil {
			panic(err)
		}
	}
}
