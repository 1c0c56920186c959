import { streamedTokens } from './agents.ts';
import { atLeast, atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { firstMarkP50, marksPerSecond, sideBySide, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const mark = Buffer.from('event: messages_chunk\n');

const requestOf = (how: string): Buffer =>
  toRequest('POST', '/v1/graph/stream', { messages: [{ role: 'user', content: how }], response_granularity: 'low' });

/** Streams of 200 tokens, each a chunk of its own. Bare Koa sends all of a stream at once: the bound of what can be. */
export async function stream(bench: Bench): Promise<Figure[]> {
  await using service = await startService({ agent: 'streamer', profileTo: bench.profileTo });
  for (const how of ['paced', 'at once']) await checkStream(service.port, requestOf(how));
  const first = await sideBySide(bench, service, () => requestOf('paced'), firstMarkP50(mark));
  const chunks = await sideBySide(bench, service, () => requestOf('at once'), marksPerSecond(16, mark));
  const paced = await sideBySide(bench, service, () => requestOf('paced'), marksPerSecond(16, mark));
  return [
    { name: 'first token, p50', unit: 'ms', ...first, aim: atMost(first.ours, 1, ' ms') },
    { name: '200-token streams, 16 at once, chunks', unit: '/s', ...chunks, aim: atLeast(chunks.ours, 60_000, ' /s') },
    { name: '  the same, one token a turn of the loop', unit: '/s', ...paced },
  ];
}

/** One stream has every token and the whole message, each in a chunk of its own. */
async function checkStream(port: number, request: Buffer): Promise<void> {
  const { body } = await sendOne(port, request);
  const chunks = body.split(mark.toString()).length - 1;
  if (chunks !== streamedTokens + 1) throw new Error(`a stream of ${streamedTokens} tokens came in ${chunks} chunks`);
}
