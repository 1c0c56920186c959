import { refusal, success, toCommandRefusal } from './command-reply.ts';
import { runCommand } from './run-command.ts';
import { Command } from '../schemas/streams.ts';
import { ThreadParams } from '../schemas/threads.ts';
import { row } from './row.ts';

/** What a command refuses is a reply like any other; what the service cannot do for now is an error of HTTP. */
export const commandRow = row({
  name: 'lgCommand',
  method: 'POST',
  path: '/langgraph/threads/{thread_id}/commands',
  startsRun: true,
  access: { resource: 'graph', action: 'invoke' },
  params: ThreadParams,
  input: Command,
  handle: async (request, services) => {
    const { params, input: command } = request;
    try {
      return success(command.id, await runCommand(request, { threadId: params.thread_id, command }, services));
    } catch (error) {
      const refused = toCommandRefusal(error);
      if (!refused) throw error;
      return refusal(command.id, refused);
    }
  },
});
