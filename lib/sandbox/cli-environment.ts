/** Variables of the server that steer an engine's command line program. Nothing else of the server's environment reaches it. */
const allowed = new Set([
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "TMPDIR",
  "TEMP",
  "TMP",
  "SSH_AUTH_SOCK",
  "DBUS_SESSION_BUS_ADDRESS",
  "XDG_RUNTIME_DIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_CACHE_HOME",
  "SYSTEMROOT",
  "SYSTEMDRIVE",
  "USERPROFILE",
  "APPDATA",
  "LOCALAPPDATA",
  "PROGRAMDATA",
  "PROGRAMFILES",
  "PATHEXT",
  "COMSPEC",
  "WINDIR",
]);

const allowedPrefixes = ["DOCKER_", "CONTAINER_", "CONTAINERS_"];

/** The environment of the command line program. */
export function cliEnvironment(server: NodeJS.ProcessEnv): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [name, value] of Object.entries(server)) {
    if (value !== undefined && isAllowed(name.toUpperCase())) result[name] = value;
  }
  return result;
}

/** What a command line program that fetches images itself needs behind a proxy; never for a command that starts a container. */
export function proxyEnvironment(server: NodeJS.ProcessEnv): Record<string, string> {
  const proxies = Object.entries(server).filter(([name]) => /^(HTTP|HTTPS|NO|ALL)_PROXY$/i.test(name));
  return Object.fromEntries(proxies.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

function isAllowed(name: string): boolean {
  return allowed.has(name) || allowedPrefixes.some((prefix) => name.startsWith(prefix));
}
