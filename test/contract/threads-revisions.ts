import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import { hashOfDefinition } from '@agent-workflow/protos/definition-checks';
import type {
  RegisteredAgent,
  RegisterRevisionRequest,
  RevisionDefinition,
  SleepingRun,
  Threads,
} from '@agent-workflow/protos/threads';
import {
  accept,
  answering,
  bytes,
  call,
  calling,
  claim,
  commit,
  completed,
  interrupted,
  noInput,
  owner,
  refused,
  thread1,
  twoCalls,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const agent = 'support';

const drawingOf = (node: string): Uint8Array =>
  bytes(JSON.stringify({ nodes: [{ id: node, type: 'node' }], edges: [] }));

const definitionOf = (revision: string): RevisionDefinition => ({
  ...{ graphJson: drawingOf(revision), fieldsJson: bytes('{}'), toolsJson: bytes('[]'), nodes: ['a'] },
  codeFields: { reduced: ['sum'], checked: [] },
});

const register = async (
  threads: Threads,
  revision: string,
  parts: Partial<RegisterRevisionRequest> = {},
): Promise<RegisteredAgent> => {
  const definition = definitionOf(revision);
  const request = { agent, revision, schemaHash: hashOfDefinition(definition), definition, ...parts };
  return threads.registerRevision(request, call());
};

/** Registers the revision and routes all new runs to it. */
async function makeCurrent(threads: Threads, revision: string): Promise<void> {
  const { routing } = await register(threads, revision);
  await register(threads, revision, { makeCurrent: { version: routing.version } });
}

const statesOf = ({ revisions }: RegisteredAgent): Record<string, string> =>
  Object.fromEntries(revisions.map(({ revision, state }) => [revision, state]));

const revisionOf = async (threads: Threads, runId: string): Promise<string | undefined> =>
  (await threads.getRun({ owner, runId }, call())).revision;

const retire = async (threads: Threads, revision: string): Promise<RegisteredAgent> =>
  threads.retireRevision({ agent, revision }, call());

/** What the record promises about the revisions of agents. */
export function threadsRevisionsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  // The registry

  check(
    'a revision is registered once, whatever is sent again, and described as it was registered',
    async (t, threads) => {
      await refused(t, threads.getRegisteredAgent({ agent }, call()), 'NotFound');
      const first = await register(threads, 'r1', { description: 'Helps' });
      t.deepEqual(await register(threads, 'r1', { description: 'Helps' }), first);
      t.like(first, { agent, description: 'Helps', routing: { version: 0 } });
      t.deepEqual(statesOf(first), { r1: 'registered' });
      t.deepEqual(await threads.getRegisteredAgent({ agent }, call()), first);
      t.deepEqual((await threads.listRegisteredAgents({}, call())).agents, [first]);
      const { graphJson, nodes, codeFields } = await threads.getRevision({ agent, revision: 'r1' }, call());
      t.deepEqual([Buffer.from(graphJson), nodes], [Buffer.from(drawingOf('r1')), ['a']]);
      t.deepEqual(codeFields, { reduced: ['sum'], checked: [] });
      await refused(t, threads.getRevision({ agent, revision: 'r2' }, call()), 'NotFound');
    },
  );

  check('a revision with another schema is refused, and the registered one stays', async (t, threads) => {
    await register(threads, 'r1');
    const definition = { ...definitionOf('x'), nodes: [] };
    const schemaHash = hashOfDefinition(definition);
    await refused(t, register(threads, 'r1', { schemaHash, definition }), 'Conflict');
    const stays = async (): Promise<void> => {
      t.deepEqual((await threads.getRevision({ agent, revision: 'r1' }, call())).nodes, ['a']);
    };
    await stays();
    // Nor does another definition come in under the hash of the registered one.
    const hash = hashOfDefinition(definitionOf('r1'));
    await refused(t, register(threads, 'r1', { schemaHash: hash, definition }), 'Invalid');
    await stays();
  });

  check('what is no name, no hash or too large is refused by its field', async (t, threads) => {
    const parts: Partial<RegisterRevisionRequest>[] = [
      { agent: 'Support' },
      { revision: '' },
      { revision: 'a b' },
      { revision: 'x'.repeat(129) },
      { schemaHash: 'ab' },
      { schemaHash: 'ab'.repeat(32) },
      { description: 'x'.repeat(sizes.agentDescription + 1) },
    ];
    for (const part of parts) await refused(t, register(threads, 'r1', part), 'Invalid');
    await refused(t, threads.getRegisteredAgent({ agent }, call()), 'NotFound');
  });

  check('a definition that no reader could use is refused by its field', async (t, threads) => {
    const good = definitionOf('a');
    const deep = `{"a":{"type":"any","default":${'['.repeat(20_000)}${']'.repeat(20_000)}}}`;
    const bad: ['graphJson' | 'fieldsJson' | 'toolsJson', string][] = [
      ...['', '[]', '{bad', '{}', '{"nodes":5}', '{"nodes":[5],"edges":[]}', '{"nodes":[],"edges":[1]}'].map(
        (text): ['graphJson', string] => ['graphJson', text],
      ),
      ...['', '[1]', '{"a":5}', '{"a":{"type":"x"}}', '{"a":{"type":"any","schema":42}}', deep].map(
        (text): ['fieldsJson', string] => ['fieldsJson', text],
      ),
      ['fieldsJson', '{"a":{"type":"any","description":7}}'],
      ...['__proto__', 'constructor', 'prototype', '', 'a\\u0000'].map((name): ['fieldsJson', string] => [
        'fieldsJson',
        `{"${name}":{"type":"any"}}`,
      ]),
      ['toolsJson', '[{"name":"__proto__"}]'],
      ['graphJson', '{"nodes":[{"id":"__proto__","type":"node"}],"edges":[]}'],
      ...['', '{}', '[1]', '[{"name":5}]', '[{"name":"a","parameters":1}]'].map((text): ['toolsJson', string] => [
        'toolsJson',
        text,
      ]),
    ];
    for (const [field, text] of bad) {
      const registering = register(threads, 'r1', { definition: { ...good, [field]: bytes(text) } });
      const error = await t.throwsAsync(registering, { code: 'Invalid' }, text.slice(0, 50));
      t.regex(error.message, new RegExp(field), text.slice(0, 50));
    }
    for (const node of ['a\u0000', '__proto__'])
      await refused(t, register(threads, 'r1', { definition: { ...good, nodes: [node] } }), 'Invalid');
    for (const codeFields of [
      { reduced: ['a\u0000'], checked: [] },
      { reduced: [], checked: [''] },
    ])
      await refused(t, register(threads, 'r1', { definition: { ...good, codeFields } }), 'Invalid');
    // A message over the wire may lack them.
    await refused(t, register(threads, 'r1', { definition: undefined as never }), 'Invalid');
    await refused(t, register(threads, 'r1', { definition: { ...good, codeFields: undefined as never } }), 'Invalid');
    await refused(t, threads.getRegisteredAgent({ agent }, call()), 'NotFound');
  });

  check('a schema of a field or tool that is no JSON Schema is refused by the place in it', async (t, threads) => {
    const good = definitionOf('a');
    const schema = { type: 'object', properties: { city: { type: 'emperor' } } };
    const fieldsJson = bytes(JSON.stringify({ trip: { type: 'object', schema } }));
    const toolsJson = bytes(JSON.stringify([{ name: 'look', description: '', parameters: { required: 'city' } }]));
    const fault = async (parts: Partial<RevisionDefinition>): Promise<string> =>
      refused(t, register(threads, 'r1', { definition: { ...good, ...parts } }), 'Invalid');
    t.regex(
      await fault({ fieldsJson }),
      /^definition\.fieldsJson\.trip\.schema\.properties\.city\.type: must be one of/,
    );
    t.is(await fault({ toolsJson }), 'definition.toolsJson.0.parameters.required: must be a list of different texts');
    await refused(t, threads.getRegisteredAgent({ agent }, call()), 'NotFound');
  });

  // The fields of a revision

  /** A run that is claimed, of a revision that declares these fields. */
  const claimedWith = async (threads: Threads, fields: object): Promise<number> => {
    const definition = { ...definitionOf('a'), fieldsJson: bytes(JSON.stringify(fields)) };
    await register(threads, 'a', { definition, schemaHash: hashOfDefinition(definition), makeCurrent: { version: 0 } });
    await accept(threads, 'r1', { agent });
    return (await claim(threads, 'r1', { agent, revision: 'a' })).epoch;
  };
  const declared = { title: { type: 'string' }, context: { type: 'array' }, context_summary: { type: 'string' } };

  check('a step writes the fields that the revision of its run declares, and no others', async (t, threads) => {
    const epoch = await claimedWith(threads, declared);
    for (const name of ['other', 'context', 'constructor', 'Title']) {
      const writing = commit(threads, 'r1', epoch, {
        fields: { title: bytes('"a"'), [name]: bytes('1') },
        next: ['a'],
      });
      t.is(await refused(t, writing, 'Invalid'), `fields.${name}: is not a field of the state`);
    }
    t.deepEqual((await threads.getState(thread1, call())).fields, {});
    const fields = { title: bytes('"b"'), context_summary: bytes('"so far"') };
    await commit(threads, 'r1', epoch, { fields, end: completed });
    t.deepEqual(Object.keys((await threads.getState(thread1, call())).fields).toSorted(), ['context_summary', 'title']);
  });

  check('a step writes values of the types of its fields, and no others', async (t, threads) => {
    const epoch = await claimedWith(threads, {
      ...declared,
      ...{ count: { type: 'integer' }, notes: { type: 'object' }, free: { type: 'any' } },
    });
    for (const [name, json, why] of [
      ['title', '7', 'must be a string, not number'],
      ['count', '"7"', 'must be an integer, not string'],
      ['count', '7.5', 'must be an integer, not number'],
      ['notes', ' [1]', 'must be an object, not array'],
      ['notes', 'null', 'must be an object, not null'],
      ['context_summary', '{}', 'must be a string, not object'],
    ] as const) {
      const writing = commit(threads, 'r1', epoch, { fields: { free: bytes('1'), [name]: bytes(json) }, next: ['a'] });
      t.is(await refused(t, writing, 'Invalid'), `fields.${name}: ${why}`);
    }
    t.deepEqual((await threads.getState(thread1, call())).fields, {});
    const fields = { title: bytes('"a"'), count: bytes('-7'), notes: bytes(' {}'), free: bytes('null') };
    await commit(threads, 'r1', epoch, { fields, end: completed });
    t.is(Object.keys((await threads.getState(thread1, call())).fields).length, 4);
  });

  check('a step writes any field where no definition says which there are', async (t, threads) => {
    const epoch = await claimedWith(threads, {});
    await commit(threads, 'r1', epoch, { fields: { other: bytes('1') }, end: completed });
    await accept(threads, 'r2', { threadId: 't2', agent: 'unregistered' });
    const second = await claim(threads, 'r2', { threadId: 't2', agent: 'unregistered', revision: 'a' });
    await commit(threads, 'r2', second.epoch, { threadId: 't2', fields: { other: bytes('1') }, end: completed });
    for (const threadId of ['t1', 't2'])
      t.deepEqual(Object.keys((await threads.getState({ owner, threadId }, call())).fields), ['other']);
  });

  check('an agent that the queue would take for another one is refused', async (t, threads) => {
    // The first eight digits of the SHA-256 of both are ea5c7a7f.
    await register(threads, 'r1', { agent: 'support-214154' });
    await refused(t, register(threads, 'r1', { agent: 'billing-23848' }), 'Conflict');
    await refused(t, threads.getRegisteredAgent({ agent: 'billing-23848' }, call()), 'NotFound');
    await register(threads, 'r2', { agent: 'support-214154' });
  });

  check('of many revisions the oldest retired one makes room; without one there is no room', async (t, threads) => {
    for (let index = 0; index < sizes.revisions; index++) await register(threads, `r${index}`);
    await refused(t, register(threads, 'more'), 'Conflict');
    await retire(threads, 'r3');
    const { revisions } = await register(threads, 'more');
    t.is(revisions.length, sizes.revisions);
    t.false(revisions.some(({ revision }) => revision === 'r3'));
    await refused(t, threads.getRevision({ agent, revision: 'r3' }, call()), 'NotFound');
  });

  check('registrations at the same time are all kept', async (t, threads) => {
    const revisions = ['r1', 'r2', 'r3', 'r4'];
    await Promise.all(revisions.map(async (revision) => register(threads, revision)));
    const registered = await threads.getRegisteredAgent({ agent }, call());
    t.deepEqual(registered.revisions.map(({ revision }) => revision).toSorted(), revisions);
  });

  check('a routing is changed on condition of its version, which rises by one', async (t, threads) => {
    await makeCurrent(threads, 'r1');
    await register(threads, 'r2');
    const ramping = { revision: 'r2', percent: 12.5 };
    const ramped = await threads.routeAgent({ agent, version: 1, current: 'r1', ramping }, call());
    t.deepEqual(ramped.routing, { version: 2, current: 'r1', ramping });
    t.deepEqual(statesOf(ramped), { r1: 'current', r2: 'ramping' });
    t.deepEqual(
      ramped.revisions.map(({ percent }) => percent),
      [87.5, 12.5],
    );
    t.deepEqual(await threads.routeAgent({ agent, version: 1, current: 'r1', ramping }, call()), ramped);
    const error = await t.throwsAsync(threads.routeAgent({ agent, version: 1, current: 'r2' }, call()));
    t.regex(error.message, /has version 2, not 1/);
    const moved = await threads.routeAgent({ agent, version: 2, current: 'r2' }, call());
    t.deepEqual(statesOf(moved), { r1: 'draining', r2: 'current' });
    t.deepEqual(
      moved.revisions.map(({ unroutedAt }) => unroutedAt !== undefined),
      [true, false],
    );
  });

  check('a routing names registered revisions, and shares that there are', async (t, threads) => {
    await makeCurrent(threads, 'r1');
    await register(threads, 'r2');
    await register(threads, 'old');
    await retire(threads, 'old');
    const route = async (current: string, ramping?: { revision: string; percent: number }): Promise<unknown> =>
      threads.routeAgent({ agent, version: 1, current, ...(ramping && { ramping }) }, call());
    for (const current of ['absent', 'old']) await refused(t, route(current), 'Invalid');
    for (const revision of ['absent', 'old', 'r1']) await refused(t, route('r1', { revision, percent: 1 }), 'Invalid');
    for (const percent of [-1, 100.5, 0.001, NaN])
      await refused(t, route('r1', { revision: 'r2', percent }), 'Invalid');
    await refused(t, threads.routeAgent({ agent: 'other', version: 0, current: 'r1' }, call()), 'NotFound');
    t.is((await threads.getRegisteredAgent({ agent }, call())).routing.version, 1);
  });

  check('a registration makes its revision current only over the routing that it read', async (t, threads) => {
    await makeCurrent(threads, 'r1');
    await refused(t, register(threads, 'r2', { makeCurrent: { version: 0 } }), 'Conflict');
    t.deepEqual(statesOf(await threads.getRegisteredAgent({ agent }, call())), { r1: 'current' });
    const made = await register(threads, 'r2', { makeCurrent: { version: 1 } });
    t.deepEqual(await register(threads, 'r2', { makeCurrent: { version: 1 } }), made);
    t.is(made.routing.version, 2);
  });

  check('a revision that serves new runs is not retired; another is, for good', async (t, threads) => {
    await makeCurrent(threads, 'r1');
    await refused(t, retire(threads, 'r1'), 'Conflict');
    await makeCurrent(threads, 'r2');
    const retired = await retire(threads, 'r1');
    t.deepEqual(statesOf(retired), { r1: 'retired', r2: 'current' });
    t.deepEqual(await retire(threads, 'r1'), retired);
    await refused(t, register(threads, 'r1'), 'Conflict');
    await refused(t, retire(threads, 'absent'), 'NotFound');
  });

  // The revision of a run

  check('a run of an agent that is not registered has no revision, and every worker claims it', async (t, threads) => {
    t.is((await accept(threads, 'r1', { agent })).revision, undefined);
    t.is((await claim(threads, 'r1', { agent, revision: 'a' })).revision, undefined);
    t.is(await revisionOf(threads, 'r1'), undefined);
  });

  check('a run keeps the revision that it was accepted with, also when the routing changes', async (t, threads) => {
    await makeCurrent(threads, 'a');
    t.like(await accept(threads, 'r1', { agent }), { agent, revision: 'a', runnable: true });
    await makeCurrent(threads, 'b');
    t.is(await revisionOf(threads, 'r1'), 'a');
    t.deepEqual(
      (await threads.listOpenRuns({ limit: 10 }, call())).runs.map(({ revision }) => revision),
      ['a'],
    );
    const { epoch } = await claim(threads, 'r1', { agent, revision: 'a' });
    await commit(threads, 'r1', epoch, { next: ['b'] });
    await commit(threads, 'r1', epoch, { step: 1, end: completed });
    t.is(await revisionOf(threads, 'r1'), 'a');
    t.is((await accept(threads, 'r2', { agent })).revision, 'b');
    const { runs } = await threads.listOwnRuns({ owner, limit: 10, statuses: [] }, call());
    t.deepEqual(runs.map(({ revision }) => revision).toSorted(), ['a', 'b']);
  });

  check('a run is claimed by a worker of its revision alone', async (t, threads) => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    await refused(t, claim(threads, 'r1', { agent }), 'Stale');
    t.is((await claim(threads, 'r1', { agent, revision: 'b', attemptId: 'c1' })).otherRevision, 'a');
    t.is((await threads.getRun({ owner, runId: 'r1' }, call())).status, 'queued');
    const claimed = await claim(threads, 'r1', { agent, revision: 'a', attemptId: 'c1' });
    t.like(claimed, { revision: 'a', attempt: 1, otherRevision: undefined });
    const { epoch: takeoverEpoch } = claimed;
    t.is((await claim(threads, 'r1', { agent, revision: 'b', takeoverEpoch })).otherRevision, 'a');
    t.like(await claim(threads, 'r1', { agent, revision: 'a', takeoverEpoch }), { revision: 'a', isTakeover: true });
  });

  check('a run is claimed as it is accepted by a worker of its revision, and waits otherwise', async (t, threads) => {
    await makeCurrent(threads, 'a');
    const by = (revision?: string) => ({ agent, claim: { workerId: 'w1', ...(revision && { revision }) } });
    t.is((await accept(threads, 'r1', by('a'))).claimed?.revision, 'a');
    for (const [runId, revision] of [['r2', 'b'] as const, ['r3', undefined] as const]) {
      const reply = await accept(threads, runId, { ...by(revision), threadId: `t-${runId}` });
      t.like(reply, { status: 'queued', runnable: true, revision: 'a', claimed: undefined });
    }
  });

  check('a run that waits for its thread gets its revision when the thread is given to it', async (t, threads) => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    for (const runId of ['r2', 'r3', 'r4']) t.is((await accept(threads, runId, { agent })).revision, undefined);
    await makeCurrent(threads, 'b');
    const { epoch } = await claim(threads, 'r1', { agent, revision: 'a' });
    t.like(await commit(threads, 'r1', epoch, { end: completed }), { nextRunId: 'r2', nextRevision: 'b' });
    t.deepEqual([await revisionOf(threads, 'r2'), await revisionOf(threads, 'r3')], ['b', undefined]);
    await makeCurrent(threads, 'c');
    const ended = await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    t.like(ended, { nextRunId: 'r3', nextRevision: 'c' });
    t.is(await revisionOf(threads, 'r2'), 'b');
    await claim(threads, 'r3', { agent, revision: 'c' });
    const taking = await accept(threads, 'r5', { agent, multitaskStrategy: 'interrupt' });
    t.like(taking, { stoppedRunId: 'r3', revision: 'c' });
    t.is(await revisionOf(threads, 'r3'), 'c');
  });

  check('a rollback gives the thread to a run of the revision that is current', async (t, threads) => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    await claim(threads, 'r1', { agent, revision: 'a' });
    await makeCurrent(threads, 'b');
    const reply = await accept(threads, 'r2', { agent, multitaskStrategy: 'rollback' });
    t.like(reply, { stoppedRunId: 'r1', revision: 'b', runnable: true });
    t.deepEqual([await revisionOf(threads, 'r1'), await revisionOf(threads, 'r2')], ['a', 'b']);
  });

  /** A run of revision `a` that waits: for the results of calls, or for the answer to a question. */
  const waiting = async (threads: Threads, on: 'calls' | 'question'): Promise<void> => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    const { epoch } = await claim(threads, 'r1', { agent, revision: 'a' });
    const parts =
      on === 'calls'
        ? { messages: [calling], openCalls: twoCalls, end: completed }
        : { next: ['a'], openInterrupts: ['q1'], end: interrupted };
    await commit(threads, 'r1', epoch, parts);
    await makeCurrent(threads, 'b');
  };

  check('an answer goes to the revision that asked, and a new message to the current one', async (t, threads) => {
    await waiting(threads, 'question');
    t.is((await accept(threads, 'r2', { agent, ...noInput, resume: { keys: ['q1'] } })).revision, 'a');
    await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    t.is((await accept(threads, 'r3', { agent })).revision, 'b');
    await threads.endRun({ owner, runId: 'r3', status: 'stopped' }, call());
    t.is((await accept(threads, 'r4', { agent, ...noInput, resume: { keys: ['q1'] } })).revision, 'a');
  });

  check('results of calls go to the revision that made them, unless it is retired', async (t, threads) => {
    await waiting(threads, 'calls');
    t.is((await accept(threads, 'r2', { agent, ...answering('c1', 'c2') })).revision, 'a');
    await threads.endRun({ owner, runId: 'r2', status: 'stopped' }, call());
    await retire(threads, 'a');
    t.is((await accept(threads, 'r3', { agent, ...answering('c1', 'c2') })).revision, 'b');
  });

  check(
    'a run is not accepted when another revision would serve it than its caller has checked',
    async (t, threads) => {
      t.is((await accept(threads, 'r0', { agent, threadId: 't0', checkedRevision: '' })).otherRevision, undefined);
      await waiting(threads, 'question');
      const checkedBy = (checkedRevision: string) => ({ agent, checkedRevision });
      const answer = { ...noInput, resume: { keys: ['q1'] } };
      t.like(await accept(threads, 'r2', { ...checkedBy('b'), ...answer }), { otherRevision: 'a', runnable: false });
      t.like(await accept(threads, 'r2', checkedBy('a')), { otherRevision: 'b', runnable: false });
      t.is((await accept(threads, 'r2', checkedBy(''))).otherRevision, 'b');
      await refused(t, threads.getRun({ owner, runId: 'r2' }, call()), 'NotFound');
      t.like(await accept(threads, 'r2', { ...checkedBy('a'), ...answer }), {
        revision: 'a',
        otherRevision: undefined,
      });
      // A run that waits for its thread gets its revision only later.
      t.like(await accept(threads, 'r3', checkedBy('a')), { status: 'queued', otherRevision: undefined });
      for (const multitaskStrategy of ['interrupt', 'rollback'] as const) {
        const reply = await accept(threads, 'r4', { ...checkedBy('a'), multitaskStrategy });
        t.like(reply, { otherRevision: 'b', stoppedRunId: undefined });
        t.is((await threads.getRun({ owner, runId: 'r2' }, call())).status, 'queued');
      }
      const taking = await accept(threads, 'r4', { ...checkedBy('b'), multitaskStrategy: 'interrupt' });
      t.like(taking, { revision: 'b', stoppedRunId: 'r2' });
    },
  );

  // Retirement

  check('a run of a retired revision without a commit moves to the current one, once', async (t, threads) => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    await makeCurrent(threads, 'b');
    await retire(threads, 'a');
    t.is((await claim(threads, 'r1', { agent, revision: 'a' })).otherRevision, 'b');
    t.is(await revisionOf(threads, 'r1'), 'b');
    const claimed = await claim(threads, 'r1', { agent, revision: 'b' });
    t.like(claimed, { revision: 'b', attempt: 1 });
    await commit(threads, 'r1', claimed.epoch, { end: completed });
    t.is(await revisionOf(threads, 'r1'), 'b');
  });

  check(
    'a run of a retired revision that was claimed and committed nothing moves when it is taken over',
    async (t, threads) => {
      await makeCurrent(threads, 'a');
      await accept(threads, 'r1', { agent });
      const { epoch: takeoverEpoch } = await claim(threads, 'r1', { agent, revision: 'a' });
      await makeCurrent(threads, 'b');
      await retire(threads, 'a');
      const taken = await claim(threads, 'r1', { agent, revision: 'b', takeoverEpoch });
      t.like(taken, { revision: 'b', isTakeover: true });
      await refused(t, commit(threads, 'r1', takeoverEpoch, { end: completed }), 'Stale');
    },
  );

  check('a run of a retired revision with a commit fails at its next claim, and says why', async (t, threads) => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    await accept(threads, 'r2', { agent });
    const { epoch: takeoverEpoch } = await claim(threads, 'r1', { agent, revision: 'a' });
    await commit(threads, 'r1', takeoverEpoch, { next: ['b'] });
    await makeCurrent(threads, 'b');
    await retire(threads, 'a');
    const given = await claim(threads, 'r1', { agent, revision: 'b', takeoverEpoch });
    t.like(given, { nextRunId: 'r2', nextRevision: 'b' });
    t.regex(given.givenUp?.message ?? '', /revision "a" of the agent was retired/);
    t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'failed', revision: 'a' });
  });

  /** A run of revision `a` with a commit that sleeps for an hour, or fell asleep when its revision was retired. */
  const asleep = async (threads: Threads, isRetired: 'then' | 'later'): Promise<void> => {
    await makeCurrent(threads, 'a');
    await accept(threads, 'r1', { agent });
    const { epoch } = await claim(threads, 'r1', { agent, revision: 'a' });
    await makeCurrent(threads, 'b');
    if (isRetired === 'then') await retire(threads, 'a');
    await commit(threads, 'r1', epoch, { next: ['a'], wakeAt: Date.now() + 3_600_000 });
  };

  const sleeping = async (threads: Threads, until = Number.MAX_SAFE_INTEGER): Promise<readonly SleepingRun[]> =>
    (await threads.listSleepingRuns({ until, limit: 10 }, call())).runs;

  check(
    'a sleeping run of a retired revision is listed as such, and a claim before its time ends it',
    async (t, threads) => {
      await asleep(threads, 'later');
      await accept(threads, 'r2', { agent });
      const [before] = await sleeping(threads);
      t.like(before, { ...{ runId: 'r1', agent, revision: 'a' }, isRetired: undefined });
      await refused(t, claim(threads, 'r1', { agent, revision: 'b' }), 'Stale');
      await retire(threads, 'a');
      const [after] = await sleeping(threads);
      t.like(after, { ...{ runId: 'r1', agent, isRetired: true }, revision: undefined });
      const given = await claim(threads, 'r1', { agent, revision: 'b' });
      t.like(given, { nextRunId: 'r2', nextRevision: 'b' });
      t.regex(given.givenUp?.message ?? '', /revision "a" of the agent was retired/);
      t.like(await threads.getRun({ owner, runId: 'r1' }, call()), { status: 'failed', revision: 'a' });
      t.deepEqual(await sleeping(threads), []);
    },
  );

  check('a run of a retired revision that would sleep is due at once', async (t, threads) => {
    await asleep(threads, 'then');
    const [due] = await sleeping(threads, Date.now() + 60_000);
    t.like(due, { runId: 'r1', isRetired: true });
    t.regex((await claim(threads, 'r1', { agent, revision: 'b' })).givenUp?.message ?? '', /was retired/);
  });

  check('a thread that is made again knows nothing of the revisions before it', async (t, threads) => {
    await waiting(threads, 'calls');
    await threads.beginDelete(thread1, call());
    await threads.finishDelete(thread1, call());
    t.is((await accept(threads, 'r9', { agent })).revision, 'b');
  });
}
