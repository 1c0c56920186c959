import { setTimeout as delay } from 'node:timers/promises';
import { END, START, StateGraph, callsTools, field, tool, toolNode, type Message } from '@agent-workflow/graph';

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

/** How many steps the run has behind it: what the assistant has said since the user spoke. */
const stepsDone = ({ context }: { readonly context: readonly Message[] }): number => {
  const input = context.findLastIndex(({ role }) => role === 'user');
  return context.slice(input + 1).filter(({ role }) => role === 'assistant').length;
};

/** Says `step 0`, `step 1` … of a run in pieces, with a tool call between two of them: a kill may fall anywhere. */
export const graph = new StateGraph({
  steps: field<number>({
    type: 'number',
    description: 'Steps of all runs',
    default: 0,
    reducer: (sum, more) => sum + more,
  }),
})
  .addNode('work', async (state, { emit }) => {
    const step = stepsDone(state);
    for (const chunk of ['step', ' ', String(step)]) {
      emit(chunk);
      await delay(Math.random() * 8);
    }
    if (step % 2 === 1 && step < stepsPerRun - 1)
      emit({ type: 'tool_call', id: `call-${String(step)}`, name: 'note', args: { step } });
    return { steps: 1 };
  })
  .addNode('tools', toolNode([note]))
  .addEdge(START, 'work')
  .addConditionalEdges(
    'work',
    (state) => {
      if (callsTools(state)) return 'tools';
      return stepsDone(state) === stepsPerRun ? END : 'work';
    },
    ['tools', 'work', END],
  )
  .addEdge('tools', 'work')
  .compile();
