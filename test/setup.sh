#!/usr/bin/env bash
# Makes a Debian or Ubuntu machine ready for `npm test`. Can be run again at any time. Needs Node with npm, and root or sudo if a
# compiler or the browser has to be installed.
set -euo pipefail
cd "$(dirname "$0")/.."

require_node() {
  command -v node >/dev/null && command -v npm >/dev/null || fail "Node and npm are needed: https://nodejs.org/en/download"
  node --eval 'const [major, minor] = process.versions.node.split(".").map(Number);
    process.exit(major > 20 || (major === 20 && minor >= 19) ? 0 : 1)' || fail "Node 20.19 or later is needed; this is $(node --version)"
}

# What is installed is left alone when it is what the lock file says: npm keeps a copy of it there.
install_packages() {
  if [ -f node_modules/.package-lock.json ] && npm ls --all >/dev/null 2>&1 && [ node_modules/.package-lock.json -nt package-lock.json ]; then
    echo "setup: the packages are installed"
  else
    npm ci --no-audit --no-fund
  fi
}

# Its native part is downloaded, or else compiled, by its install script. When neither works npm leaves the whole package out, since it is
# optional.
build_sqlite() {
  if sqlite_works; then
    echo "setup: better-sqlite3 works"
    return
  fi
  command -v python3 >/dev/null && command -v make >/dev/null && command -v g++ >/dev/null || install_compiler
  if [ -d node_modules/better-sqlite3 ]; then npm rebuild better-sqlite3; else npm ci --no-audit --no-fund; fi
  sqlite_works || fail "better-sqlite3 can't be loaded: see the lines above"
}

sqlite_works() {
  node --eval 'new (require("better-sqlite3"))(":memory:").close()' >/dev/null 2>&1
}

# The dashboard is tested in a real browser. Without one these tests are skipped, and say so.
install_browser() {
  for browser in chromium chromium-browser google-chrome; do
    if command -v "$browser" >/dev/null; then
      echo "setup: $browser is installed"
      return
    fi
  done
  if ! command -v apt-get >/dev/null || [ "$(id -u)" -ne 0 ] && ! sudo -n true 2>/dev/null; then
    echo "setup: no chromium is installed, and it can't be installed from here; the dashboard's tests will be skipped" >&2
    return
  fi
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core ||
    echo "setup: chromium can't be installed; the dashboard's tests will be skipped" >&2
}

install_compiler() {
  command -v apt-get >/dev/null || fail "python3, make and g++ are needed to compile better-sqlite3"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 make g++ ca-certificates
}

as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@" || fail "$1 needs root: run this as root, or with sudo"; fi
}

fail() {
  echo "setup: $1" >&2
  exit 1
}

require_node
install_packages
build_sqlite
install_browser
./test/engines/setup.sh
