import type { StepTasks } from '@agent-workflow/protos/step-tasks';
import type { ThreadMatch } from '@agent-workflow/protos/threads';
import type { EndpointRequest } from '../../../http/endpoint.ts';
import { jsonText } from '../../../http/json.ts';
import type { Services } from '../../common/services.ts';
import { questionsIn } from '../out/interrupts.ts';
import { shownCheckpoints } from '../out/shown-checkpoints.ts';
import { tasksOfState } from '../out/thread-state.ts';
import type { AskedByTask } from '../out/thread.ts';

/** So many hold the newest that is shown, and the one before it: what a run writes without a node is shown with the one before. */
export const fewCheckpoints = 16;

/** The open questions of a thread by the ids that their tasks have in its state. One that asks nothing costs nothing. */
export async function askedByTask(
  { owner, call }: Pick<EndpointRequest, 'owner' | 'call'>,
  { thread, interruptsJson }: ThreadMatch,
  readTasks: () => Promise<StepTasks | undefined>,
  { threads }: Pick<Services, 'threads'>,
): Promise<AskedByTask> {
  const asked = interruptsJson && jsonText(interruptsJson);
  const questions = questionsIn(asked);
  if (questions.length === 0) return {};
  const { threadId } = thread;
  const { checkpoints } = await threads.listCheckpoints({ owner, threadId, limit: fewCheckpoints, offset: 0 }, call());
  const [checkpoint] = shownCheckpoints(checkpoints);
  if (!checkpoint) return {};
  // Of other graphs than those of LangGraph.js, whose ids have no such sign, each node has one task.
  const known = questions.every(({ id }) => id.includes('/')) ? undefined : await readTasks();
  const tasks = tasksOfState({ thread, checkpoint, before: undefined, interruptsJson: asked }, known);
  return Object.fromEntries(tasks.flatMap(({ id, interrupts }) => (interrupts.length > 0 ? [[id, interrupts]] : [])));
}
