import { createToEventJson } from '@agent-workflow/gateway/replies/event-json';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type { RunEvent, RunScope } from '@agent-workflow/protos/execution';

/** What the events of a run share, where nothing depends on it but the run. */
export const scopeOf = (runId: string): RunScope => ({ runId, threadId: 't', requestId: 'q', isNewThread: true });

/** An event of a run, with what sets it apart. */
export const eventOf = (seq: number, kind: EventKind, data: unknown, more: Partial<RunEvent> = {}): RunEvent => ({
  ...{ seq, kind, at: 1_790_000_000_000, data: Buffer.from(JSON.stringify(data)) },
  ...more,
});

/** The whole chunk that a caller reads of an event. */
export const chunkText = (event: RunEvent, scope: RunScope = scopeOf('r')): string =>
  Buffer.concat(createToEventJson(scope)(event).parts).toString();
