import { newId } from '@agent-workflow/kit/ids';
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

/** A run of a new thread in /v1, with what the dialects give in the end: its state. */
const own = (path: 'stream' | 'invoke') => (): Buffer =>
  toRequest('POST', `/v1/graph/${path}`, {
    messages: [{ role: 'user', content: text }],
    response_granularity: 'full',
  });

const a2a = (operation: 'stream' | 'send') => (): Buffer =>
  toRequest(
    'POST',
    `/a2a/${agent}/message:${operation}`,
    { message: { messageId: newId(), role: 'ROLE_USER', parts: [{ text }] } },
    ['A2A-Version: 1.0'],
  );

/** A run of a new thread in each dialect, and what it is beside. */
const sides: Readonly<Record<string, readonly [dialect: () => Buffer, own: () => Buffer]>> = {
  'OpenAI, a chat completion streamed': [
    () =>
      toRequest('POST', '/openai/v1/chat/completions', {
        ...{ model: agent, stream: true },
        messages: [{ role: 'user', content: text }],
      }),
    own('stream'),
  ],
  'OpenAI, a response streamed': [
    () => toRequest('POST', '/openai/v1/responses', { model: agent, stream: true, input: text }),
    own('stream'),
  ],
  'AG-UI, a run streamed': [
    () =>
      toRequest('POST', `/agui/${agent}`, {
        ...{ threadId: newId(), runId: newId(), protocolVersion: '1.0' },
        messages: [{ id: newId(), role: 'user', content: text }],
      }),
    own('stream'),
  ],
  'A2A, a task streamed': [a2a('stream'), own('stream')],
  'A2A, a task waited for': [a2a('send'), own('invoke')],
  'MCP, a call of a tool': [
    () =>
      toRequest(
        'POST',
        '/mcp',
        {
          ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
          params: { name: agent, arguments: { message: text } },
        },
        ['Accept: application/json, text/event-stream'],
      ),
    own('invoke'),
  ],
};

/** Runs by clients of the other dialects beside those of /v1, on the same service and in turns; `ratio` is dialect ÷ /v1. */
export async function otherDialects({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo });
  const { port } = service;
  const figures: Figure[] = [];
  for (const [name, pair] of Object.entries(sides)) {
    for (const request of pair) await prepare(port, request, warmUp, 8);
    const [dialect, ours] = pair;
    const one = await inTurns(seconds, [(slice) => p50(port, dialect, slice), (slice) => p50(port, ours, slice)]);
    const many = await inTurns(seconds, [
      async (slice) => 1000 / (await perSecond(8)(port, dialect, slice)),
      async (slice) => 1000 / (await perSecond(8)(port, ours, slice)),
    ]);
    const cpu = await inTurns(seconds, [
      async (slice) => (await cpuPerReply(service, dialect, 8, slice)) ?? NaN,
      async (slice) => (await cpuPerReply(service, ours, 8, slice)) ?? NaN,
    ]);
    figures.push(
      figureOf(`${name}: 1 caller, p50`, one),
      figureOf('  8 callers, time of one', many),
      figureOf('  processor of one', cpu),
    );
  }
  return figures;
}

const figureOf = (name: string, { first, ratio, rounds }: Awaited<ReturnType<typeof inTurns>>): Figure => ({
  ...{ name, unit: 'ms', ours: first, ratio, rounds },
  aim: atMost(ratio, aim, ' × /v1'),
});
