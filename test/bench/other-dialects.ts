import { newId } from '@agent-workflow/kit/ids';
import { atMost, type Figure } from './figure.ts';
import { toRequest } from './load.ts';
import { inTurns, p50, perSecond, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const text = 'hello there';
/** The name under which the service knows an agent that has none. */
const agent = 'default';
/** Most of the time of /v1, for what both do. */
const aim = 1.1;

const ours = (): Buffer =>
  toRequest('POST', '/v1/graph/stream', {
    messages: [{ role: 'user', content: text }],
    response_granularity: 'full',
  });

/** A streamed run of a new thread in each dialect. */
const theirs: Readonly<Record<string, () => Buffer>> = {
  'OpenAI, chat completion': () =>
    toRequest('POST', '/openai/v1/chat/completions', {
      ...{ model: agent, stream: true },
      messages: [{ role: 'user', content: text }],
    }),
  'OpenAI, response': () => toRequest('POST', '/openai/v1/responses', { model: agent, stream: true, input: text }),
  'AG-UI': () =>
    toRequest('POST', `/agui/${agent}`, {
      ...{ threadId: newId(), runId: newId(), protocolVersion: '1.0' },
      messages: [{ id: newId(), role: 'user', content: text }],
    }),
};

/** Streamed runs of OpenAI's and AG-UI's clients beside those of /v1, on the same service and in turns; `ratio` is dialect ÷ /v1. */
export async function otherDialects({ seconds, profileTo }: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'echo', profileTo });
  const { port } = service;
  const figures: Figure[] = [];
  for (const [name, request] of Object.entries(theirs)) {
    const one = await inTurns(seconds, [(slice) => p50(port, request, slice), (slice) => p50(port, ours, slice)]);
    const many = await inTurns(seconds, [
      async (slice) => 1000 / (await perSecond(8)(port, request, slice)),
      async (slice) => 1000 / (await perSecond(8)(port, ours, slice)),
    ]);
    figures.push(figureOf(`${name}: a streamed run, 1 caller, p50`, one), figureOf('  8 callers, time of one', many));
  }
  return figures;
}

const figureOf = (name: string, { first, ratio, rounds }: Awaited<ReturnType<typeof inTurns>>): Figure => ({
  ...{ name, unit: 'ms', ours: first, ratio, rounds },
  aim: atMost(ratio, aim, ' × /v1'),
});
