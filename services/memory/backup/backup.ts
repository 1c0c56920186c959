import { ConfigError } from '@agent-workflow/kit/env';
import { isIn, memoryTypes } from '@agent-workflow/protos/lists';
import { fieldOf, isObject, type JsonObject } from '../record/json.ts';
import type { EmbedderIdentity } from '../ports/embedder.ts';
import type { OwnedMemory } from '../ports/memory.ts';
import { toUnit } from '../vectors/unit.ts';

// A backup is lines of JSON: first its format and its embedder, then one memory a line, and last the number of memories.

const format = 'agent-workflow memories';
const version = 1;

/** The lines of a backup, each with its line end. */
export async function* toLines(
  memories: AsyncIterable<OwnedMemory>,
  { model, dimension }: EmbedderIdentity,
): AsyncGenerator<string> {
  yield lineOf({ format, version, model, dimension });
  let count = 0;
  for await (const { owner, memory } of memories) {
    count += 1;
    const { vector: _, metadataJson, vectorJson, ...fields } = memory;
    yield lineOf({ owner, ...fields, metadataJson: textOf(metadataJson), vectorJson: textOf(vectorJson) });
  }
  yield lineOf({ count });
}

interface Backup {
  /** The embedder that made the vectors. */
  readonly embedder: EmbedderIdentity;
  /** @throws ConfigError at a line that is no memory, and when the last line is missing. */
  readonly memories: AsyncIterable<OwnedMemory>;
}

/** @throws ConfigError when the lines are no backup that this version can read. */
export async function readBackup(lines: AsyncIterable<string>): Promise<Backup> {
  const iterator = lines[Symbol.asyncIterator]();
  const first = await iterator.next();
  const head = first.done ? undefined : parse(first.value);
  const model = head && fieldOf(head, 'model');
  const dimension = head && fieldOf(head, 'dimension');
  const isKnown = head && fieldOf(head, 'format') === format && fieldOf(head, 'version') === version;
  if (!isKnown || typeof model !== 'string' || typeof dimension !== 'number') {
    throw new ConfigError(`the file is no backup of memories (version ${String(version)})`);
  }
  return { embedder: { model, dimension }, memories: readMemories(iterator, dimension) };
}

async function* readMemories(lines: AsyncIterator<string>, dimension: number): AsyncGenerator<OwnedMemory> {
  for (let count = 0; ; count += 1) {
    const next = await lines.next();
    const line = next.done ? undefined : parse(next.value);
    if (line && fieldOf(line, 'count') === count) return;
    const owned = line && toOwned(line, dimension);
    // The first memory is on line 2.
    if (!owned) throw new ConfigError(`the file is no whole backup: line ${String(count + 2)} is no memory`);
    yield owned;
  }
}

const texts = [
  'owner',
  'memoryId',
  'memoryType',
  'category',
  'threadId',
  'content',
  'metadataJson',
  'vectorJson',
] as const;

function toOwned(line: JsonObject, dimension: number): OwnedMemory | undefined {
  const fields = Object.fromEntries(texts.map((name) => [name, fieldOf(line, name)]));
  const timestamp = fieldOf(line, 'timestamp');
  const [happenedAt, expiresAt] = [fieldOf(line, 'happenedAt'), fieldOf(line, 'expiresAt')];
  if (!isTexts(fields) || !isTime(timestamp)) return undefined;
  if (!isOptionalTime(happenedAt) || !isOptionalTime(expiresAt)) return undefined;
  const { owner, memoryType, metadataJson, vectorJson, ...rest } = fields;
  if (!isIn(memoryTypes, memoryType)) return undefined;
  const numbers = numbersOf(vectorJson);
  if (numbers?.length !== dimension || !parse(metadataJson)) return undefined;
  const memory = {
    ...rest,
    memoryType,
    timestamp,
    ...(happenedAt !== undefined && { happenedAt }),
    ...(expiresAt !== undefined && { expiresAt }),
    metadataJson: Buffer.from(metadataJson),
    vectorJson: Buffer.from(vectorJson),
    vector: toUnit(new Float32Array(numbers)),
  };
  return { owner, memory };
}

/** Whether replies can show it as a time, of the years 1970 to 9999. */
const isTime = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= lastTime;

const lastTime = Date.parse('9999-12-31T23:59:59.999Z');

const isOptionalTime = (value: unknown): value is number | undefined => value === undefined || isTime(value);

const isTexts = (fields: JsonObject): fields is Readonly<Record<(typeof texts)[number], string>> =>
  texts.every((name) => typeof fields[name] === 'string');

function numbersOf(json: string): number[] | undefined {
  try {
    const value: unknown = JSON.parse(json);
    if (Array.isArray(value) && value.every((number) => typeof number === 'number')) return value;
  } catch {
    // The caller reports the line.
  }
  return undefined;
}

function parse(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const lineOf = (value: unknown): string => `${JSON.stringify(value)}\n`;

const textOf = ({ buffer, byteOffset, byteLength }: Uint8Array): string =>
  Buffer.from(buffer, byteOffset, byteLength).toString();
