"""Records what Go's text/template makes of templates, for the unit tests of ours.

    python tools/template-oracle/record.py

It builds the oracle beside this file with Go (seconds) and asks it about templates that were thought of, and about some
thousand that are put together at random; of the random ones with the same kind of answer, a few are kept.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RECORDED = HERE.parents[1] / "tests" / "unit" / "gotemplate" / "recorded.jsonl"

DATA: dict[str, Any] = {
    "cluster": {"name": "demo", "labels": {"b": "2", "a": "1"}},
    "controlPlane": {"version": "v1.36.3"},
    "numbers": [1, 2, 3],
    "half": 0.5,
    "big": 1e21,
    "zero": 0,
    "yes": True,
    "no": False,
    "empty": "",
    "none": None,
    "list": ["x", "ü", "<&'\""],
    "nothing": [],
    "n": -7,
}

THOUGHT_OF = r"""
plain text
{{ .cluster.name }}-{{ .n }}
{{.cluster.name}}{{.missing}}{{.missing.deeper}}
{{ .none }}|{{ .none.deeper }}
{{ .cluster.name.deeper }}
{{ .cluster.missing.deeper.still }}
a  {{- .n -}}  b
a  {{- /* comment */ -}}  b
a{{/* one */}}b
{{/* unclosed }}
{{ /* not a comment */ }}
{{- 3 -}}|{{-3}}|{{3 -}} x
{{ if .yes }}y{{ end }}{{ if .no }}n{{ else }}m{{ end }}
{{ if .empty }}a{{ else if .zero }}b{{ else if .yes }}c{{ else }}d{{ end }}
{{ with .cluster }}{{ .name }}{{ $.n }}{{ end }}
{{ with .empty }}a{{ else with .cluster }}{{ .name }}{{ else }}c{{ end }}
{{ with $x := .cluster.name }}{{ $x }}{{ . }}{{ end }}
{{ range .numbers }}[{{ . }}]{{ end }}
{{ range $i, $e := .list }}{{ $i }}={{ $e }};{{ end }}
{{ range $k, $v := .cluster.labels }}{{ $k }}={{ $v }};{{ end }}
{{ range $e := .cluster.labels }}{{ $e }}{{ end }}
{{ range .nothing }}a{{ else }}none{{ end }}
{{ range .missing }}a{{ else }}none{{ end }}
{{ range 3 }}{{ . }}{{ end }}|{{ range $i := 2 }}{{ $i }}{{ end }}
{{ range $a, $b := 2 }}{{ end }}
{{ range .controlPlane.version }}{{ end }}
{{ range .half }}{{ end }}
{{ range .yes }}{{ end }}
{{ range .numbers }}{{ if eq . 2 }}{{ continue }}{{ end }}{{ . }}{{ end }}
{{ range .numbers }}{{ if eq . 2 }}{{ break }}{{ end }}{{ . }}{{ end }}
{{ break }}
{{ continue }}
{{ $x := 1 }}{{ $x }}{{ $x = 2 }}{{ $x }}
{{ $x := 1 }}{{ if .yes }}{{ $x = 2 }}{{ $y := 3 }}{{ $y }}{{ end }}{{ $x }}
{{ if .yes }}{{ $y := 3 }}{{ end }}{{ $y }}
{{ $x := 1 }}{{ range .numbers }}{{ $x = . }}{{ end }}{{ $x }}
{{ $i := 9 }}{{ range $i = .numbers }}{{ $i }}{{ end }}{{ $i }}
{{ $i := 9 }}{{ $j := 8 }}{{ range $i, $j = .numbers }}{{ $i }}{{ $j }}{{ end }}{{ $i }}{{ $j }}
{{ $undefined }}
{{ $x = 1 }}
{{ $x, $y := 1 }}
{{ range $x, $y, $z := .numbers }}{{ end }}
{{ range $x, 3 := .numbers }}{{ end }}
{{ define "a" }}<{{ . }}>{{ end }}{{ template "a" .n }}{{ template "a" }}{{ template "a" .missing }}
{{ block "b" .cluster }}({{ .name }}){{ end }}{{ template "b" .controlPlane }}
{{ template "nowhere" . }}
{{ define "a" }}1{{ end }}{{ define "a" }}2{{ end }}{{ template "a" }}
{{ define "a" }} {{ end }}{{ define "a" }}2{{ end }}{{ template "a" }}
{{ define "a" }}{{ $x := 1 }}{{ end }}{{ $x }}
{{ define a }}{{ end }}
{{ template "a" . }}{{ define "a" }}{{ .cluster.name.x }}{{ end }}
{{ "text" }}{{ `raw
text` }}{{ 'x' }}{{ 1.5 }}{{ 0x1F }}{{ 1e3 }}{{ true }}{{ 0b11 }}{{ 0o17 }}{{ 017 }}{{ 1_000 }}
{{ "\t\"\\\u00fc\x41\101\n" }}
{{ "\q" }}
{{ "unterminated }}
{{ `unterminated }}
{{ 'ab' }}
{{ 'a }}
{{ '\n' }}
{{ nil }}
{{ nil | print }}
{{ print nil }}
{{ eq .none nil }}{{ eq nil .missing }}{{ eq .n nil }}
{{ .n 1 }}
{{ .cluster.name 1 }}
{{ 1 | .n }}
{{ 1 | 2 }}
{{ .n | "x" }}
{{ 3 4 }}
{{ "a" "b" }}
{{ print 1 2 "a" 3 4 "b" "c" }}
{{ println 1 "a" 2 }}
{{ print }}{{ println }}
{{ 1 | print 2 3 }}
{{ .list | len }}{{ len .cluster }}{{ len "üx" }}
{{ len 3 }}
{{ len .none }}
{{ len .missing }}
{{ len }}
{{ len 1 2 }}
{{ index .list 1 }}{{ index .cluster "name" }}{{ index .cluster "labels" "a" }}{{ index .cluster "missing" }}
{{ index .list 7 }}
{{ index .list -1 }}
{{ index .list "x" }}
{{ index .cluster 1 }}
{{ index .none 1 }}
{{ index .half 1 }}
{{ index "abc" 1 }}
{{ index .cluster "missing" "deeper" }}
{{ index .list }}
{{ slice .list 1 }}{{ slice .list 0 2 }}{{ slice "abc" 1 2 }}{{ slice .list }}{{ slice .list 0 1 2 }}
{{ slice "abc" 2 1 }}
{{ slice "abc" 0 1 2 }}
{{ slice "abc" 9 }}
{{ slice .n 1 }}
{{ slice .list 0 1 2 3 }}
{{ not .yes }}{{ not 0 }}{{ not "" }}{{ not .missing }}
{{ and }}
{{ and 1 0 2 }}{{ or 0 "" 3 }}{{ and 1 2 }}{{ or 0 "" }}{{ 5 | and 1 }}{{ 5 | or 0 }}
{{ and .no (index .list 99) }}{{ or .yes (index .list 99) }}
{{ eq 1 1 }}{{ eq 1 2 3 1 }}{{ eq "a" "b" }}{{ ne 1 2 }}{{ lt 1 2 }}{{ le 2 2 }}{{ gt 3 2 }}{{ ge 1 2 }}
{{ eq 1 "a" }}
{{ eq 1 1.0 }}
{{ eq .numbers .numbers }}
{{ eq .cluster .list }}
{{ eq 1 }}
{{ lt "a" 1 }}
{{ lt true false }}
{{ lt .list .list }}
{{ lt "a" "b" }}{{ lt 1.5 2.5 }}{{ gt "ü" "z" }}
{{ ne 1 2 3 }}
{{ printf "%s-%d-%v" "a" 1 .half }}
{{ printf "%5d|%-5d|%05d|%+d|% d" 1 2 3 4 5 }}
{{ printf "%8.3f|%.2f|%e|%g" .half 1.005 1234.5 0.000001 }}
{{ printf "%q %x %X %c %U %t %T %T %T" "a\"b" "hi" 255 65 65 true 1 "a" .numbers }}
{{ printf "%10s|%-10s|%.2s" "abc" "def" "ghijk" }}
{{ printf "%v %v %v" .cluster .list .none }}
{{ printf "%d" "a" }}{{ printf "%s" 1 }}{{ printf "%z" 1 }}
{{ printf "%d" }}{{ printf "x" 1 }}{{ printf "%" }}{{ printf "%%" }}
{{ printf "%*d" 5 1 }}
{{ printf 1 }}
{{ printf }}
{{ printf "%o %b %#x %#o %O" 8 5 255 8 8 }}
{{ printf "%6.2f|%-8.1f|%08.3f" 3.14159 2.5 -1.5 }}
{{ .half }} {{ .big }} {{ 1e20 }} {{ 1e21 }} {{ 0.0001 }} {{ 0.00001 }} {{ 100.0 }} {{ 1.50 }}
{{ html "<a href='x'>&\"" }}{{ .list | html }}
{{ js "it's <b>\n=" }}
{{ urlquery "a b&c/ü~" }}
{{ nosuch 1 }}
{{ .cluster.name | nosuch }}
{{ (index .list 0) }}{{ (.cluster).name }}{{ (index .cluster "labels").a }}{{ (print "x" | len) }}
{{ (.cluster.name }}
{{ .cluster.name) }}
{{ ( ) }}
{{ }}
{{ | print }}
{{ print | }}
{{ if }}{{ end }}
{{ if .yes }}
{{ end }}
{{ else }}
{{ if .yes }}{{ else }}{{ else }}{{ end }}
{{ if .yes }}{{ else with .n }}{{ end }}
{{ range }}{{ end }}
{{ with }}{{ end }}
{{ if .yes }}{{ end x }}
{{ unclosed
{{ .a
line two }}
{{ .cluster

.name }}
{{ $ }}{{ $.n }}{{ $x := . }}{{ $x.n }}
{{ .n.x }}
{{ $.cluster.name.x }}
{{ "x".y }}
{{ 1.y }}
{{ true.x }}
{{ nil.x }}
{{ (1).x }}
{{ .cluster . name }}
{{ .cluster .name }}
{{ .1a }}
{{ 1a }}
{{ 0x }}
{{ 1__0 }}
{{ 9223372036854775808 }}
{{ -9223372036854775808 }}
{{ $x+2 }}
{{ .a-b }}
{{ a-b }}
{{ .ü }}{{ printf "%s" .ü }}
{{ ! }}
{{ # }}
{{ ü }}
{{ . }}
{{ "a
b" }}
text {{ "{{" }} text {{ "}}" }}
}} alone
{ { } }
{{{ .n }}}
{{ define "x" }}{{ break }}{{ end }}
{{ range .numbers }}{{ define "x" }}{{ end }}{{ end }}
{{ block "x" }}{{ end }}
{{ printf "%999999s" "" | len }}
{{ true | not | print "is " }}
{{ print (eq .n -7) (len .list) }}
{{ and .yes .cluster.name | printf "%s!" }}
{{if eq .controlPlane.version "v1.36.3"}}same{{end}}
{{ .cluster.labels }}{{ .numbers }}{{ .list }}{{ .yes }}
{{- range $k, $v := .cluster.labels }}
{{ $k }}: {{ $v }}
{{- end }}
""".strip("\n")

PIECES = [
    ".",
    ".n",
    ".cluster",
    ".cluster.name",
    ".cluster.labels.a",
    ".missing",
    ".missing.x",
    ".none",
    ".list",
    ".numbers",
    ".yes",
    ".half",
    ".empty",
    "$",
    "$.n",
    "$v",
    "1",
    "-2",
    "1.5",
    '"text"',
    "true",
    "nil",
    "(len .list)",
    "(index .list 0)",
    "(.cluster).name",
    "'c'",
]
WORDS = ["print", "printf", "len", "index", "slice", "not", "and", "or", "eq", "ne", "lt", "le", "gt", "ge", "html"]


def made_up(source: random.Random, depth: int = 0) -> str:
    """A template put together at random, mostly one that can be read."""

    def piece() -> str:
        chosen = source.choice(PIECES)
        return chosen if chosen != "$v" or depth else "$"

    def pipeline() -> str:
        steps = []
        for number in range(source.choice([1, 1, 1, 2])):
            arguments = " ".join(piece() for _ in range(source.choice([0, 1, 1, 2, 2, 3])))
            if number or source.random() < 0.5:
                steps.append(f"{source.choice(WORDS)} {arguments}".strip())
            else:
                steps.append(piece())
        return " | ".join(steps)

    def action() -> str:
        left, right = source.choice(["{{ ", "{{- "]), source.choice([" }}", " -}}"])
        kind = source.random()
        if depth > 2 or kind < 0.6:
            return f"{left}{pipeline()}{right}"
        inner = made_up(source, depth + 1)
        head = source.choice(["if", "with $v :=", "range $v :=", "range", "range $k, $v :="])
        if "$v" not in head:
            inner = inner.replace("$v", "$")
        other = f"{{{{ else }}}}{source.choice(['', 'o', ' - '])}" if source.random() < 0.4 else ""
        return f"{left}{head} {pipeline()}{right}{inner}{other}{{{{ end }}}}"

    return "".join(source.choice(["", " ", "a", "\n"]) + action() for _ in range(source.choice([1, 1, 2])))


def questions() -> Iterator[dict[str, Any]]:
    """Everything that is asked."""
    source = random.Random(20260115)
    separate = re.split(r"\n(?!text` |line two|\n|\.name|b\" \}|\{\{ \$k \}\}: |\{\{- end \}\})", THOUGHT_OF)
    for template in separate:
        yield {"template": template, "data": DATA}
        if "missing" in template or "none" in template:
            yield {"template": template, "data": DATA, "strict": True}
    for template in ("{{ .a }}", "{{ .a.b }}", "{{ . }}", "{{ $.x }}", "{{ range . }}{{ . }}{{ end }}"):
        for data in (None, "text", 3, [1, "a"], {"a": None}, {"a": {}}, True, 1.5):
            for strict in (False, True):
                yield {"template": template, "data": data, "strict": strict}
    for _ in range(6000):
        yield {"template": made_up(source), "data": DATA, "strict": source.random() < 0.1}


def main() -> None:
    """Build, ask, write."""
    asked = list(questions())
    with tempfile.TemporaryDirectory() as folder:
        oracle = Path(folder) / "oracle"
        subprocess.run(["go", "build", "-o", oracle, "."], cwd=HERE, check=True)
        lines = "".join(f"{json.dumps(each)}\n" for each in asked)
        answers = subprocess.run([oracle], input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
    kept: Counter[str] = Counter()
    fixed = len(asked) - 6000
    with RECORDED.open("w", encoding="utf-8") as file:
        for number, line in enumerate(answers):
            answer = json.loads(line)
            sort = re.sub(r"<.*?>|\"[^\"]*\"|\d+", "_", answer.get("error", "")) or str(number % 300)
            kept[sort] += 1
            if number < fixed or kept[sort] <= 3:
                if answer["data"] == DATA:
                    del answer["data"]
                file.write(json.dumps(answer, ensure_ascii=False) + "\n")
    print(f"{len(asked)} questions")


if __name__ == "__main__":
    main()
