#!/usr/bin/env node
import { main } from "./main.js";

const code = await main(process.argv.slice(2), process, process.env);
// Handlers that were loaded may have left something open.
process.exit(code);
