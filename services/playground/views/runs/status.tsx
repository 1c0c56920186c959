import type { RunStatus } from '@agent-workflow/client';

/** Where a run stands, in a word and in a colour. */
export function Status({ status }: { readonly status: string }) {
  return <span class={`status run-status status-${status}`}>{status}</span>;
}

const underWay = ['queued', 'running', 'sleeping'] as const satisfies readonly RunStatus[];

/** A run with one of these statuses goes on, and can be stopped. */
export const isUnderWay = (status: string): boolean => (underWay as readonly string[]).includes(status);
