import {
  END,
  send,
  START,
  StateGraph,
  type CompiledGraph,
  type Field,
  type NodePolicy,
  type Send,
} from '@agent-workflow/graph';
import { RunFailure } from '@agent-workflow/graph/state/failure';
import { sizes } from '@agent-workflow/kit/sizes';
import { checkGraph, graphOf, type LangGraphAgent } from './compiled.ts';
import { answersField, keptField, type Kept, type Question } from './kept.ts';
import { beginRun, continueRun } from './super-step.ts';

export interface LangGraphOptions {
  /**
   * The channel of the graph's messages: `messages` unless given. Its reducer must know messages by their ids, as that of `MessagesAnnotation`.
   * `null`: the graph has no messages; its input are the fields.
   */
  readonly messagesKey?: string | null;
  /**
   * Other channels that are fields of the state, by their names. At the start of a run a field that differs from its channel is input of the
   * graph; after each super-step the field has the value of its channel. Of what happens to updates, the channel's reducer decides.
   */
  readonly fields?: Readonly<Record<string, Field<unknown>>>;
  /** The LangGraph nodes whose models and messages are streamed, those of sub-graphs included; absent: all. */
  readonly streamedNodes?: readonly string[];
  /** How a super-step that fails is run again, and how long it may take. */
  readonly policy?: NodePolicy;
}

const optionNames: Readonly<Record<keyof LangGraphOptions, true>> = {
  messagesKey: true,
  fields: true,
  streamedNodes: true,
  policy: true,
};

/**
 * Makes an agent of a graph that LangGraph.js has compiled, or of what `createAgent` of `langchain` gives. Each super-step of it is one step, committed with its checkpoint; messages of the
 * thread are the input and the messages of the graph; its questions are those of the run.
 * @throws Error when the graph has no channel of messages, or one that cannot be kept.
 */
export function fromLangGraph(agent: LangGraphAgent, options: LangGraphOptions = {}): CompiledGraph {
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(optionNames, name));
  if (unknown !== undefined)
    throw new Error(`fromLangGraph has no option "${unknown}": ${Object.keys(optionNames).join(', ')}`);
  const graph = graphOf(agent);
  const { messagesKey = 'messages', fields = {}, streamedNodes, policy } = options;
  const shown = Object.keys(fields);
  const own = messagesKey === null ? [] : [['messagesKey', messagesKey] as const];
  checkGraph(graph, [...own, ...shown.map((name) => ['fields', name] as const)]);
  refuseReducers(fields);
  const kept = { langgraph: keptField, langgraph_answers: answersField };
  const builder = new StateGraph<typeof kept>({ ...fields, ...kept });
  type Node = Extract<Parameters<typeof builder.addNode>[1], (...args: never) => unknown>;
  const superStep =
    (run: typeof beginRun): Node =>
    async (values, context) => {
      const { langgraph: kept, langgraph_answers: answers, context: messages } = values;
      const thread = { kept, answers, messages, values, shown };
      const result = await run({ graph, messagesKey, streamedNodes, ...thread, context });
      return {
        ...result.changed,
        ...{ langgraph: bounded(result.kept), messages: result.messages, removed_from_context: result.removed },
        ...(Object.keys(answers).length > 0 && { langgraph_answers: {} }),
      };
    };
  const route = ({ langgraph: kept }: { readonly langgraph: Kept | undefined }): string | Send[] => {
    if (kept && kept.questions.length > 0) return kept.questions.map((question) => send('ask', question));
    return kept?.isDone === false ? 'continue' : END;
  };
  return builder
    .addNode('begin', superStep(beginRun), policy)
    .addNode('continue', superStep(continueRun), policy)
    .addNode('ask', (_state, { input, interrupt }) => {
      const { id, value } = input as Question;
      return { langgraph_answers: { [id]: interrupt(value) } };
    })
    .addEdge(START, 'begin')
    .addConditionalEdges('begin', route, ['continue', 'ask', END])
    .addConditionalEdges('continue', route, ['continue', 'ask', END])
    .addEdge('ask', 'continue')
    .compile();
}

function refuseReducers(fields: Readonly<Record<string, Field<unknown>>>): void {
  for (const [name, { spec }] of Object.entries(fields))
    if (spec.reducer) throw new Error(`field "${name}" has a reducer: that of its channel counts`);
}

function bounded(kept: Kept): Kept {
  const bytes = Buffer.byteLength(JSON.stringify(kept));
  if (bytes <= sizes.state) return kept;
  const why = `the checkpoint of LangGraph has ${bytes} bytes, and the size limit of the state is ${sizes.state}: remove old messages with RemoveMessage, and keep large values elsewhere`;
  throw new RunFailure('NodeFailed', why);
}
