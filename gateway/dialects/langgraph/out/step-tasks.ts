import type { NextTask, StepTasks } from '@agent-workflow/protos/step-tasks';
import type { Message } from '@agent-workflow/protos/message';
import { jsonObject } from '../../../http/json.ts';
import { textsOf } from '../messages/message-texts.ts';

/** A task, and its place among those of its node. */
export interface PlacedTask extends Pick<NextTask, 'node'>, Partial<Omit<NextTask, 'node'>> {
  readonly index: number;
}

/** The tasks of these nodes, where it is known which come next: one for each node otherwise. */
export function tasksOfNodes(nodes: readonly string[], tasks: StepTasks | undefined): readonly PlacedTask[] {
  const known = placed(tasks?.next ?? []).filter(({ node, result }) => nodes.includes(node) || result !== undefined);
  const open = new Set(known.flatMap(({ node, result }) => (result === undefined ? [node] : [])));
  return nodes.length > 0 && nodes.every((node) => open.has(node)) ? known : nodes.map((node) => ({ node, index: 0 }));
}

/** Numbers the tasks of each node. */
function placed<T extends { readonly node: string }>(tasks: readonly T[]): readonly (T & { readonly index: number })[] {
  const counts = new Map<string, number>();
  return tasks.map((task) => {
    const index = counts.get(task.node) ?? 0;
    counts.set(task.node, index + 1);
    return { ...task, index };
  });
}

/** Whether a question is that of a task. Where one task of a node is known, it has those of the node. */
export const hasQuestion = (
  { node, asked, path }: PlacedTask,
  question: { readonly id: string; readonly node: string | undefined },
): boolean => (asked ? asked.includes(question.id) : path === undefined && question.node === node);

/** Whether a task runs by a `Send`. */
export const isBranch = ({ path }: PlacedTask): boolean => path?.[0] === '__pregel_push';

type Writes = Pick<StepTasks['ran'][number], 'writes' | 'same' | 'messages' | 'removed'>;

interface Changed {
  /** The fields that the step changed, with their JSON. */
  readonly fields: Readonly<Record<string, string>>;
  readonly messageOf: (id: string) => Message | undefined;
}

/** What a task returned, as JSON; `null` for nothing. */
export function writesText(
  { writes = {}, same = [], messages = [], removed = [] }: Writes,
  { fields, messageOf }: Changed,
  more: readonly Message[] = [],
): string {
  const own = messages.flatMap((id) => messageOf(id) ?? []);
  const texts = [...removed.map(removal), ...[...own, ...more].map(textsOf).filter(Boolean)];
  const parts = {
    ...(texts.length > 0 && { messages: `[${texts.join(',')}]` }),
    ...Object.fromEntries(same.flatMap((name) => (fields[name] === undefined ? [] : [[name, fields[name]]]))),
    ...Object.fromEntries(Object.entries(writes).map(([name, value]) => [name, JSON.stringify(value)])),
  };
  return Object.keys(parts).length === 0 ? 'null' : jsonObject(parts);
}

const removal = (id: string): string =>
  JSON.stringify({ content: '', additional_kwargs: {}, response_metadata: {}, type: 'remove', name: null, id });
