import type { Log } from '@agent-workflow/kit/log';
import { recreateConsumer, type Streams } from '../client/streams.ts';
import type { Backlog } from './backlog.ts';
import type { Pulls } from './pulls.ts';

interface ConsumerCheckOptions {
  readonly streams: Streams;
  readonly log: Log;
  readonly backlog: Pick<Backlog, 'filledLanes'>;
  readonly pulls: Pick<Pulls, 'isOpen'>;
}

/** Finds consumers that deliver nothing from one check to the next, though runs wait and are requested, and recreates them. */
interface ConsumerCheck {
  readonly addDelivery: (lane: number) => void;
  readonly check: () => Promise<void>;
}

export function createConsumerCheck({ streams, log, backlog, pulls }: ConsumerCheckOptions): ConsumerCheck {
  /** Lanes that have delivered a run since the last check. */
  let delivered = new Set<number>();
  /** Lanes that delivered nothing before the last check. */
  let silent: ReadonlySet<number> = new Set();
  return {
    addDelivery: (lane) => {
      delivered.add(lane);
    },

    check: async () => {
      const filled = await backlog.filledLanes();
      const quiet = new Set([...filled].filter((lane) => !delivered.has(lane) && pulls.isOpen(lane)));
      delivered = new Set();
      for (const lane of quiet) {
        if (!silent.has(lane)) continue;
        log.warn({ lane }, 'a consumer of the queue delivers nothing; it is created again');
        await recreateConsumer(streams.manager, streams.settings, lane);
      }
      silent = quiet;
    },
  };
}
