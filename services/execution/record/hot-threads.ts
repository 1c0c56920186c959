import type { ClaimedRun, State } from '@agent-workflow/protos/threads';
import type { Message } from '@agent-workflow/protos/message';
import { LRUCache } from 'lru-cache';
import { total, type Weight } from './weight.ts';
import type { CompiledGraph } from '@agent-workflow/graph/build/graph';
import { defaultValues } from '@agent-workflow/graph/state/merge';
import { deepFreeze, withMessages, type EngineState } from '@agent-workflow/graph/state/state';
import { fromJson } from './run-options.ts';

/** A thread's state as this worker left it: good only while the record still has that version. */
export interface HotThread {
  readonly version: number;
  readonly state: EngineState;
  readonly weight: Weight;
}

export interface HotThreads {
  /** What is remembered of a thread, whatever its version. */
  readonly get: (owner: string, threadId: string) => HotThread | undefined;
  readonly set: (owner: string, threadId: string, thread: HotThread) => void;
  readonly forget: (owner: string, threadId: string) => void;
}

/** States of threads run lately, up to `maxBytes` of JSON. */
export function createHotThreads(maxBytes: number): HotThreads {
  const cache = new LRUCache<string, HotThread>({
    maxSize: maxBytes,
    sizeCalculation: ({ weight }) => weight.messages + total(weight.fields) + overheadBytes,
  });
  const name = (owner: string, threadId: string): string => `${owner}\n${threadId}`;
  return {
    get: (owner, threadId) => cache.get(name(owner, threadId)),
    set: (owner, threadId, thread) => {
      cache.set(name(owner, threadId), thread);
    },
    forget: (owner, threadId) => {
      cache.delete(name(owner, threadId));
    },
  };
}

const overheadBytes = 512;

/** The state that a claimed run begins with: read from the claim, or the one remembered when the claim says it stands. */
export function claimedState(graph: CompiledGraph, claimed: ClaimedRun, remembered: HotThread | undefined): HotThread {
  const { version, appended } = claimed;
  if (claimed.state) return fromState(graph, claimed.state);
  if (!remembered) throw new Error('the claim left out a state that this worker does not have');
  const messages = appended.map(({ json }) => deepFreeze(fromJson(json) as Message));
  const context = withMessages(remembered.state.context, messages, claimed.replaced);
  const added = appended.reduce((sum, { json }) => sum + json.byteLength, 0);
  const weight = { ...remembered.weight, messages: remembered.weight.messages + added };
  return { version, state: { ...remembered.state, context }, weight };
}

/** A stored state as the engine reads it: defaults filled in, fields that the graph does not declare left out. */
export function fromState(graph: CompiledGraph, { version, fields, contextJson }: State): HotThread {
  const values = defaultValues(graph.fields);
  const weights: Record<string, number> = {};
  for (const [name, json] of Object.entries(fields)) {
    if (name !== 'context_summary' && !Object.hasOwn(graph.fields, name)) continue;
    values[name] = fromJson(json);
    weights[name] = json.byteLength;
  }
  const state = deepFreeze({ values, context: fromJson(contextJson) as Message[] });
  return { version, state, weight: { messages: contextJson.byteLength, fields: weights } };
}
