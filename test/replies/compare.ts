/**
 * `npx node test/replies/compare.ts before-1 before-2 [more before …] after`: which replies are the same in every recording of the
 * version before and are missing after it, and which replies to the same requests are new. Exit code 1 when there are any.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { styleText } from 'node:util';
import type { Reply } from './reply.ts';

interface Counted {
  readonly count: number;
  readonly reply: Reply;
}

type Recording = ReadonlyMap<string, Counted>;

const folders = process.argv.slice(2);
const recordings = folders.map(readRecording);
const after = recordings.at(-1);
const [first, ...others] = recordings.slice(0, -1);
if (first === undefined || after === undefined || others.length === 0) {
  process.stderr.write('usage: npx node test/replies/compare.ts before-1 before-2 [more before …] after\n');
  process.exitCode = 2;
} else {
  process.exitCode = compare(first, others, after) ? 0 : 1;
}

function compare(one: Recording, rest: readonly Recording[], later: Recording): boolean {
  const before = [one, ...rest];
  const steady = [...one].map(([id, { reply }]) => ({
    id,
    reply,
    count: Math.min(...before.map((recording) => countOf(recording, id))),
  }));
  const missing = steady
    .map(({ id, reply, count }) => ({ reply, count: count - Math.min(count, countOf(later, id)) }))
    .filter(({ count }) => count > 0);
  const steadyKeys = new Set(steady.filter(({ count }) => count > 0).map(({ reply }) => reply.key));
  const added = [...later]
    .filter(([id, { reply }]) => steadyKeys.has(reply.key) && before.every((recording) => !recording.has(id)))
    .map(([, counted]) => counted);

  const lines = [...missing.map((reply) => lineOf('-', reply)), ...added.map((reply) => lineOf('+', reply))];
  const figures = [
    `replies before ${before.map((recording) => total(recording.values())).join(' and ')}`,
    `the same in each ${total(steady)}`,
    `after ${total(later.values())}`,
    `missing ${total(missing)}`,
    `new ${total(added)}`,
  ];
  process.stdout.write(`${[...lines.toSorted(), styleText('bold', figures.join(', '))].join('\n')}\n`);
  return missing.length === 0 && added.length === 0;
}

function readRecording(folder: string): Recording {
  const recording = new Map<string, Counted>();
  for (const file of readdirSync(folder)) {
    for (const line of readFileSync(`${folder}/${file}`, 'utf8').split('\n')) {
      if (line === '') continue;
      const reply = JSON.parse(line) as Reply;
      const id = `${reply.status} ${reply.type} ${reply.key} ${reply.digest}`;
      recording.set(id, { count: countOf(recording, id) + 1, reply });
    }
  }
  return recording;
}

function countOf(recording: Recording, id: string): number {
  return recording.get(id)?.count ?? 0;
}

function total(counted: Iterable<{ readonly count: number }>): number {
  return [...counted].reduce((sum, { count }) => sum + count, 0);
}

function lineOf(sign: string, { count, reply }: Counted): string {
  return `${sign} ${count}× ${reply.status} ${reply.key}\n  ${reply.body.slice(0, 1500)}`;
}
