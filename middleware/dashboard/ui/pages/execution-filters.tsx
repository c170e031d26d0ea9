import type { VNode } from "preact";
import type { Query } from "../api/client.js";
import type { ExecutionStatus } from "../api/types.js";
import { useMay } from "../data/session.js";
import { SelectField, TextField } from "../parts/fields.js";
import { FilterBar } from "../parts/filter-bar.js";
import { STATUS_ORDER, STATUSES } from "../parts/status.js";
import { type Route, replaceQuery } from "../route.js";

/** Statuses that share a name in the filter. */
const GROUPS: Readonly<Record<string, readonly ExecutionStatus[]>> = {
  FAILED: ["ERROR", "TIMEOUT", "INTERRUPTED"],
  UNFINISHED: ["RUNNING", "QUEUED"],
};
const STATUS_CHOICES = [
  ["", "Any status"] as const,
  ["FAILED", "All failed"] as const,
  ["UNFINISHED", "All unfinished"] as const,
  ...STATUS_ORDER.map((status) => [status, STATUSES[status].label] as const),
];
const KEYS = ["status", "skill", "version", "session", "owner", "from", "to"] as const;

/** The filter as the API takes it; what is empty is left out. */
export function filterOf(query: Route["query"]): Query {
  const { status = "" } = query;
  const given = Object.fromEntries(KEYS.map((key) => [key, query[key] === "" ? undefined : query[key]]));
  return { ...given, status: GROUPS[status] ?? given["status"] };
}

/** The filter is part of the address, so that it can be kept and passed on. */
export function ExecutionFilters({ route, isFiltered }: { readonly route: Route; readonly isFiltered: boolean }): VNode {
  const may = useMay("operator");
  const { status = "", skill = "", version = "", session = "", owner = "", from = "", to = "" } = route.query;
  const set = (change: Readonly<Record<string, string>>) => replaceQuery(route, { ...route.query, ...change });
  return (
    <FilterBar label="Filter the executions" isFiltered={isFiltered} onClear={() => replaceQuery(route, {})}>
      <SelectField label="Status" value={status} choices={STATUS_CHOICES} onChange={(value) => set({ status: value })} />
      <TextField label="Skill" value={skill} placeholder="exact name" onChange={(value) => set({ skill: value })} />
      <TextField label="Version" value={version} onChange={(value) => set({ version: value })} />
      <TextField label="Session" value={session} onChange={(value) => set({ session: value })} />
      {may && <TextField label="Owner" value={owner} onChange={(value) => set({ owner: value })} />}
      <TextField label="From" type="datetime-local" value={toLocal(from)} onChange={(value) => set({ from: toIso(value) })} />
      <TextField label="To" type="datetime-local" value={toLocal(to)} onChange={(value) => set({ to: toIso(value) })} />
    </FilterBar>
  );
}

function toIso(local: string): string {
  const date = new Date(local);
  return Number.isNaN(date.getTime()) ? "" : date.toISOString();
}

/** The form that the browser's field for a date and a time takes: in local time, without a zone. */
function toLocal(iso: string): string {
  const date = new Date(iso);
  if (iso === "" || Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
