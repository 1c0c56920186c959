import { setTimeout as delay } from 'node:timers/promises';
import {
  END,
  START,
  StateGraph,
  callsTools,
  field,
  send,
  tool,
  toolNode,
  type CompiledGraph,
  type Message,
  type ModelUsage,
  type NodePolicy,
  type Tool,
} from '@agent-workflow/graph';

/** Steps of one run. */
export const stepsPerRun = 6;

/** Branches of one step of `check`. */
const branchesPerCheck = 3;
const branches = Array.from({ length: branchesPerCheck }, (_, item) => send('check', item));
const oneToken = { inputTokens: 1, outputTokens: 0 };

/** What the committed steps of a run must have used: numbers that no other set of steps adds up to. */
export const usageOf = (steps: Readonly<Record<'work' | 'tools' | 'check', number>>): readonly ModelUsage[] =>
  [
    { model: 'checking', inputTokens: steps.check * branchesPerCheck, outputTokens: 0 },
    { model: 'noting', inputTokens: steps.tools, outputTokens: 0 },
    { model: 'working', inputTokens: 2 ** steps.work - 1, outputTokens: steps.work },
  ].filter(({ inputTokens }) => inputTokens > 0);

/** The steps of each node in a run that completes, of which those of `check` follow the tools. */
export const stepsByNode = { work: stepsPerRun, tools: 2, check: 2 } as const;

const declaration = {
  name: 'note',
  description: 'Notes a step.',
  parameters: { type: 'object', properties: { step: { type: 'integer' } } },
} as const;

const note = tool(declaration, async ({ step }, { usage }) => {
  await delay(Math.random() * 4);
  usage({ ...oneToken, model: 'noting' });
  await delay(Math.random() * 4);
  return `noted ${String(step)}`;
});

/** Notes at once, so that its step is committed together with the one before. */
export const pureNote = tool({ ...declaration, replay: 'pure' }, ({ step }, { usage }) => {
  usage({ ...oneToken, model: 'noting' });
  return `noted ${String(step)}`;
});

/** How many steps the run has behind it: what the assistant has said since the user spoke. */
const stepsDone = ({ context }: { readonly context: readonly Message[] }): number => {
  const input = context.findLastIndex(({ role }) => role === 'user');
  return context.slice(input + 1).filter(({ role }) => role === 'assistant').length;
};

/**
 * Says `step 0`, `step 1` … of a run in pieces, with a tool call between two of them: a kill may fall anywhere. Each step reports tokens in
 * the middle of its work. `afterTools` says whether a fan-out to `check` follows the tools, `policy` how the steps are run.
 */
export const buildSteps = (afterTools: 'work' | 'check', policy: NodePolicy = {}, noting: Tool = note): CompiledGraph =>
  new StateGraph({
    steps: field<number>({
      type: 'number',
      description: 'Steps of all runs',
      default: 0,
      reducer: (sum, more) => sum + more,
    }),
  })
    .addNode(
      'work',
      async (state, { emit, usage }) => {
        const step = stepsDone(state);
        for (const chunk of ['step', ' ', String(step)]) {
          if (chunk === ' ') usage({ model: 'working', inputTokens: 2 ** step, outputTokens: 1 });
          emit(chunk);
          await delay(Math.random() * 8);
        }
        if (step % 2 === 1 && step < stepsPerRun - 1)
          emit({ type: 'tool_call', id: `call-${String(step)}`, name: 'note', args: { step } });
        return { steps: 1 };
      },
      policy,
    )
    .addNode('tools', toolNode([noting]))
    .addNode(
      'check',
      async (_, { usage }) => {
        await delay(Math.random() * 4);
        usage({ ...oneToken, model: 'checking' });
        await delay(Math.random() * 4);
      },
      { maxConcurrency: 2 },
    )
    .addEdge(START, 'work')
    .addConditionalEdges(
      'work',
      (state) => {
        if (callsTools(state)) return 'tools';
        return stepsDone(state) === stepsPerRun ? END : 'work';
      },
      ['tools', 'work', END],
    )
    .addConditionalEdges('tools', () => (afterTools === 'work' ? 'work' : branches), ['work', 'check'])
    .addEdge('check', 'work')
    .compile();

export const graph = buildSteps('work');
