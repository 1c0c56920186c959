import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { textOf } from '@agent-workflow/protos/message';
import type { AnswerPart, ModelQuestion } from '../model/model.ts';
import { messageOf } from '../state/failure.ts';

/** The file of a recorded model. */
interface Recording {
  readonly answers: readonly RecordedAnswer[];
}

interface RecordedAnswer {
  /** The question, as a hash. */
  readonly key: string;
  /** The beginning of its last message, for those who read the file. */
  readonly question: string;
  readonly parts: readonly AnswerPart[];
}

/** The bounds of a file: a count, and bytes. */
const maxAnswers = 1000;
const maxBytes = 16 * 1024 * 1024;

/** The same for questions that differ in ids and times of messages alone. */
export function keyOfQuestion({ instructions, messages, tools, schema }: ModelQuestion): string {
  const names = new Map<unknown, number>();
  // Ids of calls may be new in each run: what counts is which result belongs to which call.
  const nameOf = (id: unknown): number => {
    if (!names.has(id)) names.set(id, names.size);
    return names.get(id) ?? 0;
  };
  const asked = messages.map(({ role, content }) => ({
    role,
    content: content.map(({ id, call_id: callId, ...block }) => ({
      ...block,
      ...(id === undefined ? {} : { id: nameOf(id) }),
      ...(callId === undefined ? {} : { call_id: nameOf(callId) }),
    })),
  }));
  const offered = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const text = JSON.stringify({ instructions, messages: asked, tools: offered, schema }, inKeyOrder);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

/** Members in the order of their names, so that equal values have equal JSON. */
const inKeyOrder = (_key: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).toSorted(([one], [other]) => (one < other ? -1 : 1)))
    : value;

const maxExcerpt = 100;

/** The beginning of the question's last message with text. */
export function excerptOf({ messages }: ModelQuestion): string {
  const text = textOf(messages.findLast((message) => textOf(message) !== '') ?? { content: [] });
  return text.length > maxExcerpt ? `${text.slice(0, maxExcerpt)} …` : text;
}

/** @throws Error when the file holds no recording. */
export function readRecording(file: string): Recording {
  if (!existsSync(file)) return { answers: [] };
  const read = parse(file);
  if (isRecording(read)) return read;
  throw new Error(`${file} holds no recorded answers: delete it and record again`);
}

function parse(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`${file} cannot be read as JSON: ${messageOf(cause)}`, { cause });
  }
}

const isRecording = (value: unknown): value is Recording =>
  typeof value === 'object' &&
  value !== null &&
  'answers' in value &&
  Array.isArray(value.answers) &&
  value.answers.every(isRecordedAnswer);

function isRecordedAnswer(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || !('key' in value) || !('parts' in value)) return false;
  return typeof value.key === 'string' && Array.isArray(value.parts);
}

/**
 * Adds an answer to the file, which is written whole and then put in place. No other code of this process runs in between.
 * @throws RangeError when the file would exceed its bounds.
 */
export function addRecord(file: string, answer: RecordedAnswer): void {
  const others = readRecording(file).answers.filter(({ key }) => key !== answer.key);
  if (others.length >= maxAnswers)
    throw new RangeError(`${file} holds ${String(maxAnswers)} answers, and takes no more`);
  const text = `${JSON.stringify({ answers: [...others, answer] }, undefined, 2)}\n`;
  if (Buffer.byteLength(text) > maxBytes)
    throw new RangeError(`${file} would hold more than ${String(maxBytes)} bytes`);
  mkdirSync(dirname(file), { recursive: true });
  const written = `${file}.${String(process.pid)}.tmp`;
  writeFileSync(written, text);
  renameSync(written, file);
}
