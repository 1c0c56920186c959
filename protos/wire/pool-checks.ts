import { invalid, type ErrorDetail } from '@agent-workflow/kit/errors';
import { sizes } from '@agent-workflow/kit/sizes';
import { readJson } from '../json-text.ts';
import { idFault, lastTime, readMessage } from '../message/message.ts';
import { isUsage } from '../message/usage.ts';

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

const json =
  (name: string, fits: (value: unknown) => boolean = () => true): Check =>
  (value: Uint8Array | string, at) => {
    if (!fits(readJson(value, at))) throw invalid(at, `must be ${name}`, 'type');
  };

const value = json('JSON');

const control = /[\u0000-\u001f\u007f-\u009f]/u;

/** A field of the state with its JSON. The name is the last part of `at`. */
const stateField: Check = (given: Uint8Array | string, at) => {
  const name = String(at.at(-1));
  if (name === '' || name === '__proto__' || control.test(name) || !name.isWellFormed())
    throw invalid(at, 'must have a name without control characters that is not "__proto__"', 'string_pattern_mismatch');
  const read = readJson(given, at);
  if (name === 'context_summary' && typeof read !== 'string') throw invalid(at, 'must be a string', 'type');
};
const object = json('a JSON object', isObject);
const list = json('a JSON array of objects', (items) => Array.isArray(items) && items.every(isObject));
const usage = json('a list of the tokens of models', isUsage);
const progress = json(
  'what a run keeps',
  (kept) => isObject(kept) && isCounts(kept['visits']) && isContinuation(kept['carry']),
);
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

/** A message as nodes make them. What is put behind its fields in replies stands before its last byte. */
const message: Check = (given: Uint8Array, at, { messageId }) => {
  if (given.byteLength > sizes.message) return;
  const read = readJson(given, at);
  const { message_id: own, timestamp } = readMessage(read, at, { newId: () => '', now: new Date(0) });
  if (own !== messageId) throw invalid([...at, 'message_id'], 'must be the id of the entry', 'value_error');
  if (!isObject(read) || !Array.isArray(read['content']) || read['timestamp'] !== timestamp)
    throw invalid(at, 'must have its content as a list of blocks, and a time as ISO 8601 in UTC', 'value_error');
  if (Object.hasOwn(read, 'checkpoint_id')) throw invalid(at, 'must not have a checkpoint_id', 'value_error');
  if (given.at(-1) !== closing) throw invalid(at, 'must end with its object', 'json_invalid');
};

/** The messages that come in requests of pools, with each of their fields that holds JSON, a number or an id. */
export const poolChecks: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  RevisionDefinition: { graphJson: object, fieldsJson: object, toolsJson: list },
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
  StepWork: { startedAt: past, attempt: count, retries: count, inputTokens: count, outputTokens: count },
  RunEnd: { iterations: count, interruptsJson: list },
  ListRunStepsRequest: { fromStep: count },
  NoteToolStartedRequest: { epoch: count, step: count },
  NoteToolResultRequest: { epoch: count, step: count, resultJson: value, keepSeconds: count },
  ListCheckpointsRequest: { limit: count, offset: count },
  StoreRequest: { memoryId: id, metadataJson: object },
  Selection: { filtersJson: object },
  SearchRequest: { limit: count, scoreThreshold: number, maxTokens: count, optionsJson: object },
};

/** The fields of messages that hold further messages with checks. */
export const poolMessages: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  RegisterRevisionRequest: { definition: 'RevisionDefinition', makeCurrent: 'MakeCurrent' },
  CommitStepRequest: { messages: 'MessageEntry', end: 'RunEnd', work: 'StepWork', fused: 'FusedStep' },
  FusedStep: { messages: 'MessageEntry', end: 'RunEnd', work: 'StepWork' },
  SearchRequest: { selection: 'Selection' },
};
