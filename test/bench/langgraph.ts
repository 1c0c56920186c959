import { processEnv } from '@agent-workflow/kit/env';
import { atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { firstMarkP50, inTurns, marksPerSecond, p50, perSecond, prepare, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const prefix = '/langgraph';
const hello = 'hello there';
/** The name under which the service knows an agent that has none. */
const graph = 'default';
/** Most of the time and processor of /v1, for what both do. */
const aim = 1.1;
/** Requests of each kind before anything is measured: until then the code that both use is faster than that of one. */
const warmUp = 2000;

const own = (path: string, text: string, threadId?: string): Buffer =>
  toRequest('POST', path, {
    messages: [{ role: 'user', content: text }],
    response_granularity: 'full',
    ...(threadId !== undefined && { config: { thread_id: threadId } }),
  });

const theirs = (base: string, text: string, mode?: string, assistant = graph): Buffer =>
  toRequest('POST', `${base}${mode === undefined ? '/runs/wait' : '/runs/stream'}`, {
    assistant_id: assistant,
    input: { messages: [{ role: 'user', content: text }] },
    on_completion: 'keep',
    ...(mode !== undefined && { stream_mode: mode }),
  });

const ownMark = Buffer.from('event: messages_chunk\n');
/** One server ends lines with LF, the other with CRLF. */
const tupleMark = Buffer.from('event: messages');
const tuples = 'messages-tuple';

/**
 * The dialect of LangGraph's clients beside /v1, on the same service and in turns; `ratio` is dialect ÷ /v1. `LANGGRAPH_PORT`: a LangGraph Server
 * listens there, with the graphs of `langgraph-server/`, and is measured with the same requests.
 */
export async function langgraph(bench: Bench): Promise<Figure[]> {
  const invokes = await ofInvokes(bench);
  const streams = await ofStreams(bench);
  return [...invokes, ...streams, ...(await ofValues(bench)), ...(await ofServer(bench))];
}

async function ofInvokes({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo });
  const { port } = service;
  const [ours, dialect] = [own('/v1/graph/invoke', hello), theirs(prefix, hello)].map((each) => () => each);
  if (!ours || !dialect) return [];
  for (const request of [dialect, ours]) await prepare(port, request, warmUp);
  const one = await inTurns(seconds, [(slice) => p50(port, dialect, slice), (slice) => p50(port, ours, slice)]);
  const many = await inTurns(seconds, [
    async (slice) => 1000 / (await perSecond(16)(port, dialect, slice)),
    async (slice) => 1000 / (await perSecond(16)(port, ours, slice)),
  ]);
  return [
    figureOf('LangGraph dialect: wait for a run, 1 caller, p50', one),
    figureOf('  16 callers, time of one', many),
  ];
}

async function ofStreams({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'streamer', profileTo });
  const { port } = service;
  const stream = own('/v1/graph/stream', 'paced');
  const tuple = theirs(prefix, 'paced', tuples);
  const updates = theirs(prefix, 'paced', 'updates');
  await checkChunks(port, tuple);
  for (const request of [stream, tuple, updates]) await prepare(port, () => request, warmUp);
  const first = await inTurns(seconds, [
    (slice) => firstMarkP50(tupleMark)(port, () => tuple, slice),
    (slice) => firstMarkP50(ownMark)(port, () => stream, slice),
  ]);
  const chunk = await inTurns(seconds, [
    async (slice) => 1e6 / (await marksPerSecond(16, tupleMark)(port, () => tuple, slice)),
    async (slice) => 1e6 / (await marksPerSecond(16, ownMark)(port, () => stream, slice)),
  ]);
  const whole = await inTurns(seconds, [
    async (slice) => 1000 / (await perSecond(16)(port, () => updates, slice)),
    async (slice) => 1000 / (await perSecond(16)(port, () => stream, slice)),
  ]);
  return [
    figureOf(`  ${tuples}, first token, p50`, first),
    { ...figureOf(`  ${tuples}, 16 streams, time of a chunk`, chunk), unit: 'µs' },
    figureOf('  updates, 16 streams, time of one', whole),
  ];
}

/** Values hold the whole thread each time. */
async function ofValues({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo });
  const { port } = service;
  const figures: Figure[] = [];
  for (const length of [10, 1000]) {
    const threadId = `thread-${String(length)}`;
    await sendOne(port, own('/v1/graph/invoke', hello, threadId));
    const messages = Array.from({ length: length - 2 }, () => ({
      role: 'user',
      content: 'so that the thread is long',
    }));
    for (let from = 0; from < messages.length; from += 500)
      await sendOne(
        port,
        toRequest('POST', `/v1/threads/${threadId}/messages`, { messages: messages.slice(from, from + 500) }),
      );
    const values = toRequest('POST', `${prefix}/threads/${threadId}/runs/stream`, {
      assistant_id: graph,
      input: { messages: [{ role: 'user', content: hello }] },
      stream_mode: 'values',
    });
    const turns = await inTurns(seconds, [
      (slice) => p50(port, () => values, slice),
      (slice) => p50(port, () => own('/v1/graph/stream', hello, threadId), slice),
    ]);
    const { aim: _, ...figure } = figureOf(`  values, from ${String(length)} messages on, p50 of a run`, turns);
    figures.push(figure);
  }
  return figures;
}

/** The same requests to a LangGraph Server: `ratio` is that server ÷ this service. */
async function ofServer({ seconds }: Bench): Promise<Figure[]> {
  const { LANGGRAPH_PORT: given } = processEnv();
  if (given === undefined) return [];
  const other = Number(given);
  const figures: Figure[] = [];
  const kinds = [
    ['echo', 'wait for a run, 1 caller, p50', undefined, p50],
    ['streamer', `${tuples}, first token, p50`, tuples, firstMarkP50(tupleMark)],
  ] as const;
  for (const [agent, what, mode, measure] of kinds) {
    await using service = await startService({ agent });
    const text = agent === 'echo' ? hello : 'paced';
    const [server, ours] = [theirs('', text, mode, agent), theirs(prefix, text, mode)];
    const { first, second, ratio } = await inTurns(seconds, [
      (slice) => measure(other, () => server, slice),
      (slice) => measure(service.port, () => ours, slice),
    ]);
    figures.push({ name: `LangGraph Server: ${what}`, unit: 'ms', ours: first, ratio });
    figures.push({ name: '  this service, by the dialect', unit: 'ms', ours: second });
  }
  return figures;
}

const figureOf = (name: string, { first, ratio, rounds }: Awaited<ReturnType<typeof inTurns>>): Figure => ({
  ...{ name, unit: 'ms', ours: first, ratio, rounds },
  aim: atMost(ratio, aim, ' × /v1'),
});

async function checkChunks(port: number, request: Buffer): Promise<void> {
  const { body } = await sendOne(port, request);
  const chunks = body.split(tupleMark.toString()).length - 1;
  if (chunks < 200) throw new Error(`a stream of 200 tokens came in ${String(chunks)} chunks`);
}
