import { bindMemory } from '@agent-workflow/execution/steps/bound-memory';
import { defaultValues } from '@agent-workflow/graph/state/merge';
import { enterGraph, runStep } from '@agent-workflow/graph/run/step';
import {
  textOf,
  type Block,
  type BoundMemory,
  type CompiledGraph,
  type Message,
  type ToolDeclaration,
} from '@agent-workflow/graph';
import { fakeFiles } from '@agent-workflow/graph/testing';
import { readEnv } from '@agent-workflow/kit/env';
import { newId } from '@agent-workflow/kit/ids';
import { memorySettings } from '@agent-workflow/memory/config';
import { openMemory } from '@agent-workflow/memory/open';

/** What one turn of a conversation added. */
export interface Turn {
  readonly messages: readonly Message[];
  /** The text that the agent said, message by message. */
  readonly reply: readonly string[];
  /** What was streamed, chunk by chunk. */
  readonly chunks: readonly unknown[];
  readonly values: Readonly<Record<string, unknown>>;
  readonly context: readonly Message[];
  /** Whether the turn waits for the caller's tools. */
  readonly waiting: boolean;
}

interface TurnOptions {
  readonly remoteTools?: readonly ToolDeclaration[];
  readonly signal?: AbortSignal;
  readonly onChunk?: (chunk: unknown) => void;
}

/** A conversation with the agent, on a memory of its own. */
export interface Conversation extends AsyncDisposable {
  readonly memory: BoundMemory;
  readonly send: (text: string, options?: TurnOptions) => Promise<Turn>;
  /** Answers the caller's tools: results by call id. */
  readonly answer: (results: Readonly<Record<string, unknown>>, options?: TurnOptions) => Promise<Turn>;
}

/** Opens a conversation that drives the engine step by step, as a worker would, without a thread to keep it in. */
export async function converse(graph: CompiledGraph): Promise<Conversation> {
  const opened = await openMemory({ path: ':memory:', values: readEnv(memorySettings, {}) });
  const memory = bindMemory(opened.memory, { owner: 'anon', threadId: 't', signal: new AbortController().signal });
  const files = fakeFiles();
  let state = { values: defaultValues(graph.fields), context: [] as readonly Message[] };

  const run = async (input: Message, from: 'start' | 'tools', options: TurnOptions): Promise<Turn> => {
    const { remoteTools = [], signal = new AbortController().signal, onChunk } = options;
    state = { ...state, context: [...state.context, input] };
    const messages: Message[] = [];
    const chunks: unknown[] = [];
    const names = new Set(remoteTools.map(({ name }) => name));
    const context = { runId: newId(), threadId: 't', signal, config: {}, context: {}, user: {}, memory, files };
    let next = from === 'start' ? enterGraph(graph, state).nodes : ['tools'];
    let waiting = false;
    for (let number = 1; next.length > 0 && !waiting; number += 1) {
      const result = await runStep({
        graph,
        nodes: next,
        number,
        state,
        run: { ...context, tools: [...graph.tools, ...remoteTools] },
        at: Date.now(),
        now: Date.now,
        isRemote: (name) => names.has(name),
        onChunk: (_node, { chunk }) => {
          chunks.push(chunk);
          onChunk?.(chunk);
        },
      });
      messages.push(...result.delta.messages);
      ({ state, next, waiting } = result);
    }
    const reply = messages.filter(({ role }) => role === 'assistant').map(textOf);
    return { messages, reply, chunks, values: state.values, context: state.context, waiting };
  };

  return {
    memory,
    send: async (text, options = {}) => run(message('user', [{ type: 'text', text }]), 'start', options),
    answer: async (results, options = {}) => run(message('tool', toBlocks(results)), 'tools', options),
    [Symbol.asyncDispose]: async () => opened[Symbol.asyncDispose](),
  };
}

const message = (role: Message['role'], content: readonly Block[]): Message => ({
  message_id: newId(),
  role,
  content,
  timestamp: new Date().toISOString(),
});

const toBlocks = (results: Readonly<Record<string, unknown>>): Block[] =>
  Object.entries(results).map(([id, output]) => ({ type: 'tool_result', call_id: id, output, is_error: false }));
