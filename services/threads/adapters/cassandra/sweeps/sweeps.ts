import { threadText } from '@agent-workflow/kit/ids';
import { createQuota } from '@agent-workflow/kit/pages';
import { isOpen } from '@agent-workflow/protos/lists';
import type { RunRow } from '../../../ports/lists.ts';
import type { ThreadKey } from '../../../ports/record.ts';
import type { IdleTimes, OpenRun, OpenRunsPage, SleepingRun, ThreadSweeps, WakeMark } from '../../../ports/sweeps.ts';
import { runBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Session, Statement } from '../client/client.ts';
import { createJournal, type Journal, type Noted } from './journal.ts';
import { chunksOf, mapConcurrently } from '../rows/log.ts';
import type { Plan } from '../change/plan.ts';
import type { Seen } from '../rows/rows.ts';

/** Finds open runs, threads to be purged and idle threads across all owners. */
interface Sweeps {
  /** Called before the change is written; if it is not written, the notes are about nothing. */
  readonly announce: (key: ThreadKey, plan: Plan) => readonly Announcement[];
  /** To be written after the change: which runs it has ended. A sweep finds out what was not noted. */
  readonly conclude: (key: ThreadKey, plan: Plan) => readonly Statement[];
  readonly listOpenRuns: ThreadSweeps['listOpenRuns'];
  readonly listSleepingRuns: ThreadSweeps['listSleepingRuns'];
  readonly listDeleting: (limit: number) => Promise<readonly ThreadKey[]>;
  readonly listIdle: ThreadSweeps['listIdle'];
}

interface SweepsOptions {
  readonly session: Session;
  readonly now: () => number;
  readonly readHead: (key: ThreadKey) => Promise<Seen>;
  readonly readRun: (key: ThreadKey, runId: string) => Promise<RunRow | undefined>;
}

const openBucketMs = 30 * 1000;
/** Those that wait for the next wakes read a bucket or two each second. */
const sleepingBucketMs = 5 * 1000;
const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

/** Pages of open runs are made of the same notes for so long, in milliseconds. */
const pageMs = 30_000;

/** Notes of open runs whose runs are read before it is known whether a page is full. */
const readTogether = 100;

/** Reads of a page of open runs that are under way together: so few that calls beside a sweep hardly wait for them. */
const readsAtOnce = 2;

/** Notes of processes whose clocks are ahead of ours are read too, up to so many milliseconds. */
const aheadMs = 10 * minuteMs;

export function createSweeps({ session, now, readHead, readRun }: SweepsOptions): Sweeps {
  // Every sweep reads the newest of them whole, and there is a sweep every few seconds.
  const open = createJournal({ session, now, topic: 'open', bucketMs: openBucketMs, isTimely: true });
  const deleting = createJournal({ session, now, topic: 'deleting', bucketMs: hourMs, isTimely: true });
  const idle = createJournal({ session, now, topic: 'idle', bucketMs: hourMs, isTimely: false });
  // Noted for the time at which each of them wakes.
  const sleeping = createJournal({ session, now, topic: 'sleeping', bucketMs: sleepingBucketMs, isTimely: false });

  const checkRun = async (noted: Noted): Promise<OpenRun | undefined> => {
    const run = await readRun(noted, noted.id);
    // A run that sleeps for long is noted again when it wakes, in a bucket of that time.
    if (run && isOpen(run.status) && !sleepsLong(run, now())) return { ...run, owner: noted.owner };
    if (run || noted.isOld) open.settle(noted);
    return undefined;
  };

  const checkDeleting = async (noted: Noted): Promise<boolean> => {
    const { head } = await readHead(noted);
    if (!head?.deleting && noted.isOld) deleting.settle(noted);
    return head?.deleting === true;
  };

  const checkIdle = async (noted: Noted, { before, waitingBefore = 0 }: IdleTimes): Promise<boolean> => {
    const { head, layout } = await readHead(noted);
    // A thread that was written in a later hour is noted there.
    if (head ? layout?.noted !== noted.bucket : noted.isOld) idle.settle(noted);
    if (!head || head.deleting || head.activeRun !== undefined || head.ttl !== undefined) return false;
    const waits = head.openInterrupts.length > 0 || head.openCalls.length > 0;
    if (head.updatedAt >= (waits ? Math.min(before, waitingBefore) : before)) return false;
    const asking = head.interruptedRun === undefined ? undefined : await readRun(noted, head.interruptedRun);
    return (asking?.wakeAt ?? -Infinity) < waitingBefore;
  };

  const checkSleeping = async (noted: Noted, { wakeAt, runId }: WakeMark): Promise<SleepingRun | undefined> => {
    const run = await readRun(noted, runId);
    const { owner, threadId } = noted;
    if (run && wakes(run) && run.wakeAt === wakeAt)
      return { owner, threadId, runId, wakeAt, ...(run.status === 'interrupted' && { isAsking: true }) };
    if (noted.isOld) sleeping.settle(noted);
    return undefined;
  };

  let kept: { readonly at: number; readonly ordered: readonly Noted[] } | undefined;

  const readNotes = async (): Promise<readonly Noted[]> => {
    const notes = new Map<string, Noted>();
    for await (const some of open.walk(now() + aheadMs))
      for (const noted of some) notes.set(JSON.stringify([noted.id, noted.owner]), noted);
    return [...notes.values()].toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
  };

  /** The notes of open runs after an id, in the order of the page. */
  const notesBehind = async ({
    after,
    newestFirst,
  }: Pick<OpenRunsPage, 'after' | 'newestFirst'>): Promise<readonly Noted[]> => {
    if (after === undefined || !kept || now() - kept.at >= pageMs) kept = { at: now(), ordered: await readNotes() };
    const { ordered } = kept;
    if (!newestFirst) return after === undefined ? ordered : ordered.slice(firstWhere(ordered, (id) => id > after));
    const end = after === undefined ? ordered.length : firstWhere(ordered, (id) => id >= after);
    return ordered.slice(0, end).reverse();
  };

  return {
    announce: (key, { head, runs, newRuns, isMarked, isNewHour }) => [
      ...newRuns.filter(({ status }) => isOpen(status)).map(({ runId, createdAt }) => open.note(key, runId, createdAt)),
      ...runs.flatMap(({ runId, status, wakeAt }) => {
        if (wakeAt === undefined) return [];
        if (wakes({ status })) return [sleeping.note(key, toWakeId({ wakeAt, runId }), wakeAt)];
        return status === 'running' ? [open.note(key, runId, now())] : [];
      }),
      ...(isMarked ? [deleting.note(key, '', now())] : []),
      ...(isNewHour ? [idle.note(key, '', head.updatedAt)] : []),
    ],

    conclude: (key, { runs }) =>
      runs.flatMap(({ runId, status, createdAt, wakeAt }) => [
        ...(isOpen(status) ? [] : [open.end(key, runId, createdAt)]),
        ...(wakeAt === undefined || wakes({ status }) ? [] : [sleeping.end(key, toWakeId({ wakeAt, runId }), wakeAt)]),
      ]),

    listOpenRuns: async ({ limit, bytes, ...page }) => {
      const ordered = await notesBehind(page);
      const runs: OpenRun[] = [];
      const isEnough = createQuota(bytes);
      for (let at = 0; at < ordered.length;) {
        // No more than the page may still need: what is read beyond is read again for the next one.
        const some = ordered.slice(at, at + Math.min(limit - runs.length, readTogether));
        at += some.length;
        for (const run of await mapConcurrently(some, checkRun, readsAtOnce)) {
          if (!run) continue;
          runs.push(run);
          if (runs.length === limit || isEnough(runBytes(run))) return runs;
        }
      }
      return runs;
    },

    listSleepingRuns: async ({ until, after = { wakeAt: 0, runId: '' }, limit }) => {
      const notes: (readonly [WakeMark, Noted])[] = [];
      const add = (noted: Noted): void => {
        const mark = fromWakeId(noted.id);
        if (mark.wakeAt <= until && compareMarks(mark, after) > 0) notes.push([mark, noted]);
      };
      if (until - after.wakeAt <= mostBetweenMs) (await sleeping.between(after.wakeAt, until)).forEach(add);
      else for await (const some of sleeping.walk(until)) some.forEach(add);
      notes.sort(([a], [b]) => compareMarks(a, b));
      const runs: SleepingRun[] = [];
      for (const some of chunksOf(notes)) {
        for (const run of await mapConcurrently(some, ([mark, noted]) => checkSleeping(noted, mark))) {
          if (run) runs.push(run);
          if (runs.length === limit) return runs;
        }
      }
      return runs;
    },

    listDeleting: (limit) => find(deleting, { until: now() + aheadMs, limit, check: checkDeleting }),
    listIdle: (times, limit) => find(idle, { until: times.before, limit, check: (noted) => checkIdle(noted, times) }),
  };
}

/** The place of the first note whose id and all after it pass, found in as many steps as the number of notes has bits. */
function firstWhere(ordered: readonly Noted[], passes: (id: string) => boolean): number {
  let [low, high] = [0, ordered.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(ordered[middle]?.id ?? '')) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether its wake time is one to come: of a sleep, or of the deadline of its questions. */
const wakes = ({ status }: Pick<RunRow, 'status'>): boolean => status === 'sleeping' || status === 'interrupted';

/** Whether it sleeps until the buckets of open runs of now take no more notes: the claim that wakes it notes it in a later one. */
const sleepsLong = ({ status, wakeAt = 0 }: RunRow, now: number): boolean =>
  status === 'sleeping' && wakeAt > now + openBucketMs + aheadMs;

/** Buckets of a longer time are looked up in the list of buckets, instead of being read one by one. */
const mostBetweenMs = minuteMs;

/** The id of a note: digits alone, then a slash, so that no id of a run can be mistaken for a part of it. */
const toWakeId = ({ wakeAt, runId }: WakeMark): string => `${String(wakeAt)}/${runId}`;

function fromWakeId(id: string): WakeMark {
  const slash = id.indexOf('/');
  return { wakeAt: Number(id.slice(0, slash)), runId: id.slice(slash + 1) };
}

const compareMarks = (a: WakeMark, b: WakeMark): number =>
  a.wakeAt - b.wakeAt || (a.runId < b.runId ? -1 : a.runId > b.runId ? 1 : 0);

interface Search {
  readonly until: number;
  readonly limit: number;
  readonly check: (noted: Noted) => Promise<boolean>;
}

/** The threads that pass, the earliest noted first. */
async function find(journal: Journal, { until, limit, check }: Search): Promise<readonly ThreadKey[]> {
  const found = new Map<string, ThreadKey>();
  for await (const notes of journal.walk(until)) {
    for (const some of chunksOf(notes)) {
      const passed = await mapConcurrently(some, check);
      for (const [index, { owner, threadId }] of some.entries())
        if (passed[index]) found.set(threadText({ owner, threadId }), { owner, threadId });
      if (found.size >= limit) return [...found.values()].slice(0, limit);
    }
  }
  return [...found.values()];
}
