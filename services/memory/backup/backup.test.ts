import test from 'ava';
import fc from 'fast-check';
import { readBackup, toLines } from './backup.ts';
import type { OwnedMemory } from '../ports/memory.ts';
import { toUnit, vectorToJson } from '../vectors/unit.ts';

const embedder = { model: 'given', dimension: 2 };

const text = fc.string({ unit: 'grapheme' });
const owned = fc
  .record({
    owner: text,
    memoryId: text,
    content: text,
    category: text,
    threadId: text,
    metadata: fc.dictionary(text, fc.jsonValue()),
    timestamp: fc.nat(),
    expiresAt: fc.nat(),
    happenedAt: fc.nat({ max: Date.parse('9999-12-31T23:59:59.999Z') }),
    angle: fc.double({ min: 0, max: 6, noNaN: true }),
  })
  .map(({ owner, metadata, angle, ...fields }): OwnedMemory => {
    const vector = toUnit(Float32Array.from([Math.cos(angle), Math.sin(angle)]));
    const metadataJson = Buffer.from(JSON.stringify(metadata));
    return {
      owner,
      memory: { ...fields, memoryType: 'semantic', metadataJson, vector, vectorJson: vectorToJson(vector) },
    };
  });

async function linesOf(memories: readonly OwnedMemory[]): Promise<string[]> {
  const lines = await Array.fromAsync(toLines(fromList(memories), embedder));
  return lines.join('').split('\n').slice(0, -1);
}

async function* fromList<T>(items: readonly T[]): AsyncGenerator<T> {
  for (const item of items) yield await Promise.resolve(item);
}

const plain = ({ owner, memory: { vector: _, metadataJson, vectorJson, ...fields } }: OwnedMemory): unknown => ({
  owner,
  ...fields,
  json: [metadataJson, vectorJson].map((json) => Buffer.from(json).toString()),
});

test('a written backup is read again, byte for byte', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(owned, { maxLength: 8 }), async (memories) => {
      const backup = await readBackup(fromList(await linesOf(memories)));
      const read = await Array.fromAsync(backup.memories);
      t.deepEqual(backup.embedder, embedder);
      t.deepEqual(read.map(plain), memories.map(plain));
      for (const [place, { memory }] of read.entries()) {
        const written = memories[place]?.memory.vector ?? new Float32Array();
        t.true(memory.vector.every((value, axis) => Math.abs(value - (written[axis] ?? NaN)) < 1e-6));
      }
    }),
  );
});

/** None of them can be shown as a time of the years 1970 to 9999. */
const badTimes = [
  { timestamp: 1.5 },
  { timestamp: 9e15 },
  { timestamp: -1 },
  { happenedAt: 1e300 },
  { happenedAt: 0.5 },
  { expiresAt: -5 },
  { expiresAt: null },
];

test('a backup that was cut short, or has another kind of line, is refused', async (t) => {
  const lines = await linesOf(fc.sample(owned, { numRuns: 3, seed: 1 }));
  const broken: readonly (readonly [lines: readonly string[], message: RegExp])[] = [
    [[], /no backup of memories/],
    [['{"format":"other"}'], /no backup of memories/],
    [['{"format":"agent-workflow memories","version":2}'], /no backup of memories \(version 1\)/],
    [lines.slice(0, -1), /line 5 is no memory/],
    [lines.slice(0, 2).concat(lines.slice(4)), /line 3 is no memory/],
    [lines.with(2, '{"owner":1}'), /line 3 is no memory/],
    ...badTimes.map(
      (times) =>
        [lines.with(2, JSON.stringify({ ...JSON.parse(lines[2] ?? ''), ...times })), /line 3 is no memory/] as const,
    ),
    [lines.with(2, (lines[2] ?? '').replace(/"vectorJson":"\[[^"]*"/, '"vectorJson":"[1]"')), /line 3 is no memory/],
  ];
  for (const [given, message] of broken) {
    const reading = async (): Promise<unknown> => Array.fromAsync((await readBackup(fromList(given))).memories);
    await t.throwsAsync(reading(), { name: 'ConfigError', message });
  }
});
