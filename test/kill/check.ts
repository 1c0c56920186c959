import { areWhole } from '../numbers.ts';
import { until } from '../until.ts';
import { toUsageItem, type ModelUsage } from '@agent-workflow/protos/usage';
import { stepsByNode, stepsPerRun, usageOf } from '../agents/steps.ts';
import type { Client } from '../servers/client.ts';

interface Message {
  readonly message_id: string;
  readonly role: string;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

interface Chunk {
  readonly event: string;
  readonly data: unknown;
  readonly message?: Message;
  readonly metadata: { readonly message_id?: string };
}

const textOf = ({ content }: Message): string => content.map(({ text = '' }) => text).join('');
const expectedSteps = Array.from({ length: stepsPerRun }, (_, step) => `step ${String(step)}`);
const assistants = (messages: readonly Message[]): string[] =>
  messages.filter(({ role }) => role === 'assistant').map(textOf);

/** How the error of a run begins that was killed three times within one step. */
export const failedByClaims = 'the run was claimed 3 times and committed nothing';

interface Result {
  readonly meta?: { readonly status: string };
  readonly all_messages?: readonly Message[];
  readonly metadata?: { readonly usage?: unknown };
}

interface CheckedRun {
  readonly faults: string[];
  readonly restarted: number;
  readonly isFailedByClaims: boolean;
  /** Its events were lost, and what is followed was told again from the record. */
  readonly isRebuilt: boolean;
}

/** Holds one run against what was promised of it: it ends once, each step is committed once, its events are whole. */
export async function checkRun(client: Client, url: string, runId: string): Promise<CheckedRun> {
  const faults: string[] = [];
  const fault = (what: string): void => void faults.push(`run ${runId}: ${what}`);
  const { status, body } = await client.send('GET', `/v1/runs/${runId}/wait`);
  const isFailedByClaims = status === 500 && (body.error as { message: string }).message.startsWith(failedByClaims);
  const result = body.data as Result | undefined;
  if (!isFailedByClaims && (status !== 200 || result?.meta?.status !== 'completed'))
    fault(`ended with ${String(status)} ${JSON.stringify(body)}`);

  const text = await (await fetch(`${url}/v1/runs/${runId}/stream`)).text();
  const events = text.split('\n\n').filter((event) => event !== '');
  const chunks = events.map((event) => JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? '') as Chunk);
  const ids = events.map((event) => /^id: (.*):(\d+)$/m.exec(event) ?? []);
  if (ids.some(([, id]) => id !== runId) || !areWhole(ids.map(([, , seq]) => Number(seq))))
    fault('its events have a gap or a double');
  const ends = chunks.filter(({ event }) => event === 'on_chain_end' || event === 'error');
  if (ends.length !== 1 || ends[0] !== chunks.at(-1)) fault(`its log ends ${String(ends.length)} times`);
  const isRebuilt = (chunks[0]?.data as { rebuilt?: boolean } | undefined)?.rebuilt === true;
  for (const what of checkChunks(chunks)) fault(what);
  const streamed = assistants(chunks.flatMap(({ message }) => message ?? []));
  const steps = isFailedByClaims ? expectedSteps.slice(0, streamed.length) : expectedSteps;
  if (String(streamed) !== String(steps)) fault(`its events tell ${JSON.stringify(streamed)}`);
  const committed = isFailedByClaims ? steps : assistants(result?.all_messages ?? []);
  if (String(committed) !== String(steps)) fault(`committed ${JSON.stringify(committed)}`);
  const hasAllSteps = isFailedByClaims && !isRebuilt && (await areStepsKept(client, runId));
  const used = stepsOf(chunks, { isFailedByClaims, hasAllSteps }).map(usageOf);
  for (const what of await checkUsage(client, runId, { used, result: isFailedByClaims ? undefined : result }))
    fault(what);
  return { faults, restarted: chunks.filter(isRestart).length, isFailedByClaims, isRebuilt };
}

type Steps = Readonly<Record<keyof typeof stepsByNode, number>>;

interface Known {
  readonly isFailedByClaims: boolean;
  /** Whether its events have all steps that were committed. */
  readonly hasAllSteps: boolean;
}

/**
 * Whether the record has more of the run than its messages. Where nobody followed it, its end is published from what is there by then: the
 * newest step is the last to go.
 */
async function areStepsKept(client: Client, runId: string): Promise<boolean> {
  const { body } = await client.send('GET', `/v1/runs/${runId}/steps`);
  return (body.data as { readonly steps: readonly unknown[] }).steps.length > 0;
}

/** How many steps of each node were committed; several where what is known of the run fits more than one. */
function stepsOf(chunks: readonly Chunk[], { isFailedByClaims, hasAllSteps }: Known): readonly Steps[] {
  if (!isFailedByClaims) return [stepsByNode];
  return hasAllSteps ? [stepsByEvents(chunks)] : stepsByMessages(chunks);
}

/** Events that were made from the record may be messages alone, and a step of `check` has none: the last one is committed, or not yet. */
function stepsByMessages(chunks: readonly Chunk[]): readonly Steps[] {
  const count = (role: string): number => chunks.filter(({ message }) => message?.role === role).length;
  const [work, tools] = [count('assistant'), count('tool')];
  return [tools, tools - 1].filter((check) => check >= 0).map((check) => ({ work, tools, check }));
}

/** How many steps of each node its events call committed. */
function stepsByEvents(chunks: readonly Chunk[]): Steps {
  const steps = { work: 0, tools: 0, check: 0 };
  for (const { event, data } of chunks) {
    const { node, status } = (event === 'on_chain_stream' ? data : {}) as {
      node?: keyof typeof steps;
      status?: string;
    };
    if (node !== undefined && status === 'completed') steps[node] += 1;
  }
  return steps;
}

interface Expected {
  /** One of these. */
  readonly used: readonly (readonly ModelUsage[])[];
  /** Absent of a run that failed. */
  readonly result: Result | undefined;
}

/** Holds the tokens on record, and those in the result, against those of the committed steps. */
async function checkUsage(client: Client, runId: string, { used, result }: Expected): Promise<string[]> {
  const items = used.map(
    (one) => JSON.stringify(one.length === 0 ? undefined : toUsageItem(one)) as string | undefined,
  );
  const { body } = await client.send('GET', `/v1/runs/${runId}`);
  const { usage } = body.data as { usage?: unknown };
  const differs = (from: string, found: unknown): string[] =>
    items.includes(JSON.stringify(found))
      ? []
      : [`${from} has the usage ${JSON.stringify(found)}, not ${items.map(String).join(' or ')}`];
  return [...differs('its record', usage), ...(result ? differs('its result', result.metadata?.usage) : [])];
}

const isRestart = ({ event, data }: Chunk): boolean =>
  event === 'on_chain_stream' && (data as { status: string }).status === 'restarted';

/** Pieces of a message joined are its text, and every message is told whole exactly once. */
function checkChunks(chunks: readonly Chunk[]): string[] {
  const texts = new Map<string, string>();
  const whole = new Map<string, number>();
  const faults: string[] = [];
  for (const { event, data, message, metadata } of chunks) {
    if (event !== 'messages_chunk') continue;
    const id = metadata.message_id ?? '';
    if (typeof data === 'string') texts.set(id, (texts.get(id) ?? '') + data);
    if (!message) continue;
    whole.set(id, (whole.get(id) ?? 0) + 1);
    if (texts.get(id) !== textOf(message)) faults.push(`message ${id} was streamed as ${String(texts.get(id))}`);
  }
  for (const [id, times] of whole) if (times > 1) faults.push(`message ${id} was told whole ${String(times)} times`);
  return faults;
}

/** Also runs whose acceptance was never told: they are on record, and may be under way when the last of the others has ended. */
const isIdle = async (client: Client, threadId: string): Promise<boolean> =>
  (await runsOfThread(client, threadId)).every(({ status }) => status !== 'queued' && status !== 'running');

/** Holds a thread's log against its runs: each one's input once, followed by its steps; only one given up may stop early. */
export async function checkThread(client: Client, threadId: string): Promise<string[]> {
  await until(() => isIdle(client, threadId));
  const messages: Message[] = [];
  for (let cursor: string | undefined; ;) {
    const page = await client.send(
      'GET',
      `/v1/threads/${threadId}/messages?limit=1000${cursor === undefined ? '' : `&cursor=${cursor}`}`,
    );
    const data = page.body.data as { messages: Message[]; cursor?: string };
    messages.push(...data.messages);
    ({ cursor } = data);
    if (cursor === undefined) break;
  }
  const runs = runsOf(messages);
  const broken = runs.filter((steps) => String(steps) !== String(expectedSteps.slice(0, steps.length)));
  const cut = runs.filter((steps) => steps.length < stepsPerRun).length;
  const { state } = (await client.send('GET', `/v1/threads/${threadId}/state`)).body.data as {
    state: { steps: number };
  };
  const committed = runs.reduce((sum, steps) => sum + steps.length, 0);
  const faults = broken.map((steps) => `a run in its log is ${JSON.stringify(steps)}`);
  if (cut > (await countFailed(client, threadId))) faults.push(`${String(cut)} runs in its log are cut off`);
  if (state.steps !== committed)
    faults.push(`its state counts ${String(state.steps)} steps, its log ${String(committed)}`);
  return faults.map((what) => `thread ${threadId}: ${what}`);
}

/** What each run of a log says, run by run. */
function runsOf(messages: readonly Message[]): string[][] {
  const runs: string[][] = [];
  for (const message of messages) {
    if (message.role === 'user') runs.push([]);
    else if (message.role === 'assistant') runs.at(-1)?.push(textOf(message));
  }
  return runs;
}

const countFailed = async (client: Client, threadId: string): Promise<number> =>
  (await runsOfThread(client, threadId)).filter(({ status }) => status === 'failed').length;

async function runsOfThread(client: Client, threadId: string): Promise<readonly { readonly status: string }[]> {
  const { body } = await client.send('GET', `/v1/threads/${threadId}/runs?limit=1000`);
  return (body.data as { runs: { status: string }[] }).runs;
}
