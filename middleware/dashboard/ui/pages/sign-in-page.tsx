import type { VNode } from "preact";
import { useEffect, useState } from "preact/hooks";
import { currentToken, forgetToken, keepToken } from "../api/token.js";
import { Icon } from "../parts/icon.js";

/** Shown while the server does not know who asks. */
export function SignInPage({ onToken }: { onToken(): void }): VNode {
  const [token, setToken] = useState("");
  const [wasRefused] = useState(() => currentToken() !== undefined);
  useEffect(() => {
    document.title = "Sign in · Skills";
    forgetToken();
  }, []);
  const submit = (event: Event) => {
    event.preventDefault();
    if (token.trim() === "") return;
    keepToken(token.trim());
    onToken();
  };
  return (
    <main class="alone">
      <form class="sign-in" onSubmit={submit}>
        <p class="brand">
          <Icon name="brand" /> Skills
        </p>
        <h1>The server does not know you</h1>
        {wasRefused && (
          <p class="notice notice-warning" role="alert">
            <Icon name="warning" />
            <span>It refused the token. Check it, or ask for a new one.</span>
          </p>
        )}
        <p>
          Sign in where this application lets you, then{" "}
          <button type="button" class="link" onClick={onToken}>
            try again
          </button>
          . If you were given a token, enter it here. It is kept in this tab only, and sent to this server only.
        </p>
        <label class="field">
          <span>Token</span>
          <input
            type="password"
            name="token"
            autocomplete="off"
            spellcheck={false}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit" class="primary">
          Continue
        </button>
        <details>
          <summary>I run this server</summary>
          <p>
            <code>skillsDashboard({"{ authorize }"})</code> asks your function <code>authorize(req)</code> with every request. It
            must return <code>{"{ apiKeyId, role }"}</code> for this browser: from a session cookie, from HTTP Basic, or from the
            header <code>Authorization: Bearer …</code>, which carries the token above. <code>npx express-skills dashboard</code>{" "}
            prints an address with a token in it.
          </p>
        </details>
      </form>
    </main>
  );
}
