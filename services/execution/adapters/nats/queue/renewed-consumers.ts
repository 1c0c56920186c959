import { eachOf } from '@agent-workflow/kit/each';
import { settledWithin } from '@agent-workflow/kit/life';
import type { Log } from '@agent-workflow/kit/log';
import type { ConsumerInfo } from 'nats';
import type { StreamNames, Streams } from '../client/streams.ts';

interface RenewedConsumersOptions {
  readonly streams: Pick<Streams, 'manager' | 'names' | 'renewConsumer'>;
  readonly log: Pick<Log, 'warn'>;
}

const consumersAtOnce = 8;
/** How long the consumers under way may take when this process leaves, in milliseconds. */
const leaveMs = 1000;

/**
 * Brings the consumers of lanes that are there to the settings of this version, once, and meanwhile returns. A worker does so with its own at
 * its start, and those of a pool may run for weeks after the rest was upgraded. Replicas may do it at the same time: each changes only
 * what differs. Disposing of the result ends it.
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

/** One that cannot be changed keeps no other from it. */
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
