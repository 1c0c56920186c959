import { isServiceError, undefinedIfNotFound } from '@agent-workflow/kit/errors';
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
import { LRUCache } from 'lru-cache';
import { Webhook as Signer } from 'standardwebhooks';
import { post, PostFailure, type PostReply } from './post.ts';
import type { MayReach } from './reachable.ts';
import type { Room } from './room.ts';

/** A delivery as it is on record; version 0: it is not yet. */
interface Kept {
  readonly owner: string;
  readonly id: string;
  readonly version: number;
  readonly delivery: Delivery;
}

type Handling = Parameters<HandleDue>[1];

export interface Deliverer extends AsyncDisposable {
  /** Claims a delivery by its next version and begins an attempt, which goes on after the call. @throws Conflict where another has claimed it. */
  readonly take: (kept: Kept, handling: Pick<Handling, 'now' | 'call'>) => Promise<void>;
  /** Makes an attempt of a delivery that is due. */
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
const perHost = 4;
const attemptsAtOnce = 256;
const hosts = { max: 10_000, ttl: 10 * 60_000 };

const secondMs = 1000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
/** The waits after each failed attempt; the last one is repeated. */
const waits = [
  5 * secondMs,
  30 * secondMs,
  2 * minuteMs,
  10 * minuteMs,
  30 * minuteMs,
  hourMs,
  2 * hourMs,
  4 * hourMs,
  8 * hourMs,
];
const longestWaitMs = 8 * hourMs;
/** Attempts are made for so long, and what was never delivered is kept for so long after. */
const triedForMs = 3 * 24 * hourMs;
const deadKeptMs = 30 * 24 * hourMs;
const jitter = 0.2;

/** When the next attempt follows one that failed; `undefined`: none does. */
function nextAttempt(
  { since, attempts }: Pick<Delivery, 'since' | 'attempts'>,
  { now, retryAfterMs = 0 }: { readonly now: number; readonly retryAfterMs?: number | undefined },
): number | undefined {
  const wait = (waits[attempts - 1] ?? longestWaitMs) * (1 + jitter * (2 * Math.random() - 1));
  const at = Math.ceil(now + Math.max(wait, Math.min(retryAfterMs, longestWaitMs)));
  return at > since + triedForMs ? undefined : at;
}

/** Where a delivery goes now, and the secrets that sign it. */
interface Address {
  readonly url: string;
  readonly secrets: readonly string[];
}

/** Sends deliveries, at most some at a time to one host, so that a host which hangs or fails holds up no other. */
export function createDeliverer(options: DelivererOptions): Deliverer {
  const { threads, room, mayReach, log, onDelivery, attemptMs = usualAttemptMs } = options;
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  const busy = new Map<string, number>();
  let attempts = 0;
  const queues = new LRUCache<string, Queue>(hosts);

  const write = async (
    { owner, id, version }: Omit<Kept, 'delivery'>,
    delivery: Delivery,
    dueAt: number,
    call: Call,
  ) => {
    const json = toWebhookJson(delivery);
    await threads.putResource({ kind: 'delivery', owner, id, version: version + 1, json, dueAt }, call);
  };

  const remove = async ({ owner, id, version }: Omit<Kept, 'delivery'>, call: Call): Promise<void> => {
    await threads.deleteResource({ kind: 'delivery', owner, id, version }, call);
  };

  /** Moves a delivery to the dead letters of its owner. A process that dies on the way leaves both, and the next attempt ends here again. */
  const bury = async (kept: Kept, last: FailedAttempt, call: Call): Promise<void> => {
    const { owner, id, version } = kept;
    const json = toWebhookJson({ ...kept.delivery, last });
    if (await room.hasRoom('dead_letter', owner, call))
      await unlessThere(
        threads.putResource({ kind: 'dead_letter', owner, id, version: 1, json, dueAt: last.at + deadKeptMs }, call),
      );
    if (version > 0) await remove(kept, call);
    onDelivery?.('dead', kept.delivery);
  };

  /** `undefined`: the webhook is deleted. A text: why nothing is sent there. */
  const addressOf = async (
    { owner, delivery }: Kept,
    now: number,
    call: Call,
  ): Promise<Address | string | undefined> => {
    const { own, webhookId } = delivery;
    if (own) return { url: own.url, secrets: own.secret === undefined ? [] : [own.secret] };
    if (webhookId === undefined) return undefined;
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id: webhookId }, call));
    if (!found) return undefined;
    const { url, secret, oldSecret, isEnabled } = readWebhook(found.json);
    if (!isEnabled) return 'the webhook is disabled';
    return { url, secrets: [secret, ...(oldSecret && oldSecret.until > now ? [oldSecret.secret] : [])] };
  };

  const disable = async (owner: string, id: string, call: Call): Promise<void> => {
    const found = await undefinedIfNotFound(threads.getResource({ kind: 'webhook', owner, id }, call));
    if (!found) return;
    const json = toWebhookJson({
      ...readWebhook(found.json),
      isEnabled: false,
      disabledBecause: 'its receiver replied that it is gone',
    });
    await threads.putResource({ kind: 'webhook', owner, id, version: found.version + 1, json }, call);
  };

  const attempt = async (kept: Kept, { url, secrets }: Address, now: () => number): Promise<void> => {
    const { id, delivery } = kept;
    const at = new Date(now());
    const { body } = delivery;
    const signal = AbortSignal.any([closing.signal, AbortSignal.timeout(attemptMs)]);
    let reply: PostReply | undefined;
    let reason: string;
    try {
      const headers = { ...plainHeaders, ...signedHeaders({ id, at, body, secrets }) };
      reply = await post({ url, headers, body, mayReach, signal });
      reason = `the reply has the status ${String(reply.status)}`;
    } catch (error) {
      // A secret that cannot sign: the schema of requests refuses such a one.
      if (!(error instanceof PostFailure)) log.error({ err: error, id }, 'a delivery cannot be sent');
      reason = error instanceof PostFailure ? error.message : 'it cannot be sent';
    }
    // What ends with this process is no failure of the receiver: the claim expires.
    if (closing.signal.aborted && !reply) return;
    const call = within(callTimeoutMs);
    const isTaken = reply?.verdict === 'taken';
    onDelivery?.(isTaken ? 'taken' : reply ? 'refused' : 'unanswered', delivery);
    if (isTaken) {
      await remove(kept, call);
      return;
    }
    const last: FailedAttempt = { at: now(), ...(reply && { status: reply.status }), reason };
    const failed: Delivery = { ...delivery, attempts: delivery.attempts + 1, last };
    if (reply?.verdict === 'gone' && delivery.webhookId !== undefined)
      await disable(kept.owner, delivery.webhookId, call);
    const next =
      reply?.verdict === 'gone' ? undefined : nextAttempt(failed, { now: now(), retryAfterMs: reply?.retryAfterMs });
    if (next === undefined) await bury({ ...kept, delivery: failed }, last, call);
    else await write(kept, failed, next, call);
  };

  /** Takes a place for an attempt at this host; the function that it gives frees it. `undefined`: there is none. */
  const reserve = (host: string): (() => void) | undefined => {
    const taken = busy.get(host) ?? 0;
    if (taken >= perHost || attempts >= attemptsAtOnce || closing.signal.aborted) return undefined;
    attempts += 1;
    busy.set(host, taken + 1);
    return () => {
      attempts -= 1;
      const left = (busy.get(host) ?? 1) - 1;
      if (left === 0) busy.delete(host);
      else busy.set(host, left);
    };
  };

  const begin = (kept: Kept, address: Address, now: () => number): Promise<void> => {
    const going = attempt(kept, address, now)
      .catch((error: unknown) => {
        // Another replica took it over, or its owner removed it.
        if (!isServiceError(error, 'Conflict') && !isServiceError(error, 'NotFound'))
          log.error({ err: error, id: kept.id }, 'the outcome of a delivery could not be written; it is sent again');
      })
      .finally(() => underWay.delete(going));
    underWay.add(going);
    return going;
  };

  const take: Deliverer['take'] = async (kept, { now, call }) => {
    const address = await addressOf(kept, now(), call);
    if (address === undefined) {
      if (kept.version > 0) await remove(kept, call);
      return;
    }
    const why = typeof address === 'string' ? address : refusalOf(address.url, options.hosts);
    if (typeof address === 'string' || why !== undefined) {
      await bury(kept, { ...kept.delivery.last, at: now(), reason: why ?? '' }, call);
      return;
    }
    if (kept.version === 0 && !(await room.hasRoom('delivery', kept.owner, call))) {
      await bury(kept, { at: now(), reason: 'too many deliveries of the owner wait' }, call);
      return;
    }
    const { host } = new URL(address.url);
    const queue = queueOf(queues, host);
    queue.left(kept.id);
    const free = reserve(host);
    if (!free) {
      await write(kept, kept.delivery, now() + queue.joined(kept.id), call);
      return;
    }
    try {
      await write(kept, kept.delivery, now() + leaseMs, call);
    } catch (error) {
      free();
      throw error;
    }
    const began = performance.now();
    void begin({ ...kept, version: kept.version + 1 }, address, now).then(() => {
      free();
      queue.took(performance.now() - began);
    });
  };

  return {
    take,
    handle: async (resource, handling) => {
      const { owner, id, version } = resource;
      await take({ owner, id, version, delivery: readDelivery(resource.json) }, handling);
    },
    [Symbol.asyncDispose]: async () => {
      closing.abort();
      await Promise.all(underWay);
    },
  };
}

/** What is on record already, by a process that did the same, is left as it is. */
async function unlessThere(write: Promise<unknown>): Promise<void> {
  await write.catch((error: unknown) => {
    if (!isServiceError(error, 'Conflict')) throw error;
  });
}

const plainHeaders = { 'content-type': 'application/json', 'user-agent': 'agent-workflow' };

interface Signed extends Pick<Address, 'secrets'> {
  readonly id: string;
  readonly at: Date;
  readonly body: string;
}

/** The headers of Standard Webhooks; without a secret there is no signature. */
function signedHeaders({ id, at, body, secrets }: Signed): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => new Signer(secret).sign(id, at, body));
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
}

/** Why the operator lets nothing be sent to this address. */
function refusalOf(url: string, allowed: readonly string[] | undefined): string | undefined {
  if (!URL.canParse(url)) return 'the address is none';
  const { hostname } = new URL(url);
  const fits = (name: string): boolean =>
    name.startsWith('*.') ? hostname.endsWith(name.slice(1)) : hostname === name;
  return !allowed || allowed.some(fits) ? undefined : 'the host is not one of those that the operator allows';
}

/** What waits for one host, as far as this process has seen it. */
interface Queue {
  readonly left: (id: string) => void;
  /** @returns how long the delivery waits until it is looked at again, in milliseconds: as long as those before it are expected to take. */
  readonly joined: (id: string) => number;
  /** Notes how long an attempt took, in milliseconds. */
  readonly took: (ms: number) => void;
}

const mostWaiting = 10_000;
const shareOfLast = 0.2;
/** How long an attempt is taken to last before one has: a burst of deliveries is looked at again soon. */
const firstGuessMs = 100;

function createQueue(): Queue {
  const waiting = new LRUCache<string, true>({ max: mostWaiting });
  let usualMs = firstGuessMs;
  return {
    left: (id) => void waiting.delete(id),
    joined: (id) => {
      waiting.set(id, true);
      return Math.ceil(Math.min(10 * minuteMs, secondMs + (usualMs * waiting.size) / perHost));
    },
    took: (ms) => {
      usualMs += shareOfLast * (ms - usualMs);
    },
  };
}

function queueOf(queues: LRUCache<string, Queue>, host: string): Queue {
  const queue = queues.get(host) ?? createQueue();
  queues.set(host, queue);
  return queue;
}
