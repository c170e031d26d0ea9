import type { VNode } from "preact";
import { PageHeader } from "../parts/page-header.js";
import { Empty } from "../parts/states.js";
import { href } from "../route.js";

export function NotFoundPage(): VNode {
  return (
    <>
      <PageHeader title="No such page" />
      <Empty title="The address leads nowhere">
        <p>
          Go to the <a href={href([])}>overview</a>, the <a href={href(["skills"])}>skills</a> or the{" "}
          <a href={href(["executions"])}>executions</a>.
        </p>
      </Empty>
    </>
  );
}
