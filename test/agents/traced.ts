import { setTimeout as wait } from 'node:timers/promises';
import {
  callsTools,
  END,
  lastUserText,
  modelNode,
  send,
  START,
  StateGraph,
  textOf,
  tool,
  toolNode,
  type Model,
} from '@agent-workflow/graph';

/** What nobody but an operator may find in a trace. */
export const secrets = { prompt: 'PROMPT-OF-THE-AUTHOR', thrown: 'PASSWORD-IN-AN-ERROR', logged: 'LINE-OF-A-LOG' };

/** Calls `look_up` for a user who says `ask`, and answers everybody else. */
const model: Model = {
  name: 'small-1',
  async *answer({ messages }) {
    const last = messages.at(-1);
    const calls = last?.role === 'user' && textOf(last).startsWith('ask');
    if (calls) yield { type: 'tool_call', id: `call-${last.message_id}`, name: 'look_up', args: { id: '42' } };
    else yield { type: 'text', text: 'done' };
    yield { type: 'usage', model: 'small-1', inputTokens: 10, outputTokens: 2 };
    yield { type: 'finish', reason: calls ? 'tool_calls' : 'stop' };
  },
};

const lookUp = tool(
  { name: 'look_up', description: 'Looks up', parameters: { type: 'object', properties: { id: { type: 'string' } } } },
  async ({ id }) => ({ id }),
);

const inner = new StateGraph({})
  .addNode('first', modelNode({ model, instructions: secrets.prompt }))
  .addNode('second', () => ({}))
  .addEdge(START, 'first')
  .addEdge('first', 'second')
  .addEdge('second', END)
  .compile();

const attempts = new Map<string, number>();

/**
 * Does as the first word says: `ask` asks a model that calls a tool, `sub` runs a sub-graph, `fan 3` runs three branches, `flaky` succeeds at the
 * third attempt, `fail` fails, `wait` asks a question, and `stop` waits until it is stopped.
 */
export const graph = new StateGraph({})
  .addNode('agent', modelNode({ model, instructions: secrets.prompt }))
  .addNode('tools', toolNode([lookUp]))
  .addNode('sub', inner)
  .addNode('branch', async (_state, { input, progress }) => {
    if (input === 1) progress('the shop is slow');
    // In turns: however long the process is held up, it takes longer than the others.
    for (let turn = 0; turn < (input === 1 ? 30 : 1); turn++) await wait(1);
    return { messages: [{ role: 'assistant', content: `branch ${String(input)}` }] };
  })
  .addNode(
    'flaky',
    (_state, { runId }) => {
      const attempt = (attempts.get(runId) ?? 0) + 1;
      attempts.set(runId, attempt);
      if (attempt < 3) throw new Error(secrets.thrown);
      return { messages: [{ role: 'assistant', content: 'at last' }] };
    },
    { retry: { maxAttempts: 3, initialDelayMs: 1 } },
  )
  .addNode('fail', () => {
    // The agent's own words, as an author writes them to the log.
    globalThis.console.info(secrets.logged);
    throw new Error(secrets.thrown);
  })
  .addNode('wait', (_state, { interrupt }) => {
    interrupt('well?');
    return {};
  })
  .addNode('stop', async (_state, { signal }) => {
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
    return {};
  })
  .addConditionalEdges(START, (state) => {
    const [word = '', count = '1'] = lastUserText(state).split(' ');
    if (word === 'fan') return Array.from({ length: Number(count) }, (_, index) => send('branch', index));
    return ['sub', 'flaky', 'fail', 'wait', 'stop'].includes(word) ? word : 'agent';
  })
  .addConditionalEdges('agent', (state) => (callsTools(state) ? 'tools' : END), ['tools', END])
  .addEdge('tools', 'agent')
  .addEdge('sub', END)
  .addEdge('branch', END)
  .addEdge('flaky', END)
  .addEdge('fail', END)
  .addEdge('wait', END)
  .addEdge('stop', END)
  .compile();
