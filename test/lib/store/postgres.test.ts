import { openPostgres } from "../../../lib/store/postgres.js";
import { storeContract } from "../../contract/store.js";
import { newPostgresDatabase } from "../../fixtures/database.js";

storeContract("PostgreSQL", async () => ({
  store: await openPostgres({ database: newPostgresDatabase(), durability: "process" }),
  discard: async () => {},
}));
