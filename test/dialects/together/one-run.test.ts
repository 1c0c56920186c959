import { createClient, textOf } from '@agent-workflow/client';
import { ResumingAgent } from '@agent-workflow/client/ag-ui';
import { Client as LangGraph } from '@langchain/langgraph-sdk';
import test from 'ava';
import OpenAI from 'openai';
import { TaskState } from '@a2a-js/sdk';
import { ClientFactory, ClientFactoryOptions } from '@a2a-js/sdk/client';
import { openReceiver } from '../../contract/webhook-receiver.ts';
import { until } from '../../until.ts';
import { openMortal } from '../../browser/mortal.ts';
import { isCluster } from '../../http/shape.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { taskCaller } from './task-caller.ts';

/** What the agent writes before it asks, slowly enough to be cut within. */
const written = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

type Frames = readonly { readonly event: string; readonly data: unknown }[];

interface Named {
  readonly url: string;
  readonly runId: string;
  readonly threadId: string;
}

/** Follows a run below /v1, and gives the texts of its messages. `within` is called when some of the first has come. */
async function followOwn({ url, runId }: Named, within: () => void): Promise<readonly string[]> {
  const texts: string[] = [];
  let chunks = 0;
  for await (const { event, message } of createClient({ url }).runs.follow(runId)) {
    if (event !== 'messages_chunk') continue;
    if (message) texts.push(textOf(message));
    else if (++chunks === 8) within();
  }
  return texts;
}

/** Follows it as a page with AG-UI does. */
async function followPage({ url, threadId }: Named): Promise<object> {
  const agent = new ResumingAgent({ url: `${url}/agui/${testedAgent}`, threadId });
  const outcomes: unknown[] = [];
  await agent.connectAgent({}, { onRunFinishedEvent: ({ event }) => void outcomes.push(event.outcome) });
  return { messages: agent.messages.map(({ role, content }) => [role, content]), outcomes };
}

/** Follows it as LangGraph's clients do. */
async function followGraph({ url, runId, threadId }: Named): Promise<Frames> {
  const { runs } = new LangGraph({ apiUrl: `${url}/langgraph`, apiKey: null });
  const frames: { event: string; data: unknown }[] = [];
  for await (const { event, data } of runs.joinStream(threadId, runId, { streamMode: ['messages-tuple', 'updates'] }))
    frames.push({ event, data });
  return frames;
}

/** What is pushed, where a task changes its status. */
interface Pushed {
  readonly statusUpdate?: { readonly status: { readonly state: string } };
}

/** The texts of the messages of a thread as LangGraph's clients have it. */
const textsIn = (values: unknown): readonly string[] =>
  (values as { readonly messages: readonly { readonly content: string }[] }).messages.map(({ content }) => content);

/** The chunks of the agent's messages as LangGraph's clients join them, by message, and what it asks. */
const storyOf = (frames: Frames): object => {
  const texts = new Map<string, string>();
  for (const { event, data } of frames) {
    if (event !== 'messages') continue;
    const [{ id, content }] = data as readonly [{ readonly id: string; readonly content: string }];
    texts.set(id, `${texts.get(id) ?? ''}${content}`);
  }
  const last = frames.at(-1)?.data as { readonly __interrupt__?: readonly { readonly value: unknown }[] } | undefined;
  return { written: [...texts.values()].at(-1), asked: last?.__interrupt__?.map(({ value }) => value) };
};

test(`a run that OpenAI's client starts is followed, answered and pushed by the others, though ${isCluster ? 'its gateway' : 'the service'} is killed`, async (t) => {
  await using receiver = await openReceiver();
  await using service = await openMortal('typing', { WEBHOOK_NETWORKS: '127.0.0.0/8' });
  const { url } = service;
  const openai = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none' });
  const started = await openai.responses.create({ model: testedAgent, input: 'are you sure', background: true });
  const { runs } = await createClient({ url }).runs.list({});
  const [run] = runs;
  if (!run) throw new Error('no run is listed');
  const named = { url, runId: run.run_id, threadId: run.thread_id };
  const a2a = await new ClientFactory(ClientFactoryOptions.default).createFromUrl(`${url}/a2a/${testedAgent}/`);
  await a2a.createTaskPushNotificationConfig({
    ...{
      tenant: '',
      id: '',
      taskId: named.runId,
      url: receiver.url,
      token: 'of the receiver',
      authentication: undefined,
    },
  });

  // Three follow it at once, and what serves them is killed.
  let isWithin: () => void = () => undefined;
  const within = new Promise<void>((resolve) => (isWithin = resolve));
  const following = Promise.all([followOwn(named, isWithin), followPage(named), followGraph(named)]);
  await within;
  await (service.killGateway?.() ?? service.kill().then(() => service.start()));
  const [own, page, graph] = await following;
  const question = { question: 'sure?' };
  t.deepEqual(own, [written]);
  t.like(page, {
    messages: [
      ['user', 'are you sure'],
      ['assistant', written],
    ],
    outcomes: [{ type: 'interrupt', interrupts: [{ message: 'sure?', metadata: { value: question } }] }],
  });
  t.deepEqual(storyOf(graph), { written, asked: [question] });
  const asked = await openai.responses.retrieve(started.id);
  t.is(asked.output_text, written);
  t.like(asked.output.at(-1), { type: 'function_call', arguments: JSON.stringify({ question }) });

  // A client of MCP answers its question.
  const call = taskCaller(url);
  const task = await call('tasks/get', { taskId: named.runId });
  t.is(task['status'], 'input_required');
  const [key = ''] = Object.keys(task['inputRequests'] as object);
  const answer = { action: 'accept', content: { answer: 'yes' } };
  await call('tasks/update', { taskId: named.runId, inputResponses: { [key]: answer } });
  await until(async () => (await call('tasks/get', { taskId: named.runId }))['status'] === 'completed');
  t.like(await call('tasks/get', { taskId: named.runId }), { result: { content: [{ text: 'you said yes' }] } });

  // Its end is pushed, and each client reads the same of it.
  const pushed = (): readonly string[] =>
    receiver.got.flatMap(({ body }) => (JSON.parse(body) as Pushed).statusUpdate?.status.state ?? []);
  await until(() => pushed().includes('TASK_STATE_COMPLETED'));
  // The first address of an owner is known everywhere in a cluster after some seconds.
  if (!isCluster) t.true(pushed().includes('TASK_STATE_INPUT_REQUIRED'));
  t.deepEqual(
    new Set(receiver.got.map(({ headers }) => headers['x-a2a-notification-token'])),
    new Set(['of the receiver']),
  );
  const done = await a2a.getTask({ tenant: '', id: named.runId, historyLength: undefined });
  t.is(done.status?.state, TaskState.TASK_STATE_COMPLETED);
  const all = [written, 'you said yes'];
  const state = await new LangGraph({ apiUrl: `${url}/langgraph`, apiKey: null }).threads.getState(named.threadId);
  t.deepEqual(textsIn(state.values), ['are you sure', ...all]);
  t.like(await followPage(named), { messages: [['user', 'are you sure'], ...all.map((text) => ['assistant', text])] });
  const chain = await createClient({ url }).runs.chain(named.runId);
  t.deepEqual(
    chain.runs.map(({ status }) => status),
    ['interrupted', 'completed'],
  );
});
