import { dialects as ours } from '@agent-workflow/gateway/dialects';
import type { ServiceEndpoint } from '@agent-workflow/gateway/dialects/services';
import type { Dialects } from '@agent-workflow/gateway/http/dialect';
import type { Route, Row } from '@agent-workflow/gateway/http/endpoint';
import { decide } from '@agent-workflow/gateway/access/decide';
import { readRules } from '@agent-workflow/gateway/access/read-rules';
import { eachOf } from '@agent-workflow/kit/each';
import { newId, ownerOf } from '@agent-workflow/kit/ids';
import test from 'ava';
import { createClient, user, type Client } from '../servers/client.ts';
import { testedAgent } from '../servers/standalone.ts';
import { shownId as openaiId } from '@agent-workflow/gateway/dialects/openai/ids/shown-id';
import { echo, echoId } from '../dialects/echo.ts';
import { openEmbedded, type Embedded } from '../servers/embedded.ts';
import { isCluster, openShape } from './shape.ts';
import { audience, goodClaims, inSeconds, issuer, makeToken } from '../servers/tokens.ts';
import { toForm, uploadTo } from '../servers/uploads.ts';
import { rpcCalls } from './rpc-calls.ts';
import { sampleOf } from './sample.ts';

/**
 * Every route of every dialect, by everybody who could send it, for every kind of object. A row that is added to a dialect is
 * in the matrix without a line here; one whose body cannot be made from its schema alone says so in `inputs`.
 */
/** Those of the gateway, and one of the tests' own beside them. */
const dialects: Dialects<ServiceEndpoint> = isCluster ? ours : [...ours, echo];

/** The matrix is a thousand refusals from one address: what limits those is tested elsewhere. */
const unlimited = { RATE_LIMIT_AUTH_FAILURES: '0', RATE_LIMIT_REQUESTS: '0' };

const secret = 'a secret that is long enough for any of them, 64 bytes and more!!';
const env = {
  JWT_ALGORITHM: 'HS256',
  JWT_SECRET_KEY: secret,
  JWT_ISSUER: issuer,
  JWT_AUDIENCE: audience,
  ...unlimited,
};

const claimsOf = (sub: string, roles: readonly string[] = []): Readonly<Record<string, unknown>> =>
  goodClaims({ user_id: sub, roles });
const bearer = (token: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${token}` });
const signedIn = (sub: string, roles?: readonly string[]): Readonly<Record<string, string>> =>
  bearer(makeToken('HS256', secret, { claims: claimsOf(sub, roles) }));

/** Roles of the service, and those that a caller may have together. */
const access = {
  roles: {
    manager: { is: 'approver' },
    support: { is: 'operator' },
    ops: { is: 'operator', reads: 'contents' },
    root: { is: 'admin' },
  },
};
const rules = readRules({ auth: 'jwt', agent: undefined, agents: undefined, access });
const rolesTogether: readonly (readonly string[])[] = [
  ['manager'],
  ['support'],
  ['ops'],
  ['root'],
  ['admin', 'operator'],
];

/** Those who are not let in, each claiming to be the owner. A gateway refuses them before it asks a service, whichever shape these have. */
const unauthenticated: Readonly<Record<string, () => Readonly<Record<string, string>>>> = isCluster
  ? {}
  : {
      'nobody, without a token': () => ({}),
      'an expired token': () =>
        bearer(makeToken('HS256', secret, { claims: { ...claimsOf('alice'), exp: inSeconds(-3600) } })),
      'a token for another audience': () =>
        bearer(makeToken('HS256', secret, { claims: { ...claimsOf('alice'), aud: 'others' } })),
      'a token of another algorithm': () => bearer(makeToken('HS512', secret, { claims: claimsOf('alice') })),
    };

/** No slot comes while the tests run. */
const everyYear = { cron: '0 0 1 7 *' };

/** A run of LangGraph's clients. */
const ofGraph = (): object => ({ assistant_id: testedAgent, input: { messages: [user('hello')] } });

/** A message of A2A to a thread. */
const ofContext = ({ thread_id }: Pick<Ids, 'thread_id'>): object => ({
  message: { messageId: 'm-1', contextId: thread_id, role: 'ROLE_USER', parts: [{ text: 'hello' }] },
});

/** The item that the owner of a thread has put for it. */
const itemOf = ({ thread_id }: Pick<Ids, 'thread_id'>) => ({ namespace: ['garden', thread_id], key: 'kept' });

/** Bodies that a schema alone cannot tell. */
const inputs: Readonly<Record<string, (ids: Ids) => object>> = {
  createWebhook: () => ({ url: 'https://example.com/hook' }),
  updateWebhook: () => ({ url: 'https://example.com/hook' }),
  forgetMemories: ({ thread_id }) => ({ config: { thread_id } }),
  stopThread: ({ thread_id }) => ({ thread_id }),
  fixThread: ({ thread_id }) => ({ thread_id }),
  forkThread: ({ checkpoint_id }) => ({ checkpoint_id }),
  restoreThread: ({ checkpoint_id }) => ({ checkpoint_id }),
  pruneThread: () => ({ keep: 100 }),
  invokeGraph: ({ thread_id }) => ({ messages: [user('hello')], config: { thread_id } }),
  streamGraph: ({ thread_id }) => ({ messages: [user('hello')], config: { thread_id } }),
  createRun: ({ thread_id }) => ({ messages: [user('hello')], config: { thread_id } }),
  answerQuestion: () => ({ answer: true }),
  createRuns: ({ thread_id }) => ({ runs: [{ messages: [user('hello')], config: { thread_id } }] }),
  lgCreateRun: ofGraph,
  lgRunAndWait: ofGraph,
  lgCreateStatelessRun: ofGraph,
  lgStatelessRunAndWait: ofGraph,
  lgRunAndStream: ofGraph,
  lgStatelessRunAndStream: ofGraph,
  lgCreateRuns: () => [ofGraph()],
  lgStreamThreadEvents: () => ({ channels: ['values', 'messages', 'lifecycle'] }),
  lgCommand: () => ({ id: 1, method: 'run.start', params: ofGraph() }),
  lgCancelRuns: ({ run_id }) => ({ run_ids: [run_id] }),
  lgCreateThread: () => ({}),
  lgPruneThreads: ({ thread_id }) => ({ thread_ids: [thread_id], strategy: 'keep_latest' }),
  lgUpdateState: () => ({ values: {} }),
  lgGetStateAtCheckpoint: ({ checkpoint_id }) => ({ checkpoint: { checkpoint_id } }),
  lgCreateCron: () => ({ ...ofGraph(), schedule: '0 0 1 7 *' }),
  lgCreateCronForThread: () => ({ ...ofGraph(), schedule: '0 0 1 7 *' }),
  lgUpdateCron: () => ({ enabled: false }),
  lgPutItem: (ids) => ({ ...itemOf(ids), value: { of: 'the caller' } }),
  lgGetItem: (ids) => ({ namespace: itemOf(ids).namespace.join('.'), key: 'kept' }),
  lgDeleteItem: (ids) => itemOf(ids),
  lgSearchItems: (ids) => ({ namespace_prefix: itemOf(ids).namespace, query: 'cabbage' }),
  lgListNamespaces: () => ({ prefix: ['garden'] }),
  lgCreateAssistant: () => ({ graph_id: testedAgent, name: 'of the caller' }),
  createAssistant: () => ({ name: 'of the caller' }),
  updateAssistant: () => ({ name: 'of the caller' }),
  createShare: () => ({ to: { user: 'grace' } }),
  createSharedRun: () => ({ messages: [user('hello')] }),
  invokeShared: () => ({ messages: [user('hello')] }),
  streamShared: () => ({ messages: [user('hello')] }),
  createTrigger: () => ({ format: 'github' }),
  updateTrigger: () => ({ enabled: false }),
  rotateTriggerSecret: () => ({}),
  createSchedule: ({ thread_id }) => ({
    ...everyYear,
    run: { messages: [user('hello')], config: { thread_id } },
  }),
  backfillSchedule: () => ({ from: Date.now() - 400 * 24 * 3_600_000, to: Date.now() - 1000 }),
  oaCreateChatCompletion: ({ thread_id }) => ({
    ...{ model: testedAgent, messages: [user('hello')] },
    metadata: { thread_id },
  }),
  oaCreateResponse: ({ thread_id }) => ({
    ...{ model: testedAgent, input: 'hello' },
    conversation: openaiId('conv', thread_id),
  }),
  oaCreateConversation: () => ({}),
  oaUpdateConversation: () => ({ metadata: { of: 'the caller' } }),
  oaAddItems: () => ({ items: [{ role: 'user', content: 'hello' }] }),
  aguiRun: ({ thread_id }) => ({
    ...{ threadId: thread_id, runId: 'run' },
    messages: [{ id: 'of the page', role: 'user', content: 'hello' }],
  }),
  aguiConnect: ({ thread_id }) => ({ threadId: thread_id }),
  aguiStop: ({ thread_id }) => ({ threadId: thread_id }),
  a2aSendMessage: ofContext,
  a2aStreamMessage: ofContext,
  mcpSend: ({ thread_id }) => ({
    ...{ jsonrpc: '2.0', id: 1, method: 'resources/read', params: { uri: `threads://${thread_id}` } },
  }),
  a2aListTasks: ({ thread_id }) => ({ contextId: thread_id }),
  a2aCreatePush: () => ({ url: 'https://example.com/hook' }),
  echoStart: ({ thread_id }) => ({ text: 'hello', in: echoId(thread_id) }),
  echoShout: ({ thread_id }) => ({ text: 'hello', in: echoId(thread_id) }),
};

interface Ids {
  readonly thread_id: string;
  readonly message_id: string;
  readonly memory_id: string;
  readonly run_id: string;
  readonly checkpoint_id: string;
  readonly share_id: string;
  readonly file_id: string;
  readonly assistant_id: string;
  readonly trigger_id: string;
  readonly schedule_id: string;
  readonly webhook_id: string;
  readonly delivery_id: string;
}

const searchTool = { node_name: 'tools', name: 'look', parameters: { type: 'object', properties: {} } };

/** Kinds of thread: what makes one, beside its id. */
const threadKinds: Readonly<Record<string, object>> = {
  'of one turn': { messages: [user('hello')] },
  'with name and metadata': {
    messages: [user('hello')],
    config: { thread_name: 'private', metadata: { secret: 'cabbage' } },
  },
  'with state': { messages: [user('hello')], initial_state: { notes: ['cabbage'] } },
  'that waits for a tool': { messages: [user('call look')], tools: [searchTool] },
  'whose run failed': { messages: [user('fail')] },
};

const memoryTypes = ['episodic', 'semantic', 'procedural', 'entity', 'relationship', 'custom', 'declarative'];

/** A thread with what hangs on it, and a memory, of the owner's own. */
type Kind = readonly [name: string, thread: object, memoryType: string];

const allKinds: readonly Kind[] = memoryTypes.map((memoryType, index) => {
  const [name = '', thread = {}] = Object.entries(threadKinds)[index % Object.keys(threadKinds).length] ?? [];
  return [`a thread ${name}, a memory that is ${memoryType}`, thread, memoryType];
});

/** A cluster keeps each kind in the same tables: two of them show that its stores know owners apart, in a fifth of an hour less. */
const kinds = isCluster ? allKinds.slice(1, 3) : allKinds;

let url = '';
let service: Embedded | undefined;

let made = 0;

/** Makes the objects of a kind for a user. */
async function make(sub: string, [, thread, memoryType]: Kind): Promise<Ids> {
  const owner = clientOf(sub);
  const thread_id = `thread-${String(++made)}`;
  const { config = {}, ...body } = thread as { config?: object };
  const run = await owner.send('POST', '/v1/runs', { ...body, config: { ...config, thread_id } });
  const { run_id } = run.body.data as { run_id: string };
  await owner.send('GET', `/v1/runs/${run_id}/wait`);
  const added = await owner.send('POST', `/v1/threads/${thread_id}/messages`, { messages: [user('a cabbage')] });
  const { messages } = added.body.data as { messages: { message_id: string }[] };
  const memory = { content: 'I grow cabbage', memory_type: memoryType, category: 'garden', config: { thread_id } };
  const stored = await owner.send('POST', '/v1/store/memories', memory);
  const { memory_id } = stored.body.data as { memory_id: string };
  const list = await owner.send('GET', `/v1/threads/${thread_id}/checkpoints`);
  const { checkpoints } = list.body.data as { checkpoints: { checkpoint_id: string }[] };
  const checkpoint_id = checkpoints[0]?.checkpoint_id ?? '';
  const file_id = await uploadTo(url, 'a cabbage', 'cabbage.txt', signedIn(sub));
  const kept = await owner.send('POST', '/v1/assistants', { name: 'cabbage', config: { secret: 'cabbage' } });
  const { assistant_id } = kept.body.data as { assistant_id: string };
  const hook = await owner.send('POST', '/v1/triggers', { format: 'github', name: 'cabbage' });
  const { trigger_id } = hook.body.data as { trigger_id: string };
  const scheduled = { ...everyYear, name: 'cabbage', run: { messages: [user('a cabbage')] } };
  const { schedule_id } = (await owner.send('POST', '/v1/schedules', scheduled)).body.data as { schedule_id: string };
  const receiver = { url: 'https://cabbage.invalid/hook', enabled: false };
  const { webhook_id } = (await owner.send('POST', '/v1/webhooks', receiver)).body.data as { webhook_id: string };
  const sent = await owner.send('POST', `/v1/webhooks/${webhook_id}/test`, {});
  const { delivery_id } = sent.body.data as { delivery_id: string };
  await fetch(`${url}/langgraph/store/items`, {
    method: 'PUT',
    headers: { ...signedIn(sub), 'content-type': 'application/json' },
    body: JSON.stringify({ ...itemOf({ thread_id }), value: { secret: 'cabbage' } }),
  });
  const shares = `/v1/threads/${thread_id}/shares`;
  const shared = await owner.send('POST', shares, { to: { user: 'grace' }, rights: ['write', 'answer'] });
  const { share_id } = shared.body.data as { share_id: string };
  const message_id = messages[0]?.message_id ?? '';
  return {
    thread_id,
    message_id,
    memory_id,
    run_id,
    checkpoint_id,
    share_id,
    file_id,
    assistant_id,
    trigger_id,
    schedule_id,
    webhook_id,
    delivery_id,
  };
}

const clientOf = (sub: string): Client => createClient(url, signedIn(sub));

interface Sent {
  readonly status: number;
  readonly body: string;
}

/** Sends a route with these ids in its path and, where it names a thread there, in its body. */
async function sendTo(row: Row, route: Route, ids: Ids, headers: Readonly<Record<string, string>>): Promise<Sent> {
  const named = { ...ids, ...nobodys };
  const written = writerOf(route);
  const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(written(named[name as keyof Ids], name)),
  );
  const inQuery = route.method === 'GET' && (inputs[row.name] ?? (row.forOperators && (() => ofAlice(row))));
  const query = inQuery ? `?${new URLSearchParams(inQuery(ids) as Record<string, string>).toString()}` : '';
  const reply = await fetch(`${url}${path}${query}`, {
    method: route.method,
    headers: { ...(!row.takesFile && { 'content-type': 'application/json' }), 'a2a-version': '1.0', ...headers },
    ...(row.takesFile && { body: toForm({ file: 'own' }) }),
    ...(route.method === 'GET' || row.takesFile ? {} : { body: JSON.stringify(bodyOf(row, ids)) }),
  });
  return { status: reply.status, body: endless.has(row.name) ? await beginningOf(reply) : await reply.text() };
}

/** How the dialect of a route writes an id. */
function writerOf({ path }: Route): (id: string, name: string) => string {
  if (path.startsWith(`${echo.prefix}/`)) return echoId;
  if (!path.startsWith('/openai/')) return (id) => id;
  const kinds = { thread_id: 'conv', run_id: 'resp', message_id: 'msg' } as const;
  return (id, name) => (name in kinds ? openaiId(kinds[name as keyof typeof kinds], id) : id);
}

/** Streams of a thread, which have no end. */
const endless: ReadonlySet<string> = new Set([
  'lgJoinThreadStream',
  'lgStreamThreadEvents',
  'a2aSubscribeToTask',
  'a2aSubscribeToTaskByGet',
]);

/** What comes of a stream at once. */
async function beginningOf(reply: Response): Promise<string> {
  if (reply.status !== 200 || !reply.body) return reply.text();
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  const timer = setTimeout(() => void reader.cancel(), 400);
  let text = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    text += value;
  }
  clearTimeout(timer);
  return text;
}

/** What says that a request of operators is about alice, as far as its row takes it. */
function ofAlice({ input }: Row): Readonly<Record<string, string>> {
  const known = (input as { properties?: object } | undefined)?.properties ?? {};
  const given = { user_id: 'alice', reason: 'why', show: 'contents' };
  return Object.fromEntries(Object.entries(given).filter(([name]) => name in known));
}

function bodyOf(row: Row, ids: Ids): object {
  const special = inputs[row.name];
  if (special) return special(ids);
  if (row.forOperators) return ofAlice(row);
  const sample = (row.input ? sampleOf(row.input) : {}) as { config?: object; messages?: object[] };
  const named = row.input && 'config' in ((row.input as { properties?: object }).properties ?? {});
  return named ? { ...sample, config: { ...sample.config, thread_id: ids.thread_id } } : sample;
}

/** What paths name that belongs to no owner. */
const nobodys = { agent: testedAgent, revision: 'v1', version: '1', step: '0', namespace: 'sub', config: 'none' };

/** Ids of the same form that nobody has. */
const absentAs = (ids: Ids): Ids =>
  Object.fromEntries(
    Object.entries(ids).map(([name, id]) => [name, isUuid.test(String(id)) ? newId() : `absent-${String(id)}`]),
  ) as unknown as Ids;

const isUuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

const varying =
  /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}(?:Z|\+00:00)|"open_runs":\d+|"state":"drain(?:ing|ed)"|"secret":"[0-9a-f]{64}"|"ticket":"[\w-]{43}"|"timestamp":\d+|(?:chatcmpl-|_)[0-9a-f]{32}|"(?:created|created_at|completed_at)":\d+/g;

/** A reply without what differs between any two requests: the ids asked for, ids and secrets made, times, what sweeps count, and which parts are slow just now. */
const constant = ({ status, body }: Sent, ids: Ids, sub: string): string =>
  `${String(status)} ${[...Object.values(ids as unknown as Record<string, string>), sub]
    .reduce((text, id) => text.replaceAll(id, '…'), body)
    .replaceAll(/,"workers":\d+/g, '')
    .replaceAll(/"degraded":\[[^\]]*\]/g, '"degraded":[…]')
    .replaceAll(/^id: \d{13}-/gm, 'id: …-')
    // The ids of MCP's events are places in Base64.
    .replaceAll(/^id: [\w-]{40,}$/gm, 'id: …')
    .replace(varying, '…')}`;

// One after the other: a thousand tests with their requests at once are more connections than a busy machine opens in time.
const declare = test.serial;
const open = (row: Row): boolean =>
  row.name === 'a2aCard' || dialects.every(({ prefix }) => !row.path.startsWith(prefix));
const rows = dialects.flatMap((dialect) => dialect.rows);
const routes = rows.flatMap((row) => [row, ...row.aliases].map((route) => ({ row, route })));
let cases = 0;

/** What the owner has, one of each kind. */
let hers: readonly Ids[] = [];
let before = '';

test.before(async () => {
  const secured = { auth: 'jwt', access };
  service = await (isCluster ? openShape('obedient', env, secured) : openEmbedded('obedient', env, secured, dialects));
  ({ url } = service);
  hers = await Promise.all(kinds.map((kind) => make('alice', kind)));
  before = await readAll();
});
test.after.always(() => service?.[Symbol.asyncDispose]());

/** All that the owner can read. */
async function readAll(): Promise<string> {
  const paths = hers.flatMap(({ thread_id, memory_id, file_id, assistant_id, trigger_id, schedule_id, webhook_id }) => [
    `/v1/threads/${thread_id}`,
    `/v1/threads/${thread_id}/runs`,
    `/v1/threads/${thread_id}/state`,
    `/v1/threads/${thread_id}/messages`,
    `/v1/threads/${thread_id}/checkpoints`,
    `/v1/threads/${thread_id}/shares`,
    `/v1/store/memories/${memory_id}`,
    `/v1/files/${file_id}/info`,
    `/v1/files?search=${file_id}`,
    `/v1/assistants/${assistant_id}`,
    `/v1/assistants/${assistant_id}/versions`,
    `/v1/triggers/${trigger_id}`,
    `/v1/schedules/${schedule_id}`,
    `/v1/webhooks/${webhook_id}`,
  ]);
  const replies = await Promise.all(
    paths.map(async (path) => (await clientOf('alice').send('GET', path)).body.data as unknown),
  );
  const items = await Promise.all(
    hers.map(async ({ thread_id }) => {
      const path = `/langgraph/store/items?namespace=${itemOf({ thread_id }).namespace.join('.')}&key=kept`;
      return (await fetch(`${url}${path}`, { headers: signedIn('alice') })).text();
    }),
  );
  return JSON.stringify([...replies, ...items]);
}

/** What the owner is answered: the result of a run that failed is its failure, no thread here is as a failed run left it, and without a backend nobody deploys agents. */
/** Operations that no agent can serve: they are refused with the reason. */
const refusedToAll: ReadonlySet<string> = new Set([
  ...['oaCompactResponse', 'oaCountInputTokens', 'oaListCompletions', 'oaListCompletionMessages'],
  ...['oaGetCompletion', 'oaUpdateCompletion', 'oaDeleteCompletion'],
]);

const expectedOf = (row: Row, [, thread]: Kind): number => {
  if (row.name === 'retryRun') return 409;
  // No thread here has a question.
  if (row.path.includes('{question_id}')) return 404;
  // It is for those with whom the thread is shared.
  if (row.path.includes('/shared/')) return 404;
  // The record keeps a run as long as its thread.
  if (row.name === 'lgDeleteRun') return 422;
  // The runs here were started in another dialect, and said nothing of items.
  if (row.name === 'oaListInputItems') return 404;
  if (refusedToAll.has(row.name)) return 400;
  // No event is named behind which a stream would go on.
  if (row.name === 'mcpResume') return 405;
  // It is a WebSocket, and this no request for one.
  if (row.answer === 'socket') return 422;
  if (typeof row.access === 'object' && ['agents', 'admin'].includes(row.access.resource)) return 403;
  if (row.name === 'a2aGetPush') return 404;
  // A task that has ended is neither cancelled nor followed, and takes no address.
  if (row.name === 'a2aCancelTask') return 400;
  if (row.name.startsWith('a2aSubscribeToTask') || row.name === 'a2aCreatePush')
    return thread === threadKinds['that waits for a tool'] ? 200 : 400;
  // An event is taken by its signature, and not by credentials.
  if (row.name === 'receiveEvent') return 401;
  return row.name === 'waitForRun' && thread === threadKinds['whose run failed'] ? 500 : row.status;
};

/** Whoever it is from, a call that names nothing of the caller's is answered as one that names nothing. */
for (const { name, path, body, headers } of rpcCalls) {
  const send = async (ids: Ids, more: Readonly<Record<string, string>>): Promise<Sent> => {
    const init = { 'content-type': 'application/json', 'a2a-version': '1.0', ...headers(ids), ...more };
    const reply = await fetch(`${url}${path}`, { method: 'POST', headers: init, body: JSON.stringify(body(ids)) });
    return { status: reply.status, body: await (name.startsWith('Subscribe') ? beginningOf(reply) : reply.text()) };
  };

  declare(`${path}: ${name}: to another user, the owner's objects are as absent as any`, async (t) => {
    for (const [index, ids] of hers.entries()) {
      const [mallory, trent] = [`mallory-${name}-${String(index)}`, `trent-${name}-${String(index)}`];
      const nowhere = absentAs(ids);
      const foreign = await send(ids, signedIn(mallory));
      const absent = await send(nowhere, signedIn(trent));
      t.is(constant(foreign, ids, mallory), constant(absent, nowhere, trent), `${name}: ${kinds[index]?.[0] ?? ''}`);
      t.true(foreign.status < 500, foreign.body);
      t.false(foreign.body.includes('cabbage'), 'mixed: something of the owner is told');
      cases += 1;
    }
  });

  for (const [who, credentials] of Object.entries(unauthenticated))
    declare(`${path}: ${name}: ${who} is refused`, async (t) => {
      for (const ids of hers) {
        const { status, body: text } = await send(ids, credentials());
        t.is(status, 401, text);
        t.false(text.includes('cabbage'));
        cases += 1;
      }
    });

  declare(`${path}: ${name}: the owner is served`, async (t) => {
    const served = async ([index, kind]: readonly [number, Kind]): Promise<void> => {
      const own = `owner-${name}-${String(index)}`;
      const { status, body: text } = await send(await make(own, kind), signedIn(own));
      t.true([200, 202].includes(status), `${name}: ${kind[0]}: ${text}`);
      cases += 1;
    };
    await eachOf([...kinds.entries()], isCluster ? kinds.length : 1, served);
  });
}

for (const { row, route } of routes) {
  const name = `${route.method} ${route.path}`;

  declare(`${name}: to another user, the owner's objects are as absent as any`, async (t) => {
    for (const [index, ids] of hers.entries()) {
      const [mallory, trent] = [`mallory-${name}-${String(index)}`, `trent-${name}-${String(index)}`];
      const nowhere = absentAs(ids);
      const foreign = await sendTo(row, route, ids, signedIn(mallory));
      const absent = await sendTo(row, route, nowhere, signedIn(trent));
      t.is(constant(foreign, ids, mallory), constant(absent, nowhere, trent), `${name}: ${kinds[index]?.[0] ?? ''}`);
      t.false(foreign.body.includes('cabbage'), 'mixed: something of the owner is told');
      cases += 1;
    }
  });

  declare(`${name}: what roles let a caller at is what is decided of them, and nothing else`, async (t) => {
    for (const [index, roles] of rolesTogether.entries()) {
      const ids = hers[index % hers.length];
      if (!ids) continue;
      const mallory = `mallory-${roles.join()}-${name}`;
      const { status, body } = await sendTo(row, route, ids, signedIn(mallory, roles));
      const about = `${name} as ${roles.join()}: ${body.slice(0, 300)}`;
      if (row.forOperators) {
        const caller = { owner: ownerOf(mallory), roles };
        const may = decide(rules, caller, { kind: 'admin', ...row.forOperators });
        const mayRead = decide(rules, caller, { kind: 'admin', what: row.forOperators.what, contents: true });
        const isWhole = 'show' in ofAlice(row);
        t.is(status === 403, !may || (isWhole && !mayRead), about);
        if (!mayRead) t.false(body.includes('cabbage'), about);
      } else {
        const nowhere = absentAs(ids);
        const trent = `trent-${roles.join()}-${name}`;
        const absent = await sendTo(row, route, nowhere, signedIn(trent, roles));
        t.is(constant({ status, body }, ids, mallory), constant(absent, nowhere, trent), about);
        t.false(body.includes('cabbage'), about);
      }
      cases += 1;
    }
  });

  for (const [who, headers] of Object.entries(unauthenticated)) {
    declare(
      `${name}: ${who} is ${open(row) && route.path !== '/ping' ? 'served, because it tells nothing of anyone' : 'refused'}`,
      async (t) => {
        for (const ids of hers) {
          const { status, body } = await sendTo(row, route, ids, headers());
          t.is(status, open(row) && route.path !== '/ping' ? 200 : 401, body);
          t.false(body.includes('cabbage'));
          cases += 1;
        }
      },
    );
  }

  declare(`${name}: the owner is served`, async (t) => {
    const served = async ([index, kind]: readonly [number, Kind]): Promise<void> => {
      // A deletion takes the object with it: each owner brings objects of their own.
      const own = `owner-${name}-${String(index)}`;
      const ids = await make(own, kind);
      const { status, body } = await sendTo(row, route, ids, signedIn(own));
      t.is(status, expectedOf(row, kind), `${name}: ${kind[0]}: ${body}`);
      cases += 1;
    };
    // In a cluster the first webhook of an owner takes seconds: together they wait once.
    await eachOf([...kinds.entries()], isCluster ? kinds.length : 1, served);
  });
}

test.after('the matrix is as large as it is meant to be, and all that is the owner’s is as it was', async (t) => {
  t.true(cases >= (isCluster ? 1800 : 5000), `${String(cases)} cases`);
  t.log(`${String(cases)} cases`);
  t.is(await readAll(), before);
});
