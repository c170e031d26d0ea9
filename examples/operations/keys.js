import { createHash, timingSafeEqual } from "node:crypto";

/**
 * Finds the owner of an API key. Only hashes are kept, and every one of them is compared, in the same time for every key.
 *
 * @param {Readonly<Record<string, import("express-skills").ApiIdentity>>} owners by key
 */
export function createAuthorize(owners) {
  const known = Object.entries(owners).map(([key, identity]) => ({ hash: hash(key), identity }));
  /**
   * @param {import("node:http").IncomingMessage} request
   * @returns {import("express-skills").ApiIdentity | null}
   */
  return function authorize({ headers }) {
    const key = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
    if (key === undefined) return null;
    const given = hash(key);
    return known.filter((one) => timingSafeEqual(one.hash, given))[0]?.identity ?? null;
  };
}

/** @param {string} text */
function hash(text) {
  return createHash("sha256").update(text).digest();
}
