import test, { type ExecutionContext } from 'ava';
import { fromUnknown, type ErrorCode } from '@agent-workflow/kit/errors';
import { within } from '@agent-workflow/protos/call';
import type { Execution } from '@agent-workflow/protos/execution';
import { createGrants, type GrantedRun } from '@agent-workflow/protos/grants';
import type { PoolRule } from '@agent-workflow/protos/pools';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import { definitionOf, methodName, poolRuleOf, type Context } from '@agent-workflow/protos/wire/definitions';
import { accept, bytes } from './thread-calls.ts';
import { grantSecrets, openPoolGround, platformToken, tokenOf } from './pool-ground.ts';
import { byLoad } from '../by-load.ts';

/** Every RPC of every service, as a pool may call it. A new one is in this matrix by itself. */
const rpcs = (['threads', 'execution', 'memory'] as const).flatMap((context) =>
  Object.entries(definitionOf(context)).map(([rpc, { responseStream }]) => {
    const method = methodName(rpc);
    return { context, method, name: `${context}.${method}`, rule: poolRuleOf(context, method), responseStream };
  }),
);

const isOfRun = (rule: PoolRule): boolean => rule.startsWith('run');

interface Matrix {
  readonly reached: string[];
  readonly ground: Awaited<ReturnType<typeof openPoolGround>>;
  /** Of a run of the pool `billing`, which it has claimed. */
  readonly own: Run;
  /** Of a run of another agent and owner, which another pool has claimed. */
  readonly foreign: Run;
  /** Calls as a pool, and gives the code of the refusal. */
  readonly codeOf: (rpc: (typeof rpcs)[number], request: object, shown?: Shown) => Promise<ErrorCode | 'ok'>;
}

interface Run {
  readonly ids: { readonly owner: string; readonly threadId: string; readonly runId: string; readonly epoch: number };
  readonly agent: string;
  readonly grant: string;
}

interface Shown {
  readonly grant?: string | undefined;
  readonly pool?: string;
}

/** Nothing of it may be called by a pool. */
const execution = Object.fromEntries(
  Object.keys(definitionOf('execution')).map((rpc) => [methodName(rpc), () => Promise.reject(new Error('reached'))]),
) as unknown as Execution;

const pools = { billing: ['billing'], twin: ['billing'], support: ['support'] };

const claimAs = async (
  threads: Threads,
  run: Omit<Run, 'grant' | 'ids'> & { ids: Omit<Run['ids'], 'epoch'> },
): Promise<ClaimedRun> =>
  threads.claimRun({ ...run.ids, agent: run.agent, workerId: `worker of ${run.agent}` }, within(byLoad(30_000)));

async function openMatrix(t: ExecutionContext): Promise<Matrix> {
  const reached: string[] = [];
  const ground = await openPoolGround({ pools, execution, onReached: (method) => reached.push(method) });
  t.teardown(() => ground[Symbol.asyncDispose]());
  const platform = ground.as('threads', platformToken);
  const begin = async (pool: keyof typeof pools, owner: string): Promise<Run> => {
    const [ids, agent] = [{ owner, threadId: `t-${pool}`, runId: `r-${pool}` }, pool];
    await accept(platform, ids.runId, { ...ids, agent });
    const { epoch, grant } = await claimAs(ground.as('threads', tokenOf(pool)), { ids, agent });
    return { ids: { ...ids, epoch }, agent, grant: grant?.token ?? '' };
  };
  const [own, foreign] = [await begin('billing', 'u:ada'), await begin('support', 'u:eve')];
  const clients = new Map<string, object>();
  const clientOf = (context: Context, pool: string): object => {
    const key = `${context} ${pool}`;
    const client = clients.get(key) ?? ground.as(context, tokenOf(pool));
    clients.set(key, client);
    return client;
  };
  return {
    ...{ reached, ground, own, foreign },
    codeOf: async ({ context, method, responseStream }, request, { grant, pool = 'billing' } = {}) => {
      const client = clientOf(context, pool) as Readonly<Record<string, AnyMethod>>;
      const result = client[method]?.(request, { ...within(byLoad(30_000)), grant });
      try {
        if (responseStream) await (result as AsyncIterable<object>)[Symbol.asyncIterator]().next();
        else await (result as Promise<object>);
        return 'ok';
      } catch (error) {
        return fromUnknown(error).code;
      }
    },
  };
}

type AnyMethod = (request: object, call: object) => Promise<object> | AsyncIterable<object>;

/** Everything that names something in a request of any RPC; what an RPC does not have is left out of it. */
const naming = ({ ids, agent }: Pick<Run, 'ids' | 'agent'>): object => ({
  ...{ ...ids, agent, memoryId: 'm', messageId: 'm', checkpointId: 'c', callKey: 'k', resultJson: bytes('1') },
  ...{ workerId: 'w', content: 'text', category: 'general', memoryType: 'semantic', metadataJson: bytes('{}') },
  ...{
    query: 'text',
    selection: {},
    retrievalStrategy: 'similarity',
    distanceMetric: 'cosine',
    limit: 10,
    maxTokens: 100,
  },
  ...{
    status: 'stopped',
    step: 0,
    at: 1,
    fromStep: 0,
    newThreadId: 'n',
    multitaskStrategy: 'enqueue',
    granularity: 'low',
  },
});

test('a pool is refused at every RPC for the run of another agent, whatever grant it shows', async (t) => {
  const { reached, own, foreign, codeOf } = await openMatrix(t);
  reached.length = 0;
  for (const rpc of rpcs)
    for (const grant of [undefined, own.grant, foreign.grant, ''])
      t.is(await codeOf(rpc, naming(foreign), { grant }), 'PermissionDenied', rpc.name);
  t.deepEqual(reached, []);
});

test('a pool is refused at every RPC that no pool may call, also for its own run', async (t) => {
  const { reached, own, codeOf, ground } = await openMatrix(t);
  reached.length = 0;
  const never = rpcs.filter(({ rule }) => rule === 'never');
  t.true(never.length > 40);
  for (const rpc of never) t.is(await codeOf(rpc, naming(own), { grant: own.grant }), 'PermissionDenied', rpc.name);
  t.deepEqual(reached, []);
  t.is(new Set(ground.refusals.map(({ method }) => method)).size, never.length);
});

test('a grant is good for its own owner, thread, run and claim, each', async (t) => {
  const { reached, own, foreign, codeOf } = await openMatrix(t);
  reached.length = 0;
  const fields = (context: Context, method: string): readonly string[] => fieldsOf(context, method);
  let tried = 0;
  for (const rpc of rpcs.filter(({ rule }) => isOfRun(rule)))
    for (const field of ['owner', 'threadId', 'runId', 'epoch'] as const) {
      if (!fields(rpc.context, rpc.method).includes(field)) continue;
      tried++;
      const other = field === 'epoch' ? own.ids.epoch + 1 : foreign.ids[field];
      const request = { ...naming(own), [field]: other };
      t.is(await codeOf(rpc, request, { grant: own.grant }), 'PermissionDenied', `${rpc.name} ${field}`);
    }
  t.true(tried > 25);
  t.deepEqual(reached, []);
});

/** The fields of a request that are there when it is sent whole. */
function fieldsOf(context: Context, method: string): readonly string[] {
  const definition = definitionOf(context)[method.charAt(0).toUpperCase() + method.slice(1)];
  if (!definition) throw new Error(method);
  const whole = definition.requestSerialize({ owner: 'o', threadId: 't', runId: 'r', epoch: 7 });
  const read = definition.requestDeserialize(whole) as Readonly<Record<string, unknown>>;
  return Object.keys(read).filter(
    (field) => read[field] === { owner: 'o', threadId: 't', runId: 'r', epoch: 7 }[field],
  );
}

test('a grant that has expired, is forged, of another secret or of another pool is none', async (t) => {
  const { reached, own, codeOf } = await openMatrix(t);
  reached.length = 0;
  const granted: Omit<GrantedRun, 'until'> = { ...own.ids, agent: own.agent, pool: 'billing' };
  const issued = (secret: string, at: number, parts: Partial<GrantedRun> = {}): string =>
    createGrants([secret], () => at).issue({ ...granted, ...parts }).token;
  const [secret] = grantSecrets;
  const expired = issued(secret, Date.now() - 60_000);
  const [payload = '', signature = ''] = own.grant.split('.');
  const longer = Buffer.from(JSON.stringify({ ...granted, until: Date.now() + 3_600_000 })).toString('base64url');
  const bad = {
    forged: `${longer}.${signature}`,
    unsigned: `${payload}.`,
    cut: payload,
    'signed twice': `${own.grant}.${signature}`,
    'of another secret': issued('a secret that nobody else has, as long', Date.now()),
    'of a twin pool': issued(secret, Date.now(), { pool: 'twin' }),
    'of an agent that the pool has no more': issued(secret, Date.now(), { agent: 'support' }),
  };
  for (const rpc of rpcs.filter(({ rule }) => isOfRun(rule))) {
    for (const [title, grant] of Object.entries(bad))
      t.is(await codeOf(rpc, naming(own), { grant }), 'PermissionDenied', `${rpc.name}: ${title}`);
    t.is(await codeOf(rpc, naming(own), { grant: own.grant, pool: 'twin' }), 'PermissionDenied', rpc.name);
    if (rpc.rule === 'run') t.is(await codeOf(rpc, naming(own), { grant: expired }), 'PermissionDenied', rpc.name);
  }
  t.deepEqual(reached, []);
  const renewal = rpcs.find(({ rule }) => rule === 'run, also expired');
  if (!renewal) return t.fail();
  t.is(await codeOf(renewal, naming(own), { grant: expired }), 'ok');
});

test('a pool calls what it may for its own agent and run', async (t) => {
  const { reached, own, codeOf } = await openMatrix(t);
  reached.length = 0;
  const may = rpcs.filter(({ rule }) => rule !== 'never');
  for (const rpc of may) {
    const code = await codeOf(rpc, naming(own), { grant: own.grant });
    t.not(code, 'PermissionDenied', rpc.name);
  }
  // What a closed list of the request does not allow comes not so far, and is no refusal of the pool.
  for (const { name } of may.filter(({ name }) => name !== 'threads.registerRevision'))
    t.true(reached.includes(name), name);
});

test('a pool uses the scopes of memories that its run may, as the options of the run say, and no others', async (t) => {
  const { ground, own, codeOf } = await openMatrix(t);
  const knowledge = {
    'shared:handbook': { read: true },
    'shared:prices': { read: ['support'], write: ['billing'] },
    'shared:closed': { write: ['support'] },
    'agent:support': { read: true },
  };
  const platform = ground.as('threads', platformToken);
  const ids = { owner: own.ids.owner, threadId: 't-knowing', runId: 'r-knowing' };
  await accept(platform, ids.runId, { ...ids, agent: 'billing', optionsJson: bytes(JSON.stringify({ knowledge })) });
  const { epoch, grant } = await claimAs(ground.as('threads', tokenOf('billing')), { ids, agent: 'billing' });
  const knowing = { ids: { ...ids, epoch }, agent: 'billing', grant: grant?.token ?? '' };
  const readable = ['own', 'agent:billing', 'shared:handbook', 'shared:prices', 'agent:support'];
  const writable = ['own', 'agent:billing', 'shared:prices'];
  const all = new Set([...readable, 'shared:closed', 'shared:none', 'agent:other']);
  for (const rpc of rpcs.filter(({ context, rule }) => context === 'memory' && isOfRun(rule)))
    for (const scope of all) {
      const request = rpc.method === 'search' ? { scopes: ['own', scope] } : { scope };
      const reads = ['search', 'list'].includes(rpc.method);
      const codes = [];
      for (const run of [knowing, own])
        codes.push((await codeOf(rpc, { ...naming(run), ...request }, { grant: run.grant })) === 'PermissionDenied');
      const isOfRunAlone = scope === 'own' || scope === 'agent:billing';
      t.deepEqual(codes, [!(reads ? readable : writable).includes(scope), !isOfRunAlone], `${rpc.name} ${scope}`);
    }
  const renewed = await ground
    .as('threads', tokenOf('billing'))
    .renewGrant(knowing.ids, { ...within(byLoad(30_000)), grant: knowing.grant });
  t.like(ground.grants.read(renewed.grant?.token ?? ''), {
    knowledge: { 'shared:handbook': { read: true }, 'shared:prices': { write: true }, 'agent:support': { read: true } },
  });
});

test('a pool that names its own agent claims no run of another, and hears nothing of it', async (t) => {
  const { ground, foreign, codeOf } = await openMatrix(t);
  const claim = rpcs.find(({ name }) => name === 'threads.claimRun');
  if (!claim) return t.fail();
  const platform = ground.as('threads', platformToken);
  const waiting = { ...foreign.ids, threadId: 't-waiting', runId: 'r-waiting' };
  await accept(platform, waiting.runId, { ...waiting, agent: 'support' });
  t.is(await codeOf(claim, { ...naming({ ids: waiting, agent: 'billing' }) }), 'Stale');
  t.is(await codeOf(claim, { ...waiting, workerId: 'w' }), 'PermissionDenied', 'without a name it is the default');
  const { status } = await platform.getRun({ owner: waiting.owner, runId: waiting.runId }, within(byLoad(30_000)));
  t.is(status, 'queued');
});

test('after a takeover the grant of the claim before is not renewed, and fenced calls with it are refused', async (t) => {
  const { ground, own, codeOf } = await openMatrix(t);
  const twin = ground.as('threads', tokenOf('twin'));
  const { epoch: takeoverEpoch, ...ids } = own.ids;
  const taken = await twin.claimRun(
    { ...ids, agent: 'billing', workerId: 'w2', takeoverEpoch },
    within(byLoad(30_000)),
  );
  t.true(taken.epoch > takeoverEpoch);
  const byName = (name: string) => rpcs.find((rpc) => rpc.name === name) as (typeof rpcs)[number];
  for (const name of ['threads.renewGrant', 'threads.commitStep', 'threads.releaseRun', 'threads.noteToolStarted']) {
    t.is(await codeOf(byName(name), naming(own), { grant: own.grant }), 'Stale', name);
    const later = { ...naming(own), epoch: taken.epoch };
    t.is(await codeOf(byName(name), later, { grant: own.grant }), 'PermissionDenied', name);
  }
});

test('the grant of a run that has ended opens what its end is published from until it expires, and changes nothing', async (t) => {
  const { ground, own, codeOf } = await openMatrix(t);
  const { owner, runId } = own.ids;
  await ground.as('threads', platformToken).endRun({ owner, runId, status: 'stopped' }, within(byLoad(30_000)));
  const byName = (name: string) => rpcs.find((rpc) => rpc.name === `threads.${name}`) as (typeof rpcs)[number];
  for (const name of ['getRun', 'getState', 'listRunMessages', 'listRunSteps', 'listCheckpoints'])
    t.is(await codeOf(byName(name), naming(own), { grant: own.grant }), 'ok', name);
  for (const name of ['renewGrant', 'commitStep', 'releaseRun', 'noteToolStarted'])
    t.is(await codeOf(byName(name), naming(own), { grant: own.grant }), 'Stale', name);
});

test('a pool that is taken out of the file is refused, also on the streams that it has open', async (t) => {
  const { ground, own } = await openMatrix(t);
  const threads = ground.as('threads', tokenOf('billing'));
  const renew = async (): Promise<object> =>
    threads.renewGrant(own.ids, { ...within(byLoad(30_000)), grant: own.grant });
  for (let turn = 0; turn < 20; turn++) await renew();
  ground.remove('billing');
  await t.throwsAsync(renew());
});

test('texts of a pool that are no JSON are refused before they come to a service, those of the platform are not read', async (t) => {
  const { ground, reached, own, codeOf } = await openMatrix(t);
  const junk = bytes('1},"injected":{"a":1');
  const bad: Readonly<Record<string, readonly object[]>> = {
    'threads.commitStep': [
      { fields: { n: junk } },
      { progressJson: junk },
      { usageJson: '{{' },
      { at: 8.7e15 },
      { wakeAt: 9e15 },
      { end: { status: 'interrupted', iterations: 1, interruptsJson: '{{' } },
      { messages: [{ messageId: 'm', json: junk }] },
      { messages: [{ messageId: '', json: bytes('{}') }] },
      { work: { startedAt: -1, attempt: 1, inputTokens: 0, outputTokens: 0 } },
      { fused: { at: 1, messages: [{ messageId: 'm', json: junk }] } },
    ],
    'threads.noteToolResult': [{ resultJson: junk }],
    'threads.registerRevision': [{ definition: { graphJson: junk, fieldsJson: bytes('{}'), toolsJson: bytes('[]') } }],
    'memory.store': [{ metadataJson: junk }],
    'memory.search': [{ optionsJson: junk }, { selection: { filtersJson: bytes('[]') } }],
  };
  reached.length = 0;
  for (const [name, parts] of Object.entries(bad)) {
    const rpc = rpcs.find((one) => one.name === name);
    if (!rpc) return t.fail(name);
    for (const part of parts)
      t.is(await codeOf(rpc, { ...naming(own), ...part }, { grant: own.grant }), 'Invalid', JSON.stringify(part));
  }
  t.deepEqual(reached, []);
  t.is(ground.misfits.length, Object.values(bad).flat().length);
  t.true(ground.misfits.includes('billing threads.registerRevision definition.graphJson: must be JSON'));
  await t.throwsAsync(
    ground
      .as('threads', platformToken)
      .noteToolResult(
        { ...own.ids, epoch: own.ids.epoch + 1, step: 0, callKey: 'k', resultJson: junk },
        within(byLoad(30_000)),
      ),
    { code: 'Stale' },
  );
});
