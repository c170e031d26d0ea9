const KEY = "express-skills-token";

/**
 * A token in the fragment of the address (`#token=...`) is kept for this tab and taken out of the address, so that it is neither
 * bookmarked nor shown. Fragments are never sent to a server.
 */
export function takeTokenFromAddress(): void {
  const token = /^#token=([^&]+)/.exec(location.hash)?.[1];
  if (token === undefined) return;
  keepToken(decode(token));
  history.replaceState(null, "", `${location.pathname}${location.search}#/`);
}

export function keepToken(token: string): void {
  memory = token;
  try {
    sessionStorage.setItem(KEY, token);
  } catch {
    // Without storage the token lasts as long as the page.
  }
}

export function forgetToken(): void {
  memory = undefined;
  try {
    sessionStorage.removeItem(KEY);
  } catch {}
}

export function currentToken(): string | undefined {
  if (memory !== undefined) return memory;
  try {
    return sessionStorage.getItem(KEY) ?? undefined;
  } catch {
    return undefined;
  }
}

let memory: string | undefined;

function decode(token: string): string {
  try {
    return decodeURIComponent(token);
  } catch {
    return token;
  }
}
