import { atMost, type Figure } from './figure.ts';
import { sendOne, toRequest } from './load.ts';
import { p50, prepare, sideBySide, type Bench } from './measure.ts';
import { startService } from './servers.ts';

const subjects = ['The harbour', 'My sister', 'Our invoice', 'The old printer', 'Breakfast', 'This contract'];
const verbs = ['opens', 'prefers', 'needs', 'forgot', 'explains', 'delivers', 'avoids'];
const objects = ['green tea', 'the second floor', 'a longer deadline', 'quiet mornings', 'blue paper'];

const pick = (from: readonly string[], index: number): string => from[index % from.length] ?? '';

const sentence = (index: number): string =>
  `${pick(subjects, index)} ${pick(verbs, index >> 1)} ${pick(objects, index >> 2)}, note ${String(index)}.`;

const store = (index: number): Buffer =>
  toRequest('POST', '/v1/store/memories', { content: sentence(index), memory_type: 'semantic', category: 'notes' });

const search = (index: number): Buffer =>
  toRequest('POST', '/v1/store/search', { query: `who ${pick(verbs, index)} ${pick(objects, index)}`, limit: 10 });

/** The memory store, durable, vectors in every result. */
export async function memories(bench: Bench): Promise<Figure[]> {
  // Searches run on exactly a thousand memories, so the store that grows is another.
  await using searched = await startService({ agent: 'echo', profileTo: bench.profileTo });
  await prepare(searched.port, store, 1000);
  await checkSearch(searched.port);
  const found = await sideBySide(bench, searched, search, p50);
  await using growing = await startService({ agent: 'echo', profileTo: bench.profileTo });
  const stored = await sideBySide(bench, growing, store, p50);
  return [
    { name: 'memory store, p50', unit: 'ms', ...stored, aim: atMost(stored.ours, 0.6, ' ms') },
    { name: 'search 10 of 1,000, with vectors, p50', unit: 'ms', ...found, aim: atMost(found.ours, 1, ' ms') },
  ];
}

async function checkSearch(port: number): Promise<void> {
  const reply = JSON.parse((await sendOne(port, search(0))).body) as { data: { results: { vector: number[] }[] } };
  const { results } = reply.data;
  if (results.length !== 10 || !results.every(({ vector }) => vector.length > 0))
    throw new Error(`a search gave ${results.length} results, or some without a vector`);
}
