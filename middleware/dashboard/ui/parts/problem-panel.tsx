import type { VNode } from "preact";
import type { Problem } from "../api/problem.js";
import { href } from "../route.js";
import { Icon } from "./icon.js";

export interface ProblemPanelProps {
  readonly problem: Problem;
  readonly onRetry?: () => void;
}

/** What went wrong, and what to do. */
export function ProblemPanel({ problem, onRetry }: ProblemPanelProps): VNode {
  const advice = adviceFor(problem);
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p class="problem-title">{problem.title}</p>
        {problem.message !== problem.title && <p>{problem.message}</p>}
        {advice !== undefined && <p>{advice}</p>}
        {problem.faults.length > 0 && (
          <ul>
            {problem.faults.map(({ pointer, message }) => (
              <li key={`${pointer} ${message}`}>
                <code>{pointer === "" ? "the whole" : pointer}</code> {message}
              </li>
            ))}
          </ul>
        )}
        <p class="problem-facts">
          {problem.code !== undefined && <code>{problem.code}</code>}
          {problem.requestId !== undefined && <span>Request {problem.requestId}</span>}
          {problem.executionId !== undefined && <a href={href(["executions", problem.executionId])}>Show the execution</a>}
        </p>
        {onRetry !== undefined && (
          <button type="button" onClick={onRetry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

function adviceFor({ status, code }: Problem): string | undefined {
  if (status === 403) return "Your role does not allow this. Ask whoever runs this server for another key.";
  if (status === 429 || code === "SKILL_BUSY") return "Wait a moment, then try again.";
  if (code === "INPUT_NOT_STORED") return "Open the skill and run it with a new input.";
  if (code === "SKILLS_DISABLED") return "Switch skills on again under Settings.";
  if (code === "HANDLER_NOT_FOUND") return "The server runs without this skill's code: register its handler and start it again.";
  if (code === "STORE_UNAVAILABLE" || code === "AUDIT_UNAVAILABLE")
    return "Look at the database and its disk; the server recovers by itself.";
  return undefined;
}
