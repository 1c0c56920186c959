import type { RunStatus } from '@agent-workflow/client';

const underWay = ['queued', 'running', 'sleeping'] as const satisfies readonly RunStatus[];

/** A run with one of these statuses goes on, and can be stopped. */
export const isUnderWay = (status: string): boolean => (underWay as readonly string[]).includes(status);
