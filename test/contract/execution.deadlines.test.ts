import test from 'ava';
import { END, field, interrupt, START, StateGraph } from '@agent-workflow/graph';
import { canBeRetried, isServiceError, ServiceError, unavailable } from '@agent-workflow/kit/errors';
import { idFrom, newId } from '@agent-workflow/kit/ids';
import { retry, serverAway } from '@agent-workflow/kit/retry';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Run } from '@agent-workflow/protos/threads';
import { link } from '@agent-workflow/protos/wire/link';
import type { ThreadStore } from '@agent-workflow/threads/ports/store';
import { createThreads } from '@agent-workflow/threads/threads';
import { questionsGiven, raceDeadlines, type Question, type Outcome } from '../deadline-race.ts';
import { until } from '../until.ts';
import { call, endOf, fieldOf, owner, start } from './execution/calls.ts';
import { resultOf, type Chunk } from './execution/chunks.ts';
import { json, lastUser, user } from './execution/messages.ts';
import { openReplicas, type Replica, type Replicas } from './replicas.ts';
import { testedStores } from './thread-stores/list.ts';

const hour = 3_600_000;

/** Asks with the deadline that the message gives: a time in milliseconds since 1970, or so many milliseconds. */
const graph = new StateGraph({
  answers: field<unknown[]>({ type: 'array', default: [], reducer: (before, more) => [...before, ...more] }),
})
  .addNode('ask', ({ context }) => {
    const given = Number(lastUser(context));
    const deadline = given > hour ? new Date(given) : given;
    return { answers: [interrupt('Send it?', { deadline, default: 'default' })] };
  })
  .addEdge(START, 'ask')
  .addEdge('ask', END)
  .compile();

/** A server of a busy machine does not always answer in time. */
const untilAvailable = <T>(work: () => Promise<T>): Promise<T> => retry(work, { ...serverAway, mayHelp: canBeRetried });

/** Three replicas of the execution service, each with a threads service of its own on one store. Any may be killed, and is replaced. */
class Mortals {
  readonly #replicas: Replicas;
  readonly #store: ThreadStore;
  readonly #alive: { readonly replica: Replica; readonly died: PromiseWithResolvers<undefined> }[] = [];

  constructor(replicas: Replicas, store: ThreadStore) {
    this.#replicas = replicas;
    this.#store = store;
  }

  async add(): Promise<void> {
    const replica = await this.#replicas.open({
      ...{ graph, sweepMs: 100, waitingMs: 1000 },
      through: () => ({ threads: link(createThreads({ store: this.#store })) }),
    });
    this.#alive.push({ replica, died: Promise.withResolvers() });
  }

  async killOne(): Promise<void> {
    const [dying] = this.#alive.splice(Math.floor(Math.random() * this.#alive.length), 1);
    dying?.replica.kill();
    dying?.died.resolve(undefined);
    await this.add();
  }

  /** Calls one of them, and another one when that is killed meanwhile. */
  async call<T>(work: (execution: Execution) => Promise<T>): Promise<T> {
    return untilAvailable(async () => this.#call(work));
  }

  async #call<T>(work: (execution: Execution) => Promise<T>): Promise<T> {
    for (;;) {
      const one = this.#alive[Math.floor(Math.random() * this.#alive.length)];
      if (!one) throw new Error('none is alive');
      const outcome = await Promise.race([work(one.replica.execution).then((value) => ({ value })), one.died.promise]);
      if (outcome) return outcome.value;
    }
  }

  async pose(threadId: string, deadline: number): Promise<Question> {
    const runId = newId();
    const messages = [user(String(deadline))];
    await this.call((execution) => start(execution, { threadId, runId, messages }));
    const [{ id, deadline: shown } = noQuestion] = questionsOf(await this.call((execution) => endOf(execution, runId)));
    return { threadId, runId, id, deadline: Date.parse(shown) };
  }

  async answer({ threadId, id }: Question): Promise<Outcome> {
    const request = { threadId, runId: newId(), messages: [], resumeJson: json({ [id]: 'answer' }) };
    try {
      await this.call((execution) => start(execution, request));
      return { runId: request.runId };
    } catch (error) {
      if (isServiceError(error, 'Conflict')) return { refusal: error.message };
      throw error;
    }
  }
}

const noQuestion = { id: '', deadline: '' };

const questionsOf = (end: Chunk): readonly (typeof noQuestion)[] =>
  (resultOf(end).meta as unknown as { readonly interrupts: readonly (typeof noQuestion)[] }).interrupts;

for (const { withStore } of testedStores) {
  withStore(test, ({ name, open }) => {
    const questions = questionsGiven || (name === 'SQLite in memory' ? 1000 : 100);
    test.serial(
      `${name}: of a deadline and an answer that come in the same second one counts, over kills, and both sides are told which`,
      async (t) => {
        const store = await open(`deadlines ${name}`);
        await using replicas = await openReplicas({ store });
        const mortals = new Mortals(replicas, store);
        for (let count = 0; count < 3; count++) await mortals.add();
        const runsOf = async (threadId: string): Promise<readonly Run[]> =>
          (await untilAvailable(() => replicas.threads.listRuns({ owner, threadId, limit: 10, offset: 0 }, call())))
            .runs;
        const service = {
          ...{
            runsOf,
            answersOf: (threadId: string) => untilAvailable(() => fieldOf(replicas.threads, threadId, 'answers')),
          },
          pose: (threadId: string, deadline: number) => mortals.pose(threadId, deadline),
          answer: (question: Question) => mortals.answer(question),
          killOne: () => mortals.killOne(),
        };
        await raceDeadlines(t, service, questions);
      },
    );
  });
}

for (const [what, offMs] of [
  ['ahead', hour],
  ['behind', -hour],
] as const) {
  test(`a process whose clock is an hour ${what} asks, and finds what is due, by the clock of the record`, async (t) => {
    await using replicas = await openReplicas();
    const { promise: read, resolve } = Promise.withResolvers<undefined>();
    const { execution } = await replicas.open({
      graph,
      now: () => Date.now() + offMs,
      through: ({ threads }) => ({
        threads: {
          ...threads,
          listSleepingRuns: (request, at) =>
            threads.listSleepingRuns(request, at).finally(() => setImmediate(() => resolve(undefined))),
        },
      }),
    });
    await read;
    const begun = Date.now();
    const { runId } = await start(execution, { threadId: 't1', messages: [user('700')] });
    const { meta } = resultOf(await endOf(execution, runId));
    const [question] = (meta as unknown as { readonly interrupts: readonly { id: string; deadline: string }[] })
      .interrupts;
    const deadline = Date.parse(question?.deadline ?? '');
    // Clocks that differ by less than a second count as the same.
    t.true(deadline >= begun + 700 - 1000 && deadline <= Date.now() + 700 + 1000, `${String(deadline - begun)} ms`);
    const { wakeAt = 0 } = await replicas.threads.getRun({ owner, runId }, call());
    t.is(wakeAt, deadline);
    const goesOn = { owner, runId: idFrom(question?.id ?? '', 'deadline') };
    await until(async () =>
      replicas.threads.getRun(goesOn, call()).then(
        () => true,
        () => false,
      ),
    );
    t.true(Date.now() >= deadline);
    t.is(resultOf(await endOf(execution, goesOn.runId)).meta.status, 'completed');
    t.deepEqual(await fieldOf(replicas.threads, 't1', 'answers'), ['default']);
  });
}

test('a question that cannot go on by itself stops no other', async (t) => {
  await using replicas = await openReplicas();
  const tried = new Set<string>();
  const { execution } = await replicas.open({
    graph,
    through: ({ threads }) => ({
      threads: {
        ...threads,
        passDeadline: (request, at) => {
          tried.add(request.threadId);
          if (request.threadId === 'broken') return Promise.reject(new ServiceError('Internal', 'it cannot be read'));
          if (request.threadId === 'away') return Promise.reject(unavailable('its shard is away'));
          return threads.passDeadline(request, at);
        },
      },
    }),
  });
  const deadline = String(Date.now() + 500);
  const threadIds = ['broken', 'away', ...Array.from({ length: 50 }, (_, index) => `t${String(index)}`)];
  await Promise.all(
    threadIds.map(async (threadId) => {
      const { runId } = await start(execution, { threadId, messages: [user(deadline)] });
      await endOf(execution, runId);
    }),
  );
  for (const threadId of threadIds.slice(2))
    await until(async () => JSON.stringify(await fieldOf(replicas.threads, threadId, 'answers')) === '["default"]');
  t.true(tried.has('broken') && tried.has('away'));
});
