# Where the test engines live; sourced by setup.sh and stop.sh.
ENGINES_DIR="${SKILLS_TEST_ENGINES_DIR:-/tmp/express-skills-engines-$(id -u)}"
DOCKER_SOCKET="$ENGINES_DIR/docker.sock"
PODMAN_CONFIG="$ENGINES_DIR/containers.conf"
