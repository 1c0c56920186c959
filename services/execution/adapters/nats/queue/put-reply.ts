import { unavailable } from '@agent-workflow/kit/errors';
import { isWrongLastSequence } from '../client/client.ts';

/** JetStream's reply to a run that names 0 as the last sequence of its subject. */
export interface PutReply {
  readonly error?: { readonly err_code: number; readonly description: string };
}

/** Whether the run was put; false when it waits already. @throws Unavailable when the stream refused it for another reason. */
export function readPutReply({ error }: PutReply): boolean {
  if (!error) return true;
  if (isWrongLastSequence(error.err_code)) return false;
  throw unavailable('the queue takes no runs', error);
}
