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

  get left(): number {
    return Math.max(0, Math.min(this.#left, this.#run.left));
  }

  /** Takes as many of `bytes` as there are, and gives how many these were. */
  take(bytes: number): number {
    const taken = Math.min(bytes, this.left);
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
/** Less says nothing to anybody. */
const leastBytes = 2 * memberBytes;

/** A log line as JSON, and when it was logged. */
interface WrittenLine {
  readonly at: number;
  readonly line: string;
}

/** The content of one span: JSON texts, each cut where there is no room for the whole of it. */
export class BoundedContent {
  readonly #budget: ContentBudget;
  #left = spanContentBytes;
  readonly #members = new Map<ContentMember, string>();
  readonly #logs: WrittenLine[] = [];
  readonly #cut: Record<string, number> = {};
  #wasLost = false;

  constructor(budget: ContentBudget) {
    this.#budget = budget;
  }

  /** Whether there was something, and room for nothing of it; or a member was left out whose bytes nobody counted. */
  get isLost(): boolean {
    return this.#wasLost || (this.#members.size + this.#logs.length === 0 && Object.keys(this.#cut).length > 0);
  }

  /** Adds a text or a value of JSON. A member is added once: what comes later is dropped. */
  add(member: ContentMember, value: unknown): void {
    if (this.#members.has(member)) return;
    // Writing a large value takes long, and none of it would be kept.
    if (Math.min(this.#left, this.#budget.left) < leastBytes) {
      if (typeof value === 'string') this.#cut[member] = Buffer.byteLength(value);
      else this.#wasLost = true;
      return;
    }
    const text = typeof value === 'string' ? value : jsonOf(value);
    const bytes = Buffer.byteLength(text);
    const json = bytes > this.#left ? undefined : typeof value === 'string' ? JSON.stringify(value) : text;
    const wanted = memberBytes + (json === undefined ? this.#left : Buffer.byteLength(json));
    const room = this.#take(wanted);
    if (json !== undefined && room === wanted) {
      this.#members.set(member, json);
      return;
    }
    this.#cut[member] = bytes;
    if (room > leastBytes) this.#members.set(member, inShape(member, cutText(text, room - memberBytes)));
  }

  log({ at, level, text }: LogLine): void {
    const line = JSON.stringify({ at, level, text: text.slice(0, this.#left).toWellFormed() });
    const bytes = Buffer.byteLength(line) + 1;
    if (bytes <= this.#left && this.#take(bytes) === bytes) this.#logs.push({ at, line });
    else this.#cut['logs'] = (this.#cut['logs'] ?? 0) + Buffer.byteLength(text);
  }

  /** This with what a part of it has, in the room of one span. A member that both have is that of this one. */
  withPart(part: BoundedContent): BoundedContent {
    const both = new BoundedContent(this.#budget);
    for (const own of [this, part]) {
      both.#wasLost ||= own.#wasLost;
      for (const [member, bytes] of Object.entries(own.#cut)) both.#cut[member] ??= bytes;
      for (const [member, json] of own.#members) both.#keep(member, json);
      for (const written of own.#logs) both.#keepLine(written);
    }
    both.#logs.sort((one, other) => one.at - other.at);
    return both;
  }

  /** Its bytes are taken from the step already. */
  #keep(member: ContentMember, json: string): void {
    if (this.#members.has(member)) return;
    const bytes = Buffer.byteLength(json);
    if (bytes + memberBytes > this.#left) this.#cut[member] ??= bytes;
    else {
      this.#left -= bytes + memberBytes;
      this.#members.set(member, json);
    }
  }

  #keepLine(written: WrittenLine): void {
    const bytes = Buffer.byteLength(written.line) + 1;
    if (bytes > this.#left) this.#cut['logs'] = (this.#cut['logs'] ?? 0) + bytes;
    else {
      this.#left -= bytes;
      this.#logs.push(written);
    }
  }

  /** `undefined` when there is none. */
  toJson(): string | undefined {
    const parts = Array.from(this.#members, ([member, json]) => `"${member}":${json}`);
    if (this.#logs.length > 0) parts.push(`"logs":[${this.#logs.map(({ line }) => line).join(',')}]`);
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
