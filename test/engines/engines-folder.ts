/** Where test/engines/setup.sh keeps data, sockets and logs. */
export const enginesFolder = process.env["SKILLS_TEST_ENGINES_DIR"] ?? `/tmp/express-skills-engines-${process.getuid?.() ?? 0}`;
