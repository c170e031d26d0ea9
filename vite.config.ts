import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** Builds the dashboard's page. Everything in it refers to its neighbours by relative address, so that it works wherever it is mounted. */
export default defineConfig({
  root: fileURLToPath(new URL("./middleware/dashboard/ui", import.meta.url)),
  base: "./",
  publicDir: false,
  build: {
    outDir: fileURLToPath(new URL("./dist/middleware/dashboard/page", import.meta.url)),
    emptyOutDir: true,
    // What is bundled is passed on with the package, and so are its licences.
    license: { fileName: "licenses.md" },
    target: "es2022",
    // An inlined asset is a data: address, which a content security policy may refuse; the polyfill is an inline script.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
});
