import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
import { limitTime } from '@agent-workflow/runtime/limit-time';
import type { Log } from '@agent-workflow/kit/log';
import { within, type Call } from '@agent-workflow/protos/call';
import type { ResourceCalls } from '@agent-workflow/protos/threads';
import {
  readDelivery,
  readWebhook,
  toWebhookJson,
  type Delivery,
  type FailedAttempt,
} from '@agent-workflow/protos/webhooks';
import type { HandleDue } from '@agent-workflow/runtime/due-sweep';
import { readAddress, refusalOf, type Address } from './addresses.ts';
import { PostFailure } from './connections.ts';
import { createPlaces, type FreePlace } from './places.ts';
import { createPoster, type PostReply } from './post.ts';
import type { MayReach } from './reachable.ts';
import { nextAttempt } from './retry-times.ts';
import type { Room } from './room.ts';
import { signedHeaders } from './signed-headers.ts';

/** A delivery that is not on record yet. */
export interface NewDelivery {
  readonly owner: string;
  readonly id: string;
  readonly delivery: Delivery;
}

/** A delivery as it is on record; version 0: it is not yet. */
interface Kept extends NewDelivery {
  readonly version: number;
}

/** A delivery with where it goes; a text: why nothing is sent there. */
interface Addressed extends NewDelivery {
  readonly address: Address | string;
}

type Handling = Pick<Parameters<HandleDue>[1], 'call' | 'now'>;

export interface Deliverer extends AsyncDisposable {
  /**
   * Makes the first attempts of deliveries that are not on record. One that is not taken is put there, as is one for which there is no place: then
   * `done` is called. Resolves when all have begun, wait in memory, or are on record. `done` is not called where the process stops before, nor where
   * something could not be written.
   */
  readonly begin: (deliveries: readonly Addressed[], done: () => Promise<void>, handling: Handling) => Promise<void>;
  /** Puts a delivery on record, from where it is sent; does nothing where it is there. */
  readonly keep: (delivery: NewDelivery, handling: Handling) => Promise<void>;
  /** Makes an attempt of a delivery on record that is due. */
  readonly handle: HandleDue;
}

/** What has become of a delivery here: an attempt was taken, refused by a reply, or got none; it was given up. */
export const deliveryOutcomes = ['taken', 'refused', 'unanswered'] as const;
export type OnDelivery = (outcome: (typeof deliveryOutcomes)[number] | 'dead', delivery: Delivery) => void;

interface DelivererOptions {
  readonly threads: ResourceCalls;
  readonly room: Room;
  readonly mayReach: MayReach;
  /** The hosts that may be named: with one that begins with `*.` all below it. Absent: all. */
  readonly hosts?: readonly string[] | undefined;
  readonly log: Pick<Log, 'error'>;
  readonly onDelivery?: OnDelivery | undefined;
  /** How long one attempt may take, in milliseconds; absent: 10 seconds. */
  readonly attemptMs?: number;
}

const usualAttemptMs = 10_000;
/** A claim is over after so long: then another replica makes the attempt again, in milliseconds. */
const leaseMs = 30_000;
const callTimeoutMs = 15_000;
/** What was never delivered is kept for so long, in milliseconds. */
const deadKeptMs = 30 * 24 * 3_600_000;

/** Sends deliveries, at most some at a time to one host, so that a host which hangs or fails holds up no other. */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { threads, room, mayReach, log, onDelivery, attemptMs = usualAttemptMs } = options;
  const closing = new AbortController();
  const underWay = new Set<Promise<unknown>>();
  const places = createPlaces();
  const poster = createPoster(mayReach);
  /** Those on record that wait in memory for a place. */
  const held = new Set<string>();

  const write = async ({ owner, id, version }: Kept, delivery: Delivery, dueAt: number, call: Call): Promise<void> => {
    const json = toWebhookJson(delivery);
    await threads.putResource({ kind: 'delivery', owner, id, version: version + 1, json, dueAt }, call);
  };

  const remove = async ({ owner, id, version }: Kept, call: Call): Promise<void> => {
    if (version > 0) await threads.deleteResource({ kind: 'delivery', owner, id, version }, call);
  };

  /** Moves a delivery to the dead letters of its owner. A process that dies on the way leaves both, and the next attempt ends here again. */
  const bury = async (kept: Kept, last: FailedAttempt, call: Call): Promise<void> => {
    const { owner, id } = kept;
    const json = toWebhookJson({ ...kept.delivery, last });
    if (await room.takeRoom('dead_letter', owner, call))
      await unlessThere(
        threads.putResource({ kind: 'dead_letter', owner, id, version: 1, json, dueAt: last.at + deadKeptMs }, call),
      );
    await remove(kept, call);
    onDelivery?.('dead', kept.delivery);
  };

  /** Puts a delivery on record with its next version, due then; one beyond those that its owner may have there is dead. */
  const putOff = async (kept: Kept, dueAt: number, now: number, call: Call): Promise<void> => {
    if (kept.version > 0 || (await room.takeRoom('delivery', kept.owner, call)))
      await write(kept, kept.delivery, dueAt, call);
    else await bury(kept, { ...kept.delivery.last, at: now, reason: noRoom }, call);
  };

  /** Disables a webhook. Where another has done so or has changed it in the same moment, that stays: a receiver that is gone says so again. */
  const disable = async (owner: string, id: string, call: Call): Promise<void> => {
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id }, call));
    if (!found) return;
    const webhook = readWebhook(found.json);
    if (!webhook.isEnabled) return;
    const json = toWebhookJson({
      ...webhook,
      isEnabled: false,
      disabledBecause: 'its receiver replied that it is gone',
    });
    const version = found.version + 1;
    await undefinedIfNotFound(unlessThere(threads.putResource({ kind: 'webhook', owner, id, version, json }, call)));
  };

  /** One request. @returns the reply or why there is none; `undefined` when it ended with this process, which is no failure of the receiver. */
  const request = async ({ id, delivery }: Kept, { url, secrets }: Address, at: number) => {
    const { body } = delivery;
    using time = limitTime(attemptMs, closing.signal);
    try {
      const headers = signedHeaders({ id, at: new Date(at), body, secrets });
      const reply = await poster.post({ url, headers, body, signal: time.signal });
      return { reply, reason: `the reply has the status ${String(reply.status)}` };
    } catch (error) {
      if (closing.signal.aborted) return undefined;
      // A secret that cannot sign: the schema of requests refuses such a one.
      if (!(error instanceof PostFailure)) log.error({ err: error, id }, 'a delivery cannot be sent');
      return { reply: undefined, reason: error instanceof PostFailure ? error.message : 'it cannot be sent' };
    }
  };

  const settleFailure = async (
    kept: Kept,
    { reply, reason }: { readonly reply: PostReply | undefined; readonly reason: string },
    now: number,
    call: Call,
  ): Promise<void> => {
    const { owner, delivery } = kept;
    const last: FailedAttempt = { at: now, ...(reply && { status: reply.status }), reason };
    const failed = { ...kept, delivery: { ...delivery, attempts: delivery.attempts + 1, last } };
    const isGone = reply?.verdict === 'gone';
    const next = isGone ? undefined : nextAttempt(failed.delivery, { now, retryAfterMs: reply?.retryAfterMs });
    if (next === undefined) await bury(failed, last, call);
    else await putOff(failed, next, now, call);
    if (isGone && delivery.webhookId !== undefined) await disable(owner, delivery.webhookId, call);
  };

  /** Makes an attempt. @returns whether its outcome is on record. */
  const attempt = async (kept: Kept, address: Address, free: FreePlace, now: () => number): Promise<boolean> => {
    const began = performance.now();
    const outcome = await request(kept, address, now());
    free(performance.now() - began);
    if (!outcome) return false;
    const { reply } = outcome;
    const isTaken = reply?.verdict === 'taken';
    onDelivery?.(isTaken ? 'taken' : reply ? 'refused' : 'unanswered', kept.delivery);
    const call = within(callTimeoutMs);
    if (isTaken) await remove(kept, call);
    else await settleFailure(kept, outcome, now(), call);
    return true;
  };

  /** Lets work go on after its caller has gone. @returns whether all that it was to write is on record. */
  const track = async (id: string, work: () => Promise<boolean>): Promise<boolean> => {
    const going = work()
      .catch((error: unknown) => {
        // Another replica took it over, or its owner removed it.
        if (isServiceError(error, 'Conflict') || isServiceError(error, 'NotFound')) return true;
        log.error({ err: error, id }, 'the outcome of a delivery could not be written; it is sent again');
        return false;
      })
      .finally(() => underWay.delete(going));
    underWay.add(going);
    return going;
  };

  const take = (host: string, { id, delivery }: Kept): ReturnType<typeof places.take> => {
    places.forget(host, id);
    return places.take(host, Buffer.byteLength(delivery.body));
  };

  /** What could not be sent in time is looked at again later. */
  const sendLater = async (host: string, kept: Kept, now: number, call: Call): Promise<void> =>
    putOff(kept, now + places.laterMs(host, kept.id), now, call);

  const beginFirst = async ({ address, ...made }: Addressed, { call, now }: Handling): Promise<Promise<boolean>[]> => {
    const kept = { ...made, version: 0 };
    const hasRoom = await room.hasRoom('delivery', kept.owner, call);
    const why = refusalOf(address, options.hosts) ?? (hasRoom ? undefined : noRoom);
    if (typeof address === 'string' || why !== undefined) {
      await bury(kept, { at: now(), reason: why ?? '' }, call);
      return [];
    }
    const { host } = new URL(address.url);
    const place = take(host, kept);
    if (!place) {
      await unlessThere(sendLater(host, kept, now(), call));
      return [];
    }
    return [
      track(kept.id, async () => {
        const free = await place;
        if (free) return attempt(kept, address, free, now);
        if (!closing.signal.aborted) await sendLater(host, kept, now(), within(callTimeoutMs));
        return !closing.signal.aborted;
      }),
    ];
  };

  /** Claims a delivery by its next version and begins an attempt, which goes on after the call. @throws Conflict where another has claimed it. */
  const claim = async (kept: Kept, address: Address, free: FreePlace, { now, call }: Handling): Promise<void> => {
    try {
      await write(kept, kept.delivery, now() + leaseMs, call);
    } catch (error) {
      free();
      throw error;
    }
    void track(kept.id, async () => attempt({ ...kept, version: kept.version + 1 }, address, free, now));
  };

  const handle: HandleDue = async ({ owner, id, version, json }, handling) => {
    const name = JSON.stringify([owner, id]);
    if (held.has(name)) return;
    const { now, call } = handling;
    const kept: Kept = { owner, id, version, delivery: readDelivery(json) };
    const address = await readAddress(threads, kept, { now: now(), call });
    if (address === undefined) return remove(kept, call);
    const why = refusalOf(address, options.hosts);
    if (typeof address === 'string' || why !== undefined)
      return bury(kept, { ...kept.delivery.last, at: now(), reason: why ?? '' }, call);
    const { host } = new URL(address.url);
    const place = take(host, kept);
    if (!place) return sendLater(host, kept, now(), call);
    if (typeof place === 'function') return claim(kept, address, place, handling);
    held.add(name);
    void track(id, async () => {
      const free = await place.finally(() => held.delete(name));
      const later = within(callTimeoutMs);
      if (free) await claim(kept, address, free, { now, call: later });
      else if (!closing.signal.aborted) await sendLater(host, kept, now(), later);
      return true;
    });
  };

  return {
    begin: async (deliveries, done, handling) => {
      const begun: Promise<boolean>[] = [];
      for (const delivery of deliveries) begun.push(...(await beginFirst(delivery, handling)));
      void track(deliveries[0]?.id ?? '', async () => {
        const outcomes = await Promise.all(begun);
        if (outcomes.every(Boolean)) await done();
        return true;
      });
    },
    keep: async (made, { now, call }) => unlessThere(putOff({ ...made, version: 0 }, now(), now(), call)),
    handle,
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      places[Symbol.dispose]();
      poster[Symbol.dispose]();
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}

const noRoom = 'too many deliveries of the owner wait';

/** What is on record already, by a process that did the same, is left as it is. */
async function unlessThere(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isServiceError(error, 'Conflict')) throw error;
  });
}
