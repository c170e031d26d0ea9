import { readFileSync } from "node:fs";
import type { SkillError } from "../errors.js";
import type { PostgresTls } from "./postgres-driver.js";

export interface TlsParameters {
  readonly sslmode?: string;
  readonly sslrootcert?: string;
  readonly sslcert?: string;
  readonly sslkey?: string;
}

const MODES = ["disable", "require", "verify-ca", "verify-full"] as const;

/**
 * The TLS settings that libpq's parameters mean. `require` encrypts, and verifies the server's certificate only when `sslrootcert` is
 * given; `verify-ca` verifies it, `verify-full` its host name too. Without any, nothing is encrypted, unless PGSSLMODE says so.
 * @throws what `invalid` makes
 */
export function readTls(parameters: TlsParameters, invalid: (fault: string) => SkillError): boolean | PostgresTls | undefined {
  const { sslrootcert, sslcert, sslkey } = parameters;
  const hasFiles = sslrootcert !== undefined || sslcert !== undefined || sslkey !== undefined;
  if (parameters.sslmode === undefined && !hasFiles) return undefined;
  const mode = MODES.find((name) => name === (parameters.sslmode ?? "verify-full"));
  if (mode === undefined) throw invalid(`has an sslmode that is none of ${MODES.join(", ")}`);
  if (mode === "disable") return false;
  const read = (name: keyof TlsParameters): string | undefined => {
    const file = parameters[name];
    if (file === undefined || (name === "sslrootcert" && file === "system")) return undefined;
    try {
      return readFileSync(file, "utf8");
    } catch (error) {
      throw invalid(`names a file in ${name} that cannot be read (${(error as NodeJS.ErrnoException).code})`);
    }
  };
  return {
    rejectUnauthorized: mode !== "require" || sslrootcert !== undefined,
    ca: read("sslrootcert"),
    cert: read("sslcert"),
    key: read("sslkey"),
    ...(mode !== "verify-full" && { checkServerIdentity: () => undefined }),
  };
}
