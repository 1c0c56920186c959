import type { RunEvent } from '@agent-workflow/protos/execution';
import type { Message } from '@agent-workflow/protos/message';
import { toLangChain } from '../messages/to-langchain.ts';
import type { TextFrame } from './frame.ts';
import type { Modes } from './modes.ts';

/** What goes on in a sub-graph, as the engine of its graph publishes it. */
export type Inner = { readonly ns: readonly (string | readonly [node: string, index: number])[] } & (
  | { readonly mode: 'values' | 'updates' | 'tasks' | 'custom'; readonly data: unknown }
  /** The message of this id is made there, by this node. */
  | { readonly message: string; readonly node: string; readonly of: string }
);

interface InnerOptions {
  readonly modes: Modes;
  readonly taskId: (step: number, node: string, index?: number) => string;
  /** JSON of what tasks say about their run. */
  readonly metadata: object;
}

/** Where in a sub-graph a message is made. */
interface MessagePlace {
  readonly namespace: string;
  readonly metadata: object;
}

/** Frames of what goes on in sub-graphs: each has the namespace behind its name, `updates|node:id`. */
export function createInnerFrames({ modes, taskId, metadata }: InnerOptions) {
  const places = new Map<string, MessagePlace>();
  const namespaceOf = (ns: Inner['ns'], step = 0): string =>
    ns.map((part) => (typeof part === 'string' ? part : `${part[0]}:${taskId(step, part[0], part[1])}`)).join('|');

  return {
    placeOf: ({ messageId }: RunEvent): MessagePlace | undefined =>
      messageId === undefined ? undefined : places.get(messageId),
    inner: ({ step }: RunEvent, inner: Inner): TextFrame[] => {
      const namespace = namespaceOf(inner.ns, step);
      if ('message' in inner) {
        const { message, node, of } = inner;
        const own = { langgraph_checkpoint_ns: `${namespace}|${of}`, checkpoint_ns: namespace };
        places.set(message, { namespace, metadata: { ...metadata, langgraph_node: node, ...own } });
        return [];
      }
      const { mode } = inner;
      if (!modes.has(mode)) return [];
      const data = revived(inner.data);
      return [{ name: `${mode}|${namespace}`, data: JSON.stringify(mode === 'tasks' ? asTask(data, metadata) : data) }];
    },
  };
}

/** A task as LangGraph Server shows it. What its node threw is in the log of the service. */
function asTask(data: unknown, metadata: object): object {
  const { id, name, input, triggers, result, interrupts, error } = data as Readonly<Record<string, unknown>>;
  if (result === undefined) return { id, name, input, triggers, metadata };
  const message = `node "${String(name)}" failed`;
  return { id, name, error: error === null ? null : { error: 'NODE_ERROR', message }, result, interrupts };
}

/** The data with messages as LangChain has them. */
function revived(data: unknown): unknown {
  if (Array.isArray(data)) return data.map(revived);
  if (typeof data !== 'object' || data === null) return data;
  const { $message: message, $removed: removed } = data as Readonly<Record<string, unknown>>;
  if (message !== undefined) return toLangChain(message as Message)[0] ?? null;
  if (removed !== undefined)
    return { content: '', additional_kwargs: {}, response_metadata: {}, type: 'remove', name: null, id: removed };
  return Object.fromEntries(
    Object.entries(data).map(([name, part]) => [name.startsWith('$$') ? name.slice(1) : name, revived(part)]),
  );
}
