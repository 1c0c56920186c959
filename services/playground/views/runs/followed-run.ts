import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { toServiceTime } from '../../session/clock.ts';
import { outlasting } from '../../session/outlasting.ts';
import { client, token } from '../../session/session.ts';
import { createFrame, createYieldToPage } from '../../ui/frame.ts';
import { addEvent, createRunLog, isLast, type RunLog } from './log/run-log.ts';

/** How the page stands to the run that it follows. */
type Phase = 'waiting' | 'following' | 'cut' | 'ended' | 'failed';

/** A run as its events come. `log` grows in place. */
export interface FollowedRun {
  readonly log: RunLog;
  /** Makes the component that calls it be drawn again when events have come, once a frame at most. */
  readonly readVersion: () => number;
  readonly phase: ReadonlySignal<Phase>;
  /** The number of the event after which the connection was made again last. */
  readonly resumedBehind: ReadonlySignal<number | undefined>;
  /** Why following was given up. */
  readonly error: ReadonlySignal<unknown>;
  /** Follows again after the last event. */
  readonly again: () => void;
}

/** Follows a run for as long as the component is there. */
export function useFollowedRun(runId: string): FollowedRun {
  const followed = useMemo(() => createFollower(runId), [runId]);
  const { attempts, start } = followed;
  useEffect(() => {
    const controller = new AbortController();
    void start(controller.signal);
    return () => controller.abort();
  }, [followed, token.value, attempts.value]);
  return followed;
}

function createFollower(runId: string) {
  const log = createRunLog();
  const phase = signal<Phase>('waiting');
  const resumedBehind = signal<number | undefined>(undefined);
  const error = signal<unknown>(undefined);
  const attempts = signal(0);
  const openedAt = Date.now();
  const { drawn, touch } = createFrame();

  const follow = async (aborted: AbortSignal): Promise<void> => {
    const after = log.events.at(-1)?.event.id;
    const yieldToPage = createYieldToPage();
    const onConnection = (change: 'lost' | 'resumed'): void => {
      if (change === 'resumed') resumedBehind.value = log.events.at(-1)?.seq;
      phase.value = change === 'lost' ? 'cut' : 'following';
    };
    const events = outlasting((reading) => client.runs.follow(runId, { ...reading, signal: aborted }), {
      after,
      onConnection,
    });
    for await (const event of events) {
      addEvent(log, event, { isLive: Date.parse(event.timestamp) >= toServiceTime(openedAt) });
      phase.value = isLast(event) ? 'ended' : 'following';
      touch();
      await yieldToPage();
    }
  };

  const start = async (aborted: AbortSignal): Promise<void> => {
    if (phase.peek() === 'ended') return;
    error.value = undefined;
    if (phase.peek() === 'failed') phase.value = 'waiting';
    try {
      await follow(aborted);
    } catch (thrown) {
      if (aborted.aborted) return;
      error.value = thrown;
      phase.value = 'failed';
    }
  };
  const again = (): void => {
    attempts.value++;
  };
  return { log, readVersion: () => drawn.value, phase, resumedBehind, error, again, attempts, start };
}
