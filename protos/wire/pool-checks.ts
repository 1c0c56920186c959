import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { refuseMany, refuseOver, sizes } from '@agent-workflow/kit/sizes';
import { readJson } from '../json-text.ts';
import { idFault, lastTime, readMessage } from '../message/message.ts';
import { isUsage } from '../message/usage.ts';
import type { MessageEntry } from '../threads.ts';

/**
 * What a request of a pool may hold. The record keeps these values as they come, and other processes read them: a text that is no JSON, or a
 * time that is none, would break the replies that contain it. Workers of the platform are not checked: they write with the same code.
 */

type Field = ErrorDetail['field'];

/** @throws Invalid below `at`. `message` is what the value is a field of. */
type Check = (value: never, at: Field, message: Message) => void;

type Message = Readonly<Record<string, unknown>>;

const closing = 0x7d;

const isObject = (value: unknown): value is Message =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The bound of each text is that of the service which keeps it. */
type JsonCheck = (mostBytes: number) => Check;

const json =
  (name: string, fits: (value: unknown) => boolean = () => true): JsonCheck =>
  (mostBytes) =>
  (value: Uint8Array | string, at) => {
    if (!fits(readJson(value, { at, mostBytes }))) throw invalid(at, `must be ${name}`, 'type');
  };

const value = json('JSON');

const control = /[\u0000-\u001f\u007f-\u009f]/u;

/** The most bytes of the name of a state field. */
const maxNameBytes = 8 * 1024;

/** A field of the state with its JSON. The name is the last part of `at`. */
const stateField: Check = (given: Uint8Array | string, at) => {
  const name = String(at.at(-1));
  if (Buffer.byteLength(name) > maxNameBytes)
    throw invalid(
      at.slice(0, -1),
      `must not have a name of more than ${String(maxNameBytes)} bytes`,
      'string_too_long',
    );
  if (name === '' || name === '__proto__' || control.test(name) || !name.isWellFormed())
    throw invalid(at, 'must have a name without control characters that is not "__proto__"', 'string_pattern_mismatch');
  const read = readJson(given, { at, mostBytes: sizes.step });
  if (name === 'context_summary' && typeof read !== 'string') throw invalid(at, 'must be a string', 'type');
};
const object = json('a JSON object', isObject);
const list = json('a JSON array of objects', (items) => Array.isArray(items) && items.every(isObject));
const usage = json('a list of the tokens of models', isUsage)(sizes.usage);
const progress = json(
  'what a run keeps',
  (kept) => isObject(kept) && isCounts(kept['visits']) && isContinuation(kept['carry']),
)(sizes.progress);
const isCounts = (counts: unknown): boolean => isObject(counts) && Object.values(counts).every(isCount);
const isContinuation = (given: unknown): boolean => given === undefined || isObject(given);

const isCount = (given: unknown): boolean => Number.isSafeInteger(given) && (given as number) >= 0;

const count: Check = (given: number, at) => {
  if (!isCount(given)) throw invalid(at, 'must be a whole number from 0 on', 'greater_than_equal');
};

const number: Check = (given: number, at) => {
  if (!Number.isFinite(given)) throw invalid(at, 'must be a number', 'finite_number');
};

const time: Check = (given: number, at) => {
  if (!isCount(given) || given > lastTime)
    throw invalid(at, 'must be a time of the years 1970 to 9999, in milliseconds', 'datetime_parsing');
};

/** The longest sleep of a run, ten years, in milliseconds. */
const longestSleepMs = 10 * 365.25 * 24 * 3600 * 1000;

const wakeTime: Check = (given: number, at) => {
  time(given as never, at, {});
  if (given > Date.now() + aheadMs + longestSleepMs)
    throw invalid(at, 'must be at most ten years ahead', 'datetime_future');
};

/** How far the clock of a worker may be ahead, in milliseconds. */
const aheadMs = 24 * 60 * 60 * 1000;

const past: Check = (given: number, at) => {
  if (!isCount(given) || given > Date.now() + aheadMs)
    throw invalid(at, 'must be a time that has come', 'datetime_past');
};

const id: Check = (given: string, at) => {
  const fault = idFault(given);
  if (fault) throw invalid(at, fault.msg, fault.type);
};

/**
 * The spans and the content of a step. No step is refused for its trace: the record leaves out one that is too large, and those who read it leave out
 * what is none (`protos/stored-trace.ts`).
 */
const trace: Check = () => undefined;

/** A message as nodes make them. What is put after its fields in replies stands before its last byte. */
const message: Check = (given: Uint8Array, at, { messageId }) => {
  const read = readJson(given, { at, mostBytes: sizes.message });
  const { message_id: own, timestamp } = readMessage(read, at, { newId: () => '', now: new Date(0) });
  if (own !== messageId) throw invalid([...at, 'message_id'], 'must be the id of the entry', 'value_error');
  if (!isObject(read) || !Array.isArray(read['content']) || read['timestamp'] !== timestamp)
    throw invalid(at, 'must have its content as a list of blocks, and a time as ISO 8601 in UTC', 'value_error');
  if (Object.hasOwn(read, 'checkpoint_id')) throw invalid(at, 'must not have a checkpoint_id', 'value_error');
  if (given.at(-1) !== closing) throw invalid(at, 'must end with its object', 'json_invalid');
};

/** The messages that come in requests of pools, with each of their fields that holds JSON, a number or an id. */
export const poolChecks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  RevisionDefinition: {
    ...{ graphJson: object(sizes.drawing), fieldsJson: object(sizes.drawing) },
    toolsJson: list(sizes.toolsTogether),
  },
  MakeCurrent: { version: count },
  ClaimRunRequest: { knownVersion: count, takeoverEpoch: count },
  RenewGrantRequest: { epoch: count },
  ReleaseRunRequest: { epoch: count },
  MessageEntry: { messageId: id, json: message },
  CommitStepRequest: {
    ...{ epoch: count, step: count, at: past, wakeAt: wakeTime },
    ...{ fields: stateField, progressJson: progress, usageJson: usage },
  },
  FusedStep: { at: past, progressJson: progress, usageJson: usage },
  StepTrace: { spansJson: trace, contentJson: trace },
  StepWork: { startedAt: past, attempt: count, retries: count, inputTokens: count, outputTokens: count },
  RunEnd: { iterations: count, interruptsJson: list(sizes.progress) },
  PartialMessages: { seq: count },
  ListRunStepsRequest: { fromStep: count, limit: count },
  NoteToolStartedRequest: { epoch: count, step: count, recordOf: id },
  NoteToolResultRequest: {
    epoch: count,
    step: count,
    recordOf: id,
    resultJson: value(sizes.toolRecord),
    keepSeconds: count,
  },
  ListCheckpointsRequest: { limit: count, offset: count },
  StoreRequest: { memoryId: id, metadataJson: object(sizes.memory), timestamp: count, expiresAt: count },
  UpdateRequest: { metadataJson: object(sizes.memory), timestamp: count, expiresAt: count },
  ListRequest: { limit: count, offset: count },
  Selection: { filtersJson: object(sizes.search) },
  SearchRequest: { limit: count, scoreThreshold: number, maxTokens: count, optionsJson: object(sizes.search) },
};

/** @throws Invalid for a step that adds more than one may, as its worker counts it. */
function refuseLargeStep({ fields = {}, messages = [] }: StepParts, at: Field): void {
  const names = Object.keys(fields);
  refuseMany(names.length, sizes.stepFields, [...at, 'fields']);
  refuseMany(messages.length, sizes.stepMessages, [...at, 'messages']);
  let bytes = 0;
  for (const { messageId, json: text } of messages) bytes += Buffer.byteLength(messageId) + text.byteLength;
  refuseOver(bytes, sizes.step, [...at, 'messages']);
  for (const name of names) bytes += fields[name]?.byteLength ?? 0;
  refuseOver(bytes, sizes.step, [...at, 'fields']);
}

interface StepParts {
  readonly fields?: Readonly<Record<string, Uint8Array>>;
  readonly messages?: readonly MessageEntry[];
}

/** What is checked of a message as a whole, before any of its texts is read. */
export const poolBounds: Readonly<Record<string, (message: StepParts, at: Field) => void>> = {
  CommitStepRequest: refuseLargeStep,
  FusedStep: refuseLargeStep,
  PartialMessages: refuseLargeStep,
};

/** The fields of messages that hold further messages with checks. */
export const poolMessages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  RegisterRevisionRequest: { definition: 'RevisionDefinition', makeCurrent: 'MakeCurrent' },
  CommitStepRequest: {
    messages: 'MessageEntry',
    end: 'RunEnd',
    work: 'StepWork',
    trace: 'StepTrace',
    fused: 'FusedStep',
  },
  FusedStep: { messages: 'MessageEntry', end: 'RunEnd', work: 'StepWork', trace: 'StepTrace' },
  EndRunRequest: { partial: 'PartialMessages' },
  PartialMessages: { messages: 'MessageEntry' },
  SearchRequest: { selection: 'Selection' },
  ListRequest: { selection: 'Selection' },
  ForgetRequest: { selection: 'Selection' },
};
