import { setImmediate as turnOfLoop } from 'node:timers/promises';
import { Server, ServerCredentials, status, type Client, type ServiceError as GrpcError } from '@grpc/grpc-js';
import { sizes } from '@agent-workflow/kit/sizes';
import test, { type ExecutionContext } from 'ava';
import { openClient } from './channel.ts';
import { toMetadata } from './security.ts';
import type { Tried } from './spread.ts';
import type { OutgoingCall, SentCall } from './call-stream.ts';
import { createCallStreams, type CallStreams } from './call-streams.ts';
import { serveCalls, type StreamedRpc } from './serve-calls.ts';

type StreamedCall = Parameters<StreamedRpc['answer']>[0];
type Answer = (call: StreamedCall) => Promise<object>;

interface TestServer {
  readonly address: string;
  readonly endStreams: () => void;
  readonly server: Server;
}

const path = '/echo';

/** A server whose one RPC answers as `answer` does. */
async function openServer(t: ExecutionContext, answer: Answer): Promise<TestServer> {
  const server = new Server();
  const rpc = {
    deserialize: (bytes: Buffer) => ({ text: bytes.toString() }),
    serialize: (reply: object) => Buffer.from((reply as { readonly text: string }).text),
    refuse: (error: unknown) => ({ code: status.ABORTED, details: (error as Error).message }),
    enter: () => undefined,
  };
  const endStreams = serveCalls(server, {
    rpcOf: (asked) => (asked === path ? { ...rpc, answer } : undefined),
    callerOf: (metadata) => () => (metadata.get('authorization')[0] === 'Bearer wrong' ? undefined : 'platform'),
    hold: () => () => undefined,
    refusal: { code: status.UNAUTHENTICATED },
  });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error ? reject(error) : resolve(bound),
    );
  });
  t.teardown(() => server.forceShutdown());
  return { address: `127.0.0.1:${String(port)}`, endStreams, server };
}

interface Caller {
  readonly client: Client;
  readonly streams: CallStreams;
  readonly silent: Set<string>;
}

function openCaller(t: ExecutionContext, servers: readonly TestServer[], token?: string): Caller {
  const client = openClient(`ipv4:${servers.map(({ address }) => address).join(',')}`, {});
  const silent = new Set<string>();
  const streams = createCallStreams(client, toMetadata(token === undefined ? {} : { token }), silent);
  t.teardown(() => {
    streams[Symbol.dispose]();
    client.close();
  });
  return { client, streams, silent };
}

const untried = (): Tried => ({ addresses: new Set(), mustDiffer: false });

interface Sent {
  readonly reply: Promise<string>;
  readonly sent: SentCall | undefined;
  readonly tried: Tried;
}

function send({ streams }: Caller, text: string, given: Partial<OutgoingCall> = {}, tried = untried()): Sent {
  let sent: SentCall | undefined;
  const reply = new Promise<string>((resolve, reject) => {
    const answer = (error: GrpcError | null, message?: Buffer): void => {
      if (error) reject(error);
      else resolve(String(message));
    };
    const deadline = Date.now() + 10_000;
    sent = streams.send({ path, message: Buffer.from(text), deadline, context: {}, answer, ...given }, tried);
  });
  reply.catch(() => undefined);
  return { reply, sent, tried };
}

/** Waits until calls have been on streams to so many servers. */
async function untilOpen(caller: Caller, count = 1): Promise<void> {
  const addresses = new Set<string>();
  while (addresses.size < count) {
    const { sent, tried } = send(caller, 'are you there?');
    if (sent) for (const address of tried.addresses) addresses.add(address);
    await turnOfLoop();
  }
}

const echo: Answer = ({ request }) => Promise.resolve(request);

test('calls that are made at once are answered, each with its own reply, in whatever order', async (t) => {
  const waiting = new Map<string, () => void>();
  const server = await openServer(t, async ({ request }) => {
    const { text } = request as { readonly text: string };
    if (/^\d+$/.test(text)) await new Promise<void>((resolve) => waiting.set(text, resolve));
    return request;
  });
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const texts = Array.from({ length: 50 }, (_, index) => String(index));
  const replies = texts.map((text) => send(caller, text).reply);
  while (waiting.size < texts.length) await turnOfLoop();
  for (const answer of [...waiting.values()].toReversed()) answer();
  t.deepEqual(await Promise.all(replies), texts);
});

test('the context and the deadline of a call arrive with it', async (t) => {
  const seen: StreamedCall[] = [];
  const server = await openServer(t, (call) => {
    seen.push(call);
    return echo(call);
  });
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const deadline = Date.now() + 5000;
  await send(caller, 'x', { deadline, context: { 'x-run-id': 'r' } }).reply;
  t.deepEqual(seen.at(-1)?.context, { 'x-run-id': 'r' });
  t.true(Math.abs((seen.at(-1)?.deadline ?? 0) - deadline) < 1000);
});

test('a call past its deadline fails, and the signal of its handler fires', async (t) => {
  let fired: (() => void) | undefined;
  const hasFired = new Promise<void>((resolve) => (fired = resolve));
  const server = await openServer(t, (call) => {
    if ((call.request as { readonly text: string }).text !== 'stuck') return echo(call);
    call.signal.addEventListener('abort', () => fired?.());
    return new Promise(() => undefined);
  });
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const late = await t.throwsAsync(send(caller, 'stuck', { deadline: Date.now() + 100 }).reply);
  t.is((late as GrpcError).code, status.DEADLINE_EXCEEDED);
  await hasFired;
  t.is(await send(caller, 'the next').reply, 'the next');
});

test('the signal of a handler fires when its caller leaves, and the caller hears no more of the call', async (t) => {
  let entered: (() => void) | undefined;
  let fired: (() => void) | undefined;
  const hasEntered = new Promise<void>((resolve) => (entered = resolve));
  const hasFired = new Promise<void>((resolve) => (fired = resolve));
  const server = await openServer(t, async (call) => {
    if ((call.request as { readonly text: string }).text !== 'left') return echo(call);
    entered?.();
    await new Promise<void>((resolve) => call.signal.addEventListener('abort', () => resolve()));
    fired?.();
    return { text: 'too late' };
  });
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const { sent, reply } = send(caller, 'left');
  let isAnswered = false;
  reply.finally(() => (isAnswered = true)).catch(() => undefined);
  await hasEntered;
  sent?.cancel();
  await hasFired;
  t.is(await send(caller, 'the next').reply, 'the next');
  t.false(isAnswered);
});

test('a refusal arrives with its status, an RPC that there is not is unimplemented', async (t) => {
  const server = await openServer(t, (call) =>
    (call.request as { readonly text: string }).text === 'no' ? Promise.reject(new Error('refused')) : echo(call),
  );
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  t.like(await t.throwsAsync(send(caller, 'no').reply), { code: status.ABORTED, details: 'refused' });
  t.like(await t.throwsAsync(send(caller, 'x', { path: '/other' }).reply), { code: status.UNIMPLEMENTED });
});

test('a large request is a call of its own, a reply above the limit is refused', async (t) => {
  const server = await openServer(t, (call) =>
    (call.request as { readonly text: string }).text === 'much'
      ? Promise.resolve({ text: 'x'.repeat(sizes.rpc + 1) })
      : echo(call),
  );
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  t.is(send(caller, 'x', { message: Buffer.alloc(64 * 1024 + 1) }).sent, undefined);
  t.like(await t.throwsAsync(send(caller, 'much').reply), { code: status.RESOURCE_EXHAUSTED });
  t.is(await send(caller, 'the next').reply, 'the next');
});

interface SlowCall {
  readonly server: TestServer;
  readonly caller: Caller;
  readonly reply: Promise<string>;
  readonly finish: () => void;
}

/** A call that its server has begun and answers after `finish`; others are answered at once. */
async function sendSlow(t: ExecutionContext): Promise<SlowCall> {
  const begun = Promise.withResolvers<() => void>();
  const server = await openServer(t, async (call) => {
    if ((call.request as { readonly text: string }).text === 'slow')
      await new Promise<void>((resolve) => begun.resolve(resolve));
    return echo(call);
  });
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const { reply } = send(caller, 'slow');
  return { server, caller, reply, finish: await begun.promise };
}

test('a server that is ending answers what it has and is given no more; then it ends', async (t) => {
  const { server, caller, reply, finish } = await sendSlow(t);
  server.endStreams();
  const ended = new Promise<void>((resolve) => server.server.tryShutdown(() => resolve()));
  while (send(caller, 'more').sent) await turnOfLoop();
  finish();
  t.is(await reply, 'slow');
  await ended;
  t.pass();
});

test('calls that wait at a server which goes away fail as lost', async (t) => {
  const server = await openServer(t, (call) =>
    (call.request as { readonly text: string }).text === 'stuck' ? new Promise(() => undefined) : echo(call),
  );
  const caller = openCaller(t, [server]);
  await untilOpen(caller);
  const { reply } = send(caller, 'stuck');
  // On its way before the server goes.
  await send(caller, 'after it').reply;
  server.server.forceShutdown();
  const error = await t.throwsAsync(reply);
  t.true([status.UNAVAILABLE, status.CANCELLED].includes((error as GrpcError).code), String(error));
});

test('servers have turns; one that was tried or is silent has none', async (t) => {
  const servers = [await openServer(t, echo), await openServer(t, echo)] as const;
  const caller = openCaller(t, servers);
  await untilOpen(caller, 2);
  const went = (tried: Tried): string => [...send(caller, 'x', {}, tried).tried.addresses].at(-1) ?? '';
  t.deepEqual([went(untried()), went(untried())].toSorted(), servers.map(({ address }) => address).toSorted());
  const [{ address: first }, { address: second }] = servers;
  for (let count = 0; count < 3; count++) t.is(went({ ...untried(), addresses: new Set([first]) }), second);
  caller.silent.add(second);
  for (let count = 0; count < 3; count++) t.is(went(untried()), first);
  t.is(send(caller, 'x', {}, { ...untried(), addresses: new Set([first]) }).sent, undefined);
});

test('an unknown caller is given no stream', async (t) => {
  const server = await openServer(t, echo);
  const unknownCaller = openCaller(t, [server], 'wrong');
  const friend = openCaller(t, [server], 'right');
  t.is(send(unknownCaller, 'x').sent, undefined);
  await untilOpen(friend);
  t.is(send(unknownCaller, 'x').sent, undefined);
});

test('what disposal finds under way is still answered, and nothing more is taken', async (t) => {
  const { caller, reply, finish } = await sendSlow(t);
  caller.streams[Symbol.dispose]();
  t.is(send(caller, 'more').sent, undefined);
  finish();
  t.is(await reply, 'slow');
});
