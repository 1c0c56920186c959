import { createFireDue } from '@agent-workflow/gateway/schedules/fire';
import {
  dueAtOf,
  fromScheduleJson,
  toScheduleJson,
  withNext,
  type PendingSlot,
  type Schedule,
  type ScheduleSpec,
} from '@agent-workflow/gateway/schedules/schedule';
import { never } from '@agent-workflow/protos/call';
import type { RunStatus } from '@agent-workflow/protos/lists';
import type { Threads } from '@agent-workflow/protos/threads';
import { createDueSweep } from '@agent-workflow/runtime/due-sweep';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { accept, call, claim, commit, completed, owner } from './thread-calls.ts';

export const minuteMs = 60_000;
export const hourMs = 60 * minuteMs;
export const kind = 'schedule';

/** A record with a clock of its own, and gateways that sweep its schedules. */
export class ScheduleGround implements AsyncDisposable {
  readonly store: ThreadStore;
  readonly threads: Threads;
  /** When the ground was made. A store counts by its own clock how long ago something was due, so this is near. */
  readonly start: number;
  clock: number;
  /** The slots whose runs were accepted, in order, and the time of the record at each. */
  readonly accepted: {
    readonly slot: number;
    readonly at: number;
    readonly runId: string;
    readonly threadId: string;
  }[] = [];
  readonly stopped: string[] = [];
  readonly removed: string[] = [];
  mayStart: () => Promise<boolean> = () => Promise.resolve(true);
  before: (slot: PendingSlot) => void = () => undefined;

  constructor(store: ThreadStore, start = Math.ceil(Date.now() / minuteMs) * minuteMs) {
    this.store = store;
    this.start = start;
    this.clock = start;
    this.threads = createThreads({ store, now: () => this.clock });
  }

  every(ms: number): ScheduleSpec {
    return {
      timing: { everyMs: ms, anchor: this.start },
      ...{ jitterMs: 0, overlap: 'skip', catchUp: 'one', catchUpMs: hourMs, thread: 'new', keepThreads: true },
    };
  }

  async put(id: string, spec: ScheduleSpec, parts: Partial<Schedule> = {}): Promise<void> {
    const schedule = withNext(
      { spec, run: {}, paused: false, pending: [], past: [], unkept: [], ...parts },
      this.clock,
    );
    const dueAt = dueAtOf(id, schedule);
    const json = toScheduleJson(schedule);
    await this.threads.putResource(
      { kind, owner, id, version: 1, json, ...(dueAt !== undefined && { dueAt }) },
      call(),
    );
  }

  async get(id: string): Promise<Schedule> {
    return fromScheduleJson((await this.threads.getResource({ kind, owner, id }, call())).json);
  }

  async change(id: string, decide: (schedule: Schedule) => Schedule): Promise<void> {
    const { version } = await this.threads.getResource({ kind, owner, id }, call());
    const schedule = decide(await this.get(id));
    const dueAt = dueAtOf(id, schedule);
    const json = toScheduleJson(schedule);
    const due = dueAt === undefined ? {} : { dueAt };
    await this.threads.putResource({ kind, owner, id, version: version + 1, json, ...due }, call());
  }

  /** One gateway; `threads` is how it reaches the record. */
  sweeper(threads: Threads = this.threads): () => Promise<void> {
    const handle = createFireDue({
      threads,
      execution: {
        stopRun: async ({ runId }) => {
          this.stopped.push(runId);
          await this.end(runId);
          return { status: 'stopped', stoppedNow: true };
        },
        deleteThread: ({ threadId }) => {
          this.removed.push(threadId);
          return Promise.resolve({});
        },
      },
      refusalOf: async () => ((await this.mayStart()) ? undefined : 'the backend does not allow it any more'),
      start: async (run) => {
        this.before(run);
        const { runId, threadId, slot } = run;
        await accept(threads, runId, { threadId, runIdIsNew: false, threadIdIsNew: false });
        if (this.accepted.every((known) => known.runId !== runId))
          this.accepted.push({ slot, at: this.clock, runId, threadId });
      },
    });
    const sweep = createDueSweep({ threads, kind, handle, handleMs: minuteMs, log: { error: () => undefined } });
    return () => sweep(never);
  }

  async status(runId: string): Promise<RunStatus> {
    return (await this.threads.getRun({ owner, runId }, call())).status;
  }

  async end(runId: string, end = completed): Promise<void> {
    const { threadId } = await this.threads.getRun({ owner, runId }, call());
    const { epoch } = await claim(this.threads, runId, { threadId });
    await commit(this.threads, runId, epoch, { threadId, end, at: this.clock });
  }

  /** How many runs are on record. */
  async runs(): Promise<number> {
    let count = 0;
    for (let cursor: string | undefined; ;) {
      const page = await this.threads.listOwnRuns(
        { owner, limit: 1000, statuses: [], ...(cursor !== undefined && { cursor }) },
        call(),
      );
      count += page.runs.length;
      cursor = page.cursor;
      if (cursor === undefined) return count;
    }
  }

  /** The slots whose runs were accepted, in minutes after the start. */
  slots(): number[] {
    return this.accepted.map(({ slot }) => (slot - this.start) / minuteMs);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.store[Symbol.asyncDispose]());
  }
}
