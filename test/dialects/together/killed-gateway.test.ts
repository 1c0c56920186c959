import { createClient, textOf } from '@agent-workflow/client';
import { ResumingAgent } from '@agent-workflow/client/ag-ui';
import { ClientFactory } from '@a2a-js/sdk/client';
import { Client as LangGraph } from '@langchain/langgraph-sdk';
import { Client as Mcp, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test from 'ava';
import OpenAI from 'openai';
import { openMortal } from '../../browser/mortal.ts';
import { byLoad } from '../../by-load.ts';
import { isCluster } from '../../http/shape.ts';
import { testedAgent } from '../../servers/standalone.ts';
import { until } from '../../until.ts';
import { asTask, gathered, saying, textsOf } from '../a2a/service.ts';
import { taskCaller } from './task-caller.ts';

/** What the agent writes, slowly enough to be cut within. */
const written = Array.from({ length: 30 }, (_, index) => `word${String(index)} `).join('');

let opened: Awaited<ReturnType<typeof openMortal>> | undefined;
const service = (): NonNullable<typeof opened> => {
  if (!opened) throw new Error('the service is not open');
  return opened;
};

test.serial.before(async (t) => {
  t.timeout(byLoad(180_000));
  opened = await openMortal('typing');
});
test.after.always(() => opened?.[Symbol.asyncDispose]());

/** Kills what serves: in a cluster the gateway, whose place another replica takes at once. */
async function killServing(): Promise<void> {
  const { kill, killGateway, start } = service();
  if (killGateway) return killGateway();
  await kill();
  return start();
}

/** Replicas that were killed run again for the next test. */
test.afterEach.always(async () => {
  if (isCluster) await service().start();
});

/** The messages of a thread: nothing is lost, and nothing is there twice. */
const storyOf = async (threadId: string): Promise<readonly (readonly [string, string])[]> => {
  const { messages } = await createClient({ url: service().url }).threads.messages(threadId, {});
  return messages.map((message) => [message.role, textOf(message)]);
};

const whole = [
  ['user', 'hello'],
  ['assistant', written],
] as const;

/** Reads from a stream until this many have come that count, and no further. */
async function readSome<Each>(
  stream: AsyncIterator<Each>,
  count: number,
  counts: (each: Each) => boolean,
): Promise<Each[]> {
  const read: Each[] = [];
  while (read.filter(counts).length < count) {
    const next = await stream.next();
    if (next.done === true) break;
    read.push(next.value);
  }
  return read;
}

const cluster = isCluster ? 'its gateway is killed' : 'the service is killed and comes back';

test.serial(`a response of OpenAI goes on behind the number that its client has when ${cluster}`, async (t) => {
  const openai = new OpenAI({ baseURL: `${service().url}/openai/v1`, apiKey: 'none' });
  const stream = await openai.responses.create({ model: testedAgent, input: 'hello', background: true, stream: true });
  const events = stream[Symbol.asyncIterator]();
  const first = await readSome(events, 5, ({ type }) => type === 'response.output_text.delta');
  await killServing();
  const id = first.flatMap((event) => (event.type === 'response.created' ? [event.response.id] : []))[0] ?? '';
  const after = first.at(-1)?.sequence_number ?? -1;
  const rest = await Array.fromAsync(await openai.responses.retrieve(id, { stream: true, starting_after: after }));
  const all = [...first, ...rest];
  const deltas = all.flatMap((event) => (event.type === 'response.output_text.delta' ? [event.delta] : []));
  if (isCluster) {
    t.is(deltas.join(''), written);
    t.deepEqual(
      all.map(({ sequence_number: at }) => at),
      all.map((_, at) => at),
    );
  }
  t.like(all.at(-1), { type: 'response.completed', response: { id } });
  const response = await openai.responses.retrieve(id);
  t.is(response.output_text, written);
});

test.serial(`a completion of OpenAI with a key is one turn when its client gives up and ${cluster}`, async (t) => {
  const { url } = service();
  const threadId = crypto.randomUUID();
  const impatient = new OpenAI({ baseURL: `${url}/openai/v1`, apiKey: 'none', timeout: 400, maxRetries: 0 });
  const asked = {
    model: testedAgent,
    messages: [{ role: 'user' as const, content: 'hello' }],
    metadata: { thread_id: threadId },
  };
  const headers = { 'Idempotency-Key': crypto.randomUUID() };
  await t.throwsAsync(impatient.chat.completions.create(asked, { headers }), {
    instanceOf: OpenAI.APIConnectionTimeoutError,
  });
  await killServing();
  const again = await impatient.withOptions({ timeout: 30_000 }).chat.completions.create(asked, { headers });
  t.is(again.choices[0]?.message.content, written);
  t.deepEqual(await storyOf(threadId), whole);
});

test.serial(`a call of MCP goes on with its stream when ${cluster}: its client sends nothing again`, async (t) => {
  const transport = new StreamableHTTPClientTransport(new URL(`${service().url}/mcp`), {
    reconnectionOptions: {
      ...{ maxRetries: 60, initialReconnectionDelay: 100, maxReconnectionDelay: 500, reconnectionDelayGrowFactor: 1 },
    },
  });
  const client = new Mcp({ name: 'test', version: '1' });
  await client.connect(transport);
  const steps: unknown[] = [];
  const begun = Promise.withResolvers<undefined>();
  const running = client.callTool(
    { name: testedAgent, arguments: { message: 'hello' } },
    { onprogress: (step) => void steps.push(step), onresumptiontoken: () => begun.resolve(undefined) },
  );
  await begun.promise;
  await killServing();
  const { content, structuredContent } = await running;
  t.deepEqual(content, [{ type: 'text', text: written }]);
  t.deepEqual(steps, [
    { progress: 1, message: 'write' },
    { progress: 2, message: 'confirm' },
  ]);
  t.deepEqual(await storyOf((structuredContent as { readonly thread_id: string }).thread_id), whole);
  await client.close();
});

test.serial(`a task of MCP has its result at another replica when ${cluster}`, async (t) => {
  const call = taskCaller(service().url);
  const { taskId, resultType } = await call('tools/call', { name: testedAgent, arguments: { message: 'hello' } });
  t.is(resultType, 'task');
  await killServing();
  t.is((await call('tasks/get', { taskId }))['status'], 'working');
  await until(async () => (await call('tasks/get', { taskId }))['status'] === 'completed');
  const { result } = (await call('tasks/get', { taskId })) as { result: { structuredContent: { thread_id: string } } };
  t.deepEqual(await storyOf(result.structuredContent.thread_id), whole);
});

test.serial(`a task of A2A goes on for who subscribes to it again when ${cluster}`, async (t) => {
  const client = await new ClientFactory().createFromUrl(`${service().url}/a2a/${testedAgent}/`);
  const stream = client.sendMessageStream(saying('hello'))[Symbol.asyncIterator]();
  const [first] = await readSome(stream, 5, ({ payload }) => payload?.$case === 'artifactUpdate');
  const task = first?.payload?.$case === 'task' ? first.payload.value : undefined;
  if (!task) throw new Error('the stream does not begin with a task');
  await killServing();
  const payloads = (await Array.fromAsync(client.resubscribeTask({ tenant: '', id: task.id }))).flatMap(
    ({ payload }) => payload ?? [],
  );
  t.deepEqual(
    [...gathered(payloads).values()].filter((text) => text !== ''),
    [written],
  );
  t.deepEqual(textsOf(await client.getTask({ tenant: '', id: task.id, historyLength: undefined })), [written]);
  t.deepEqual(await storyOf(task.contextId), whole);
});

test.serial(`a message of A2A is one task when its client gives up, ${cluster}, and it is sent again`, async (t) => {
  const client = await new ClientFactory().createFromUrl(`${service().url}/a2a/${testedAgent}/`);
  const message = saying('hello', { contextId: crypto.randomUUID() });
  await t.throwsAsync(client.sendMessage(message, { signal: AbortSignal.timeout(400) }));
  await killServing();
  const task = asTask(await client.sendMessage(message));
  t.deepEqual(textsOf(task), [written]);
  t.deepEqual(await storyOf(task.contextId), whole);
});

test.serial(`a page with AG-UI has a run one time when ${cluster}`, async (t) => {
  const threadId = crypto.randomUUID();
  const agent = new ResumingAgent({ url: `${service().url}/agui/${testedAgent}`, threadId });
  agent.addMessage({ id: 'asked', role: 'user', content: 'hello' });
  const begun = Promise.withResolvers<undefined>();
  const types: string[] = [];
  const running = agent.runAgent(
    {},
    {
      onEvent: ({ event }) => {
        types.push(event.type);
        if (types.filter((type) => type === 'TEXT_MESSAGE_CONTENT').length === 5) begun.resolve(undefined);
      },
    },
  );
  await begun.promise;
  await killServing();
  await running;
  t.deepEqual(
    agent.messages.map(({ role, content }) => [role, content]),
    whole,
  );
  t.is(types.filter((type) => type === 'RUN_STARTED').length, 1);
  t.deepEqual(await storyOf(threadId), whole);
});

test.serial(`a run of LangGraph's client is streamed to its end when ${cluster}`, async (t) => {
  const { threads, runs } = new LangGraph({ apiUrl: `${service().url}/langgraph`, apiKey: null });
  const { thread_id: threadId } = await threads.create();
  const input = { messages: [{ role: 'user', content: 'hello' }] };
  const stream = runs.stream(threadId, testedAgent, { input, streamMode: 'messages-tuple', streamResumable: true });
  const events = stream[Symbol.asyncIterator]();
  await readSome(events, 5, ({ event }) => event === 'messages');
  await killServing();
  await Array.fromAsync({ [Symbol.asyncIterator]: () => events });
  t.deepEqual(await storyOf(threadId), whole);
});
