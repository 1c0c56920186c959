import { START, StateGraph } from '@agent-workflow/graph';
import { ConfigError } from '@agent-workflow/kit/env';
import { notFound, unanswered, unavailable, type ServiceError } from '@agent-workflow/kit/errors';
import { createLog } from '@agent-workflow/kit/log';
import type { AgentCalls } from '@agent-workflow/protos/threads';
import { UnknownCaller } from '@agent-workflow/protos/unknown-caller';
import test from 'ava';
import { atRevision, namedAgents } from './record/agents.ts';
import { openRegistration, untilCallerKnown } from './registration.ts';

const graph = new StateGraph({})
  .addNode('one', () => undefined)
  .addEdge(START, 'one')
  .compile();
const agents = namedAgents([{ name: 'support', graph }], undefined);

const failingWith = (error: ServiceError): AgentCalls => {
  const fail = (): Promise<never> => Promise.reject(error);
  return {
    getRegisteredAgent: fail,
    listRegisteredAgents: fail,
    registerRevision: fail,
  } as unknown as AgentCalls;
};

const unknown = unavailable('a needed service is unavailable', new UnknownCaller('threads', '10.0.0.7:50051'));

for (const revision of ['v1', undefined])
  test(`a worker that the threads service does not know does not start, and one that cannot reach it does (revision ${String(revision)})`, async (t) => {
    const warnings: unknown[] = [];
    const log = Object.assign(createLog('test', 'silent'), { warn: (_: unknown, text: string) => warnings.push(text) });
    const options = { agents: atRevision(agents, revision), log, isOnly: false };
    await t.throwsAsync(openRegistration({ ...options, threads: failingWith(unknown), unknownForMs: 0 }), {
      instanceOf: ConfigError,
      message: 'the threads service at 10.0.0.7:50051 does not know the caller: SERVICE_TOKEN is absent or wrong',
    });
    t.deepEqual(warnings, []);
    await using _ = await openRegistration({ ...options, threads: failingWith(unavailable('it is unavailable')) });
    t.is(warnings.length, 1);
  });

for (const revision of ['v1', undefined])
  test(`a worker waits at its start until the threads service knows its token, and says once for which setting (revision ${String(revision)})`, async (t) => {
    const warnings: unknown[] = [];
    const log = Object.assign(createLog('test', 'silent'), {
      warn: (...parts: unknown[]) => warnings.push(parts.at(-1)),
    });
    let calls = 0;
    const threads = {
      getRegisteredAgent: () => Promise.reject(++calls < 3 ? unknown : notFound('there is none')),
    } as unknown as AgentCalls;
    await using _ = await openRegistration({ agents: atRevision(agents, revision), log, isOnly: false, threads });
    t.is(calls, 3);
    t.is(warnings.filter((text) => String(text).includes('SERVICE_TOKEN')).length, 1);
  });

test('a process without agents waits until the threads service knows its token, for a while, and for nothing else', async (t) => {
  const warnings: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), { warn: (text: unknown) => warnings.push(text) });
  await t.notThrowsAsync(untilCallerKnown({ log, threads: failingWith(unavailable('it is unavailable')) }));
  await t.notThrowsAsync(untilCallerKnown({ log, threads: failingWith(notFound('there is none')) }));
  t.deepEqual(warnings, []);
  const refused = untilCallerKnown({ log, threads: failingWith(unknown), unknownForMs: 1000 });
  await t.throwsAsync(refused, { instanceOf: ConfigError, message: /SERVICE_TOKEN is absent or wrong/ });
  t.is(warnings.length, 1);
  t.regex(String(warnings[0]), /SERVICE_TOKEN/);
});

test('a worker that waits for its token ends when it is asked to', async (t) => {
  const stopping = new AbortController();
  const log = Object.assign(createLog('test', 'silent'), { warn: () => stopping.abort(new Error('stop')) });
  const options = { agents: atRevision(agents, 'v1'), log, isOnly: false, threads: failingWith(unknown) };
  await t.throwsAsync(openRegistration({ ...options, stopping: stopping.signal }), { message: 'stop' });
});

test('a registration that is told to come again does so, logs it once, and ends with what it was told when that lasts', async (t) => {
  const lines: unknown[] = [];
  const log = Object.assign(createLog('test', 'silent'), {
    warn: ({ reason }: { readonly reason: string }, text: string) => lines.push(`${text}: ${reason}`),
  });
  for (const error of [unavailable('the record is unavailable'), unanswered('the record is too slow')]) {
    let failures = 2;
    const fail = <T>(reply: T): Promise<T> => (failures-- > 0 ? Promise.reject(error) : Promise.resolve(reply));
    const registered = { agent: 'support', routing: { version: 1, retired: [] }, revisions: [] };
    const threads = {
      getRegisteredAgent: () => fail(registered),
      registerRevision: () => fail(registered),
    } as unknown as AgentCalls;
    await using _ = await openRegistration({ agents: atRevision(agents, 'v1'), threads, log, isOnly: true });
    t.is(failures, -2);
    t.deepEqual(lines.splice(0), [`the agents cannot be registered yet; it is tried again: ${error.message}`]);
    const lasting = { agents: atRevision(agents, 'v1'), threads: failingWith(error), log, isOnly: true };
    await t.throwsAsync(openRegistration({ ...lasting, registerForMs: 0 }), { is: error });
  }
});
