import { eachOf } from '@agent-workflow/kit/each';
import type { Log } from '@agent-workflow/kit/log';
import type { Lane } from '../client/pools.ts';
import { recreateConsumer, type Streams } from '../client/streams.ts';
import type { Pulls } from './pulls.ts';

interface ConsumerCheckOptions {
  readonly streams: Streams;
  readonly log: Log;
  readonly pulls: Pick<Pulls, 'isOpen'>;
}

/** Finds consumers that deliver nothing from one check to the next, though runs wait and are requested, and recreates them. */
interface ConsumerCheck {
  readonly addDelivery: (consumer: string) => void;
  readonly check: (lanes: readonly Lane[]) => Promise<void>;
}

const requestsAtOnce = 32;

export function createConsumerCheck({ streams, log, pulls }: ConsumerCheckOptions): ConsumerCheck {
  const { manager, names, settings } = streams;
  /** Consumers that have delivered a run since the last check. */
  let delivered = new Set<string>();
  /** Lanes that delivered nothing before the last check. */
  let silent: ReadonlySet<Lane> = new Set();

  /** The lanes with runs that are not delivered yet, as the server has them. */
  const filledOf = async (lanes: readonly Lane[]): Promise<readonly Lane[]> => {
    const { state } = await manager.streams.info(names.runs);
    const filled: Lane[] = [];
    await eachOf(state.messages === 0 ? [] : lanes, requestsAtOnce, async (lane) => {
      const { num_pending: pending } = await manager.consumers.info(lane.stream, lane.consumer);
      if (pending > 0) filled.push(lane);
    });
    return filled;
  };

  return {
    addDelivery: (consumer) => {
      delivered.add(consumer);
    },

    check: async (lanes) => {
      const filled = await filledOf(lanes);
      const quiet = new Set(filled.filter((lane) => !delivered.has(lane.consumer) && pulls.isOpen(lane)));
      delivered = new Set();
      for (const lane of quiet) {
        if (!silent.has(lane)) continue;
        log.warn({ consumer: lane.consumer }, 'a consumer of the queue delivers nothing; it is created again');
        await recreateConsumer(manager, settings, lane);
      }
      silent = quiet;
    },
  };
}
