import { randomUUID } from 'node:crypto';
import { atMost, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { cpuPerReply, inTurns, p50, perSecond, prepare, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const text = 'hello there';
/** The name under which the service knows an agent that has none. */
const agent = 'default';
/** Most of the time of /v1, for what both do. */
const aim = 1.1;
/** Requests of each kind before anything is measured: until then the code that both use is faster than that of one. */
const warmUp = 2000;

interface Own {
  /** Whether it comes to the same run when it is sent again. */
  readonly isKeyed?: boolean;
  /** Whether the caller names the thread that it begins. */
  readonly namesThread?: boolean;
}

/** A run of a new thread in /v1, with what the dialects give in the end: its state. */
const own =
  (path: 'stream' | 'invoke', { isKeyed = false, namesThread = false }: Own = {}) =>
  (): Buffer =>
    toRequest(
      'POST',
      `/v1/graph/${path}`,
      {
        messages: [{ role: 'user', content: text }],
        response_granularity: 'full',
        ...(namesThread && { config: { thread_id: randomUUID() } }),
      },
      isKeyed ? [`Idempotency-Key: ${randomUUID()}`] : [],
    );

const a2a = (operation: 'stream' | 'send') => (): Buffer =>
  toRequest(
    'POST',
    `/a2a/${agent}/message:${operation}`,
    { message: { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }] } },
    ['A2A-Version: 1.0'],
  );

interface Side {
  readonly dialect: () => Buffer;
  /** The same of /v1: safe to send again, and on a thread that its caller names, where the dialect's is. */
  readonly same: () => Buffer;
}

/** A run of a new thread in each dialect. */
const sides: Readonly<Record<string, Side>> = {
  'OpenAI, a chat completion streamed': {
    dialect: () =>
      toRequest('POST', '/openai/v1/chat/completions', {
        ...{ model: agent, stream: true },
        messages: [{ role: 'user', content: text }],
      }),
    same: own('stream'),
  },
  'OpenAI, a response streamed': {
    dialect: () => toRequest('POST', '/openai/v1/responses', { model: agent, stream: true, input: text }),
    same: own('stream'),
  },
  'AG-UI, a run streamed': {
    dialect: () =>
      toRequest('POST', `/agui/${agent}`, {
        ...{ threadId: randomUUID(), runId: randomUUID(), protocolVersion: '1.0' },
        messages: [{ id: randomUUID(), role: 'user', content: text }],
      }),
    same: own('stream', { isKeyed: true, namesThread: true }),
  },
  'A2A, a task streamed': { dialect: a2a('stream'), same: own('stream', { isKeyed: true }) },
  'A2A, a task waited for': { dialect: a2a('send'), same: own('invoke', { isKeyed: true }) },
  'MCP, a call of a tool': {
    dialect: () =>
      toRequest(
        'POST',
        '/mcp',
        {
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name: agent, arguments: { message: text } },
        },
        ['Accept: application/json, text/event-stream'],
      ),
    same: own('invoke'),
  },
};

/** Of what the dialect answers as an event stream or not, a run of /v1 that names nothing and is another one when it is sent again. */
const bareOf = (name: string): (() => Buffer) => own(name.endsWith('streamed') ? 'stream' : 'invoke');

const callers = 8;

/**
 * Runs by clients of the other dialects beside those of /v1, on the same service and in turns; `ratio` is dialect ÷ /v1. A message of A2A and a run of
 * AG-UI come to the same run when they are sent again, so they stand beside a request with an `Idempotency-Key`; beside a bare one they have no aim.
 */
export async function otherDialects({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo });
  const { port } = service;
  const figures: Figure[] = [];
  for (const [name, { dialect, same }] of Object.entries(sides)) {
    const bare = bareOf(name);
    for (const request of [dialect, same, bare]) await prepare(port, request, warmUp, callers);
    const beside = async (measure: (request: () => Buffer, slice: number) => Promise<number>, own: () => Buffer) =>
      inTurns(seconds, [(slice) => measure(dialect, slice), (slice) => measure(own, slice)]);
    const ofOne = (request: () => Buffer, slice: number) => p50(port, request, slice);
    const ofMany = async (request: () => Buffer, slice: number) =>
      1000 / (await perSecond(callers)(port, request, slice));
    const ofCpu = async (request: () => Buffer, slice: number) =>
      (await cpuPerReply(service, request, callers, slice)) ?? NaN;
    figures.push(
      figureOf(`${name}: 1 caller, p50`, await beside(ofOne, same)),
      figureOf('  8 callers, time of one', await beside(ofMany, same)),
      figureOf('  processor of one', await beside(ofCpu, same)),
    );
    const { aim: _, ...besideBare } = figureOf('  8 callers, beside a bare request', await beside(ofMany, bare));
    figures.push(besideBare);
  }
  return figures;
}

const figureOf = (name: string, { first, ratio, rounds }: Awaited<ReturnType<typeof inTurns>>): Figure => ({
  ...{ name, unit: 'ms', ours: first, ratio, rounds },
  aim: atMost(ratio, aim, ' × /v1'),
});
