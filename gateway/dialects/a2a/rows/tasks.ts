import { endpoint } from '../../common/services.ts';
import { TaskParams } from '../schemas/common.ts';
import { GetTask } from '../schemas/tasks.ts';
import { readTask, runsOfTask } from './read-task.ts';

const getTask = endpoint({
  name: 'a2aGetTask',
  method: 'GET',
  path: '/a2a/{agent}/tasks/{run_id}',
  access: { resource: 'checkpointer', action: 'read' },
  params: TaskParams,
  input: GetTask,
  handle: async (request, services) => {
    const { agent, run_id: taskId } = request.params;
    const runs = await runsOfTask(request, { taskId, agent }, services);
    return JSON.stringify(await readTask(request, runs, { historyLength: request.input.historyLength }, services));
  },
});

export const taskRows = [getTask];
