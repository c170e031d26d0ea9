import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Problem } from "../api/problem.js";
import { ProblemPanel } from "./problem-panel.js";

export interface ConfirmProps {
  readonly title: string;
  readonly action: string;
  readonly isDangerous?: boolean;
  readonly isBusy: boolean;
  readonly problem: Problem | undefined;
  readonly children: ComponentChildren;
  onConfirm(): void;
  onClose(): void;
}

/** Asks before something is done. The browser's own modal dialog keeps the focus inside and closes with Escape. */
export function Confirm(props: ConfirmProps): VNode {
  const { title, action, isDangerous = false, isBusy, problem, children, onConfirm, onClose } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement) opener.focus();
    };
  }, []);
  return (
    <dialog ref={dialog} aria-labelledby={titleId} onClose={onClose}>
      <h2 id={titleId}>{title}</h2>
      <div class="dialog-text">{children}</div>
      {problem !== undefined && <ProblemPanel problem={problem} />}
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Keep as it is
        </button>
        <button type="button" class={isDangerous ? "danger" : "primary"} disabled={isBusy} onClick={onConfirm}>
          {action}
        </button>
      </div>
    </dialog>
  );
}
