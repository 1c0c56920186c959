import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ExecutionContext } from 'ava';
import { eachOf } from '@agent-workflow/kit/each';
import { createClient, user, type Reply } from '../servers/client.ts';

// What campaigns ask of schedules, of a service whose processes are killed.

/** The environment of a process whose clock is ahead by the first step, and is stepped on by SIGUSR2. */
export const withClock = (...stepsMs: readonly number[]): Readonly<Record<string, string>> => ({
  NODE_OPTIONS: `--import=${fileURLToPath(import.meta.resolve('../servers/stepped-clock.ts'))}`,
  CLOCK_STEPS: stepsMs.join(),
});

/** A schedule that was made, and the slots that it is to fire up to a moment. */
interface Made {
  readonly id: string;
  readonly nextAt: number;
  readonly backfilled: readonly number[];
  readonly slotsTo: (to: number) => readonly number[];
}

interface Plan {
  readonly timing: object;
  /** All slots of its timing up to a moment, whenever it is made. */
  readonly slotsTo: (to: number) => readonly number[];
  /** A past time whose slots are made up for. */
  readonly backfill?: { readonly from: number; readonly to: number };
}

interface Fired {
  readonly run_id: string;
  readonly slot: string;
}
interface Run {
  readonly run_id: string;
  readonly status: string;
  readonly created_at: string;
}

/** The time that a run is meant for, which its id holds. */
export const slotOf = ({ run_id: id }: Pick<Run, 'run_id'>): number => parseInt(id.slice(0, 13).replace('-', ''), 16);

const requestsAtOnce = 8;
const tries = 120;
const final: ReadonlySet<number> = new Set([400, 404, 422]);

/** Sends until one of the gateways answers with a success: the others may have been killed. */
async function insist(urls: () => readonly string[], ...[method, path, body, headers]: Sent): Promise<Reply> {
  for (let attempt = 0; ; attempt++) {
    const url = urls()[attempt % urls().length] ?? '';
    const reply = await createClient(url)
      .send(method, path, body, headers)
      .catch(() => undefined);
    if (reply && reply.status < 300) return reply;
    if (attempt === tries || (reply && final.has(reply.status)))
      throw new Error(`${method} ${path}: ${String(reply?.status)} ${JSON.stringify(reply?.body)}`);
    await delay(500);
  }
}

type Sent = Parameters<ReturnType<typeof createClient>['send']>;

/** The schedules of a service at these addresses. */
export class ScheduledRuns {
  readonly made: Made[] = [];
  readonly urls: () => readonly string[];

  constructor(urls: () => readonly string[]) {
    this.urls = urls;
  }

  /** Makes a schedule of each plan. Each has all that was missed made up for, so that a kill leaves out none. */
  async make(plans: readonly Plan[]): Promise<void> {
    await eachOf([...plans.entries()], requestsAtOnce, async ([index, plan]) => {
      const run = { messages: [user('go')] };
      const body = { ...plan.timing, run, overlap: 'allow', catch_up: 'all' };
      const key = { 'idempotency-key': `make-${String(index)}` };
      const { data } = (await insist(this.urls, 'POST', '/v1/schedules', body, key)).body;
      const { schedule_id: id, next_at: next } = data as { schedule_id: string; next_at: string };
      const backfilled = plan.backfill ? await this.#backfill(id, plan.backfill) : [];
      this.made.push({ id, nextAt: Date.parse(next), backfilled, slotsTo: plan.slotsTo });
    });
  }

  async #backfill(id: string, times: object): Promise<readonly number[]> {
    const key = { 'idempotency-key': `backfill-${id}` };
    const { data } = (await insist(this.urls, 'POST', `/v1/schedules/${id}/backfill`, times, key)).body;
    return (data as { runs: Fired[] }).runs.map(({ slot }) => Date.parse(slot));
  }

  /** The runs of all threads, the newest first. */
  async runs(most = Infinity): Promise<readonly Run[]> {
    const runs: Run[] = [];
    for (let cursor: string | undefined; runs.length < most;) {
      const query = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { data } = (await insist(this.urls, 'GET', `/v1/runs?limit=100${query}`)).body;
      const page = data as { runs: Run[]; cursor?: string };
      runs.push(...page.runs);
      ({ cursor } = page);
      if (cursor === undefined) break;
    }
    return runs;
  }

  expectedTo(to: number): readonly (readonly number[])[] {
    return this.made.map(({ nextAt, backfilled, slotsTo }) =>
      [...backfilled, ...slotsTo(to).filter((slot) => slot >= nextAt)].toSorted((a, b) => a - b),
    );
  }

  /** Checks that each slot up to a moment has one run, of which its schedule knows, and that there is no other. */
  async check(t: ExecutionContext, to: number): Promise<readonly Run[]> {
    const expected = this.expectedTo(to);
    const count = expected.flat().length;
    for (let waited = 0; waited < tries && (await this.runs()).length < count; waited++) await delay(1000);
    const known = new Set<string>();
    await eachOf([...this.made.entries()], requestsAtOnce, async ([index, { id }]) => {
      const { data } = (await insist(this.urls, 'GET', `/v1/schedules/${id}`)).body;
      const { last_runs: past } = data as { last_runs: (Fired & { outcome: string })[] };
      const slots = past.map(({ slot }) => Date.parse(slot)).filter((slot) => slot <= to);
      t.deepEqual(
        slots.toSorted((a, b) => a - b),
        expected[index],
        JSON.stringify(past),
      );
      t.true(past.every(({ outcome }) => outcome === 'started'));
      for (const { run_id: runId } of past.filter(({ slot }) => Date.parse(slot) <= to)) known.add(runId);
    });
    const runs = (await this.runs()).filter((run) => slotOf(run) <= to);
    t.deepEqual(runs.map(({ run_id: id }) => id).toSorted(), [...known].toSorted(), 'each slot has one run');
    t.is(runs.length, count);
    return runs;
  }
}
