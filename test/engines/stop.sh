#!/bin/sh
# Stops the Docker daemon that setup.sh started, by its pid file, and no other. `--purge` also removes data and images.
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
. "$here/paths.sh"
if [ -s "$ENGINES_DIR/docker.pid" ]; then
  pid="$(cat "$ENGINES_DIR/docker.pid")"
  # The number may belong to another process by now.
  if grep -q dockerd "/proc/$pid/comm" 2>/dev/null; then
    kill "$pid"
    for _ in $(seq 1 60); do
      [ -e "/proc/$pid" ] || break
      sleep 0.25
    done
  fi
  rm -f "$ENGINES_DIR/docker.pid"
fi
if [ "${1:-}" = --purge ]; then rm -rf "$ENGINES_DIR"; fi
