import { setTimeout as delay } from 'node:timers/promises';
import {
  END,
  START,
  StateGraph,
  callsTools,
  field,
  lastUserText,
  textOf,
  tool,
  toolNode,
  type CompiledGraph,
  type Message,
  type NodeContext,
  type Tool,
} from '@agent-workflow/graph';

/** One node that says what it heard. */
export const echo = new StateGraph({ turns: field<number>({ type: 'number', default: 0, reducer: (a, b) => a + b }) })
  .addNode('echo', (state, ctx) => {
    ctx.emit(lastText(state.context));
    return { turns: 1 };
  })
  .addEdge(START, 'echo')
  .addEdge('echo', END)
  .compile();

/** One node that sleeps for an hour. */
export const sleeper = new StateGraph({})
  .addNode('sleeper', async (_state, { sleep }) => sleep(3_600_000))
  .addEdge(START, 'sleeper')
  .addEdge('sleeper', END)
  .compile();

/** Rounds of agent and tool before the agent answers. */
export const toolRounds = 10;

const declaration = {
  name: 'add',
  description: 'Adds one to a number.',
  parameters: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] },
} as const;
const add = tool(declaration, ({ to }) => to + 1);
const pureAdd = tool({ ...declaration, replay: 'pure' }, ({ to }) => to + 1);

/** Calls a tool ten times, one call a round, then answers. */
const loopWith = (adding: Tool): CompiledGraph =>
  new StateGraph({
    rounds: field<number>({ type: 'number', default: 0, reducer: (a, b) => a + b }),
  })
    .addNode('agent', (state, ctx) => {
      if (state.rounds === toolRounds) {
        ctx.emit('done');
        return {};
      }
      const call = { type: 'tool_call', id: `call-${String(state.rounds)}`, name: 'add', args: { to: state.rounds } };
      return { rounds: 1, messages: [{ role: 'assistant', content: [call] }] };
    })
    .addNode('tools', toolNode([adding]))
    .addEdge(START, 'agent')
    .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END))
    .addEdge('tools', 'agent')
    .compile();

export const toolLoop = loopWith(add);

/** The same with a tool that is declared pure: the two steps of a round are one commit. */
export const pureLoop = loopWith(pureAdd);

/** How long the model of the paced loop takes to answer, in milliseconds. */
export const answerMs = 20;

/** As a model node whose model answers elsewhere: it takes time, and no processor. */
const pacedModel = async (
  { rounds }: { readonly rounds: number },
  { signal, emit }: NodeContext,
): Promise<{ readonly rounds: number } | undefined> => {
  await delay(answerMs, undefined, { signal });
  if (rounds === toolRounds) {
    emit('done');
    return undefined;
  }
  emit({ type: 'tool_call', id: `call-${String(rounds)}`, name: 'add', args: { to: rounds } });
  return { rounds: 1 };
};

/** The kinds of an iteration: what is waited for in it. */
export const loopKinds = ['late', 'early', 'fused', 'fusedEarly'] as const;
export type LoopKind = (typeof loopKinds)[number];

const loopOf = (state: { readonly context: readonly Message[] }): LoopKind => {
  const text = lastUserText(state);
  return loopKinds.find((kind) => kind === text) ?? 'late';
};
const toolsOr = (tools: string) => (state: { readonly context: readonly Message[] }) =>
  callsTools(state) ? tools : END;

/**
 * The tool loop with a model that takes 20 ms. Told `early`, the model is asked while the step of the tools is being committed; told `fused`,
 * the tool is pure.
 */
export const pacedLoop = new StateGraph({
  rounds: field<number>({ type: 'number', default: 0, reducer: (a, b) => a + b }),
})
  .addNode('late', pacedModel)
  .addNode('early', pacedModel, { speculative: true })
  .addNode('fused', pacedModel)
  .addNode('fusedEarly', pacedModel, { speculative: true })
  .addNode('tools', toolNode([add]))
  .addNode('pureTools', toolNode([pureAdd]))
  .addConditionalEdges(START, loopOf, [...loopKinds])
  .addConditionalEdges('late', toolsOr('tools'), ['tools', END])
  .addConditionalEdges('early', toolsOr('tools'), ['tools', END])
  .addConditionalEdges('fused', toolsOr('pureTools'), ['pureTools', END])
  .addConditionalEdges('fusedEarly', toolsOr('pureTools'), ['pureTools', END])
  .addConditionalEdges('tools', loopOf, [...loopKinds])
  .addConditionalEdges('pureTools', loopOf, [...loopKinds])
  .compile();

/** Tokens of one answer of the streamer. */
export const streamedTokens = 200;

/**
 * Emits 200 tokens, each as soon as it is there. Told `paced`, they come as a model's do: one a turn of the event loop;
 * else as fast as an async iterator gives them.
 */
export const streamer = new StateGraph({})
  .addNode('model', async (state, ctx) => {
    for await (const token of tokens(lastText(state.context) === 'paced')) ctx.emit(token);
  })
  .addEdge(START, 'model')
  .addEdge('model', END)
  .compile();

async function* tokens(paced: boolean): AsyncGenerator<string> {
  for (let index = 0; index < streamedTokens; index++) {
    if (paced) await new Promise(setImmediate);
    yield `token-${String(index)} `;
  }
}

/** Chunks that the emitter emits a second, and how long it waits before, in milliseconds, so that its readers can come. */
export const emittedASecond = 50;
const emitsAfterMs = 3000;

/** What stands around the time of emission in the text of each chunk, in milliseconds since 1970 with a fraction. */
export const stampStart = 'emitted at ';
export const stampEnd = ';';

/** Waits for three seconds, then emits 50 chunks a second, each with the time of its emission, until its run is stopped. */
export const emitter = new StateGraph({})
  .addNode('emitter', async (_state, ctx) => {
    const begin = performance.now() + emitsAfterMs;
    for (let index = 0; !ctx.signal.aborted; index++) {
      await delay(Math.max(0, begin + (index * 1000) / emittedASecond - performance.now()), undefined, {
        signal: ctx.signal,
      });
      ctx.emit(`${stampStart}${String(performance.timeOrigin + performance.now())}${stampEnd}`);
    }
  })
  .addEdge(START, 'emitter')
  .addEdge('emitter', END)
  .compile();

/** Emits what it received one word a chunk: an answer of a few chunks for an invoke, of many for a stream. */
export const wordByWord = new StateGraph({})
  .addNode('words', (state, ctx) => {
    for (const word of lastText(state.context).split(' ')) ctx.emit(`${word} `);
  })
  .addEdge(START, 'words')
  .addEdge('words', END)
  .compile();

const lastText = (context: readonly Message[]): string => {
  const last = context.at(-1);
  return last ? textOf(last) : '';
};

/** Steps of one run of the agent that waits, and how long each takes, in milliseconds. */
export const waits = 3;
export const waitMs = 200;

/** Waits, as for a model that answers elsewhere: it takes a place and no processor. */
export const waiting = new StateGraph({ waits: field<number>({ type: 'number', default: 0 }) })
  .addNode('wait', async (state, ctx) => {
    await delay(waitMs, undefined, { signal: ctx.signal });
    return { waits: state.waits + 1 };
  })
  .addEdge(START, 'wait')
  .addConditionalEdges('wait', (state) => (state.waits < waits ? 'wait' : END))
  .compile();
