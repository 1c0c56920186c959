import { eachOf } from '@agent-workflow/kit/each';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { ConsumerInfo } from 'nats';
import type { StreamNames } from '../client/names.ts';
import type { Streams } from '../client/streams.ts';

interface RenewedConsumersOptions {
  readonly streams: Pick<Streams, 'manager' | 'names' | 'renewConsumer'>;
  readonly log: Pick<Log, 'warn'>;
}

const consumersAtOnce = 8;
/** How long changes that are under way may take when this process leaves, in milliseconds. */
const leaveMs = 1000;

/**
 * Brings the consumers of all lanes to the settings of this version, once. It returns at once and works in the background; disposing of the result
 * ends that. A worker brings its own consumers to its settings when it starts, but the workers of a pool may run for weeks after the rest was upgraded.
 * Replicas may do this at the same time: each changes only what differs.
 */
export function renewConsumers(options: RenewedConsumersOptions): AsyncDisposable {
  const closing = new AbortController();
  const renewing = renewAll(options, closing.signal).catch((error: unknown) => {
    if (!closing.signal.aborted) options.log.warn({ err: error }, 'the consumers of the queue could not be listed');
  });
  return {
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await settledWithin(renewing, leaveMs);
    },
  };
}

/** A consumer that cannot be changed does not keep the others from being changed. */
async function renewAll(
  { streams: { manager, names, renewConsumer }, log }: RenewedConsumersOptions,
  closing: AbortSignal,
): Promise<void> {
  let failures = 0;
  let first: unknown;
  const pages = manager.consumers.list(names.runs);
  for (let page = await pages.next(); page.length > 0 && !closing.aborted; page = await pages.next())
    await eachOf(page.filter(isOfLane(names)), consumersAtOnce, async (info) => {
      try {
        if (!closing.aborted) await renewConsumer(info);
      } catch (error) {
        first ??= error;
        failures++;
      }
    });
  if (failures > 0 && !closing.aborted)
    log.warn({ err: first, failures }, 'consumers of the queue keep the settings of an earlier version for now');
}

const isNameOfLane = /^[0-9a-f]+-\d+$/;

/** Others may have consumers of their own on the stream. */
const isOfLane =
  ({ runSubject }: StreamNames) =>
  ({ name, config }: ConsumerInfo): boolean =>
    isNameOfLane.test(name) && config.filter_subject === `${runSubject}.${name.replace('-', '.')}.>`;
