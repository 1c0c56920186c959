import { readFileSync } from 'node:fs';
import test from 'ava';
import protobuf from 'protobufjs';
import { sizes } from '@agent-workflow/kit/sizes';
import { definitionOf, methodName, poolRuleOf } from './definitions.ts';
import { poolChecks, poolMessages } from './pool-checks.ts';
import { poolTextFault } from './pool-texts.ts';

const needsCheck = ({ name, type, parent }: protobuf.Field): boolean =>
  ['bytes', 'int64', 'double'].includes(type) ||
  name.endsWith('Json') ||
  ['messageId', 'recordOf'].includes(name) ||
  // A memory that has another id already can still be deleted.
  (name === 'memoryId' && parent?.name === 'StoreRequest');

for (const context of ['threads', 'execution', 'memory'] as const)
  test(`every JSON, number and id that a pool may send to ${context} is checked`, (t) => {
    const { root } = protobuf.parse(readFileSync(new URL(`../${context}.proto`, import.meta.url), 'utf8'));
    const see = (type: protobuf.Type): void => {
      for (const field of type.fieldsArray) {
        const inner = field.type.includes('.') || /^[A-Z]/.test(field.type) ? type.lookupType(field.type) : undefined;
        const place = `${type.name}.${field.name}`;
        if (!inner) t.is(poolChecks[type.name]?.[field.name] !== undefined, needsCheck(field), place);
        else if (inner.fieldsArray.some((each) => needsCheck(each) || /^[A-Z]/.test(each.type))) {
          t.is(poolMessages[type.name]?.[field.name], inner.name, place);
          see(inner);
        }
      }
    };
    for (const [rpc, { requestType }] of Object.entries(definitionOf(context)))
      if (poolRuleOf(context, methodName(rpc)) !== 'never')
        see(root.lookupType((requestType.type as { name: string }).name));
    t.pass();
  });

const rpcOf = (name: string) => {
  const rpc = definitionOf('threads')[name];
  if (!rpc) throw new Error(name);
  return rpc;
};

const bytes = (text: string): Buffer => Buffer.from(text);
const good = '{"message_id":"m","role":"user","content":[],"timestamp":"2026-01-01T00:00:00.000Z"}';

test('what a worker of a pool commits is refused by its field where it is none of its kind', (t) => {
  const faultOf = poolTextFault(rpcOf('CommitStep'));
  const commit = { epoch: 1, step: 0, at: 1, fields: {}, messages: [{ messageId: 'm', json: bytes(good) }] };
  t.is(faultOf({ ...commit, fields: { n: bytes('{"a":[1]}') }, progressJson: bytes('{"visits":{"a":1}}') }), undefined);
  const bad: Readonly<Record<string, object>> = {
    'fields.n': { fields: { n: bytes('1},"injected":{"a":1') } },
    progressJson: { progressJson: bytes('not json') },
    usageJson: { usageJson: '{{' },
    'end.interruptsJson': { end: { iterations: 1, interruptsJson: '{{' } },
    'end.iterations': { end: { iterations: -5 } },
    at: { at: 8.7e15 },
    wakeAt: { wakeAt: 9e15 },
    'work.startedAt': { work: { startedAt: -1, attempt: 1, inputTokens: 0, outputTokens: 0 } },
    'messages.0.messageId': { messages: [{ messageId: '', json: bytes('{}') }] },
    'messages.0.json': { messages: [{ messageId: 'm', json: bytes('not json') }] },
    'messages.0.json.message_id': { messages: [{ messageId: 'other', json: bytes(good) }] },
    'fused.messages.0.json': { fused: { at: 1, messages: [{ messageId: 'm', json: bytes(`${good} `) }] } },
    'fused.usageJson': { fused: { at: 1, messages: [], usageJson: 'null' } },
  };
  for (const [place, parts] of Object.entries(bad)) {
    const fault = faultOf({ ...commit, ...parts });
    t.is(fault?.code, 'Invalid', place);
    t.is(fault?.details[0]?.field.join('.'), place);
  }
  for (const text of [Buffer.from([0x22, 0xff, 0x22]), bytes('['.repeat(2000) + ']'.repeat(2000)), bytes('')])
    t.is(faultOf({ ...commit, fields: { n: text } })?.details[0]?.field.join('.'), 'fields.n');
});

test('no step of a pool is refused for its trace', (t) => {
  const commit = { epoch: 1, step: 0, at: 1, fields: {}, messages: [] };
  const trace = { spansJson: bytes('[[{'), contentJson: Buffer.alloc(2 * 1024 * 1024, '[') };
  t.is(poolTextFault(rpcOf('CommitStep'))({ ...commit, trace, fused: { at: 1, messages: [], trace } }), undefined);
});

const faultPlace = (rpc: ReturnType<typeof rpcOf>, request: object): string | undefined =>
  poolTextFault(rpc)(request)?.details[0]?.field.join('.');

test('what a pool keeps of a step that it stops is refused by its field where it is none of its kind', (t) => {
  const placeOf = (partial: object) =>
    faultPlace(rpcOf('EndRun'), { partial: { seq: 1, messages: [{ messageId: 'm', json: bytes(good) }], ...partial } });
  t.is(placeOf({}), undefined);
  t.is(placeOf({ seq: -1 }), 'partial.seq');
  t.is(placeOf({ messages: [{ messageId: 'm', json: bytes('{{') }] }), 'partial.messages.0.json');
  const entry = { messageId: 'm', json: Buffer.alloc(sizes.step, 'x') };
  t.is(placeOf({ messages: [entry, entry] }), 'partial.messages');
});

test('a state field of a pool has a plain name, a finite value, and a summary that is a text', (t) => {
  const placeOf = (fields: object) =>
    faultPlace(rpcOf('CommitStep'), { epoch: 1, step: 0, at: 1, messages: [], fields });
  t.is(placeOf({ context_summary: bytes('"short"'), n: bytes('[1e300,"1e999"]') }), undefined);
  t.is(placeOf({ n: bytes('"\\ud800"') }), undefined, 'written as an escape, it is JSON again');
  t.is(placeOf({ context_summary: bytes('{"a":1}') }), 'fields.context_summary');
  t.is(placeOf({ 'a\nb': bytes('1') }), 'fields.a\nb');
  t.is(placeOf(Object.fromEntries([['__proto__', bytes('1')]])), 'fields.__proto__');
  for (const huge of ['1e999999', '[{"a":-1E400}]', '9'.repeat(100_000)])
    t.is(placeOf({ n: bytes(huge) }), 'fields.n', huge.slice(0, 20));
});

const faultType = (name: string, request: object): string | undefined => {
  const detail = poolTextFault(rpcOf(name))(request)?.details[0];
  return detail && `${detail.field.join('.')} ${detail.type}`;
};

/** No JSON, and of more bytes than a bound: which of the two is refused says what is looked at first. */
const over = (bound: number): Buffer => Buffer.alloc(bound + 1, 'x');

test('a text of a pool has the bound of what keeps it, and is not read beyond it', (t) => {
  const commit = { epoch: 1, step: 0, at: 1, fields: {}, messages: [] };
  const entry = { messageId: 'm', json: over(sizes.message) };
  const steps: Readonly<Record<string, object>> = {
    'messages.0.json': { messages: [entry] },
    'fields.n': { fields: { n: bytes('1'), m: over(sizes.step) } },
    progressJson: { progressJson: over(sizes.progress) },
    usageJson: { usageJson: over(sizes.usage).toString() },
    'end.interruptsJson': { end: { iterations: 1, interruptsJson: over(sizes.progress).toString() } },
    'fused.messages.0.json': { fused: { at: 1, messages: [entry] } },
    'fused.progressJson': { fused: { at: 1, messages: [], progressJson: over(sizes.progress) } },
  };
  for (const [place, parts] of Object.entries(steps)) {
    const at = place === 'fields.n' ? 'fields' : place;
    t.is(faultType('CommitStep', { ...commit, ...parts }), `${at} too_large`);
  }
  const definition = { graphJson: bytes('{}'), fieldsJson: bytes('{}'), toolsJson: bytes('[]') };
  const parts = { graphJson: sizes.drawing, fieldsJson: sizes.drawing, toolsJson: sizes.toolsTogether };
  for (const [field, bound] of Object.entries(parts)) {
    const request = { definition: { ...definition, [field]: over(bound) } };
    t.is(faultType('RegisterRevision', request), `definition.${field} too_large`);
  }
  const result = { epoch: 1, step: 0, resultJson: over(sizes.toolRecord) };
  t.is(faultType('NoteToolResult', result), 'resultJson too_large');
});

test('what a step of a pool adds is bounded as its worker bounds it, before any of it is read', (t) => {
  const commit = { epoch: 1, step: 0, at: 1, fields: {}, messages: [] };
  const half = Buffer.alloc(sizes.step / 2, 'x');
  const entries = (count: number, json: Buffer) => Array.from({ length: count }, () => ({ messageId: 'm', json }));
  const typeOf = (parts: object) => faultType('CommitStep', { ...commit, ...parts });
  t.is(typeOf({ messages: entries(2, half) }), 'messages too_large');
  t.is(typeOf({ messages: entries(1, half), fields: { a: half } }), 'fields too_large');
  t.is(typeOf({ fused: { at: 1, messages: entries(2, half) } }), 'fused.messages too_large');
  t.is(typeOf({ messages: entries(sizes.stepMessages + 1, bytes('{}')) }), 'messages too_long');
  t.not(typeOf({ messages: entries(sizes.stepMessages, bytes('{}')) }), 'messages too_long');
  const fields = Object.fromEntries(Array.from({ length: 40_000 }, (_, index) => [`f${String(index)}`, bytes('x')]));
  t.is(typeOf({ fields }), 'fields too_long');
  t.is(typeOf({ fields: { ['n'.repeat(10_000)]: bytes('1') } }), 'fields string_too_long');
});

test('a message of a pool has no more levels than other JSON', (t) => {
  const deep = (depth: number) => bytes(`${good.slice(0, -1)},"deep":${'['.repeat(depth)}${']'.repeat(depth)}}`);
  const typeOf = (depth: number) =>
    faultType('CommitStep', {
      epoch: 1,
      step: 0,
      at: 1,
      fields: {},
      messages: [{ messageId: 'm', json: deep(depth) }],
    });
  t.is(typeOf(990), undefined);
  t.is(typeOf(1000), 'messages.0.json too_deep');
  t.is(typeOf(500_000), 'messages.0.json too_deep');
  t.is(typeOf(1_500_000), 'messages.0.json too_large');
});

test('a run of a pool sleeps for ten years at most', (t) => {
  const year = 365.25 * 24 * 3600 * 1000;
  const placeOf = (years: number) =>
    faultPlace(rpcOf('CommitStep'), { epoch: 1, step: 0, at: 1, wakeAt: Math.ceil(Date.now() + years * year) });
  t.is(placeOf(9.99), undefined);
  t.is(placeOf(11), 'wakeAt');
});

test('owners, ids and lists of a pool are bounded', (t) => {
  const claim = { owner: 'o', threadId: 't', runId: 'r', workerId: 'w' };
  const nodes = (count: number) => ({ nodes: { names: Array<string>(count).fill('n'), first: [] } });
  t.is(faultPlace(rpcOf('ClaimRun'), { ...claim, ...nodes(10_000) }), undefined);
  t.is(faultPlace(rpcOf('ClaimRun'), { ...claim, ...nodes(300_000) }), 'nodes.names');
  t.is(faultPlace(rpcOf('ClaimRun'), { ...claim, owner: 'o'.repeat(5_000_000) }), 'owner');
  t.is(faultPlace(rpcOf('ClaimRun'), { ...claim, workerId: 'é'.repeat(5000) }), 'workerId');
  t.is(faultPlace(rpcOf('CommitStep'), { removedFromContext: ['m'.repeat(10_000)] }), 'removedFromContext.0');
  const calls = (count: number) => ({ openCalls: Array<object>(count).fill({ callId: 'c', name: 'n' }) });
  t.is(faultPlace(rpcOf('CommitStep'), calls(10_000)), undefined);
  t.is(faultPlace(rpcOf('CommitStep'), calls(10_001)), 'openCalls');
});

test('a memory of a pool has an id as messages have', (t) => {
  const rpc = definitionOf('memory')['Store'];
  t.truthy(rpc);
  if (!rpc) return;
  t.is(faultPlace(rpc, { owner: 'o', memoryId: 'm1' }), undefined);
  t.is(faultPlace(rpc, { owner: 'o', memoryId: 'm1', metadataJson: over(sizes.memory) }), 'metadataJson');
  for (const memoryId of ['', 'a\u0007b', 'a/b']) t.is(faultPlace(rpc, { owner: 'o', memoryId }), 'memoryId');
});
