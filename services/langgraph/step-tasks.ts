import type { NextTask, StepTasks } from '@agent-workflow/protos/step-tasks';
import { isMessage } from './from-lang-chain.ts';
import type { KeptWrite } from './kept.ts';
import { withoutUndefined } from './plain-data.ts';
import { pack, type StateSaver } from './state-saver.ts';
import { messagesIn, type Changed } from './thread-messages.ts';
import { idName } from './to-lang-chain.ts';

type Values = Readonly<Record<string, unknown>>;
type RanTask = StepTasks['ran'][number];
type Writes = Omit<RanTask, 'node' | 'index' | 'earlier'>;

/** A task as LangGraph names it. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/** A task of a state of LangGraph. */
export interface StateTask extends Named {
  readonly path?: readonly unknown[];
  readonly interrupts?: readonly { readonly id?: string }[];
}

interface Step {
  readonly saver: StateSaver;
  readonly messagesKey: string | null;
  /** The channels that are fields. */
  readonly fields: readonly string[];
  /** What fields were before the step. */
  readonly before: Values;
  /** What fields are after the step: those that have changed. */
  readonly changed: Values;
  /** The messages that the step changed in the thread. */
  readonly messages: readonly Changed[];
  /** The tasks that ran, in the order in which they began. */
  readonly started: readonly Named[];
  /** Those that had returned before. */
  readonly earlier: ReadonlySet<string>;
  /** Whether it was known which tasks were to come. */
  readonly isKnown: boolean;
  /** The tasks of the next step; where it asks, those of this one. */
  readonly next: readonly StateTask[];
  readonly isAsking: boolean;
}

/** What is kept of the tasks that ran, and of those that come next, in bytes; of one input. */
const mostBytes = 128 * 1024;
const mostInput = 8 * 1024;

/**
 * What the tasks of a super-step gave, and which come next. Its size does not depend on the thread. `undefined` where each node had one task, and
 * what the step changed says all of it; and where more tasks come next than can be kept.
 */
export async function stepTasks(step: Step): Promise<StepTasks | undefined> {
  const { saver, started, earlier, next, isAsking } = step;
  const written = Map.groupBy(isAsking ? saver.pending() : saver.written(), ({ task }) => task);
  const writes = new StepWrites(step);
  const waiting = new Set(
    isAsking ? next.flatMap(({ id, interrupts = [] }) => (interrupts.length > 0 ? [id] : [])) : [],
  );
  const results = new Map<string, Writes>();
  for (const { id } of started)
    if (!waiting.has(id) && (!isAsking || written.has(id))) results.set(id, await writes.ofTask(written.get(id) ?? []));
  const counts = new Map<string, number>();
  const ran = started.flatMap(({ id, name }) => {
    const result = results.get(id);
    const index = counts.get(name) ?? 0;
    counts.set(name, index + 1);
    return result ? [{ node: name, index, ...result, ...(earlier.has(id) && { earlier: true as const }) }] : [];
  });
  const coming = await Promise.all(next.map((task) => toNext(step, task, results.get(task.id))));
  return worthKeeping(step, boundedNext(coming, writes.large), step.isKnown ? writes.bounded(ran) : { ran: [] });
}

/** Nothing where the changes of the step say the same, or where it is not known which tasks come next. */
function worthKeeping(
  { messages, fields, changed }: Step,
  next: readonly NextTask[] | undefined,
  given: Pick<StepTasks, 'ran' | 'left'>,
): StepTasks | undefined {
  if (!next) return undefined;
  const { ran } = given;
  const [only] = ran;
  const ids = messages.map(({ message_id: id }) => id);
  const isPlain =
    next.every(({ path, result }) => path[0] !== branch && result === undefined) &&
    ran.length <= 1 &&
    !(only?.writes ?? only?.removed ?? only?.earlier) &&
    (!only || (only.messages ?? []).join() === ids.join()) &&
    (!only || fields.every((name) => !Object.hasOwn(changed, name) || only.same?.includes(name)));
  return isPlain ? undefined : { ...given, next };
}

/** Why a branch of a `Send` runs, in LangGraph's words. */
const branch = '__pregel_push';

async function toNext({ saver, isAsking }: Step, task: StateTask, result: Writes | undefined): Promise<NextTask> {
  const { name: node, path = [], interrupts = [] } = task;
  const asked = interrupts.flatMap(({ id: question }) => (question === undefined ? [] : [question]));
  const input = await inputOf(saver, path);
  return {
    ...{ node, path: path.slice(0, 2) },
    ...(input !== undefined && { input }),
    ...(asked.length > 0 && { asked }),
    ...(isAsking && result && { result }),
  };
}

/** The input of a branch: that of the `Send` at its place. `undefined` where it is large or holds objects of LangChain. */
async function inputOf(saver: StateSaver, [kind, index]: readonly unknown[]): Promise<unknown> {
  if (kind !== branch || typeof index !== 'number') return undefined;
  const sends = saver.channelValue('__pregel_tasks');
  const send = Array.isArray(sends) ? (sends[index] as { readonly args?: unknown } | undefined) : undefined;
  if (send === undefined || !isSmall(send.args, { left: mostValues })) return undefined;
  const packed = await asKept(saver, send.args);
  return packed === undefined || packed.json.length > mostInput || packed.json.includes('"lc":')
    ? undefined
    : packed.value;
}

/** The values that an input has at most. */
const mostValues = 1000;

/** Whether a value has few parts, and no message: the state of a thread is not serialized for nothing. */
function isSmall(value: unknown, count: { left: number }): boolean {
  if ((count.left -= 1) < 0 || isMessage(value)) return false;
  if (typeof value === 'string') return value.length <= mostInput;
  if (typeof value !== 'object' || value === null) return true;
  return Object.values(value).every((part) => isSmall(part, count));
}

interface Packed {
  readonly value: unknown;
  readonly json: string;
}

/** A value as the state keeps it; `undefined` where it cannot be kept. */
async function asKept(saver: StateSaver, given: unknown): Promise<Packed | undefined> {
  if (given === undefined) return undefined;
  try {
    const value = withoutUndefined(await pack(saver.serde, given));
    return { value, json: JSON.stringify(value) };
  } catch {
    return undefined;
  }
}

type Giver = (message: { readonly id?: string | undefined } | undefined) => string | undefined;

/** Finds the messages of the thread that tasks wrote: by their ids, and one without a known id is the next that nobody wrote. */
function giver(messages: readonly Changed[]): Giver {
  const byId = new Map(
    messages.map(({ message_id: own, metadata }) => {
      const known = metadata?.[idName];
      return [typeof known === 'string' ? known : own, own];
    }),
  );
  return (message) => {
    const [next] = byId.keys();
    const key = message?.id ?? next;
    const found = key === undefined ? undefined : byId.get(key);
    if (key !== undefined) byId.delete(key);
    return found;
  };
}

/** What the tasks of one step wrote. */
class StepWrites {
  /** The fields for which tasks returned more than is kept, or what cannot be. */
  readonly large = new Set<string>();
  readonly #step: Step;
  readonly #given: Giver;
  /** What is kept of each field so far, in bytes. */
  readonly #bytes = new Map<string, number>();
  /** What a field is after the step, or was before: its JSON and the bytes of that. */
  readonly #after = new Map<string, { readonly json: string; readonly bytes: number }>();

  constructor(step: Step) {
    this.#step = step;
    this.#given = giver(step.messages);
  }

  async ofTask(written: readonly KeptWrite[]): Promise<Writes> {
    const { messagesKey, fields } = this.#step;
    const writes: Record<string, unknown> = {};
    const same: string[] = [];
    const messages: string[] = [];
    const removed: string[] = [];
    for (const [channel, list] of Map.groupBy(written, (write) => write.channel)) {
      if (channel === messagesKey)
        for (const one of list.flatMap(({ value }): unknown[] => [value].flat())) {
          const [message] = messagesIn([one]);
          if (message?.type === 'remove') removed.push(message.id ?? '');
          else messages.push(this.#given(message) ?? '');
        }
      const values = list.flatMap(({ value }) => (value === undefined ? [] : [value]));
      if (!fields.includes(channel) || values.length === 0) continue;
      const found = await this.#ofField(channel, values);
      if (found === 'same') same.push(channel);
      else if (found) writes[channel] = found.value;
    }
    return compact({ writes, same, messages: messages.filter(Boolean), removed });
  }

  /** What a task returned for a field: `'same'` is what that is after the step, or more than is kept; `undefined` is what it was before. */
  async #ofField(name: string, values: readonly unknown[]): Promise<'same' | Pick<Packed, 'value'> | undefined> {
    const { saver, changed, isAsking } = this.#step;
    const isChanged = Object.hasOwn(changed, name);
    const [first] = values;
    const isOne = values.length === 1;
    if (isOne && !isAsking && typeof first === 'object' && first === saver.channelValue(name))
      return isChanged ? 'same' : undefined;
    const kept = this.large.has(name) ? [] : await this.#packed(name, values);
    const [only] = kept;
    if (isOne && !isAsking && only?.json === this.#afterOf(name).json) return isChanged ? 'same' : undefined;
    if (!this.large.has(name) && only) return isOne ? only : { value: { $writes: kept.map(({ value }) => value) } };
    this.large.add(name);
    return 'same';
  }

  async #packed(name: string, values: readonly unknown[]): Promise<readonly Packed[]> {
    const kept: Packed[] = [];
    for (const value of values) {
      const packed = await asKept(this.#step.saver, value);
      if (!packed) return this.#leave(name);
      kept.push(packed);
      const bytes = (this.#bytes.get(name) ?? 0) + Buffer.byteLength(packed.json);
      this.#bytes.set(name, bytes);
      if (bytes > mostBytes && values.length > 1) return this.#leave(name);
    }
    if ((this.#bytes.get(name) ?? 0) > mostBytes) this.large.add(name);
    return kept;
  }

  #leave(name: string): readonly Packed[] {
    this.large.add(name);
    return [];
  }

  #afterOf(name: string): { readonly json: string; readonly bytes: number } {
    const known = this.#after.get(name);
    if (known) return known;
    const { changed, before } = this.#step;
    const json = JSON.stringify((Object.hasOwn(changed, name) ? changed : before)[name] ?? null);
    const after = { json, bytes: Buffer.byteLength(json) };
    this.#after.set(name, after);
    return after;
  }

  /**
   * The tasks without the fields that are too large, the largest first: a field that several tasks returned as it is after the step is shown as
   * often. Of a single task nothing is kept then.
   */
  bounded(ran: readonly RanTask[]): Pick<StepTasks, 'ran' | 'left'> {
    const sizes = new Map<string, number>();
    const add = (name: string, bytes: number): unknown => sizes.set(name, (sizes.get(name) ?? 0) + bytes);
    for (const { writes = {}, same = [] } of ran) {
      for (const [name, value] of Object.entries(writes)) add(name, bytesOf(value));
      for (const name of same) add(name, sizes.has(name) ? this.#afterOf(name).bytes : 0);
    }
    const { large } = this;
    let left = [...sizes.values()].reduce((sum, bytes) => sum + bytes, bytesOf(ran.map(bare)));
    for (const [name, bytes] of [...sizes].toSorted(([, one], [, other]) => other - one)) {
      if (left > mostBytes) large.add(name);
      if (large.has(name)) left -= bytes;
    }
    const isSmall = bytesOf(ran.map((task) => without(task, large))) <= mostBytes;
    const writers = ran.flatMap(({ node, writes = {}, same = [] }) =>
      [...Object.keys(writes), ...same].flatMap((name) => (!isSmall || large.has(name) ? [[name, node] as const] : [])),
    );
    if (writers.length === 0 && isSmall) return { ran };
    if (ran.length === 1) return { ran: [] };
    const bounded = isSmall ? ran.map((task) => without(task, large)) : ran.map(bare);
    return { ran: bounded, left: Object.fromEntries(writers) };
  }
}

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The same without what is empty. */
const compact = ({ writes = {}, same = [], messages = [], removed = [] }: Writes): Writes => ({
  ...(Object.keys(writes).length > 0 && { writes }),
  ...(same.length > 0 && { same }),
  ...(messages.length > 0 && { messages }),
  ...(removed.length > 0 && { removed }),
});

/** A task of which nothing is known but that it ran. */
const bare = ({ node, index, earlier }: RanTask): RanTask => ({ node, index, ...(earlier && { earlier }) });

function without<T extends Writes>(task: T, large: ReadonlySet<string>): T {
  const { writes = {}, same = [], messages = [], removed = [], ...rest } = task;
  const kept = Object.fromEntries(Object.entries(writes).filter(([name]) => !large.has(name)));
  return {
    ...rest,
    ...compact({ writes: kept, same: same.filter((name) => !large.has(name)), messages, removed }),
  } as T;
}

/** The tasks that come next, without inputs, and without what they returned, where these are too large; `undefined` where they are too many. */
function boundedNext(next: readonly NextTask[], large: ReadonlySet<string>): readonly NextTask[] | undefined {
  const known = next.map(({ result, ...task }) => ({ ...task, ...(result && { result: without(result, large) }) }));
  const lean = known.map(({ input: _, ...task }) => task);
  const bare = lean.map(({ result, ...task }) => ({ ...task, ...(result && { result: {} }) }));
  return [known, lean, bare].find((tasks) => bytesOf(tasks) <= mostBytes);
}
