import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import { acceptedRun, Errand, soon, startLoad, type Load, type Means } from './load.ts';

/** Schedules that fire at a time, each beside a run that starts later. */
const schedules = 2;
const everySeconds = 10;
/** A schedule has two slots. */
const lifeMs = 25_000;

/** Makes schedules of some slots, and runs that start later: each slot has one run, and none is early. */
export const startScheduleLoad = (means: Means): Load =>
  startLoad({
    name: 'schedule',
    count: schedules,
    needs: ['slots', 'delayed'],
    begin: (threadId) => new Series(threadId, 'echo', means),
  });

interface Schedule {
  readonly schedule_id: string;
  readonly status: string;
  readonly pending: number;
  readonly created_at: string;
  readonly starts_at: string;
  readonly ends_at: string;
  readonly last_runs: readonly {
    readonly slot: string;
    readonly outcome: string;
    readonly run_id?: string;
    readonly reason?: string;
  }[];
}

class Series extends Errand {
  async make(): Promise<void> {
    await Promise.all([this.#slots(), this.#delayed()]);
  }

  /** What the record says of a run, beside when it was meant to start. */
  async #checkStart(threadId: string, runId: string, meant: string): Promise<void> {
    const { isFailedByClaims, status } = await this.ended(runId);
    if (status !== 'completed' && !isFailedByClaims) this.faults.push(`run ${runId} is ${status}`);
    const found = (await this.runsOf(threadId)).find(({ run_id }) => run_id === runId);
    if (!found || found.created_at < meant)
      this.faults.push(`run ${runId}, meant for ${meant}, was made at ${String(found?.created_at)}`);
  }

  async #slots(): Promise<void> {
    const begun = Date.now();
    const { status, body } = await this.change('/v1/schedules', {
      ...{ every_seconds: everySeconds, starts_at: begun, ends_at: begun + lifeMs },
      ...{ thread: 'one', overlap: 'queue', catch_up: 'all', catch_up_seconds: 86_400 },
      run: { messages: [user('go')], config: { thread_id: this.threadId, agent: 'echo' } },
    });
    // The service was away for longer than the schedule was to live.
    if (status === 422 && JSON.stringify(body).includes('ends_at: must leave a time that is to come')) return;
    if (status !== 200) throw new Error(`a schedule was answered ${String(status)} ${JSON.stringify(body)}`);
    const { schedule_id: id } = body.data as Schedule;
    let schedule: Schedule = body.data;
    await until(async () => {
      schedule = (await this.send('GET', `/v1/schedules/${id}`)).body.data;
      return (
        schedule.status === 'ended' && schedule.pending === 0 && schedule.last_runs.length >= slotsOf(schedule).length
      );
    }, soon);
    this.count('slots', schedule.last_runs.length);
    await this.#check(schedule);
  }

  async #check(schedule: Schedule): Promise<void> {
    const past = schedule.last_runs.toReversed();
    const meant = slotsOf(schedule);
    if (past.map(({ slot }) => slot).join() !== meant.join() || past.some(({ outcome }) => outcome !== 'started'))
      this.faults.push(`of the slots ${meant.join()} became ${JSON.stringify(past)}`);
    for (const { slot, run_id: run = '' } of past) await this.#checkStart(this.threadId, run, slot);
    const runs = (await this.runsOf(this.threadId)).map(({ run_id }) => run_id);
    if (
      runs.toSorted().join() !==
      past
        .map(({ run_id }) => String(run_id))
        .toSorted()
        .join()
    )
      this.faults.push(`its slots have the runs ${JSON.stringify(past)}, its thread ${runs.join()}`);
  }

  async #delayed(): Promise<void> {
    const threadId = `${this.threadId}-later`;
    const meant = new Date(Date.now() + 2000 + this.random() * 4000).toISOString();
    const runId = acceptedRun(
      await this.sendRun({ messages: [user('later')], start_at: meant }, { thread_id: threadId }),
    );
    await until(async () => {
      const { status, body } = await this.send('GET', `/v1/runs/${runId}`);
      if (status !== 200) throw new Error(`a run that starts later is ${String(status)} ${JSON.stringify(body)}`);
      return (body.data as { readonly status: string }).status !== 'scheduled';
    }, soon);
    this.count('delayed');
    await this.#checkStart(threadId, runId, meant);
    const runs = await this.runsOf(threadId);
    if (runs.length !== 1) this.faults.push(`a run that starts later is there ${String(runs.length)} times`);
  }
}

/** Those that had passed when it was made are none of it. */
function slotsOf({ created_at: created, starts_at: start, ends_at: end }: Schedule): readonly string[] {
  const slots: string[] = [];
  for (let at = Date.parse(start) + everySeconds * 1000; at <= Date.parse(end); at += everySeconds * 1000)
    slots.push(new Date(at).toISOString());
  return slots.filter((slot) => slot > created);
}
