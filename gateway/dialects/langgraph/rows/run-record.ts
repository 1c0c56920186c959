import type { Call } from '@agent-workflow/protos/call';
import type { RunScope } from '@agent-workflow/protos/execution';
import type { ThreadCheckpoint } from '@agent-workflow/protos/threads';
import { fieldDefaults, graphFacts } from '../../common/graph-facts.ts';
import type { Services } from '../../common/services.ts';
import type { Beginning } from '../frames/beginning.ts';
import { growingValues } from '../frames/growing-values.ts';
import type { RunRecord } from '../frames/run-story.ts';
import type { StepPlace } from '../frames/step-place.ts';
import { endQuestions, questionsIn } from '../out/interrupts.ts';
import { hasFields, shownCheckpoints, type ShownCheckpoint } from '../out/shown-checkpoints.ts';
import { sourceOf } from '../out/thread-state.ts';
import { partsOfState, tasksIn } from '../out/values.ts';
import { firstNodes } from './first-nodes.ts';

type Calls = Pick<Services, 'threads' | 'execution'>;

interface Reading extends Pick<RunScope, 'runId' | 'threadId'> {
  readonly owner: string;
  /** The graph of the run. */
  readonly agent: string;
  readonly call: Call;
}

/** Checkpoints among which those of a run are looked for: as many as are kept by default. */
const most = 100;

/** What a stream reads of the record, beside the events of its run. */
export function runRecord({ owner, agent, runId, threadId, call }: Reading, { threads, execution }: Calls): RunRecord {
  let last: string | undefined;

  /** Where the run began: behind its input, else behind what stood in the thread. `'nothing'`: in an empty thread. */
  const beginsAt = async (): Promise<readonly ThreadCheckpoint[] | 'nothing' | undefined> => {
    const { checkpoints } = await threads.listCheckpoints({ owner, threadId, limit: most, offset: 0 }, call);
    const first = checkpoints.findLastIndex((checkpoint) => checkpoint.runId === runId);
    if (first === -1) {
      const { end } = await threads.getRun({ owner, runId }, call);
      if (end) return undefined;
      return checkpoints.length === 0 ? 'nothing' : checkpoints;
    }
    const isInput = checkpoints[first]?.source === 'input';
    const later = checkpoints[first - 1];
    const index = isInput && later?.runId === runId && hasFields(later) ? first - 1 : isInput ? first : first + 1;
    if (index < checkpoints.length) return checkpoints.slice(index);
    return checkpoints.length < most ? 'nothing' : undefined;
  };

  const readAt = async (checkpointId: string): Promise<Pick<Beginning, 'values' | 'tasks'>> => {
    const { state } = await threads.getCheckpoint({ owner, threadId, checkpointId }, call);
    const { fields, messages } = partsOfState(state, await fieldDefaults(execution, state, call));
    return { values: growingValues(fields, messages), tasks: tasksIn(state) };
  };

  return {
    beginning: async (needsPlaces): Promise<Beginning | undefined> => {
      const found = await beginsAt();
      if (found === undefined) return undefined;
      if (found === 'nothing') return { values: growingValues({}, []), place: undefined };
      const [checkpoint] = found;
      if (!checkpoint) return undefined;
      const { values, tasks } = await readAt(checkpoint.checkpointId);
      const begun = { values, ...(checkpoint.next.length > 0 && { tasks }) };
      const [shown, before] = needsPlaces ? shownCheckpoints(found) : [];
      if (!shown) return { ...begun, place: undefined };
      last = shown.checkpointId;
      if (!before || (shown.isBegun !== true && !hasFields(checkpoint))) return { ...begun, place: placeOf(shown) };
      const next = hasFields(checkpoint)
        ? shown.next
        : await firstNodes({ call: () => call }, { agent }, { execution });
      const { values: earlier } = await readAt(before.checkpointId);
      return { ...begun, place: placeOf({ ...shown, next }), input: { values: earlier, place: placeOf(before) } };
    },

    placeOf: async (number) => {
      const { steps } = await threads.listRunSteps({ owner, runId, fromStep: number, limit: 1 }, call);
      const [step] = steps;
      if (step?.step !== number) return undefined;
      const { checkpointId, next } = step;
      const place = { checkpointId, before: last, next, step: number + 1, source: 'loop' };
      last = checkpointId;
      return place;
    },

    outcome: async () => {
      const { end } = await threads.getRun({ owner, runId }, call);
      return { status: end?.status ?? 'completed', asked: endQuestions(end?.interruptsJson) };
    },

    output: async () => (await graphFacts(execution, { agent }, call)).output,

    answered: async () => {
      const { resumes } = await threads.getRun({ owner, runId }, call);
      if (resumes === undefined) return [];
      const { end } = await threads.getRun({ owner, runId: resumes }, call);
      return questionsIn(end?.interruptsJson).map(({ id }) => id);
    },
  };
}

const placeOf = ({ checkpointId, before, next, step = -1, source }: ShownCheckpoint): StepPlace => ({
  ...{ checkpointId, before, next, step, source: sourceOf(source) },
});
