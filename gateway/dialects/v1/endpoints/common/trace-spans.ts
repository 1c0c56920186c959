import {
  longestName,
  type SpanContent,
  type SpanError,
  type SpanStatus,
  type StoredContent,
  type StoredSpan,
  type StoredTrace,
} from '@agent-workflow/protos/run-trace';
import { readContent, readTrace } from '@agent-workflow/protos/stored-trace';
import { createQuota } from '@agent-workflow/kit/pages';
import type { ListRunTraceReply, Run, TracedStep, UncommittedStep } from '@agent-workflow/protos/threads';
import { wireCodeOf } from '../../replies/errors.ts';

/** A span as replies show it. */
type ShownSpan = Readonly<Record<string, unknown>> & { readonly name: string };

type TracedRun = Pick<Run, 'status' | 'updatedAt' | 'end'>;

/** What a span takes in a reply beside its texts, and the most of both, in bytes: a span of few bytes on record has many in a reply. */
const spanBytes = 300;
const spansBytes = 4 * 1024 * 1024;

/** A page of spans. */
interface ShownTrace {
  /** Each behind its parent. */
  readonly spans: readonly ShownSpan[];
  /** The last step whose spans these are; absent: none was committed. */
  readonly last?: number;
  /** Whether there are steps behind it. */
  readonly hasMore: boolean;
}

/** The spans of a page of steps, as many of them as a reply has room for: those of the first step always. */
export function tracePage(run: TracedRun, { steps, uncommitted, hasMore }: ListRunTraceReply): ShownTrace {
  const spans: ShownSpan[] = [];
  const isEnough = createQuota(spansBytes);
  let before: TracedStep | undefined;
  for (const step of steps) {
    const own = spansOfStep(run, step, before?.next ?? []);
    if (isEnough(own.reduce((sum, span) => sum + bytesOf(span), 0)) && before)
      return { spans, last: before.step, hasMore: true };
    for (const span of own) spans.push(span);
    before = step;
  }
  if (uncommitted) spans.push(...spansOfUncommitted(run, uncommitted));
  return { spans, ...(before && { last: before.step }), hasMore };
}

/** A name is repeated in each span that has it from its parent; the other texts are on record as they are shown. */
const bytesOf = ({ name }: ShownSpan): number => spanBytes + Buffer.byteLength(name);

/** A step of a run that failed or was stopped in it is of no node on record: `expected` are those that were to run. */
function spansOfStep(run: TracedRun, step: TracedStep, expected: readonly string[]): readonly ShownSpan[] {
  const { work, trace: stored, at } = step;
  const trace = stored ? readTrace(stored.spansJson) : nothingTraced;
  const content = stored?.contentJson ? readContent(stored.contentJson) : {};
  const start = work?.startedAt ?? at;
  const status = trace.status ?? statusOf(run, step);
  const nodes = step.nodes.length > 0 ? step.nodes : tracedNodes(trace, expected);
  const id = `s${String(step.step)}`;
  const times = timesOf(start, at - start);
  const shown = {
    ...{ id, parent_id: null, kind: 'step', name: nodes.join(', '), step: step.step },
    ...(work && { attempt: work.attempt }),
    ...times,
    status,
    ...(work && work.inputTokens + work.outputTokens > 0 && tokensOf([work.inputTokens, work.outputTokens])),
    ...(status === 'failed' && errorOfRun(run)),
    ...{ checkpoint_id: step.checkpointId, next: step.next },
    ...(trace.omitted !== undefined && { omitted: trace.omitted }),
    ...contentOf(content['0'], start),
  };
  const inner =
    trace.spans.length > 0
      ? innerSpans({ id, step: step.step, start, name: shown.name }, trace.spans, content)
      : nodes.map((name, index) => ({
          ...{ id: `${id}.${String(index + 1)}`, parent_id: id, kind: 'node', name, step: step.step },
          ...{ ...times, status },
        }));
  return [...takeoverOf(step, trace, start), shown, ...inner];
}

const nothingTraced: StoredTrace = { spans: [] };

const statusOf = ({ status }: TracedRun, { nodes }: TracedStep): SpanStatus =>
  nodes.length === 0 && (status === 'failed' || status === 'stopped') ? status : 'completed';

function tracedNodes({ spans }: StoredTrace, expected: readonly string[]): readonly string[] {
  const traced = spans.flatMap(({ in: parent, name }) => (parent === undefined && name !== undefined ? [name] : []));
  return traced.length > 0 ? traced : expected;
}

/** The claim by which another worker took the run over, and began this step anew. */
function takeoverOf({ step, work }: TracedStep, { takeover }: StoredTrace, start: number): readonly ShownSpan[] {
  if (!work || (work.attempt < 2 && !takeover)) return [];
  return [
    {
      ...{ id: `t${String(step)}`, parent_id: null, kind: 'takeover', name: '', step, attempt: work.attempt },
      ...{ ...timesOf(start, 0), status: 'completed' },
    },
  ];
}

/** A step that is under way, or that nobody committed because others ended its run. */
function spansOfUncommitted(run: TracedRun, { step, nodes, since }: UncommittedStep): readonly ShownSpan[] {
  const isOver = run.status === 'stopped' || run.status === 'failed';
  const id = `s${String(step)}`;
  const how = {
    started_at: isoTime(since),
    ended_at: isOver ? isoTime(Math.max(since, run.updatedAt)) : null,
    status: isOver ? run.status : 'running',
  };
  const own = { id, parent_id: null, kind: 'step', name: nodes.join(', '), step, ...how };
  return [
    { ...own, ...(run.status === 'failed' && errorOfRun(run)) },
    ...nodes.map((name, index) => ({
      ...{ id: `${id}.${String(index + 1)}`, parent_id: id, kind: 'node', name, step },
      ...how,
    })),
  ];
}

function errorOfRun({ end }: TracedRun): { readonly error?: object } {
  if (!end?.error) return {};
  const { code, message, reason } = end.error;
  return { error: { message, code: wireCodeOf(code), ...(reason !== undefined && { reason }) } };
}

interface OuterStep {
  readonly id: string;
  readonly step: number;
  /** When it began, in milliseconds since 1970. */
  readonly start: number;
  readonly name: string;
}

function innerSpans(outer: OuterStep, spans: readonly StoredSpan[], contents: StoredContent): readonly ShownSpan[] {
  const names: string[] = [];
  const outerName = outer.name.slice(0, longestName).toWellFormed();
  const idAt = (place: number): string => `${outer.id}.${String(place)}`;
  return spans.map((span, index) => {
    const { in: parent } = span;
    const name = span.name ?? (parent === undefined ? outerName : (names[parent - 1] ?? ''));
    names.push(name);
    return {
      ...{ id: idAt(index + 1), parent_id: parent === undefined ? outer.id : idAt(parent), kind: span.kind, name },
      ...{ step: outer.step, ...numberOf(span) },
      ...{ ...timesOf(outer.start + span.at, span.ms), status: span.status ?? 'completed' },
      ...factsOf(span),
      ...contentOf(contents[String(index + 1)], outer.start),
    };
  });
}

function numberOf({ kind, number }: StoredSpan): object {
  if (number === undefined) return {};
  if (kind === 'attempt') return { attempt: number };
  return kind === 'branch' ? { branch: number } : { inner_step: number };
}

/** What else is known of a span. */
const factsOf = ({
  replayed,
  tokens,
  finish,
  error,
  call,
  message,
  sent,
  output,
  memories,
  lost,
}: StoredSpan): object => ({
  ...(replayed && { replayed }),
  ...(tokens && tokensOf(tokens)),
  ...(finish !== undefined && { finish_reason: finish }),
  ...(error && { error: shownError(error) }),
  ...(call !== undefined && { call_id: call }),
  ...(message !== undefined && { message_id: message }),
  ...(sent && { sent: { count: sent.count, ...rangesOf(sent.ranges, sent.count) } }),
  ...(output && {
    output: { message_ids: output.ids ?? [], messages: output.messages ?? 0, fields: output.fields ?? [] },
  }),
  ...(memories && { memory_ids: memories }),
  ...(lost && { content_lost: lost }),
});

const shownError = ({ message, code, reason }: SpanError): object => ({
  message,
  ...(code !== undefined && { code: wireCodeOf(code) }),
  ...(reason !== undefined && { reason }),
});

function rangesOf(ranges: readonly (readonly [string, string, number])[], all: number): object {
  const known = ranges.reduce((sum, [, , count]) => sum + count, 0);
  return { ranges: ranges.map(([from, to, count]) => ({ from, to, count })), other: Math.max(0, all - known) };
}

function contentOf(content: SpanContent | undefined, start: number): { readonly content?: object } {
  if (!content) return {};
  const { logs, ...rest } = content;
  return {
    content: { ...rest, ...(logs && { logs: logs.map((line) => ({ ...line, at: isoTime(start + line.at) })) }) },
  };
}

const tokensOf = ([read, written]: readonly [number, number]): object => ({
  usage: { input_tokens: read, output_tokens: written },
});

const timesOf = (start: number, ms: number | undefined): object => ({
  started_at: isoTime(start),
  ended_at: ms === undefined ? null : isoTime(start + ms),
});

/** The last time that JavaScript can write: a worker of another team may have sent any number. */
const lastTime = 8_640_000_000_000_000;

const isoTime = (ms: number): string => new Date(Math.min(ms, lastTime)).toISOString();
