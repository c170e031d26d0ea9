import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Role, Session } from "../api/types.js";

export const SessionContext = createContext<Session>({ apiKeyId: "", role: "caller" });

const RANK: Readonly<Record<Role, number>> = { caller: 0, operator: 1, admin: 2 };

export function useSession(): Session {
  return useContext(SessionContext);
}

/** Whether the server lets this role do it; the server decides, this only spares buttons that would be refused. */
export function useMay(needed: Role): boolean {
  return RANK[useSession().role] >= RANK[needed];
}
