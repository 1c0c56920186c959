import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, tool, toolNode } from '@agent-workflow/execution/graph';

/** Steps of one run. */
export const stepsPerRun = 6;

const note = tool(
  {
    name: 'note',
    description: 'Notes a step.',
    parameters: { type: 'object', properties: { step: { type: 'integer' } } },
  },
  async ({ step }) => {
    await delay(Math.random() * 8);
    return `noted ${String(step)}`;
  },
);

/** Says `step 0`, `step 1` … of a run in pieces, with a tool call between two of them: a kill may fall anywhere. */
export const graph = new StateGraph({
  steps: field<number>({
    type: 'number',
    description: 'Steps of all runs',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
  at: field<number>({ type: 'number', description: 'The step of this run that comes next', default: 0 }),
})
  .addNode('work', async ({ at }, { emit }) => {
    for (const piece of ['step', ' ', String(at)]) {
      emit(piece);
      await delay(Math.random() * 8);
    }
    const last = at === stepsPerRun - 1;
    if (!last && at % 2 === 1) emit({ type: 'tool_call', id: `call-${String(at)}`, name: 'note', args: { step: at } });
    return { steps: 1, at: last ? 0 : at + 1 };
  })
  .addNode('tools', toolNode([note]))
  .addEdge(START, 'work')
  .addConditionalEdges(
    'work',
    (state) => {
      if (callsTools(state)) return 'tools';
      return state.at === 0 ? END : 'work';
    },
    ['tools', 'work', END],
  )
  .addEdge('tools', 'work')
  .compile();
