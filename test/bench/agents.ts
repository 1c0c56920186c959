import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, field, textOf, tool, toolNode, callsTools, type Message } from '@agent-workflow/graph';

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

const add = tool(
  {
    name: 'add',
    description: 'Adds one to a number.',
    parameters: { type: 'object', properties: { to: { type: 'integer' } }, required: ['to'] },
  },
  ({ to }) => to + 1,
);

/** Calls a tool ten times, one call a round, then answers. */
export const toolLoop = new StateGraph({
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
  .addNode('tools', toolNode([add]))
  .addEdge(START, 'agent')
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END))
  .addEdge('tools', 'agent')
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
