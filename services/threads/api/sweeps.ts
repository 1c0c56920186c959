import { pageBytes, toPage } from '@agent-workflow/kit/pages';
import { eachOf } from '@agent-workflow/kit/each';
import { defaultAgent } from '@agent-workflow/kit/agents';
import type { Run, SleepingRun, SweepCalls } from '@agent-workflow/protos/threads';
import { isRetired } from '../agents/routing.ts';
import type { Routings, RoutingsByAgent } from '../agents/routings.ts';
import { withoutFork } from '../history/fork.ts';
import { toProtoRun } from '../lists/lists.ts';
import type { ThreadReads } from '../ports/reads.ts';
import type { Head, ThreadKey } from '../ports/record.ts';
import type { OpenRun, ThreadSweeps } from '../ports/sweeps.ts';
import { agentOf } from '../record/head.ts';
import { keyBytes, runBytes } from '../record/row-sizes.ts';

/** Heads that are read together: so few that calls beside a sweep hardly wait for them. */
const readsAtOnce = 2;
/** The same of the runs that sleep, which are read once after a start and after a retirement. */
const sleepersAtOnce = 32;

export const createSweepCalls = (
  store: ThreadReads & ThreadSweeps,
  routings: Routings,
  now: () => number,
): SweepCalls => ({
  listOpenRuns: async ({ limit, cursor, newestFirst = false }) => {
    const rows = await store.listOpenRuns({ limit: limit + 1, after: cursor, bytes: pageBytes, newestFirst });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: runBytes });
    const known = await routings.get();
    const heads = new Map<OpenRun, Head | undefined>();
    await eachOf(items, readsAtOnce, async (run) => {
      heads.set(run, await store.getHead(run));
    });
    const runs = items.flatMap((run) => {
      const head = heads.get(run);
      return !head || head.deleting ? [] : [withoutRetired(toProtoRun(run.owner, run, head), known)];
    });
    const last = items.at(-1);
    return { runs, ...(hasMore && last ? { cursor: last.runId } : {}) };
  },

  listSleepingRuns: async ({ until, limit, after }) => {
    const rows = await store.listSleepingRuns({ until, after, limit: limit + 1 });
    const { items, hasMore } = toPage(rows, { limit, sizeOf: keyBytes });
    const known = await routings.get();
    const runs: SleepingRun[] = [...items];
    await eachOf([...items.entries()], sleepersAtOnce, async ([index, run]) => {
      runs[index] = { ...run, ...servedBy(await store.getHead(run), known) };
    });
    return { runs, hasMore };
  },

  listIdle: async ({ before, limit }) => ({ threads: firstPage(await store.listIdle(before, limit)) }),

  listDeleting: async ({ limit }) => ({
    threads: await withoutFork(store, firstPage(await store.listDeleting(limit)), now()),
  }),
});

/** A run of a retired revision waits for no worker of that one: whichever worker claims it settles what becomes of it. */
function withoutRetired({ revision, ...run }: Run, routings: RoutingsByAgent): Run {
  return revision === undefined || isRetired(routings.get(run.agent), revision) ? run : { ...run, revision };
}

/** Who is to go on with a run that sleeps. A thread that is gone, or deleted, names nobody: a claim finds out. */
function servedBy(
  head: Head | undefined,
  routings: RoutingsByAgent,
): Pick<SleepingRun, 'agent' | 'revision' | 'isRetired'> {
  if (!head) return {};
  const { revision } = head;
  const agent = agentOf(head) ?? defaultAgent;
  if (revision === undefined) return { agent };
  return isRetired(routings.get(agent), revision) ? { agent, isRetired: true } : { agent, revision };
}

/** As many of the keys as one reply holds; the next sweep finds the others. */
const firstPage = (keys: readonly ThreadKey[]): readonly ThreadKey[] =>
  toPage(keys, { limit: Infinity, sizeOf: keyBytes }).items;
