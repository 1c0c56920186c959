import type { ExecutionContext } from 'ava';
import { shareWithin } from '../quantiles.ts';
import { user } from '../servers/client.ts';
import type { SturdyClient } from '../kill/clients.ts';
import type { Called, Caller, Clients, Kind, LoadCall } from './load.ts';

/** Requests of one agent at once. */
const callersOfAgent = 3;
/** Steps that a call of the agent `pooled` commits, by its kind. */
const stepsOf: Readonly<Record<string, number>> = { invoke: 2, follow: 2, question: 3 };

interface Result {
  readonly messages: readonly unknown[];
  readonly meta: { readonly run_id: string; readonly status: string };
}

/** Callers of each agent, which are all `pooled`, or of the only one, which has no name: they invoke it, follow it, answer its questions, and write the state of its threads. */
export const pooledCallers = (name: string, agents: readonly (string | undefined)[]): readonly Caller[] =>
  agents.flatMap((agent) =>
    Array.from({ length: callersOfAgent }, (_, index) => ({
      name: `${name}-${agent ?? 'only'}-${index}`,
      kinds: kindsOf(agent),
    })),
  );

const kindsOf = (agent: string | undefined): Readonly<Record<string, Kind>> => ({
  invoke: async ({ strict }, caller, round) => {
    const { called, result } = await invoke(strict, bodyOf(agent, caller, `round ${round}`), `${caller}-${round}`);
    return result?.meta.status === 'completed' ? called : failed(called);
  },
  follow: async (clients, caller, round) =>
    follow(clients, bodyOf(agent, caller, `round ${round}`), `${caller}-${round}`),
  question: async ({ strict }, caller, round) => {
    const asked = await invoke(strict, bodyOf(agent, caller, 'ask'), `${caller}-${round}`);
    if (asked.result?.meta.status !== 'interrupted') return failed(asked.called);
    const answer = { ...bodyOf(agent, caller), messages: [], resume: `yes ${round}` };
    const { called, result } = await invoke(strict, answer, `${caller}-${round}-answer`);
    const isDone = result?.meta.status === 'completed' && called.text.includes(`yes ${round} in `);
    return isDone ? called : failed(called);
  },
  write: async ({ strict }, caller, round) => {
    const path = `/v1/threads/thread-${caller}/state`;
    const note = `round ${round}`;
    const key = { 'idempotency-key': `${caller}-${round}` };
    const { status, body } = await strict.send('POST', path, { config: {}, state: { note } }, key);
    if (status !== 200) return { status, text: JSON.stringify(body), cuts: 0 };
    const read = await strict.send('GET', path);
    const called = { status: read.status, text: JSON.stringify(read.body), cuts: 0 };
    return (read.body.data as { readonly state: { readonly note: string } }).state.note === note
      ? called
      : failed(called);
  },
});

const bodyOf = (agent: string | undefined, caller: string, text?: string): object => ({
  config: { agent, thread_id: `thread-${caller}` },
  ...(text === undefined ? {} : { messages: [user(text)] }),
});

/** What was answered well and is not what was asked for. */
const failed = (called: Called): Called => ({ ...called, status: called.status === 200 ? 0 : called.status });

async function invoke(
  strict: SturdyClient,
  body: object,
  key: string,
): Promise<{ readonly called: Called; readonly result: Result | undefined }> {
  const { status, body: reply } = await strict.send('POST', '/v1/graph/invoke', body, { 'idempotency-key': key });
  const result = reply.data as Result | undefined;
  return { called: { status, runId: result?.meta.run_id, text: JSON.stringify(reply), cuts: 0 }, result };
}

/** What was followed, over however many gateways, is what the log gives in one piece. */
async function follow({ strict }: Clients, body: object, key: string): Promise<Called> {
  const { status, body: reply } = await strict.send('POST', '/v1/runs', body, { 'idempotency-key': key });
  if (status !== 202) return { status, text: JSON.stringify(reply), cuts: 0 };
  const { run_id: runId } = reply.data as { readonly run_id: string };
  const { text, cuts } = await strict.follow(runId);
  const uncut = await strict.follow(runId);
  const isWhole = text === uncut.text && isNumbered(text);
  return { status: isWhole ? 200 : 0, runId, text: isWhole ? text : `${text} in one piece ${uncut.text}`, cuts };
}

/** Whether the events are numbered from 1 on, and the last one alone is an end. */
function isNumbered(text: string): boolean {
  const numbers = [...text.matchAll(/^id: .*:(\d+)$/gm)].map(([, number]) => Number(number));
  const ends = [...text.matchAll(/^event: (?:on_chain_end|error)$/gm)];
  return ends.length === 1 && numbers.length > 0 && numbers.every((number, index) => number === index + 1);
}

/** Each run has ended once, with a whole log, and each step of it has been committed once. */
export async function nothingIsLost(
  t: ExecutionContext,
  { strict }: Clients,
  calls: readonly LoadCall[],
  callers: readonly Caller[],
): Promise<void> {
  let runs = 0;
  for (const { name } of callers) {
    const path = `/v1/threads/thread-${name}`;
    const listed = (await strict.send('GET', `${path}/runs?limit=1000`)).body.data as { runs: { run_id: string }[] };
    const own = calls.filter(({ caller }) => caller === name);
    const expected =
      own.filter(({ kind }) => kind !== 'write').length + own.filter(({ kind }) => kind === 'question').length;
    t.is(listed.runs.length, expected, `${name}: runs`);
    for (const { run_id: runId } of listed.runs) {
      const { text } = await strict.follow(runId);
      t.true(isNumbered(text), text);
      runs++;
    }
    const { state } = (await strict.send('GET', `${path}/state`)).body.data as { state: { steps: number } };
    t.is(
      state.steps,
      own.reduce((sum, { kind }) => sum + (stepsOf[kind] ?? 0), 0),
      `${name}: steps`,
    );
  }
  t.log(`${runs} runs, each ended once, with a whole log`);
}

const invokesAlone = 9;

/** The median time of invokes of these agents, one after the other, without load, in milliseconds. */
export async function medianAlone(strict: SturdyClient, agents: readonly (string | undefined)[]): Promise<number> {
  const times: number[] = [];
  for (const agent of agents)
    for (let turn = 0; turn < invokesAlone; turn++) {
      const begun = performance.now();
      const config = agent === undefined ? {} : { agent };
      const { status, body } = await strict.send('POST', '/v1/graph/invoke', { messages: [user('hi')], config });
      if (status !== 200) throw new Error(JSON.stringify(body));
      times.push(performance.now() - begun);
    }
  return shareWithin(times, 0.5);
}

/** Half of the invokes are answered within this, or within twice what it took before: a run that only sweeps find is found by the second one. */
const maxMedianMs = 1000;

/** Workers of the version before get their runs as fast on an upgraded platform as before. Both are medians, in milliseconds. */
export function isAsFast(t: ExecutionContext, before: number, upgraded: number): void {
  t.log(`p50 of an invoke: ${before.toFixed(0)} ms before, ${upgraded.toFixed(0)} ms on the upgraded platform`);
  t.true(upgraded < Math.max(maxMedianMs, 2 * before), `${upgraded} ms`);
}
