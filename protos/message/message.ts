import { invalid, type ErrorDetail, type ServiceError } from '@agent-workflow/kit/errors';
import { refuseOver, sizes } from '@agent-workflow/kit/sizes';
import type { MessageEntry } from '../threads.ts';
import { readIsoTime } from './iso-time.ts';

/** One block of a message's content; a block of a type not listed here is kept as it came. */
export interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}

export const roles = ['user', 'assistant', 'system', 'tool'] as const;
type Role = (typeof roles)[number];

/**
 * What a provider sent beside what is read here: signatures, ids, encrypted reasoning. It stands as `provider_data` of a `text`, `reasoning`
 * or call block, and goes back as it came to the provider and the address that `source` stands for, and to nobody else. Nodes alone
 * write it. A message of a caller has none, and no reply shows it.
 */
export interface ProviderData {
  readonly source: string;
  /**
   * Of a `reasoning` block: the member of the assistant's message under which its text goes back, as `reasoning_content`. `content.thinking`:
   * a part of the content, `{ type: 'thinking', thinking: [{ type: 'text', text }] }`. Absent: the text goes back in no member of its own.
   */
  readonly text_member?: string;
  /**
   * Of a call: members of the call, those of its `function` in `function`. Of a `text` or `reasoning` block: members of the message that
   * are read nowhere else. What belongs to the message stands with one of its blocks: if it has no other, with a `reasoning` block whose
   * text is empty. For a model of the AI SDK: the `providerOptions` of the part that the block becomes.
   */
  readonly members: Readonly<Record<string, unknown>>;
}

/** A message of the log, of a reply and of `state.context`. */
export interface Message {
  readonly message_id: string;
  readonly role: Role;
  readonly content: readonly Block[];
  readonly tools_calls?: readonly unknown[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** ISO 8601. */
  readonly timestamp: string;
  readonly [key: string]: unknown;
}

/** The ids of the calls that a tool message answers. */
export const answeredCalls = (message: Pick<Message, 'content'>): string[] =>
  message.content.flatMap((block) =>
    block.type === 'tool_result' && typeof block['call_id'] === 'string' ? [block['call_id']] : [],
  );

const callTypes: ReadonlySet<string> = new Set(['tool_call', 'remote_tool_call']);

/** A block that calls a tool: `tool_call` one of the server, `remote_tool_call` one of the caller. */
export interface CallBlock extends Block {
  readonly type: 'tool_call' | 'remote_tool_call';
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

export const isCall = (block: Block): block is CallBlock =>
  callTypes.has(block.type) && typeof block['id'] === 'string' && typeof block['name'] === 'string';

/** The ids of the tool calls that a message makes. */
export const callsOf = (message: Pick<Message, 'content'>): string[] =>
  message.content.filter(isCall).map(({ id }) => id);

/** The text of a message: its `text` blocks joined. */
export const textOf = (message: Pick<Message, 'content'>): string =>
  message.content
    .flatMap((block) => (block.type === 'text' && typeof block['text'] === 'string' ? [block['text']] : []))
    .join('');

type Field = ErrorDetail['field'];

/** The type of a field of a block. `name` is a text that is not empty. */
export type BlockFieldType = 'string' | 'name' | 'boolean' | 'object' | 'array';

type BlockFields = Readonly<Record<string, BlockFieldType>>;

/** What a block of a known type holds. */
interface BlockRule {
  readonly required: BlockFields;
  /** May be absent or null; has this type otherwise. */
  readonly optional: BlockFields;
  /** Optional fields, of which a block must hold one. */
  readonly oneOf?: readonly string[];
}

const call: BlockRule = { required: { id: 'name', name: 'name', args: 'object' }, optional: { tool_type: 'string' } };

/** The rules for the known block types. A block of another type is kept unchanged. */
export const blockRules: Readonly<Record<string, BlockRule>> = {
  text: { required: { text: 'string' }, optional: {} },
  reasoning: {
    required: {},
    optional: { text: 'string', summary: 'string', details: 'array' },
    oneOf: ['text', 'summary', 'details'],
  },
  error: { required: { message: 'string' }, optional: {} },
  tool_call: call,
  remote_tool_call: call,
  tool_result: { required: { call_id: 'name' }, optional: { status: 'string', is_error: 'boolean' } },
};

/** The most characters of an identifier. */
export const maxIdLength = 256;

/** No slash, no control character, and not `.` or `..`, so that every client can put the identifier into a path. */
export const idPattern = '^(?!\\.{1,2}$)[^/\\u0000-\\u001f\\u007f-\\u009f]+$';
export const idRule = 'must not hold a slash or a control character, nor be "." or ".."';

const addressable = new RegExp(idPattern, 'u');

/** Why a text is no valid identifier; `undefined` when it is valid. */
export function idFault(id: string): { readonly msg: string; readonly type: string } | undefined {
  if (id === '') return { msg: 'must not be empty', type: 'string_too_short' };
  if (id.length > maxIdLength && Array.from(id.slice(0, 2 * maxIdLength + 1)).length > maxIdLength)
    return { msg: `must not have more than ${String(maxIdLength)} characters`, type: 'string_too_long' };
  if (!id.isWellFormed()) return { msg: 'must be well-formed Unicode', type: 'format' };
  return addressable.test(id) ? undefined : { msg: idRule, type: 'string_pattern_mismatch' };
}

/** The text of an identifier that was sent as a text or a number. */
export const idText = (id: string | number): string => (Number.isInteger(id) ? BigInt(id).toString() : String(id));

/** Makes the id and the time of a message that has none. */
interface MessageDefaults {
  readonly newId: () => string;
  readonly now: Date;
}

/**
 * Reads one message of a request, of a state, or of a node. The result has an id, content blocks and an ISO 8601 time in UTC. Fields and
 * blocks without a rule are kept unchanged.
 * @throws Invalid at the first field with a fault, below `at`.
 */
export function readMessage(given: unknown, at: Field, { newId, now }: MessageDefaults): Message {
  if (!isObject(given)) throw wrongType(at, 'an object', given, 'object_type');
  // Replies show the checkpoint of a message: it is no part of the message.
  const { message_id: id, role, content, timestamp, checkpoint_id: _checkpoint, ...others } = given;
  if (!isRole(role)) {
    if (role === undefined) throw invalid([...at, 'role'], 'is required', 'missing');
    throw invalid([...at, 'role'], `must be one of ${roles.join(', ')}`, 'enum');
  }
  return {
    message_id: readId(id, [...at, 'message_id']) ?? newId(),
    role,
    content: readContent(content, [...at, 'content']),
    ...readOthers(others, at),
    timestamp: new Date(readTime(timestamp, [...at, 'timestamp']) ?? now).toISOString(),
  };
}

/**
 * Reads one message of a caller for the log, without the provider data that it may hold.
 * @throws Invalid as {@link readMessage}, and when the message is over the size limit.
 */
export function readEntry(given: unknown, at: Field, defaults: MessageDefaults): MessageEntry {
  const message = withoutProviderData(readMessage(given, at, defaults));
  const json = encoder.encode(JSON.stringify(message));
  refuseOver(json.length, sizes.message, at);
  return { messageId: message.message_id, json };
}

/** What the provider of a model sent with a block; `undefined` for what is no such thing. */
export function providerDataOf({ provider_data: data }: Block): ProviderData | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { source, members } = data as Partial<ProviderData>;
  const isData = typeof source === 'string' && typeof members === 'object' && (members as unknown) !== null;
  return isData ? (data as ProviderData) : undefined;
}

/** A message as callers see and send it. */
export function withoutProviderData<M extends Pick<Message, 'content'>>(message: M): M {
  const isHeld = Array.isArray(message.content) && message.content.some(holdsProviderData);
  return isHeld ? { ...message, content: message.content.map(withoutData) } : message;
}

export const holdsProviderData = (block: Block): boolean => Object.hasOwn(block, 'provider_data');

const withoutData = (block: Block): Block =>
  holdsProviderData(block) ? (without(block, ['provider_data']) as Block) : block;

const encoder = new TextEncoder();

/** Reads one content block. @throws Invalid at the first field with a fault, below `at`. */
export function readBlock(given: unknown, at: Field): Block {
  if (!isObject(given)) throw wrongType(at, 'an object', given, 'object_type');
  const { type } = given;
  refuseMisfit(type, 'name', [...at, 'type']);
  const rule = Object.hasOwn(blockRules, type as string) ? blockRules[type as string] : undefined;
  return rule ? readKnownBlock(given, rule, at) : (given as Block);
}

function readKnownBlock(given: Given, { required, optional, oneOf }: BlockRule, at: Field): Block {
  for (const name in required) refuseMisfit(given[name], required[name] ?? 'string', [...at, name]);
  let absent: string[] | undefined;
  for (const name in optional) {
    if (given[name] === null) (absent ??= []).push(name);
    else if (given[name] !== undefined) refuseMisfit(given[name], optional[name] ?? 'string', [...at, name]);
  }
  const [first] = oneOf ?? [];
  if (oneOf && first !== undefined && oneOf.every((name) => given[name] === undefined || given[name] === null))
    throw invalid([...at, first], `is required, unless ${oneOf.slice(1).join(' or ')} is given`, 'missing');
  return (absent ? without(given, absent) : given) as Block;
}

type Given = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isRole = (role: unknown): role is Message['role'] => (roles as readonly unknown[]).includes(role);

function without(given: Given, names: readonly string[]): Given {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !names.includes(name)));
}

/** `undefined` when the message needs a new id. */
function readId(id: unknown, at: Field): string | undefined {
  if (id === undefined || id === null) return undefined;
  if (typeof id !== 'string' && typeof id !== 'number') throw wrongType(at, 'a string or a number', id);
  if (typeof id === 'number') refuseRounded(id, at);
  const text = idText(id);
  if (text === '' || text === '0') return undefined;
  const fault = idFault(text);
  if (fault) throw invalid(at, fault.msg, fault.type);
  return text;
}

/** Larger JSON numbers are rounded, so that two different identifiers would become the same. */
function refuseRounded(id: number, at: Field): void {
  const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;
  if (id > most) throw invalid(at, `must be <= ${String(most)}`, 'less_than_equal');
  if (id < least) throw invalid(at, `must be >= ${String(least)}`, 'greater_than_equal');
}

function readContent(content: unknown, at: Field): readonly Block[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (content === undefined) throw invalid(at, 'is required', 'missing');
  if (!Array.isArray(content)) throw wrongType(at, 'a string or an array', content, 'string_or_array_type');
  refuseTooMany(content, at);
  return content.map((block: unknown, index) => readBlock(block, [...at, index]));
}

function readOthers({ tools_calls: calls, metadata, ...others }: Given, at: Field): Given {
  if (isGiven(calls)) {
    refuseMisfit(calls, 'array', [...at, 'tools_calls']);
    refuseTooMany(calls as readonly unknown[], [...at, 'tools_calls']);
  }
  if (isGiven(metadata)) refuseMisfit(metadata, 'object', [...at, 'metadata']);
  return {
    ...(isGiven(calls) && { tools_calls: calls }),
    ...(isGiven(metadata) && { metadata }),
    ...others,
  };
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function refuseTooMany(items: readonly unknown[], at: Field): void {
  if (items.length > sizes.blocks)
    throw invalid(at, `must NOT have more than ${String(sizes.blocks)} items`, 'too_long');
}

const fits: Readonly<Record<BlockFieldType, (value: unknown) => boolean>> = {
  string: (value) => typeof value === 'string',
  name: (value) => typeof value === 'string',
  boolean: (value) => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
};

const typeNames: Readonly<Record<BlockFieldType, string>> = {
  string: 'a string',
  name: 'a string',
  boolean: 'a boolean',
  object: 'an object',
  array: 'an array',
};

function refuseMisfit(value: unknown, type: BlockFieldType, at: Field): void {
  if (value === undefined) throw invalid(at, 'is required', 'missing');
  if (!fits[type](value)) throw wrongType(at, typeNames[type], value, `${type === 'name' ? 'string' : type}_type`);
  if (type === 'name' && value === '') throw invalid(at, 'must not be empty', 'string_too_short');
}

const wrongType = (at: Field, wanted: string, value: unknown, type = 'type'): ServiceError =>
  invalid(at, `must be ${wanted}, not ${nameOf(value)}`, type);

const nameOf = (value: unknown): string => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value);

/** A smaller number is a time in seconds since 1970; this and larger numbers are milliseconds. */
const firstMilliseconds = 100_000_000_000;
/** The last millisecond of the year 9999. */
export const lastTime = 253_402_300_799_999;

/** A time in milliseconds since 1970; `undefined` when none is given. A text without an offset is read as UTC. */
export function readTime(given: unknown, at: Field): number | undefined {
  if (given === undefined || given === null) return undefined;
  if (typeof given !== 'string' && typeof given !== 'number') throw wrongType(at, 'a string or a number', given);
  const ms = typeof given === 'number' ? toMilliseconds(given) : readIsoTime(given);
  if (!(ms >= 0 && ms <= lastTime))
    throw invalid(at, 'must be an ISO 8601 time, or a number of the years 1970 to 9999', 'datetime_parsing');
  return ms;
}

const toMilliseconds = (time: number): number => Math.trunc(time < firstMilliseconds ? time * 1000 : time);
