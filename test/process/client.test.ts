import { fileURLToPath } from 'node:url';
import {
  createClient,
  remoteCallsIn,
  RequestError,
  textOf,
  type Client,
  type RemoteTool,
  type RunEvent,
} from '@agent-workflow/client';
import type {
  EventKind as ClientEventKind,
  FailureReason as ClientFailureReason,
  MemoryQuery,
  Message,
  NewMemory,
  RunRequest,
  RunStatus as ClientRunStatus,
} from '@agent-workflow/client';
import { endpoints } from '@agent-workflow/gateway/endpoints';
import type { FailureReason } from '@agent-workflow/kit/errors';
import type { EventKind } from '@agent-workflow/protos/event-parts';
import type {
  DistanceMetric,
  Granularity,
  MemoryType,
  MultitaskStrategy,
  RetrievalStrategy,
  RunStatus,
} from '@agent-workflow/protos/lists';
import test from 'ava';
import { openGate } from '../servers/gate.ts';
import { openStallingProxy } from '../servers/stalling-proxy.ts';
import { makeWorkspace, startStandalone, type StandaloneProcess } from '../servers/standalone.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
const host = 'http://service.test';

/** A client of whatever process serves at the moment. A loaded machine may start one slowly. */
function clientOf(serving: () => StandaloneProcess | undefined): Client {
  return createClient({
    url: host,
    retryMs: 60_000,
    fetch: (address, init) => {
      const { pathname, search } = new URL(address instanceof Request ? address.url : address);
      return fetch(`${serving()?.url ?? 'http://127.0.0.1:1'}${pathname}${search}`, init);
    },
  });
}

test('a stream goes on over the death of the process, each event once and in order', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  let serving: StandaloneProcess | undefined = await startStandalone(workspace.env);
  t.teardown(async () => serving?.[Symbol.asyncDispose]());
  const client = clientOf(() => serving);
  const events: RunEvent[] = [];
  for await (const event of client.stream({ messages: [user('go')], config: { gate: gate.url } })) {
    events.push(event);
    if (event.event !== 'messages_chunk' || event.message === undefined || serving.child.signalCode !== null) continue;
    const dying: StandaloneProcess = serving;
    serving = undefined;
    dying.child.kill('SIGKILL');
    await dying[Symbol.asyncDispose]();
    serving = await startStandalone(workspace.env);
    gate.open();
  }
  t.deepEqual(
    events.map(({ id }) => Number(id.split(':')[1])),
    events.map((_, index) => index + 1),
  );
  t.is(events.at(-1)?.event, 'on_chain_end');
  const whole = events.flatMap(({ message }) => (message ? [textOf(message)] : []));
  t.deepEqual(whole, ['before the gate', 'after the gate']);
});

test('a stream whose connection is open and dead goes on over another one', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  await using service = await startStandalone({ ...workspace.env, STREAM_COMMENT_SECONDS: '1' });
  await using proxy = await openStallingProxy(Number(new URL(service.url).port));
  const client = createClient({ url: `http://127.0.0.1:${String(proxy.port)}`, retryMs: 60_000, silenceMs: 5000 });
  const { run_id: runId } = await client.runs.start({ messages: [user('go')], config: { gate: gate.url } });
  const changes: string[] = [];
  const onConnection = (change: string): void => {
    changes.push(change);
    if (change === 'lost') proxy.resume();
  };
  const numbers: number[] = [];
  for await (const { id, message } of client.runs.follow(runId, { onConnection })) {
    numbers.push(Number(id.split(':')[1]));
    if (!message || textOf(message) !== 'before the gate') continue;
    proxy.stall();
    gate.open();
  }
  t.deepEqual(changes, ['lost', 'resumed']);
  t.deepEqual(
    numbers,
    numbers.map((_, index) => (numbers[0] ?? NaN) + index),
  );
});

test('an invoke goes on over the death of the process, and gets the result of its one run', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  let serving: StandaloneProcess | undefined = await startStandalone(workspace.env);
  t.teardown(async () => serving?.[Symbol.asyncDispose]());
  const client = clientOf(() => serving);
  const config = { thread_id: 'killed', gate: gate.url };
  const invoked = client.invoke({ messages: [user('go')], config });
  await gate.visited(1);
  const dying: StandaloneProcess = serving;
  serving = undefined;
  dying.child.kill('SIGKILL');
  await dying[Symbol.asyncDispose]();
  serving = await startStandalone(workspace.env);
  gate.open();
  const { meta } = await invoked;
  t.is(meta.status, 'completed');
  const { runs } = await client.threads.runs('killed');
  t.deepEqual(
    runs.map(({ run_id: id }) => id),
    [meta.run_id],
  );
});

test('after the last event of a run that has ended there is none, until it is deleted', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone(workspace.env);
  const client = clientOf(() => service);
  const ids: string[] = [];
  const config = { thread_id: 'ended' };
  for await (const { id } of client.stream({ messages: [user('hello')], config })) ids.push(id);
  const [runId = '', last = ''] = ids.at(-1)?.split(':') ?? [];
  const followed = async (after: string): Promise<readonly string[]> => {
    const events = await Array.fromAsync(client.runs.follow(runId, { after }));
    return events.map(({ id }) => id);
  };
  t.deepEqual(await followed(ids.at(-1) ?? ''), []);
  t.deepEqual(await followed(ids.at(-2) ?? ''), ids.slice(-1));
  for (const beyond of [1, 2, 1000]) t.deepEqual(await followed(`${runId}:${String(Number(last) + beyond)}`), []);
  await client.threads.delete('ended');
  const deleted = await t.throwsAsync(followed(ids.at(-1) ?? ''), { instanceOf: RequestError });
  t.is(deleted.code, 'RESOURCE_NOT_FOUND');
});

test('an invoke whose run takes longer than the service waits is sent again and gets the result of the same run', async (t) => {
  await using workspace = await makeWorkspace('gated');
  await using gate = await openGate();
  await using service = await startStandalone({ ...workspace.env, INVOKE_TIMEOUT_MS: '300' });
  const statuses: number[] = [];
  const client = createClient({
    url: service.url,
    fetch: async (address, init) => {
      const response = await fetch(address, init);
      statuses.push(response.status);
      if (response.status === 504) gate.open();
      return response;
    },
  });
  const config = { thread_id: 'long', gate: gate.url };
  const { meta } = await client.invoke({ messages: [user('go')], config });
  t.is(meta.status, 'completed');
  t.is(statuses[0], 504);
  t.is(statuses.at(-1), 200);
  t.deepEqual(
    (await client.threads.runs('long')).runs.map(({ run_id: id }) => id),
    [meta.run_id],
  );
});

test('calls of remote tools are answered until none is open, one that fails with its error', async (t) => {
  await using workspace = await makeWorkspace('locating');
  await using service = await startStandalone(workspace.env);
  const client = clientOf(() => service);
  const asked: unknown[] = [];
  const tool: RemoteTool = {
    name: 'locate',
    declaredBy: 'graph',
    description: 'Where the user is',
    parameters: { type: 'object' },
    run: (args) => {
      asked.push(args);
      return { city: 'Porto' };
    },
  };
  const { messages, all_messages, meta } = await client.invoke({ messages: [user('Where am I?')] }, { tools: [tool] });
  t.is(meta.status, 'completed');
  t.true(meta.is_new_thread);
  t.deepEqual(
    all_messages.map((message) => remoteCallsIn(message).map(({ name }) => name)),
    [['locate'], []],
  );
  t.deepEqual(asked, [{ precise: true }]);
  t.regex(messages.map(textOf).join(''), /Porto/);
  const { declaredBy: _, ...declared } = tool;
  const twice = client.invoke({ messages: [user('Where am I?')] }, { tools: [declared] });
  t.is((await t.throwsAsync(twice, { instanceOf: RequestError })).status, 422);
  const failing = { ...tool, run: () => Promise.reject(new Error('no permission')) };
  const refused = await client.invoke({ messages: [user('Where am I?')] }, { tools: [failing] });
  t.true(JSON.stringify(refused.all_messages).includes('no permission'));
  const waiting = await client.invoke({ messages: [user('Where am I?')] });
  t.is(waiting.meta.status, 'interrupted');
  t.is(waiting.messages.flatMap(remoteCallsIn)[0]?.name, 'locate');
});

test('a refusal names status, code and field; a service that is unavailable is named, too', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone(workspace.env);
  const client = clientOf(() => service);
  const refused = await t.throwsAsync(client.invoke({ messages: [{ role: 'nobody' as 'user', content: 'x' }] }), {
    instanceOf: RequestError,
  });
  t.is(refused.status, 422);
  t.is(refused.code, 'VALIDATION_ERROR');
  t.deepEqual(refused.details[0]?.loc, ['body', 'messages', 0, 'role']);
  t.truthy(refused.requestId);
  const away = await t.throwsAsync(createClient({ url: 'http://127.0.0.1:1', maxAttempts: 2 }).ping(), {
    instanceOf: RequestError,
  });
  t.is(away.code, 'UNREACHABLE');
});

test('threads, state, messages and memories are reached by their methods', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone(workspace.env);
  const client = clientOf(() => service);
  t.is(typeof (await client.ping()), 'string');
  const { meta } = await client.invoke({ messages: [user('hello')], config: { thread_id: 'a b' } });
  t.is(meta.thread_id, 'a b');
  t.deepEqual(
    (await client.threads.list({ search: 'a b' })).threads.map(({ thread_id }) => thread_id),
    ['a b'],
  );
  t.is((await client.threads.messages('a b', { limit: 1 })).messages.map(textOf).join(), 'hello');
  await client.threads.addMessages('a b', [user('more')]);
  const { messages } = await client.threads.messages('a b');
  t.true(messages.map(textOf).includes('more'));
  for (const message of messages)
    t.deepEqual((await client.threads.message('a b', message.message_id)).message, message);
  const { memory_id } = await client.memories.store({
    content: 'green tea',
    memory_type: 'semantic',
    category: 'drinks',
  });
  t.is((await client.memories.search({ query: 'tea' })).results[0]?.id, memory_id);
  t.deepEqual((await client.memories.forget({ category: 'drinks' })).memory_ids, [memory_id]);
  const page = { content: 'tea of all', memory_type: 'semantic', category: 'pages', scope: 'agent:default' } as const;
  const { memories } = await client.memories.storeAll([
    { ...page, key: 'page 1' },
    { ...page, content: ' ' },
  ]);
  t.like(memories, [{ created: true }, { error: { code: 'VALIDATION_ERROR' } }]);
  const [id, scope] = [memories[0]?.memory_id ?? '', page.scope];
  t.is((await client.memories.search({ query: 'tea', scopes: ['own', scope] })).results[0]?.scope, scope);
  t.is((await client.memories.get(id, { scope })).memory.content, 'tea of all');
  t.true((await client.memories.delete(id, { scope })).success);
  t.true((await client.threads.delete('a b')).success);
  const gone = await t.throwsAsync(client.threads.get('a b'), { instanceOf: RequestError });
  t.is(gone.code, 'RESOURCE_NOT_FOUND');
});

test('files go up and come back, in whole and in part, and are reached by their address', async (t) => {
  await using workspace = await makeWorkspace('echo');
  await using service = await startStandalone({ ...workspace.env, HOST: '127.0.0.1' });
  const client = createClient({ url: service.url });
  const file = await client.files.upload(new File(['hello there'], 'hello.txt', { type: 'text/plain' }));
  t.like(file, { filename: 'hello.txt', mime_type: 'text/plain', size_bytes: 11 });
  t.is(await (await client.files.get(file.file_id)).text(), 'hello there');
  t.is(await (await client.files.get(file.file_id, { start: 6 })).text(), 'there');
  t.is((await client.files.info(file.file_id)).sha256, file.sha256);
  const { files } = await client.files.list({ search: 'HELLO', mime_type: 'text/*', limit: 1 });
  t.deepEqual(files, [await client.files.info(file.file_id)]);
  t.is(await (await fetch((await client.files.url(file.file_id)).url)).text(), 'hello there');
  t.is((await client.files.upload(new Blob(['x']))).filename, 'file');
  t.is((await client.files.upload({ data: new Blob(['x']), filename: 'a.bin' })).filename, 'a.bin');
  t.is((await client.files.multimodal()).media_storage_type, 'local');
  t.true((await client.files.delete(file.file_id)).success);
  const gone = await t.throwsAsync(client.files.get(file.file_id), { instanceOf: RequestError });
  t.is(gone.status, 404);
});

test('agents are listed and described, and a thread stays with the one that it began with', async (t) => {
  const located = (name: string): string => `${fileURLToPath(new URL(`../agents/${name}.ts`, import.meta.url))}:graph`;
  await using workspace = await makeWorkspace(null, {
    agents: { echo: located('echo'), choosing: { path: located('choosing'), description: 'Says the season.' } },
    default_agent: 'echo',
  });
  await using service = await startStandalone(workspace.env);
  const client = createClient({ url: service.url });
  t.deepEqual((await client.agents.list()).agents, [
    { name: 'echo', description: null, is_default: true, tools: [] },
    { name: 'choosing', description: 'Says the season.', is_default: false, tools: [] },
  ]);
  const { graph, state_schema: schema, ...agent } = await client.agents.get('choosing');
  t.deepEqual(agent, { name: 'choosing', description: 'Says the season.', is_default: false, tools: [] });
  t.deepEqual((await client.graph({ agent: 'choosing' }))['graph'], graph);
  t.deepEqual(await client.stateSchema({ agent: 'choosing' }), schema);
  const messages = [user('hello')];
  const { meta } = await client.invoke({ messages, config: { thread_id: 'chosen', agent: 'choosing' } });
  await client.invoke({ messages });
  t.is((await client.threads.get('chosen')).agent, 'choosing');
  t.is((await client.threads.state('chosen')).agent, 'choosing');
  t.deepEqual(
    (await client.runs.list({ agent: 'choosing' })).runs.map(({ run_id: id, agent: of }) => [id, of]),
    [[meta.run_id, 'choosing']],
  );
  const other = client.invoke({ messages, config: { thread_id: 'chosen', agent: 'echo' } });
  t.is((await t.throwsAsync(other, { instanceOf: RequestError })).status, 409);
});

test('an operator reads, stops and retries by the client what is somebody else’s, and the audit names each', async (t) => {
  const backend = fileURLToPath(new URL('../backends/roles.ts', import.meta.url));
  const access = { roles: { ops: { is: 'operator', reads: 'contents' }, root: { is: 'admin' } } };
  await using workspace = await makeWorkspace('obedient', {
    auth: { method: 'custom', path: `${backend}:Named` },
    access,
  });
  await using service = await startStandalone({ ...workspace.env, HOST: '127.0.0.1' });
  const as = (name: string, roles: string): Client =>
    createClient({ url: service.url, headers: { 'x-user': name, 'x-roles': roles } });
  const [ada, { admin }] = [as('ada', ''), as('pat', 'ops')];
  const { meta } = await ada.invoke({ messages: [user('a cabbage')], config: { thread_id: 'of-ada' } });
  const failing = await ada.runs.start({ messages: [user('fail')], config: { thread_id: 'failed' } });
  await t.throwsAsync(ada.runs.wait(failing.run_id));

  const ofAda = { user_id: 'ada' };
  const { runs, has_more: more } = await admin.listRuns({ ...ofAda, status: ['failed', 'completed'] });
  t.deepEqual(
    runs.map(({ run_id: id, user_id: of, error }) => [id, of, error?.message]),
    [
      [failing.run_id, 'ada', null],
      [meta.run_id, 'ada', undefined],
    ],
  );
  t.false(more);
  t.is((await admin.getRun(failing.run_id, ofAda)).error?.message, null);
  const shown = await admin.getRun(failing.run_id, { ...ofAda, show: 'contents', reason: 'why' });
  t.truthy(shown.error?.message);
  t.true((await admin.getTrace(failing.run_id, ofAda)).spans.length > 0);
  t.deepEqual(
    (await admin.listThreads({ ...ofAda, status: 'idle' })).threads.map(({ thread_id: id }) => id),
    ['of-ada'],
  );
  t.is((await admin.getThread('of-ada', ofAda)).title, null);
  t.is((await admin.listRunsOfThread('of-ada', ofAda)).runs.length, 1);
  t.deepEqual((await admin.listQuestions(ofAda)).questions, []);
  const why = { ...ofAda, reason: 'ticket 4711' };
  t.true(JSON.stringify((await admin.listMessages('of-ada', why)).messages).includes('cabbage'));
  t.deepEqual(await admin.getState('of-ada', why), await ada.threads.state('of-ada'));
  t.is((await admin.listSteps(meta.run_id, why)).steps.length, (await ada.runs.steps(meta.run_id)).steps.length);
  const { run_id: again } = await admin.retryRun(failing.run_id, why);
  t.is((await ada.runs.get(again)).resumes, failing.run_id);
  t.is((await admin.cancelRun(again, why)).run_id, again);
  const lines = await as('zoe', 'root').admin.exportAudit();
  t.deepEqual(
    lines.map(({ operation, user_id: who, owner_id: of }) => [operation, who, of]),
    ['cancelRun', 'retryRun', 'listSteps', 'getState', 'listMessages', 'getRun'].map((name) => [
      `${name}OfOthers`,
      'pat',
      'ada',
    ]),
  );
  t.is((await t.throwsAsync(ada.admin.listRuns(), { instanceOf: RequestError })).status, 403);
});

type Reply<Call> = Call extends (...given: never[]) => Promise<infer R> ? keyof R : never;
/** Whether the type of a reply has these fields. */
type Has<Call, Field> = Field extends Reply<Call> ? true : false;

test("the client's types of lists have the fields by which the service goes on with them", (t) => {
  const more = {
    forgetMemories: true satisfies Has<Client['memories']['forget'], 'has_more'>,
    getRunChain: true satisfies Has<Client['runs']['chain'], 'has_more'>,
    getRunTrace: true satisfies Has<Client['runs']['trace'], 'has_more'>,
    getTraceOfOthers: true satisfies Has<Client['admin']['getTrace'], 'has_more'>,
    listAllQuestions: true satisfies Has<Client['admin']['listQuestions'], 'has_more'>,
    listAllRuns: true satisfies Has<Client['admin']['listRuns'], 'has_more'>,
    listAllThreads: true satisfies Has<Client['admin']['listThreads'], 'has_more'>,
    listAssistantVersions: true satisfies Has<Client['assistants']['versions'], 'has_more'>,
    listAssistants: true satisfies Has<Client['assistants']['list'], 'has_more'>,
    listCheckpoints: true satisfies Has<Client['threads']['checkpoints'], 'has_more'>,
    listDeliveries: true satisfies Has<Client['deliveries']['list'], 'has_more'>,
    listFiles: true satisfies Has<Client['files']['list'], 'has_more'>,
    listInbox: true satisfies Has<Client['threads']['inbox'], 'has_more'>,
    listMemories: true satisfies Has<Client['memories']['list'], 'has_more'>,
    listMessages: true satisfies Has<Client['threads']['messages'], 'has_more'>,
    listMessagesOfOthers: true satisfies Has<Client['admin']['listMessages'], 'has_more'>,
    listOwnRuns: true satisfies Has<Client['runs']['list'], 'has_more'>,
    listQuestions: true satisfies Has<Client['questions']['list'], 'has_more'>,
    listRunSteps: true satisfies Has<Client['runs']['steps'], 'has_more'>,
    listRuns: true satisfies Has<Client['threads']['runs'], 'has_more'>,
    listRunsOfOthersThread: true satisfies Has<Client['admin']['listRunsOfThread'], 'has_more'>,
    listSchedules: true satisfies Has<Client['schedules']['list'], 'has_more'>,
    listSharedWithMe: true satisfies Has<Client['shares']['withMe'], 'has_more'>,
    listShares: true satisfies Has<Client['shares']['list'], 'has_more'>,
    listStepsOfOthers: true satisfies Has<Client['admin']['listSteps'], 'has_more'>,
    listThreads: true satisfies Has<Client['threads']['list'], 'has_more'>,
    listTriggers: true satisfies Has<Client['triggers']['list'], 'has_more'>,
    searchThreads: true satisfies Has<Client['threads']['search'], 'has_more'>,
  };
  const fieldsOf = (reply: object): string[] =>
    Object.keys(Object('properties' in reply && reply.properties) as object);
  // The client has few methods of those with whom a thread is shared.
  const listed = endpoints.filter(({ forOperators, isOfOthers }) => forOperators !== undefined || !isOfOthers);
  const fields = new Map(listed.map(({ name, reply }) => [name, fieldsOf(reply)]));
  t.deepEqual(
    Object.keys(more),
    [...fields].flatMap(([name, names]) => (names.includes('has_more') ? [name] : [])).toSorted(),
  );
  const past: Same<'context_truncated' & Reply<Client['threads']['checkpoint']>, 'context_truncated'> = true;
  t.is(fields.get('getCheckpoint')?.includes('context_truncated'), past);
  const message: Same<keyof Message & 'checkpoint_id', 'checkpoint_id'> = true;
  t.is(fields.get('getMessage')?.includes('checkpoint_id'), message);
});

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

test("the closed lists of the client's types are the service's", (t) => {
  const lists: [
    Same<NonNullable<RunRequest['response_granularity']>, Granularity>,
    Same<NonNullable<NonNullable<RunRequest['config']>['multitask_strategy']>, MultitaskStrategy>,
    Same<ClientRunStatus, RunStatus>,
    Same<ClientEventKind, EventKind | 'tasks' | 'values'>,
    Same<ClientFailureReason, FailureReason>,
    Same<NewMemory['memory_type'], MemoryType>,
    Same<NonNullable<MemoryQuery['retrieval_strategy']>, RetrievalStrategy>,
    Same<NonNullable<MemoryQuery['distance_metric']>, DistanceMetric>,
  ] = [true, true, true, true, true, true, true, true];
  t.true(lists.every(Boolean));
});
