import { useEffect, useState } from "preact/hooks";

/** Where the page is: what stands after `#` in its address, so that it works below any path and behind any proxy. */
export interface Route {
  /** Decoded segments: `#/skills/%40a%2Fb` is `["skills", "@a/b"]`. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  useEffect(() => {
    const update = () => setRoute(currentRoute());
    addEventListener("hashchange", update);
    addEventListener(ROUTE_REPLACED, update);
    return () => {
      removeEventListener("hashchange", update);
      removeEventListener(ROUTE_REPLACED, update);
    };
  }, []);
  return route;
}

/** An address for a link. Empty and absent parts of the query are left out. */
export function href(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => entry[1] !== undefined && entry[1] !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${path.map(encodeURIComponent).join("/")}${text === "" ? "" : `?${text}`}`;
}

export function go(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): void {
  location.hash = href(path, query);
}

/** Changes the address without a step in the browser's history: for filters while they are typed. */
export function replaceQuery(route: Route, query: Readonly<Record<string, string | undefined>>): void {
  history.replaceState(null, "", `${location.pathname}${location.search}${href(route.path, query)}`);
  dispatchEvent(new Event(ROUTE_REPLACED));
}

const ROUTE_REPLACED = "skills-route-replaced";

function currentRoute(): Route {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return {
    path: path
      .split("/")
      .filter((segment) => segment !== "")
      .map(decode),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
