import {
  longestId,
  longestMessage,
  longestName,
  mostMemories,
  mostSpans,
  spansBytes,
  type LogLine,
  type SpanContent,
  type SpanOutput,
  type SpanStatus,
  type StoredSpan,
} from '@agent-workflow/protos/run-trace';
import { BoundedContent, type ContentBudget, type ContentMember } from './bounded-content.ts';

/** What is known of a span beside its times: it may be known when it begins, while it goes on, or when it ends. */
export type SpanFacts = Partial<Omit<StoredSpan, 'kind' | 'in' | 'at' | 'ms' | 'status' | 'lost'>>;

/** A part of a step that is under way. */
export interface Span {
  /** Whether prompts, stacks and log lines are wanted: what is costly to make is made for them alone. */
  readonly keepsContent: boolean;
  /** Begins a part of this one. */
  readonly begin: (kind: StoredSpan['kind'], facts?: SpanFacts) => Span;
  readonly note: (facts: SpanFacts) => void;
  /** Adds what is for operators alone, as far as there is room for it; nothing where that is not wanted. */
  readonly add: <K extends ContentMember>(member: K, value: SpanContent[K]) => void;
  readonly log: (level: LogLine['level'], text: string) => void;
  /** Ends it with all that is open within it. The first call counts. */
  readonly end: (status?: SpanStatus, facts?: SpanFacts) => void;
}

interface TraceOptions {
  /** When the step began, in milliseconds since 1970. */
  readonly start: number;
  readonly now: () => number;
  /** Whether it begins anew after another worker had its run; no when absent. */
  readonly isTakeover?: boolean | undefined;
  /** Absent: no content is kept. */
  readonly budget?: ContentBudget | undefined;
}

/** What is written to the record of a step. */
export interface WrittenTrace {
  readonly spansJson: Uint8Array;
  readonly contentJson?: Uint8Array;
}

/** A span that is under way, as it will be stored. */
interface Draft {
  readonly span: Writable<StoredSpan>;
  content?: BoundedContent | undefined;
  /** How many of its parts are open. */
  open: number;
}

type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** The most bytes of a span with its lists: one with more is stored without them, so that it takes no room from hundreds of others. */
const listedBytes = 4 * 1024;

/** What goes on in one step: spans, in the order in which they begin. It does no I/O, and costs microseconds. */
export class StepTrace {
  readonly #options: TraceOptions;
  /** The step itself comes first. */
  readonly #drafts: Draft[] = [{ span: { kind: 'step', at: 0 }, open: 0 }];
  #omitted = 0;

  constructor(options: TraceOptions) {
    this.#options = options;
  }

  /** The step itself: its nodes are parts of it. */
  get step(): Span {
    return this.#spanAt(0);
  }

  /**
   * What is stored of it, with all that is still open as stopped. `undefined` where nodes, times and tokens of the step say as much: it is
   * completed, and its one node ran once, called nothing and found no memory.
   */
  toStored(status?: SpanStatus): WrittenTrace | undefined {
    this.#closeAll();
    const drafts = withoutLoneAttempts(this.#drafts);
    const { isTakeover = false } = this.#options;
    const isUsual = status === undefined && !isTakeover && this.#omitted === 0;
    if (isUsual && drafts.length <= 2 && drafts.every(isPlain)) return undefined;
    sumTokens(drafts);
    const texts: string[] = [];
    let left = spansBytes;
    for (const { span, content } of drafts.slice(1)) {
      const text = textOf(content?.isLost ? { ...span, lost: true } : span);
      left -= Buffer.byteLength(text) + 1;
      if (left < 0) break;
      texts.push(text);
    }
    const omitted = this.#omitted + drafts.length - 1 - texts.length;
    const head = [
      ...(status === undefined ? [] : [`"status":"${status}"`]),
      ...(isTakeover ? ['"takeover":true'] : []),
      ...(omitted === 0 ? [] : [`"omitted":${String(omitted)}`]),
    ];
    const contentJson = contentOf(drafts.slice(0, texts.length + 1));
    return {
      spansJson: Buffer.from(`{${[...head, `"spans":[${texts.join(',')}]`].join(',')}}`),
      ...(contentJson !== undefined && { contentJson: Buffer.from(contentJson) }),
    };
  }

  #at(): number {
    return Math.max(0, Math.round(this.#options.now() - this.#options.start));
  }

  #begin(parent: number, kind: StoredSpan['kind'], facts: SpanFacts = {}): Span {
    if (this.#drafts.length > mostSpans) {
      this.#omitted += 1;
      return this.#omittedSpan;
    }
    const above = this.#drafts[parent];
    if (above) above.open += 1;
    const span = { kind, ...(parent > 0 && { in: parent }), at: this.#at(), ...bounded(facts) };
    return this.#spanAt(this.#drafts.push({ span, open: 0 }) - 1);
  }

  #spanAt(place: number): Span {
    const draft = this.#drafts[place] as Draft;
    const { budget } = this.#options;
    const content = (): BoundedContent | undefined =>
      budget ? (draft.content ??= new BoundedContent(budget)) : undefined;
    return {
      keepsContent: budget !== undefined,
      begin: (kind, facts) => this.#begin(place, kind, facts),
      note: (facts) => {
        if (draft.span.ms === undefined) Object.assign(draft.span, bounded(facts));
      },
      add: (member, value) => {
        if (value !== undefined) content()?.add(member, value);
      },
      log: (level, text) => content()?.log({ at: this.#at(), level, text }),
      end: (status = 'completed', facts = {}) => {
        if (draft.span.ms !== undefined) return;
        Object.assign(draft.span, bounded(facts));
        this.#close(place, status);
      },
    };
  }

  /** One for which there is no room: nor is there for what is within it. */
  readonly #omittedSpan: Span = {
    keepsContent: false,
    begin: () => {
      this.#omitted += 1;
      return this.#omittedSpan;
    },
    note: () => undefined,
    add: () => undefined,
    log: () => undefined,
    end: () => undefined,
  };

  #close(place: number, status: SpanStatus): void {
    this.#closeWithin(place);
    const { span } = this.#drafts[place] as Draft;
    span.ms = Math.max(0, this.#at() - span.at);
    if (status !== 'completed') span.status = status;
    const above = this.#drafts[span.in ?? 0];
    if (above) above.open -= 1;
  }

  /** Code may go on after its node has ended: what it begins is within a span that is closed. */
  #closeAll(): void {
    for (let place = this.#drafts.length - 1; place > 0; place--)
      if (this.#drafts[place]?.span.ms === undefined) this.#close(place, 'stopped');
  }

  /** Ends what is open within a span as stopped. */
  #closeWithin(place: number): void {
    const draft = this.#drafts[place];
    for (let inner = place + 1; draft && draft.open > 0 && inner < this.#drafts.length; inner++) {
      const { in: parent = 0, ms } = (this.#drafts[inner] as Draft).span;
      if (parent === place && ms === undefined) this.#close(inner, 'stopped');
    }
  }
}

function bounded(facts: SpanFacts): SpanFacts {
  const { name, finish, error, output, call, memories, ...rest } = facts;
  return {
    ...rest,
    ...(name !== undefined && { name: cutTo(longestName, name) }),
    ...(finish !== undefined && { finish: cutTo(longestName, finish) }),
    ...(error && { error: { ...error, message: cutTo(longestMessage, error.message) } }),
    // The beginning of an id names nothing.
    ...(call !== undefined && call.length <= longestId && { call }),
    ...(output && { output: boundedOutput(output) }),
    ...(memories && { memories: memories.filter((id) => id.length <= longestId).slice(0, mostMemories) }),
  };
}

function boundedOutput({ fields, ...output }: SpanOutput): SpanOutput {
  return { ...output, ...(fields && { fields: fields.map((field) => cutTo(longestName, field)) }) };
}

const cutTo = (most: number, text: string): string => (text.length <= most ? text : text.slice(0, most).toWellFormed());

function textOf(span: StoredSpan): string {
  const text = JSON.stringify(span);
  if (Buffer.byteLength(text) <= listedBytes) return text;
  const { sent, output, memories: _, ...own } = span;
  return JSON.stringify({
    ...own,
    ...(sent && { sent: { count: sent.count, ranges: [] } }),
    ...(output?.messages !== undefined && { output: { messages: output.messages } }),
  });
}

/** Whether the record of the step says all of it. */
const isPlain = ({ span: { kind, status, error, replayed, memories }, content }: Draft): boolean =>
  (kind === 'step' || kind === 'node') && status === undefined && !error && !replayed && !memories && !content;

/** Without attempts that were the only ones of their nodes: what was within them is within the nodes. */
function withoutLoneAttempts(drafts: readonly Draft[]): readonly Draft[] {
  const attempts = new Map<number, number>();
  for (const { span } of drafts)
    if (span.kind === 'attempt') attempts.set(span.in ?? 0, (attempts.get(span.in ?? 0) ?? 0) + 1);
  if (attempts.size === 0) return drafts;
  const places: number[] = [];
  const kept: Draft[] = [];
  for (const { span, content, open } of drafts) {
    const parent = places[span.in ?? 0] ?? 0;
    const above = kept[parent];
    if (above && span.kind === 'attempt' && attempts.get(span.in ?? 0) === 1) {
      above.content = above.content && content ? above.content.withPart(content) : (above.content ?? content);
      if (span.tokens) above.span.tokens ??= span.tokens;
      if (span.memories) above.span.memories ??= span.memories;
      places.push(parent);
      continue;
    }
    const { in: _, ...own } = span;
    places.push(kept.push({ span: parent === 0 ? own : { ...own, in: parent }, content, open }) - 1);
  }
  return kept;
}

/** Gives spans that know of no tokens those of what is within them. */
function sumTokens(drafts: readonly Draft[]): void {
  const within = new Map<number, readonly [number, number]>();
  for (let place = drafts.length - 1; place > 0; place--) {
    const { span } = drafts[place] as Draft;
    const tokens = span.tokens ?? within.get(place);
    if (!tokens) continue;
    span.tokens = tokens;
    const [read, written] = within.get(span.in ?? 0) ?? [0, 0];
    within.set(span.in ?? 0, [read + tokens[0], written + tokens[1]]);
  }
}

function contentOf(drafts: readonly Draft[]): string | undefined {
  const parts = drafts.flatMap(({ content }, place) => {
    const json = content?.toJson();
    return json === undefined ? [] : [`"${String(place)}":${json}`];
  });
  return parts.length === 0 ? undefined : `{${parts.join(',')}}`;
}
