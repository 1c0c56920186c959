import { spanContentBytes, stepContentBytes, type LogLine, type SpanContent } from '@agent-workflow/protos/run-trace';

/** The bytes of content that a run has room for. */
export interface RunBudget {
  left: number;
}

/** How many bytes of content there is room for: of one step, and of the run with it. */
export class ContentBudget {
  readonly #run: RunBudget;
  #left = stepContentBytes;

  constructor(run: RunBudget) {
    this.#run = run;
  }

  /** Takes as many of `bytes` as there are, and gives how many these were. */
  take(bytes: number): number {
    const taken = Math.max(0, Math.min(bytes, this.#left, this.#run.left));
    this.giveBack(-taken);
    return taken;
  }

  giveBack(bytes: number): void {
    this.#left += bytes;
    this.#run.left += bytes;
  }
}

export type ContentMember = Exclude<keyof SpanContent, 'cut' | 'logs'>;

/** The name of a member and the punctuation around it, in bytes; what is cut is named a second time. */
const memberBytes = 64;

/** The content of one span: JSON texts, each cut where there is no room for the whole of it. */
export class BoundedContent {
  readonly #budget: ContentBudget;
  #left = spanContentBytes;
  readonly #members: string[] = [];
  readonly #logs: string[] = [];
  readonly #cut: Record<string, number> = {};

  constructor(budget: ContentBudget) {
    this.#budget = budget;
  }

  /** Whether there was something, and room for nothing of it. */
  get isLost(): boolean {
    return this.#members.length + this.#logs.length === 0 && Object.keys(this.#cut).length > 0;
  }

  /** Adds a text or a value of JSON. A member is added once. */
  add(member: ContentMember, value: unknown): void {
    const text = typeof value === 'string' ? value : jsonOf(value);
    const bytes = Buffer.byteLength(text);
    const json = bytes > this.#left ? undefined : typeof value === 'string' ? JSON.stringify(value) : text;
    const wanted = memberBytes + (json === undefined ? this.#left : Buffer.byteLength(json));
    const room = this.#take(wanted);
    if (json !== undefined && room === wanted) {
      this.#members.push(`"${member}":${json}`);
      return;
    }
    this.#cut[member] = bytes;
    // Less says nothing to anybody.
    if (room > 2 * memberBytes) this.#members.push(`"${member}":${inShape(member, cutText(text, room - memberBytes))}`);
  }

  log({ at, level, text }: LogLine): void {
    const line = JSON.stringify({ at, level, text: text.slice(0, this.#left).toWellFormed() });
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes <= this.#left && this.#take(bytes) === bytes) this.#logs.push(line);
    else this.#cut['logs'] = (this.#cut['logs'] ?? 0) + Buffer.byteLength(text);
  }

  /** `undefined` when there is none. */
  toJson(): string | undefined {
    const logs = this.#logs.length > 0 ? [`"logs":[${this.#logs.join(',')}]`] : [];
    const parts = [...this.#members, ...logs];
    if (parts.length === 0) return undefined;
    if (Object.keys(this.#cut).length > 0) parts.push(`"cut":${JSON.stringify(this.#cut)}`);
    return `{${parts.join(',')}}`;
  }

  #take(bytes: number): number {
    const taken = this.#budget.take(Math.min(bytes, this.#left));
    this.#left -= taken;
    return taken;
  }
}

/** Lists and errors stay such when they are cut; anything else becomes a text. */
function inShape(member: ContentMember, text: string): string {
  if (member === 'sent' || member === 'tools') return `[${text}]`;
  return member === 'error' ? `{"name":"Error","message":${text}}` : text;
}

/** The beginning of a text as JSON of at most so many bytes. It takes as long as those need, whatever the length of the text. */
function cutText(text: string, bytes: number): string {
  let length = Math.min(text.length, bytes - 2);
  for (;;) {
    const json = JSON.stringify(text.slice(0, length).toWellFormed());
    const size = Buffer.byteLength(json);
    if (size <= bytes || length === 0) return json;
    // A character takes one byte to six: the first guess may be six times too long.
    length = Math.floor(Math.min(length - 1, (length * bytes) / size));
  }
}

/** The value may be any, also one whose members throw. */
function jsonOf(value: unknown): string {
  try {
    const json: unknown = JSON.stringify(value);
    return typeof json === 'string' ? json : 'null';
  } catch {
    return '"what cannot be written as JSON"';
  }
}
