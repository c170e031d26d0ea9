#!/bin/sh
# Brings Docker and Podman with the test images to a machine that may have neither, no init system and no registry.
# May run again at any time: it does only what is missing. Stop the daemon that it started with stop.sh.
#
# setup.sh [--no-install]    --no-install is for runs of tests, which stop the daemon that they started
#
# SKILLS_TEST_ENGINES      engines that must work, "docker,podman"; default: every engine that can be made to work
# SKILLS_TEST_ENGINES_DIR  data, socket, pid file, logs; default /tmp/express-skills-engines-UID
set -eu
here="$(cd "$(dirname "$0")" && pwd)"
. "$here/paths.sh"
wanted="${SKILLS_TEST_ENGINES:-}"
mkdir -p "$ENGINES_DIR"
# Two at once would start two daemons. The daemon is started with the lock's descriptor closed, else it would hold it.
exec 9>"$ENGINES_DIR/lock"
flock 9

say() { echo "engines: $*"; }
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo && sudo -n true 2>/dev/null; then sudo -n "$@"; else return 1; fi
}

is_wanted() {
  case ",${wanted:-docker,podman}," in *",$1,"*) return 0 ;; *) return 1 ;; esac
}

is_required() {
  [ -n "$wanted" ] && is_wanted "$1"
}

fail_or_skip() {
  if is_required "$1"; then say "$1: $2" >&2; exit 1; fi
  say "$1 is left out: $2"
}

install_packages() {
  missing=""
  has busybox && [ -z "$(ldd "$(command -v busybox)" 2>/dev/null | grep '=>')" ] || missing="$missing busybox-static"
  if is_wanted podman && ! has podman; then missing="$missing podman runc"; fi
  if is_wanted docker && ! docker_answers && ! has dockerd; then missing="$missing docker.io runc iptables"; fi
  [ -n "$missing" ] || return 0
  if ! has apt-get; then say "cannot install$missing: no apt-get"; return 0; fi
  say "installing$missing"
  # shellcheck disable=SC2086
  { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } \
    >"$ENGINES_DIR/apt.log" 2>&1 || say "could not install$missing: see $ENGINES_DIR/apt.log"
}

docker_answers() { has docker && timeout 10 docker version >/dev/null 2>&1; }

# Uses the engine that answers as the environment is, else the daemon of an earlier setup, else starts one.
prepare_docker() {
  if docker_answers; then return 0; fi
  export DOCKER_HOST="unix://$DOCKER_SOCKET"
  if docker_answers; then return 0; fi
  has dockerd || return 1
  [ "$(id -u)" = 0 ] || return 1
  say "starting dockerd"
  setsid dockerd --data-root "$ENGINES_DIR/data" --exec-root "$ENGINES_DIR/exec" --pidfile "$ENGINES_DIR/docker.pid" \
    -H "$DOCKER_HOST" --iptables=false --ip6tables=false --ip-masq=false --bridge=none >"$ENGINES_DIR/dockerd.log" 2>&1 9>&- &
  for _ in $(seq 1 120); do
    if docker_answers; then return 0; fi
    sleep 0.25
  done
  tail -5 "$ENGINES_DIR/dockerd.log" >&2
  return 1
}

# crun refuses some cgroup layouts, and the default rlimits cannot be set everywhere; a file of our own leaves the machine as it is.
prepare_podman() {
  has podman || return 1
  if podman_runs; then return 0; fi
  {
    echo '[containers]'
    echo 'default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]'
    echo '[engine]'
    if has runc; then echo 'runtime = "runc"'; fi
  } >"$PODMAN_CONFIG"
  export CONTAINERS_CONF="$PODMAN_CONFIG"
  podman_runs
}

podman_runs() {
  import_image podman shell || return 1
  timeout 60 podman run --rm --network none --memory 64m --pids-limit 32 localhost/express-skills-test/shell:1 true >"$ENGINES_DIR/podman.log" 2>&1
}

# One root file system for shell fixtures, one for Node fixtures; both engines get them under the same names.
make_file_systems() {
  if [ ! -s "$ENGINES_DIR/shell.tar" ]; then
    root="$ENGINES_DIR/shell.root"
    rm -rf "$root"
    make_root "$root"
    tar -C "$root" -cf "$ENGINES_DIR/shell.tar.part" . && mv "$ENGINES_DIR/shell.tar.part" "$ENGINES_DIR/shell.tar"
    rm -rf "$root"
  fi
  if [ ! -s "$ENGINES_DIR/node.tar" ]; then
    root="$ENGINES_DIR/node.root"
    rm -rf "$root"
    make_root "$root"
    node_binary="$(readlink -f "$(command -v node)")"
    cp "$node_binary" "$root/bin/node"
    ldd "$node_binary" | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p "$root$(dirname "$library")"
      cp -L "$library" "$root$library"
    done
    tar -C "$root" -cf "$ENGINES_DIR/node.tar.part" . && mv "$ENGINES_DIR/node.tar.part" "$ENGINES_DIR/node.tar"
    rm -rf "$root"
  fi
}

make_root() {
  mkdir -p "$1/bin" "$1/etc" "$1/tmp" "$1/dev" "$1/proc" "$1/sys" "$1/home" "$1/root"
  cp "$(command -v busybox)" "$1/bin/busybox"
  for applet in $(busybox --list); do
    [ "$applet" = busybox ] || ln -s busybox "$1/bin/$applet"
  done
  echo 'root:x:0:0:root:/root:/bin/sh' >"$1/etc/passwd"
  echo 'nobody:x:65534:65534:nobody:/home:/bin/sh' >>"$1/etc/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$1/etc/group"
  chmod 1777 "$1/tmp"
}

import_image() {
  engine="$1"
  name="localhost/express-skills-test/$2:1"
  if "$engine" image inspect "$name" >/dev/null 2>&1; then return 0; fi
  say "$engine: importing $name"
  "$engine" import --change 'ENV PATH=/bin' "$ENGINES_DIR/$2.tar" "$name" >/dev/null 2>&1
}

# An image whose own settings would weaken a run that does not override them.
import_meddling_image() {
  engine="$1"
  name="localhost/express-skills-test/meddling:1"
  if "$engine" image inspect "$name" >/dev/null 2>&1; then return 0; fi
  say "$engine: importing $name"
  printf '%s\n' 'FROM localhost/express-skills-test/shell:1' 'ENTRYPOINT ["/bin/echo", "entrypoint"]' 'CMD ["cmd"]' \
    'VOLUME /data' 'USER root' 'WORKDIR /root' 'STOPSIGNAL SIGUSR1' 'HEALTHCHECK --interval=1s CMD touch /tmp/checked' |
    DOCKER_BUILDKIT=0 "$engine" build $(build_flags "$engine") -t "$name" - >/dev/null 2>&1
}

# podman's own image format has no health check.
build_flags() {
  if [ "$1" = podman ]; then echo "--format docker"; fi
}

import_images() {
  import_image "$1" shell && import_image "$1" node && import_meddling_image "$1"
}

if [ "${1:-}" != --no-install ]; then
  # From now on the daemon is not one that a run of tests started and stops.
  rm -rf "$ENGINES_DIR/users"
  install_packages
fi
make_file_systems
: >"$ENGINES_DIR/environment.part"
if is_wanted docker; then
  if prepare_docker && import_images docker; then
    { echo "docker=ready"; [ -z "${DOCKER_HOST:-}" ] || echo "DOCKER_HOST=$DOCKER_HOST"; } >>"$ENGINES_DIR/environment.part"
    say "docker is ready"
  else
    fail_or_skip docker "no Docker engine answers, and none could be started"
  fi
fi
if is_wanted podman; then
  if prepare_podman && import_images podman; then
    { echo "podman=ready"; [ -z "${CONTAINERS_CONF:-}" ] || echo "CONTAINERS_CONF=$CONTAINERS_CONF"; } >>"$ENGINES_DIR/environment.part"
    say "podman is ready"
  else
    fail_or_skip podman "it is not installed, or cannot run a container here: see $ENGINES_DIR/podman.log"
  fi
fi
mv "$ENGINES_DIR/environment.part" "$ENGINES_DIR/environment"
