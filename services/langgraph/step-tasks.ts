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
  /** What fields are after the step: those that have changed. */
  readonly changed: Values;
  /** The messages that the step changed in the thread. */
  readonly messages: readonly Changed[];
  /** The tasks that ran, in the order in which they began. */
  readonly started: readonly Named[];
  /** Those that had returned before. */
  readonly earlier: ReadonlySet<string>;
  /** The tasks of the next step; where it asks, those of this one. */
  readonly next: readonly StateTask[];
  readonly isAsking: boolean;
}

/** What is kept of the tasks of one step beside the fields of its state, in bytes; of one input. */
const mostBytes = 128 * 1024;
const mostInput = 8 * 1024;

/** What the tasks of a super-step gave, and which come next. Its size does not depend on the thread. */
export async function stepTasks(step: Step): Promise<StepTasks> {
  const { saver, started, earlier, next, isAsking } = step;
  const written = Map.groupBy(isAsking ? saver.pending() : saver.written(), ({ task }) => task);
  const given = giver(step.messages);
  const waiting = new Set(
    isAsking ? next.flatMap(({ id, interrupts = [] }) => (interrupts.length > 0 ? [id] : [])) : [],
  );
  const results = new Map<string, Writes>();
  for (const { id } of started)
    if (!waiting.has(id) && (!isAsking || written.has(id)))
      results.set(id, await writesOf(step, written.get(id) ?? [], given));
  const counts = new Map<string, number>();
  const ran = started.flatMap(({ id, name }) => {
    const writes = results.get(id);
    const index = counts.get(name) ?? 0;
    counts.set(name, index + 1);
    return writes ? [{ node: name, index, ...writes, ...(earlier.has(id) && { earlier: true as const }) }] : [];
  });
  return bounded({ ran, next: await Promise.all(next.map((task) => toNext(step, task, results.get(task.id)))) });
}

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
  if (kind !== '__pregel_push' || typeof index !== 'number') return undefined;
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

async function writesOf(step: Step, written: readonly KeptWrite[], given: Giver): Promise<Writes> {
  const { saver, messagesKey, fields, changed } = step;
  const writes: Record<string, unknown> = {};
  const same = new Set<string>();
  const messages: string[] = [];
  const removed: string[] = [];
  for (const [channel, list] of Map.groupBy(written, (write) => write.channel)) {
    if (channel === messagesKey) {
      const all: unknown[] = list.flatMap(({ value }) => value);
      for (const one of all) {
        const [message] = messagesIn([one]);
        if (message?.type === 'remove') removed.push(message.id ?? '');
        else messages.push(given(message) ?? '');
      }
    }
    if (!fields.includes(channel)) continue;
    const values = await Promise.all(list.map(({ value }) => asKept(saver, value)));
    const [only] = values;
    const after = JSON.stringify(changed[channel]);
    const isSame = Object.hasOwn(changed, channel) && only?.json === after;
    if (values.length === 1 && only && !isSame) writes[channel] = only.value;
    else if (values.length > 1 && !values.includes(undefined))
      writes[channel] = { $writes: values.map((one) => one?.value) };
    else same.add(channel);
  }
  return { writes, same: [...same], messages: messages.filter(Boolean), removed };
}

/** The same without inputs, and with no value of a field, where these are too large. */
function bounded(tasks: StepTasks): StepTasks {
  if (Buffer.byteLength(JSON.stringify(tasks)) <= mostBytes) return tasks;
  const lean = <T extends Writes>(task: T): T => ({
    ...task,
    writes: {},
    same: [...task.same, ...Object.keys(task.writes)],
  });
  return {
    ran: tasks.ran.map(lean),
    next: tasks.next.map(({ input: _, result, ...rest }) => ({ ...rest, ...(result && { result: lean(result) }) })),
  };
}
