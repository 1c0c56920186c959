import type { Log } from '@agent-workflow/kit/log';
import { LRUCache } from 'lru-cache';
import type { Msg } from 'nats';
import { highestPriority, mostPasses, priorityOf, type RunnableRun } from '../../../ports/queue.ts';
import { wordOfOwner } from '../client/names.ts';
import { hashOfPool, nameOfPool, poolOf, type Pool } from '../client/pools.ts';
import { endsPage, sequenceOf, type Streams } from '../client/streams.ts';
import { readRun } from './run-message.ts';

interface UrgentOptions {
  readonly streams: Streams;
  readonly log: Pick<Log, 'debug'>;
}

/** A run that waits in the stream, and what removes it from there once the record has decided about it. */
export interface UrgentRun {
  readonly run: RunnableRun;
  readonly remove: () => void;
  /** Nobody has taken it. */
  readonly release: () => void;
}

/**
 * The waiting runs with a priority. The stream delivers in the order of arrival, so what is delivered is a turn of its owner, and the best run of
 * that owner takes it. Where no run has a priority, a pool with a backlog costs one short request a second.
 */
interface Urgent {
  /** The run that takes the turn of the one that was delivered under this subject; `undefined`: that one itself. Never rejects. */
  readonly insteadOf: (delivered: RunnableRun, subject: string) => Promise<UrgentRun | undefined>;
}

interface Waiting extends UrgentRun {
  readonly subject: string;
}

/** For so long what was read of the stream counts, in milliseconds. */
const freshMs = 1000;
/** Of an owner whose runs of one priority are more, the oldest are seen. */
const listedOfOwner = 64;
const remembered = 10_000;
/** The last words of subjects, the highest first. */
const priorities = Array.from({ length: highestPriority }, (_, index) => String(highestPriority - index));

export function createUrgent({ streams, log }: UrgentOptions): Urgent {
  const { client, names, settings } = streams;
  const pools = new LRUCache<string, Promise<boolean>>({ max: remembered, ttl: freshMs });
  const owners = new LRUCache<string, Promise<readonly Waiting[]>>({ max: remembered, ttl: freshMs });
  /** Runs that were taken here and are not settled: the stream has them still. */
  const taken = new LRUCache<string, true>({ max: remembered, ttl: settings.settleMs });
  /** How many turns in a row an owner has given to better runs. */
  const passes = new LRUCache<string, number>({ max: remembered });

  const read = async (filter: string, batch: number): Promise<readonly Msg[]> => {
    const query = Buffer.from(JSON.stringify({ seq: 1, next_by_subj: filter, batch }));
    const replies = await client.requestMany(`$JS.API.DIRECT.GET.${names.runs}`, query, endsPage);
    return replies.filter((reply) => !endsPage(reply));
  };

  const placeOf = (pool: Pool): string => `${names.runSubject}.${hashOfPool(pool)}`;

  const hasAny = async (pool: Pool): Promise<boolean> => (await read(`${placeOf(pool)}.*.*.*.*.*`, 1)).length > 0;

  const remove = (seq: number, subject: string): void => {
    const query = JSON.stringify({ seq, no_erase: true });
    client.request(`$JS.API.STREAM.MSG.DELETE.${names.runs}`, Buffer.from(query)).catch((error: unknown) => {
      // It is delivered in a turn of its own, and the record refuses it.
      log.debug({ err: error, subject }, 'a run that was taken could not be removed from the queue');
    });
  };

  const toWaiting = (message: Msg): readonly Waiting[] => {
    const run = readRun(message);
    const subject = message.headers?.get('Nats-Subject') ?? '';
    const release = (): void => void taken.delete(subject);
    return run ? [{ run, subject, release, remove: () => remove(sequenceOf(message), subject) }] : [];
  };

  /** The best first. */
  const ofOwner = async (pool: Pool, owner: string): Promise<readonly Waiting[]> => {
    const place = `${placeOf(pool)}.*.${wordOfOwner(owner)}.*.*`;
    const found = await Promise.all(priorities.map(async (word) => read(`${place}.${word}`, listedOfOwner)));
    return found
      .flat()
      .flatMap(toWaiting)
      .filter(({ run }) => run.owner === owner);
  };

  const fresh = async <T>(cache: LRUCache<string, Promise<T>>, key: string, load: () => Promise<T>): Promise<T> => {
    const known = cache.get(key);
    if (known) return known;
    const loading = load();
    cache.set(key, loading);
    return loading;
  };

  const bestOf = async (delivered: RunnableRun, subject: string): Promise<Waiting | undefined> => {
    const pool = poolOf(delivered);
    const name = nameOfPool(pool);
    if (!(await fresh(pools, name, async () => hasAny(pool)))) return undefined;
    const key = JSON.stringify([name, delivered.owner]);
    const waiting = await fresh(owners, key, async () => ofOwner(pool, delivered.owner));
    const best = waiting.find((each) => !taken.has(each.subject));
    const passed = passes.get(key) ?? 0;
    if (!best || priorityOf(best.run) <= priorityOf(delivered) || passed >= mostPasses) {
      const isUrgent = priorityOf(delivered) > 0;
      // While those that gave their turns away are on their way back, a better run may be delivered itself: one more turn of such a run.
      if (isUrgent && passed > 0) passes.set(key, passed + 1);
      else passes.delete(key);
      if (isUrgent) taken.set(subject, true);
      return undefined;
    }
    passes.set(key, passed + 1);
    taken.set(best.subject, true);
    return best;
  };

  return {
    insteadOf: async (delivered, subject) => {
      try {
        return await bestOf(delivered, subject);
      } catch (error) {
        log.debug(
          { err: error },
          'the priorities of waiting runs could not be read; they are taken in order of arrival',
        );
        return undefined;
      }
    },
  };
}
