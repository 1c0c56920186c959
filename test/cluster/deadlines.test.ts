import { randomUUID } from 'node:crypto';
import test from 'ava';
import { questionsGiven, raceDeadlines, type Question, type Outcome } from '../deadline-race.ts';
import { createClient, user, type Reply } from '../servers/client.ts';
import type { Replica } from '../servers/cluster-replica.ts';
import { withCluster } from '../servers/cluster-suite.ts';

const some = 100;

interface Result {
  readonly meta: {
    readonly run_id: string;
    readonly interrupts: readonly { readonly id: string; readonly deadline: string }[];
  };
}

/** Whether it is done or refused for good. Refusals of other kinds are of a request that is under way, or of a service that is busy or away. */
const isFinal = ({ status, body }: Reply): boolean => {
  if (status < 400) return true;
  const { message } = body.error as { readonly message: string };
  if (status === 400 || status === 404 || status === 422) throw new Error(message);
  return status === 409 && message.includes('the deadline of question');
};

withCluster(test, { agent: 'deadlines', threads: 3, gateways: 3, env: { LEASE_MS: '1500' } }, (cluster) => {
  const oneOf = <T>(all: readonly T[]): T => all[Math.floor(Math.random() * all.length)] as T;

  /** Sends to one gateway, and to another where that is dead or lacks another service. A request that is repeated takes effect once. */
  const send = async (method: string, path: string, body?: unknown): Promise<Reply> => {
    const key = { 'idempotency-key': randomUUID() };
    for (;;) {
      const reply = await createClient(oneOf(cluster().urls))
        .send(method, path, body, method === 'POST' ? key : {})
        .catch(() => undefined);
      if (reply && isFinal(reply)) return reply;
    }
  };

  const pose = async (threadId: string, deadline: number): Promise<Question> => {
    const asking = { deadline: Math.max(0, deadline - Date.now()), default: 'default' };
    const body = { messages: [user(JSON.stringify(asking))], config: { thread_id: threadId } };
    const { meta } = (await send('POST', '/v1/graph/invoke', body)).body.data as Result;
    const [{ id, deadline: shown } = { id: '', deadline: '' }] = meta.interrupts;
    return { threadId, runId: meta.run_id, id, deadline: Date.parse(shown) };
  };

  const answer = async ({ threadId, id }: Question): Promise<Outcome> => {
    const body = { messages: [], resume: { [id]: 'answer' }, config: { thread_id: threadId } };
    const { status, body: reply } = await send('POST', '/v1/runs', body);
    if (status === 409) return { refusal: (reply.error as { readonly message: string }).message };
    return { runId: (reply.data as { readonly run_id: string }).run_id };
  };

  const runsOf = async (threadId: string): Promise<readonly { runId: string; status: string }[]> => {
    const { runs } = (await send('GET', `/v1/threads/${threadId}/runs`)).body.data as {
      readonly runs: readonly { readonly run_id: string; readonly status: string }[];
    };
    return runs.map(({ run_id: runId, status }) => ({ runId, status }));
  };

  const answersOf = async (threadId: string): Promise<unknown> => {
    const { state } = (await send('GET', `/v1/threads/${threadId}/state`)).body.data as {
      readonly state: { readonly answers: unknown };
    };
    return state.answers;
  };

  const killOne = async (): Promise<void> => {
    const { executions, threads, gateways } = cluster();
    const replica: Replica = oneOf([...executions, ...threads, ...gateways]);
    await replica.kill();
    await replica.start();
  };

  test.serial(
    'of a deadline and an answer that come in the same second one counts, over kills, and both sides are told which',
    async (t) => raceDeadlines(t, { pose, answer, runsOf, answersOf, killOne }, questionsGiven || some),
  );
});
