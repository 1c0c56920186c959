import { failureCodes, failureReasons } from '@agent-workflow/kit/errors';
import {
  longestId,
  longestMessage,
  longestName,
  mostMemories,
  mostOutput,
  mostRanges,
  mostSpans,
  spanKinds,
  spanStatuses,
  type LogLine,
  type SentMessages,
  type SpanContent,
  type SpanError,
  type SpanOutput,
  type StoredContent,
  type StoredSpan,
  type StoredTrace,
} from './run-trace.ts';

type Given = Readonly<Record<string, unknown>>;

/** Reads a value of a trace; `undefined` for one that is none of its kind. */
type Reader<T> = (value: unknown) => T | undefined;

type Readers<T> = { readonly [K in keyof T]-?: Reader<T[K]> };

/**
 * Reads `spans_json`. A worker of another team may have written it: what cannot be read is left out, and what is left is bounded, so that a reply
 * with it takes no more than a few times its bytes.
 */
export function readTrace(json: Uint8Array): StoredTrace {
  const trace = objectIn(json);
  const status = oneOf(spanStatuses)(trace['status']);
  const omitted = toCount(trace['omitted']);
  const { spans } = trace;
  return {
    ...(status && { status }),
    ...(trace['takeover'] === true && { takeover: true }),
    spans: Array.isArray(spans) ? spans.slice(0, mostSpans).map(toSpan) : [],
    ...(omitted && { omitted }),
  };
}

/** Reads `content_json`; what cannot be read is no content. */
export function readContent(json: Uint8Array): StoredContent {
  return Object.fromEntries(
    Object.entries(objectIn(json)).flatMap(([place, content]) =>
      isObject(content) ? [[place, readBy(contentReaders, content)]] : [],
    ),
  );
}

/** One that is none is shown as a span that nothing is known of, so that the places of the others stay. */
function toSpan(given: unknown, index: number): StoredSpan {
  const span = isObject(given) ? given : {};
  const [kind, at, parent] = [oneOf(spanKinds)(span['kind']), toCount(span['at']), toCount(span['in'])];
  if (kind === undefined || at === undefined) return { kind: 'node', at: 0 };
  return { ...readBy(spanReaders, span), kind, at, ...(parent && parent <= index && { in: parent }) };
}

function readBy<T>(readers: Readers<T>, given: Given): { readonly [K in keyof T]?: T[K] } {
  const read: { [K in keyof T]?: T[K] } = {};
  for (const name in readers) {
    const value = Object.hasOwn(given, name) ? readers[name](given[name]) : undefined;
    if (value !== undefined) read[name] = value;
  }
  return read;
}

const isObject = (value: unknown): value is Given =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const toCount: Reader<number> = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;

const toTrue: Reader<true> = (value) => (value === true ? value : undefined);

const toText: Reader<string> = (value) => (typeof value === 'string' ? value : undefined);

const textOf =
  (most: number): Reader<string> =>
  (value) =>
    typeof value === 'string' && value.length <= most ? value : undefined;

const toName = textOf(longestName);
const toId = textOf(longestId);

const oneOf =
  <const T extends readonly string[]>(list: T): Reader<T[number]> =>
  (value) =>
    (list as readonly unknown[]).includes(value) ? (value as T[number]) : undefined;

/** The members of a list that are of a kind. */
const listOf =
  <T>(read: Reader<T>, most = Infinity): Reader<readonly T[]> =>
  (value) =>
    Array.isArray(value)
      ? value.slice(0, most).flatMap((item: unknown) => {
          const own = read(item);
          return own === undefined ? [] : [own];
        })
      : undefined;

const toTokens: Reader<readonly [number, number]> = (value) => {
  const [read, written, ...more] = listOf(toCount, 3)(value) ?? [];
  return read === undefined || written === undefined || more.length > 0 ? undefined : [read, written];
};

const toError: Reader<SpanError> = (value) => {
  const given = isObject(value) ? value : {};
  const message = toText(given['message']);
  const code = oneOf(failureCodes)(given['code']);
  const reason = oneOf(failureReasons)(given['reason']);
  if (message === undefined) return undefined;
  return { message: message.slice(0, longestMessage).toWellFormed(), ...(code && { code }), ...(reason && { reason }) };
};

const toRange: Reader<SentMessages['ranges'][number]> = (value) => {
  if (!Array.isArray(value)) return undefined;
  const [from, to, count] = [toId(value[0]), toId(value[1]), toCount(value[2])];
  return from === undefined || to === undefined || count === undefined ? undefined : [from, to, count];
};

const toSent: Reader<SentMessages> = (value) => {
  const given = isObject(value) ? value : {};
  const [count, ranges] = [toCount(given['count']), listOf(toRange, mostRanges)(given['ranges'])];
  return count === undefined || !ranges ? undefined : { count, ranges };
};

const outputReaders: Readers<SpanOutput> = {
  ids: listOf(toId, mostOutput),
  messages: toCount,
  fields: listOf(toName, mostOutput),
};

const toOutput: Reader<SpanOutput> = (value) => {
  if (!isObject(value)) return undefined;
  return readBy(outputReaders, value);
};

const spanReaders: Readers<Omit<StoredSpan, 'kind' | 'at' | 'in'>> = {
  name: toName,
  ms: toCount,
  status: oneOf(spanStatuses),
  replayed: toTrue,
  number: toCount,
  tokens: toTokens,
  finish: toName,
  error: toError,
  call: toId,
  message: toId,
  sent: toSent,
  output: toOutput,
  memories: listOf(toId, mostMemories),
  lost: toTrue,
};

/** The levels of content that a reader can follow. */
const mostLevels = 1000;

const isWithin = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1)));

const toJson: Reader<unknown> = (value) => (isWithin(value, mostLevels) ? value : undefined);

const toThrown: Reader<SpanContent['error']> = (value) => {
  const given = isObject(value) ? value : {};
  const [name, message, stack] = [toText(given['name']), toText(given['message']), toText(given['stack'])];
  if (name === undefined || message === undefined) return undefined;
  return { name, message, ...(stack !== undefined && { stack }) };
};

const toLine: Reader<LogLine> = (value) => {
  const given = isObject(value) ? value : {};
  const [at, level, text] = [toCount(given['at']), toName(given['level']), toText(given['text'])];
  return at === undefined || level === undefined || text === undefined ? undefined : { at, level, text };
};

const toCut: Reader<SpanContent['cut']> = (value) => {
  if (!isObject(value)) return undefined;
  const members = Object.keys(contentReaders).flatMap((name) => {
    const bytes = Object.hasOwn(value, name) ? toCount(value[name]) : undefined;
    return bytes === undefined ? [] : [[name, bytes] as const];
  });
  return Object.fromEntries(members);
};

const contentReaders: Readers<SpanContent> = {
  instructions: toText,
  tools: listOf(toText),
  sent: listOf(toJson),
  input: toJson,
  output: toJson,
  error: toThrown,
  logs: listOf(toLine),
  cut: toCut,
};

function objectIn(json: Uint8Array): Given {
  try {
    const value: unknown = JSON.parse(Buffer.from(json).toString());
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}
