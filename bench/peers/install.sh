#!/bin/sh
# Installs the peers that the bench runs codemode beside: npm packages by their lock file, without running any of their
# scripts, and the Go peers in a module of their own. Needs npm and Go; nothing of codemode needs it.
set -eu
cd "$(dirname "$0")"
status=0
if command -v npm >/dev/null; then
	# From npm 11 on, ci refuses a lock file without the packages of other platforms; install holds to it as well.
	(cd npm && { npm ci --no-progress 2>/dev/null || npm install --no-save --no-progress; }) || { echo "bench: the npm peers could not be installed and will be skipped" >&2; status=1; }
else
	echo "bench: npm is not installed: the npm peers will be skipped" >&2
	status=1
fi
(cd go && go build -trimpath -o bin/peer .) || { echo "bench: the Go peers could not be built and will be skipped" >&2; status=1; }
exit $status
