import type { IncomingMessage } from "node:http";
import { SkillError } from "../lib/index.js";
import type { SkillsRequest } from "./types.js";

/**
 * The body as a parser left it; `{}` when none was sent.
 * @throws BODY_PARSER_MISSING (a JSON body was sent and nothing parsed it), UNSUPPORTED_MEDIA_TYPE (another one)
 */
export function parsedBody(request: SkillsRequest): unknown {
  const { body } = request;
  if (!wasSent(request) || wasParsed(request)) return body === undefined ? {} : body;
  const type = mediaType(request);
  if (type === "application/json") {
    const cure = "mount express.json() before the step";
    throw new SkillError("BODY_PARSER_MISSING", `A JSON body was sent, and no body parser ran: ${cure}.`);
  }
  if (type.endsWith("+json")) {
    const cure = 'mount express.json({ type: ["application/json", "+json"] }) before the step';
    throw new SkillError(
      "BODY_PARSER_MISSING",
      `A body with a +json content type was sent, and no body parser took it: ${cure}.`,
    );
  }
  const found = type === "" ? "no content type" : "a content type that nothing here reads";
  throw new SkillError("UNSUPPORTED_MEDIA_TYPE", `The body has ${found}; send JSON with the content type application/json.`);
}

function wasSent({ headers }: IncomingMessage): boolean {
  return headers["transfer-encoding"] !== undefined || Number(headers["content-length"]) > 0;
}

/**
 * Express 5's parsers leave `undefined` when the content type isn't theirs; those of Express 4 leave `{}`, which a parser that did read
 * the body may have made too: then the stream has been read.
 */
function wasParsed(request: SkillsRequest): boolean {
  const { body } = request;
  if (body === undefined) return false;
  return request.readableDidRead || !isEmptyPlainObject(body);
}

function isEmptyPlainObject(value: unknown): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    Object.getPrototypeOf(value) === Object.prototype &&
    Object.keys(value).length === 0
  );
}

function mediaType(request: IncomingMessage): string {
  const [type = ""] = (request.headers["content-type"] ?? "").split(";");
  return type.trim().toLowerCase();
}
