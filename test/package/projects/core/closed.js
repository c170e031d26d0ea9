import assert from "node:assert/strict";

const closed = { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" };
await assert.rejects(import("express-skills/dist/lib/errors.js"), closed);
await assert.rejects(import("express-skills/lib/errors.js"), closed);
await assert.rejects(import("express"), { code: "ERR_MODULE_NOT_FOUND" });
console.log("works");
