import { createQuota } from '@agent-workflow/kit/pages';
import { isOpen } from '@agent-workflow/protos/lists';
import type { PageLimits, RunRow } from '../../../ports/lists.ts';
import type { ThreadKey } from '../../../ports/record.ts';
import type { OpenRun } from '../../../ports/sweeps.ts';
import { runBytes } from '../../../record/row-sizes.ts';
import type { Announcement, Session } from '../client/client.ts';
import { createJournal, type Journal, type Noted } from './journal.ts';
import { chunksOf, inTurn } from '../rows/log.ts';
import type { Plan } from '../change/plan.ts';
import type { Seen } from '../rows/rows.ts';

/** Finds open runs, threads to be purged and idle threads across all owners. */
interface Sweeps {
  /** Called before the change is written; if it is not written, the notes are in vain. */
  readonly announce: (key: ThreadKey, plan: Plan) => readonly Announcement[];
  /** Called after the change: notes which runs it has ended. A sweep finds out what was not noted. */
  readonly conclude: (key: ThreadKey, plan: Plan) => Promise<void>;
  readonly listOpenRuns: (page: PageLimits & { readonly after?: string | undefined }) => Promise<readonly OpenRun[]>;
  readonly listDeleting: (limit: number) => Promise<readonly ThreadKey[]>;
  readonly listIdle: (time: number, limit: number) => Promise<readonly ThreadKey[]>;
}

interface SweepsOptions {
  readonly session: Session;
  readonly now: () => number;
  readonly readHead: (key: ThreadKey) => Promise<Seen>;
  readonly readRun: (key: ThreadKey, runId: string) => Promise<RunRow | undefined>;
}

const openBucketMs = 30 * 1000;
const minuteMs = 60 * 1000;
const hourMs = 60 * minuteMs;

/** Notes of processes whose clocks are ahead of ours are read too, up to so many milliseconds. */
const aheadMs = 10 * minuteMs;

export function createSweeps({ session, now, readHead, readRun }: SweepsOptions): Sweeps {
  // Every sweep reads the newest of them whole, and there is a sweep every few seconds.
  const open = createJournal({ session, now, topic: 'open', bucketMs: openBucketMs, isTimely: true });
  const deleting = createJournal({ session, now, topic: 'deleting', bucketMs: hourMs, isTimely: true });
  const idle = createJournal({ session, now, topic: 'idle', bucketMs: hourMs, isTimely: false });

  const checkRun = async (noted: Noted): Promise<OpenRun | undefined> => {
    const run = await readRun(noted, noted.id);
    if (run && isOpen(run.status)) return { ...run, owner: noted.owner };
    if (run || noted.isOld) open.settle(noted);
    return undefined;
  };

  const checkDeleting = async (noted: Noted): Promise<boolean> => {
    const { head } = await readHead(noted);
    if (!head?.deleting && noted.isOld) deleting.settle(noted);
    return head?.deleting === true;
  };

  const checkIdle = async (noted: Noted, time: number): Promise<boolean> => {
    const { head, layout } = await readHead(noted);
    // A thread that was written in a later hour is noted there.
    if (head ? layout?.noted !== noted.bucket : noted.isOld) idle.settle(noted);
    return head !== undefined && !head.deleting && head.activeRun === undefined && head.updatedAt < time;
  };

  return {
    announce: (key, { head, newRuns, isMarked, isNewHour }) => [
      ...newRuns.filter(({ status }) => isOpen(status)).map(({ runId, createdAt }) => open.note(key, runId, createdAt)),
      ...(isMarked ? [deleting.note(key, '', now())] : []),
      ...(isNewHour ? [idle.note(key, '', head.updatedAt)] : []),
    ],

    conclude: async (key, { runs }) => {
      await inTurn(
        runs.filter(({ status }) => !isOpen(status)),
        ({ runId, createdAt }) => open.end(key, runId, createdAt),
      );
    },

    listOpenRuns: async ({ limit, after = '', bytes }) => {
      const notes = new Map<string, Noted>();
      for await (const some of open.walk(now() + aheadMs))
        for (const noted of some) if (noted.id > after) notes.set(JSON.stringify([noted.id, noted.owner]), noted);
      const ordered = [...notes.values()].toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0));
      const runs: OpenRun[] = [];
      const isEnough = createQuota(bytes);
      for (const some of chunksOf(ordered)) {
        for (const run of await inTurn(some, checkRun)) {
          if (!run) continue;
          runs.push(run);
          if (runs.length === limit || isEnough(runBytes(run))) return runs;
        }
      }
      return runs;
    },

    listDeleting: (limit) => find(deleting, { until: now() + aheadMs, limit, check: checkDeleting }),
    listIdle: (time, limit) => find(idle, { until: time, limit, check: (noted) => checkIdle(noted, time) }),
  };
}

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
      const passed = await inTurn(some, check);
      for (const [index, { owner, threadId }] of some.entries())
        if (passed[index]) found.set(JSON.stringify([owner, threadId]), { owner, threadId });
      if (found.size >= limit) return [...found.values()].slice(0, limit);
    }
  }
  return [...found.values()];
}
