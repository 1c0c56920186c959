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
import { refusalOf, type Address, type ReadAddress } from './addresses.ts';
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

/** A delivery that has its place, where it goes, and how that place is given back. */
interface Placed {
  readonly kept: Kept;
  readonly address: Address;
  readonly free: FreePlace;
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
  readonly readAddress: ReadAddress;
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
  const { threads, room, readAddress, mayReach, log, onDelivery, attemptMs = usualAttemptMs } = options;
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

  /**
   * Disables a webhook, as long as it has the address that is gone. Where another has disabled or changed it in the same moment, that stays.
   * @returns whether the webhook has another address now.
   */
  const disable = async (owner: string, id: string, goneUrl: string, call: Call): Promise<boolean> => {
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id }, call));
    if (!found) return false;
    const webhook = readWebhook(found.json);
    if (webhook.url !== goneUrl) return true;
    if (!webhook.isEnabled) return false;
    const json = toWebhookJson({
      ...webhook,
      isEnabled: false,
      disabledBecause: 'its receiver replied that it is gone',
    });
    const version = found.version + 1;
    try {
      await undefinedIfNotFound(threads.putResource({ kind: 'webhook', owner, id, version, json }, call));
      return false;
    } catch (error) {
      if (!isServiceError(error, 'Conflict')) throw error;
      const changed = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id }, call));
      return changed !== undefined && readWebhook(changed.json).url !== goneUrl;
    }
  };

  /** One request. @returns the reply or why there is none; `undefined` when it ended with this process, which is no failure of the receiver. */
  const request = async ({ id, delivery }: Kept, { url, secrets, headers: more }: Address, at: number) => {
    const { body } = delivery;
    using time = limitTime(attemptMs, closing.signal);
    try {
      const headers = { ...signedHeaders({ id, at: new Date(at), body, secrets }), ...more };
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
    { kept, address }: Omit<Placed, 'free'>,
    { reply, reason }: { readonly reply: PostReply | undefined; readonly reason: string },
    now: number,
    call: Call,
  ): Promise<void> => {
    const { owner, delivery } = kept;
    const { webhookId } = delivery;
    const last: FailedAttempt = { at: now, ...(reply && { status: reply.status }), reason };
    const failed = { ...kept, delivery: { ...delivery, attempts: delivery.attempts + 1, last } };
    const isGone = reply?.verdict === 'gone';
    const isMoved = isGone && webhookId !== undefined && (await disable(owner, webhookId, address.url, call));
    const isOver = isGone && !isMoved;
    const next = isOver ? undefined : nextAttempt(failed.delivery, { now, retryAfterMs: reply?.retryAfterMs });
    if (next === undefined) await bury(failed, last, call);
    else await putOff(failed, next, now, call);
  };

  /** Makes an attempt. @returns whether its outcome is on record. */
  const attempt = async ({ kept, address, free }: Placed, now: () => number): Promise<boolean> => {
    const began = performance.now();
    const outcome = await request(kept, address, now());
    free(performance.now() - began);
    if (!outcome) return false;
    const { reply } = outcome;
    const isTaken = reply?.verdict === 'taken';
    onDelivery?.(isTaken ? 'taken' : reply ? 'refused' : 'unanswered', kept.delivery);
    const call = within(callTimeoutMs);
    if (isTaken) await remove(kept, call);
    else await settleFailure({ kept, address }, outcome, now(), call);
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

  /** Where a delivery goes. `undefined`: nowhere any more, and it was removed or is dead. */
  const aimed = async (kept: Kept, address: Address | string | undefined, now: number, call: Call) => {
    if (address === undefined) {
      await remove(kept, call);
      return undefined;
    }
    const why = refusalOf(address, options.hosts);
    if (typeof address !== 'string' && why === undefined) return { address, host: new URL(address.url).host };
    await bury(kept, { ...kept.delivery.last, at: now, reason: why ?? '' }, call);
    return undefined;
  };

  /**
   * Reads again where a delivery goes that has waited for its place: its webhook may be deleted, disabled or changed meanwhile. @returns the attempt
   * that may be made; `undefined` where it was removed, is dead, or goes to another host, for which it is put on record: then its place is free.
   */
  const afterWait = async (kept: Kept, waited: string, free: FreePlace, now: () => number) => {
    const call = within(callTimeoutMs);
    try {
      const target = await aimed(kept, await readAddress(kept, { now: now(), call }), now(), call);
      if (target?.host === waited) return { kept, address: target.address, free };
      if (target) await putOff(kept, now(), now(), call);
    } catch (error) {
      free();
      throw error;
    }
    free();
    return undefined;
  };

  const beginFirst = async ({ address, ...made }: Addressed, { call, now }: Handling): Promise<Promise<boolean>[]> => {
    const kept = { ...made, version: 0 };
    const hasRoom = await room.hasRoom('delivery', kept.owner, call);
    const target = await aimed(kept, hasRoom || typeof address === 'string' ? address : noRoom, now(), call);
    if (!target) return [];
    const { host } = target;
    const place = take(host, kept);
    if (!place) {
      await unlessThere(sendLater(host, kept, now(), call));
      return [];
    }
    return [
      track(kept.id, async () => {
        if (typeof place === 'function') return attempt({ kept, address: target.address, free: place }, now);
        const free = await place;
        const placed = free && (await afterWait(kept, host, free, now));
        if (placed) return attempt(placed, now);
        if (!free && !closing.signal.aborted) await sendLater(host, kept, now(), within(callTimeoutMs));
        return !closing.signal.aborted;
      }),
    ];
  };

  /** Claims a delivery by its next version. @throws Conflict where another has claimed it: the place is free then. */
  const claim = async (kept: Kept, free: FreePlace, now: number, call: Call): Promise<Kept> => {
    try {
      await write(kept, kept.delivery, now + leaseMs, call);
    } catch (error) {
      free();
      throw error;
    }
    return { ...kept, version: kept.version + 1 };
  };

  const handle: HandleDue = async ({ owner, id, version, json }, handling) => {
    const name = JSON.stringify([owner, id]);
    if (held.has(name)) return;
    const { now, call } = handling;
    const kept: Kept = { owner, id, version, delivery: readDelivery(json) };
    const target = await aimed(kept, await readAddress(kept, { now: now(), call }), now(), call);
    if (!target) return;
    const { address, host } = target;
    const place = take(host, kept);
    if (!place) return sendLater(host, kept, now(), call);
    if (typeof place === 'function') {
      const claimed = await claim(kept, place, now(), call);
      void track(id, async () => attempt({ kept: claimed, address, free: place }, now));
      return;
    }
    held.add(name);
    const inTurn = async (): Promise<boolean> => {
      const free = await place;
      if (!free) {
        if (!closing.signal.aborted) await sendLater(host, kept, now(), within(callTimeoutMs));
        return true;
      }
      // Claimed before it is looked up: what another replica has sent meanwhile is not ended here.
      const claimed = await claim(kept, free, now(), within(callTimeoutMs));
      const placed = await afterWait(claimed, host, free, now);
      return placed ? attempt(placed, now) : true;
    };
    void track(id, async () => inTurn().finally(() => held.delete(name)));
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
