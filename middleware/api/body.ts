import type { IncomingMessage } from "node:http";
import { SkillError } from "../../lib/index.js";

/**
 * The JSON body of a write; `undefined` when it is empty. A body that a parser of the application has read is not read again.
 * @throws UNSUPPORTED_MEDIA_TYPE, BODY_TOO_LARGE, INVALID_REQUEST
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<unknown> {
  checkType(request);
  if (request.readableDidRead || request.readableEnded) return parsedByOthers(request);
  const encoding = request.headers["content-encoding"];
  if (encoding !== undefined && encoding.toLowerCase() !== "identity")
    throw new SkillError("UNSUPPORTED_MEDIA_TYPE", "The body is compressed; send it as it is, without Content-Encoding.");
  if (Number(request.headers["content-length"]) > maxBytes) throw tooLarge(maxBytes);
  return parse(await readAll(request, maxBytes));
}

/** A form or a script of another site can send some types without asking first; JSON is not among them. */
function checkType({ headers }: IncomingMessage): void {
  const [type = ""] = (headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() === "application/json") return;
  throw new SkillError(
    "UNSUPPORTED_MEDIA_TYPE",
    "Send JSON with the header Content-Type: application/json, also without a body.",
  );
}

function parsedByOthers(request: IncomingMessage): unknown {
  const { body } = request as { body?: unknown };
  return Buffer.isBuffer(body) ? parse(body) : body;
}

async function readAll(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  await new Promise<void>((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      bytes += chunk.length;
      chunks.push(chunk);
      if (bytes <= maxBytes) return;
      settle(() => reject(tooLarge(maxBytes)));
      // What follows is read and forgotten: a client that is still sending would not see the answer.
      request.resume();
    };
    const onEnd = () => settle(resolve);
    const onBroken = () => settle(() => reject(new SkillError("SKILL_CANCELLED", "The client left before its body was sent.")));
    const settle = (then: () => void) => {
      request.off("data", onData).off("end", onEnd).off("error", onBroken).off("close", onBroken).pause();
      then();
    };
    if (request.destroyed) return onBroken();
    request.on("data", onData).on("end", onEnd).on("error", onBroken).on("close", onBroken);
  });
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    throw new SkillError("INVALID_REQUEST", "The body is not UTF-8.");
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new SkillError("INVALID_REQUEST", `The body is not JSON: ${(error as Error).message}`.slice(0, 300));
  }
}

function tooLarge(maxBytes: number): SkillError {
  return new SkillError("BODY_TOO_LARGE", `The body has more than ${maxBytes} bytes.`);
}
