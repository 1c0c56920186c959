import { setTimeout as delay } from 'node:timers/promises';
import { user } from '../servers/client.ts';
import { until } from '../until.ts';
import type { SturdyClient } from './clients.ts';
import { answerTo, withThread, type Load, type Question } from './revision-load.ts';
import { agent, knownAfterMs, lastRevision, lostRevision, stepsOf } from './revision-plan.ts';

/** Runs of a revision whose worker has ended for good, by how far they came. */
export interface LostRuns {
  /** With a step on record. */
  readonly held: readonly string[];
  /** Without one. */
  readonly stranded: readonly string[];
}

const lostOfEach = 4;

/** Starts runs that stay in their second step, and has their worker end; then starts runs that nobody takes. */
export async function loseRuns(client: SturdyClient, endWorker: () => Promise<void>): Promise<LostRuns> {
  const held = await startEach(client, 'held', 'hold');
  for (const [index] of held.entries())
    await until(async () => (await stepsOn(client, `held-${index}`)).length === 1, { timeoutMs: 60_000 });
  await endWorker();
  return { held, stranded: await startEach(client, 'stranded', 'go') };
}

const startEach = async (client: SturdyClient, name: string, text: string): Promise<readonly string[]> =>
  Promise.all(
    Array.from({ length: lostOfEach }, async (_, index) => {
      const body = withThread({ messages: [user(text)] }, `${name}-${index}`);
      const reply = await client.send('POST', '/v1/runs', body, { 'idempotency-key': `${name}-${index}` });
      if (reply.status !== 202) throw new Error(`a run was answered ${reply.status} ${JSON.stringify(reply.body)}`);
      return (reply.body.data as { run_id: string }).run_id;
    }),
  );

/** Of a thread: the revision at which each step on record ran. */
async function stepsOn(client: SturdyClient, threadId: string): Promise<readonly string[]> {
  const { status, body } = await client.send('GET', `/v1/threads/${threadId}/messages?limit=100`);
  if (status !== 200) return [];
  const { messages } = body.data as { messages: readonly { role: string; content: readonly { text?: string }[] }[] };
  return messages.filter(({ role }) => role === 'assistant').map(({ content }) => content[0]?.text ?? '');
}

/** Retires revisions, and resolves when every replica knows it. */
export async function retire(client: SturdyClient, revisions: readonly string[]): Promise<void> {
  for (const revision of revisions) {
    const { status, body } = await client.send('POST', `/v1/agents/${agent}/revisions/${revision}/retire`);
    if (status !== 200) throw new Error(`the retirement was answered ${status} ${JSON.stringify(body)}`);
  }
  await delay(knownAfterMs);
}

interface Afterwards {
  readonly faults: readonly string[];
  /** Lost runs with a step, which failed and said why; those without one, which went on elsewhere. */
  readonly failed: number;
  readonly moved: number;
}

/** What became of the lost runs, once their revision is retired. */
export async function checkLost(client: SturdyClient, { held, stranded }: LostRuns): Promise<Afterwards> {
  const faults: string[] = [];
  const hold = (what: string, found: unknown, expected: unknown): boolean => {
    const isSo = JSON.stringify(found) === JSON.stringify(expected);
    if (!isSo) faults.push(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
    return isSo;
  };
  const check = async (
    runId: string,
    threadId: string,
    expected: object,
    steps: readonly string[],
  ): Promise<boolean> => {
    await client.send('GET', `/v1/runs/${runId}/wait`);
    const run = (await client.send('GET', `/v1/runs/${runId}`)).body.data as EndedRun;
    const { status, revision, error = null } = run;
    const isSo = hold(`the lost run of ${threadId}`, { status, revision, error }, expected);
    return hold(`the steps of ${threadId}`, await stepsOn(client, threadId), steps) && isSo;
  };
  const failed = await Promise.all(
    held.map((runId, index) =>
      check(runId, `held-${index}`, { status: 'failed', revision: lostRevision, error: retiredError }, [lostRevision]),
    ),
  );
  const moved = await Promise.all(
    stranded.map((runId, index) =>
      check(
        ...([runId, `stranded-${index}`, { status: 'completed', revision: lastRevision, error: null }] as const),
        stepsOf(lastRevision).map(() => lastRevision),
      ),
    ),
  );
  const count = (of: readonly boolean[]): number => of.filter(Boolean).length;
  return { faults, failed: count(failed), moved: count(moved) };
}

interface EndedRun {
  readonly status: string;
  readonly revision: string | null;
  readonly error?: object | null;
}

const retiredError = {
  code: 'CONFLICT',
  message: `revision "${lostRevision}" of the agent was retired, and the run had committed steps of it: send a new user message`,
};

/**
 * Answers a question of a retired revision. Where the last revision has the step that asked, the answer goes on in that one; else it is
 * refused and says why, and a new message goes on. Resolves with what does not hold.
 */
export async function answerRetired(
  { client, load, phase }: { readonly client: SturdyClient; readonly load: Load; readonly phase: number },
  question: Question,
): Promise<{ readonly isRefused: boolean; readonly fault?: string }> {
  const { threadId, step } = question;
  if (stepsOf(lastRevision).includes(step)) {
    await load.answer(question, phase, lastRevision);
    return { isRefused: false };
  }
  const reply = await client.send('POST', '/v1/graph/invoke', withThread(answerTo, threadId));
  await load.turn(threadId, phase);
  const { error = {} } = reply.body as { readonly error?: { readonly code?: string; readonly message?: string } };
  const { code, message } = error;
  const found = JSON.stringify({ status: reply.status, code, message });
  if (found === JSON.stringify({ status: 409, code: 'CONFLICT', message: goneMessage(threadId, step) }))
    return { isRefused: true };
  return { isRefused: true, fault: `the answer on ${threadId}: ${found}` };
}

const goneMessage = (threadId: string, step: string): string =>
  `thread "${threadId}" waits at node "${step}", which the agent no longer has: send a new user message, ` +
  'or fork a checkpoint from before the question';
