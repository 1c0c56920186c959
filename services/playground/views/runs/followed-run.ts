import { signal, type ReadonlySignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { toServiceTime } from '../../session/clock.ts';
import { client, token } from '../../session/session.ts';
import { addEvent, createRunLog, isLast, type RunLog } from './log/run-log.ts';

/** How the page stands to the run that it follows. */
export type Phase = 'waiting' | 'following' | 'cut' | 'ended' | 'failed';

/** A run as its events come. `log` grows in place, and `version` says when it has to be drawn again: once a frame at most. */
export interface FollowedRun {
  readonly log: RunLog;
  readonly version: ReadonlySignal<number>;
  readonly phase: ReadonlySignal<Phase>;
  /** The number of the event behind which the connection was made again last. */
  readonly resumedBehind: ReadonlySignal<number | undefined>;
  /** Why following was given up. */
  readonly error: ReadonlySignal<unknown>;
  /** Follows again behind the last event. */
  readonly again: () => void;
}

/** Follows a run for as long as the component is there. */
export function useFollowedRun(runId: string): FollowedRun {
  const followed = useMemo(() => createFollower(runId), [runId]);
  const { turn, start } = followed;
  useEffect(() => {
    const controller = new AbortController();
    void start(controller.signal);
    return () => controller.abort();
  }, [followed, token.value, turn.value]);
  return followed;
}

function createFollower(runId: string) {
  const log = createRunLog();
  const version = signal(0);
  const phase = signal<Phase>('waiting');
  const resumedBehind = signal<number | undefined>(undefined);
  const error = signal<unknown>(undefined);
  const turn = signal(0);
  const openedAt = Date.now();
  const draw = onceAFrame(() => {
    version.value++;
  });

  const follow = async (aborted: AbortSignal): Promise<void> => {
    const after = log.events.at(-1)?.event.id;
    const rest = createRests();
    const onConnection = (change: 'lost' | 'resumed'): void => {
      if (change === 'resumed') resumedBehind.value = log.events.at(-1)?.seq;
      phase.value = change === 'lost' ? 'cut' : 'following';
    };
    for await (const event of client.runs.follow(runId, {
      ...(after !== undefined && { after }),
      signal: aborted,
      onConnection,
    })) {
      addEvent(log, event, { isLive: Date.parse(event.timestamp) >= toServiceTime(openedAt) });
      phase.value = isLast(event) ? 'ended' : 'following';
      draw();
      await rest();
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
    turn.value++;
  };
  return { log, version, phase, resumedBehind, error, again, turn, start };
}

/** Gathers calls: `work` is done once before the next frame. */
function onceAFrame(work: () => void): () => void {
  let isPlanned = false;
  return () => {
    if (isPlanned) return;
    isPlanned = true;
    requestAnimationFrame(() => {
      isPlanned = false;
      work();
    });
  };
}

/** How long events are taken in before the page has its turn, in milliseconds. */
const turnMs = 8;

/** Gives the page its turn while many events come at once. */
function createRests(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < turnMs) return undefined;
    return new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel();
      port1.onmessage = () => {
        port1.close();
        since = performance.now();
        resolve();
      };
      port2.postMessage(undefined);
    });
  };
}
