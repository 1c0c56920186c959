import { eachOf } from '@agent-workflow/kit/each';
import { LRUCache } from 'lru-cache';
import type { Msg, StreamInfo } from 'nats';
import type { AgentBacklog } from '../../../ports/queue.ts';
import { fromNatsError } from '../client/client.ts';
import { hashIn, hashOfPool, nameOfPool, poolFilter, type Pool } from '../client/pools.ts';
import type { Streams } from '../client/streams.ts';
import { createEstimate, type Estimate } from './estimate.ts';

/** How many runs wait in the queue: an estimate that does not ask the server each time. */
export interface Backlog {
  /** Of all agents, or of one with all its revisions that are known here. */
  readonly waiting: (agent?: string) => number;
  /** Of one pool; of all, as long as the server has not said how many of this pool. */
  readonly waitingOf: (pool: Pool) => number;
  readonly backlogs: () => readonly AgentBacklog[];
  /** Asks the server for each pool that is known here, and for these. @throws Unavailable when it does not answer. */
  readonly recount: (pools?: readonly Pool[]) => Promise<void>;
  /** Counts a run that is being put. Call the result with whether the run was new. */
  readonly put: (pool: Pool) => (isNew: boolean) => void;
  readonly take: (pool: Pool) => void;
  readonly settle: (pool: Pool) => void;
}

/** Pools that are counted here. Those that nothing was done with for longest are forgotten first. */
const maxPools = 2000;
const requestsAtOnce = 32;

/** So few pools are counted one by one, and so are more of them where more runs are in the stream: the server lists each run. */
const fewPools = 4;
const mostListed = 500;

export function createBacklog({ client, manager, names }: Streams): Backlog {
  const total = createEstimate(async () => (await manager.streams.info(names.runs)).state.messages);
  const pools = new LRUCache<string, Estimate & { readonly pool: Pool }>({ max: maxPools });

  /** Messages in the stream under the pool's subjects. The server says how many are behind the first. */
  const countOf = async (pool: Pool): Promise<number> => {
    const query = { seq: 1, next_by_subj: poolFilter(names, pool), batch: 1 };
    const { headers } = await client.request(`$JS.API.DIRECT.GET.${names.runs}`, Buffer.from(JSON.stringify(query)));
    return headers?.code === notFoundStatus ? 0 : 1 + behind(headers);
  };

  const estimateOf = (pool: Pool): Estimate => {
    const name = nameOfPool(pool);
    const known = pools.get(name) ?? { pool, ...createEstimate(async () => countOf(pool)) };
    pools.set(name, known);
    return known;
  };

  const readState = async (options?: { readonly subjects_filter: string }): Promise<StreamInfo['state']> => {
    const info = await manager.streams.info(names.runs, options).catch((error: unknown) => {
      throw fromNatsError(error);
    });
    return info.state;
  };

  /** Messages in the stream, by the hash of their pool. A subject has one message. */
  const countAll = async (): Promise<ReadonlyMap<string, number>> => {
    const { subjects = {} } = await readState({ subjects_filter: `${names.runSubject}.>` });
    const counts = new Map<string, number>();
    for (const subject of Object.keys(subjects)) {
      const hash = hashIn(names, subject);
      counts.set(hash, (counts.get(hash) ?? 0) + 1);
    }
    return counts;
  };

  /** Counts the runs of a pool: each pool by itself, or all at once where that is one short reply. */
  const counting = (messages: number): ((pool: Pool) => Promise<number>) => {
    if (pools.size <= fewPools || messages > mostListed) return countOf;
    const all = countAll();
    // Each count of a pool fails with it.
    all.catch(() => undefined);
    return async (pool) => (await all).get(hashOfPool(pool)) ?? 0;
  };

  /** Where the pools were counted last: as long as it is the same, none has changed. */
  let lastSeen: string | undefined;

  return {
    waiting: (agent) => {
      if (agent === undefined) return total.waiting();
      estimateOf({ agent });
      return [...pools.values()].reduce((sum, one) => sum + (one.pool.agent === agent ? one.waiting() : 0), 0);
    },

    waitingOf: (pool) => {
      const waiting = estimateOf(pool).waiting();
      return estimateOf(pool).isCounted() ? waiting : total.waiting();
    },

    backlogs: () => [...pools.values()].map(({ pool, waiting }) => ({ ...pool, waiting: waiting() })),

    recount: async (more = []) => {
      for (const pool of more.slice(0, maxPools)) estimateOf(pool);
      const { messages, last_seq } = await readState();
      // It changes with every run that is put into the stream or settled.
      const seen = `${String(messages)} ${String(last_seq)}`;
      const isSame = seen === lastSeen;
      const changed = [...pools.values()].filter(({ isCounted }) => !isSame || !isCounted());
      const count = changed.length === 0 ? countOf : counting(messages);
      await eachOf(changed, requestsAtOnce, async ({ recount, pool }) => recount(async () => count(pool)));
      lastSeen = seen;
    },

    put: (pool) => {
      const done = [total.put(), estimateOf(pool).put()];
      return (isNew) => {
        for (const each of done) each(isNew);
      };
    },

    take: (pool) => {
      for (const each of [total, estimateOf(pool)]) each.take();
    },

    settle: (pool) => {
      for (const each of [total, estimateOf(pool)]) each.settle();
    },
  };
}

const nothing = (): void => undefined;

/** For a replica that may not ask how many runs wait, and accepts none. */
export const uncounted: Backlog = {
  waiting: () => 0,
  waitingOf: () => 0,
  backlogs: () => [],
  recount: () => Promise.resolve(),
  put: () => nothing,
  take: nothing,
  settle: nothing,
};

const notFoundStatus = 404;

const behind = (headers: Msg['headers']): number => Number(headers?.get('Nats-Num-Pending') ?? 0);
