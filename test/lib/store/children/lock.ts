import { loadSqliteDriver } from "../../../../lib/store/sqlite-drivers.js";
import { gate } from "./gate.js";

const [database = ""] = process.argv.slice(2);
const connection = loadSqliteDriver().open(database);
connection.exec("BEGIN IMMEDIATE");
await gate("locked");
connection.exec("COMMIT");
connection.close();
