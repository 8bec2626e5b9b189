"""A Go that is a script: it says and does what the build path relies on, in milliseconds."""

from __future__ import annotations

from pathlib import Path

from support.fake_site import put_program, script

# Records its calls, names packages as it compiles them, and writes into the folder of `-o` one program per package that
# prints the version it was stamped with. FAKE_GO_* inject faults.
_FAKE_GO = """
printf '%s\\n' "$*" >> "$FAKE_GO_CALLS"
{ env; pwd; cat go.mod; } > "$FAKE_GO_CALLS.environment"
case "$1" in
env) [ -z "$FAKE_GO_TOO_OLD" ] || { echo "go: go.mod requires go >= 1.26.0 (running go 1.20)" >&2; exit 1; }
     echo go1.26.8; exit ;;
list) case "$*" in *{{.Dir}}*) echo "$FAKE_GO_MODULE"; exit ;; esac
      echo "go: downloading k8s.io/api v0.36.3" >&2
      [ -z "$FAKE_GO_NO_PROXY" ] || { echo "go: k8s.io/api: dial tcp: no such host" >&2; exit 1; }
      case "$*" in *-test*) echo "e2e k8s.io/kubernetes/test/e2e k8s.io/kubernetes"
                            echo "main k8s.io/kubernetes/test/e2e.test k8s.io/kubernetes"
                            echo "x k8s.io/kubernetes/x [k8s.io/kubernetes/test/e2e.test] k8s.io/kubernetes"
                            echo "goleak go.uber.org/goleak go.uber.org/goleak" ;;
      esac
      echo "fmt fmt "; echo "api k8s.io/api/core/v1 k8s.io/api"
      echo "main k8s.io/kubernetes/cmd/kubelet k8s.io/kubernetes"; exit ;;
esac
echo fmt >&2; echo k8s.io/api/core/v1 >&2
[ -z "$FAKE_GO_BROKEN" ] || { echo "# k8s.io/api/core/v1" >&2; echo "types.go:1:1: syntax error" >&2; exit 1; }
[ -z "$FAKE_GO_SLEEP" ] || { echo $$ > "$FAKE_GO_CALLS.pid"; sleep "$FAKE_GO_SLEEP" & wait; }
stamped=$(printf '%s' "$*" | sed -n 's/.*\\/version.gitVersion=\\([^ ]*\\).*/\\1/p')
command=$1; folder=
for argument; do
  if [ "$folder" = next ]; then folder=$argument
  elif [ "$argument" = -o ]; then folder=next
  elif [ -n "$folder" ]; then
    name=${argument##*/}; [ "$name" != v3 ] || name=server
    [ "$command" != test ] || name=$name.test
    printf '#!/bin/sh\\necho %s\\n' "${stamped:-3.7.3}" > "$folder$name"; chmod +x "$folder$name"
  fi
done
"""


class FakeGo:
    """A folder with a `go` that is a script."""

    def __init__(self, folder: Path) -> None:
        self._calls = folder / "calls"
        self._module = folder / "module"
        put_program(folder / "bin" / "go", script(_FAKE_GO))
        self.environment = {
            "PATH": f"{folder / 'bin'}:/usr/bin:/bin",
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "FAKE_GO_CALLS": str(self._calls),
            "FAKE_GO_MODULE": str(self._module),
        }

    def put(self, path: str, text: str) -> None:
        """Put a file into the module of every package."""
        target = self._module / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)

    @property
    def calls(self) -> list[str]:
        return self._calls.read_text().splitlines() if self._calls.exists() else []

    @property
    def saw(self) -> str:
        """The environment, the folder and the go.mod of the last call."""
        return Path(f"{self._calls}.environment").read_text()

    @property
    def pid_file(self) -> Path:
        return Path(f"{self._calls}.pid")
