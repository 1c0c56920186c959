import test from 'ava';
import { ServiceError } from '@agent-workflow/kit/errors';
import { within } from '../call.ts';
import type { EndStatus, Granularity, MemoryType } from '../lists.ts';
import type { Execution, StartRequest } from '../execution.ts';
import type { Memory } from '../memory.ts';
import { connect } from './connect.ts';
import { definitionOf } from './definitions.ts';
import { requestFault } from './listed.ts';
import { serve } from './serve.ts';

const options: Parameters<typeof serve>[1] = { host: '127.0.0.1', port: 0, drainMs: 2000, onFailure: () => undefined };

const notUsed = (): Promise<never> => Promise.reject(new ServiceError('BadRequest', 'not used here'));

const start: StartRequest = {
  owner: 'anon',
  requestId: 'q',
  runId: 'r1',
  messages: [],
  tools: [],
  recursionLimit: 25,
  granularity: 'low',
  multitaskStrategy: 'enqueue',
};

function createExecution(status: EndStatus) {
  const started: StartRequest[] = [];
  const execution: Execution = {
    start: (request) => {
      started.push(request);
      return Promise.resolve({ runId: 'r1', threadId: 't1', isNewThread: true, status: 'queued' });
    },
    answerQuestion: notUsed,
    wait: notUsed,
    async *follow() {
      yield { events: [] };
    },
    getGraph: notUsed,
    stopRun: () => Promise.resolve({ status, stoppedNow: true }),
    checkTools: notUsed,
    updateState: notUsed,
    deleteThread: notUsed,
    listAgents: notUsed,
    getAgent: notUsed,
    getHealth: notUsed,
    countOpenRuns: notUsed,
  };
  return { execution, started };
}

test('a request over gRPC whose value is not of its list is Invalid and does not reach the service', async (t) => {
  const { execution, started } = createExecution('stopped');
  await using server = await serve({ execution }, options);
  await using client = connect('execution', `127.0.0.1:${String(server.port)}`);
  const granularity = 'none' as Granularity;
  const error = await t.throwsAsync<ServiceError>(client.start({ ...start, granularity }, within(5000)));
  t.is(error.code, 'Invalid');
  t.like(error.details[0], { field: ['granularity'], msg: 'must be one of low, partial, full', type: 'enum' });
  t.deepEqual(started, []);
  t.is((await client.start(start, within(5000))).status, 'queued');
});

test('a value inside another message of a request over gRPC is held to its list, too', async (t) => {
  const memory: Memory = {
    store: notUsed,
    search: notUsed,
    get: notUsed,
    update: notUsed,
    delete: notUsed,
    list: () => Promise.resolve({ memories: [], total: 0 }),
    forget: notUsed,
  };
  await using server = await serve({ memory }, options);
  await using client = connect('memory', `127.0.0.1:${String(server.port)}`);
  const page = { owner: 'anon', limit: 10, offset: 0 };
  const selection = { memoryType: 'nope' as MemoryType };
  const error = await t.throwsAsync<ServiceError>(client.list({ ...page, selection }, within(5000)));
  t.deepEqual(error.details[0]?.field, ['memoryType']);
  t.is((await client.list({ ...page, selection: {} }, within(5000))).total, 0);
});

test('a reply over gRPC whose value is not of its list fails the call', async (t) => {
  const { execution } = createExecution('vanished' as EndStatus);
  await using server = await serve({ execution }, options);
  await using client = connect('execution', `127.0.0.1:${String(server.port)}`);
  await t.throwsAsync(client.stopRun({ owner: 'anon', runId: 'r1' }, within(5000)), { code: 'Internal' });
});

test('each value of a field that holds several is held to the list', (t) => {
  const rpc = definitionOf('threads')['ListOwnRuns'];
  if (!rpc) return t.fail();
  const faultOf = requestFault('threads', rpc);
  for (const statuses of [[], ['failed'], ['queued', 'running']]) t.is(faultOf({ owner: 'anon', statuses }), undefined);
  t.is(faultOf({ owner: 'anon', statuses: ['failed', 'lost'] })?.code, 'Invalid');
});

test('a list of runs is asked for in the fields that a replica of another version reads', (t) => {
  const rpc = definitionOf('threads')['ListOwnRuns'];
  if (!rpc) return t.fail();
  const text = (tag: number, value: string): Buffer =>
    Buffer.from([(tag << 3) | 2, value.length, ...Buffer.from(value)]);
  const before = Buffer.concat([text(1, 'anon'), text(4, 'failed'), text(5, 'billing')]);
  const asked = rpc.requestDeserialize(before);
  t.like(asked, { owner: 'anon', statuses: ['failed'], agent: 'billing' });
  t.is(requestFault('threads', rpc)(asked), undefined);
  const sent = rpc.requestSerialize({ ...asked, filter: { search: 'feed' } });
  for (const field of [text(4, 'failed'), text(5, 'billing')]) t.true(sent.includes(field));
  t.is(requestFault('threads', rpc)(rpc.requestDeserialize(sent)), undefined);
});
