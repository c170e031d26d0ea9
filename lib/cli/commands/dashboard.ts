import { SYSTEM_OWNER } from "../../types.js";
import { type AddCommand, type CommonOptions, examples, type Work } from "../command.js";
import { serveDashboard } from "../dashboard-server.js";
import { exitCode } from "../exit-codes.js";
import { loadHandlers } from "../handlers.js";
import { withKit } from "../kit.js";
import { collect, integerBetween } from "../option-parsers.js";
import { aborted } from "../signals.js";

interface DashboardOptions extends CommonOptions {
  readonly port: number;
  readonly require?: readonly string[];
  readonly owner: string;
}

export const addDashboard: AddCommand = (program, toAction) => {
  program
    .command("dashboard")
    .description("Serve the dashboard on this machine alone, behind a random token in the address that is printed, until Ctrl-C.")
    .option("--port <n>", "port on 127.0.0.1; 0 for a free one", integerBetween(0, 65_535), 0)
    .option("--require <module>", "load handlers, so that skills can be tried; may be given again", collect)
    .option("--owner <id>", "whose skills are tried and registered", SYSTEM_OWNER)
    .addHelpText("after", examples("dashboard", "dashboard --port 4000 --require ./handlers.js"))
    .action(toAction(dashboard));
};

const dashboard: Work<DashboardOptions> = async (context, options) => {
  const { terminal, signal } = context;
  return withKit(context, options, async (kit) => {
    await loadHandlers(kit, options.require ?? []);
    await kit.ready();
    const server = await serveDashboard(kit, { port: options.port, apiKeyId: options.owner });
    try {
      if (options.json) terminal.printJsonLine({ address: server.address });
      else terminal.print(`The dashboard is at ${server.address}`);
      if (!options.json) terminal.note("Who has this address may do everything. Ctrl-C ends it.");
      await aborted(signal);
      return exitCode("ok");
    } finally {
      await server.close();
    }
  });
};
