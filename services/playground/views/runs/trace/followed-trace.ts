import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { client, token } from '../../../session/session.ts';
import { createBell, type Bell } from './bell.ts';
import { withPage } from './merged-spans.ts';
import { toTree, type SpanNode } from './span-tree.ts';
import type { Client, RunTrace, TraceSpan } from '@agent-workflow/client';

/** The trace of a run as far as it is read. */
export interface KnownTrace {
  readonly head: Omit<RunTrace, 'spans' | 'has_more' | 'next_after'>;
  readonly tree: readonly SpanNode[];
  readonly count: number;
  /** Whether all is read that there was at the time. */
  readonly isWhole: boolean;
}

/** Whether the state after a step of the run is on record. */
export const hasRecord = (trace: KnownTrace | undefined, step: number): boolean =>
  trace?.tree.some(({ span, step: outer }) => span.step === step && (outer ?? span).checkpoint_id !== undefined) ===
  true;

export interface FollowedTrace {
  readonly trace: ReadonlySignal<KnownTrace | undefined>;
  readonly error: ReadonlySignal<unknown>;
  readonly again: () => void;
}

/** A run that goes on is read again so long after each reading at the earliest, and at the latest, in milliseconds. */
const pause = { leastMs: 700, mostMs: 10_000 };
const pageSize = 200;
/** More spans are not read. */
const maxSpans = 100_000;

/** Reads a page of a trace. @throws RequestError */
export type ReadTrace = Client['runs']['trace'];

const readOwn: ReadTrace = (...given) => client.runs.trace(...given);

/** Reads the trace of a run, and reads on while it goes on, whenever `beat` has changed: also what could not be read before. */
export function useTrace(runId: string, beat: unknown, read: ReadTrace = readOwn): FollowedTrace {
  const follower = useMemo(() => createFollower(runId, read), [runId, read]);
  useEffect(() => {
    follower.bell.ring();
    if (follower.error.peek() !== undefined) follower.again();
  }, [follower, beat]);
  useEffect(() => {
    const life = new AbortController();
    void follower.start(life.signal);
    return () => life.abort();
  }, [follower, token.value, follower.attempts.value]);
  return follower;
}

function createFollower(runId: string, read: ReadTrace) {
  const trace = signal<KnownTrace | undefined>(undefined);
  const error = signal<unknown>(undefined);
  const attempts = signal(0);
  const bell: Bell = createBell();
  const follow = async (aborted: AbortSignal): Promise<void> => {
    let known: readonly TraceSpan[] = [];
    let after: number | undefined;
    for (;;) {
      const page = await read(runId, { limit: pageSize, ...(after !== undefined && { after }) }, { signal: aborted });
      const { spans, has_more: hasMore, next_after: next, ...head } = page;
      known = withPage(known, after, spans);
      const isWhole = !hasMore || known.length > maxSpans;
      trace.value = { head, tree: toTree(known), count: known.length, isWhole };
      after = next ?? after;
      if (!isWhole) continue;
      if (head.ended_at !== null) return;
      await new Promise((resolve) => setTimeout(resolve, pause.leastMs));
      await bell.rung(pause.mostMs, aborted);
      aborted.throwIfAborted();
    }
  };
  const start = async (aborted: AbortSignal): Promise<void> => {
    error.value = undefined;
    try {
      await follow(aborted);
    } catch (thrown) {
      if (!aborted.aborted) error.value = thrown;
    }
  };
  const again = (): void => {
    attempts.value++;
  };
  return { trace, error, attempts, bell, start, again };
}
