import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const files = ["lib", "middleware"].flatMap(sourceFiles);
const imports = new Map(files.map((file) => [file, importsOf(file)]));

/** A room may import from itself and from rooms in earlier rows. Files that lie directly in lib/ put the rooms together. */
const order = [
  ["lib/errors.ts", "lib/types.ts", "lib/nearest.ts", "lib/process-alive.ts"],
  ["lib/telemetry"],
  ["lib/store", "lib/sandbox"],
  ["lib/registry"],
  ["lib/executor"],
  ["lib/queue", "lib/tools"],
  ["lib"],
  ["lib/cli"],
  ["lib/index.ts"],
  ["middleware"],
];

describe("the rooms of the source", () => {
  test("there are files to look at, and every one of them belongs to a room", () => {
    expect(files.length).toBeGreaterThan(20);
    expect(files.filter((file) => roomOf(file) === undefined)).toEqual([]);
  });

  test("every relative import ends in a file that exists", () => {
    expect(edges().filter(({ to }) => !imports.has(to))).toEqual([]);
  });

  test("imports point one way", () => {
    const wrong = edges().filter(({ from, to }) => {
      const [fromRoom, toRoom] = [roomOf(from), roomOf(to)];
      return fromRoom !== toRoom && rankOf(toRoom) >= rankOf(fromRoom);
    });
    expect(wrong).toEqual([]);
  });

  test("nothing in lib imports the public surface", () => {
    expect(edges().filter(({ from, to }) => from.startsWith("lib/") && to === "lib/index.ts")).toEqual([]);
  });

  test("nothing in lib imports express", () => {
    expect(bareImports().filter(({ from, name }) => from.startsWith("lib/") && /^(@types\/)?express/.test(name))).toEqual([]);
  });

  test("the middleware gets everything from the public surface of lib", () => {
    const deep = edges().filter(
      ({ from, to }) => from.startsWith("middleware/") && to.startsWith("lib/") && to !== "lib/index.ts",
    );
    expect(deep).toEqual([]);
  });

  test("the dashboard's page is apart from the server: it takes types of the public surface, and nothing takes anything of it", () => {
    const crossing = edges().filter(({ from, to }) => isPage(from) !== isPage(to));
    expect(crossing.filter(({ from, to }) => !(isPage(from) && to === "lib/index.ts"))).toEqual([]);
    expect(crossing.filter(({ from }) => !takesOnlyTypes(from))).toEqual([]);
  });

  test("no file imports itself through others", () => {
    expect(files.map(cycleFrom).filter((cycle) => cycle !== undefined)).toEqual([]);
  });

  test("no file has a default export or passes on everything of another", () => {
    expect(files.flatMap(looseExports)).toEqual([]);
  });

  test("every package that is imported is declared as a dependency", () => {
    const packed = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    const declared = Object.keys({ ...packed.dependencies, ...packed.optionalDependencies, ...packed.peerDependencies });
    const bundled = Object.keys(packed.devDependencies);
    const missing = bareImports().filter(({ from, name }) => !(isPage(from) ? bundled : declared).includes(name));
    expect(missing).toEqual([]);
  });
});

interface Edge {
  readonly from: string;
  readonly to: string;
}

function sourceFiles(folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(ts|tsx|js|mjs)$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).replaceAll("\\", "/"))
    .sort();
}

/** Static, dynamic and type-only imports alike: what a type needs from another room is a dependency too. */
function importsOf(file: string): readonly string[] {
  return ts.preProcessFile(readFileSync(join(root, file), "utf8"), true, true).importedFiles.map(({ fileName }) => fileName);
}

function edges(): Edge[] {
  return files.flatMap((from) => targetsOf(from).map((to) => ({ from, to })));
}

function targetsOf(file: string): string[] {
  const relatives = (imports.get(file) ?? []).filter((name) => name.startsWith(".") && !name.endsWith(".css"));
  return relatives.map((name) => {
    const path = join(dirname(file), name).replaceAll("\\", "/").replace(/\.js$/, "");
    return imports.has(`${path}.tsx`) ? `${path}.tsx` : `${path}.ts`;
  });
}

/** What Vite bundles for the browser. */
function isPage(file: string): boolean {
  return file.startsWith("middleware/dashboard/ui/");
}

/** Whether everything that a file has from above its folder is erased when it is compiled. */
function takesOnlyTypes(file: string): boolean {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest);
  return source.statements.filter(ts.isImportDeclaration).every(({ importClause, moduleSpecifier }) => {
    const isOwn = !(moduleSpecifier as ts.StringLiteral).text.includes("/lib/");
    return isOwn || importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword;
  });
}

function bareImports(): { readonly from: string; readonly name: string }[] {
  return files.flatMap((from) =>
    (imports.get(from) ?? [])
      .filter((name) => !name.startsWith(".") && !name.startsWith("node:") && !builtinModules.includes(name))
      .map((name) => ({ from, name: name.split("/", name.startsWith("@") ? 2 : 1).join("/") })),
  );
}

/** The longest entry of `order` that is the file or holds it; a folder of lib that is not listed is no room. */
function roomOf(file: string): string | undefined {
  const rooms = order.flat();
  if (rooms.includes(file)) return file;
  const [top = "", folder = "", ...rest] = file.split("/");
  const room = top === "lib" && rest.length > 0 ? `${top}/${folder}` : top;
  return rooms.includes(room) ? room : undefined;
}

function rankOf(room: string | undefined): number {
  return order.findIndex((row) => row.some((name) => name === room));
}

/** The way from a file back to itself, if there is one. */
function cycleFrom(start: string): readonly string[] | undefined {
  const seen = new Set<string>();
  const waiting: string[][] = [[start]];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const to of targetsOf(path.at(-1) ?? "")) {
      if (to === start) return [...path, to];
      if (!seen.has(to)) waiting.push([...path, to]);
      seen.add(to);
    }
  }
  return undefined;
}

function looseExports(file: string): string[] {
  const source = ts.createSourceFile(file, readFileSync(join(root, file), "utf8"), ts.ScriptTarget.Latest);
  return source.statements.flatMap((statement) => {
    if (ts.isExportAssignment(statement)) return [`${file}: export default`];
    if (ts.isExportDeclaration(statement)) {
      const clause = statement.exportClause;
      if (clause === undefined) return [`${file}: export *`];
      return ts.isNamedExports(clause) && clause.elements.some(({ name }) => name.text === "default") ? [`${file}: default`] : [];
    }
    const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : [];
    return modifiers.some(({ kind }) => kind === ts.SyntaxKind.DefaultKeyword) ? [`${file}: export default`] : [];
  });
}
